# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/attention.py mla: one query of each request over a latent cache of 512 + 64 columns, beside what reads the cache alone, and with
pages beside without, by the protocol of product_cells.py."""

import types

import torch
from attention_decode_rows import run_ways
from attention_rows import normal
from gpu import DEVICE
from product_rows import readers
from product_way import Recorder, sealed, sized
from rounds import median, quantile

import sett

OURS, PAGE = "sett", 64
LATENT, ROPE, SCALE = 512, 64, 0.0417  # about 1 / sqrt(576)

# name: requests, heads, keys; must and goal: TFLOP/s, or of a read
ROWS = {"h128": (64, 128, 4096, 400.0, 560.0), "h16": (64, 16, 4096, 0.55, 0.75)}
# Other tunings, by name.
TILES = {f"split {split}, {keys} keys, {stages} stages": {"split": split, "keys": keys, "stages": stages} for split, keys, stages in ((1024, 64, 2), (2048, 64, 2), (4096, 64, 2), (2048, 32, 4))}


def cell(engine, name, tiles):
    requests, heads, keys = sized(engine, ROWS[name][:3], (2, ROWS[name][1], 200))

    def kernel(**more):
        return engine.compile(sett.kernels.attention_mla, dtype="bf16", no_pdl=1, rows=min(heads, 64), **more)

    ours, paged, others = kernel(), kernel(page=PAGE), {other: kernel(**tuning) for other, tuning in TILES.items()} if tiles else {}
    reads = readers(engine, lambda s: s.k.view(-1).view(torch.float32))
    if isinstance(engine, Recorder):
        return None
    partial, left = sett.kernels.attention_mla_workspace(requests, heads, 1, 1, -(-keys // PAGE) * PAGE, dtype="bf16", rows=min(heads, 64), split=1024)
    partial, left = torch.empty(partial, device=DEVICE), sett.view(torch.zeros(left, device=DEVICE, dtype=torch.int32), "u32")

    def make():
        s = types.SimpleNamespace(q=normal(requests, heads, 1, LATENT + ROPE), k=normal(requests, 1, -(-keys // PAGE) * PAGE, LATENT + ROPE), out=torch.empty(requests, heads, 1, LATENT, device=DEVICE, dtype=torch.bfloat16))
        pages = s.k.shape[2] // PAGE
        order = torch.randperm(requests * pages, device=DEVICE)
        s.table, s.lengths = order.view(requests, pages).int(), torch.full((requests,), keys, dtype=torch.int32, device=DEVICE)
        s.pool = torch.empty(requests * pages, 1, PAGE, LATENT + ROPE, device=DEVICE, dtype=torch.bfloat16)
        s.pool[order] = s.k.view(requests * pages, 1, PAGE, LATENT + ROPE)
        return s

    def check(s, got, way):
        for r in (0, -1):
            k = s.k[r, 0, :keys].double()
            want = torch.softmax(s.q[r, :, 0].double() @ k.T * SCALE, -1) @ k[:, :LATENT]
            if not (got[r, :, 0].double() - want).abs().max().item() < 0.02:
                return False
        return True

    ways = {OURS: lambda s: ours.prepare(s.q, s.k[:, :, :keys], s.out, SCALE, partial, left)}
    ways[f"page {PAGE}"] = lambda s: paged.prepare(s.q, s.pool, s.out, s.table, s.lengths, SCALE, partial, left)
    for other, of in others.items():
        ways[other] = lambda s, of=of: of.prepare(s.q, s.k[:, :, :keys], s.out, SCALE, partial, left)
    ways.update(reads)
    size, work = 2 * requests * keys * (LATENT + ROPE), 2.0 * requests * heads * keys * (2 * LATENT + ROPE)
    return types.SimpleNamespace(title=f"MLA decode B{requests} H{heads} N{keys}", bytes=size, work=work, make=make, ways=ways, check=check, reads=tuple(reads), one_set=False)


def line(c, times, must, goal):
    """title | each way: us, TFLOP/s, TB/s | how many times as fast as a read, and as ours."""
    us = {name: 1000 * median([median(one) for one in times[name]]) for name in times}
    every = {name: sorted(1000 * ms for one in times[name] for ms in one) for name in times}
    speed = {name: "" if name in c.reads else f"{c.work / us[name] / 1e6:.0f} TFLOP/s, " for name in times}
    text = "; ".join(f"{name} {us[name]:.1f} us ({quantile(every[name], 0.1):.1f}..{quantile(every[name], 0.9):.1f}), {speed[name]}{c.bytes / us[name] / 1e6:.2f} TB/s" for name in times)
    read = max((us[name] for name in times if name in c.reads), default=0.0)
    short = c.work / us[OURS] / 1e6 < must if must > 1 else read / us[OURS] < must
    ratios = [f"{read / us[OURS]:.3f} of a read{' SHORT' * short}"] + [f"{name}: {us[OURS] / us[name]:.3f} of {OURS}" for name in times if name not in (OURS, *c.reads)]
    return f"| {c.title} | {text} | {', '.join(ratios)} | {must} | {goal} |"


def run(only, pack, budget, warm_s, tiles):
    engine = sealed(pack)
    run_ways(only or list(ROWS), lambda name: cell(engine, name, tiles), lambda c, name, times: line(c, times, *ROWS[name][3:]), budget, warm_s)


def record(recorder):
    """Its kernels, for a pack."""
    for name in ROWS:
        cell(recorder, name, True)
