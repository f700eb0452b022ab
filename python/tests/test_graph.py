# SPDX-License-Identifier: Apache-2.0
"""Graphs: launches recorded once, whose arguments have names. The law: a run launches what calls of the kernels with the same arguments
launch, in their order."""

import ctypes
import gc
import random
import sys
import threading
import weakref

import numpy as np

import sett
from rig import Case, engine, family, unittest
from sett import Status
from test_calls import NUMPY, Producer, floats, scale


def axpy(dtype="f32"):
    return engine().compile(sett.kernels.axpy, target="cpu", dtype=dtype)


def two_steps():
    """state += rate * in; out += 10 * state"""
    g, k = sett.Graph(), axpy()
    g.add(k, "in", "state", "rate", label="first")
    g.add(k, "state", "out", 10, label="second")
    return g


class Array(np.ndarray):
    """Can be referred to weakly."""


def array(n=4, value=1):
    return np.full(n, value, "f4").view(Array)


class Replays(Case):
    def test_record_rebind_replay(self):
        x, y, z, other = (np.full(4, v, "f4") for v in (8, 0, 0, 0))
        g = two_steps()
        self.assertEqual((g.arguments, g.calls, g.device), (("in", "state", "rate", "out"), 2, sett.CPU))
        self.assertEqual((g.cuda_graph, g.cuda_graphs, g.updates, repr(g)), (False, 0, 0, "<sett.Graph(in, state, rate, out)>"))
        g.set(state=y, out=z, rate=2, **{"in": x})
        g.commit()
        g.run()
        self.assertEqual((y[3], z[3]), (16, 160))
        g["state"] = other
        g["rate"] = 0.5
        g.run()  # as committed
        self.assertEqual((y[3], z[3], other[3]), (32, 480, 0))
        g.commit()
        g.run(stream=None)
        self.assertEqual((y[3], z[3], other[3]), (32, 520, 4))
        g.commit()
        g.set()
        g.run(0)
        self.assertEqual((z[3], other[3]), (600, 8))

    def test_calls_that_are_added_later(self):
        g = two_steps()
        x, y, z, w = (array(value=v) for v in (1, 0, 0, 0))
        g.set(state=y, out=z, rate=1, **{"in": x})
        g.commit()
        self.assertIsNone(g.add(axpy(), Y="last", X="out", a=1))
        g.run()
        with self.refused(Status.E_BIND, 'call 2: axpy: Y was never given (Y is "last")'):
            g.commit()
        g["last"] = w
        g.commit()
        g.run()
        self.assertEqual((y[0], z[0], w[0], g.arguments[4:], g.calls), (2, 30, 30, ("last",), 3))

    def test_it_runs_what_launches_run(self):
        """Random values, some changed each round."""
        rng = random.Random(7)
        pool = [np.arange(n, dtype="f4") + n for n in (5, 5, 9, 9) for _ in range(3)]
        g, calls = sett.Graph(), []
        names, rates = ["a", "b", "c", "d"], ["r", "s"]
        for _ in range(6):
            x, y = rng.sample(names, 2)
            calls.append((x, y, rng.choice(rates + [0.25])))
            g.add(axpy(), *calls[-1])
        for round_ in range(20):
            size = rng.choice((0, 6))
            given = {n: pool[size + rng.randrange(6)] for n in names if n in g.arguments} if round_ % 4 == 0 else {}
            given.update({n: rng.choice((1, 0.5, np.float32(2), True)) for n in rates if n in g.arguments and (round_ == 0 or rng.random() < 0.5)})
            now = given if round_ == 0 else {**now, **given}
            for a in pool:
                a %= 64
            want = [a.copy() for a in pool]
            for x, y, a in calls:
                at = {id(p): w for p, w in zip(pool, want)}
                axpy()(*(at[id(now[n])] for n in (x, y)), now.get(a, a))
            g.set(**given)
            g.commit()
            g.run()
            for got, w in zip(pool, want):
                self.assertEqual(got.tolist(), w.tolist())

    def test_structs_symbols_and_numbers(self):
        class Knobs(ctypes.Structure):
            _fields_ = [("a", ctypes.c_float), ("n", ctypes.c_int)]

        g, y = sett.Graph(sett.CPU), np.zeros(64, "f4")
        ramp = engine().compile(family("ramp"), target="cpu")
        g.add(ramp, "y", "knobs", on="on", M="count")
        g.set(y=y, knobs=Knobs(0.5, 3), on=np.True_, count=10)
        g.commit()
        g.run()
        self.assertEqual(y.tolist(), [0.5 * (i + 3) for i in range(10)] + [0] * 54)
        g.set(knobs=bytes(Knobs(2, 1)), count=np.int32(2))
        g.commit()
        g.run()
        self.assertEqual(y[:3].tolist(), [2, 4, 2.5])
        g["knobs"] = b"abc"
        with self.refused(Status.E_SHAPE, "struct of 8 bytes"):
            g.commit()
        for name, value, status, text in (
            ("count", 1 << 70, Status.E_RANGE, 'ramp: argument 3: the integer does not fit i64 (argument 3 is "count")'),
            ("on", 1 << 70, Status.E_RANGE, "ramp: on (argument 2): the integer does not fit i1"),
        ):
            with self.refused(status, text):
                g[name] = value
        numbers, out = engine().compile(family("numbers"), target="cpu"), np.zeros(4)
        g = sett.Graph()
        g.add(numbers, "out", "big", 1, "f", True)
        g.set(out=out, big=2**64 - 1, f=10**30)
        g.commit()
        g.run()
        self.assertEqual(out.tolist(), [float(2**64 - 1), 1, float(np.float32(1e30)), 1])
        g.add(numbers, "out", 3, 1, "big", False)  # UInt64 in one call, f32 in the other
        for value, text in ((-1, "does not fit"), (2**63, "does not fit")):
            with self.refused(Status.E_RANGE, text):
                g["big"] = value

    def test_views_and_other_producers(self):
        x, y = floats()
        g = sett.Graph()
        g.add(scale("bf16"), "x", sett.view(np.zeros(2, "u2"), "bf16"))
        g.add(scale(), Producer(lambda **_: x.__dlpack__()), "y")
        g.set(x=sett.view(np.zeros(2, "u2"), "bf16"), y=y)
        gc.collect()
        g.commit()
        g.run()
        self.assertEqual(y[9], 18)


