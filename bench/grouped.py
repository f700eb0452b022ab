# SPDX-License-Identifier: Apache-2.0
"""Products of a mixture of experts, bf16, one launch whatever rows each expert has, beside torch's grouped product, a product for each
expert, and one product of as many rows with one expert's weights. Prints rows of Markdown (gpu.py).

    bench/grouped.py [MODEL ...]   with sett and torch installed, on a Hopper GPU; without a GPU: small, on the CPU engine, results alone"""

import functools
import sys

import torch
from gpu import DEVICE, GPU, Work, beside, engine, head, pick, randn, us_and_tflops

import sett

# Experts, how many of them a token takes, N and K of the gates and ups; tokens of a step.
MODELS = {
    "Qwen3-30B-A3B": (128, 8, 1536, 2048, (64, 1024, 8192)),
    "Mixtral-8x7B": (8, 2, 28672, 4096, (64, 1024, 4096)),
    "32 experts of DeepSeek-V3": (32, 1, 4096, 7168, (64, 1024, 8192)),
}
HEIGHTS = (16, 32, 64, 128, 192, 256)


def counts_of(experts, rows):
    """Rows of each expert, as uneven as routes are: each row takes one of two random experts that has less so far, or, of a third, any."""
    some = torch.Generator().manual_seed(1)
    counts = [0] * experts
    for a, b, c in torch.randint(0, experts, (rows, 3), generator=some).tolist():
        counts[c if c % 3 == 0 else min(a, b, key=counts.__getitem__)] += 1
    return counts


def make(counts, n, k):
    ends = torch.tensor(counts).cumsum(0).to(torch.int32)
    zero = torch.zeros(1, dtype=torch.int32)
    rows = sum(counts)
    return {"a": randn(rows, k).bfloat16(), "w": (randn(len(counts), n, k) * k**-0.5).bfloat16(), "offsets": torch.cat((zero, ends)).to(DEVICE), "ends": ends.to(DEVICE),
        "out": torch.empty(rows, n, device=DEVICE).bfloat16()}


def each_of(counts, s):
    """A product for each expert that has rows."""
    at = 0
    for i, rows in enumerate(counts):
        if rows:
            torch.mm(s.a[at : at + rows], s.w[i].t(), out=s.out[at : at + rows])
        at += rows


def want(counts, s):
    parts = torch.split(s.a, counts)
    return torch.cat([(part.float() @ s.w[i].float().t()).bfloat16() for i, part in enumerate(parts)])


def right(got, exact):
    return ((got.float() - exact.float()).abs() / exact.float().abs().clamp(min=1)).max().item() < 0.02 # of NaN it is false


def grouped(rows, s, plain, **tuning):
    kernel = engine.compile(sett.kernels.gemm_wgmma, dtype="bf16", grouped="contiguous", no_pdl=plain, **(tuning or {"m": rows}))
    return kernel.prepare(s.a, s.w.permute(1, 2, 0), s.offsets, s.out)


def measure(name, tokens):
    experts, each, n, k, _ = MODELS[name]
    if not GPU:
        experts, n, k = 6, 96, 128
    counts = counts_of(experts, tokens * each)
    rows = max(1, round(sum(counts) / experts))
    work = Work(f"{name}, {tokens} tokens to {each} of {experts} experts, N {n}, K {k}", us_and_tflops(2 * sum(counts) * n * k), functools.partial(make, counts, n, k), functools.partial(want, counts), right)
    shapes = [(f"bm={bm} bn={bn}", lambda plain, bm=bm, bn=bn: lambda s: grouped(rows, s, plain, bm=bm, bn=bn)) for bm in HEIGHTS for bn in (128, 256) if bm * bn <= 256 * 128]
    peers = {"torch, one by one": lambda s: lambda: each_of(counts, s)}
    if GPU and hasattr(torch, "_grouped_mm"):
        peers["torch._grouped_mm"] = lambda s: lambda: torch._grouped_mm(s.a, s.w.transpose(1, 2), offs=s.ends)
    beside(work, lambda plain: lambda s: grouped(rows, s, plain), peers, shapes)


def main():
    torch.manual_seed(1)
    head()
    for name in sys.argv[1:] or MODELS:
        for tokens in pick(MODELS[name][4], (5, 60)):
            measure(name, tokens)


if __name__ == "__main__":
    main()
