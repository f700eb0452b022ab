# SPDX-License-Identifier: Apache-2.0
"""sett beside what a user would pick instead, in one process and one run: random data, peers interleaved in random order,
medians and spread of device times, ratios. Prints Markdown.

    bench/peers.py BUILD_FOLDER [add] [saxpy] [transpose] [softmax] [softmax_odd] [rms_norm] [rms_norm_odd] [layer_norm] [silu_mul] [sum]

Peers: torch, torch.compile, Triton (through torch), a hand-written CUDA kernel (nvcc), the driver's cuMemcpyDtoDAsync, and
CuTe DSL if its package and CUTLASS's examples (CUTLASS_EXAMPLES) are here. Whoever has a shape to choose is swept over it as
sett is, and the shape that the library chooses by itself is a row beside its best. Every way is timed as a CUDA graph of BATCH
launches, so that no peer pays for Python's time to issue one; what cannot be captured says so."""
import ctypes
import importlib.metadata
import os
import random
import statistics
import subprocess
import sys
import tempfile

import torch
from rounds import device_ms

BATCH = 10
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


class Stream(ctypes.Structure):
    _fields_ = [("device", ctypes.c_int), ("handle", ctypes.c_void_p)]


class Sett:
    def __init__(self, build):
        self.sett = ctypes.CDLL(os.path.join(build, "libsett.so"), mode=ctypes.RTLD_GLOBAL)
        self.lib = ctypes.CDLL(os.path.join(build, "libbench.so"))
        for f in ("bench_open", "bench_add", "bench_saxpy", "bench_transpose", "bench_softmax", "bench_rms_norm", "bench_layer_norm", "bench_silu_mul", "bench_sum"):
            getattr(self.lib, f).restype = ctypes.c_void_p
        self.sett.sett_call_run.argtypes = [ctypes.c_void_p, Stream]
        why = ctypes.create_string_buffer(512)
        self.engine = self.lib.bench_open(why, ctypes.c_size_t(512))
        if not self.engine:
            raise SystemExit(why.value.decode())

    def call(self, make, *args):
        report = ctypes.create_string_buffer(1 << 16)
        wrapped = [ctypes.c_void_p(a.data_ptr()) if isinstance(a, torch.Tensor) else a for a in args]
        call = getattr(self.lib, make)(ctypes.c_void_p(self.engine), *wrapped, report, ctypes.c_size_t(len(report)))
        if not call:
            raise SystemExit(report.value.decode())
        return call, report.value.decode()

    def runner(self, call):
        run, handle = self.sett.sett_call_run, ctypes.c_void_p(call)

        def go():
            status = run(handle, Stream(0, torch.cuda.current_stream().cuda_stream))
            assert status == 0, status

        return go


def hand_written(folder):
    """Built by nvcc for this device; None where there is no nvcc."""
    source = os.path.join(folder, "hand.cu")
    with open(source, "w") as f:
        f.write(HAND)
    try:
        subprocess.run(["nvcc", "-O3", "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", "-o", folder + "/hand.so", source], check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"\nno hand-written peer: {e}")
        return None
    return ctypes.CDLL(folder + "/hand.so").hand_add


def current_stream():
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def prepare(name, go, out, check, start=None):
    """BATCH launches of a way whose result was checked, as a CUDA graph that was checked too. A way returns its result or
    writes it to out. A way that updates out has `start`, what out is before it, and its check takes the number of launches."""
    poison = float("nan") if out.is_floating_point() else 0

    def begin():
        out.fill_(poison) if start is None else out.copy_(start)

    def right(got, launches):
        return check(result(got)) if start is None else check(result(got), launches)

    def result(got): # of several results the last one counts
        got = got[-1] if isinstance(got, tuple) else got
        return got if isinstance(got, torch.Tensor) else out

    go() # what compiles at its first call may try shapes on out
    begin()
    assert right(go(), 1), name
    go()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for _ in range(BATCH):
                got = go()
        begin()
        graph.replay()
        torch.cuda.synchronize()
        if right(got, BATCH): # a way that issues on a stream of its own leaves the graph empty
            return graph.replay
        why = "its launches do not follow the current stream"
    except Exception as e:
        why = str(e).strip().split("\n")[0]
    torch.cuda.synchronize()
    print(f"\n{name} cannot be captured ({why}): its times include issuing the launches")

    def plain():
        for _ in range(BATCH):
            go()

    return plain


