# SPDX-License-Identifier: Apache-2.0
"""The MLP of LLaMA-3.1-8B with the RMSNorm and the residuals around it, bf16, on a Hopper GPU, by three kernels of sett; beside the same
in PyTorch, eager and by torch.compile.

    h = x + r;  n = rms_norm(h) w;  g = silu(n Wgate^T) (n Wup^T);  out = h + g Wdown^T

    examples/python/llama_mlp.py [TOKENS ...]      with sett and torch installed

Prints the times, medians of rounds in random order, and how far the results of each are from those of Float32 arithmetic."""

import random
import statistics
import sys

import torch

import sett

HIDDEN, INNER, EPS, ROUNDS, EACH = 4096, 14336, 1e-5, 31, 10


class Sett:
    """Three launches, prepared once for each number of tokens, by which the tiles of the products are chosen."""

    def __init__(self, engine, norm, gate_up, down):
        self.engine, self.weights = engine, (norm, gate_up, down)
        self.norm = engine.compile(sett.kernels.rms_norm, dtype="bf16", cols=HIDDEN, residual=1)

    def prepare(self, x, r):
        norm, gate_up, down = self.weights
        tokens = len(x)
        h, n, out = (torch.empty_like(x) for _ in range(3))
        g = torch.empty(tokens, INNER, dtype=x.dtype, device=x.device)
        gated = self.engine.compile(sett.kernels.gemm_wgmma, dtype="bf16", gated=1, m=tokens, n=INNER)
        plain = self.engine.compile(sett.kernels.gemm_wgmma, dtype="bf16", residual=1, m=tokens, n=HIDDEN)
        calls = [self.norm.prepare(x, r, norm, h, n, EPS), gated.prepare(n, gate_up, g), plain.prepare(g, down, h, out)]

        def run():
            for call in calls:
                call()
            return out

        return run


def reference(x, r, norm, gate_up, down, exact=False):
    if exact:
        x, r, norm, gate_up, down = (t.float() for t in (x, r, norm, gate_up, down))
    h = x + r
    n = torch.nn.functional.rms_norm(h, (HIDDEN,), norm, EPS)
    gate, up = (n @ gate_up.T).chunk(2, dim=1)
    return h + (torch.nn.functional.silu(gate) * up) @ down.T


def time(ways):
    times = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name in random.sample(list(ways), len(ways)):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(EACH):
                ways[name]()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) * 1000 / EACH)
    return {name: statistics.median(t) for name, t in times.items()}


def main():
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False

    def weights(*shape):
        return (torch.randn(shape, device="cuda") * shape[-1] ** -0.5).bfloat16()

    norm, gate_up, down = torch.rand(HIDDEN, device="cuda").bfloat16(), weights(2 * INNER, HIDDEN), weights(HIDDEN, INNER)
    mlp = Sett(sett.Engine(), norm, gate_up, down)
    compiled = torch.compile(reference, dynamic=False)
    print("| tokens | sett | torch.compile | torch | torch.compile's time over sett's | error of sett, torch.compile, torch |")
    print("| --- | --- | --- | --- | --- | --- |")
    for tokens in [int(t) for t in sys.argv[1:]] or [4096]:
        x, r = (torch.randn(tokens, HIDDEN, device="cuda").bfloat16() for _ in range(2))
        run = mlp.prepare(x, r)
        ways = {"sett": run, "compiled": lambda: compiled(x, r, norm, gate_up, down), "eager": lambda: reference(x, r, norm, gate_up, down)}
        some = slice(0, 64)
        exact = reference(x[some], r[some], norm, gate_up, down, exact=True)
        errors = [((way()[some].float() - exact).abs() / exact.abs().clamp(min=1)).max().item() for way in ways.values()]
        took = time(ways)
        print(f"| {tokens} | {took['sett']:.1f} us | {took['compiled']:.1f} | {took['eager']:.1f} | {took['compiled'] / took['sett']:.3f} | "
              + ", ".join(f"{e:.4f}" for e in errors) + " |", flush=True)


if __name__ == "__main__":
    main()
