# SPDX-License-Identifier: Apache-2.0
"""The sweep of bench/products.py: every configuration of product_table.CONFIGS and torch.mm (cuBLAS), in each cell, as CSV."""

import concurrent.futures
import functools
import os
import sys
import time

import torch
from gpu import DEVICE, GPU, engine, first_line, say
from graphs import Graph, Pool, device_ms, guess_ms, on_side, turns_of
from product_table import CONFIGS, PEER, ROWS, SHAPES, Time, drawn, head, line, name, pointless, shares_of
from rounds import median, quantile

import sett

ROUNDS, GRAPH_MS = 3, 0.3
WRONG = 2**-6  # of the largest value: two roundings of bf16 that differ are 2^-7 apart
SMALL_SHAPES, SMALL_ROWS, SMALL_CONFIGS = ((256, 192), (136, 72)), (1, 17, 70), ({"bm": 16, "bn": 64}, {"bm": 64, "bn": 128}, {"bm": 64, "bn": 64, "clusters": 8, "shares": "split"})


def compiled(config, early):
    """The kernel of a configuration: keys depend on neither M, N nor K. The error where the library refuses the configuration."""
    options = {key: value for key, value in config.items() if key not in ("family", "shares", "blocks")}
    if "shares" in config:
        options["stream_k"] = 1
    try:
        return engine.compile(getattr(sett.kernels, config.get("family", "gemm_wgmma")), dtype="bf16", no_pdl=int(not early), **options)
    except sett.Error as e:
        return e


def binding(config, kernel):
    """A function that binds a set (.a, .b, .out, .m, .n, .k)."""
    if "shares" not in config:
        return lambda s: kernel.prepare(s.a, s.b, s.out)
    return lambda s: kernel.prepare(s.a, s.b, s.out, *workspace(), *shares_of(config, s.m, s.n, s.k))


@functools.cache
def workspace():
    """What streamed products leave their sums in, one behind the other: of 132 workers tiles of 128 x 256."""
    return torch.empty(132 * 128 * 256, dtype=torch.float32, device=DEVICE), torch.zeros(1024, dtype=torch.uint32, device=DEVICE)


def bindings(configs, early):
    """{name: (config, binding)} of those that the library takes."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        kernels = list(pool.map(lambda config: compiled(config, early), configs))
    for config, kernel in zip(configs, kernels):
        if isinstance(kernel, sett.Error):
            say(f"{name(config)}: {first_line(kernel)}")
    return {name(c): (c, binding(c, k)) for c, k in zip(configs, kernels) if not isinstance(k, sett.Error)}


class Set:
    """The operands of one launch."""

    def __init__(self, m, n, k, data, results):
        self.m, self.n, self.k = m, n, k
        self.a, self.b, self.out = data.take(m, k), data.take(n, k), results.take(m, n)


def size_of(cells):
    """Elements of the two pools: of operands, and of results."""
    most = [0, 0]
    for m, n, k in cells:
        turns = turns_of(2 * (m * k + n * k + m * n))
        most[0], most[1] = max(most[0], turns * (m * k + n * k + 256)), max(most[1], turns * (m * n + 128))
    return most


def off(got, want):
    """How far a result is from the right one, as a share of the largest value; NaN if it has one."""
    return ((got - want).abs().max() / want.abs().max()).item()


def worth_it(config, m, n, k):
    """Small ones are pointless, but for what shares would be of another policy."""
    return not pointless(config, m, n, k) if GPU else "shares" not in config or shares_of(config, m, n, k) is not None


class Sweep:
    def __init__(self, cells, have, early, rounds):
        self.have, self.early, self.rounds, self.wrong = have, early, rounds, 0  # early: begun early, where the peer's are
        operands, results = size_of(cells)
        self.data, self.results = Pool(operands), Pool(results, normal=False)
        self.theirs = []  # Edges of the peer's graphs

    def cell(self, m, n, k):
        """{way: times in us} of a cell."""
        self.data.begin(), self.results.begin()
        sets = [Set(m, n, k, self.data, self.results) for _ in range(turns_of(2 * (m * k + n * k + m * n)))]
        want = sets[0].a @ sets[0].b.T
        guess = guess_ms(m, n, k)
        graphs = {PEER: self.graph(PEER, None, sets, guess, want)}
        have = self.early if self.early and graphs[PEER].early else self.have
        for way, bind in ((way, bind) for way, (config, bind) in have.items() if worth_it(config, m, n, k)):
            try:
                graphs[way] = self.graph(way, bind, sets, guess, want)
            except (sett.Error, RuntimeError) as e:
                say(f"{m} x {n} x {k}: no {way}: {first_line(e)}")
        return {way: [1000 * t for t in times] for way, times in device_ms(graphs, self.rounds).items()}

    def graph(self, way, bind, sets, guess, want):
        calls = [bind(s) if bind else lambda s=s: torch.mm(s.a, s.b.T, out=s.out) for s in sets]
        calls[0]()  # loads what a capture may not load
        sets[0].out.fill_(float("nan")), sets[-1].out.fill_(float("nan"))
        graph = Graph(calls, guess, GRAPH_MS, look=not bind)
        graph.run()
        wrong = off(sets[0].out, want)
        if not wrong < WRONG or sets[-1].out.isnan().any():
            self.wrong += 1
            say(f"WRONG: {sets[0].m} x {sets[0].n} x {sets[0].k}, {way}: off by {wrong:.4f} of the largest value")
        if not bind:
            self.theirs.append(graph.edges)
        return graph


def edges(seen):
    known = [e for e in seen if e.known]
    return f"{sum(e.between_early for e in known)} of {sum(e.between for e in known)} edges between launches are programmatic, in {sum(e.between_early > 0 for e in known)} of {len(known)} graphs"


def sweep(shapes=None, rows=None, out=None, budget=200.0, rounds=ROUNDS, early=False, configs=None, seeds=()):
    began = time.monotonic()
    torch.manual_seed(1)
    on_side()
    shapes, rows = shapes or (SHAPES if GPU else SMALL_SHAPES), rows or (ROWS if GPU else SMALL_ROWS)
    configs = configs or (CONFIGS if GPU else SMALL_CONFIGS)
    have, begun_early = bindings(configs, False), bindings(configs, True) if early else None
    cells = [cell for seed in seeds for cell in drawn(seed)] or [(m, n, k) for n, k in shapes for m in rows]
    doing = Sweep(cells, have, begun_early, rounds)
    device = torch.cuda.get_device_name() if GPU else "CPU engine"
    say(f"{device}, torch {torch.__version__}; {len(cells)} cells, {len(have)} configurations, "
        f"begun {'early (PDL) where torch does' if early else 'plainly'}; kernels and pools {time.monotonic() - began:.1f} s")
    file = open(out, "w") if out else sys.stdout
    print(head(device), file=file)
    done = 0
    for m, n, k in cells:
        if time.monotonic() - began > budget:
            say(f"{budget:.0f} s are over: {len(cells) - done} cells are missing, from {m} x {n} x {k} on")
            break
        for way, us in doing.cell(m, n, k).items():
            print(line(n, k, m, way, Time(median(us), quantile(us, 0.1), quantile(us, 0.9))), file=file)
        file.flush()
        done += 1
    say(f"{done} cells in {time.monotonic() - began:.1f} s. {PEER}: {edges(doing.theirs)}")
    if out:
        file.close()
    if doing.wrong:
        sys.exit(f"{doing.wrong} results are wrong")
