# SPDX-License-Identifier: Apache-2.0
"""Launches on GPUs that are not there: the tests' driver (tests/fake) stands in, so that streams, devices and captures are tested
without one. test_gpu.py runs this in a process whose loader finds that driver."""

import ctypes as C
import os
import sys
import types
import unittest.mock

import sett
from rig import Case, family, unittest
from sett import Status

P = C.c_void_p
cuda = C.CDLL("libcuda.so.1")


class DLTensor(C.Structure):
    _fields_ = [("data", P), ("device_type", C.c_int32), ("device_id", C.c_int32), ("ndim", C.c_int32), ("code", C.c_uint8),
        ("bits", C.c_uint8), ("lanes", C.c_uint16), ("shape", C.POINTER(C.c_int64)), ("strides", C.POINTER(C.c_int64)), ("offset", C.c_uint64)]


class Managed(C.Structure):
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("context", P), ("deleter", P), ("flags", C.c_uint64), ("tensor", DLTensor)]


class Api(C.Structure):  # DLPackExchangeAPI
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("older", P), ("allocate", P), ("managed", P), ("back", P),
        ("tensor", C.PYFUNCTYPE(C.c_int, C.py_object, C.POINTER(DLTensor))),
        ("stream", C.PYFUNCTYPE(C.c_int, C.c_int, C.c_int32, C.POINTER(P)))]


class Launch(C.Structure):
    _fields_ = [("grid", C.c_uint * 3), ("block", C.c_uint * 3), ("smem", C.c_uint), ("device", C.c_int), ("context", P), ("code", P)]


class State(C.Structure):
    _fields_ = [("gpus", C.c_int), ("kernel", C.CFUNCTYPE(None, P, C.POINTER(Launch))), ("user", P)]


new_capsule = C.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = C.py_object, [P, C.c_char_p, P]
streams, asked = {}, []


def fill(tensor, to):
    C.memmove(to, C.byref(tensor.dl), C.sizeof(DLTensor))
    return 0


def stream_of(kind, device, to):
    asked.append((kind, device))
    to[0] = streams.get(device, 0)
    return 0


class Exported:
    """A tensor of a GPU with __dlpack__ alone."""

    def __init__(self, device=0, n=16, dtype=(2, 32)):
        self.memory, self.shape, self.words = (C.c_float * n)(), (C.c_int64 * 1)(n), []
        self.dl = DLTensor(C.addressof(self.memory), 2, device, 1, *dtype, 1, self.shape, None, 0)
        self.held = Managed(1, 0, None, None, 0, self.dl)

    def __dlpack_device__(self):
        return 2, self.dl.device_id

    def __dlpack__(self, **words):
        self.words.append(words)
        return new_capsule(C.addressof(self.held), b"dltensor_versioned", None)


api = Api(1, 3, None, None, None, None, Api._fields_[6][1](fill), Api._fields_[7][1](stream_of))
newer = Api(2, 0, None, None, None, None, api.tensor, api.stream)


class Tensor(Exported):
    __dlpack_c_exchange_api__ = new_capsule(C.addressof(api), b"dlpack_exchange_api", None)


class Newer(Exported):
    __dlpack_c_exchange_api__ = new_capsule(C.addressof(newer), b"dlpack_exchange_api", None)


launched = []
state = State.in_dll(cuda, "fake_cuda")


@State._fields_[1][1]
def ran(_user, launch):
    launched.append((launch.contents.device, launch.contents.context))


def make_stream(device):
    context, stream = P(), P()
    assert not cuda.cuDevicePrimaryCtxRetain(C.byref(context), device) and not cuda.cuCtxSetCurrent(context)
    assert not cuda.cuStreamCreate(C.byref(stream), 1) and not cuda.cuCtxSetCurrent(None)
    return stream.value, context.value