def measure(ways, bytes_moved, rounds=31):
    """GB/s of each prepared way, sorted; every round runs all of them in a new random order."""
    for go in ways.values():
        go()
    torch.cuda.synchronize()
    return {n: sorted(BATCH * bytes_moved / ms / 1e6 for ms in took) for n, took in device_ms(ways, rounds).items()}


def sweep(who, ways, bytes_moved):
    """The best of a way's shapes, all measured alike; says what each gave."""
    rates = {n: statistics.median(r) for n, r in measure(ways, bytes_moved, rounds=7).items()}
    print(f"\n{who}, median GB/s: " + "; ".join(f"{n}: {r:.0f}" for n, r in sorted(rates.items(), key=lambda x: -x[1])))
    best = max(rates, key=rates.get)
    return best, ways[best]


def table(title, rates):
    ours = statistics.median(rates["sett"])
    print(f"\n| {title} | GB/s | p10 | p90 | sett / it |\n| --- | --- | --- | --- | --- |")
    for name, r in sorted(rates.items(), key=lambda x: -statistics.median(x[1])):
        m = statistics.median(r)
        print(f"| {name} | {m:.0f} | {r[len(r) // 10]:.0f} | {r[-1 - len(r) // 10]:.0f} | {ours / m:.4f} |")


