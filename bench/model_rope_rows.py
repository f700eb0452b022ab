# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/model.py that rotate heads by the positions of their tokens and append K and V to a paged cache."""

import functools
import types

import torch
from model_cells import DEVICE, Cell, bf16, close, empty
from model_rows import EPS, F8, GREATEST, ours, swept

import sett

POSITIONS, PAGE = 8192, 16


@functools.lru_cache(maxsize=None)
def table_of(rotary):
    """Cosines, then sines, of all positions: one table for all sets, as a model has one for all layers."""
    angle = torch.arange(POSITIONS, device=DEVICE, dtype=torch.float64)[:, None] * 500000.0 ** (-torch.arange(0, rotary, 2, device=DEVICE, dtype=torch.float64) / rotary)
    return torch.cat((angle.cos(), angle.sin()), -1).float()


def rotated(x, s, rotary, pairs, weight, to):
    """In Float32, or Float64."""
    x = x.to(to)
    if weight is not None:
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight.to(to)
    cos, sin = s.table[s.positions].to(to)[:, None].chunk(2, -1)
    turns, rest = x[..., :rotary], x[..., rotary:]
    a, b = (turns[..., 0::2], turns[..., 1::2]) if pairs else turns.chunk(2, -1)
    y = (a * cos - b * sin, b * cos + a * sin)
    return torch.cat((torch.stack(y, -1).flatten(-2) if pairs else torch.cat(y, -1), rest), -1)


def rope(tokens, heads, shared, d=128, rotary=0, pairs=False, norm=False, cache=True, f8=False, title=""):
    rotary, kv = rotary or d, F8 if f8 else torch.bfloat16
    pages = -(-2 * tokens // PAGE) + 8

    def make():
        qkv = bf16(tokens, heads + 2 * shared, d)
        s = types.SimpleNamespace(qkv=qkv, q=qkv[:, :heads], k=qkv[:, heads:heads + shared], v=qkv[:, heads + shared:], qo=empty(tokens, heads, d), table=table_of(rotary))
        s.positions = torch.randint(0, POSITIONS, (tokens,), dtype=torch.int32, device=DEVICE)
        s.qw, s.kw = (bf16(d), bf16(d)) if norm else (None, None)
        if not cache:
            s.ko = empty(tokens, shared, d)
            return s
        s.kc, s.vc = (torch.zeros(pages, PAGE, shared, d, device=DEVICE, dtype=torch.bfloat16).to(kv) for _ in "kv")
        s.slots = torch.randperm(pages * PAGE, device=DEVICE)[:tokens]
        s.ks, s.vs = (torch.full((shared,), x, device=DEVICE) for x in (0.05, 0.06)) if f8 else (None, None)
        return s

    def bind(s):
        into = (s.kc.transpose(1, 2), s.vc.transpose(1, 2), s.slots) if cache else (s.ko,)
        weights, scales = (s.qw, s.kw) if norm else (), (s.ks, s.vs) if f8 else ()
        return (s.positions, s.table, s.q, s.k) + ((s.v,) if cache else ()) + weights + (s.qo,) + into + scales + ((EPS,) if norm else ())

    def as_stored(x):
        return x.view(torch.uint8) if f8 else x  # torch indexes no fp8 everywhere

    def to_cache(x, scale):
        return (x / scale[:, None]).clamp(-GREATEST, GREATEST).to(F8) if f8 else x.to(torch.bfloat16)

    def plain(s):
        q = rotated(s.q, s, rotary, pairs, s.qw, torch.float32).to(torch.bfloat16)
        k = rotated(s.k, s, rotary, pairs, s.kw, torch.float32)
        if not cache:
            return q, k.to(torch.bfloat16)
        for pool, x, scale in ((s.kc, k, s.ks), (s.vc, s.v.float(), s.vs)):
            as_stored(pool)[s.slots // PAGE, s.slots % PAGE] = as_stored(to_cache(x, scale))
        return q, s.kc, s.vc

    def right(s, got):
        f64 = torch.float64
        q, k = rotated(s.q, s, rotary, pairs, s.qw, f64), rotated(s.k, s, rotary, pairs, s.kw, f64)
        if not close(got[0], q, 0.01, 1e-3):
            return False
        if not cache:
            return close(got[1], k, 0.01, 1e-3)
        for pool, x, scale in ((got[1], k, s.ks), (got[2], s.v.double(), s.vs)):
            there = as_stored(pool).flatten(0, 1)[s.slots].view(kv).double()
            if not close(there, x / scale[:, None].double() if f8 else x, 0.07 if f8 else 0.01, 0.02 if f8 else 1e-3):
                return False
        return True

    options = {"d": d, "rotary": rotary, "pairs": int(pairs), "norm": int(norm), "page": PAGE if cache else 0, **({"kv": "f8E4M3FN", "scaled": 1} if f8 else {})}
    moved = tokens * d * (4.0 * (heads + shared) + (shared * 2 + (-2 * shared if f8 else 0) + 2 * shared if cache else 0)) + tokens * rotary * 4.0
    return Cell(f"{title}, {tokens} tokens, {heads}/{shared} heads of {d}", moved, make, ours(sett.kernels.rope, bind, **options),
        lambda s: (s.qo, s.kc, s.vc) if cache else (s.qo, s.ko), plain, right, more=swept(sett.kernels.rope, bind, (64, 256), **options))


def rows(pick):
    heads, shared, few = pick(32, 4), pick(8, 2), pick(4, 1)
    return {
        "rope_append": lambda t: rope(t, heads, shared, title="RoPE, append to pages of 16"),
        "rope_append_fp8": lambda t: rope(t, heads, shared, f8=True, title="RoPE, append as fp8"),
        "rope_norm_append": lambda t: rope(t, heads, few, norm=True, title="RMSNorm of heads, RoPE, append"),
        "rope_alone": lambda t: rope(t, heads, shared, cache=False, title="RoPE of Q and K"),
        "rope_pairs": lambda t: rope(t, heads, shared, pick(256, 64), 64, True, title="RoPE of pairs, 64 columns, append"),
    }
