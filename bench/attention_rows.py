# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/attention.py that stand beside peers by the protocol of product_cells.py: all ways of a cell in one process, as CUDA graphs, in
random order, warm before they are timed, three repetitions, operands of random numbers that take turns."""

import random
import time
import types
from typing import Any, Callable, Dict, NamedTuple

import torch
from gpu import DEVICE, GPU, first_line, say
from graphs import Graph, on_side, turns_of
from product_cells import GRAPH_MS, protocol
from product_way import Recorder, sealed, sized
from random_problems import spills
from rounds import median, quantile
from torch.nn.attention import SDPBackend, sdpa_kernel

import sett

OURS, PLAIN, UNIFORM, VARLEN = "sett", "sett, plain", "sett, uniform", "torch varlen_attn"
SECONDS_BESIDES = 0.7  # of a cell: operands, graphs, samples
RATE = 6e11  # operations of a millisecond, about


class Cell(NamedTuple):
    """ours, peers: functions of a set of operands that give what launches, by name. over: the way that the ratio is to; by: operations of a launch
    by way, or of all ways. must: the least ratio that the project asks for, and its goal. besides: the least ratio to other ways, by name.
    want: is a result right? wants: of ways that compute something else."""

    title: str
    work: Dict[str, float]
    make: Callable[[], Any]
    ways: Dict[str, Callable[[Any], Any]]
    over: str
    must: float
    goal: float
    want: Callable[[Any, str], Any]
    besides: Dict[str, float] = {}
    wants: Dict[str, Callable[[Any, Any], bool]] = {}


# ---- operands and ways -----------------------------------------------------------------------------------------------------
def normal(*shape):
    return torch.randn(shape, device=DEVICE, dtype=torch.bfloat16)


def dense(batch, heads, shared, rows, d, dv):
    def make():
        s = types.SimpleNamespace(q=normal(batch, heads, rows, d), k=normal(batch, shared, rows, d), v=normal(batch, shared, rows, dv))
        s.out = torch.empty(batch, heads, rows, dv, device=DEVICE, dtype=torch.bfloat16)
        return s

    return make


def ours(engine, *more, **options):
    """more: arguments behind O, or names of the set's."""
    kernel = engine.compile(sett.kernels.attention, no_pdl=1, **{"dtype": "bf16", "dynamic": 1, **options})
    if options.get("dynamic", 1):
        more = (*more, torch.zeros(2, dtype=torch.int32, device=DEVICE))
    return lambda s: kernel.prepare(s.q, s.k, s.v, s.out, *(getattr(s, x) if isinstance(x, str) else x for x in more))


def sdpa(backend=SDPBackend.CUDNN_ATTENTION, **more):
    def bind(s):
        def run():
            with sdpa_kernel(backend if GPU else SDPBackend.MATH):
                return torch.nn.functional.scaled_dot_product_attention(s.q, s.k, s.v, enable_gqa=s.q.shape[1] != s.k.shape[1], **more)

        return run

    return bind


