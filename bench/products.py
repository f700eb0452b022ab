# SPDX-License-Identifier: Apache-2.0
"""sett_gemm_wgmma, whose tile is chosen by M and N, beside torch's products (cuBLAS and cuBLASLt): the shapes of LLaMA-3.1-8B at few rows
and many, bf16, and fp8. Each result is compared. Every way is a CUDA graph of 10 products, so that no host is timed. Rounds in random
order, medians. Prints Markdown.

    bench/products.py          with sett and torch installed, on a Hopper GPU"""

import statistics

import torch
from rounds import device_ms

import sett

ROUNDS, EACH = 21, 10
SHAPES = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336))
ROWS = (1, 16, 64, 128, 256, 512, 1024, 4096)


def graph_of(way):
    way()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(EACH):
            way()
    return graph.replay


def compare(ways, c, results, tolerance):
    """Medians of us, of ways that write c, or give their result; the first is sett's, and the ratio is that of the fastest other to it."""
    c.zero_()
    ways["sett"]()
    wrong = ((c.float() - results.float()).abs() / results.float().abs().clamp(min=1)).max().item()
    assert wrong <= tolerance, wrong
    times = device_ms({name: graph_of(way) for name, way in ways.items()}, ROUNDS)
    best = min((name for name in ways if name != "sett"), key=lambda name: statistics.median(times[name]))
    ratio = statistics.median(b / t for b, t in zip(times[best], times["sett"]))
    return {name: 1000 / EACH * statistics.median(t) for name, t in times.items()}, ratio


def bf16(engine):
    print("| bf16, N x K; us of sett, torch.mm, ratio | " + " | ".join(f"M = {m}" for m in ROWS) + " |\n| --- |" + " --- |" * len(ROWS))
    for n, k in SHAPES:
        w = (torch.randn((n, k), device="cuda") * k ** -0.5).bfloat16()
        cells = []
        for m in ROWS:
            a, c = torch.randn((m, k), device="cuda").bfloat16(), torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
            kernel = engine.compile(sett.kernels.gemm_wgmma, dtype="bf16", m=m, n=n)
            us, ratio = compare({"sett": kernel.prepare(a, w, c), "torch": lambda a=a, w=w: torch.mm(a, w.T)}, c, torch.mm(a, w.T), 2**-7)
            cells.append(f"{us['sett']:.1f}, {us['torch']:.1f}, {ratio:.2f}")
        print(f"| {n} x {k} | " + " | ".join(cells) + " |", flush=True)


def fp8(engine):
    print("\n| fp8 (e4m3) to bf16 | sett us (TFLOP/s) | torch._scaled_mm with fast sums; without | ratio to the faster |\n| --- | --- | --- | --- |")
    one = torch.ones((), device="cuda")
    for m, n, k in ((8192, 8192, 8192), (4096, 6144, 4096), (4096, 28672, 4096), (64, 8192, 8192), (16, 28672, 4096)):
        a, w = (torch.randn(shape, device="cuda").to(torch.float8_e4m3fn) for shape in ((m, k), (n, k)))
        c = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)

        def lt(fast, a=a, w=w):
            return torch._scaled_mm(a, w.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)

        kernel = engine.compile(sett.kernels.gemm_wgmma, dtype="f8E4M3FN", m=m, n=n)
        us, ratio = compare({"sett": kernel.prepare(a, w, c), "fast": lambda: lt(True), "slow": lambda: lt(False)}, c, lt(True), 2**-6)
        print(f"| {m} x {n} x {k} | {us['sett']:.1f} ({2 * m * n * k / us['sett'] / 1e6:.0f}) | {us['fast']:.1f}; {us['slow']:.1f} | {ratio:.3f} |", flush=True)


if __name__ == "__main__":
    torch.manual_seed(1)
    bf16(sett.Engine())
    fp8(sett.Engine())
