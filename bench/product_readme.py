# SPDX-License-Identifier: Apache-2.0
"""sett_gemm_wgmma, whose tile is chosen by M and N, beside torch's products (cuBLAS and cuBLASLt), C (M,N) = A (M,K) times B (N,K) transposed:
bf16 and fp8. Prints rows of Markdown (gpu.py): `bench/products.py readme`."""

import functools

import torch
from gpu import DEVICE, GPU, Work, beside, engine, head, pick, randn, say, tflops, us, us_and_tflops

import sett

LLAMA = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336))  # N, K of LLaMA-3.1-8B
ROWS = (1, 16, 64, 128, 256, 512, 1024, 4096)


def kernel(dtype, plain, **tile):
    return engine.compile(sett.kernels.gemm_wgmma, dtype=dtype, no_pdl=plain, **tile)


def way(dtype, tile, plain):
    """Binds a set to the kernel with this tile, or what chooses one."""
    k = kernel(dtype, plain, **tile)
    return lambda s: k.prepare(s.a, s.b, s.out)


def tiles(dtype, m):
    """Every tile that may suit so many rows, by name."""
    heights = [bm for bm in (16, 32, 64, 128, 192, 256) if bm >= 128 or m <= 4 * bm]
    shapes = [(bm, bn) for bm in heights for bn in (64, 128, 256) if bm * bn <= 128 * 256 and (bn > 64 or bm <= 64)]
    return [(f"{bm} x {bn}", functools.partial(way, dtype, {"bm": bm, "bn": bn})) for bm, bn in shapes]


def near(k, fp8):
    """Right is what differs from the fp32 product by less than the output's rounding and, of fp8, what its sums lose: the tensor core keeps 13
    bits below the largest exponent that meets in one of its steps of 32, and a sum of k products of normal numbers is about sqrt(k)."""
    lost = 2**-13 * k / 32 * k**0.5 if fp8 else 0.01

    def right(got, want):
        return ((got.float() - want).abs() / (want.abs() * 2**-7 + lost)).max().item() <= 1 # of NaN it is false

    return right


def product(title, dtype, figure, m, n, k, sweep=True):
    """One row. Few columns of what is small: 128 rows and columns at most."""
    m, n, k = pick(m, min(m, 128)), pick(n, 128), pick(k, 128)
    fp8, one = dtype != "bf16", torch.ones((), device=DEVICE)

    def operand(*shape):
        return randn(*shape).to(torch.float8_e4m3fn if fp8 else torch.bfloat16)

    def make():
        return {"a": operand(m, k), "b": operand(n, k), "out": torch.empty((m, n), device=DEVICE, dtype=torch.bfloat16)}

    def scaled(s, fast):
        return torch._scaled_mm(s.a, s.b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)

    def want(s):
        return s.a.float() @ s.b.float().T

    if fp8:
        peers = {"torch._scaled_mm (cuBLASLt), fast sums": lambda s: lambda: scaled(s, True), "torch._scaled_mm (cuBLASLt)": lambda s: lambda: scaled(s, False)}
    else:
        peers = {"torch.mm (cuBLAS)": lambda s: lambda: torch.mm(s.a, s.b.T, out=s.out)}
    work = Work(f"{title}, {m} x {n} x {k}", figure(2 * m * n * k), make, want, near(k, fp8))
    beside(work, functools.partial(way, dtype, {"m": m, "n": n}), peers if GPU or not fp8 else {}, tiles(dtype, m) if sweep else ())
    if GPU:
        s = work.sets[0]
        way(dtype, {"m": m, "n": n}, 1)(s)()
        differ = (s.out != (scaled(s, False) if fp8 else torch.mm(s.a, s.b.T))).sum().item()
        say(f"{work.title}: {differ} of {m * n} elements are not {'cuBLASLt' if fp8 else 'cuBLAS'}'s bits")


def main_shapes():
    for m, n, k in ((8192, 8192, 8192), (4096, 6144, 4096), (8192, 8192, 512)):
        product("product bf16", "bf16", tflops, m, n, k)


def few():
    for m in (1, 64, 1024):
        product("product bf16", "bf16", lambda _: us, m, 28672, 4096)


def fp8(shapes=((8192, 8192, 8192), (64, 8192, 8192), (4096, 6144, 4096), (16, 28672, 4096))):
    for m, n, k in shapes:
        product("product fp8 (e4m3) to bf16", "f8E4M3FN", us_and_tflops, m, n, k)


def llama():
    """LLaMA's products at each number of rows, without a sweep."""
    for n, k in LLAMA:
        for m in ROWS:
            product("product bf16", "bf16", lambda _: us, m, n, k, sweep=False)


def readme(*names):
    """Those of README, or those that are named."""
    parts = {"main": main_shapes, "few": few, "fp8": fp8, "llama": llama}
    torch.manual_seed(1)
    head()
    for name in names or ("main", "few", "fp8"):
        parts[name]()
