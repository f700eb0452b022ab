# SPDX-License-Identifier: Apache-2.0
"""sett beside what a user would pick instead, in one process and one run: random data, peers interleaved in random order,
medians and spread of device times, ratios. Prints Markdown.

    bench/peers.py BUILD_FOLDER [add] [softmax]

Peers: torch, torch.compile, Triton (through torch), a hand-written CUDA kernel (nvcc), cuMemcpyDtoD, and CuTe DSL if its
package is importable."""
import ctypes
import os
import random
import statistics
import subprocess
import sys
import tempfile

import torch

HAND = r"""
#include <cuda_fp16.h>
extern "C" __global__ void add(const uint4 *a, const uint4 *b, uint4 *c, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    uint4 x = a[i], y = b[i], z;
    __half2 *p = (__half2 *)&x, *q = (__half2 *)&y, *r = (__half2 *)&z;
    for (int j = 0; j < 4; j++) r[j] = __hadd2(p[j], q[j]);
    c[i] = z;
  }
}
extern "C" void hand_add(void *a, void *b, void *c, size_t n, cudaStream_t s) {
  n /= 8;
  add<<<(unsigned)((n + 255) / 256), 256, 0, s>>>((const uint4 *)a, (const uint4 *)b, (uint4 *)c, n);
}
"""


class Stream(ctypes.Structure):
    _fields_ = [("device", ctypes.c_int), ("handle", ctypes.c_void_p)]


class Sett:
    def __init__(self, build):
        self.sett = ctypes.CDLL(os.path.join(build, "libsett.so"), mode=ctypes.RTLD_GLOBAL)
        self.lib = ctypes.CDLL(os.path.join(build, "libbench.so"))
        for f in ("bench_open", "bench_add", "bench_softmax"):
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


def measure(ways, bytes_moved, rounds=31, batch=10):
    """Median GB/s of each way; every round runs all of them in a new random order."""
    times = {name: [] for name in ways}
    for go in ways.values():
        for _ in range(3):
            go()
    torch.cuda.synchronize()
    for _ in range(rounds):
        order = list(ways)
        random.shuffle(order)
        for name in order:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            ways[name]()
            begin.record()
            for _ in range(batch):
                ways[name]()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) / batch)
    return {n: sorted(bytes_moved / t / 1e6 for t in ts) for n, ts in times.items()}


def table(title, rates):
    ours = statistics.median(rates["sett"])
    print(f"\n| {title} | GB/s | p10 | p90 | sett / it |\n| --- | --- | --- | --- | --- |")
    for name, r in sorted(rates.items(), key=lambda x: -statistics.median(x[1])):
        m = statistics.median(r)
        print(f"| {name} | {m:.0f} | {r[len(r) // 10]:.0f} | {r[-1 - len(r) // 10]:.0f} | {ours / m:.4f} |")


def triton_add():
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x, y, z, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(z + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

    def run(a, b, c):
        n = a.numel()
        kernel[(triton.cdiv(n, 4096),)](a, b, c, n, BLOCK=4096)

    return run


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


# (remap, thr_m, thr_n, val_m): the notebook's tile of 16 x 256 both ways round, then longer rows.
TV = [(0, 4, 32, 4), (1, 4, 32, 4), (1, 1, 128, 1), (1, 1, 256, 1), (1, 1, 512, 1), (1, 1, 128, 2), (1, 1, 256, 2), (1, 2, 128, 1), (1, 1, 128, 4)]


def bench_add(sett, folder, m=16384, n=8192):
    a, b = torch.randn(m, n, device="cuda").half(), torch.randn(m, n, device="cuda").half()
    c = torch.empty_like(a)
    found = []
    for tv in TV:
        call, report = sett.call("bench_add", ctypes.c_int64(m), ctypes.c_int64(n), (ctypes.c_int * 4)(*tv), a, b, c)
        rate = statistics.median(measure({"sett": sett.runner(call)}, 3 * a.numel() * 2, rounds=7)["sett"])
        found.append((rate, tv, call))
        wide = "ld.global.v4.b32" in report or "ld.global.nc.v4.b32" in report or "ld.global.v2.b64" in report
        print(f"\nadd with threads ({tv[1]},{tv[2]}), values ({tv[3]},8), {'row' if tv[0] else 'column'}-wise tiles: {rate:.0f} GB/s; "
              f"{report.splitlines()[0]}; 128-bit loads in the PTX: {'yes' if wide else 'no PTX kept' if '.entry' not in report else 'NO'}")
    rate, tv, call = max(found)
    ways = {"sett": sett.runner(call), "torch.add": lambda: torch.add(a, b, out=c)}
    hand = hand_written(folder)
    if hand:
        ptr = [ctypes.c_void_p(t.data_ptr()) for t in (a, b, c)]
        ways["hand-written, 16 bytes a thread (nvcc)"] = lambda: hand(*ptr, ctypes.c_size_t(m * n), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    tri = triton_add()
    ways["Triton"] = lambda: tri(a, b, c)
    dsl = cute_dsl_add(a, b, c)
    if dsl:
        ways["CuTe DSL example"] = dsl
    want = a + b
    for name, go in ways.items():
        c.fill_(float("nan"))
        go()
        assert torch.equal(c, want), name
    moved = 3 * a.numel() * 2
    rates = measure(ways, moved)
    x = torch.empty(moved // 2, dtype=torch.uint8, device="cuda").random_()
    y = torch.empty_like(x)
    rates.update(measure({"cuMemcpyDtoD (of as many bytes)": lambda: y.copy_(x)}, moved))
    table(f"add fp16 {m} x {n} (sett: threads ({tv[1]},{tv[2]}), values ({tv[3]},8))", rates)


def bench_softmax(sett, folder, m=8192, n=8192):
    x = torch.randn(m, n, device="cuda").bfloat16()
    y = torch.empty_like(x)
    want = torch.softmax(x.double(), 1)
    compiled = torch.compile(lambda t: torch.softmax(t, 1))
    ways = {"torch.softmax": lambda: torch.softmax(x, 1, out=y), "torch.compile": lambda: compiled(x)}
    best = None
    for threads in (128, 256, 512, 1024):
        call, report = sett.call("bench_softmax", ctypes.c_int64(m), ctypes.c_int64(n), ctypes.c_int(threads), x, y)
        y.fill_(float("nan"))
        go = sett.runner(call)
        go()
        error = ((y.double() - want).abs() / want).max().item()
        assert error < 0.01, error
        rate = statistics.median(measure({"sett": go}, 2 * x.numel() * 2, rounds=5)["sett"])
        print(f"\nsoftmax with {threads} threads: {report.splitlines()[0]}, worst relative error {error:.4f}, {rate:.0f} GB/s")
        if not best or rate > best[0]:
            best = (rate, go, threads)
    ways["sett"] = best[1]
    table(f"softmax bf16 {m} x {n} (sett with {best[2]} threads)", measure(ways, 2 * x.numel() * 2))


def main():
    build, what = sys.argv[1], sys.argv[2:] or ["add", "softmax"]
    random.seed(1)
    torch.manual_seed(1)
    sett = Sett(build)
    with tempfile.TemporaryDirectory() as folder:
        for w in what:
            globals()["bench_" + w](sett, folder)


main()
