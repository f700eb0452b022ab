# SPDX-License-Identifier: Apache-2.0
"""The memory-bound kernels of sett/kernels.h beside what a user would pick instead: torch, torch.compile, Triton (through torch), a
hand-written CUDA kernel (nvcc), CuTe DSL's example if its package and CUTLASS's examples (CUTLASS_EXAMPLES) are here, and the driver's
copy of as many bytes. Who has a shape to choose is swept over it. Prints rows of Markdown (gpu.py).

    bench/peers.py [add] [saxpy] [transpose] [softmax] [softmax_odd] [rms_norm] [rms_norm_odd] [layer_norm] [silu_mul] [sum]

with sett and torch installed; without a GPU: small ones on the CPU engine, results alone. torch.compile writes kernels of one shape, as it is
and with its own search (max-autotune, without graphs: gpu.py makes them)."""

import ctypes
import functools
import os
import subprocess
import sys
import tempfile

import torch
from gpu import DEVICE, GPU, Work, beside, compiled_by_torch, engine, gbps, head, pick, prepared, randn, say
from torch.nn.functional import layer_norm, rms_norm, silu

import sett

EPS = 1e-5
HAND = r"""
#include <cuda_fp16.h>
template <int V> __global__ void add(const uint4 *a, const uint4 *b, uint4 *c, size_t n) {
  size_t first = (size_t)blockIdx.x * blockDim.x * V + threadIdx.x;
  uint4 x[V], y[V], z;
#pragma unroll
  for (int v = 0; v < V; v++) {
    size_t i = first + (size_t)v * blockDim.x;
    if (i < n) x[v] = a[i], y[v] = b[i];
  }
#pragma unroll
  for (int v = 0; v < V; v++) {
    size_t i = first + (size_t)v * blockDim.x;
    if (i < n) {
      __half2 *p = (__half2 *)&x[v], *q = (__half2 *)&y[v], *r = (__half2 *)&z;
      for (int j = 0; j < 4; j++) r[j] = __hadd2(p[j], q[j]);
      c[i] = z;
    }
  }
}
template <int V> static int launch(const void *a, const void *b, void *c, size_t n, int threads, cudaStream_t s) {
  size_t block = (size_t)threads * V;
  add<V><<<(unsigned)((n + block - 1) / block), threads, 0, s>>>((const uint4 *)a, (const uint4 *)b, (uint4 *)c, n);
  return cudaGetLastError();
}
extern "C" int hand_add(const void *a, const void *b, void *c, size_t n, int threads, int vectors, cudaStream_t s) {
  n /= 8;
  return vectors == 1 ? launch<1>(a, b, c, n, threads, s) : vectors == 2 ? launch<2>(a, b, c, n, threads, s) : launch<4>(a, b, c, n, threads, s);
}
"""


# ---- ways of sett -----------------------------------------------------------------------------------------------
def choice_of(family, bind, **fixed):
    """The library's choice, as beside takes it: bind(kernel, set) is a prepared call."""
    def choice(plain, **shape):
        kernel = engine.compile(family, no_pdl=plain, **fixed, **shape)
        return lambda s: bind(kernel, s)

    return choice


def shapes_of(choice, names, shapes):
    """(text, function of plain) of each shape, whose numbers have these names."""
    return [(", ".join(f"{n} {v}" for n, v in zip(names, shape)), functools.partial(choice, **dict(zip(names, shape)))) for shape in shapes]


def chosen(family, name, **values):
    """An option that the library chooses."""
    user = family._user(engine.target(), values)
    at = next(p for p in family._params if p.name.decode() == name)
    return int.from_bytes(bytes(user)[at.offset:at.offset + at.bytes], "little")


# ---- ways of others ---------------------------------------------------------------------------------------------
def torch_ways(name, f, f_out=None):
    """torch, and torch.compile, of a function of a set; f_out writes to what is there."""
    last = f_out or f
    return {
        name: lambda s: lambda: last(s),
        "torch.compile": compiled_by_torch(f),
        "torch.compile, max-autotune": compiled_by_torch(last, mode="max-autotune-no-cudagraphs"),
    }


