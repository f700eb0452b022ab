# SPDX-License-Identifier: Apache-2.0
"""The frame of bench/model.py: one work of a model at one number of tokens, ours beside torch.compile of the plain PyTorch text, by the protocol
of product_cells.py: all ways in one process, each a CUDA graph, warm before it is timed, in random order, three repetitions. Every way's result
is checked first, beside Float64. Sets of operands take turns, at most MOST_SETS: at few tokens they stay in the L2 cache, as what a model's
kernel before has just written does."""

import math
import time
from typing import Any, Callable, Dict, NamedTuple, Sequence

import torch
from gpu import DEVICE, GPU, first_line, say, within
from graphs import Graph, turns_of
from product_cells import protocol
from rounds import median, quantile

OURS, COMPILED, COPY = "sett", "torch.compile", "copy"
MUST, GOAL, MUST_COPY, COPY_FROM, MUST_BESIDE = 0.95, 1.25, 0.90, 256e6, 0.85
MOST_SETS, GRAPH_MS, PEER_SECONDS = 32, 0.5, 60


class Cell(NamedTuple):
    """bytes: that a launch reads and writes. make(): a set, a SimpleNamespace of tensors. ours(engine, set): what launches, and writes the
    tensors that written(set) names. plain(set): the PyTorch text, a function of tensors that gives as many, in the same order, which
    torch.compile gets. right(set, results): are these results right? eager: by name other functions of a set, which stand in where
    torch.compile gives up, or breaks the graph. must: the least ratio, NaN of what is only told. more: other ways of ours, by name, that are told."""

    title: str
    bytes: float
    make: Callable[[], Any]
    ours: Callable[[Any, Any], Callable[[], Any]]
    written: Callable[[Any], Sequence[Any]]
    plain: Callable[[Any], Sequence[Any]]
    right: Callable[[Any, Sequence[Any]], bool]
    eager: Dict[str, Callable[[Any], Sequence[Any]]] = {}
    must: float = MUST
    more: Dict[str, Callable[[Any, Any], Callable[[], Any]]] = {}
    beside: str = ""  # the title of an earlier cell, of whose bytes a second this has at least MUST_BESIDE


# ---- what is right -------------------------------------------------------------------------------------------------------------
def close(got, want, relative, absolute):
    """Is no element further off? want: Float64. Of NaN it is false."""
    return bool(((got.double() - want).abs() <= relative * want.abs() + absolute).all().item())


def equal(got, want):
    return bool((got == want).all().item())


def bf16(*shape, scale=1.0):
    return torch.randn(shape, device=DEVICE, dtype=torch.float32).mul_(scale).to(torch.bfloat16)


def empty(*shape, dtype=torch.bfloat16):
    return torch.empty(shape, dtype=dtype, device=DEVICE)


# ---- ways ------------------------------------------------------------------------------------------------------------------------
def blank(t):
    """No result of another way is taken for one."""
    t.view(torch.uint8).fill_(255) if t.element_size() == 1 else t.fill_(float("nan") if t.is_floating_point() else -1)


def prepared(cell, name, sets, bind, written, guess):
    """A graph of the calls, whose results were checked when it was replayed."""
    calls = [bind(s) for s in sets]
    for call in calls:
        call()
    graph = Graph(calls, guess, GRAPH_MS, look=False)
    for i, s in enumerate(sets):
        for t in written(s) if written else graph.result(i):
            blank(t)
    if GPU:
        graph.run()
    else:
        for call in calls:
            call()
        graph = Graph(calls, guess, GRAPH_MS, look=False)
    for i in {0, len(sets) - 1}:
        if not cell.right(sets[i], tuple(written(sets[i])) if written else tuple(graph.result(i))):
            raise AssertionError(f"{name} is wrong")
    return graph


def compiled(plain):
    """max-autotune; the graphs are ours."""
    if not GPU:
        return lambda s: lambda: plain(s)
    f = torch.compile(plain, dynamic=False, fullgraph=True, mode="max-autotune-no-cudagraphs")
    return lambda s: lambda: f(s)