def triton_add(a, b, c):
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x, y, z, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(z + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

    n = a.numel()

    def way(block, warps):
        return lambda: kernel[(triton.cdiv(n, block),)](a, b, c, n, BLOCK=block, num_warps=warps)

    return {f"BLOCK {block}, {warps} warps": way(block, warps) for block in (1024, 2048, 4096, 8192) for warps in (4, 8)}


def hand_add(hand, a, b, c):
    ptr = [ctypes.c_void_p(t.data_ptr()) for t in (a, b, c)]

    def way(threads, vectors):
        def go():
            status = hand(*ptr, ctypes.c_size_t(a.numel()), ctypes.c_int(threads), ctypes.c_int(vectors), current_stream())
            assert status == 0, status

        return go

    return {f"{t} threads, {v} x 16 bytes": way(t, v) for t in (128, 256, 512, 1024) for v in (1, 2, 4)}


def compiled_ways(f, f_out):
    """torch.compile as it is, with its own search, and writing to a tensor that is there. f and f_out take no arguments
    but tensors that they close over, so each is compiled for these."""
    return {
        "torch.compile": torch.compile(f),
        "torch.compile, max-autotune-no-cudagraphs": torch.compile(f, mode="max-autotune-no-cudagraphs"),
        "torch.compile, out=": torch.compile(f_out),
        "torch.compile, out=, max-autotune-no-cudagraphs": torch.compile(f_out, mode="max-autotune-no-cudagraphs"),
    }


def optional(ways, name, go, out, check, start=None):
    """A peer that does not work here is named with its reason; one that gives wrong results ends the run."""
    try:
        ways[name] = prepare(name, go, out, check, start)
    except AssertionError:
        raise
    except Exception as e:
        print(f"\nno {name}: {str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__}")


def device_copy(bytes_moved):
    """The driver's copy that reads and writes as many bytes in all."""
    x = torch.empty(bytes_moved // 2, dtype=torch.uint8, device="cuda").random_()
    y = torch.empty_like(x)
    copy = ctypes.CDLL("libcuda.so.1").cuMemcpyDtoDAsync_v2

    def go():
        status = copy(ctypes.c_uint64(y.data_ptr()), ctypes.c_uint64(x.data_ptr()), ctypes.c_size_t(x.numel()), current_stream())
        assert status == 0, status

    return prepare("cuMemcpyDtoDAsync", go, y, lambda got: torch.equal(got, x))


def cute_dsl_add(a, b, c):
    """CUTLASS's example elementwise_add, if CuTe DSL and its examples (CUTLASS_EXAMPLES) are here."""
    examples = os.environ.get("CUTLASS_EXAMPLES")
    if not examples:
        return None
    sys.path.insert(0, examples)
    try:
        import cutlass.cute as cute
        from cutlass.cute.runtime import from_dlpack
        import elementwise_add as ex
    except ImportError as e:
        print(f"\nno CuTe DSL: {e}")
        return None
    args = [from_dlpack(t, assumed_align=16).mark_layout_dynamic() for t in (a, b, c)]
    compiled = cute.compile(ex.elementwise_add, *args)
    return lambda: compiled(*args)


# As any kernel is launched, or begun while the one before it ends (griddepcontrol): no peer has that, so both are shown.
EARLY = ("", ", begun early")

# (exact, thr_m, thr_n, val_m, early): first what the library chooses, for any size.
TV = [(0, 8, 32, 1, 1)] + [(1, m, n, v, e) for e in (0, 1) for m, n, v in ((4, 32, 1), (4, 32, 4), (8, 32, 1), (16, 32, 1), (32, 32, 1), (1, 128, 1), (2, 128, 1), (4, 128, 1),
                                                           (8, 128, 1), (1, 256, 1), (2, 256, 1), (4, 256, 1), (1, 512, 1), (2, 512, 1), (1, 128, 2))]


def tv_name(tv):
    return f"threads ({tv[1]},{tv[2]}), values ({tv[3]},8)" + ", for any size" * (1 - tv[0]) + EARLY[tv[4]]


def sett_add(sett, m, n, a, b, c, check):
    ways = {}
    for tv in TV:
        call, report = sett.call("bench_add", ctypes.c_int64(m), ctypes.c_int64(n), (ctypes.c_int * 5)(*tv), a, b, c)
        wide = "ld.global.v4.b32" in report or "ld.global.nc.v4.b32" in report or "ld.global.v2.b64" in report
        ways[tv_name(tv)] = prepare("sett", sett.runner(call), c, check)
        print(f"\nsett's add, {tv_name(tv)}: {report.splitlines()[0]}; "
              f"128-bit loads in the PTX: {'yes' if wide else 'no PTX kept' if '.entry' not in report else 'NO'}")
    return ways


def bench_add(sett, folder):
    hand = hand_written(folder)
    for m, n in ((4096, 4096), (16384, 8192)):
        add_of(sett, hand, m, n)


def add_of(sett, hand, m, n):
    a, b = torch.randn(m, n, device="cuda").half(), torch.randn(m, n, device="cuda").half()
    c = torch.empty_like(a)
    want = a + b
    moved = 3 * a.numel() * 2

    def check(got):
        return torch.equal(got, want)

    ours = sett_add(sett, m, n, a, b, c, check)
    shape, best = sweep("sett", ours, moved)
    plain, best_plain = sweep("sett, launched plainly", {n: go for n, go in ours.items() if not n.endswith(EARLY[1])}, moved)
    ways = {"sett": best, f"sett, launched plainly ({plain})": best_plain, "sett, the library's choice": ours[tv_name(TV[0])]}
    ways["torch.add, out="] = prepare("torch.add", lambda: torch.add(a, b, out=c), c, check)
    for name, go in compiled_ways(lambda: a + b, lambda: torch.add(a, b, out=c)).items():
        optional(ways, name, go, c, check)
    peers = {"hand-written": hand_add(hand, a, b, c)} if hand else {}
    try:
        peers["Triton"] = triton_add(a, b, c)
    except ImportError as e:
        print(f"\nno Triton: {e}")
    for who, shapes in peers.items():
        label, go = sweep(who, {name: prepare(f"{who}, {name}", go, c, check) for name, go in shapes.items()}, moved)
        ways[f"{who}, {label}"] = go
    dsl = cute_dsl_add(a, b, c)
    if dsl:
        optional(ways, "CuTe DSL example", dsl, c, check)
    ways["cuMemcpyDtoDAsync (of as many bytes)"] = device_copy(moved)
    table(f"add fp16 {m} x {n} (sett: {shape})", measure(ways, moved))


def bench_saxpy(sett, folder, n=1 << 26):
    del folder
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    a, start = 0.5, y.clone()

    def check(got, launches): # each adds a x once more
        return ((got.double() - start.double()) - launches * a * x.double()).abs().max().item() < 1e-4

    ours = sett_ways(sett, "saxpy", {f"{t} threads, {v} x 16 bytes{e}": (ctypes.c_int64(n), ctypes.c_int(t), ctypes.c_int(v), early(e), ctypes.c_double(a), x, y)
                                     for t in (128, 256, 512, 1024) for v in (1, 2, 4) for e in EARLY}, y, check, start)
    beside(f"saxpy f32 2^{n.bit_length() - 1}", ours, "256 threads, 1 x 16 bytes, begun early", 12 * n, y, check, "torch, add_ with alpha",
           lambda: y.add_(x, alpha=a), None, start)


def bench_transpose(sett, folder, m=8192, n=8192):
    del folder
    x = torch.randn(m, n, device="cuda")
    y = torch.empty(n, m, device="cuda")
    want = x.t().contiguous()

    def check(got):
        return torch.equal(got, want)

    ours = sett_ways(sett, "transpose", {f"tiles of {t}, {r} rows at once{e}": (ctypes.c_int64(m), ctypes.c_int64(n), ctypes.c_int(t), ctypes.c_int(r), early(e), x, y)
                                         for t, r in ((32, 2), (32, 4), (32, 8), (32, 16), (32, 32), (64, 2), (64, 4), (64, 8), (64, 16)) for e in EARLY}, y, check)
    beside(f"transpose f32 {m} x {n}", ours, "tiles of 64, 4 rows at once, begun early", 8 * m * n, y, check, "torch, copy_ of the transposed view",
           lambda: y.copy_(x.t()), None)


def bench_softmax_odd(sett, folder):
    bench_softmax(sett, folder, n=8191, shapes=(96, 128, 160, 192, 224, 352, 544, 1024), own="128 threads, begun early")


def bench_softmax(sett, folder, m=8192, n=8192, shapes=(128, 256, 512, 1024), own="128 threads, begun early"):
    del folder
    x = torch.randn(m, n, device="cuda").bfloat16()
    y = torch.empty_like(x)
    want = torch.softmax(x.double(), 1)
    moved = 2 * x.numel() * 2

    def error(got):
        return ((got.double() - want).abs() / want).max().item()

    def check(got):
        return error(got) < 0.01

    ours = sett_ways(sett, "softmax", {f"{t} threads{e}": (ctypes.c_int64(m), ctypes.c_int64(n), ctypes.c_int(t), early(e), x, y)
                                       for t in shapes for e in EARLY}, y, check)
    print(f"\nworst relative error of sett's: {error(y):.4f}")
    beside(f"softmax bf16 {m} x {n}", ours, own, moved, y, check, "torch.softmax",
           lambda: torch.softmax(x, 1), lambda: torch.softmax(x, 1, out=y))


def early(name):
    return ctypes.c_int(name != "")


def sett_ways(sett, kernel, shapes, out, check, start=None):
    """sett's kernel in each shape, by name: the arguments of its bench_ function."""
    ours = {}
    for name, args in shapes.items():
        call, report = sett.call("bench_" + kernel, *args)
        ours[name] = prepare("sett", sett.runner(call), out, check, start)
        print(f"\nsett's {kernel}, {name}: {report.splitlines()[0]}")
    return ours


def beside(title, ours, own, moved, out, check, torch_name, f, f_out, start=None):
    """sett's best shape, its best that is launched as any kernel, and the library's choice, torch's way (f_out, where it writes to a tensor that is there, else f),
    torch.compile of both, and the driver's copy of as many bytes."""
    shape, best = sweep("sett", ours, moved)
    plain, best_plain = sweep("sett, launched plainly", {n: go for n, go in ours.items() if not n.endswith(EARLY[1])}, moved)
    ways = {"sett": best, f"sett, launched plainly ({plain})": best_plain, f"sett, the library's choice ({own})": ours[own]}
    optional(ways, torch_name, f_out or f, out, check, start)
    for name, go in compiled_ways(f, f_out or f).items():
        if f_out or "out=" not in name:
            optional(ways, name, go, out, check, start)
    ways["cuMemcpyDtoDAsync (of as many bytes)"] = device_copy(moved)
    table(f"{title} (sett: {shape})", measure(ways, moved))


def bench_rms_norm_odd(sett, folder):
    bench_rms_norm(sett, folder, n=8191, shapes=[(t, r) for t in (128, 192, 352, 544) for r in (1, 2, 4, 8, 16)], own="128 threads, 4 rows, begun early")


def bench_rms_norm(sett, folder, m=8192, n=8192, eps=1e-5, shapes=((128, 0), (256, 0), (512, 0), (1024, 0)), own="512 threads, begun early"):
    del folder
    x, w = torch.randn(m, n, device="cuda").bfloat16(), torch.randn(n, device="cuda").bfloat16()
    y = torch.empty_like(x)
    d = x.double()
    want = d * torch.rsqrt((d * d).mean(1, keepdim=True) + eps) * w.double()
    del d

    def check(got):
        return ((got.double() - want).abs() / (want.abs() + 1e-3)).max().item() < 0.01

    def by_hand():
        f = x.float()
        return (f * torch.rsqrt((f * f).mean(1, keepdim=True) + eps) * w).bfloat16()

    ours = sett_ways(sett, "rms_norm", {f"{t} threads" + f", {r} rows" * (r > 0) + e:
                                        (ctypes.c_int64(m), ctypes.c_int64(n), ctypes.c_int(t), ctypes.c_int(r), early(e), x, w, y, ctypes.c_double(eps))
                                        for t, r in shapes for e in EARLY}, y, check)
    beside(f"RMSNorm bf16 {m} x {n}", ours, own, 2 * x.numel() * 2, y, check, "torch.nn.functional.rms_norm",
           lambda: torch.nn.functional.rms_norm(x, (n,), w, eps), None)
    beside(f"RMSNorm bf16 {m} x {n}, torch.compile of its formula", ours, own, 2 * x.numel() * 2, y, check,
           "torch, the formula", by_hand, None)


def bench_layer_norm(sett, folder, m=8192, n=768, eps=1e-5):
    """The residual and the LayerNorm behind it: two tensors are read, two written."""
    del folder
    x, r = torch.randn(m, n, device="cuda").bfloat16(), torch.randn(m, n, device="cuda").bfloat16()
    w, b = torch.randn(n, device="cuda").bfloat16(), torch.randn(n, device="cuda").bfloat16()
    h, y = torch.empty_like(x), torch.empty_like(x)
    want = torch.nn.functional.layer_norm((x + r).double(), (n,), w.double(), b.double(), eps)

    def check(got):
        return ((got.double() - want).abs() / (want.abs() + 1)).max().item() < 0.04 # torch.compile does not round the sum first

    def f():
        s = x + r
        return s, torch.nn.functional.layer_norm(s, (n,), w, b, eps)

    data = (ctypes.c_void_p * 6)(*(t.data_ptr() for t in (x, r, w, b, h, y)))
    ours = sett_ways(sett, "layer_norm", {f"{v} warps, {k} rows each{e}": (ctypes.c_int64(m), ctypes.c_int64(n), ctypes.c_int(v), ctypes.c_int(k), early(e), data, ctypes.c_double(eps))
                                          for v in (1, 2, 4, 8) for k in (1, 2, 4) for e in EARLY}, y, check)
    assert torch.equal(h, x + r)
    beside(f"x + r, LayerNorm bf16 {m} x {n}", ours, "4 warps, 1 rows each, begun early", 4 * m * n * 2, y, check, "torch, two kernels", f, None)


def bench_silu_mul(sett, folder, m=4096, n=14336):
    del folder
    x = torch.randn(m, 2 * n, device="cuda").bfloat16()
    y = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    gate, up = x[:, :n], x[:, n:]
    want = torch.nn.functional.silu(gate.double()) * up.double()
    moved = 3 * m * n * 2

    def check(got):
        return ((got.double() - want).abs() / (want.abs() + 1e-3)).max().item() < 0.02

    ours = sett_ways(sett, "silu_mul", {f"{t} threads, {v} x 16 bytes{e}": (ctypes.c_int64(m), ctypes.c_int64(n), ctypes.c_int(t), ctypes.c_int(v), early(e), x, y)
                                        for t, v in ((256, 1), (128, 1), (128, 2), (256, 7), (896, 1), (896, 2), (448, 1), (448, 2), (448, 4), (224, 2))
                                        for e in EARLY}, y, check)
    beside(f"SiLU-mul bf16 {m} x (2 x {n})", ours, "256 threads, 1 x 16 bytes, begun early", moved, y, check, "torch, two kernels",
           lambda: torch.nn.functional.silu(gate) * up, None)


def bench_sum(sett, folder, n=1 << 28):
    del folder
    x = torch.rand(n, device="cuda")
    y, done = torch.empty(1, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int32)
    part = torch.empty(1 << 16, device="cuda")
    want = x.double().sum().item()

    def check(got):
        return abs(got.double().item() - want) < 1e-5 * want

    shapes = ((256, 1024, 4), (256, 2048, 4), (512, 512, 4), (512, 512, 2), (512, 1024, 2), (512, 1024, 4), (512, 1024, 8), (512, 2048, 4))
    ours = sett_ways(sett, "sum", {f"{t} threads, {b} blocks, {v} x 16 bytes{e}": (ctypes.c_int64(n), ctypes.c_int(t), ctypes.c_int(b), ctypes.c_int(v), early(e), x, part, done, y)
                                   for t, b, v in shapes for e in EARLY}, y, check)
    beside(f"sum f32 2^{n.bit_length() - 1}", ours, "512 threads, 2048 blocks, 4 x 16 bytes, begun early", 4 * n, y, check, "torch.sum, out=",
           lambda: torch.sum(x), lambda: torch.sum(x, 0, keepdim=True, out=y))


def versions():
    def of(package):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return "none"

    def says(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]
        except (OSError, subprocess.CalledProcessError, IndexError):
            return "none"

    print(f"\nPeers: torch {torch.__version__} (CUDA {torch.version.cuda}), Triton {of('triton')}, "
          f"CuTe DSL {of('nvidia-cutlass-dsl')}, nvcc {says('nvcc', '--version')}, "
          f"driver {says('nvidia-smi', '--query-gpu=driver_version', '--format=csv,noheader')}, "
          f"on {torch.cuda.get_device_name(0)}.")


def main():
    build, what = sys.argv[1], sys.argv[2:] or ["add", "saxpy", "transpose", "softmax", "softmax_odd", "rms_norm", "rms_norm_odd", "layer_norm", "silu_mul", "sum"]
    random.seed(1)
    torch.manual_seed(1)
    versions()
    sett = Sett(build)
    with tempfile.TemporaryDirectory() as folder:
        for w in what:
            globals()["bench_" + w](sett, folder)


main()
