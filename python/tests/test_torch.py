# SPDX-License-Identifier: Apache-2.0
"""PyTorch, where it is installed: tensors, operations under opcheck, torch.compile, and on a GPU streams and captured graphs."""

import functools
import importlib.util
import warnings

import sett
from rig import Case, engine, family, unittest
from sett import Status

if importlib.util.find_spec("torch"):
    import torch

    import sett.torch

    DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
    TARGET = engine().target() if DEVICE == "cuda" else "cpu"
_names = iter(range(1000))


def compile_(what, **values):
    return engine().compile(what, target=TARGET, **values)


def operation(kernel, **words):
    return sett.torch.custom_op(f"sett_test::op{next(_names)}", kernel, **words)


@functools.lru_cache(None)
def softmax_of(dtype, cols):
    return compile_(sett.kernels.softmax, dtype=dtype, cols=cols)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class Torch(Case):
    def tensor(self, *shape, dtype=None):
        return torch.randn(shape, device=DEVICE).to(dtype or torch.float32)

    def near(self, a, b, most=1e-6):
        self.assertLessEqual((a.float() - b.float()).abs().max().item(), most)


class Calls(Torch):
    def test_every_type(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8):
            x = (self.tensor(33, dtype=torch.float32) * 10).abs().to(dtype)
            y = torch.zeros_like(x)
            compile_(family("scale"), dtype=dtype)(x, y)
            self.assertTrue(torch.equal(y, x * 2), dtype)

    def test_parameters_slices_and_refusals(self):
        k = compile_(family("scale"))
        x = torch.nn.Parameter(self.tensor(40))
        y = torch.zeros(50, device=DEVICE)
        k(x, y[5:45])
        self.near(y[5:45], 2 * x.detach())
        with self.refused(Status.E_SHAPE, "scale: Y mode 0 is 50, X mode 0 gives N = 40"):
            k(x, y)
        with self.refused(Status.E_DTYPE, "scale: Y is f32, the buffer given is f64"):
            k(x, y.double())
        if DEVICE == "cuda":
            with self.refused(Status.E_NO_DEVICE, "scale: Y (argument 1): the tensor is in memory of the host, and the tensors before it of GPU 0"):
                k(x, y.cpu())
            with self.refused(Status.E_TARGET, f"scale was made for {TARGET} and cannot run on the CPU"):
                k(y.cpu(), y.cpu())

    def test_a_tensor_without_memory(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        x = self.tensor(4)
        with FakeTensorMode():
            fake = torch.empty(4, device=DEVICE)
        for call in (lambda: compile_(family("scale"))(x, fake), lambda: compile_(family("scale")).prepare(fake, x)):
            with warnings.catch_warnings(), self.refused(Status.E_BIND, "a FakeTensor has no memory"):
                warnings.simplefilter("error")
                call()

    def test_prepared(self):
        x, y, z = self.tensor(40), torch.zeros(40, device=DEVICE), torch.zeros(40, device=DEVICE)
        c = compile_(family("scale")).prepare(x, y)
        c()
        c.bind(Y=z)
        c()
        self.near(y, z)
        self.near(z, 2 * x)


    def test_graphs(self):
        x, y, z = self.tensor(40), torch.zeros(40, device=DEVICE), torch.zeros(40, device=DEVICE)
        g = sett.Graph()
        g.add(compile_(family("scale")), x, "half")
        g.add(compile_(sett.kernels.axpy, dtype="f32"), "half", "out", "a")
        g.set(half=y, out=z, a=3)
        g.commit()
        g.run()
        x.fill_(1)
        g.run()
        z.zero_()
        g["half"] = torch.zeros_like(y)
        g.commit()
        g.run()
        self.near(z, 6 * x)
        with self.refused(Status.E_SHAPE, '(X is "half", Y is "out")'):
            g["out"] = z[:30]
            g.commit()


class Operations(Torch):
    def setUp(self):
        self.softmax = operation(lambda X: softmax_of(X.dtype, X.shape[1]), outputs={"Y": "X"}, schema="(Tensor X) -> Tensor")
        self.scale_into = operation(compile_(family("scale")))
        self.axpy = operation(compile_(sett.kernels.axpy, dtype="f32"))

    def test_schemas(self):
        norm = compile_(sett.kernels.rms_norm, dtype="f16", cols=64, residual=1)
        for op, want in (
            (self.scale_into, "(Tensor X, Tensor(a!) Y) -> ()"),
            (self.axpy, "(Tensor X, Tensor(a!) Y, float a) -> ()"),
            (operation(norm, outputs={"Y": "X", "H": "X"}), "(Tensor X, Tensor R, Tensor W, float eps) -> (Tensor, Tensor)"),
        ):
            self.assertTrue(str(op._schema).endswith(want), op._schema)

    def test_results_and_versions(self):
        x, y = self.tensor(30, 100, dtype=torch.float16), torch.ones(100, device=DEVICE)
        self.near(self.softmax(x), torch.softmax(x, 1), 1e-3)
        version = y._version
        self.axpy(x[0].float(), y, 2.0)
        self.near(y, 1 + 2 * x[0].float())
        self.assertEqual(y._version, version + 1)
        norm = operation(compile_(sett.kernels.rms_norm, dtype="f32", cols=64, residual=1), outputs={"Y": "X", "H": "X"})
        x, r, w = self.tensor(9, 64), self.tensor(9, 64), self.tensor(64)
        y, h = norm(x, r, w, 1e-5)
        self.near(h, x + r)
        self.near(y, torch.nn.functional.rms_norm(x + r, (64,), w, 1e-5), 1e-5)

    def test_opcheck(self):
        x = self.tensor(30, 100)
        for op, arguments in ((self.softmax, (x,)), (self.scale_into, (x[0].clone(), x[1].clone())), (self.axpy, (x[0].clone(), x[1].clone(), 0.5))):
            result = torch.library.opcheck(op, arguments)
            self.assertEqual(set(result.values()), {"SUCCESS"}, op)

    def test_gradients_are_registered_as_of_any_operation(self):
        op = self.softmax

        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return (grad - (grad * y).sum(1, keepdim=True)) * y

        torch.library.register_autograd(op._schema.name, backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
        x = self.tensor(5, 100).requires_grad_()
        weight = self.tensor(5, 100)
        (op(x) * weight).sum().backward()
        again = x.detach().clone().requires_grad_()
        (torch.softmax(again, 1) * weight).sum().backward()
        self.near(x.grad, again.grad, 1e-5)

    def test_mistakes(self):
        kernel = compile_(family("scale"))
        for words, text in (
            ({"name": "scale"}, "an operation's name is NAMESPACE::NAME, not 'scale'"),
            ({"kernel": lambda X: kernel}, "a kernel that is chosen at each use needs a schema"),
            ({"outputs": {"Y": "Z"}}, "has no argument Z: X"),
            ({"schema": "(Tensor X) -> ()"}, "scale takes X, Y; the operation has X"),
            ({"schema": "(Tensor X, Tensor Z) -> ()"}, "scale takes X, Y; the operation has X, Z"),
            ({"kernel": compile_(family("ramp"))}, "k is a struct, which no operation of PyTorch takes"),
        ):
            with self.assertRaises(sett.Error) as e:
                words = {"name": f"sett_test::op{next(_names)}", "kernel": kernel, **words}
                sett.torch.custom_op(words.pop("name"), words.pop("kernel"), **words)
            self.assertIn(text, str(e.exception))
        with self.assertRaisesRegex(sett.Error, "scale: Y mode 0 is 3, X mode 0 gives N = 4"):
            self.scale_into(self.tensor(4), self.tensor(3))

    def test_an_output_that_is_read_too(self):
        """Y = a X + Y: of nothing, of zeros that a function makes, and of a kernel that is known at its first use alone."""
        kernel = compile_(sett.kernels.axpy, dtype="f32")
        says = "axpy reads Y, of which an output begins with nothing: leave Y out of outputs, so that it is mutated in place"
        with self.assertRaisesRegex(sett.Error, says):
            operation(kernel, outputs={"Y": "X"})
        late = operation(lambda X: kernel, outputs={"Y": "X"}, schema="(Tensor X, float a) -> Tensor")
        x = self.tensor(20)
        with self.assertRaisesRegex(sett.Error, says):
            late(x, 2.0)
        self.near(operation(kernel, outputs={"Y": lambda X: torch.zeros_like(X)})(x, 2.0), 2 * x)

    def test_a_schema_hides_no_mutation(self):
        norm = compile_(sett.kernels.rms_norm, dtype="f32", cols=64, residual=1)
        hidden = "(Tensor X, Tensor R, Tensor W, Tensor(b!) H, float eps) -> Tensor"
        self.assertEqual({p.name for p in norm.params if p.written}, {"Y", "H"})
        for schema, name in ((hidden.replace("(b!)", ""), "H"), ("(Tensor X, Tensor R, Tensor W, Tensor Y, Tensor(b!) H, float eps) -> ()", "Y")):
            words = {"schema": schema, "outputs": {"Y": "X"} if name == "H" else {}}
            says = f"rms_norm writes {name}: the schema must say Tensor(a!) {name}"
            with self.refused(Status.E_BIND, says):
                operation(norm, **words)
            chosen = operation(lambda X, *_: norm, **words)
            given = {"X": self.tensor(9, 64), "R": self.tensor(9, 64), "W": self.tensor(64), "Y": self.tensor(9, 64), "H": self.tensor(9, 64)}
            with self.refused(Status.E_BIND, says):
                chosen(*(given.get(a.name, 1e-5) for a in chosen._schema.arguments))
        op = operation(lambda X, *_: norm, schema=hidden, outputs={"Y": "X"})
        x, r, w, h = self.tensor(9, 64), self.tensor(9, 64), self.tensor(64), torch.zeros(9, 64, device=DEVICE)
        op(x, r, w, h, 1e-5)
        self.near(h, x + r)
        self.assertEqual(set(torch.library.opcheck(op, (x, r, w, h, 1e-5)).values()), {"SUCCESS"})

    def test_functions_take_the_arguments_that_they_name(self):
        norm = compile_(sett.kernels.rms_norm, dtype="f32", cols=64)
        x, w = self.tensor(9, 64), self.tensor(64)
        want = torch.nn.functional.rms_norm(x, (64,), w, 1e-5)
        schema = "(Tensor X, Tensor W, float eps) -> Tensor"
        for choose in (lambda X: norm, lambda eps, X: norm if eps == 1e-5 and X.shape[1] == 64 else None, lambda: norm, lambda *all: norm if len(all) == 3 else None,
                lambda X, *, W: norm if len(W) == 64 else None, lambda X, W=None: norm if W is not None else None, lambda **all: norm if set(all) == {"X", "W", "eps"} else None,
                lambda given, *rest: norm if given is x else None, functools.partial(lambda n, X: n, norm)):
            op = operation(choose, schema=schema, outputs={"Y": lambda W, X: torch.empty_like(X)})
            self.near(op(x, w, 1e-5), want, 1e-5)
        with self.refused(Status.E_BIND, "sett_test::op"):
            operation(lambda Z, X: norm, schema=schema, outputs={"Y": "X"})

    def test_compiled(self):
        x, y = self.tensor(30, 100), torch.ones(100, device=DEVICE)
        softmax, axpy = self.softmax, self.axpy

        def model(x, y):
            s = softmax(x * 2) + 1
            axpy(s[0], y, 3.0)
            return s, y * 2

        want = model(x, y.clone())
        for dynamic in (False, True):
            with warnings.catch_warnings():
                warnings.filterwarnings("error", ".*data pointer.*|.*FakeTensor.*")
                got = torch.compile(model, fullgraph=True, dynamic=dynamic)(x, y.clone())
            for a, b in zip(got, want):
                self.near(a, b, 1e-5)


@unittest.skipUnless(importlib.util.find_spec("torch") and torch.cuda.is_available(), "no GPU for PyTorch")
class Gpu(Torch):
    def test_the_stream_is_the_current_one(self):
        x, y = torch.ones(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
        k = compile_(family("scale"))
        call, side = k.prepare(x, y), torch.cuda.Stream()
        k.load()
        for run in (lambda: k(x, y), call, lambda: k(x, y, stream=side), lambda: call(side), lambda: call(side.cuda_stream)):
            y.zero_()
            torch.cuda.synchronize()
            with torch.cuda.stream(side):
                torch.cuda._sleep(20_000_000)
                x.fill_(3)
                run()
                x.fill_(5)
                z = y.clone()
            side.synchronize()
            self.assertEqual((z[0].item(), z[-1].item()), (6, 6))

    def test_captured_graphs(self):
        x, y = self.tensor(64, 1024), torch.zeros(64, 1024, device="cuda")
        k = compile_(sett.kernels.softmax, dtype="f32", cols=1024)
        op = operation(k, outputs={"Y": "X"})
        call = k.prepare(x, y)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            z = op(x * 2)
            call()
            k(z, z)
        x.copy_(self.tensor(64, 1024))
        graph.replay()
        torch.cuda.synchronize()
        self.near(y, torch.softmax(x, 1))
        self.near(z, torch.softmax(torch.softmax(x * 2, 1), 1))
        compiled = torch.compile(lambda x: op(op(x) * 3), mode="reduce-overhead", fullgraph=True)
        for _ in range(4):
            torch.compiler.cudagraph_mark_step_begin()
            got = compiled(x).clone()
        self.near(got, torch.softmax(torch.softmax(x, 1) * 3, 1))

    def test_a_kernel_that_is_not_loaded_under_capture(self):
        x, y = self.tensor(64), torch.zeros(64, device="cuda")
        k = compile_(family("scale"), factor=1.25)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            with self.refused(Status.E_CAPTURING):
                k(x, y)
            y.copy_(x)
        graph.replay()
        k.load()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            k(x, y)
        graph.replay()
        self.near(y, 1.25 * x)

    @unittest.skipUnless(importlib.util.find_spec("cupy"), "CuPy is not installed")
    def test_cupy(self):
        import cupy

        x, y = cupy.arange(100, dtype="f4"), cupy.zeros(100, "f4")
        k = compile_(family("scale"))
        k(x, y)
        self.assertEqual(float(y[99]), 198)
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            y.fill(0)
            k(x, y)
            k.prepare(y, y)()
        stream.synchronize()
        self.assertEqual(float(y[99]), 396)
        k(x, torch.as_tensor(y, device="cuda"), stream=stream)
        stream.synchronize()
        self.assertEqual(float(y[99]), 198)

    @unittest.skipUnless(importlib.util.find_spec("tvm_ffi"), "apache-tvm-ffi is not installed")
    def test_tvm_ffi(self):
        import sett.tvm_ffi

        x, y, side = torch.ones(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda"), torch.cuda.Stream()
        f = sett.tvm_ffi.function(compile_(family("scale")))
        f(x, y)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            x.fill_(3)
            f(x, y)
            x.fill_(5)
        side.synchronize()
        self.assertEqual(y[7].item(), 6)
        with self.assertRaisesRegex(ValueError, "scale: Y mode 0 is 3"):
            f(x, y[:3])


if __name__ == "__main__":
    unittest.main()