def stream():
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def device_copy(moved):
    """The driver's copy that reads and writes as many bytes in all, as beside takes what is ready."""
    if not GPU:
        return ()

    def bind(s):
        copy = ctypes.CDLL("libcuda.so.1").cuMemcpyDtoDAsync_v2

        def run():
            status = copy(ctypes.c_uint64(s.out.data_ptr()), ctypes.c_uint64(s.x.data_ptr()), ctypes.c_size_t(4 * s.x.numel()), stream())
            assert status == 0, status

        return run

    name = "cuMemcpyDtoDAsync of as many bytes"
    work = Work(name, gbps(moved), lambda: {"x": randn(moved // 8), "out": torch.empty(moved // 8, device=DEVICE)}, lambda s: s.x, torch.equal)
    return ((name, prepared(work, name, bind)),)


def triton_add():
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x, y, z, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(z + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

    def way(block, warps):
        return lambda s: lambda: kernel[(triton.cdiv(s.a.numel(), block),)](s.a, s.b, s.out, s.a.numel(), BLOCK=block, num_warps=warps) and None

    return {f"BLOCK {block}, {warps} warps": way(block, warps) for block in (1024, 2048, 4096, 8192) for warps in (4, 8)}


@functools.lru_cache(None)
def hand_written():
    """Built by nvcc for this device."""
    with tempfile.TemporaryDirectory() as folder:
        source, so = os.path.join(folder, "hand.cu"), os.path.join(folder, "hand.so")
        with open(source, "w") as f:
            f.write(HAND)
        arch = "-arch=sm_{}{}".format(*torch.cuda.get_device_capability())
        subprocess.run(["nvcc", "-O3", arch, "-shared", "-Xcompiler", "-fPIC", "-o", so, source], check=True)
        return ctypes.CDLL(so).hand_add


def hand_add():
    hand = hand_written()

    def way(threads, vectors):
        def bind(s):
            pointers = [ctypes.c_void_p(t.data_ptr()) for t in (s.a, s.b, s.out)]

            def run():
                status = hand(*pointers, ctypes.c_size_t(s.a.numel()), ctypes.c_int(threads), ctypes.c_int(vectors), stream())
                assert status == 0, status

            return run

        return bind

    return {f"{t} threads, {v} x 16 bytes": way(t, v) for t in (128, 256, 512, 1024) for v in (1, 2, 4)}


def cute_dsl_add():
    """CUTLASS's example elementwise_add."""
    sys.path.insert(0, os.environ["CUTLASS_EXAMPLES"])
    import cutlass.cute as cute
    import elementwise_add as example
    from cutlass.cute.runtime import from_dlpack

    def bind(s):
        arguments = [from_dlpack(t, assumed_align=16).mark_layout_dynamic() for t in (s.a, s.b, s.out)]
        compiled = cute.compile(example.elementwise_add, *arguments)
        return lambda: compiled(*arguments)

    return {"the example's": bind}


def made(makers):
    """Those of the peers that can be made here."""
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except (ImportError, KeyError, OSError, subprocess.CalledProcessError) as e:
            say(f"no {name}: {type(e).__name__} {e}")
    return found


# ---- works ------------------------------------------------------------------------------------------------------
def near(relative, least):
    """Right is what differs by less than so much of itself and of `least`."""
    def right(got, want):
        return ((got.double() - want).abs() / (want.abs() + least)).max().item() < relative # of NaN it is false

    return right


def bench_add():
    add_of(pick(4096, 64), pick(4096, 512))
    add_of(pick(16384, 9), pick(8192, 512))


def add_of(m, n):
    moved = 3 * m * n * 2
    work = Work(f"add fp16 {m} x {n}", gbps(moved), lambda: {"a": randn(m, n).half(), "b": randn(m, n).half(), "out": torch.empty(m, n, device=DEVICE).half()},
        lambda s: s.a + s.b, torch.equal)
    choice = choice_of(sett.kernels.elementwise, lambda k, s: k.prepare(s.a, s.b, s.out), dtype="f16")
    tv = ((4, 32, 1), (4, 32, 4), (8, 32, 1), (16, 32, 1), (32, 32, 1), (1, 128, 1), (2, 128, 1), (4, 128, 1), (8, 128, 1), (1, 256, 1), (2, 256, 1), (4, 256, 1),
        (1, 512, 1), (2, 512, 1), (1, 128, 2))
    if m % 256 == 0:
        choices = shapes_of(functools.partial(choice, exact=1), ("thr_m", "thr_n", "val_m"), tv)
    else:
        choices = shapes_of(choice, ("thr_m", "thr_n", "val_m"), tv)
    peers = torch_ways("torch.add, out=", lambda s: s.a + s.b, lambda s: torch.add(s.a, s.b, out=s.out))
    if GPU:
        peers |= made({"Triton": triton_add, "by hand (nvcc)": hand_add, "CuTe DSL": cute_dsl_add})
    beside(work, choice, peers, choices, ready=device_copy(moved))


def bench_saxpy():
    n, a = pick(1 << 26, 5000), 0.5
    start = randn(n)
    work = Work(f"saxpy f32 {n}", gbps(12 * n), lambda: {"x": randn(n), "out": torch.empty(n, device=DEVICE)},
        lambda s, launches: start.double() + launches * a * s.x.double(), near(1e-4, 1), start)
    choice = choice_of(sett.kernels.axpy, lambda k, s: k.prepare(s.x, s.out, a), dtype="f32")
    beside(work, choice, torch_ways("torch, add_ with alpha", lambda s: s.out.add_(s.x, alpha=a)),
        shapes_of(choice, ("threads", "vectors_per_thread"), [(t, v) for t in (128, 256, 512, 1024) for v in (1, 2, 4)]), ready=device_copy(12 * n))


def bench_transpose():
    n = pick(8192, 200)
    work = Work(f"transpose f32 {n} x {n}", gbps(8 * n * n), lambda: {"x": randn(n, n), "out": torch.empty(n, n, device=DEVICE)}, lambda s: s.x.t(), torch.equal)
    choice = choice_of(sett.kernels.transpose, lambda k, s: k.prepare(s.x, s.out), dtype="f32")
    beside(work, choice, torch_ways("torch, copy_ of the transposed view", lambda s: s.out.copy_(s.x.t())),
        shapes_of(choice, ("tile", "rows"), ((32, 2), (32, 4), (32, 8), (32, 16), (32, 32), (64, 2), (64, 4), (64, 8), (64, 16))), ready=device_copy(8 * n * n))


def bench_softmax(cols=8192, shapes=(128, 256, 512, 1024)):
    m, moved = pick(8192, 3), 4 * pick(8192, 3) * cols
    work = Work(f"softmax bf16 {m} x {cols}", gbps(moved), lambda: {"x": randn(m, cols).bfloat16(), "out": torch.empty(m, cols, device=DEVICE).bfloat16()},
        lambda s: torch.softmax(s.x.double(), 1), near(0.01, 0))
    choice = choice_of(sett.kernels.softmax, lambda k, s: k.prepare(s.x, s.out), dtype="bf16", cols=cols)
    beside(work, choice, torch_ways("torch.softmax, out=", lambda s: torch.softmax(s.x, 1), lambda s: torch.softmax(s.x, 1, out=s.out)),
        shapes_of(choice, ("threads",), [(t,) for t in shapes]), ready=device_copy(moved))


def bench_softmax_odd():
    bench_softmax(8191, (96, 128, 160, 192, 224, 352, 544, 1024))


def bench_rms_norm(cols=8192, shapes=((128, 0), (256, 0), (512, 0), (1024, 0))):
    m, moved = pick(8192, 3), 4 * pick(8192, 3) * cols

    def make():
        return {"x": randn(m, cols).bfloat16(), "w": randn(cols).bfloat16(), "out": torch.empty(m, cols, device=DEVICE).bfloat16()}

    def want(s):
        d = s.x.double()
        return d * torch.rsqrt((d * d).mean(1, keepdim=True) + EPS) * s.w.double()

    def formula(s):
        f = s.x.float()
        return (f * torch.rsqrt((f * f).mean(1, keepdim=True) + EPS) * s.w).bfloat16()

    work = Work(f"RMSNorm bf16 {m} x {cols}", gbps(moved), make, want, near(0.01, 1e-3))
    choice = choice_of(sett.kernels.rms_norm, lambda k, s: k.prepare(s.x, s.w, s.out, EPS), dtype="bf16", cols=cols)
    peers = torch_ways("torch, rms_norm", lambda s: rms_norm(s.x, (cols,), s.w, EPS))
    peers["torch.compile of the formula"] = compiled_by_torch(formula)
    beside(work, choice, peers, shapes_of(choice, ("threads", "rows"), shapes), ready=device_copy(moved))


def bench_rms_norm_odd():
    bench_rms_norm(8191, [(t, r) for t in (128, 192, 352, 544) for r in (1, 2, 4, 8, 16)])


def bench_layer_norm(cols=768):
    """The residual and the LayerNorm behind it: two tensors are read, two written."""
    m, moved = pick(8192, 9), 8 * pick(8192, 9) * cols

    def make():
        wide, narrow = ({n: randn(*shape).bfloat16() for n in names} for names, shape in (("xrh", (m, cols)), ("wb", (cols,))))
        return {**wide, **narrow, "out": torch.empty(m, cols, device=DEVICE).bfloat16()}

    def two(s):
        h = s.x + s.r
        return h, layer_norm(h, (cols,), s.w, s.b, EPS)

    work = Work(f"x + r, LayerNorm bf16 {m} x {cols}", gbps(moved), make,
        lambda s: layer_norm((s.x + s.r).double(), (cols,), s.w.double(), s.b.double(), EPS), near(0.04, 1)) # torch.compile does not round the sum first
    choice = choice_of(sett.kernels.layer_norm, lambda k, s: k.prepare(s.x, s.r, s.w, s.b, s.h, s.out, EPS), dtype="bf16", cols=cols, residual=1)
    beside(work, choice, torch_ways("torch, two kernels", two),
        shapes_of(functools.partial(choice, threads=32), ("warps", "rows"), [(v, r) for v in (1, 2, 4, 8) for r in (1, 2, 4)]), ready=device_copy(moved))
    s = work.sets[0]
    choice(1)(s)()
    assert torch.equal(s.h, s.x + s.r), "the sum that sett's layer_norm stores"


def bench_silu_mul():
    m, cols = pick(4096, 3), pick(14336, 7168)
    moved = 3 * m * cols * 2
    work = Work(f"SiLU-mul bf16 {m} x (2 x {cols})", gbps(moved),
        lambda: {"x": randn(m, 2, cols).bfloat16(), "out": torch.empty(m, cols, device=DEVICE).bfloat16()},
        lambda s: silu(s.x[:, 0].double()) * s.x[:, 1].double(), near(0.02, 1e-3))
    choice = choice_of(sett.kernels.silu_mul, lambda k, s: k.prepare(s.x, s.out), dtype="bf16", cols=cols)
    beside(work, choice, torch_ways("torch, two kernels", lambda s: silu(s.x[:, 0]) * s.x[:, 1]),
        shapes_of(choice, ("threads", "vectors_per_thread"), ((256, 1), (128, 1), (128, 2), (256, 7), (896, 1), (896, 2), (448, 1), (448, 2), (448, 4), (224, 2))), ready=device_copy(moved))


def bench_sum():
    n, most = pick(1 << 28, 100000), 1 << 16
    done = torch.zeros(1, device=DEVICE, dtype=torch.int32)
    part = torch.empty(most, device=DEVICE)
    own = chosen(sett.kernels.vector_reduce, "blocks", dtype="f32")

    def choice(plain, blocks=own, **shape):
        k = engine.compile(sett.kernels.vector_reduce, dtype="f32", no_pdl=plain, blocks=blocks, **shape)
        return lambda s: k.prepare(s.x, part[:blocks], sett.view(done, "u32"), s.out)

    work = Work(f"sum f32 {n}", gbps(4 * n), lambda: {"x": torch.rand(n, device=DEVICE), "out": torch.empty(1, device=DEVICE)},
        lambda s: s.x.double().sum(), near(1e-5, 0))
    beside(work, choice, torch_ways("torch.sum, out=", lambda s: torch.sum(s.x, 0, keepdim=True), lambda s: torch.sum(s.x, 0, keepdim=True, out=s.out)),
        shapes_of(choice, ("threads", "blocks", "vectors_per_thread"), ((256, 1024, 4), (256, 2048, 4), (512, 512, 4), (512, 512, 2), (512, 1024, 2), (512, 1024, 4), (512, 1024, 8), (512, 2048, 4))),
        ready=device_copy(4 * n))


def main():
    torch.manual_seed(1)
    head()
    for name in sys.argv[1:] or ("add", "layer_norm", "softmax", "rms_norm", "silu_mul", "sum", "transpose", "softmax_odd", "rms_norm_odd", "saxpy"):
        globals()["bench_" + name]()


if __name__ == "__main__":
    main()
