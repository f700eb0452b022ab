# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs of launches over operands that take turns, made fast: views into one pool of random numbers, captures without a collection
of garbage, and replays that are timed one behind the other. On the CPU engine nothing is captured, and calls run once."""

import ctypes
import math
import random

import torch
from gpu import DEVICE, GPU
from rounds import copies, in_turn

SIDE = torch.cuda.Stream() if GPU else None  # what is captured cannot be on the default stream
ALIGN = 256


def on_side():
    """Everything on the stream that captures, so that cuBLAS has its workspace there before."""
    if GPU:
        torch.cuda.set_stream(SIDE)


class Pool:
    """Elements of one type of which tensors are views: random normal numbers, or, of what is written, nothing."""

    def __init__(self, elements, dtype=torch.bfloat16, normal=True):
        self.all = torch.empty(elements, dtype=dtype, device=DEVICE)
        self.used = 0
        for part in self.all.split(1 << 28) if normal else ():
            part.copy_(torch.empty(part.shape, dtype=torch.bfloat16, device=DEVICE).normal_()) # fp8 has no normal_ of its own

    def begin(self):
        self.used = 0

    def take(self, *shape):
        size = math.prod(shape)
        if self.used + size > self.all.numel():
            raise MemoryError(f"a pool of {self.all.numel()} elements has no room for {shape} behind {self.used}")
        view = self.all[self.used:self.used + size].view(shape)
        step = ALIGN // self.all.element_size()
        self.used += -(-size // step) * step
        return view


def turns_of(operands):
    """How many sets of operands, of so many bytes, take turns: one, where the cache holds less than a hundredth of it."""
    if not GPU:
        return 2
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    return 1 if operands > 100 * cache else copies(operands, cache)


class Graph:
    """The calls in turn, as often as fills `ms`, where one takes `guess` ms; with `look` its dependencies are known: Edges."""

    def __init__(self, calls, guess, ms, look=True):
        self.launches = len(calls) * max(1, math.ceil(ms / guess / len(calls)))
        self.kept = calls, []  # what a call gives stays alive, so that no two write one memory
        self.edges = Edges(look)
        if not GPU:
            self.kept[1].extend(call() for call in calls)
            return
        self.graph = torch.cuda.CUDAGraph()
        self.graph.capture_begin(capture_error_mode="thread_local")
        try:
            for i in range(self.launches):
                self.kept[1].append(calls[i % len(calls)]())
                self.edges.launched()
            self.edges.end(self.launches)
        finally:
            self.graph.capture_end()

    @property
    def early(self):
        """Whether a launch may begin before the one before it has ended."""
        return self.edges.between_early > 0

    def run(self):
        if GPU:
            self.graph.replay()

    def result(self, i):
        """What the last launch on set i gave."""
        calls, results = self.kept
        return results[i - len(calls)]


_driver = ctypes.CDLL("libcuda.so.1") if GPU else None


class Edges:
    """The dependencies between the kernels of a graph while it is captured: how many there are between one launch and the next, how many of
    these are programmatic, so that the next may begin before the one before it has ended (PDL), and both within launches of several kernels.
    known: whether the driver tells (12.3 and later)."""

    def __init__(self, look):
        self.between = self.between_early = self.within = self.within_early = self.nodes = self.launches = 0
        self.known, self.last = GPU and look, set()  # the last nodes of launches

    def launched(self):
        if self.known:
            _, nodes = self._look()
            self.last.update(nodes)

    def _look(self):
        """(graph, nodes that the next launch would depend on)."""
        status, number, graph, nodes, data, n = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_void_p(), ctypes.c_size_t()
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self._ask("cuStreamGetCaptureInfo_v3", stream, *map(ctypes.byref, (status, number, graph, nodes, data, n)))
        return graph, nodes[:n.value] if self.known else []

    def _ask(self, call, *arguments):
        self.known = self.known and hasattr(_driver, call) and getattr(_driver, call)(*arguments) == 0

    def end(self, launches):
        """Before the capture ends."""
        if not self.known:
            return
        graph, _ = self._look()
        most, nodes = 16 * launches + 16, ctypes.c_size_t()
        n, of, to, data = ctypes.c_size_t(most), (ctypes.c_void_p * most)(), (ctypes.c_void_p * most)(), (ctypes.c_uint8 * (8 * most))()
        self._ask("cuGraphGetNodes", graph, None, ctypes.byref(nodes))
        self._ask("cuGraphGetEdges_v2", graph, of, to, data, ctypes.byref(n))
        if not self.known:
            return
        self.launches, self.nodes = launches, nodes.value
        for i in range(n.value):
            early = data[8 * i + 2] == 1  # CUgraphEdgeData: from_port, to_port, type: CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC; five more
            if of[i] in self.last:
                self.between, self.between_early = self.between + 1, self.between_early + early
            else:
                self.within, self.within_early = self.within + 1, self.within_early + early
        self.last = set()

    def __str__(self):
        if not self.known:
            return "PDL not known"
        within = f", {self.within_early} of {self.within} within" if self.within else ""
        return f"PDL {self.between_early} of {self.between}{within}, {self.nodes / self.launches:g} nodes a launch"


def device_ms(graphs, rounds):
    """ms of a launch of each, by name: so many rounds in random order, one graph behind the other, so that the device never waits."""
    times = {name: [] for name in graphs}
    if not GPU:
        return {name: [1.0] * rounds for name in graphs}
    order = list(in_turn(graphs, rounds))
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(len(order) + 1)]
    graphs[random.choice(list(graphs))].run()
    marks[0].record()
    for (_, _, graph), mark in zip(order, marks[1:]):
        graph.run()
        mark.record()
    marks[-1].synchronize()
    for i, (_, name, graph) in enumerate(order):
        times[name].append(marks[i].elapsed_time(marks[i + 1]) / graph.launches)
    return times


def guess_ms(m, n, k, width=2):
    """About what a product takes: the slowest of its memory, its tensor cores and a launch. width: bytes of an operand's element."""
    return 1000 * max(((m + n) * k * width + 2 * m * n) / 4e12, 2 * m * n * k / (1.4e15 / width), 2.5e-6)
