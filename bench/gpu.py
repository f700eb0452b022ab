# SPDX-License-Identifier: Apache-2.0
"""Ways to do one work on a GPU, timed beside each other: sett's own choice launched plainly, the same begun early, the best of a sweep, and
peers. Each way takes several sets of operands in turn, so that no launch finds in the cache what the launch before it touched, as a CUDA
graph of whole rotations, so that no host is timed. Without a GPU each work is small and runs on the CPU engine: results are compared,
nothing is timed, and nothing is compiled by torch.

Tables go to standard output, all else to standard error."""

import contextlib
import os
import signal
import sys
import types
from typing import Any, Callable, NamedTuple

import torch
from rounds import BEST, EARLY, HEAD, PLAIN, copies, in_turn, median, row, seen

import sett

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
ROUNDS, SWEEP_ROUNDS = 21, 7
LEAST, LEAST_MS = 10, 0.3  # launches in a graph; how long a sample takes
PEER_SECONDS = float(os.environ.get("BENCH_PEER_SECONDS", 45))  # to compile, check and capture one
engine = sett.Engine()


def say(*text, sep=" "):
    print(*text, sep=sep, file=sys.stderr, flush=True)


def head():
    """What the rows below are of."""
    if GPU:
        say(f"torch {torch.__version__} (CUDA {torch.version.cuda}), cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}")
        print(HEAD, flush=True)


def pick(large, small):
    """An extent: the second without a GPU."""
    return large if GPU else small


def gbps(moved):
    return lambda ms: f"{moved / ms / 1e6:.0f} GB/s"


def tflops(operations):
    return lambda ms: f"{operations / ms / 1e9:.0f} TFLOP/s"


def us(ms):
    return f"{1000 * ms:.1f} us"


def us_and_tflops(operations):
    return lambda ms: f"{us(ms)} ({tflops(operations)(ms)})"


def randn(*shape):
    return torch.randn(shape, device=DEVICE)


# ---- a work ----------------------------------------------------------------------------------------------------
class Work:
    """Something to do.

    figure: the text of a time in ms. make(): a set of operands, of which `out` is what ways write, by name. want(set): what is right;
    right(got, want): whether it is. start: what `out` is before the first launch, of a work that updates it: then want takes the number
    of launches too. A way is a function that binds a set, and gives what launches; a launch may give its result instead of writing `out`."""

    def __init__(self, title, figure, make, want, right, start=None):
        if GPU:
            torch.cuda.empty_cache()
            torch.compiler.reset()  # another work's shapes would make torch.compile write kernels of any shape
        self.title, self.figure, self.right, self.start = title, figure, right, start
        self.sets = [types.SimpleNamespace(**make())]
        operands = sum(t.numel() * t.element_size() for t in vars(self.sets[0]).values())
        for _ in range(1, copies(operands, torch.cuda.get_device_properties(0).L2_cache_size) if GPU else 2):
            self.sets.append(types.SimpleNamespace(**make()))
        self.want = want if start is not None else [want(s) for s in self.sets]

    def begin(self):
        for s in self.sets:
            s.out.fill_(float("nan")) if self.start is None else s.out.copy_(self.start)

    def check(self, name, results, launches):
        """The results of the last launch on each set."""
        for i, s in enumerate(self.sets):
            got = results[i][-1] if isinstance(results[i], tuple) else results[i]  # of several the last one counts
            got = got if isinstance(got, torch.Tensor) else s.out
            if not self.right(got, self.want[i] if self.start is None else self.want(s, launches)):
                raise AssertionError(f"{self.title}: {name} is wrong")


class Way(NamedTuple):
    """What is timed: run() launches so many times."""

    run: Callable[[], Any]
    launches: int


