# SPDX-License-Identifier: Apache-2.0
"""The MLP of LLaMA-3.1-8B with the RMSNorm and the residuals around it, bf16, on a Hopper GPU, by three kernels of sett.

    h = x + r;  n = rms_norm(h) w;  g = silu(n Wgate^T) (n Wup^T);  out = h + g Wdown^T

    examples/python/llama_mlp.py [TOKENS ...]      with sett and torch installed

Prints how far its results, and those of the same in PyTorch, are from those of Float32 arithmetic. bench/mlp.py has the times."""

import sys

import torch

import sett

HIDDEN, INNER, EPS = 4096, 14336, 1e-5


class Sett:
    """Three launches, prepared once for each number of tokens, by which the tiles of the products are chosen. no_pdl: each kernel waits for
    the end of the one before it, and does not begin early."""

    def __init__(self, engine, norm, gate_up, down, no_pdl=0):
        self.engine, self.weights, self.no_pdl = engine, (norm, gate_up, down), no_pdl
        self.norm = engine.compile(sett.kernels.rms_norm, dtype="bf16", cols=len(norm), residual=1, no_pdl=no_pdl)

    def prepare(self, x, r, out=None):
        norm, gate_up, down = self.weights
        tokens, (hidden, inner) = len(x), down.shape
        h, n = torch.empty_like(x), torch.empty_like(x)
        out = torch.empty_like(x) if out is None else out
        g = torch.empty(tokens, inner, dtype=x.dtype, device=x.device)
        gated = self.engine.compile(sett.kernels.gemm_wgmma, dtype="bf16", swiglu=1, m=tokens, n=inner, no_pdl=self.no_pdl)
        down_and_add = self.engine.compile(sett.kernels.gemm_wgmma, dtype="bf16", residual=1, m=tokens, n=hidden, no_pdl=self.no_pdl)
        calls = [self.norm.prepare(x, r, norm, h, n, EPS), gated.prepare(n, gate_up, g), down_and_add.prepare(g, down, h, out)]

        def run():
            for call in calls:
                call()
            return out

        return run


def reference(x, r, norm, gate_up, down, exact=False):
    if exact:
        x, r, norm, gate_up, down = (t.float() for t in (x, r, norm, gate_up, down))
    h = x + r
    n = torch.nn.functional.rms_norm(h, (len(norm),), norm, EPS)
    gate, up = (n @ gate_up.T).chunk(2, dim=1)
    return h + (torch.nn.functional.silu(gate) * up) @ down.T


def main():
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False

    def weights(*shape):
        return (torch.randn(shape, device="cuda") * shape[-1] ** -0.5).bfloat16()

    norm, gate_up, down = torch.rand(HIDDEN, device="cuda").bfloat16(), weights(2 * INNER, HIDDEN), weights(HIDDEN, INNER)
    mlp = Sett(sett.Engine(), norm, gate_up, down)
    print("| tokens | largest error of sett | of PyTorch |\n| --- | --- | --- |")
    for tokens in [int(t) for t in sys.argv[1:]] or [4096]:
        x, r = (torch.randn(tokens, HIDDEN, device="cuda").bfloat16() for _ in range(2))
        some = slice(0, 64)
        exact = reference(x[some], r[some], norm, gate_up, down, exact=True)
        errors = [((out[some].float() - exact).abs() / exact.abs().clamp(min=1)).max().item() for out in (mlp.prepare(x, r)(), reference(x, r, norm, gate_up, down))]
        print(f"| {tokens} | {errors[0]:.4f} | {errors[1]:.4f} |", flush=True)


if __name__ == "__main__":
    main()