class Gpu(Case):
    @classmethod
    def setUpClass(cls):
        cls.engine = sett.Engine(cache_dir="", assembler="driver")
        assert (cls.engine.gpu_count, cls.engine.default_device) == (2, 0)
        state.kernel = ran
        cls.kernel = cls.engine.compile(family("scale"))
        cls.made = {device: make_stream(device) for device in (0, 1)}

    def setUp(self):
        streams.clear(), asked.clear(), launched.clear()

    def on(self, device):
        return (device, self.made[device][1])

    def test_the_framework_tells_the_stream(self):
        for device in (0, 1):
            streams[device] = self.made[device][0]
            x, y = Tensor(device), Tensor(device)
            self.kernel(x, y)
            self.assertEqual((asked.pop(), launched.pop()), ((2, device), self.on(device)))
            call = self.kernel.prepare(x, y)
            self.assertEqual((asked, launched), ([], []))
            call()
            call()
            self.assertEqual((asked, launched), ([(2, device)] * 2, [self.on(device)] * 2))
            asked.clear(), launched.clear()
            self.kernel(x, y, stream=self.made[device][0])
            call(self.made[device][0])
            self.assertEqual((asked, launched), ([], [self.on(device)] * 2))
            launched.clear()

    def test_the_environment_names_the_default_device(self):
        for text, device, of_gpus in (("1", 1, 1), ("gpu", 0, 0), ("cpu", sett.CPU, 0)):
            with unittest.mock.patch.dict(os.environ, SETT_DEVICE=text):
                e = sett.Engine(cache_dir="", assembler="driver")
            self.assertEqual((e.default_device, e._home("cpu"), e._home("sm_90a")), (device, sett.CPU, of_gpus))
            self.assertEqual(e.compile(family("scale")).target == "cpu", device == sett.CPU)
        with unittest.mock.patch.dict(os.environ, SETT_DEVICE="2"), self.refused(Status.E_NO_DEVICE, "device 2: there are 2 GPUs, 0 to 1"):
            sett.Engine(cache_dir="")

    def test_streams_of_other_frameworks(self):
        handle = self.made[1][0]
        x = Tensor(1)

        class Protocol:
            def __cuda_stream__(self):
                return 0, handle

        for stream in (types.SimpleNamespace(cuda_stream=handle), types.SimpleNamespace(ptr=handle), types.SimpleNamespace(handle=handle), Protocol()):
            self.kernel(x, x, stream=stream)
        self.assertEqual(launched, [self.on(1)] * 4)
        with self.assertRaisesRegex(TypeError, "SimpleNamespace is no stream"):
            self.kernel(x, x, stream=types.SimpleNamespace())

    def test_producers_order_their_work_before_the_stream(self):
        handle = self.made[1][0]
        x, y = Exported(1), Exported(1)
        self.kernel(x, y)
        self.assertEqual([w["stream"] for w in x.words + y.words], [1, 1])  # the default stream
        self.kernel(x, y, stream=handle)
        self.assertEqual((x.words[1]["stream"], y.words[1]["stream"], launched), (handle, handle, [(1, launched[0][1]), self.on(1)]))
        streams[1] = handle
        self.kernel(Tensor(1), y)  # the stream of the first, also for the second
        self.assertEqual((y.words[2]["stream"], launched[2]), (handle, self.on(1)))

    def test_cupy(self):
        handle, seen = self.made[1][0], []

        def get_current_stream(device):
            seen.append(device)
            return types.SimpleNamespace(ptr=handle)

        sys.modules["cupy"] = types.SimpleNamespace(cuda=types.SimpleNamespace(get_current_stream=get_current_stream))
        self.addCleanup(sys.modules.pop, "cupy")
        array = type("ndarray", (Exported,), {"__module__": "cupy._core.core"})
        x, y = array(1), array(1)
        self.kernel(x, y)
        self.kernel.prepare(x, y)()
        self.assertEqual((launched, seen, x.words[0]["stream"]), ([self.on(1)] * 2, [1] * 3, handle))
        self.kernel.prepare(x, x).bind(Y=y)
        self.assertEqual(y.words[-1]["stream"], handle)
        g = sett.Graph(1)
        g.add(self.kernel, "x", "x")
        g["x"] = x
        self.assertEqual(x.words[-1]["stream"], handle)

    def test_graphs(self):
        handle = streams[1] = self.made[1][0]
        for first in (Tensor(1), None):
            g, y = sett.Graph(None if first else 1), Tensor(1)
            g.add(self.kernel, first or "x", "y")
            g.add(self.kernel, "y", "z")
            self.assertEqual((g.device, g.cuda_graph), (1, False))
            g.set(y=y, z=y)
            if not first:
                g["x"] = y
            g.commit()
            self.assertEqual((g.cuda_graph, g.cuda_graphs, g.updates, asked, launched), (True, 1, 0, [], []))
            g.run()
            self.assertEqual((asked, launched), ([(2, 1)], [self.on(1)] * 2))
            g.run(stream=handle)
            g["z"] = Tensor(1)
            g.commit()
            g.run(types.SimpleNamespace(cuda_stream=handle))
            self.assertEqual((g.cuda_graphs, g.updates, asked, launched), (1, 1, [(2, 1)], [self.on(1)] * 6))
            with self.refused(Status.E_NO_DEVICE, 'the tensor is in memory of GPU 0, and the tensors before it of GPU 1 (Y is "y")'):
                g["y"] = Tensor(0)
            asked.clear(), launched.clear()
        with sett.Graph(launches=True) as g:
            g.add(self.kernel, "x", "y")
            self.assertEqual(g.device, 0)
            x = Exported(0)
            g.set(x=x, y=x)
            g.commit()
            g.run()
            self.assertEqual((g.cuda_graph, g.cuda_graphs, launched, x.words[0]["stream"]), (False, 0, [self.on(0)], 1))

    def test_what_is_refused(self):
        x, y = Tensor(0), Tensor(1)
        with self.refused(Status.E_NO_DEVICE, "scale: Y (argument 1): the tensor is in memory of GPU 1, and the tensors before it of GPU 0"):
            self.kernel(x, y)
        with self.refused(Status.E_NO_DEVICE, "of GPU 1, and the tensors before it of GPU 0"):
            self.kernel.prepare(x, x).bind(y, y)
        with self.refused(Status.E_NO_DEVICE, "device 2: there are 2 GPUs, 0 to 1"):
            self.kernel(Tensor(2), Tensor(2))
        with self.refused(Status.E_DTYPE, "scale: X is f32, the buffer given is f64"):
            self.kernel(Tensor(dtype=(2, 64)), x)
        with self.refused(Status.E_TARGET, "scale was made for cpu and cannot run on a GPU"):
            self.engine.compile(family("scale"), target="cpu")(x, x)
        self.assertFalse(launched)

    def test_a_table_of_a_newer_dlpack_is_not_used(self):
        x, y = Newer(1), Newer(1)
        self.kernel(x, y)
        self.assertEqual((len(x.words), asked), (1, []))

    def test_captures(self):
        handle = self.made[0][0]
        k = self.engine.compile(family("scale"), factor=7)
        x = Tensor(0)
        graph = P()
        assert not cuda.cuStreamBeginCapture_v2(P(handle), 2)
        with self.refused(Status.E_CAPTURING):
            k(x, x, stream=handle)
        k.load()
        k(x, x, stream=handle)
        k.prepare(x, x)(handle)
        assert not cuda.cuStreamEndCapture(P(handle), C.byref(graph))
        self.assertEqual(launched, [])
        k(x, x, stream=handle)
        self.assertEqual(launched, [self.on(0)])

    def test_products(self):
        def matrix(rows, cols, device=0):
            t = Tensor(device, rows * cols, (4, 16))
            t.sides, t.apart = (C.c_int64 * 2)(rows, cols), (C.c_int64 * 2)(cols, 1)
            t.dl.ndim, t.dl.shape, t.dl.strides = 2, t.sides, t.apart
            return t

        p = sett.Product(256, 512, max_m=64, engine=self.engine)
        self.assertEqual(p.device, 0)
        a, b, out = matrix(8, 512), matrix(256, 512), matrix(8, 256)
        (first, context), second, graph = self.made[0], make_stream(0)[0], P()
        streams[0] = first
        assert not cuda.cuStreamBeginCapture_v2(P(first), 2)
        with self.refused(Status.E_CAPTURING, "has no workspace of this product: call prepare(stream) before the capture"):
            p(a, b, out)
        assert not cuda.cuStreamEndCapture(P(first), C.byref(graph))
        p.prepare(types.SimpleNamespace(cuda_stream=first))
        assert not cuda.cuStreamBeginCapture_v2(P(first), 2)
        self.assertIs(p(a, b, out), out)
        assert not cuda.cuStreamEndCapture(P(first), C.byref(graph))
        self.assertEqual(launched, [])
        p(a, b, out)
        p(a, b, out, stream=second)
        self.assertEqual([on for on, _ in launched], [0, 0])
        with self.refused(Status.E_NO_DEVICE, "b: it is on device 1, and the product on 0"):
            p(a, matrix(256, 512, 1), out)
        with self.refused(Status.E_BIND, "out is needed: a is a __main__.Tensor, and only of PyTorch, NumPy and CuPy is one made"):
            p(a, b)
        self.assertEqual(len({k.key for k in p.kernels()}), len(p.kernels()))
        self.assertEqual(sett.Product.of(matrix(8, 512, 1), b, max_m=8, engine=self.engine).device, 1)


if __name__ == "__main__":
    unittest.main()