def run_once(way):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    way.run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def prepared(work, name, bind, graph=True):
    """A way whose results were checked, launched one by one and, with graph, as a graph."""
    calls = [bind(s) for s in work.sets]
    for call in calls:  # what compiles at its first call may try shapes on the operands
        call()
    work.begin()
    work.check(name, [call() for call in calls], 1)
    if not GPU:
        return Way(lambda: None, 1)
    turns = -(-LEAST // len(calls))

    def plainly():
        for _ in range(turns):
            for call in calls:
                call()

    run = captured(work, name, calls, turns) if graph else plainly
    way = Way(run or plainly, turns * len(calls))
    run_once(way)
    times = max(1, round(LEAST_MS / run_once(way)))
    return way if times == 1 else Way(lambda: [way.run() for _ in range(times)], times * way.launches)


def captured(work, name, calls, turns):
    """A graph of so many rotations, or None where there can be none. What launches give stays alive, so that no two write one memory."""
    graph, results = torch.cuda.CUDAGraph(), []
    torch.cuda.synchronize()
    try:
        with torch.cuda.graph(graph):
            for _ in range(turns * len(calls)):
                results.append(calls[len(results) % len(calls)]())
    except TimeoutError:
        raise
    except Exception as e:
        torch.cuda.synchronize()
        say(f"{work.title}: {name} cannot be captured, so its times have the host's in them: {first_line(e)}")
        return None
    work.begin()
    for t in (t for got in results for t in (got if isinstance(got, tuple) else (got,)) if isinstance(t, torch.Tensor) and work.start is None):
        t.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    work.check(name + " as a graph", results[-len(calls):], turns)
    return lambda kept=(results, calls): graph.replay() # and so do the operands of the calls, which the graph does not keep


def first_line(e):
    return (str(e).strip() or type(e).__name__).splitlines()[0]


@contextlib.contextmanager
def within(seconds, what):
    """The block ends in a TimeoutError after so long."""

    def ring(_number, _frame):
        raise TimeoutError(f"{what} took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- times ----------------------------------------------------------------------------------------------------
def device_ms(ways, rounds):
    """What a launch of each way takes on the device, by name and in order of the rounds, behind as many that are not timed."""
    times = {name: [] for name in ways}
    for _, name, way in in_turn(ways, rounds):
        way.run()
        times[name].append(run_once(way) / way.launches)
    return times


def swept(work, who, ways):
    """(shape, way): the best of those that are prepared already."""
    took = {name: median(t) for name, t in device_ms(ways, SWEEP_ROUNDS).items()} if GPU else dict.fromkeys(ways, 0)
    order = sorted(ways, key=took.get)
    if GPU:
        say(f"{work.title}, {who}: " + "; ".join(f"{name}: {work.figure(took[name])}" for name in order))
    return order[0], ways[order[0]]


def peer_of(work, name, bind, graph):
    """(name, way) of a peer: the best where it has several shapes. None, with the reason, where it does not work here, or is wrong."""
    try:
        with within(PEER_SECONDS, name):
            if not isinstance(bind, dict):
                return name, prepared(work, name, bind, graph)
            shape, way = swept(work, name, {n: prepared(work, f"{name}, {n}", b, graph) for n, b in bind.items()})
            return f"{name}, {shape}", way
    except Exception as e:
        say(f"{work.title}: no {name}: {first_line(e)}")
        return None


def beside(work, choice, peers, shapes=(), graph=True, ready=()):
    """Prints the row of a work. choice(plain) is a way of sett, and shapes are others, (text, function of plain). peers: ways by name, or
    several of one peer by name and shape. ready: (name, way) of what is prepared, of another work."""
    names = {True: PLAIN, False: EARLY}
    ways = {names[plain]: prepared(work, "sett, " + names[plain], choice(int(plain)), graph) for plain in names}
    shape = ""
    if shapes:
        ours = {text + early: prepared(work, f"sett, {text}{early}", of(plain), graph) for text, of in shapes for plain, early in ((1, ""), (0, ", begun early"))}
        shape, ways[BEST] = swept(work, "sett", ours | {f"the choice{early}": ways[name] for name, early in ((PLAIN, ""), (EARLY, ", begun early"))})
    for name, bind in peers.items():
        found = peer_of(work, name, bind, graph)
        if found:
            ways[found[0]] = found[1]
    ways.update(ready)
    if GPU:
        print(row(work.title, work.figure, device_ms(ways, ROUNDS), shape, seen(torch.cuda.get_device_name())), flush=True)
    else:
        print(f"{work.title}: {len(ways)} ways and {2 * len(shapes)} shapes are right", flush=True)


def compiled_by_torch(f, **more):
    """A peer: torch.compile of a function of a set's operands, for their shapes alone."""
    if not GPU:
        return lambda s: lambda: f(s)
    compiled = torch.compile(f, dynamic=False, **more)
    return lambda s: lambda: compiled(s)
