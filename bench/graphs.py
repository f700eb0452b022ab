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
    """How many sets of operands, of so many bytes, take turns."""
    return copies(operands, torch.cuda.get_device_properties(0).L2_cache_size) if GPU else 2


class Graph:
    """The calls in turn, as often as fills `ms`, where one takes `guess` ms. edges, early: how many dependencies between kernels there are, and
    how many of them are programmatic, so that the second may begin before the first has ended."""

    def __init__(self, calls, guess, ms):
        self.launches = len(calls) * max(1, math.ceil(ms / guess / len(calls)))
        self.kept = calls, []  # what a call gives stays alive, so that no two write one memory
        self.edges = self.early = self.nodes = 0
        if not GPU:
            for call in calls:
                call()
            return
        self.graph = torch.cuda.CUDAGraph()
        self.graph.capture_begin(capture_error_mode="thread_local")
        try:
            for i in range(self.launches):
                self.kept[1].append(calls[i % len(calls)]())
            self.nodes, self.edges, self.early = captured(16 * self.launches)
        finally:
            self.graph.capture_end()

    def run(self):
        if GPU:
            self.graph.replay()


_driver = ctypes.CDLL("libcuda.so.1") if GPU else None


def captured(most):
    """(nodes, edges, programmatic edges) of the graph that this stream captures now, of at most so many edges."""
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    status, number, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
    nodes, edges = ctypes.c_size_t(), ctypes.c_size_t(most)
    ends, data = [(ctypes.c_void_p * most)() for _ in range(2)], (ctypes.c_uint8 * (8 * most))()  # CUgraphEdgeData: from_port, to_port, type, five more
    for said in (
        _driver.cuStreamGetCaptureInfo_v3(stream, ctypes.byref(status), ctypes.byref(number), ctypes.byref(graph), None, None, None),
        _driver.cuGraphGetNodes(graph, None, ctypes.byref(nodes)),
        _driver.cuGraphGetEdges_v2(graph, *ends, data, ctypes.byref(edges)),
    ):
        if said:
            return -1, -1, -1  # a driver before 12.3 does not tell
    return nodes.value, edges.value, sum(data[8 * i + 2] == 1 for i in range(edges.value)) # CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC


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
