# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/attention.py decode: one query of each request over many keys, beside cuDNN through torch's scaled_dot_product_attention, beside
what reads K and V alone, and with pages beside without, by the protocol of product_cells.py. What counts is bytes of K and V."""

import types

import torch
from attention_rows import exact, normal, run_cells, sdpa, set_bytes
from gpu import DEVICE, GPU, first_line, say
from graphs import Graph, on_side, turns_of
from product_cells import GRAPH_MS, protocol
from product_rows import readers
from product_way import Recorder, sealed, sized
from rounds import median, quantile

import sett

OURS, CUDNN, FP8, PAGED = "sett", "cuDNN", "fp8", "paged"
PAGES = (16, 64)
RATE = 3e9  # bytes of a millisecond, about

# name: requests, keys, one set of operands (so that L2 is as the launch before left it), what else; must and goal: beside cuDNN, of FP8 beside OURS
ROWS = {
    "b1_128k": (1, 131072, False, "", 0.88, 0.98),
    "b32_4k": (32, 4096, False, PAGED, 0.88, 0.98),
    "b128_1k": (128, 1024, False, PAGED, 0.88, 0.98),
    "b1_8k": (1, 8192, True, "", 0.75, 0.95),
    "fp8": (32, 8192, False, FP8, 1.5, 1.8),
}
HEADS, SHARED, D = 32, 8, 128
# Other tunings, by name.
SPLITS = {f"split {split}, {keys} keys, {warps} warps, {stages} stages": {"split": split, "keys": keys, "warps": warps, "stages": stages}
    for split, keys, warps, stages in ((256, 64, 4, 5), (1024, 64, 4, 5), (512, 64, 4, 4), (512, 32, 2, 10), (512, 128, 8, 2), (512, 64, 2, 5))}


def workspace(requests, heads, shared, keys, /, **options):
    partial, left = sett.kernels.attention_decode_workspace(requests, heads, shared, 1, keys, dtype="bf16", d=D, **options)
    return torch.empty(partial, device=DEVICE), sett.view(torch.zeros(left, device=DEVICE, dtype=torch.int32), "u32")


def cell(engine, name, one_set, splits):
    requests, keys = ROWS[name][:2]
    requests, keys, heads, shared = sized(engine, (requests, keys, HEADS, SHARED), (min(requests, 3), 300, 8, 2))
    ours = engine.compile(sett.kernels.attention_decode, dtype="bf16", d=D, no_pdl=1)
    paged = {p: engine.compile(sett.kernels.attention_decode, dtype="bf16", d=D, no_pdl=1, page=p) for p in PAGES if ROWS[name][3] == PAGED}
    narrow = engine.compile(sett.kernels.attention_decode, dtype="bf16", kv="f8E4M3FN", d=D, no_pdl=1) if ROWS[name][3] == FP8 else None
    others = {name: engine.compile(sett.kernels.attention_decode, dtype="bf16", d=D, no_pdl=1, **tuning) for name, tuning in SPLITS.items()} if splits else {}
    reads = readers(engine, lambda s: s.both.view(-1).view(torch.float32))
    if isinstance(engine, Recorder):
        return None
    partial, left = workspace(requests, heads, shared, -(-keys // max(PAGES)) * max(PAGES), **({"split": 128, "keys": 64} if others else {}))

    def make():
        s = types.SimpleNamespace(q=normal(requests, heads, 1, D), both=normal(2, requests, shared, -(-keys // 64) * 64, D))
        s.k, s.v, s.out = s.both[0][:, :, :keys], s.both[1][:, :, :keys], torch.empty(requests, heads, 1, D, device=DEVICE, dtype=torch.bfloat16)
        s.narrow = s.both.to(torch.float8_e4m3fn) if narrow else None
        s.lengths = torch.full((requests,), keys, dtype=torch.int32, device=DEVICE)
        for p in paged:
            pages = s.both.shape[3] // p
            order = torch.randperm(requests * pages, device=DEVICE)
            setattr(s, f"table{p}", order.view(requests, pages).int())
            pool = torch.empty(2, requests * pages, shared, p, D, device=DEVICE, dtype=torch.bfloat16)
            pool[:, order] = s.both.view(2, requests, shared, pages, p, D).transpose(2, 3).reshape(2, requests * pages, shared, p, D)
            setattr(s, f"pool{p}", pool)
        return s

    def check(s, got, way):
        k, v = (s.narrow.float()[:, :, :, :keys] if way == FP8 else s.both[:, :, :, :keys])
        for b, h in ((0, 0), (-1, heads - 1)):
            if not (got[b, h].double() - exact(s.q[b, h], k[b, h * shared // heads], v[b, h * shared // heads], [0])).abs().max().item() < 0.02:
                return False
        return True

    ways = {OURS: lambda s: ours.prepare(s.q, s.k, s.v, s.out, partial, left), CUDNN: sdpa()}
    if narrow:
        ways[FP8] = lambda s: narrow.prepare(s.q, *s.narrow[:, :, :, :keys], s.out, partial, left)
    for other, kernel in others.items():
        ways[other] = lambda s, kernel=kernel: kernel.prepare(s.q, s.k, s.v, s.out, partial, left)
    for p, kernel in paged.items() if not splits else ():
        ways[f"page {p}"] = lambda s, p=p, kernel=kernel: kernel.prepare(s.q, getattr(s, f"pool{p}")[0], getattr(s, f"pool{p}")[1], s.out, getattr(s, f"table{p}"), s.lengths, partial, left)
    ways.update(reads)
    return types.SimpleNamespace(title=f"decode B{requests} H{heads}/{shared} N{keys} D{D}", bytes=2 * 2 * requests * shared * keys * D, make=make, ways=ways, check=check, reads=tuple(reads), one_set=one_set)


def graphs_of(c, sets):
    graphs = {}
    for name, bind in c.ways.items():
        try:
            calls = [bind(s) for s in sets]
            given = [call() for call in calls]
            for s, got in zip(sets, given):
                if name not in c.reads and not c.check(s, got if isinstance(got, torch.Tensor) else s.out, name):
                    raise AssertionError("it is wrong")
            del given
            graphs[name] = Graph(calls, max(0.003, c.bytes / RATE), GRAPH_MS, look=False)
        except Exception as e:
            if name not in c.reads and name != CUDNN:
                raise AssertionError(f"{c.title}: {name}: {first_line(e)}") from e
            say(f"{c.title}: no {name}: {first_line(e)}")
    return graphs


def best_read(c, graphs):
    """Of the readers one stays, the fastest of a few samples."""
    took = {name: median(t[0]) for name, t in protocol({name: graphs[name] for name in c.reads if name in graphs}, 0).items()}
    for name in sorted(took, key=took.get)[1:]:
        del graphs[name]


def line(c, times, must, goal):
    """title | each way: us, TB/s | how many times as fast as cuDNN, as the read; with pages as without."""
    def us(name):
        every = sorted(1000 * ms for one in times[name] for ms in one)
        return 1000 * median([median(one) for one in times[name]]), quantile(every, 0.1), quantile(every, 0.9)

    def ratio(of, over):
        return median([median(theirs) / median(ours) for ours, theirs in zip(times[of], times[over])])

    text = "; ".join(f"{name} {us(name)[0]:.1f} us ({us(name)[1]:.1f}..{us(name)[2]:.1f}), {c.bytes / (1 + (name == FP8)) / us(name)[0] / 1e6:.2f} TB/s" for name in times)
    ratios = [f"{ratio(OURS, CUDNN):.3f} of cuDNN{'' if FP8 in times or ratio(OURS, CUDNN) >= must else ' SHORT'}"] if CUDNN in times else []
    ratios += [f"{FP8}: {ratio(FP8, OURS):.3f} of {OURS}{'' if ratio(FP8, OURS) >= must else ' SHORT'}"] if FP8 in times else []
    ratios += [f"{ratio(OURS, name):.3f} of a read" for name in times if name in c.reads]
    ratios += [f"{name}: {ratio(name, OURS):.3f} of {OURS}{'' if ratio(name, OURS) >= 1 / 1.08 else ' SHORT'}" for name in times if name.startswith("page")]
    ratios += [f"{name}: {ratio(name, OURS):.3f} of {OURS}" for name in times if name.startswith("split")]
    return f"| {c.title} | {text} | {', '.join(ratios)} | {must} | {goal} |"


def run_ways(names, cell_of, line_of, budget, warm_s):
    """Rows of cells whose work is bytes: .bytes, .reads, .one_set."""
    on_side()
    torch.manual_seed(1)

    def graphs(c, sets):
        found = graphs_of(c, sets)
        if GPU:
            best_read(c, found)
        return found

    run_cells("median (p10..p90) | ratios", names, cell_of, lambda c, s: 1 if c.one_set else turns_of(min(c.bytes, set_bytes(s))), graphs, line_of, budget, warm_s)


def run(only, pack, budget, warm_s, splits):
    engine = sealed(pack)
    run_ways(only or list(ROWS), lambda name: cell(engine, name, ROWS[name][2], splits), lambda c, name, times: line(c, times, *ROWS[name][4:]), budget, warm_s)


def record(recorder):
    """Its kernels, for a pack."""
    for name in ROWS:
        cell(recorder, name, False, True)
