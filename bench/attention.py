# SPDX-License-Identifier: Apache-2.0
"""sett_attention beside torch's scaled_dot_product_attention by cuDNN and by FlashAttention, forward, without masks. Rounds in random
order, medians. Prints Markdown.

    bench/attention.py          with sett and torch installed, on a Hopper GPU"""

import statistics

import torch
from rounds import device_ms
from torch.nn.attention import SDPBackend, sdpa_kernel

import sett

ROUNDS, EACH = 31, 5


def by(backend, q, k, v):
    def run():
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    return run


def measure(engine, batch, heads, rows, depth):
    q, k, v = (torch.randn(batch, heads, rows, depth, device="cuda").bfloat16() for _ in range(3))
    o = torch.empty_like(q)
    kernel = engine.compile(sett.kernels.attention, dtype="bf16", d=depth)
    without = engine.compile(sett.kernels.attention, dtype="bf16", d=depth, exact=1)
    ways = {"sett_attention": kernel.prepare(q, k, v, o), "sett_attention, .exact": without.prepare(q, k, v, o), "cuDNN": by(SDPBackend.CUDNN_ATTENTION, q, k, v),
            "FlashAttention": by(SDPBackend.FLASH_ATTENTION, q, k, v)}
    times = {name: [1000 * ms for ms in took] for name, took in device_ms(ways, ROUNDS, EACH).items()}
    flops = 4 * batch * heads * rows * rows * depth
    ratios = {name: statistics.median(c / t for c, t in zip(times["cuDNN"], took)) for name, took in times.items()}
    worst = (o.float() - ways["cuDNN"]().float()).abs().max().item()
    print(f"\nB{batch} H{heads} S{rows} D{depth} bf16; largest difference from cuDNN {worst:.4f}\n\n| | us | TFLOP/s | cuDNN's time over its own |\n| --- | --- | --- | --- |")
    for name, took in times.items():
        us = statistics.median(took)
        print(f"| {name} | {us:.0f} | {flops / us / 1e6:.0f} | {ratios[name]:.3f} |")


def main():
    engine = sett.Engine()
    for shape in ((4, 32, 4096, 128), (4, 32, 1024, 128), (1, 32, 16384, 128)):
        measure(engine, *shape)


if __name__ == "__main__":
    main()
