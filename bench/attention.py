# SPDX-License-Identifier: Apache-2.0
"""sett_attention beside torch's scaled_dot_product_attention by cuDNN and by FlashAttention-2, which is the one that torch 2 has in it,
forward, bf16. Prints rows of Markdown (gpu.py). Needs sett and torch, and a Hopper GPU; without one all runs small, on the CPU engine, and results
alone are compared.

    bench/attention.py                          three shapes without masks
    bench/attention.py pack FILE                compiles what the rows of prefill and decode need; without a GPU for sm_90a
    bench/attention.py prefill [ROW,...] [--pack FILE] [--budget SECONDS] [--warm SECONDS]
                                                causal, windows, ragged batches ... by the protocol of attention_rows.py, from a pack alone
    bench/attention.py tiles [...]              the same with other tiles, and other ways to deal them to blocks
    bench/attention.py decode [...]             one query over many keys, beside cuDNN and beside what reads K and V: attention_decode_rows.py
    bench/attention.py splits [...]             the same with other splits and tiles
    bench/attention.py mixed [WAY,...] [...]    decodes and a chunk of a prompt in one launch, beside two: attention_mixed_rows.py
    bench/attention.py mixes [...]              the same with other tiles
    bench/attention.py mla [...]                one query over a latent cache, beside what reads it: attention_mla_rows.py
    bench/attention.py latents [...]            the same with other splits and tiles
    bench/attention.py random [SEED] [--count N] [--only NUMBER] [--pack FILE] [--bits]
                                                random attentions beside Float64: 5,000 on a GPU from a pack, without one 1,000 small ones on the CPU
                                                engine, in all its orders; --bits: those of .exact kernels by both, bit by bit
    bench/attention.py random --write [--pack FILE]
                                                compiles the kernels of random and invariant, without a GPU; says what each spills
    bench/attention.py invariant [SEED] [--count N] [--only NUMBER] [--pack FILE]
                                                requests of random batches, alone, in other batches, in pages, in chunks: the same bits?"""

import argparse
import os
import sys
import tempfile

PARTS = {"random": "attention_random", "invariant": "attention_invariant"}  # which need no torch where there is no GPU
if __name__ == "__main__" and sys.argv[1:2] and sys.argv[1] in PARTS:
    sys.exit(__import__(PARTS[sys.argv[1]]).main(sys.argv[2:]))

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


def rows(words):
    import attention_decode_rows
    import attention_mixed_rows
    import attention_mla_rows
    import attention_rows

    p = argparse.ArgumentParser(prog="bench/attention.py")
    p.add_argument("what", choices=("pack", "prefill", "tiles", "decode", "splits", "mixed", "mixes", "mla", "latents"))
    p.add_argument("which", nargs="?", default="", metavar="FILE or ROW,...")
    p.add_argument("--pack", default=os.path.join(tempfile.gettempdir(), "attention.settpack"))
    p.add_argument("--budget", type=float, default=150)
    p.add_argument("--warm", type=float, default=2)
    o = p.parse_args(words)
    if o.what == "pack":
        attention_rows.write_pack(o.which or o.pack)
    else:
        of = {"prefill": attention_rows, "tiles": attention_rows, "mixed": attention_mixed_rows, "mixes": attention_mixed_rows, "mla": attention_mla_rows, "latents": attention_mla_rows}.get(o.what, attention_decode_rows)
        of.run([x for x in o.which.split(",") if x], o.pack, o.budget, o.warm, o.what in ("tiles", "splits", "mixes", "latents"))


def main():
    if len(sys.argv) > 1:
        return rows(sys.argv[1:])
    torch.manual_seed(1)
    head()
    for shape in pick(((4, 32, 4096, 128), (4, 32, 1024, 128), (1, 32, 16384, 128)), ((2, 2, 100, 128), (1, 1, 64, 64))):
        measure(*shape)


if __name__ == "__main__":
    main()
