# SPDX-License-Identifier: Apache-2.0
"""sett_attention beside torch's scaled_dot_product_attention by cuDNN and by FlashAttention-2, which is the one that torch 2 has in it,
forward, without masks, bf16. Prints rows of Markdown (gpu.py).

    bench/attention.py          with sett and torch installed, on a Hopper GPU; without a GPU: small, on the CPU engine, results alone"""

import torch
from gpu import Work, beside, engine, head, pick, randn, tflops
from torch.nn.attention import SDPBackend, sdpa_kernel

import sett


def by(backend):
    def bind(s):
        def run():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(s.q, s.k, s.v)

        return run

    return bind


def some(t):
    """The first head and the last, which are compared."""
    return torch.stack((t[0, 0], t[-1, -1])).float()


def want(s):
    return torch.softmax(some(s.q) @ some(s.k).transpose(1, 2) * s.q.shape[-1] ** -0.5, -1) @ some(s.v)


def right(got, exact):
    return (some(got) - exact).abs().max().item() < 0.02 # of NaN it is false


def measure(batch, heads, rows, depth):
    def make():
        operands = {name: randn(batch, heads, rows, depth).bfloat16() for name in "qkv"}
        return {**operands, "out": torch.empty_like(operands["q"])}

    def choice(plain, **more):
        k = engine.compile(sett.kernels.attention, dtype="bf16", d=depth, no_pdl=plain, **more)
        return lambda s: k.prepare(s.q, s.k, s.v, s.out)

    work = Work(f"attention forward bf16, B{batch} H{heads} S{rows} D{depth}", tflops(4 * batch * heads * rows * rows * depth), make, want, right)
    peers = {"cuDNN": by(SDPBackend.CUDNN_ATTENTION), "FlashAttention-2": by(SDPBackend.FLASH_ATTENTION), "sett_attention .exact, plain": choice(1, exact=1)}
    beside(work, choice, peers)


def main():
    torch.manual_seed(1)
    head()
    for shape in pick(((4, 32, 4096, 128), (4, 32, 1024, 128), (1, 32, 16384, 128)), ((2, 2, 100, 128), (1, 1, 64, 64))):
        measure(*shape)


if __name__ == "__main__":
    main()
