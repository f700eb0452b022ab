# SPDX-License-Identifier: Apache-2.0
"""Kernels as function objects of apache-tvm-ffi, where it is installed."""

import gc
import importlib.util
import sys
import threading

import numpy as np

import sett
from rig import Case, engine, family, unittest

if importlib.util.find_spec("tvm_ffi"):
    import tvm_ffi

    import sett.tvm_ffi


@unittest.skipUnless(importlib.util.find_spec("tvm_ffi"), "apache-tvm-ffi is not installed")
class Functions(Case):
    def setUp(self):
        self.x, self.y = np.arange(10, dtype="f4"), np.zeros(10, "f4")
        self.kernel = engine().compile(family("scale"), target="cpu")

    def test_they_launch(self):
        f = sett.tvm_ffi.function(self.kernel)
        self.assertIsInstance(f, tvm_ffi.Function)
        self.assertIsNone(f(self.x, self.y))
        self.assertEqual(self.y.tolist(), (2 * self.x).tolist())
        x, y = tvm_ffi.from_dlpack(self.x), tvm_ffi.from_dlpack(self.y)
        f(y, y)
        self.assertEqual(self.y[9], 36)
        del self.kernel
        gc.collect()
        f(x, y)  # it keeps the kernel
        self.assertEqual(self.y[9], 18)
        axpy = sett.tvm_ffi.function(engine().compile(sett.kernels.axpy, target="cpu", dtype="f32"))
        axpy(x, y, 2)
        axpy(x, y, 0.5)
        self.assertEqual(self.y[2], 9)
        on = sett.tvm_ffi.function(engine().compile(sett.kernels.elementwise, target="cpu", dtype="f32", op=0))
        a = np.ones((3, 4), "f4")
        on(a, a, a)
        self.assertEqual(a[2, 3], 2)

    def test_they_keep_the_engine_open(self):
        f = sett.tvm_ffi.function(sett.Engine(cache_dir="").compile(family("scale"), target="cpu"))
        gc.collect()
        f(self.x, self.y)
        self.assertEqual(self.y[9], 18)

    def test_they_are_made_by_many_threads(self):
        wrong, was = [], sys.getswitchinterval()

        def work():
            try:
                for _ in range(300):
                    sett.tvm_ffi.function(self.kernel)(self.x, np.zeros(10, "f4"))
            except Exception as e:
                wrong.append(e)

        threads = [threading.Thread(target=work) for _ in range(4)]
        sys.setswitchinterval(1e-6)
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        sys.setswitchinterval(was)
        self.assertEqual(wrong, [])

    def test_a_global_function(self):
        f = sett.tvm_ffi.register("sett.test.scale", self.kernel)
        f(self.x, self.y)
        tvm_ffi.get_global_func("sett.test.scale")(self.y, self.y)
        self.assertEqual(self.y[9], 36)
        with self.assertRaisesRegex(ValueError, "sett.test.scale already"):
            sett.tvm_ffi.register("sett.test.scale", self.kernel)
        sett.tvm_ffi.register("sett.test.scale", self.kernel, override=True)
        tvm_ffi.registry.remove_global_func("sett.test.scale")
        self.assertIsNone(tvm_ffi.get_global_func("sett.test.scale", allow_missing=True))
        made = sett.tvm_ffi.function(self.kernel)
        self.assertFalse([n for n in tvm_ffi.registry.list_global_func_names() if n.startswith("sett._")])
        made(self.x, self.y)

    def test_views(self):
        f = sett.tvm_ffi.function(engine().compile(family("scale"), target="cpu", dtype="bf16"))
        x, y = np.array([0x3f80, 0xc040], "u2"), np.zeros(2, "u2")  # 1 and -3
        f(sett.view(x, "bf16"), sett.view(y, "bf16"))
        self.assertEqual(y.tolist(), [0x4000, 0xc0c0])

    def test_errors_are_raised_their_way(self):
        f = sett.tvm_ffi.function(self.kernel)
        for arguments, kind, text in (
            ((self.x,), TypeError, r"scale takes 2 arguments \(X, Y\), 1 was given"),
            ((self.x, self.y.astype("f8")), TypeError, "scale: Y is f32, the buffer given is f64"),
            ((self.x, "y"), TypeError, r"scale: Y \(argument 1\) is neither a tensor nor a number"),
            ((self.x, None), TypeError, r"scale: Y \(argument 1\) is neither a tensor nor a number"),
            ((self.x, self.y[:3].copy()), ValueError, "scale: Y mode 0 is 3, X mode 0 gives N = 10"),
        ):
            with self.assertRaisesRegex(kind, text):
                f(*arguments)
        with sett.Engine(cache_dir="") as e:
            f = sett.tvm_ffi.function(e.compile(family("scale"), target="cpu"))
        with self.assertRaisesRegex(RuntimeError, "closed"):
            f(self.x, self.y)

    def test_from_many_threads(self):
        f = sett.tvm_ffi.function(self.kernel)
        wrong = []

        def work(n):
            x, y = np.full(100, n, "f4"), np.zeros(100, "f4")
            for _ in range(100):
                f(x, y)
                try:
                    f(x, y[:n])
                except ValueError as e:
                    if f"Y mode 0 is {n}," not in str(e):
                        wrong.append(str(e))
            if y.tolist() != [2 * n] * 100:
                wrong.append(y)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertFalse(wrong)


if __name__ == "__main__":
    unittest.main()
