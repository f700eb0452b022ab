#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs kernels of kernels/ at small shapes on the CPU engine, beside NumPy or Float64: for mutate.py, so each part takes seconds.

    tests/mutate/drive.py [PART ...]    rows sums tokens wgmma promote mixed mma few attention attention_mma attention_decode attention_decode_mma attention_mla

Exit 1: a wrong number."""

import importlib
import os
import sys

import numpy as np

import sett

rng = np.random.default_rng(11)


def some(*shape):
    return rng.standard_normal(shape).astype("f4")


def softmax(x):
    e = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def rms_norm(x, w, eps):
    x = x.astype("f8")
    return x / np.sqrt((x * x).mean(1, keepdims=True) + eps) * w


def layer_norm(x, w, b, eps):
    x = x.astype("f8")
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps) * w + b


def rows(m, n):
    """(family, options, arguments in order with the result as None, what it should be)"""
    x, w, b = some(m, n), some(n), some(n)
    yield "softmax", {"cols": n}, (x, None), softmax(x)
    yield "rms_norm", {"cols": n}, (x, w, None, 1e-5), rms_norm(x, w, 1e-5)
    yield "layer_norm", {"cols": n}, (x, w, b, None, 1e-5), layer_norm(x, w, b, 1e-5)
    z = some(m, 2, n)
    yield "silu_mul", {"cols": n}, (z, None), z[:, 0] / (1 + np.exp(-z[:, 0].astype("f8"))) * z[:, 1]
    yield "row_reduce", {"op": "add"}, (x, None), x.sum(1, dtype="f8")
    yield "transpose", {}, (x, None), x.T
    a = some(m, n)
    yield "elementwise", {"op": "add"}, (x, a, None), x + a


def sums(n):
    x = some(n)
    y = some(n)
    want = 2 * x + y
    got = y.copy()
    run("axpy", {}, (x, got, 2.0))
    near("axpy", got, want)
    part, done, total = np.zeros(128, "f4"), np.zeros(1, "u4"), np.zeros(1, "f4")
    run("vector_reduce", {"op": "add", "threads": 128, "blocks": 128, "vectors_per_thread": 2}, (x, part, done, total))
    near("vector_reduce", total[0], x.sum(dtype="f8"))


engine = None
bad = 0


def run(name, options, arguments):
    engine.compile(getattr(sett.kernels, name), target="cpu", dtype="f32", **options)(*arguments)
    enough()


def enough():
    """Ends when the checker has found something: mutate.py asks for no more."""
    found = os.environ.get("SETT_CHECK_JSON", "")
    if os.environ.get("SETT_CHECK") == "errors" and os.path.exists(found) and os.path.getsize(found) > len('{"findings":[]}\n'):
        sys.exit(1)


def near(name, got, want):
    global bad
    off = np.abs(np.asarray(got, "f8") - want).max()
    if not off <= 1e-4 * max(1, np.abs(want).max()):
        bad += 1
        print(f"{name}: {off} off")




# ---- products and attention --------------------------------------------------------------------------------------------
def bench(name):
    """A module of bench/, which has random problems beside Float64."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
    return importlib.import_module(name)


def drawn(module, numbers, change):
    """Some of its draws, once each, by the engine's own order."""
    global bad
    from random_problems import Host

    host = Host()
    for i in numbers:
        one = change(module.draw(5, i, False))
        try:
            why = module.run(host, [("", engine)], one)[0]
        except sett.Error as e:
            why = str(e)
        if why:
            bad += 1
            print(f"{one}: {why}")
        enough()