class Refusals(Case):
    def test_names(self):
        g, x = two_steps(), array()
        with self.refused(Status.E_BIND, 'no call of the graph has an argument "rat"; it has "in", "state", "rate", "out"'):
            g.set(state=x, rat=2)
        with self.refused(Status.E_BIND, 'no call of the graph has an argument "X"'):
            g["X"] = x
        with self.refused(Status.E_BIND, 'no call of the graph has an argument "x"'):
            sett.Graph()["x"] = x
        g.set(state=x, rate=2, **{"in": x})  # what was refused staged nothing, and spoils no commit
        with self.refused(Status.E_BIND, 'call 1 (second): axpy: Y was never given (Y is "out")'):
            g.commit()
        with self.refused(Status.E_BIND, "nothing was committed yet"):
            g.run()
        g["out"] = x
        g.commit()
        with self.refused(Status.E_BIND, "its name is empty"):
            g.add(axpy(), "", "y", 1)
        with self.assertRaisesRegex(ValueError, "embedded null character"):
            g.add(axpy(), "in\0", "y", 1)
        with self.assertRaisesRegex(ValueError, "embedded null character"):
            g["in\0"] = x

    def test_values(self):
        g, x = two_steps(), array()
        g.set(state=x, rate=2, out=array(), **{"in": x})
        g.commit()
        for name, bad, status, text in (
            ("in", "x", Status.E_BIND, 'axpy: X (argument 0): str is neither a tensor nor a number (X is "in")'),
            ("in", np.zeros((1,) * 9, "f4"), Status.E_RANK, 'the DLPack tensor has 9 modes'),
            ("state", x.astype("c8"), Status.E_DTYPE, 'axpy: Y (argument 1): no element type for DLPack\'s (code 5, 64 bits, 1 lanes)'),
        ):
            with self.refused(status, text):
                g[name] = bad
        for name, bad, status, text in (
            ("state", x.astype("f8"), Status.E_DTYPE, 'call 0 (first): axpy: Y is f32, the buffer given is f64 (Y is "state")'),
            ("state", x[:3], Status.E_SHAPE, 'call 0 (first): axpy: Y mode 0 is 3, X mode 0 gives N = 4 (X is "in", Y is "state")'),
            ("out", x[:3], Status.E_SHAPE, 'call 1 (second): axpy: Y mode 0 is 3, X mode 0 gives N = 4 (X is "state", Y is "out")'),
            ("out", x.reshape(2, 2), Status.E_RANK, "Y has 1 mode, the buffer given 2"),
            ("rate", x, Status.E_BIND, "a is a number, and a buffer was given"),
            ("state", 3, Status.E_BIND, "Y is a tensor, and a number was given"),
        ):
            good = {"rate": 2, "out": array(), "state": x}[name]
            g[name] = bad
            with self.refused(status, text):
                g.commit()
            with self.refused(status, text):  # it stays staged
                g.commit()
            g[name] = good
            g.commit()
        if NUMPY >= (2, 1):
            x.flags.writeable = False
            g["in"] = x
            with self.refused(Status.E_ARGUMENT, 'the kernel writes it, and the tensor is read-only (Y is "state")'):
                g["state"] = x

    def test_calls(self):
        g, x = two_steps(), array()
        other = sett.Engine(cache_dir="").compile(family("scale"), target="cpu")
        for call, status, text in (
            (lambda: g.add(axpy(), "in", "state"), Status.E_BIND, "axpy takes 3 arguments (X, Y, a), 2 were given"),
            (lambda: g.add(axpy(), "in", "state", "in"), Status.E_BIND, "is a number, and X of call 0 (first) is a tensor of f32 with 1 mode"),
            (lambda: g.add(scale("f16"), "in", "half", label="halves"), Status.E_DTYPE, 'call 2 (halves): X = "in" is a tensor of f16'),
            (lambda: g.add(scale(), "in", x.astype("f8")), Status.E_DTYPE, "Y is f32, the buffer given is f64"),
            (lambda: g.add(scale(), "in", Z="state"), Status.E_BIND, "scale has no argument Z"),
            (lambda: g.add(scale(), "in", X="in"), Status.E_BIND, "scale: X was given twice"),
            (lambda: g.add(scale(), Y="in"), Status.E_BIND, "X"),
            (lambda: g.add(other, "in", "state"), Status.E_ARGUMENT, "another engine's"),
            (lambda: g.add(scale(), "in", None), Status.E_BIND, "NoneType is neither a tensor nor a number"),
        ):
            with self.refused(status, text):
                call()
            self.assertEqual((g.calls, g.arguments), (2, ("in", "state", "rate", "out")))
        for call in (lambda: g.add(), lambda: g.add("axpy"), lambda: g.add(axpy(), "in", "state", 1, label=3), lambda: g.set(x), lambda: g.run("now"),
                lambda: g.run(strean=1), lambda: g.__setitem__(0, x), lambda: g.__delitem__("in"), lambda: sett.Graph("cpu"), lambda: sett.Graph(stream=0)):
            with self.assertRaises(TypeError):
                call()

    def test_without_calls(self):
        g = sett.Graph()
        self.assertEqual((g.arguments, g.calls, g.device, repr(g)), ((), 0, None, "<sett.Graph()>"))
        for call in (g.commit, g.run):
            with self.refused(Status.E_BIND, "the graph has no call yet"):
                call()
        with self.refused(Status.E_NO_DEVICE, "device 99"):
            sett.Graph(99).add(axpy(), "x", "y", 1)
        g.set()
        with self.refused(Status.E_BIND, "2 were given"):  # it is as it was, without a device
            g.add(axpy(), "x", "y")
        self.assertIsNone(g.device)

    def test_closing(self):
        x = array()
        with two_steps() as g:
            g.set(state=x, rate=2, out=array(), **{"in": x})
            g.commit()
        self.assertTrue(g.closed)
        g.close()
        for call in (g.run, g.commit, lambda: g.set(rate=1), lambda: g.add(axpy(), "a", "b", 1), lambda: g.calls, lambda: g.arguments):
            with self.refused(Status.E_CLOSED, "the graph was closed"):
                call()
        self.assertEqual(repr(g), "<sett.Graph, closed>")
        with sett.Engine(cache_dir="") as e:
            g = sett.Graph()
            k = e.compile(family("scale"), target="cpu")
            g.add(k, "x", "y")
            g.set(x=x, y=array())
            g.commit()
        for call in (g.run, g.commit, lambda: g.add(k, "x", "y")):
            with self.refused(Status.E_CLOSED):
                call()
        g.close()


