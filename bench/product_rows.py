# SPDX-License-Identifier: Apache-2.0
"""The rows of bench/products.py that stand beside peers, by the protocol of product_cells.py. Each is a list of cells, and a report."""

import contextlib
import functools
import io
import random
import sys
import time
import types
from typing import Any, Callable, NamedTuple

import mlp as llama
import product_groups
import product_table
import torch
from gpu import DEVICE, GPU, compiled_by_torch, first_line, say
from graphs import guess_ms, on_side
from product_cells import Cell, Runner
from product_picture import picture
from product_readme import near
from product_table import PEER, ROWS, SHAPES, by, geomean, shares_of
from product_way import OURS, Bound, Mlp, Recorder, Tuned, product_of, sealed, sized, tunings
from rounds import seen

import sett

INVARIANT, FAST = "sett, invariant", "torch._scaled_mm, fast sums"
OTHER = "sett, of the other pack"
PLAIN_FP8 = "torch._scaled_mm to fp8"
PROMOTED, BLOCKS = "sett, promoted, without scales", "torch._scaled_mm, scales of blocks"
DEEPSEEK = ((2112, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168), (7168, 2048))  # n, k
SMALL = ((1, 64, 72), (70, 136, 64))  # m, n, k without a GPU
PACKED = ((8192, 28672), (4096, 14336))  # n, k
TUNED = ((8, 128, (16,)), (8, 256, (16,)), (16, 64, (16, 32)), (16, 128, (8, 16, 32)), (16, 256, (8, 12, 16, 20)))  # bm, bn, stages
BY_WARPS = tuple({"rows": rows, "threads": threads, "split": split, "pieces": pieces} for rows in (8, 16) for threads in (128, 256) for split in (4, 8) if split <= threads // 32 for pieces in (1, 2, 4))
FEW = ((4096, 4096), (14336, 4096), (4096, 14336), (2560, 4096))


def close(got, want):
    """By less than two roundings of the largest value: cuBLAS may add bf16 sums of parts of K."""
    return ((got.float() - want).abs().max() <= want.abs().max() * 2**-6).item() # of NaN it is false


def product(s):
    return s.a.float() @ s.b.float().T


def maker(m, n, k):
    return lambda data, results: types.SimpleNamespace(a=data.take(m, k), b=data.take(n, k), out=results.take(m, n))


def ours(engine, m, n, k, dtype="bf16", out="out", **more):
    return lambda early: Bound(product_of(engine, n, k, dtype, max_m=max(m, 8192), early=early, **more), m, out)


def mm(s):
    return lambda: torch.mm(s.a, s.b.T, out=s.out)


def bf16(engine, m, n, k, **more):
    """A plain product beside torch.mm."""
    return Cell(f"{m} x {n} x {k}", m, n, k, 2 * (m * k + n * k + m * n), guess_ms(m, n, k), maker(m, n, k), {OURS: ours(engine, m, n, k)}, {PEER: mm},
        product, close, **more)


# ---- cells of the rows ----------------------------------------------------------------------------------------------------
def cells(engine, _):
    """In random order, so that the device is as warm for small ones as for large ones."""
    every = sized(engine, [(m, n, k) for n, k in SHAPES for m in ROWS], SMALL)
    return [bf16(engine, *cell) for cell in random.Random(1).sample(every, len(every))]


def drawn(engine, words):
    shapes = product_table.drawn(int(words[0]))
    every = [bf16(engine, *sized(engine, (m, n, k), (m % 70 + 1, n % 128 + 8, k % 128 + 8))) for m, n, k in shapes]
    for cell in every if GPU else every[:0 if isinstance(engine, Recorder) else 1]:
        cell.ours.update(swept(engine, cell))
    return every


def swept(engine, cell):
    """Ways of all kernels of the product, beside that which the model chooses."""
    def way(tile, shares):
        return lambda early: Tuned(product_of(engine, cell.n, cell.k, "bf16", max_m=max(cell.m, 8192), early=early), tile, shares)

    return {name: way(*of) for name, of in tunings(product_of(engine, cell.n, cell.k, "bf16", max_m=max(cell.m, 8192)), cell.m).items()}


def invariant(engine, _):
    """Rows of which each has the same bits for every M, beside the usual choice."""
    every = [bf16(engine, *cell) for cell in sized(engine, [(m, n, k) for n, k in SHAPES for m in (1, 8, 64, 257, 1024, 4096)], SMALL)]
    for cell in every:
        cell.ours[INVARIANT] = ours(engine, cell.m, cell.n, cell.k, invariant=True)
    return every


def assemblers(engine, words):
    """24 of `cells`, two of each (N,K), by another pack too, which another assembler made of the same kernels."""
    other = engine if isinstance(engine, Recorder) else sealed(words[0])
    draw = random.Random(2)
    every = [bf16(engine, *cell) for cell in sized(engine, [(m, n, k) for n, k in SHAPES for m in draw.sample(ROWS, 2)], SMALL)]
    for cell in every:
        cell.ours[OTHER] = ours(other, cell.m, cell.n, cell.k)
    return every


def few(engine, _):
    """Beside what reads B alone: sums of it as Float32, by sett_vector_reduce and by torch."""
    return beside_reads(engine, [bf16(engine, m, n, k) for n, k in sized(engine, FEW, ((64, 64),)) for m in (1, 4, 8)])


def beside_reads(engine, every):
    """Beside what reads B alone."""
    reads = readers(engine, lambda s: flat(s.b))
    for cell in every:
        cell.peers.update(reads)
        cell.reads = tuple(reads)
    return every


def flat(b):
    return b.view(torch.float32).view(-1)


def readers(engine, read):
    """Ways to read what read(set) gives, of Float32, and nothing else: peers of a cell."""
    reads = {}
    for threads, blocks, vectors in ((512, 1024, 8), (512, 2048, 4), (256, 2048, 4)):
        for early in (0, 1):
            kernel = engine.compile(sett.kernels.vector_reduce, dtype="f32", no_pdl=1 - early, threads=threads, blocks=blocks, vectors_per_thread=vectors)
            reads[f"read by sett_vector_reduce {threads}, {blocks}, {vectors}{', begun early' * early}"] = reader(kernel, blocks, read)
    reads["read by torch.sum"] = lambda s: lambda y=torch.empty(1, device=DEVICE): torch.sum(read(s), 0, keepdim=True, out=y)
    return reads


def reader(kernel, blocks, read):
    done, part, y = torch.zeros(1, device=DEVICE, dtype=torch.int32), torch.empty(blocks, device=DEVICE), torch.empty(1, device=DEVICE)

    def bind(s):
        call = kernel.prepare(read(s), part, sett.view(done, "u32"), y)

        def run():
            call()
            return y

        return run

    return bind


def decoded(b, sw, n, k, group):
    """Weights of i4 as sett.pack_weights gives them, and their scales, as (N,K) of bf16: docs/products.md says where each goes."""
    blocks, pieces = -(-n // 64), -(-k // 64)
    codes = torch.stack((b & 15, b >> 4), -1).view(blocks, pieces, 4, 8, 4, 4, 2, 2, 2)  # warp, lane / 4, lane % 4, step, value, 8 columns on, 8 rows on
    rows = codes.permute(0, 2, 8, 3, 1, 5, 7, 4, 6).reshape(blocks * 64, pieces * 64)
    scales = sw.view(torch.bfloat16).view(blocks, -1, 4, 8, 2).permute(0, 2, 4, 3, 1).reshape(blocks * 64, -1)
    return ((rows.float() - 8) * scales.repeat_interleave(group, 1)[:, :pieces * 64].float()).bfloat16()[:n, :k]


def w4a16(engine, _):
    """n, k; A of bf16, weights of 4 bits with a scale of bf16 for 128 of K, beside what reads the weights alone. Weights are its own, not of
    the pools."""
    group = 128

    def make_for(m, n, k):
        def make(data, results):
            blocks, pieces = -(-n // 64), -(-k // 64)
            b = torch.randint(0, 256, (blocks * pieces * 2048,), device=DEVICE, dtype=torch.uint8)
            sw = (torch.rand(blocks * -(-pieces // 2) * 64, device=DEVICE) / 8 + 0.01).bfloat16().view(torch.uint8)
            return types.SimpleNamespace(a=data.take(m, k), b=b, sw=sw, out=results.take(m, n))

        return make

    def want(n, k):
        return lambda s: s.a.float() @ decoded(s.b, s.sw, n, k, group).float().T

    return beside_reads(engine, [Cell(f"w4a16 {m} x {n} x {k}", m, n, k, 2 * (m * k + m * n) + n * k // 2 + n * k // 64, guess_ms(m, n, k) / 4, make_for(m, n, k),
        {OURS: ours(engine, m, n, k, b="i4", group=group)}, {}, want(n, k), close) for n, k in sized(engine, PACKED, ((64, 128), (72, 192))) for m in (1, 16)])


def w4a16_tiles(engine, _):
    """The same by tiles and ways to deal K that sett_product may choose among; what it chooses stands first."""
    every = w4a16(engine, _)
    for cell in every:
        for config in ({"bm": bm, "bn": bn, "stages": stages, "shares": shares} for bm, bn, depths in TUNED for stages in depths for shares in ("split", "two")):
            if shares_of(config, cell.m, cell.n, cell.k):
                cell.ours[" ".join(map(str, config.values()))] = lambda early, cell=cell, config=config: Packed(engine, cell, config, early)
        for config in BY_WARPS:
            if cell.m <= config["rows"] <= max(cell.m, 8):
                cell.ours[f"gemm_mixed {' '.join(map(str, config.values()))}"] = lambda early, cell=cell, config=config: Packed(engine, cell, config, early)
    return every


class Packed:
    """A product of weights of 4 bits by one tile, as a way of a cell."""

    def __init__(self, engine, cell, config, early):
        self.m, self.n, self.k, self.config = cell.m, cell.n, cell.k, config
        tile = {name: value for name, value in config.items() if name != "shares"}
        family, stream = (sett.kernels.gemm_wgmma, {"stream_k": 1}) if "shares" in config else (sett.kernels.gemm_mixed, {})
        self.made = engine.compile(family, dtype="bf16", b="i4", group=128, no_pdl=int(not early), **stream, **tile)

    def kernel(self):
        return self.made

    def bind(self, s):
        blocks = -(-self.n // 64)
        b, sw = s.b.view(torch.uint64).view(blocks, -1, 256).permute(2, 1, 0), s.sw.view(torch.bfloat16).view(blocks, -1, 64).permute(2, 1, 0)
        shares = (*workspace(), *shares_of(self.config, self.m, self.n, self.k)) if "shares" in self.config else ()
        call = self.made.prepare(s.a, b, sw, s.out, *shares)

        def run():
            call()
            return s.out

        return run


@functools.lru_cache(maxsize=None)
def workspace():
    return torch.empty(132 * 256 * 64, device=DEVICE), torch.zeros(1024, device=DEVICE, dtype=torch.uint32)


def large(engine, _):
    return [bf16(engine, *shape) for shape in sized(engine, ((8192, 8192, 8192), (4096, 4096, 4096), (8192, 8192, 512)), SMALL)]


def f32(engine, _):
    """By multiply-adds, and by tf32, beside torch.mm by the same. Operands are their own: those of the pools have 8 bits alone."""

    def peer(tf32):
        def bind(s):
            def run():
                torch.backends.cuda.matmul.allow_tf32 = tf32
                torch.mm(s.a, s.b.T, out=s.out)

            return run

        return bind

    def make(data, results):
        return types.SimpleNamespace(a=torch.randn(m, k, device=DEVICE), b=torch.randn(n, k, device=DEVICE), out=torch.empty(m, n, device=DEVICE))

    def within(part):
        return lambda got, want: ((got - want).abs().max() <= want.abs().max() * part).item()

    m, n, k = sized(engine, (4096, 4096, 4096), (70, 136, 64))
    return [Cell(f"{name} {m} x {n} x {k}", m, n, k, 4 * (m * k + n * k + m * n), guess_ms(m, n, k, 4) * slower, make, {OURS: ours(engine, m, n, k, "f32", tf32=tf32)},
        {f"{PEER}, {name}": peer(bool(tf32))}, lambda s: s.a.double() @ s.b.double().T, within(part), torch.float32) for name, tf32, slower, part in (("f32", 0, 7, 2**-17), ("tf32", 1, 1, 2**-8))]


def fp8(engine, _):
    """m, n, k; fp8 (e4m3) to bf16, without scales, beside cuBLASLt whose sums are as fast."""
    one = torch.ones((), device=DEVICE)

    def fast(s):
        return lambda: torch._scaled_mm(s.a, s.b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True, out=s.out)

    return [Cell(f"fp8 {m} x {n} x {k}", m, n, k, m * k + n * k + 2 * m * n, guess_ms(m, n, k, 1), maker(m, n, k), {OURS: ours(engine, m, n, k, "f8E4M3FN")},
        {FAST: fast} if GPU else {}, product, near(k, True), torch.float8_e4m3fn)
        for m, n, k in sized(engine, ((8192, 8192, 8192), (128, 7168, 16384), (4096, 24576, 1536)), ((1, 64, 80), (70, 136, 64)))]


def fp8_blocks(engine, _):
    """m, n, k of DeepSeek-V3's products; fp8 (e4m3) to bf16, with scales of 1 x 128 of A and of 128 x 128 of B, beside cuBLASLt's, and what
    they cost beside the same sums without scales."""

    def scales(rows, k, apart):
        """(rows, k / 128) of 0.5 to 1.5, columns contiguous."""
        return (torch.rand(-(-k // 128), apart, device=DEVICE) + 0.5).T[:rows]

    def make_for(m, n, k):
        def make(data, results):
            s = maker(m, n, k)(data, results)
            s.sa, s.sb = scales(m, k, -(-m // 4) * 4), scales(-(-n // 128), k, -(-n // 128)).contiguous()
            return s

        return make

    def want(s):
        k = s.a.shape[1]
        each_a, each_b = s.sa.repeat_interleave(128, 1)[:, :k], s.sb.repeat_interleave(128, 0)[:s.b.shape[0]].repeat_interleave(128, 1)[:, :k]
        scaled = (s.a.float() * each_a) @ (s.b.float() * each_b).T
        return {OURS: scaled, BLOCKS: scaled, PROMOTED: product(s)}

    def lost(k):
        """A tile of 128 of K loses what near() says, times scales up to 1.5 each."""
        each = 2**-13 * 4 * 128**0.5 * 2.25 * -(-k // 128)
        return lambda got, want: ((got.float() - want).abs() / (want.abs() * 2**-7 + each)).max().item() <= 1

    def blocks(s):
        return lambda: torch._scaled_mm(s.a, s.b.T, s.sa, s.sb.T, out_dtype=torch.bfloat16, out=s.out)

    every = sized(engine, [(m, n, k) for n, k in DEEPSEEK for m in (64, 128, 4096)], ((1, 64, 80), (70, 136, 208)))
    return [Cell(f"fp8, scales of blocks, {m} x {n} x {k}", m, n, k, m * k + n * k + 2 * m * n + (m + n // 128 + 1) * (k // 32), guess_ms(m, n, k, 1), make_for(m, n, k),
        {OURS: ours(engine, m, n, k, "f8E4M3FN", block_scales=1), PROMOTED: ours(engine, m, n, k, "f8E4M3FN", promote=1)}, {BLOCKS: blocks} if GPU else {}, want, lost(k),
        torch.float8_e4m3fn) for m, n, k in every]


def epilogues(engine, _):
    """One cell, so that all are beside the plain one: bias and GELU by columns, a residual, and SwiGLU of half as many columns. Another of fp8 to fp8,
    by a scale, with the greatest value beside it."""
    m = n = k = sized(engine, 4096, 128)
    gelu = torch.nn.functional.gelu

    def make(data, results):
        s = maker(m, n, k)(data, results)
        s.r, s.bias, s.half = data.take(m, n), data.take(n), results.take(m, n // 2)
        return s

    def gated(c):
        gate, up = c.chunk(2, dim=1)
        return torch.nn.functional.silu(gate) * up

    def want(s):
        c = product(s)
        right = {"": c, "bias + gelu": gelu(c + s.bias, approximate="tanh"), "residual": c + s.r, "swiglu": gated(c)}
        return {PEER: c} | {f"{who}, {name}" if name else who: value for who in (OURS, "torch") for name, value in right.items()}

    mine = {OURS: ours(engine, m, n, k), f"{OURS}, bias + gelu": ours(engine, m, n, k, bias=1, activation="gelu_tanh"), f"{OURS}, residual": ours(engine, m, n, k, residual=1),
        f"{OURS}, swiglu": ours(engine, m, n // 2, k, out="half", swiglu=1)}
    peers = {PEER: mm, "torch, bias + gelu": lambda s: lambda: torch._addmm_activation(s.bias, s.a, s.b.T, use_gelu=True, out=s.out),
        "torch, residual": lambda s: lambda: torch.addmm(s.r, s.a, s.b.T, out=s.out), "torch, swiglu": lambda s: lambda: gated(torch.mm(s.a, s.b.T, out=s.out))}
    return [Cell(f"{m} x {n} x {k}", m, n, k, 2 * (m * k + n * k + 3 * m * n), guess_ms(m, n, k), make, mine, peers, want, close), quantised(engine, m, n, k)]


def quantised(engine, m, n, k):
    """fp8 to fp8: what a scale and the greatest value cost beside that alone."""
    half, one = torch.full((1,), 0.5, device=DEVICE), torch.ones((), device=DEVICE)

    def make(data, results):
        s = types.SimpleNamespace(a=data.take(m, k), b=data.take(n, k), out=results.take(m, n // 2).view(torch.float8_e4m3fn))
        s.qs, s.amax = half, torch.zeros(1, device=DEVICE)
        return s

    def want(s):
        c = product(s).clamp(-448, 448)
        return {OURS: c, PLAIN_FP8: c, f"{OURS}, scale + amax": (product(s) / 2).clamp(-448, 448)}

    def right(got, want):
        lost = 2**-13 * k / 32 * k**0.5  # as near() has it
        return ((got.float() - want).abs() / (want.abs() * 2**-4 + 2**-9 + lost)).max().item() <= 1

    def plain(s):
        return lambda: torch._scaled_mm(s.a, s.b.T, one, one, scale_result=one, out_dtype=torch.float8_e4m3fn, use_fast_accum=True, out=s.out)

    fp8 = {"d": "f8E4M3FN"}
    return Cell(f"fp8 to fp8 {m} x {n} x {k}", m, n, k, m * k + n * k + m * n, guess_ms(m, n, k, 1), make, {OURS: ours(engine, m, n, k, "f8E4M3FN", **fp8),
        f"{OURS}, scale + amax": ours(engine, m, n, k, "f8E4M3FN", quantise=1, amax=1, **fp8)}, {PLAIN_FP8: plain} if GPU else {}, want, right, torch.float8_e4m3fn)


def mlp(engine, words):
    """The MLP of LLaMA-3.1-8B with its norm and residuals, as bench/mlp.py has it, by sett.Product, whose launches begin early (PDL) as a server's do.
    Its operands are its own, not of the pools."""
    hidden, inner = sized(engine, (llama.llama_mlp.HIDDEN, llama.llama_mlp.INNER), (llama.HIDDEN, llama.INNER))
    modes = {"torch.compile": {}, "torch.compile, max-autotune": {"mode": "max-autotune-no-cudagraphs"}}  # captured as all ways are

    def make(tokens):
        if GPU:
            torch.compiler.reset()  # it keeps 8 shapes of a function, and runs others without it
        return types.SimpleNamespace(**llama.make(tokens))

    def of(tokens):
        return Cell(f"MLP of LLaMA-3.1-8B, {tokens} tokens", tokens, 3 * inner, hidden, 2 * 3 * inner * hidden, 3 * guess_ms(tokens, inner, hidden),
            lambda data, results: make(tokens), {OURS: lambda early: Mlp(engine, tokens, hidden, inner, True)},
            {name: compiled_by_torch(llama.reference, **more) for name, more in modes.items()} | {"torch": lambda s: lambda: llama.reference(s)}, llama.want, llama.right, chain=True)

    return [of(int(tokens)) for tokens in words or sized(engine, (1, 2, 4, 8, 16, 32, 64, 128), (70, 1))]


def experts(engine, words):
    return product_groups.experts(engine, words, readers)


def bits(every):
    """Of each (N,K): for how many M every row has the bits that it has among the most rows."""
    rows = ROWS if GPU else (1, 17, 64, 70)
    for n, k in dict.fromkeys((cell.n, cell.k) for cell in every):
        mine = next(cell for cell in every if (cell.n, cell.k) == (n, k)).ours[INVARIANT](False).product
        a, b = torch.randn(max(rows), k, device=DEVICE).bfloat16(), torch.randn(n, k, device=DEVICE).bfloat16()
        whole, part = (torch.empty(max(rows), n, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
        same = {}
        for way, do in ((INVARIANT, mine.run), (PEER, lambda m, a, b, out: torch.mm(a, b.T, out=out))):
            do(max(rows), a, b, whole)
            for m in rows:
                do(m, a[:m], b, part[:m])
                same[way] = same.get(way, 0) + torch.equal(part[:m], whole[:m])
        say(f"{n} x {k}: the bits of a row are those among {max(rows)} rows for {same[INVARIANT]} of {len(rows)} M; torch.mm's for {same[PEER]}")
        if same[INVARIANT] < len(rows):
            raise AssertionError(f"{n} x {k}: the bits of a row depend on M")


# ---- reports ----------------------------------------------------------------------------------------------------------
def figure(result, way):
    t, c = result.time(way), result.cell
    return f"{t.us:.1f} us ({t.p10:.1f}..{t.p90:.1f}), {2 * c.m * c.n * c.k / t.us / 1e6:.0f} TFLOP/s"


def speed(result, of, over):
    return "{:.3f} ({:.3f}..{:.3f})".format(*result.speed(of, over))


def table(results, figure=figure):
    """A line a cell, as it stands in RESULTS.md: ours, then each other way, with the first one's speed over it."""
    print("| M x N x K | sett: median (p10..p90) | others; sett's speed over theirs: median (least..most of the repetitions) | PDL |\n| --- | --- | --- | --- |")
    for r in results:
        others = "<br>".join(f"{way} {figure(r, way)}; {speed(r, OURS, way)}" for way in r.times if way != OURS)
        pdl = "; ".join(f"{way}: {e}" for way, e in r.edges.items())
        print(f"| {r.cell.title} | {figure(r, OURS)} | {others} | {pdl} |")


def ratios(results, peer, of=OURS):
    return [r.speed(of, peer)[0] for r in results if peer in r.times and of in r.times]


def summary(results, peer=PEER, of=OURS):
    have = ratios(results, peer, of)
    print(f"\n{of} over {peer}: geometric mean {geomean(have):.4f} of {len(have)}; at least 1: {sum(x >= 1 for x in have)}, below 0.8: {sum(x < 0.8 for x in have)}, "
        f"below 0.7: {sum(x < 0.7 for x in have)}")
    edges = [r.edges[peer] for r in results if peer in r.edges]
    print(f"{peer}: {sum(e.between_early > 0 for e in edges)} of {len(edges)} graphs have programmatic edges between launches, {sum(e.within_early > 0 for e in edges)} within; "
        f"sett was begun early (PDL) in {sum(r.early for r in results)} of {len(results)} cells")


def report(results):
    table(results)
    for peer in dict.fromkeys(way for r in results for way in r.times if way.startswith("torch")):
        summary(results, peer)


def report_cells(results):
    """A table by (N,K) and M, and what is slow."""
    every = {(r.cell.n, r.cell.k, r.cell.m): r for r in results}
    rows = sorted({m for _, _, m in every})
    print("| N x K | " + " | ".join(f"M = {m}" for m in rows) + " |\n| --- |" + " --- |" * len(rows))
    for n, k in dict.fromkeys((n, k) for n, k, _ in sorted(every)):
        have = [every.get((n, k, m)) for m in rows]
        print(f"| {n} x {k} | " + " | ".join(f"{r.time(OURS).us:.1f}, {r.time(PEER).us:.1f}, {speed(r, OURS, PEER)}" if r else "" for r in have) + " |")
    print("\nus of sett, of torch.mm, and sett's speed over its. Geometric mean by M: "
        + ", ".join(f"{m}: {geomean(ratios(group, PEER)):.3f}" for m, group in by(every, lambda n, k, m: m).items()))
    print("By N x K: " + ", ".join(f"{n} x {k}: {geomean(ratios(group, PEER)):.3f}" for (n, k), group in by(every, lambda n, k, m: (n, k)).items()))
    for x, r in sorted(((r.speed(OURS, PEER)[0], r) for r in results), key=lambda pair: pair[0]):
        if x < 0.8:
            print(f"  {x:.3f} {r.cell.title}: {figure(r, OURS)}; {figure(r, PEER)}; {r.edges[PEER]}")
    summary(results)


def report_drawn(results):
    """The cells, and how near the model's choice is to the best of all that it chooses among."""
    lost = []
    for r in results:
        tuned = {way: r.ms(way) for way in r.times if way not in (OURS, PEER)}
        best = min(tuned, key=tuned.get, default=OURS)
        lost.append(max(0.0, r.speed(best, OURS)[0] - 1))
        r.times = {way: times for way, times in r.times.items() if way in (OURS, PEER, best)}
    report(results)
    lost.sort()
    print(f"The choice is within {lost[len(lost) // 2]:.1%} of the best of its kernels in the median, {lost[-1]:.1%} at worst: " + ", ".join(f"{x:.1%}" for x in lost))


def report_few(results):
    def bandwidth(r, way):
        t, c = r.time(way), r.cell
        return f"{t.us:.2f} us ({t.p10:.2f}..{t.p90:.2f}), {2 * c.n * c.k / t.us / 1e3:.0f} GB/s of B"

    table(results, bandwidth)
    summary(results)
    shares = [(r.speed(OURS, way)[0], r.speed(PEER, way)[0]) for r in results for way in r.times if way in r.cell.reads]
    print("Share of the best pure read's speed: sett " + ", ".join(f"{mine:.2f}" for mine, _ in shares) + "; torch.mm " + ", ".join(f"{theirs:.2f}" for _, theirs in shares))


def report_packed(results):
    def bandwidth(r, way):
        t, c = r.time(way), r.cell
        return f"{t.us:.2f} us ({t.p10:.2f}..{t.p90:.2f}), {c.n * c.k / 2 / t.us / 1e3:.0f} GB/s of the weights"

    table(results, bandwidth)
    print("\nShare of the best pure read's speed: " + ", ".join(f"{r.cell.title}: {r.speed(OURS, way)[0]:.3f}" for r in results for way in r.times if way in r.cell.reads))


def report_invariant(results):
    report(results)
    summary(results, OURS, INVARIANT)


def report_assemblers(results):
    report(results)
    summary(results, OURS, OTHER)


def report_grouped(results):
    product_groups.report_grouped(results, table, speed)


def report_experts(results):
    product_groups.report_experts(results, table, speed)


def report_epilogues(results):
    """What each epilogue costs, of ours and of the peer's, and ours over the peer's of the same epilogue."""
    table(results)
    for r in results:
        for way in r.times:
            if ", " in way:
                who, what = way.split(", ")
                plain, peer = OURS if who == OURS else PEER, f"torch, {what}"
                beside = f"; {speed(r, way, peer)} of that of {peer}" if who == OURS and peer in r.times else ""
                if plain in r.times:
                    print(f"{way}: {speed(r, way, plain)} of the speed of {plain}{beside}")
    summary(results)


def report_mlp(results):
    """Beside the faster one of what torch.compile gives."""
    table(results)
    least = []
    for r in results:
        compiled = [way for way in r.times if way.startswith("torch.compile")]
        if compiled:
            best = min(compiled, key=r.ms)
            least.append(r.speed(OURS, best)[0])
            print(f"{r.cell.title}: {speed(r, OURS, best)} of {best}")
    print(f"\n{OURS} over the faster torch.compile: geometric mean {geomean(least):.4f} of {len(least)}, at least {min(least):.3f}" if least else "no torch.compile")


# ---- a row ---------------------------------------------------------------------------------------------------------
class Row(NamedTuple):
    cells: Callable[..., list]
    report: Callable[..., Any] = report
    before: Callable[..., Any] = lambda every: None
    drawn: bool = False  # whether its times make a picture


ROW = {"cells": Row(cells, report_cells, drawn=True), "drawn": Row(drawn, report_drawn), "invariant": Row(invariant, report_invariant, bits, True), "few": Row(few, report_few, drawn=True), "w4a16": Row(w4a16, report_packed), "w4a16_tiles": Row(w4a16_tiles, report_packed), "large": Row(large),
    "fp8": Row(fp8), "fp8_blocks": Row(fp8_blocks), "epilogues": Row(epilogues, report_epilogues), "mlp": Row(mlp, report_mlp), "f32": Row(f32), "assemblers": Row(assemblers, report_assemblers),
    "grouped": Row(product_groups.grouped, report_grouped), "experts": Row(experts, report_experts)}


def pack(path, seeds, rows, assembler):
    """Compiles what these rows need, begun early and plainly, and `drawn` for these seeds, into a pack."""
    engine, refused = Recorder(assembler), set()
    for cell in (cell for name, row in ROW.items() if name in rows for words in ([[seed] for seed in seeds] if name == "drawn" else [[]]) for cell in row.cells(engine, words)):
        for way, of in cell.ours.items():
            for early in (False, True):
                try:
                    of(early).kernel()
                except sett.Error as e:
                    refused.add(f"no {way}: {first_line(e)}")
    say(*sorted(refused), sep="\n")
    say(f"{engine.write(path)} kernels in {path}")


def run(name, words, pack, budget, warm, out):
    """Runs a row; out: a prefix of files, .csv and, of bf16 beside cuBLAS by M, .svg."""
    began = time.monotonic()
    torch.manual_seed(1), random.seed(1)
    on_side()
    row, engine = ROW[name], sealed(pack)
    every = row.cells(engine, words)
    row.before(every)
    runner = Runner(engine, every, budget - (time.monotonic() - began), warm)
    results = [runner.run(cell) for cell in every]
    said = runner.close()
    whole = [r for r in results if OURS in r.times]
    device = torch.cuda.get_device_name() if GPU else "CPU engine"
    with contextlib.redirect_stdout(sys.stdout if GPU else io.StringIO()):  # without a GPU there is nothing to tell, but a report is made
        print(f"{name}: {seen(device)}, torch {torch.__version__} (CUDA {torch.version.cuda}); {said}; {time.monotonic() - began:.0f} s in all\n")
        row.report(whole)
    if out:
        product_table.write(f"{out}.csv", device, [(r.cell.n, r.cell.k, r.cell.m, way, r.time(way)) for r in results for way in r.times])
        if row.drawn:
            picture(f"{out}.csv", f"{out}.svg")
    if runner.wrong or len(whole) < len(results):
        sys.exit(f"{name}: {runner.wrong} ways are wrong; sett is missing in {len(results) - len(whole)} of {len(results)} cells")
    if not GPU:
        print(f"{name}: {len(results)} cells are right")
