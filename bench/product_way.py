# SPDX-License-Identifier: Apache-2.0
"""sett's side of the rows of bench/products.py: an engine over a pack that was made before, and a product of one (N,K) for any number of
rows."""

import functools
import os
import tempfile

import torch
from gpu import GPU
from product_sweep import workspace
from product_table import name, shares_of

import sett
from sett._product import kernels_of

OURS = "sett"  # the way that a row is about
PACK = os.environ.get("BENCH_PACK", os.path.join(tempfile.gettempdir(), "products.settpack"))


def sealed(pack):
    """An engine that compiles nothing: a kernel that the pack lacks is an error. On the CPU engine kernels are made from tapes anyhow."""
    return sett.Engine(cache_dir="", cache_layers=[pack], cache_required=True, sealed=True) if GPU else sett.Engine()


class Recorder:
    """An engine that notes the keys of what it compiles, and writes them to a pack in the end."""

    def __init__(self, assembler="auto"):
        self.keys, self.options, self.folder = {}, {}, tempfile.TemporaryDirectory()
        self.engine = sett.Engine(cache_dir=self.folder.name, assembler=assembler)

    def compile(self, family, **options):
        kernel = self.engine.compile(family, **({} if GPU else {"target": "sm_90a"}), **options)
        self.keys[kernel.key], self.options[kernel.key] = kernel, options
        return kernel

    def record(self, n, k, problem):
        """All kernels of a product."""
        for kernel in kernels_of(self.engine, self.engine.target() if GPU else "sm_90a", {"n": n, "k": k, **problem}):
            self.keys[kernel.key] = kernel

    def kernels(self):
        """(options, kernel) of what was compiled by itself."""
        return [(options, self.keys[key]) for key, options in self.options.items()]

    def write(self, path):
        keys = list(self.keys)
        self.keys = {}
        self.engine.close()  # what was compiled is on disk then
        with sett.Engine(cache_dir=self.folder.name) as engine:
            n = engine.write_pack(path, keys)
        self.folder.cleanup()
        return n


def sized(engine, large, small):
    """What a row is of: the second without a GPU, where nothing is recorded for a pack."""
    return large if GPU or isinstance(engine, Recorder) else small


class Product:
    """C = A B^T of one (N,K), its types and its epilogue, for any M up to max_m: a sett.Product. invariant: a row has the same bits for every M."""

    def __init__(self, engine, n, k, dtype="bf16", max_m=8192, early=False, invariant=False, **epilogue):
        self.engine, self.n, self.k, self.max_m = engine, n, k, max_m
        self.problem = {"dtype": dtype, "no_pdl": int(not early), "batch_invariant": int(invariant), **epilogue}
        self.product = None

    def made(self):
        if self.product is None:
            self.product = sett.Product(self.n, self.k, max_m=self.max_m, engine=self.engine, **self.problem)
            self.product.prepare()  # what is captured later allocates nothing
        return self.product

    def kernel(self, m):
        """Loads all of its kernels, whatever m is; a recorder notes them."""
        return self.engine.record(self.n, self.k, self.problem) if isinstance(self.engine, Recorder) else self.made()

    def bind(self, m, a, b, out, residual=None, bias=None, scale_a=None, scale_b=None, qs=None, amax=None, sw=None):
        """A call that launches for these tensors."""
        given = (("r", "residual", residual), ("bias", "bias", bias), ("sa", "block_scales", scale_a), ("sb", "block_scales", scale_b), ("qs", "quantise", qs),
            ("amax", "amax", amax), ("sw", "b", sw))
        terms = {name: value for name, term, value in given if self.problem.get(term)}
        return functools.partial(self.made(), a, b, out, **terms)

    def run(self, m, a, b, out, **more):
        self.bind(m, a, b, out, **more)()


@functools.lru_cache(maxsize=None)
def product_of(engine, n, k, *more, **named):
    return Product(engine, n, k, *more, **named)


class Bound:
    """A product of so many rows, as a way of a cell: sets have .a, .b and, where they are needed, .r, .bias, .sa, .sb, .qs, .amax and .sw. out: the name of what it
    writes."""

    def __init__(self, product, m, out="out"):
        self.product, self.m, self.out = product, m, out

    def kernel(self):
        self.product.kernel(self.m)

    def bind(self, s):
        out = getattr(s, self.out)
        call = self.product.bind(self.m, s.a, s.b, out, *(getattr(s, name, None) for name in ("r", "bias", "sa", "sb", "qs", "amax", "sw")))

        def run():
            call()
            return out

        return run


class Tuned:
    """One kernel of a product, and how a launch deals K to its workers, as a way of a cell: what the choice is compared with."""

    def __init__(self, product, tile, shares):
        self.kernel_ = next(k for k in product.made().kernels() if tile_of(k) == tile)
        self.shares = shares

    def kernel(self):
        pass

    def bind(self, s):
        call = self.kernel_.prepare(s.a, s.b, s.out, *(workspace() + self.shares if self.kernel_._options.get("stream_k") else ()))

        def run():
            call()
            return s.out

        return run


def tile_of(kernel):
    return tuple(kernel._options.get(name, 0) for name in ("bm", "bn", "cluster", "ping_pong"))


def tunings(product, m):
    """{name: (tile, shares)} of all that a product of m rows may take: its kernels, but for those of few rows and whole tiles that are too low or much
    too high, with every way to deal K."""
    every = {}
    for bm, bn, cluster, ping_pong in (tile_of(k) for k in product.made().kernels() if "bm" in k._options):
        config = {"bm": bm, "bn": bn} | ({"cluster": 2} if cluster == 2 else {}) | ({"ping_pong": 1} if ping_pong else {})
        for shares in ("whole",) if ping_pong else ("whole", "split", "two"):
            config["shares"] = shares
            dealt = shares_of(config, m, product.n, product.k)
            if dealt is not None:
                every[name(config)] = (bm, bn, cluster, ping_pong), dealt
    return every


class Mlp:
    """out = h + (silu(n G^T) (n U^T)) D^T, h = x + r, n = rms_norm(h) w: three launches. gate_up is G, then U."""

    EPS = 1e-5

    def __init__(self, engine, m, hidden, inner, early):
        self.norm = engine.compile(sett.kernels.rms_norm, dtype="bf16", cols=hidden, residual=1, no_pdl=int(not early))
        self.gate_up = Product(engine, inner, hidden, early=early, swiglu=1)
        self.down = Product(engine, hidden, inner, early=early, residual=1)
        self.m, self.inner = m, inner

    def kernel(self):
        self.gate_up.kernel(self.m), self.down.kernel(self.m)

    def bind(self, s):
        m, h, n = self.m, torch.empty_like(s.x), torch.empty_like(s.x)
        g = torch.empty(m, self.inner, dtype=s.x.dtype, device=s.x.device)
        calls = [self.norm.prepare(s.x, s.r, s.norm, h, n, self.EPS), self.gate_up.bind(m, n, s.gate_up, g), self.down.bind(m, g, s.down, s.out, residual=h)]

        def run():
            for call in calls:
                call()
            return s.out

        return run
