# SPDX-License-Identifier: Apache-2.0
"""The MLP of LLaMA-3.1-8B with its RMSNorm and residuals, bf16, by the three kernels of examples/python/llama_mlp.py, beside torch.compile
and torch: as graphs, then launched from Python one by one, where the host has a share. Prints rows of Markdown (gpu.py).

    bench/mlp.py [TOKENS ...]      with sett and torch installed, on a Hopper GPU; without a GPU: small, on the CPU engine, results alone"""

import functools
import os
import sys

import torch
from gpu import DEVICE, GPU, Work, beside, compiled_by_torch, engine, head, pick, randn, us

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "python"))
import llama_mlp

SOME = slice(0, 64)  # the tokens that are compared
HIDDEN, INNER = pick(llama_mlp.HIDDEN, 256), pick(llama_mlp.INNER, 512)


def make(tokens):
    def weights(*shape):
        return (randn(*shape) * shape[-1] ** -0.5).bfloat16()

    activations = {name: randn(tokens, HIDDEN).bfloat16() for name in "xr"}
    return {**activations, "norm": torch.rand(HIDDEN, device=DEVICE).bfloat16(), "gate_up": weights(2 * INNER, HIDDEN), "down": weights(HIDDEN, INNER),
        "out": torch.empty(tokens, HIDDEN, device=DEVICE).bfloat16()}


def reference(s):
    return llama_mlp.reference(s.x, s.r, s.norm, s.gate_up, s.down)


def want(s):
    return llama_mlp.reference(s.x[SOME], s.r[SOME], s.norm, s.gate_up, s.down, exact=True)


def right(got, exact):
    return ((got[SOME].float() - exact).abs() / exact.abs().clamp(min=1)).max().item() < 0.03 # of NaN it is false


def measure(tokens):
    def choice(plain):
        return lambda s: llama_mlp.Sett(engine, s.norm, s.gate_up, s.down, plain).prepare(s.x, s.r, s.out)

    for how, graph in (("as graphs", True), ("launched from Python", False)):
        work = Work(f"MLP of LLaMA-3.1-8B, {tokens} tokens, {how}", us, functools.partial(make, tokens), want, right)
        beside(work, choice, {"torch.compile": compiled_by_torch(reference), "torch": lambda s: lambda: reference(s)}, graph=graph)


def main():
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    head()
    for tokens in [int(t) for t in sys.argv[1:]] or pick((4096, 512, 1), (70, 1)):
        measure(tokens)


if __name__ == "__main__":
    main()
