# SPDX-License-Identifier: Apache-2.0
"""Launches from Python: what arguments become, what is refused and how, prepared calls, what is kept alive."""

import contextlib
import ctypes
import gc
import inspect
import os
import pydoc
import signal
import sys
import threading
import time
import weakref

import numpy as np

import sett
from rig import Case, engine, family, unittest
from sett import Status

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))


def scale(dtype="f32", **values):
    return engine().compile(family("scale"), target="cpu", dtype=dtype, **values)


def floats(n=10):
    return np.arange(n, dtype="f4"), np.zeros(n, "f4")


@contextlib.contextmanager
def signalled(signals, seen=(), seconds=0.3):
    """Another thread sends them to this process, each after so long, and after seen has one more for the one before."""

    def send():
        for i, s in enumerate(signals):
            while len(seen) < i:
                time.sleep(0.01)
            time.sleep(seconds)
            os.kill(os.getpid(), s)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        thread.join()


class Arguments(Case):
    def test_every_type_that_numpy_has(self):
        for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"):
            x = np.arange(7).astype(dtype)
            y = np.zeros_like(x)
            scale(x.dtype)(x, y)
            self.assertEqual(y.tolist(), (2 * x).tolist(), dtype)

    def test_strides_offsets_and_a_read_only_source(self):
        x, y = floats(20)
        transpose = engine().compile(sett.kernels.transpose, target="cpu", dtype="f32")
        a = np.arange(48, dtype="f4").reshape(6, 8)
        out = np.zeros((8, 6), "f4")
        transpose(a, out)
        self.assertTrue((out == a.T).all())
        scale()(x[4:8], y[8:12])
        self.assertEqual(y[8:12].tolist(), [8, 10, 12, 14])
        if NUMPY >= (2, 1):  # an older one gives no such array away
            x.flags.writeable = False
            scale()(x, y)
            self.assertEqual(y[3], 6)
            with self.refused(Status.E_ARGUMENT, "scale: Y (argument 1): the kernel writes it, and the tensor is read-only"):
                scale()(y, x)

    def test_slices_and_views_go_to_tensor_cores(self):
        wide = np.random.default_rng(1).integers(-2, 3, (40, 96)).astype("f2")
        both = np.zeros((40, 64), "f2")
        product = engine().compile(sett.kernels.gemm_wgmma, target="cpu", dtype="f16")
        product(wide[:, :24], wide[:32, 48:72], both[:, 32:])
        self.assertTrue((both[:, 32:] == wide[:, :24] @ wide[:32, 48:72].T).all() and not both[:, :32].any())
        with self.refused(Status.E_ALIGN, "A is at"):
            product(wide[:, 1:25], wide[:32, 48:72], both[:, 32:])

        batch, rows, heads, shared, d = 2, 5, 4, 2, 64  # (batch, rows, heads, d), queries, keys and values beside each other
        packed = np.random.default_rng(2).standard_normal((batch, rows, heads + 2 * shared, d)).astype("f2")
        out = np.zeros((batch, rows, heads, d), "f2")
        q, k, v = (x.transpose(0, 2, 1, 3) for x in np.split(packed, (heads, heads + shared), axis=2))
        engine().compile(sett.kernels.attention, target="cpu", dtype="f16", d=d)(q, k, v, out.transpose(0, 2, 1, 3))
        k, v = (np.repeat(x, heads // shared, axis=1).astype("f8") for x in (k, v))
        weights = np.exp(q.astype("f8") @ k.swapaxes(2, 3) / d**0.5)
        want = weights / weights.sum(axis=3, keepdims=True) @ v
        self.assertLess(abs(out.transpose(0, 2, 1, 3) - want).max(), 2e-3)

    def test_attention_of_requests_and_pages(self):
        rng, heads, d, page, rows, keys = np.random.default_rng(4), 2, 64, 16, (3, 0, 20), (5, 7, 40)
        q, pool = rng.standard_normal((sum(rows), heads, d)).astype("f2"), rng.standard_normal((2, 9, 1, page, d)).astype("f2")
        table, lengths = np.array([[8, -1, -1], [2, -1, -1], [5, 0, 7]], "i4"), np.array(keys, "i4")
        offsets, sinks, out, lse = np.cumsum((0, *rows)).astype("i4"), np.array([0.5, -1], "f4"), np.zeros_like(q), np.zeros((heads, sum(rows)), "f4")
        step, left = {"group": heads, "dynamic": 1}, np.zeros(2, "i4")
        for more, last in (({}, ()), (step, (left,))):
            kernel = engine().compile(sett.kernels.attention, target="cpu", dtype="f16", d=d, ragged=1, page=page, causal=1, sinks=1, lse=1, **more)
            out.fill(0), lse.fill(0)
            kernel(q.transpose(1, 0, 2), pool[0], pool[1], out.transpose(1, 0, 2), offsets, table, lengths, sinks, lse, *last)
            for i, (m, n) in enumerate(zip(rows, keys)):
                at = slice(offsets[i], offsets[i + 1])
                k, v = (x[table[i, :-(-n // page)], 0].reshape(-1, d)[:n].astype("f8") for x in pool)
                score = q[at].transpose(1, 0, 2).astype("f8") @ k.T / d**0.5
                weights = np.exp(np.where(np.arange(n) <= np.arange(m)[:, None] + n - m, score, -np.inf))
                total = weights.sum(axis=2, keepdims=True) + np.exp(sinks.astype("f8"))[:, None, None]
                self.assertLess(abs(out[at].transpose(1, 0, 2) - weights / total @ v).max(initial=0), 2e-3)
                self.assertLess(abs(lse[:, at] - np.log(total[:, :, 0])).max(initial=0), 1e-3)
        self.assertFalse(left.any())

    def test_few_queries_over_many_keys(self):
        requests, heads, shared, keys, d = 2, 4, 2, 40, 64
        rng = np.random.default_rng(4)
        q, k, v = (rng.standard_normal((requests, *shape, d)).astype("f2") for shape in ((heads, 1), (shared, keys), (shared, keys)))
        lengths, out = np.array([keys, 7], "i4"), np.zeros_like(q)
        options = {"dtype": "f16", "d": d, "lengths": 1}
        partial, left = sett.kernels.attention_decode_workspace(requests, heads, shared, 1, keys, **options)
        left = np.zeros(left, "u4")
        engine().compile(sett.kernels.attention_decode, target="cpu", **options)(q, k, v, out, lengths, np.empty(partial, "f4"), left)
        self.assertFalse(left.any())
        for i, n in enumerate(lengths):
            for h in range(heads):
                weights = np.exp(k[i, h // 2, :n].astype("f8") @ q[i, h, 0] / d**0.5)
                self.assertLess(abs(out[i, h, 0] - weights / weights.sum() @ v[i, h // 2, :n]).max(), 2e-3)
        with self.refused(Status.E_ARGUMENT, "sett_attention_decode_workspace: heads is 4: a multiple of heads_k"):
            sett.kernels.attention_decode_workspace(requests, heads, 3, 1, keys, **options)
        with self.refused(Status.E_ARGUMENT, "attention_decode has no option 'head'"):
            sett.kernels.attention_decode_workspace(1, 1, 1, 1, 1, head=1)

    def test_a_latent_cache(self):
        requests, heads, keys, scale = 2, 3, 70, 0.07
        rng = np.random.default_rng(5)
        q, k = (rng.standard_normal((requests, *shape, 576)).astype("f2") for shape in ((heads, 1), (1, keys)))
        lengths, out = np.array([keys, 9], "i4"), np.zeros((requests, heads, 1, 512), "f2")
        partial, left = sett.kernels.attention_mla_workspace(requests, heads, 1, 1, keys, dtype="f16", lengths=1)
        engine().compile(sett.kernels.attention_mla, target="cpu", dtype="f16", lengths=1)(q, k, out, lengths, scale, np.empty(partial, "f4"), np.zeros(left, "u4"))
        for i, n in enumerate(lengths):
            score = q[i, :, 0].astype("f8") @ k[i, 0, :n].astype("f8").T * scale
            weights = np.exp(score - score.max(axis=1, keepdims=True))
            self.assertLess(abs(out[i, :, 0] - weights / weights.sum(axis=1, keepdims=True) @ k[i, 0, :n, :512]).max(), 4e-3)
        with self.refused(Status.E_ARGUMENT, "sett_attention_mla_workspace: keys is 0: 1 or more"):
            sett.kernels.attention_mla_workspace(1, 1, 1, 1, 0, dtype="f16")

    def test_products_of_any_strides(self):
        whole = np.random.default_rng(3).integers(-2, 3, (3, 40, 51)).astype("f4")
        a, b, c = whole[:, :, 1:24].transpose(1, 2, 0), whole[:1, 3:26, 30:49].transpose(2, 1, 0), np.zeros((3, 40, 19), "f4")
        product = engine().compile(sett.kernels.gemm_mma, target="cpu", dtype="f32", b_major=1, align=4, batched=1)
        product(a, np.lib.stride_tricks.as_strided(b, (19, 23, 3), (*b.strides[:2], 0)), c.transpose(1, 2, 0))
        self.assertTrue((c == whole[:, :, 1:24] @ whole[0, 3:26, 30:49]).all())

    def test_names(self):
        x, y = floats()
        k = scale()
        k(Y=y, X=x)
        self.assertEqual(y[9], 18)
        k(y, Y=x)
        self.assertEqual(x[9], 36)
        for call, text in (
            (lambda: k(x, X=x), "scale: X was given twice"),
            (lambda: k(x, Z=y), "scale has no argument Z"),
            (lambda: k(Y=y), "scale: X is a tensor, and nothing was given (argument 0)"),
            (lambda: k(x), "scale takes 2 arguments (X, Y), 1 was given"),
            (lambda: k(*[x] * 300), "scale: 300 arguments were given; no kernel has more than 256"),
        ):
            with self.refused(Status.E_BIND, text):
                call()

    def test_numbers_structs_and_symbols(self):
        k = engine().compile(family("ramp"), target="cpu")
        y = np.zeros(64, "f4")

        class Knobs(ctypes.Structure):
            _fields_ = [("a", ctypes.c_float), ("n", ctypes.c_int)]

        for struct in (Knobs(0.5, 3), bytes(Knobs(0.5, 3)), np.array([(0.5, 3)], "f4,i4").tobytes()):
            for on in (True, 1, np.int8(1)):
                y[:] = 0
                k(y, struct, on, 10)
                self.assertEqual(y.tolist(), [0.5 * (i + 3) for i in range(10)] + [0] * 54)
        k(y, Knobs(1, 0), M=64, on=False)
        self.assertEqual(y[63], 0)
        with self.refused(Status.E_BIND, "ramp: no argument gives M a value: append it to the launch as an integer"):
            k(y, Knobs(1, 0), True)
        with self.refused(Status.E_SHAPE, "ramp: k is a struct of 8 bytes, the one given has 3"):
            k(y, b"abc", True, 64)
        with self.refused(Status.E_DTYPE, "the floating number 1.5 was given"):
            k(y, Knobs(), 1.5, 64)
        with self.refused(Status.E_RANGE, "ramp: argument 3: the integer does not fit i64"):
            k(y, Knobs(), True, 1 << 70)
        with self.refused(Status.E_BIND, "ramp: k is a struct of 8 bytes, and a number was given (argument 1)"):
            k(y, 1.5, True, 64)
        with self.assertRaises(TypeError):
            k(y, "knobs", True, 64)
        axpy = engine().compile(sett.kernels.axpy, target="cpu", dtype="f32")
        for number in (2, 2.0, np.float64(2), np.float32(2), np.int64(2), True + 1):
            x, y = floats(4)
            axpy(x, y, number)
            self.assertEqual(y.tolist(), [0, 2, 4, 6])
        with self.refused(Status.E_BIND, "axpy: a is a number, and a buffer was given (argument 2)"):
            axpy(x, y, np.array(2.0))

    def test_numbers_of_any_size(self):
        k = engine().compile(family("numbers"), target="cpu")
        y = np.zeros(4)
        for u, h, f, on, want in (
            (2**64 - 1, 2, 10**30, np.True_, [float(2**64 - 1), 2, float(np.float32(1e30)), 1]),
            (2**63, 65504, 2**63, np.bool_(False), [float(2**63), 65504, float(2**63), 0]),
            (np.uint64(2**64 - 1), -65504, -(2**70), False, [float(2**64 - 1), -65504, -float(2**70), 0]),
        ):
            k(y, u, h, f, on)
            self.assertEqual(y.tolist(), want)
        for arguments, text in (
            ((-1, 0, 0, True), "numbers: u (argument 1): the integer does not fit u64"),
            ((2**64, 0, 0, True), "numbers: u (argument 1): the integer does not fit u64"),
            ((0, 70000, 0, True), "numbers: h = 70000 does not fit f16"),
            ((0, 0, 10**40, True), "numbers: f = 1e+40 does not fit f32"),
            ((0, 0, 10**400, True), "numbers: f (argument 3): the integer does not fit f32"),
            ((0, 0, 0, 2**64), "numbers: on (argument 4): the integer does not fit i1"),
        ):
            with self.refused(Status.E_RANGE, text):
                k(y, *arguments)
        with self.refused(Status.E_DTYPE, "numbers: on is i1, and the floating number 1 was given"):
            k(y, 0, 0, 0, np.float32(1))

    def test_a_text_may_be_cut_inside_of_a_letter(self):
        x, y = floats()
        for name in ("\u00e9" * 60, "x" + "\u00e9" * 60):
            with self.refused(Status.E_BIND, "scale has no argument "):
                scale()(x, y, **{name: 1})
            with self.refused(Status.E_BIND, "is neither a tensor nor a number"):
                scale()(x, type(name, (), {})())

    def test_refusals_have_the_texts_of_a_launch(self):
        x, y = floats()
        k = scale()
        for bad, status, text in (
            (y[:4], Status.E_SHAPE, "scale: Y mode 0 is 4, X mode 0 gives N = 10"),
            (y.astype("f8"), Status.E_DTYPE, "scale: Y is f32, the buffer given is f64"),
            (y.reshape(2, 5), Status.E_RANK, "scale: Y has 1 mode, the buffer given 2"),
            ("y", Status.E_BIND, "scale: Y (argument 1): str is neither a tensor nor a number"),
            (None, Status.E_BIND, "scale: Y (argument 1): NoneType is neither a tensor nor a number"),
            (3, Status.E_BIND, "scale: Y is a tensor, and a number was given (argument 1)"),
            (y.astype("c8"), Status.E_DTYPE, "scale: Y (argument 1): no element type for DLPack's (code 5, 64 bits, 1 lanes)"),
            (np.zeros((1,) * 9, "f4"), Status.E_RANK, "scale: Y (argument 1): the DLPack tensor has 9 modes"),
        ):
            with self.refused(status, text):
                k(x, bad)
        with self.assertRaises(TypeError):
            k(x, y, stream="now")
        with self.refused(Status.E_NO_DEVICE, "device 99"):
            engine().compile(family("scale"), target="cpu").load(99)

    def test_views(self):
        bits = np.array([0x3F80, 0x4000, 0xC040], "u2")  # 1, 2, -3 of bf16
        out = np.zeros(3, "u2")
        scale("bf16")(sett.view(bits, "bf16"), sett.view(out, "bf16"))
        self.assertEqual(out.tolist(), [0x4000, 0x4080, 0xC0C0])
        packed = np.array([[0x21, 0xF3], [0x87, 0x10]], "u1")  # rows of four i4
        unpack = engine().compile(sett.kernels.dequantise, target="cpu", dtype="f32", group=2, values_per_thread=2)
        s, d = np.ones((2, 2), "f4"), np.zeros((2, 4), "f4")
        unpack(sett.view(packed, "i4"), s, d)
        self.assertEqual(d.tolist(), [[1, 2, 3, -1], [7, -8, 0, 1]])
        wide = np.zeros(8, "u1")
        scale()(np.array([1, 2], "f4"), sett.view(wide, np.float32))
        self.assertEqual(wide.view("f4").tolist(), [2, 4])
        with self.refused(Status.E_DTYPE, "a view as elements of another size needs a contiguous mode of whole elements"):
            scale()(np.zeros(1, "f4"), sett.view(wide[:3], "f32"))
        with self.refused(Status.E_DTYPE, "a view as elements of another size needs a contiguous mode"):
            scale()(np.zeros(1, "f4"), sett.view(wide[::2], "f32"))
        with self.refused(Status.E_BIND, "a view of what is no tensor"):
            scale()(np.zeros(1, "f4"), sett.view(3, "f32"))
        with self.refused(Status.E_DTYPE, "'f12' is no element type of sett"):
            sett.view(wide, "f12")

    def test_views_are_tensors_of_dlpack(self):
        wide = np.array([[1, 2], [3, 4]], "f8")
        again = np.from_dlpack(sett.view(wide, "u32"))
        self.assertEqual((again.dtype, again.shape, again.strides), (np.dtype("u4"), (2, 4), (16, 4)))
        self.assertTrue((again == wide.view("u4")).all() and np.shares_memory(again, wide))
        del wide
        self.assertEqual(again.view("f8")[1, 1], 4)
        self.assertEqual(np.from_dlpack(sett.view(sett.view(np.arange(4, dtype="f4"), "i8"), "u16")).tolist(), np.arange(4, dtype="f4").view("u2").tolist())
        plain = np.zeros((2, 4), "u4")
        self.assertEqual(sett.view(plain, "f32").__dlpack_device__(), (1, 0))
        for _ in range(2):
            sett.view(plain, "f32").__dlpack__()  # dropped as it is
        before = sys.getrefcount(plain)
        for _ in range(100):
            np.from_dlpack(sett.view(plain, "f32"))
        self.assertLess(sys.getrefcount(plain), before + 10)
        with self.refused(Status.E_DTYPE, "a view as elements of another size needs a contiguous mode of whole elements"):
            np.from_dlpack(sett.view(plain[:, ::2], "f16"))
        with self.assertRaises(AttributeError):
            np.from_dlpack(sett.view(3, "f32"))


class Producer:
    """A tensor of some framework: what __dlpack__ gives is the test's."""

    def __init__(self, give, device=(1, 0)):
        self.give, self.device = give, device

    def __dlpack__(self, **asked):
        return self.give(**asked)

    def __dlpack_device__(self):
        return self.device


class Protocol(Case):
    def test_an_old_producer_is_asked_again(self):
        x, y = floats()
        asked = []

        def give(**words):
            asked.append(words)
            if "max_version" in words:
                raise TypeError("what is max_version?")
            return x.__dlpack__()

        scale()(Producer(give), y)
        self.assertEqual(y[9], 18)
        self.assertEqual([sorted(a) for a in asked], [["max_version"], []])

    def test_what_producers_do_wrong(self):
        x, y = floats()

        def fails(**_):
            raise BufferError("not today")

        with self.assertRaisesRegex(BufferError, "not today"):
            scale()(Producer(fails), y)
        with self.refused(Status.E_BIND, "scale: X (argument 0): its __dlpack__ gave no DLPack tensor"):
            scale()(Producer(lambda **_: 3), y)
        with self.refused(Status.E_BIND, "scale: X (argument 0): its __dlpack_device__ gave no device"):
            scale()(Producer(lambda **_: x.__dlpack__(), device=3), y)

    def test_a_fake_tensor_is_not_asked_for_its_memory(self):
        """As torch.compile traces with: PyTorch warns of what asks it for a pointer."""
        asked = []
        fake = type("FakeTensor", (Producer,), {"__module__": "torch._subclasses.fake_tensor"})(lambda **words: asked.append(words))
        x, y = floats()
        for call in (lambda: scale()(x, fake), lambda: scale().prepare(x, fake), lambda: scale().prepare(x, y).bind(Y=fake), lambda: scale()(x, sett.view(fake, "f32"))):
            with self.refused(Status.E_BIND, "scale: Y (argument 1): a FakeTensor has no memory"):
                call()
        self.assertEqual(asked, [])

    def test_nothing_leaks(self):
        x, y = floats()
        k = scale()
        before = [sys.getrefcount(o) for o in (x, y, k)]
        c = k.prepare(x, y)
        for _ in range(50):
            k(x, y)
            k(X=x, Y=y)
            c.bind(x, y)
            c.bind(Y=y)
            for wrong in ((x, "y"), (x, y[:3]), (x, 1 << 80), (x, y, x, x)):
                with self.assertRaises(sett.Error):
                    k(*wrong)
                with self.assertRaises(sett.Error):
                    c.bind(*wrong)
        del c, wrong
        gc.collect()
        self.assertEqual([sys.getrefcount(o) for o in (x, y, k)], before)


class Prepared(Case):
    def test_it_launches_what_it_was_given(self):
        x, y = floats()
        c = scale().prepare(x, y)
        self.assertEqual(y[9], 0)
        c()
        self.assertEqual(y[9], 18)
        x[9] = 100
        c(stream=None)
        c(0)
        self.assertEqual(y[9], 200)
        self.assertEqual(c.kernel.name, "scale")
        for call in (lambda: c(1, 2), lambda: c(strean=1), lambda: c("s")):
            with self.assertRaises(TypeError):
                call()

    def test_binding_is_all_or_nothing(self):
        x, y = floats()
        z = np.zeros(10, "f4")
        c = scale().prepare(x, y)
        with self.refused(Status.E_SHAPE, "Y mode 0 is 3"):
            c.bind(Y=z[:3])
        with self.refused(Status.E_BIND, "str is neither"):
            c.bind(z, "y")
        c.bind(Y=z)  # X is the one before, not what was refused
        c()
        self.assertEqual((y[9], z[9]), (0, 18))
        c.bind(x[:5], z[5:])
        c()
        self.assertEqual(z[5:].tolist(), [0, 2, 4, 6, 8])

    def test_structs_and_symbols_stay(self):
        y, z = np.zeros(64, "f4"), np.zeros(64, "f4")
        c = engine().compile(family("ramp"), target="cpu").prepare(y, np.array([(2, 1)], "f4,i4").tobytes(), True, 4)
        with self.refused(Status.E_SHAPE, "struct of 8 bytes"):
            c.bind(z, b"")
        c.bind(z)
        c()
        self.assertEqual(z[:5].tolist(), [2, 4, 6, 8, 0])
        c.bind(M=2, Y=y)
        c()
        self.assertEqual(y[:3].tolist(), [2, 4, 0])

    def test_it_keeps_its_tensors_alive_and_no_others(self):
        class Array(np.ndarray):
            pass

        def make():
            return np.ones(10, "f4").view(Array)

        x, y, z = make(), make(), make()
        alive = [weakref.ref(a) for a in (x, y, z)]
        c = scale().prepare(x, Y=y)
        c.bind(Y=z)
        del x, y, z
        gc.collect()
        self.assertEqual([a() is not None for a in alive], [True, False, True])
        c()
        self.assertEqual(alive[2]().tolist(), [2] * 10)
        del c
        gc.collect()
        self.assertEqual([a() for a in alive], [None] * 3)

    def test_it_cannot_be_made_otherwise(self):
        with self.assertRaises(TypeError):
            sett.Call()
        with self.assertRaisesRegex(ValueError, "embedded null character"):
            scale().prepare(np.zeros(3, "f4"), **{"Y\0": np.zeros(3, "f4")})
        with self.refused(Status.E_BIND, "scale: Y (argument 1) was never given"):
            scale().prepare(np.zeros(3, "f4"))


class Help(Case):
    def test_what_calling_does(self):
        """Arguments, units, errors: help(obj.__call__) is of use for each public class whose objects are called."""
        x, y = floats()
        k = scale()
        objects = {sett.Kernel: k, sett.Call: k.prepare(x, y), sett.Product: sett.Product(8, 8, "f32", device=sett.CPU, engine=engine())}
        self.assertEqual(set(objects), {c for c in vars(sett).values() if isinstance(c, type) and
            any("__call__" in vars(b) for b in c.__mro__)})
        for kind, o in objects.items():
            text = pydoc.plain(pydoc.render_doc(o.__call__))
            for word in ("stream", "Raises sett.Error", "E_", "asynchronous", "KeyboardInterrupt"):
                self.assertIn(word, text, kind)
        text = pydoc.plain(pydoc.render_doc(k.__call__))
        for word in ("*arguments", "**by_name", "count elements", "DLPack", "bytes", "E_SHAPE", "E_CAPTURING"):
            self.assertIn(word, text)
        self.assertEqual(str(inspect.signature(k.__call__)), "(*arguments, stream=None, **by_name)")
        k.__call__(x, Y=y)
        self.assertEqual(y[9], 18)


class Threads(Case):
    def test_a_launch_lets_other_threads_run(self):
        """The kernel runs until another thread of Python ends it: with the interpreter's lock held it would run for ever."""
        with sett.Engine(cache_dir="", no_gpu=True, cpu_timeout_ms=600000) as e:
            k = e.compile(family("spin"), target="cpu")
            n = np.ones(1, "i4")
            for run in (k, k.prepare(n)):
                ended = []

                def launch():
                    with self.refused(Status.E_CANCELLED):
                        run(n) if run is k else run()
                    ended.append(True)

                thread = threading.Thread(target=launch)
                thread.start()
                while not ended:
                    e.cancel()
                    thread.join(0.01)
                thread.join()

    def test_signals_while_a_kernel_runs(self):
        """Control-C ends a kernel that would run for ever; a handler that raises nothing does not, and may launch and cancel, not close."""
        seen = []

        def gentle(_signal, _frame):
            with self.refused(Status.E_ARGUMENT, "cannot close an engine while its thread runs a kernel"):
                e.close()
            sett.Engine(cache_dir="", no_gpu=True).close()
            k(np.zeros(1, "i4"))
            seen.append(True)
            if len(seen) == 2:
                e.cancel()

        # A shell's background job ignores it.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        for threads in (1, 3):
            with sett.Engine(cache_dir="", no_gpu=True, cpu_timeout_ms=600000, cpu_threads=threads) as e:
                k = e.compile(family("spin"), target="cpu")
                n = np.ones(1, "i4")
                for run in (lambda: k(n), k.prepare(n)):
                    with signalled([signal.SIGINT]), self.assertRaises(KeyboardInterrupt):
                        run()
                    was = signal.signal(signal.SIGUSR1, gentle)
                    with signalled([signal.SIGUSR1, signal.SIGUSR1], seen), self.refused(Status.E_CANCELLED):
                        run()
                    signal.signal(signal.SIGUSR1, was)
                    self.assertEqual(len(seen), 2)
                    seen.clear()
                k(np.zeros(1, "i4"))

    @contextlib.contextmanager
    def chats(self, threads, say):
        """An engine whose kernels print by say(text), launches of one that prints for ever while n[0] is not 0, and n."""
        with sett.Engine(cache_dir="", no_gpu=True, cpu_timeout_ms=600000, cpu_threads=threads, print=say) as e:
            k, n = e.compile(family("chat"), target="cpu"), np.ones(1, "i4")
            yield e, (lambda: k(n), k.prepare(n)), n

    def test_a_print_function_launches(self):
        """As does a handler of signals that runs in it; neither closes the engine, and either may close another."""

        def work(*_):
            with self.refused(Status.E_ARGUMENT, "cannot close an engine while its thread runs a kernel"):
                e.close()
            with sett.Engine(cache_dir="", no_gpu=True) as other:
                other.compile(family("spin"), target="cpu")(zero)
            quiet(zero)
            n[0] = 0

        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, work))
        for threads in (1, 3):
            for say in (work, lambda _: signal.raise_signal(signal.SIGUSR1)):
                with self.chats(threads, say) as (e, runs, n):
                    quiet, zero = e.compile(family("spin"), target="cpu"), np.zeros(1, "i4")
                    for run in runs:
                        n[0] = 1
                        run()

    def test_what_a_print_function_raises_ends_the_launch(self):
        class Enough(Exception):
            pass

        def say(_text):
            if not on_another or threading.get_ident() != here:
                said.append(True)
                act()

        def enough():
            raise Enough

        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        here = threading.get_ident()
        for threads, on_another, act, want in ((1, False, enough, Enough), (3, False, enough, Enough), (3, True, enough, Enough),
                (1, False, sys.exit, SystemExit), (1, False, lambda: signal.raise_signal(signal.SIGINT), KeyboardInterrupt)):
            with self.chats(threads, say) as (_, runs, _):
                for run in runs:
                    said = []
                    with self.assertRaises(want):
                        run()
                    self.assertEqual(len(said), 1)  # and is not called again

    def test_an_exception_of_one_of_two_launches(self):
        """That a thread of the library prints for one of several is known, not for which: all go on."""
        lost, here = [], set()

        def say(_text):
            if threading.get_ident() not in here and len(here) == 2 and not lost:
                raise ValueError

        def end(said):
            lost.append(said.exc_type)
            n[0] = 0

        def launch():
            here.add(threading.get_ident())
            run()
            ended.append(True)

        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = end
        with self.chats(3, say) as (_, (run, _), n):
            ended, threads = [], [threading.Thread(target=launch) for _ in range(2)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual((lost[0], ended), (ValueError, [True, True]))

    def test_a_prepared_call_is_for_one_thread(self):
        with sett.Engine(cache_dir="", no_gpu=True, cpu_timeout_ms=600000) as e:
            n, zero = np.ones(1, "i4"), np.zeros(1, "i4")
            c = e.compile(family("spin"), target="cpu").prepare(n)
            thread = threading.Thread(target=lambda: self.assertRaises(sett.Error, c))
            thread.start()
            with self.refused(Status.E_ARGUMENT, "one thread at a time"):
                while thread.is_alive():
                    c.bind(n)
            while thread.is_alive():
                e.cancel()
                thread.join(0.01)
            c.bind(zero)
            c()


if __name__ == "__main__":
    unittest.main()