class Lifetime(Case):
    def alive(self, refs):
        gc.collect()
        return [r() is not None for r in refs]

    def test_values(self):
        """Those of the last commit and those that are staged; the constants of calls for good; no others."""
        g = sett.Graph()
        constant, a, b, c, d = (array() for _ in range(5))
        refs = [weakref.ref(o) for o in (constant, a, b, c, d)]
        g.add(scale(), constant, "y")
        g["y"] = a
        g["y"] = b  # not a any more
        g.commit()
        g["y"] = c
        del constant, a, b, c
        self.assertEqual(self.alive(refs), [True, False, True, True, True])
        g["y"] = d[:3]
        with self.refused(Status.E_SHAPE):
            g.commit()
        self.assertEqual(self.alive(refs), [True, False, True, False, True])
        g.run()
        self.assertEqual(refs[2]().tolist(), [2] * 4)
        g["y"] = d
        g.commit()
        g.run()
        del d
        self.assertEqual(self.alive(refs), [True, False, False, False, True])
        with self.refused(Status.E_SHAPE):
            g.add(scale(), np.zeros(3, "f4"), array())
        g.close()
        self.assertEqual(self.alive(refs), [False] * 5)

    def test_kernels_and_engines(self):
        e = sett.Engine(cache_dir="")
        g = sett.Graph()
        g.add(e.compile(family("scale"), target="cpu"), "x", "y")
        gone = weakref.ref(e)
        del e
        x, y = array(), array()
        g.set(x=x, y=y)
        g.commit()
        g.run()
        self.assertEqual((y[0], self.alive([gone])), (2, [True]))
        gone().graph = g  # a cycle
        x = weakref.ref(x)
        del g
        self.assertEqual(self.alive([gone, x]), [False, False])

    def test_nothing_leaks(self):
        x, y = floats()
        k, name = scale(), "a name that is long"
        before = [sys.getrefcount(o) for o in (x, y, k, name)]
        for _ in range(30):
            g = sett.Graph()
            g.add(k, x, name, label="one")
            g.add(k, X=name, Y=y)
            g.set(**{name: y})
            g[name] = x
            g.commit()
            g.run()
            for wrong in (lambda: g.add(k, x, "z", 3, 4), lambda: g.set(**{name: x, "z": y}), lambda: g.add(k, x, y[:3]), lambda: g.set(**{name: "x"})):
                with self.assertRaises(sett.Error):
                    wrong()
        del g, wrong
        gc.collect()
        self.assertEqual([sys.getrefcount(o) for o in (x, y, k, name)], before)