# ---- what is right: some rows of the first and of the last head ----------------------------------------------------------------
def picked(rows):
    return sorted({0, 1, rows // 3, rows // 2 + 1, rows - 2, rows - 1} & set(range(rows)))


def exact(q, k, v, at, causal=False, window=0, cap=0.0, slope=0.0):
    """Rows `at` of one head, in Float32."""
    score = q[at].double() @ k.double().T * q.shape[-1] ** -0.5
    own, key = torch.tensor(at, device=DEVICE)[:, None] + len(k) - len(q), torch.arange(len(k), device=DEVICE)[None]
    score = cap * torch.tanh(score / cap) if cap else score
    score = score - slope * (own - key).abs()
    hidden = ((key > own) if causal else key < 0) | ((key <= own - window) if window else key < 0)
    return torch.softmax(score.masked_fill(hidden, float("-inf")), -1) @ v.double()


def ends(**options):
    """What a dense set should give: of the first head of the first batch, and of the last head of the last one."""

    def want(s, got):
        at, group = picked(s.q.shape[2]), s.q.shape[1] // s.k.shape[1]
        for b, h in ((0, 0), (-1, s.q.shape[1] - 1)):
            slope = options.get("slope", 0.0) and s.slopes[h].item()
            right = exact(s.q[b, h], s.k[b, h // group], s.v[b, h // group], at, **{**options, "slope": slope})
            if not (got[b, h][at].double() - right).abs().max().item() < 0.02: # of NaN it is false
                return False
        return True

    return want


def work(batch, heads, rows, d, dv, causal=False, window=0):
    pairs = rows * rows
    if window:
        pairs = rows * window - window * (window - 1) // 2
    elif causal:
        pairs = rows * (rows + 1) // 2
    return 2.0 * batch * heads * pairs * (d + dv)


# ---- cells -------------------------------------------------------------------------------------------------------------------
# Other ways of sett, of `tiles`: each tile by a block of its own, every n-th tile of a block, other tiles.
OTHER_WAYS = ({"dynamic": 0}, {"dynamic": 0, "blocks": 1 << 30})
OTHER_TILES = {64: ({"rows": 128, "keys": 128}, {"rows": 192, "keys": 112}, {"rows": 128, "keys": 176}), 128: ({"keys": 160}, {"keys": 176}, {"keys": 112}),
    192: ({"keys": 112},), 256: ({"keys": 64},)}


def others(engine, d, dv, causal):
    """Those tiles that there are, by name."""
    ways = {}
    for more in OTHER_WAYS + (OTHER_TILES[d] if not causal else ()):
        ways["sett, " + " ".join(f"{k}={v}" for k, v in more.items())] = ours(engine, d=d, dv=dv, causal=int(causal), **more)
    return ways


def beside_cudnn(engine, shape, causal, must, goal, tiles=False):
    batch, heads, shared, rows, d, dv = shape = sized(engine, shape, (2, 2, 1, 70, 64 if shape[4] == 64 else 128, 64 if shape[4] == 64 else 128))
    title = f"B{batch} H{heads}{'' if heads == shared else f'/{shared}'} S{rows} D{d}{'' if d == dv else f'/{dv}'}{' causal' if causal else ''}"
    ways = {OURS: ours(engine, d=d, dv=dv, causal=int(causal)), "cuDNN": sdpa(is_causal=causal), **(others(engine, d, dv, causal) if tiles else {})}
    return Cell(title, dict.fromkeys(ways, work(batch, heads, rows, d, dv, causal)), dense(*shape), ways, "cuDNN", must, goal, ends(causal=causal))


def beside_plain(engine, title, must, goal, d, rows, window, more, options, check, causal, names=None):
    batch, heads = sized(engine, (1 if rows > 8192 else 4, 32), (1, 2))
    rows = sized(engine, rows, 200)

    def make():
        s = dense(batch, heads, heads, rows, d, d)()
        s.slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)], device=DEVICE)
        return s

    ways = {OURS: ours(engine, *more, d=d, **options), PLAIN: ours(engine, d=d, causal=int(causal))}
    amount = work(batch, heads, rows, d, d, causal)
    return Cell(f"{title}, B{batch} H{heads} S{rows} D{d}", {OURS: amount, PLAIN: amount}, make, ways, PLAIN, must, goal, check, wants={PLAIN: ends(causal=causal)})


def fp8(engine, must, goal, tiles):
    batch, heads, rows, d = sized(engine, (2, 32, 8192, 128), (1, 2, 200, 128))

    def make():
        s = dense(batch, heads, heads, rows, d, d)()
        s.small = types.SimpleNamespace(**{x: getattr(s, x).to(torch.float8_e4m3fn) for x in "qkv"}, out=s.out)
        return s

    def check(s, got):
        at = picked(rows)
        return all((got[b, h][at].double() - exact(s.small.q[b, h].float(), s.small.k[b, h].float(), s.small.v[b, h].float(), at)).abs().max().item() < 0.1 for b, h in ((0, 0), (-1, -1)))

    def small(**more):
        bind = ours(engine, d=d, dtype="f8E4M3FN", **more)
        return lambda s: bind(s.small)

    ways = {OURS: small(), PLAIN: ours(engine, d=d)}
    for keys in (128, 160) if tiles else ():
        ways[f"sett, keys={keys}"] = small(keys=keys)
    return Cell(f"fp8 beside bf16, B{batch} H{heads} S{rows} D{d}", dict.fromkeys(ways, work(batch, heads, rows, d, d)), make, ways, PLAIN, must, goal, check, wants={PLAIN: ends()})


def varlen(s):
    """torch's, if it has it: it is not of one signature in all versions."""
    from torch.nn.attention.varlen import varlen_attn

    q, k, v = (t.transpose(0, 1) for t in (s.q, s.k, s.v))
    group = q.shape[1] // k.shape[1]
    k, v = (t.repeat_interleave(group, 1) if group > 1 else t.contiguous() for t in (k, v))
    try:
        varlen_attn(q, k, v, s.offsets, s.offsets, s.most, s.most, is_causal=True)
        more = {"is_causal": True}
    except TypeError:
        more = {"window_size": (-1, 0)}
    return lambda: varlen_attn(q, k, v, s.offsets, s.offsets, s.most, s.most, **more).transpose(0, 1)


def ragged(engine, must, goal):
    requests, heads, shared, d, least, most = sized(engine, (64, 32, 32, 128, 100, 4000), (3, 2, 1, 64, 10, 90))
    lengths = [random.Random(7 + i).randint(least, most) for i in range(requests)]
    rows, even = sum(lengths), round((sum(n * n for n in lengths) / requests) ** 0.5)

    def make():
        s = types.SimpleNamespace(most=max(lengths), offsets=torch.tensor([sum(lengths[:i]) for i in range(requests + 1)], dtype=torch.int32, device=DEVICE))
        s.q, s.k, s.v = (normal(rows, h, d).transpose(0, 1) for h in (heads, shared, shared))
        s.out = torch.empty_like(s.q)
        s.even = dense(requests, heads, shared, even, d, d)()
        return s

    def check(s, got):
        for i in (0, requests - 1):
            of, at = slice(s.offsets[i].item(), s.offsets[i + 1].item()), picked(lengths[i])
            for h in (0, heads - 1):
                if not (got[h, of][at].double() - exact(s.q[h, of], s.k[h * shared // heads, of], s.v[h * shared // heads, of], at, causal=True)).abs().max().item() < 0.02:
                    return False
        return True

    uniform = ours(engine, d=d, causal=1)
    ways = {OURS: ours(engine, "offsets", "offsets", d=d, causal=1, ragged=1), UNIFORM: lambda s: uniform(s.even), VARLEN: varlen}
    amounts = {UNIFORM: work(requests, heads, even, d, d, True)}
    amounts[OURS] = amounts[VARLEN] = sum(work(1, heads, n, d, d, True) for n in lengths)
    return Cell(f"ragged, {requests} requests of {least} to {most}, H{heads} D{d} causal, beside a uniform batch", amounts, make, ways, UNIFORM, must, goal, check, {VARLEN: 1.5}, {UNIFORM: lambda s, got: ends(causal=True)(s.even, got)})


def prefill(engine, tiles=False):
    """The rows of prefill, by name."""
    table = {}
    for rows, must, goal in ((1024, 0.92, 1.00), (4096, 0.98, 1.03), (16384, 1.01, 1.06)):
        table[f"d128_{rows}"] = lambda r=rows, m=must, g=goal: beside_cudnn(engine, (4, 32, 32, r, 128, 128), False, m, g, tiles)
    for rows, must, goal in ((1024, 0.88, 1.00), (4096, 0.93, 1.03), (16384, 0.97, 1.05)):
        table[f"causal_{rows}"] = lambda r=rows, m=must, g=goal: beside_cudnn(engine, (4, 32, 32, r, 128, 128), True, m, g, tiles)
    table["d64_4096"] = lambda: beside_cudnn(engine, (4, 32, 32, 4096, 64, 64), False, 0.95, 1.03, tiles)
    table["d64_16384"] = lambda: beside_cudnn(engine, (1, 32, 32, 16384, 64, 64), False, 1.00, 1.06, tiles)
    table["d256_4096"] = lambda: beside_cudnn(engine, (4, 16, 16, 4096, 256, 256), False, 0.88, 1.00, tiles)
    table["d192_128"] = lambda: beside_cudnn(engine, (4, 16, 16, 4096, 192, 128), True, 0.93, 1.05, tiles)
    table["gqa_8192"] = lambda: beside_cudnn(engine, (2, 32, 8, 8192, 128, 128), True, 0.93, 1.05, tiles)
    table["ragged"] = lambda: ragged(engine, 0.85, 0.95)
    table["fp8"] = lambda: fp8(engine, 1.25, 1.5, tiles)
    table["window"] = lambda: beside_plain(engine, "window of 1024, time of full causal over its own", 5.0, 6.0, 128, 16384, 1024, (1024,), {"causal": 1, "window": 1}, ends(causal=True, window=1024), True)
    table["softcap"] = lambda: beside_plain(engine, "soft cap of 20, beside plain", 0.75, 0.85, 128, 4096, 0, (20.0,), {"softcap": 1}, ends(cap=20.0), False)
    table["alibi"] = lambda: beside_plain(engine, "ALiBi causal, beside plain causal", 0.90, 0.95, 128, 4096, 0, ("slopes",), {"alibi": 1, "causal": 1}, ends(causal=True, slope=1.0), True)
    return table


# ---- a run -------------------------------------------------------------------------------------------------------------------
def clock():
    try:
        return f"{torch.cuda.clock_rate()} MHz" if GPU else ""
    except Exception: # it needs NVML's module
        return "clock not known"


def set_bytes(s):
    return sum(t.numel() * t.element_size() for t in vars(s).values() if isinstance(t, torch.Tensor))


def graphs_of(cell, sets):
    """{way: graph}, of those that work, whose results were checked."""
    graphs = {}
    for name, bind in cell.ways.items():
        try:
            outs = [(s.even if name == UNIFORM else s).out for s in sets]
            for out in outs:
                out.fill_(float("nan")) # what another way left there is no result of this one
            calls = [bind(s) for s in sets]
            given = [call() for call in calls]
            for s, out, got in zip(sets, outs, given):
                if not cell.wants.get(name, cell.want)(s, got if isinstance(got, torch.Tensor) else out):
                    raise AssertionError("it is wrong")
            del given, got, out, outs
            graphs[name] = Graph(calls, max(0.01, cell.work[name] / RATE), GRAPH_MS, look=False)
        except Exception as e:
            if name.startswith("sett"):
                raise AssertionError(f"{cell.title}: {name}: {first_line(e)}") from e
            say(f"{cell.title}: no {name}: {first_line(e)}")
    return graphs


def ratio(cell, times, over, must):
    """To the speed of a way: median, least, most of the repetitions."""
    ratios = [cell.work[OURS] / median(a) / (cell.work[over] / median(b)) for a, b in zip(times[OURS], times[over])]
    return f"{median(ratios):.3f} ({min(ratios):.3f}..{max(ratios):.3f}){'' if median(ratios) >= must else ' SHORT'}"


def line(cell, times):
    """title | each way | ratio to `over`, and to what is besides."""
    speed = {}
    for name, repetitions in times.items():
        every = sorted(cell.work[name] / (ms * 1e9) for one in repetitions for ms in one)
        speed[name] = (cell.work[name] / (median([median(one) for one in repetitions]) * 1e9), quantile(every, 0.1), quantile(every, 0.9))
    text = "; ".join(f"{name} {speed[name][0]:.0f} ({speed[name][1]:.0f}..{speed[name][2]:.0f})" for name in speed)
    said = [ratio(cell, times, cell.over, cell.must)] if cell.over in times else []
    said += [f"{ratio(cell, times, name, must)} of {name}, at least {must}" for name, must in cell.besides.items() if name in times]
    return f"| {cell.title} | {text} | {'; '.join(said)} | {cell.must} | {cell.goal} |"


def run_cells(columns, names, cell_of, turns, graphs_of, line, budget, warm_s):
    """Prints a row for each name. turns(cell, operands): how many sets of these a cell has; graphs_of(cell, sets), line(cell, name, times)."""
    until = time.monotonic() + budget
    if GPU:
        say(f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}")
    print(f"| cell | {columns} | must | goal |\n| --- | --- | --- | --- | --- |", flush=True)
    for i, name in enumerate(names):
        cell = cell_of(name)
        sets = [cell.make()]
        sets += [cell.make() for _ in range(1, turns(cell, sets[0]))]
        graphs = graphs_of(cell, sets)
        left = (until - time.monotonic()) / (len(names) - i) - SECONDS_BESIDES
        seconds = max(0.05, min(warm_s, left / (3 * max(1, len(graphs))))) if GPU else 0
        print(line(cell, name, protocol(graphs, seconds)) if graphs else cell.title, flush=True)
        say(f"{name}: warm for {seconds:.2f} s, {clock()}")
        del sets, graphs
        if GPU:
            torch.cuda.empty_cache()


def run(only, pack, budget, warm_s, tiles):
    on_side()
    torch.manual_seed(1)
    table = prefill(sealed(pack), tiles)
    run_cells("TFLOP/s: median (p10..p90) | ratio (least..most of three)", only or list(table), lambda name: table[name](), lambda _, s: turns_of(set_bytes(s)), graphs_of,
        lambda cell, _, times: line(cell, times), budget, warm_s)


def write_pack(path):
    import attention_decode_rows # which imports this file
    import attention_mixed_rows
    import attention_mla_rows

    recorder = Recorder()
    for make in prefill(recorder, True).values():
        make()
    attention_decode_rows.record(recorder)
    attention_mixed_rows.record(recorder)
    attention_mla_rows.record(recorder)
    spilled = spills(recorder.kernels(), True)
    say(f"{recorder.write(path)} kernels in {path}, of which {spilled} spill")
