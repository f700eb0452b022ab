# SPDX-License-Identifier: Apache-2.0
"""One cell of a row of bench/products.py: sett's ways and the peers' of one product, as CUDA graphs, by the protocol of the rows:

    the median of three repetitions of all ways in one process; in each repetition the ways in random order, each of them warm for 2 s, or
    as long as the row's time allows, and then timed; operands of random numbers that take turns, so that none is in the L2 cache from the launch
    before; ours begins early (PDL) exactly where the first peer's launches do."""

import collections
import dataclasses
import random
import time
from typing import Any, Callable, Dict

import torch
from gpu import GPU, first_line, say
from graphs import Graph, Pool, device_ms, turns_of
from product_table import Time
from rounds import median, quantile

import sett

REPETITIONS, SAMPLES, GRAPH_MS, WARM_S = 3, 9, 1.0, 2.0


@dataclasses.dataclass
class Cell:
    """ours: by name a function of early that gives something with .kernel() and .bind(set), or raises sett.Error. peers: by name a function
    of a set that gives what launches; the first one is who ours begins early with: where
    its launches do, or, of a chain of kernels, any of these. make(data, results): a set, of views of two pools. bytes: of one set.
    want(set), right(got, want): what is checked; want may
    give a dictionary by way. guess: about how many ms a launch takes. reads: peers that are no products, and are not
    checked: the best of few rounds stays alone."""

    title: str
    m: int
    n: int
    k: int
    bytes: int
    guess: float
    make: Callable[[Pool, Pool], Any]
    ours: Dict[str, Callable[[bool], Any]]
    peers: Dict[str, Callable[[Any], Any]]
    want: Callable[[Any], Any]
    right: Callable[[Any, Any], bool]
    dtype: torch.dtype = torch.bfloat16
    reads: tuple = ()
    chain: bool = False
    written: int = 0  # bytes of `bytes` that are of the second pool, if these are few; 0: any


@dataclasses.dataclass
class Result:
    cell: Cell
    times: Dict[str, list]  # ms of launches, by way and repetition
    edges: Dict[str, Any]  # Edges of the graph of each
    early: bool

    def ms(self, way):
        return median([median(one) for one in self.times[way]])

    def time(self, way):
        every = [1000 * t for one in self.times[way] for t in one]
        return Time(1000 * self.ms(way), quantile(every, 0.1), quantile(every, 0.9))

    def speed(self, of, over):
        """How many times as fast one way is as another: median, least and most of the repetitions."""
        ratios = [median(theirs) / median(ours) for ours, theirs in zip(self.times[of], self.times[over])]
        return median(ratios), min(ratios), max(ratios)


def result_of(given, s):
    """What a launch wrote: what its call gave, or the set's `out`."""
    return given if isinstance(given, torch.Tensor) else s.out


def warm(graph, seconds):
    """Replays it for so long, with the device always busy and never far behind."""
    waiting, until = collections.deque(), time.monotonic() + seconds
    while time.monotonic() < until:
        graph.run()
        mark = torch.cuda.Event()
        mark.record()
        waiting.append(mark)
        if len(waiting) > 4:
            waiting.popleft().synchronize()


def protocol(graphs, seconds):
    """{name: [[ms of a launch, ...] of each repetition]}."""
    times = {name: [] for name in graphs}
    for _ in range(REPETITIONS):
        for name in random.sample(list(graphs), len(graphs)):
            if GPU:
                warm(graphs[name], seconds)
            times[name].append(device_ms({name: graphs[name]}, SAMPLES)[name])
    return times


class Runner:
    """Runs the cells of a row within so many seconds, and says how long each way was warm."""

    def __init__(self, engine, cells, budget, most_warm=WARM_S):
        self.engine, self.most, self.until, self.left = engine, most_warm, time.monotonic() + budget, len(cells)
        self.warmed, self.wrong, self.besides = [], 0, 0.2  # seconds that a cell takes besides being warm
        turns = {id(c): turns_of(c.bytes) for c in cells}
        self.pools = {}
        for dtype in dict.fromkeys(c.dtype for c in cells):
            size = max(turns[id(c)] * (c.bytes + 4096) // dtype.itemsize for c in cells if c.dtype == dtype)
            written = max(turns[id(c)] * ((c.written or 2 * c.bytes // dtype.itemsize) + 4096) // 2 for c in cells if c.dtype == dtype)
            self.pools[dtype] = Pool(size, dtype), Pool(written, normal=False)

    def run(self, cell):
        began = time.monotonic()
        data, results = self.pools[cell.dtype]
        data.begin(), results.begin()
        sets = [cell.make(data, results) for _ in range(turns_of(cell.bytes))]
        wants = {0: cell.want(sets[0]), len(sets) - 1: cell.want(sets[-1])}
        graphs = {}
        for name, bind in cell.peers.items():
            self.add(cell, graphs, name, sets, {} if name in cell.reads else wants, lambda bind=bind: bind)
        first = next((graphs[name] for name in cell.peers if name in graphs), None)
        early = bool(first and (first.early or cell.chain and first.edges.within_early))
        for name, of in cell.ours.items():
            self.add(cell, graphs, name, sets, wants, lambda of=of: of(early).bind)
        del wants
        if cell.reads:
            took = {name: median(t) for name, t in device_ms({name: graphs[name] for name in cell.reads if name in graphs}, 5).items()}
            for name in sorted(took, key=took.get)[1:]:
                del graphs[name]
        seconds = self.seconds(len(graphs))
        times = protocol(graphs, seconds)
        self.besides += 0.3 * (time.monotonic() - began - REPETITIONS * len(graphs) * seconds - self.besides)
        self.left -= 1
        self.warmed += [seconds] * bool(graphs)
        return Result(cell, times, {name: graph.edges for name, graph in graphs.items()}, early)

    def seconds(self, ways):
        """How long each way is warm: what is left, in equal parts."""
        return max(0.002, min(self.most, ((self.until - time.monotonic()) / self.left - self.besides) / (REPETITIONS * max(1, ways)))) if GPU else 0

    def add(self, cell, graphs, name, sets, wants, binder):
        """Captures a way, and checks what its graph gives, where there is a `want`."""
        try:
            bind = binder()
            calls = [bind(s) for s in sets]
            for i, call in enumerate(calls):  # loads what a capture may not load; torch.compile compiles
                result_of(call(), sets[i]).fill_(float("nan"))
            graph = Graph(calls, cell.guess, GRAPH_MS)
            for i in range(len(sets) if GPU else 0):
                result_of(graph.result(i), sets[i]).fill_(float("nan"))
            graph.run()
        except (sett.Error, RuntimeError, NotImplementedError) as e:
            if isinstance(e, sett.Error) and e.status == sett.Status.E_NOT_CACHED:
                raise
            say(f"{cell.title}: no {name}: {first_line(e)}")
            return
        for i, want in wants.items():
            if not cell.right(result_of(graph.result(i), sets[i]), want[name] if isinstance(want, dict) else want):
                self.wrong += 1
                say(f"WRONG: {cell.title}: {name}")
                return
        graphs[name] = graph

    def close(self):
        compiled = self.engine.stats["compiles"]
        if GPU and compiled:
            raise AssertionError(f"{compiled} kernels were compiled in a sealed engine")
        if self.warmed and GPU:
            return f"each way was warm for {min(self.warmed):.2f} to {max(self.warmed):.2f} s before each of {REPETITIONS} repetitions of {SAMPLES} graphs"
        return "nothing is timed here"
