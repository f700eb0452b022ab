# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/model.py on rows of a matrix: norms, softmax, gated activations, and each of them quantised to fp8."""

import types

import torch
from model_cells import DEVICE, Cell, bf16, close, empty

import sett

EPS, GREATEST, BLOCK, LEAST = 1e-5, 448.0, 128, 1e-12
TENSOR, BLOCKS, ROWS = 1, 2, 3  # .quantise
F8 = torch.float8_e4m3fn
NAMES = {0: "", TENSOR: ", fp8 of the tensor", BLOCKS: ", fp8 by blocks of 128", ROWS: ", fp8 by rows"}


def ours(family, bind, **options):
    """bind(set): the arguments of a launch."""

    def of(engine, s):
        kernel = engine.compile(family, dtype="bf16", no_pdl=1, **options)
        return kernel.prepare(*bind(s)) if s is not None else None

    return of


def swept(family, bind, shapes, **options):
    """The same with other threads, by name."""
    return {f"sett, {n} threads": ours(family, bind, threads=n, **options) for n in shapes}


# ---- what goes out -------------------------------------------------------------------------------------------------------------
def out_of(how, tokens, cols):
    """{y, and scale}, as a launch takes them."""
    if not how:
        return {"y": empty(tokens, cols)}
    y = empty(tokens, cols, dtype=F8)
    if how == TENSOR:
        return {"y": y, "qs": torch.full((1,), 50.0, device=DEVICE)}
    if how == ROWS:
        return {"y": y, "scale": empty(tokens, dtype=torch.float32)}
    across, ld = -(-cols // BLOCK), -(-tokens // 4) * 4
    return {"y": y, "scale": torch.empty(across, ld, dtype=torch.float32, device=DEVICE).T[:tokens]}


def outs(s):
    """The arguments behind an operand Y, Y too."""
    return (s.y,) + ((s.qs,) if hasattr(s, "qs") else (s.scale,) if hasattr(s, "scale") else ())


def written(s):
    return (s.y,) + ((s.scale,) if hasattr(s, "scale") else ())


def said(how, x, s):
    """The plain text of it: x of Float32 as results."""
    if not how:
        return (x.to(torch.bfloat16),)
    if how == TENSOR:
        return ((x * s.qs).clamp(-GREATEST, GREATEST).to(F8),)
    parts = x.unflatten(-1, (-1, BLOCK)) if how == BLOCKS else x
    scale = parts.abs().amax(-1, keepdim=True).clamp(min=LEAST) / GREATEST
    y = (parts / scale).clamp(-GREATEST, GREATEST).to(F8)
    return (y.flatten(-2), scale.squeeze(-1)) if how == BLOCKS else (y, scale.squeeze(-1))


def right_of(how, want, s, got):
    """Are they `want`, of Float64?"""
    if not how:
        return close(got[0], want, 0.01, 1e-3)
    y = got[0].double()
    if how == TENSOR:
        return close(y, (want * s.qs.double()).clamp(-GREATEST, GREATEST), 0.07, 0.002)
    parts = want.unflatten(-1, (-1, BLOCK)) if how == BLOCKS else want
    most = parts.abs().amax(-1).clamp(min=LEAST)
    scale = got[1].double().unsqueeze(-1)
    back = (y.unflatten(-1, (-1, BLOCK)) * scale) if how == BLOCKS else y * scale
    return close(got[1], most / GREATEST, 0.01, 0) and bool(((back - parts).abs() <= 0.07 * parts.abs() + 0.003 * most.unsqueeze(-1)).all().item())


def moved(how, tokens, cols):
    """Bytes of what goes out."""
    return tokens * cols * (1 if how else 2) + (4.0 * tokens * -(-cols // BLOCK) if how == BLOCKS else 4.0 * tokens if how == ROWS else 0)


# ---- norms ---------------------------------------------------------------------------------------------------------------------
def norm(tokens, cols, residual=False, how=0, layer=False, threads=()):
    family, name = (sett.kernels.layer_norm, "LayerNorm") if layer else (sett.kernels.rms_norm, "RMSNorm")

    def make():
        s = types.SimpleNamespace(x=bf16(tokens, cols), w=bf16(cols), **out_of(how, tokens, cols))
        if layer:
            s.b = bf16(cols)
        if residual:
            s.r, s.h = bf16(tokens, cols), empty(tokens, cols)
        return s

    def formula(v, s, to):
        v = v - v.mean(-1, keepdim=True) if layer else v
        y = v * torch.rsqrt(v.square().mean(-1, keepdim=True) + EPS) * s.w.to(to)
        return y + s.b.to(to) if layer else y

    def plain(s):
        h = (s.x.float() + s.r.float()).to(torch.bfloat16) if residual else s.x
        return ((h,) if residual else ()) + said(how, formula(h.float(), s, torch.float32), s)

    def right(s, got):
        h, rest = (got[0], got[1:]) if residual else (s.x, got)
        return (not residual or close(h, s.x.double() + s.r.double(), 0.005, 1e-3)) and right_of(how, formula(h.double(), s, torch.float64), s, rest)

    def bind(s):
        return (s.x,) + ((s.r,) if residual else ()) + (s.w,) + ((s.b,) if layer else ()) + ((s.h,) if residual else ()) + outs(s) + (EPS,)

    options = {"cols": cols, "residual": int(residual), "quantise": how}
    return Cell(f"{'residual + ' if residual else ''}{name} bf16 {tokens} x {cols}{NAMES[how]}", (6.0 if residual else 2.0) * tokens * cols + moved(how, tokens, cols) + 2 * cols, make,
        ours(family, bind, **options), lambda s: ((s.h,) if residual else ()) + written(s), plain, right, more=swept(family, bind, threads, **options))


def softmax(tokens, cols):
    def make():
        return types.SimpleNamespace(x=bf16(tokens, cols), y=empty(tokens, cols))

    return Cell(f"softmax bf16 {tokens} x {cols}", 4.0 * tokens * cols, make, ours(sett.kernels.softmax, lambda s: (s.x, s.y), cols=cols), lambda s: (s.y,),
        lambda s: (torch.softmax(s.x, -1),), lambda s, got: close(got[0], torch.softmax(s.x.double(), -1), 0.01, 1e-6))


# ---- gated activations, and what is quantised alone ------------------------------------------------------------------------------
def gated(tokens, cols, activation="silu", how=0):
    def f(x):
        return torch.nn.functional.silu(x) if activation == "silu" else torch.nn.functional.gelu(x, approximate="tanh" if activation == "gelu_tanh" else "none")

    def make():
        return types.SimpleNamespace(x=bf16(tokens, 2, cols), **out_of(how, tokens, cols))

    return Cell(f"{activation}-mul bf16 {tokens} x (2 x {cols}){NAMES[how]}", 4.0 * tokens * cols + moved(how, tokens, cols), make,
        ours(sett.kernels.silu_mul, lambda s: (s.x, *outs(s)), cols=cols, quantise=how, activation=activation), written,
        lambda s: said(how, f(s.x[:, 0].float()) * s.x[:, 1].float(), s), lambda s, got: right_of(how, f(s.x[:, 0].double()) * s.x[:, 1].double(), s, got))


def quantise(tokens, cols, how):
    def make():
        return types.SimpleNamespace(x=bf16(tokens, cols), **out_of(how, tokens, cols))

    return Cell(f"quantise bf16 {tokens} x {cols}{NAMES[how]}", 2.0 * tokens * cols + moved(how, tokens, cols), make,
        ours(sett.kernels.quantise, lambda s: (s.x, *outs(s)), cols=cols, quantise=how), written, lambda s: said(how, s.x.float(), s),
        lambda s, got: right_of(how, s.x.double(), s, got))


def beside(odd, even):
    """The cell of an odd length, which is compared with that of an even one."""
    return lambda t: odd(t)._replace(beside=even(t).title)


def rows(pick):
    hidden, inner, long, odd = pick(4096, 128), pick(14336, 256), pick(8192, 136), pick(8191, 135)
    table = {
        "rms_norm": lambda t: norm(t, hidden),
        "rms_norm_residual": lambda t: norm(t, hidden, True),
        "layer_norm_residual": lambda t: norm(t, hidden, True, layer=True),
        "silu_mul": lambda t: gated(t, inner),
        "gelu_mul": lambda t: gated(t, inner, "gelu"),
        "gelu_tanh_mul": lambda t: gated(t, inner, "gelu_tanh"),
        "rows_softmax_8192": lambda t: softmax(t, long),
        "rows_softmax_8191": beside(lambda t: softmax(t, odd), lambda t: softmax(t, long)),
        "rows_rms_norm_8192": lambda t: norm(t, long),
        "rows_rms_norm_8191": beside(lambda t: norm(t, odd, threads=(256, 352, 512)), lambda t: norm(t, long)),
        "rows_fp8_8192": lambda t: norm(t, long, True, ROWS, threads=(256, 512)),
        "rows_fp8_8191": beside(lambda t: norm(t, odd, True, ROWS, threads=(256, 352, 512)), lambda t: norm(t, long, True, ROWS)),
    }
    for how, name in ((BLOCKS, "blocks"), (ROWS, "rows")):
        table[f"rms_norm_residual_fp8_{name}"] = lambda t, how=how: norm(t, hidden, True, how)
        table[f"layer_norm_residual_fp8_{name}"] = lambda t, how=how: norm(t, hidden, True, how, True)
        table[f"silu_mul_fp8_{name}"] = lambda t, how=how: gated(t, inner, "silu", how)
    for how, name in ((TENSOR, "tensor"), (BLOCKS, "blocks"), (ROWS, "rows")):
        table[f"quantise_{name}"] = lambda t, how=how: quantise(t, hidden, how)
    return table
