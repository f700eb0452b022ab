# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/model.py on rows of a matrix: norms, softmax, gated activations."""

import types

import torch
from model_cells import Cell, bf16, close, empty

import sett

EPS = 1e-5


def ours(family, bind, **options):
    """bind(set): the arguments of a launch."""

    def of(engine, s):
        kernel = engine.compile(family, dtype="bf16", no_pdl=1, **options)
        return kernel.prepare(*bind(s)) if s is not None else None

    return of


# ---- norms ---------------------------------------------------------------------------------------------------------------------
def normed(x, w):
    x = x.double()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * w.double()


def rms_norm(tokens, cols):
    def make():
        return types.SimpleNamespace(x=bf16(tokens, cols), w=bf16(cols), y=empty(tokens, cols))

    def plain(s):
        x = s.x.float()
        return ((x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * s.w.float()).to(torch.bfloat16),)

    return Cell(f"RMSNorm bf16 {tokens} x {cols}", 4.0 * tokens * cols + 2 * cols, make,
        ours(sett.kernels.rms_norm, lambda s: (s.x, s.w, s.y, EPS), cols=cols),
        lambda s: (s.y,), plain, lambda s, got: close(got[0], normed(s.x, s.w), 0.01, 1e-3))


def rms_norm_residual(tokens, cols):
    def make():
        return types.SimpleNamespace(x=bf16(tokens, cols), r=bf16(tokens, cols), w=bf16(cols), h=empty(tokens, cols), y=empty(tokens, cols))

    def plain(s):
        h = (s.x.float() + s.r.float()).to(torch.bfloat16)
        v = h.float()
        return h, (v * torch.rsqrt(v.square().mean(-1, keepdim=True) + EPS) * s.w.float()).to(torch.bfloat16)

    def right(s, got):
        return close(got[0], s.x.double() + s.r.double(), 0.005, 1e-3) and close(got[1], normed(got[0], s.w), 0.01, 1e-3)

    return Cell(f"residual + RMSNorm bf16 {tokens} x {cols}", 8.0 * tokens * cols + 2 * cols, make,
        ours(sett.kernels.rms_norm, lambda s: (s.x, s.r, s.w, s.h, s.y, EPS), cols=cols, residual=1), lambda s: (s.h, s.y), plain, right)


def softmax(tokens, cols):
    def make():
        return types.SimpleNamespace(x=bf16(tokens, cols), y=empty(tokens, cols))

    return Cell(f"softmax bf16 {tokens} x {cols}", 4.0 * tokens * cols, make, ours(sett.kernels.softmax, lambda s: (s.x, s.y), cols=cols), lambda s: (s.y,),
        lambda s: (torch.softmax(s.x, -1),), lambda s, got: close(got[0], torch.softmax(s.x.double(), -1), 0.01, 1e-6))


# ---- gated activations ---------------------------------------------------------------------------------------------------------
def silu_mul(tokens, cols):
    def make():
        return types.SimpleNamespace(x=bf16(tokens, 2, cols), y=empty(tokens, cols))

    def plain(s):
        return ((torch.nn.functional.silu(s.x[:, 0].float()) * s.x[:, 1].float()).to(torch.bfloat16),)

    def right(s, got):
        return close(got[0], torch.nn.functional.silu(s.x[:, 0].double()) * s.x[:, 1].double(), 0.01, 1e-3)

    return Cell(f"SiLU-mul bf16 {tokens} x (2 x {cols})", 6.0 * tokens * cols, make, ours(sett.kernels.silu_mul, lambda s: (s.x, s.y), cols=cols), lambda s: (s.y,), plain, right)


def rows(pick):
    hidden, inner, long, odd = pick(4096, 136), pick(14336, 264), pick(8192, 136), pick(8191, 135)
    return {
        "rms_norm": lambda tokens: rms_norm(tokens, hidden),
        "rms_norm_residual": lambda tokens: rms_norm_residual(tokens, hidden),
        "silu_mul": lambda tokens: silu_mul(tokens, inner),
        "rows_softmax_8192": lambda tokens: softmax(tokens, long),
        "rows_softmax_8191": lambda tokens: softmax(tokens, odd),
        "rows_rms_norm_8192": lambda tokens: rms_norm(tokens, long),
        "rows_rms_norm_8191": lambda tokens: rms_norm(tokens, odd),
    }