# Of 70 to 700 K, so that rings go round several times; the extents leave edges. (kernel, options, (M, N, K))
PRODUCTS = {
    "wgmma": [("gemm_wgmma", o, shape) for o, shape in (
        ({"bm": 64, "bn": 128, "stages": 2, "clusters": 2}, (150, 392, 600)),
        ({"bm": 128, "bn": 64, "stages": 3, "clusters": 1}, (130, 136, 520)),
        ({"bm": 128, "bn": 256, "stages": 2, "clusters": 1}, (130, 520, 200)),
        ({"bm": 64, "bn": 128, "stages": 2, "clusters": 1, "cluster": 2}, (200, 264, 500)),
        ({"bm": 64, "bn": 128, "stages": 3, "clusters": 1, "ping_pong": 1}, (200, 264, 400)),
        ({"bm": 64, "bn": 128, "stages": 3, "clusters": 1, "ping_pong": 1, "cluster": 2}, (260, 264, 300)),
        ({"bm": 64, "bn": 128, "stages": 3, "clusters": 2, "stream_k": 1}, (120, 264, 1100)),
        ({"bm": 64, "bn": 128, "stages": 2, "clusters": 2, "residual": 1}, (150, 264, 300)),
        ({"bm": 64, "bn": 128, "stages": 2, "clusters": 1, "residual": 1, "grouped": 1}, ((70, 0, 100), 264, 200)),
        ({"bm": 64, "bn": 128, "stages": 3, "clusters": 1, "ping_pong": 1, "quantise": 2, "c": "f8E4M3FN"}, (200, 272, 200)))],
    "mma": [("gemm_mma", o, shape) for o, shape in (
        ({"bm": 64, "bn": 64, "bk": 32, "stages": 3, "warps": 4}, (100, 88, 330)),
        ({"bm": 32, "bn": 64, "stages": 2, "warps": 2, "align": 2, "align_c": 2}, (70, 65, 301)),
        ({"bm": 64, "bn": 32, "stages": 4, "warps": 4, "residual": 1}, (70, 64, 700)),
        ({"bm": 64, "bn": 64, "stages": 3, "warps": 4, "dtype": "f32"}, (128, 128, 300)))],  # by multiply-adds
    "promote": [("gemm_wgmma", {"dtype": "f8E4M3FN", "c": "f16", "promote": 1, "stages": 2, "clusters": 1, **o}, shape) for o, shape in (
        ({"bm": 64, "bn": 128}, (100, 136, 700)), ({"bm": 64, "bn": 256}, (100, 264, 900)), ({"bm": 128, "bn": 128}, (130, 136, 700)), ({"bm": 64, "bn": 64}, (70, 72, 900)),
        ({"bm": 64, "bn": 64, "stages": 12, "block_scales": 1, "c": "f32"}, (70, 72, 3400)))],  # three stages of scales, and no other ring holds the producer back
    "few": [("gemm_few_rows", {"rows": 8, "threads": 128, "split": 4}, (7, 100, 1500)), ("gemm_few_rows", {"rows": 4, "rows_per_warp": 8, "split": 2}, (3, 70, 900))],
}
F8 = {"f8E4M3FN": np.array([0x00, 0x38, 0x40, 0xC0, 0xB8], "u1")}  # 0 1 2 -2 -1
# Draws of bench/product_random.py by number, which are kinds: epilogues, two levels of sums, scales, batches.
DRAWS = {"wgmma": (3, 5, 6, 8, 17, 18), "mma": range(20, 57, 4), "promote": (12, 13, 14, 15, 19)}
MIXED = [(9, 192, 512), (70, 200, 640), (150, 136, 384)]