class Threads(Case):
    def test_a_run_lets_other_threads_run_and_is_for_one(self):
        """The kernel runs until another thread of Python ends it; none may use the graph meanwhile."""
        with sett.Engine(cache_dir="", no_gpu=True, cpu_timeout_ms=600000) as e:
            g, n = sett.Graph(), np.ones(1, "i4")
            g.add(e.compile(family("spin"), target="cpu"), "n")
            g["n"] = n
            g.commit()
            ended = []

            def run():
                with self.refused(Status.E_CANCELLED, "call 0"):
                    g.run()
                ended.append(True)

            thread = threading.Thread(target=run)
            thread.start()
            with self.refused(Status.E_ARGUMENT, "a graph is for one thread at a time"):
                while True:
                    g.calls
            for use in (g.commit, g.run, g.close, lambda: g.set(n=n), lambda: g.add(axpy(), "n", "n", 1), lambda: g.__setitem__("n", n)):
                with self.refused(Status.E_ARGUMENT, "a graph is for one thread at a time"):
                    use()
            while not ended:
                e.cancel()
                thread.join(0.01)
            thread.join()
            n[0] = 0
            g.run()

    def test_what_a_print_function_does(self):
        class Enough(Exception):
            pass

        def say(_text):
            with self.refused(Status.E_ARGUMENT, "one thread at a time"):
                g.close()
            raise Enough

        with sett.Engine(cache_dir="", no_gpu=True, print=say) as e:
            g = sett.Graph()
            g.add(e.compile(family("talk"), target="cpu"), "x")
            g["x"] = np.zeros(2, "f4")
            g.commit()
            with self.assertRaises(Enough):
                g.run()


if __name__ == "__main__":
    unittest.main()