def copy_of(moved):
    """A copy that reads and writes as many bytes in all."""
    x = torch.empty(int(moved) // 2, dtype=torch.uint8, device=DEVICE)
    y = torch.empty_like(x)
    return lambda s: lambda: y.copy_(x)


def peers_of(cell, sets, guess):
    """{name: graph} of torch.compile, or where that does not work of the eager forms."""
    found = {}
    for name, f in {COMPILED: compiled(cell.plain), **{f"eager: {n}": (lambda s, f=f: lambda: f(s)) for n, f in {"plain": cell.plain, **cell.eager}.items()}}.items():
        try:
            with within(PEER_SECONDS, name):
                found[name] = prepared(cell, name, sets, f, None, guess)
        except Exception as e:
            if isinstance(e, torch.OutOfMemoryError if hasattr(torch, "OutOfMemoryError") else MemoryError):
                raise
            say(f"{cell.title}: no {name}: {first_line(e)}")
        if COMPILED in found:
            break
    return found


def graphs_of(engine, cell):
    if GPU:
        torch.compiler.reset() # the shapes of another cell would make it write kernels of any shape
    first = cell.make()
    operands = sum(t.numel() * t.element_size() for t in vars(first).values() if isinstance(t, torch.Tensor))
    sets = [first] + [cell.make() for _ in range(1, min(MOST_SETS, turns_of(operands)))]
    guess = max(0.003, cell.bytes / 4e9)
    graphs = {}
    for name, of in {OURS: cell.ours, **cell.more}.items():
        graphs[name] = prepared(cell, name, sets, lambda s, of=of: of(engine, s), cell.written, guess)
    graphs.update(peers_of(cell, sets, guess))
    if cell.bytes >= COPY_FROM and GPU:
        graphs[COPY] = Graph([copy_of(cell.bytes)(None)], guess, GRAPH_MS, look=False)
    return graphs, sets


# ---- rows ------------------------------------------------------------------------------------------------------------------------
def ratio(times, over):
    """How many times as fast ours is: median, least and most of the repetitions."""
    ratios = [median(theirs) / median(ours) for ours, theirs in zip(times[OURS], times[over])]
    return median(ratios), min(ratios), max(ratios)


def told(cell, name, repetitions):
    every = sorted(1000 * ms for one in repetitions for ms in one)
    speed = f", {cell.bytes / median(every) / 1e3:.0f} GB/s" if cell.bytes > 4e6 else ""
    return f"{name} {median(every):.2f} us ({quantile(every, 0.1):.2f}..{quantile(every, 0.9):.2f}{speed})"


def line(cell, times):
    """(the row, the ratio to the peer or None)."""
    peers = [name for name in times if name == COMPILED or name.startswith("eager")]
    peer = min(peers, key=lambda name: median([median(one) for one in times[name]]), default=None)
    said, seen = [], None
    if peer:
        seen, least, most = ratio(times, peer)
        said.append(f"{seen:.3f} ({least:.3f}..{most:.3f}) of {peer}{' SHORT' if seen < cell.must else ''}")
    if COPY in times:
        of_copy, least, most = ratio(times, COPY)
        said.append(f"{of_copy:.3f} ({least:.3f}..{most:.3f}) of a copy, at least {MUST_COPY}{' SHORT' if of_copy < MUST_COPY else ''}")
    return f"| {cell.title} | {'; '.join(told(cell, name, one) for name, one in times.items())} | {'; '.join(said)} | {cell.must} | {GOAL} |", seen


def run_cells(engine, cells, budget, warm_s):
    """cells: functions that give a Cell. Prints a row for each, then the geometric mean."""
    until, ratios, speeds = time.monotonic() + budget, [], {}
    print("| work | median (p10..p90) | times as fast (least..most of three) | must | goal |\n| --- | --- | --- | --- | --- |", flush=True)
    for i, make in enumerate(cells):
        cell = make()
        began = time.monotonic()
        graphs, sets = graphs_of(engine, cell)
        left = (until - time.monotonic()) / (len(cells) - i)
        seconds = max(0.02, min(warm_s, left / (4 * len(graphs)))) if GPU else 0
        times = protocol(graphs, seconds)
        text, seen = line(cell, times)
        if seen and cell.must == cell.must:
            ratios.append(seen)
        speeds[cell.title] = cell.bytes / median([median(one) for one in times[OURS]])
        print(text if GPU else f"{cell.title}: {len(graphs)} ways are right", flush=True)
        if GPU and cell.beside in speeds:
            seen = speeds[cell.title] / speeds[cell.beside]
            print(f"| {cell.title} | {seen:.3f} of the bytes a second of {cell.beside} | {'SHORT' if seen < MUST_BESIDE else ''} | {MUST_BESIDE} | 0.95 |", flush=True)
        say(f"{cell.title}: {len(sets)} sets, {time.monotonic() - began:.1f} s")
        del graphs, sets
        if GPU:
            torch.cuda.empty_cache()
    if ratios and GPU:
        print(f"geometric mean of {len(ratios)}: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, at least 1.10; {sum(r < MUST for r in ratios)} below {MUST}", flush=True)