def integers(t, rows, k):
    """-2 to 2, whose rows begin at multiples of 16 bytes: as a launch takes them, and as Float32."""
    x = rng.integers(-2, 3, (*rows, k))
    room = np.zeros((*rows, -(-k // 16) * 16), "u1" if t in F8 else "f4" if t == "f32" else "f2")[..., :k]
    room[...] = F8[t][x] if t in F8 else x
    return sett.view(room, t) if t in F8 else room, x.astype("f4")


def powers(*shape):
    return 2.0 ** rng.integers(-1, 2, shape).astype("f4")


def by_columns(x):
    """The same numbers, of which those of a column lie together."""
    room = np.zeros((x.shape[1], -(-x.shape[0] // 4) * 4), "f4")
    room[:, : len(x)] = x.T
    return room[:, : len(x)].T


def product(name, options, m, n, k):
    """m of groups of rows: their rows."""
    o = {"dtype": "f16", **options}
    o.setdefault("c", o["dtype"])
    groups = m if isinstance(m, tuple) else (m,)
    ends, parts = np.cumsum((0, *groups)).astype("i4"), (len(groups),) if o.get("grouped") else ()
    m, blocks = ends[-1], -(-k // 128)
    (a, fa), (b, fb) = (integers(o["dtype"], rows, k) for rows in ((m,), (*parts, n)))
    got = np.zeros((m, n), "u1" if o["c"] in F8 else "f4" if o["c"] == "f32" else "f2")
    given = {"A": a, "B": np.moveaxis(b, 0, 2) if parts else b, "C": sett.view(got, o["c"]) if o["c"] in F8 else got, "OFFSETS": ends}
    if o.get("block_scales"):
        sa, given["SB"] = powers(m, blocks), powers(-(-n // 128), blocks)
        given["SA"] = by_columns(sa)
        fa, fb = fa * sa.repeat(128, 1)[:, :k], fb * given["SB"].repeat(128, 0)[:n].repeat(128, 1)[:, :k]
    want = np.concatenate([fa[i:j] @ of.T for i, j, of in zip(ends, ends[1:], fb if parts else [fb])])
    if o.get("residual"):
        given["R"] = rng.integers(-9, 9, (m, n)).astype("f2")
        want = want + given["R"]
    if o.get("stream_k"):  # four workers share six tiles
        given.update(partial=np.zeros(1 << 18, "f4"), left=np.zeros(64, "u4"), workers=4, streamed=6)
    if o.get("quantise"):
        given["SD"] = by_columns(np.zeros((m, -(-n // 128))))
    kernel = engine.compile(getattr(sett.kernels, name), target="cpu", **o)
    kernel(*(given[p.name] for p in kernel.params))
    if o.get("quantise"):  # the largest of 128 columns becomes 448
        got, want = given["SD"], abs(np.pad(want, ((0, 0), (0, -n % 128)))).reshape(m, -1, 128).max(2) / 448
    near(f"{name} {options}", got, want)


def products(kind):
    for name, options, shape in PRODUCTS.get(kind, ()):
        product(name, options, *shape)
        enough()
    for n in MIXED if kind == "mixed" else ():
        mixed(*n)
    if DRAWS.get(kind):
        drawn(bench("product_random"), DRAWS[kind], longer)


def longer(one):
    """The same kind of a longer K, and few rows and columns."""
    p = dict(one.problem)
    old, p["k"] = p["k"], 400 + one.number * 8 % 300
    if one.m * p["n"] > 20000:
        return one
    for name, major in (("lda", "a_major"), ("ldb", "b_major")):
        p[name] += 0 if p.get(major) else (p["k"] - old + 127) // 64 * 64 if p["k"] > old else 0
    if p.get("block_scales"):
        p["ldsb"] = -(-p["k"] // 128) + 1
    if "batch_a" in p:
        p["batch_a"] = p["lda"] * (p["k"] if p.get("a_major") else one.max_m)
        p["batch_b"] = p["ldb"] * (p["k"] if p.get("b_major") else p["n"] << p.get("swiglu", 0))
    return one._replace(problem=p)


def mixed(m, n, k):
    """Weights of four bits, all scales 1."""
    bits = rng.integers(0, 256, (n, k // 2)).astype("u1")
    b, sw = sett.pack_weights(bits, np.ones((n, k // 128), "f2").view("u1"), b="i4", dtype="f16")
    low, high = ((x.astype("i1") ^ 8) - 8 for x in (bits & 15, bits >> 4))
    weights = np.stack((low, high), 2).reshape(n, k).astype("f4")
    a, got = rng.integers(-1, 2, (m, k)).astype("f2"), np.zeros((m, n), "f2")
    plan = sett.Product(n, k, "f16", b="i4", group=128, max_m=m, device=engine.default_device, engine=engine)
    plan(a=a, b=b, sw=sw, out=got)
    near(f"mixed {plan.explain(m)}", got, a.astype("f4") @ weights.T)
    got[...] = 0
    kernel = engine.compile(sett.kernels.gemm_wgmma, target="cpu", dtype="f16", b="i4", bm=32, bn=64, clusters=1)  # a block takes several tiles
    kernel(a, b.view("u8").reshape(-1, k // 64, 256).T, sw.view("f2").reshape(-1, k // 128, 64).T, got)
    near("mixed", got, a.astype("f4") @ weights.T)


# Numbers of draws of bench/attention_random.py are found by what they are of.
def attention(kind):
    module = bench("attention_random")
    family, old = (kind[: -len("_mma")], 80) if kind.endswith("_mma") else (kind, 0)
    numbers = [i for i, (f, o) in enumerate(module.KINDS) if f == family and o.get("arch", 0) == old]
    pairs = [i for i in numbers if {"page", "group"} <= set(module.KINDS[i][1]) and module.KINDS[i][1]["dtype"] == "bf16"]

    def change(one):
        """Requests of which one is long and one has no keys: several tiles of keys, and of queries, all by one block."""
        o = one.options
        keys = [700, 0, 130] if o.get("ragged") or o.get("lengths") or o.get("page") else [333, 333]
        rows = [150, 20, 20] if o.get("ragged") else [150 if one.family == "attention" else 3] * len(keys)
        return one._replace(options={**o, "blocks": 1}, heads=one.heads // one.shared, shared=1, rows=rows, keys=keys, prefix=[40, 0, 7][: len(keys)])

    def two_heads(one):
        """Of K and V, and requests of few rows: a warp group takes a head each."""
        group = one.options["group"]
        return one._replace(options={**one.options, "blocks": 1, "rows": 128}, heads=2 * group, shared=2, rows=[30, 3, 5] if one.options.get("ragged") else [4] * 3, keys=[130, 700, 333], prefix=[40, 0, 7])

    drawn(module, numbers[:: max(1, len(numbers) // 14)], change)
    if kind == "attention":
        drawn(module, [i for i in pairs if module.KINDS[i][1]["d"] == 128][:2], two_heads)


def by_rows(_):
    for m, n in ((5, 64), (33, 1000), (7, 4104), (6, 4096)):
        for name, options, arguments, want in rows(m, n):
            got = np.zeros(want.shape, "f4")
            run(name, options, [got if a is None else a for a in arguments])
            near(name, got, want)


def by_tokens(_):
    """Sums along rows, the largest of rows that several blocks have, rows in the order of experts."""
    for m, n in ((3, 70), (2, 5000)):
        x = rng.integers(-3, 4, (m, n)).astype("f4")
        got = np.zeros_like(x)
        run("cumsum", {}, (x, got))
        near("cumsum", got, x.cumsum(1))
    for cols, blocks in ((300, 1), (9000, 2)):
        x, got = some(3, cols), np.zeros(3, "i4")
        run("argmax", {"cols": cols, "blocks": blocks}, (x, got))
        near("argmax", got, x.argmax(1))
    m, top, experts = 150, 3, 20
    ids = rng.integers(0, experts, (m, top)).astype("i4")
    offsets, token, place = np.zeros(experts + 1, "i4"), np.zeros(m * top, "i4"), np.zeros((m, top), "i4")
    engine.compile(sett.kernels.moe_permute, target="cpu", experts=experts, top_k=top, threads=128)(ids, offsets, token, place)
    enough()
    near("moe_permute", token, np.argsort(ids.ravel(), kind="stable") // top)


def by_sums(_):
    for n in (1000, 70001, 4096):
        sums(n)


PARTS = {"rows": by_rows, "sums": by_sums, "tokens": by_tokens, **dict.fromkeys(("wgmma", "promote", "mixed", "mma", "few"), products),
    **dict.fromkeys(("attention", "attention_mma", "attention_decode", "attention_decode_mma", "attention_mla"), attention)}


def main():
    global engine
    engine = sett.Engine(no_gpu=True, cache_dir="")
    for part in sys.argv[1:] or PARTS:
        PARTS[part](part)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
