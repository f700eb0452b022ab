# SPDX-License-Identifier: Apache-2.0
"""Row `mixed` of bench/attention.py: a step of a server, decodes and a chunk of a prompt, as one launch of sett_attention with .group, beside a launch of
sett_attention_decode and one of sett_attention, without pages and with, by the protocol of product_cells.py. K and V lie by heads, (HK,TK,d)."""

import functools
import time
import types

import torch
from attention_decode_rows import D, HEADS, SHARED, workspace
from attention_rows import clock, exact, normal, picked
from gpu import DEVICE, GPU, say
from graphs import Graph, on_side
from product_cells import GRAPH_MS, protocol
from product_way import Recorder, sealed, sized
from rounds import median, quantile

import sett

ONE, TWO, PAGE = "one launch", "two launches", 16
MUST, GOAL = 1.05, 0.90  # ONE / TWO in time
OTHERS = ({"stages": 2}, {"keys": 64}, {"keys": 96}, {"dynamic": 0})
BLOCKS = (66, 132)  # of decodes alone by tiles of attention: what half of the blocks reach


def make(requests, chunk, keys, heads, shared):
    """requests of one query, and one of `chunk`, all over as many keys."""
    n, rows = requests + 1, requests + chunk
    s = types.SimpleNamespace(q=normal(rows, heads, D), both=normal(2, shared, n, keys, D), out=torch.empty(rows, heads, D, device=DEVICE, dtype=torch.bfloat16))
    s.queries = torch.tensor([*range(n), rows], dtype=torch.int32, device=DEVICE)
    s.offsets = torch.tensor([i * keys for i in range(n + 1)], dtype=torch.int32, device=DEVICE)
    s.lengths = torch.full((n,), keys, dtype=torch.int32, device=DEVICE)
    s.next = torch.zeros(2, dtype=torch.int32, device=DEVICE)
    pages = keys // PAGE
    order = torch.randperm(n * pages, device=DEVICE)
    s.table = order.view(n, pages).int()
    s.pool = torch.empty(2, n * pages, shared, PAGE, D, device=DEVICE, dtype=torch.bfloat16)
    s.pool[:, order] = s.both.view(2, shared, n * pages, PAGE, D).transpose(1, 2)
    return s


def ways(engine, others, requests, chunk, keys, heads, shared):
    """{name: function of a set that gives what launches}."""
    def compiled(family, **more):
        return engine.compile(family, dtype="bf16", d=D, no_pdl=1, **more)

    table = {}
    ones = [("", {})] + [(", " + " ".join(f"{k}={v}" for k, v in more.items()), more) for more in ((*OTHERS, *({"blocks": n} for n in BLOCKS)) if others else ())]
    for title, more in ones:
        for page in (0, PAGE):
            kernel = compiled(sett.kernels.attention, **{"causal": 1, "ragged": 1, "group": HEADS // SHARED, "dynamic": 1, "page": page, **more})

            def one(s, kernel=kernel, page=page, more=more, first=0, last=requests + 1):
                n, keys_of = last + 1, (s.table[first:last], s.lengths[first:last]) if page else (s.offsets[first:last + 1],)
                of = s.pool if page else s.both.view(2, shared, -1, D)
                return kernel.prepare(s.q.transpose(0, 1), of[0], of[1], s.out.transpose(0, 1), s.queries[first:n], *keys_of, *((s.next,) if more.get("dynamic", 1) else ()))

            if "blocks" in more:
                table[f"decodes alone by tiles{title}{', pages' if page else ''}"] = functools.partial(one, last=requests)
                continue
            table[f"{ONE}{title}{', pages' if page else ''}"] = one
            if others and not more:
                table[f"chunk alone by tiles{', pages' if page else ''}"] = functools.partial(one, first=requests)
    for page in (0, PAGE):
        few, many = compiled(sett.kernels.attention_decode, page=page), compiled(sett.kernels.attention, causal=1, dynamic=1, page=page)

        def first(s, few=few, page=page):
            q, out = (x[:requests].unsqueeze(2) for x in (s.q, s.out))
            of = (s.pool[0], s.pool[1], out, s.table[:requests], s.lengths[:requests]) if page else (*s.both.transpose(1, 2)[:, :requests], out)
            return few.prepare(q, *of, *s.workspace)

        def second(s, many=many, page=page):
            q, out = (x[requests:].transpose(0, 1).unsqueeze(0) for x in (s.q, s.out))
            of = (s.pool[0], s.pool[1], out, s.table[requests:], s.lengths[requests:]) if page else (*s.both.transpose(1, 2)[:, requests:], out)
            return many.prepare(q, *of, s.next)

        def both(s, first=first, second=second):
            a, b = first(s), second(s)
            return lambda: (a(), b())

        end = ", pages" if page else ""
        table.update({f"{TWO}{end}": both, f"decodes alone{end}": first, f"chunk alone{end}": second})
    return table


def check(s, shape, name):
    requests, chunk, keys, heads, shared = shape
    at = ([0, requests - 1] if "chunk" not in name else []) + ([requests + i for i in picked(chunk)] if "decodes" not in name else [])
    for row in at:
        i, query = min(row, requests), max(row - requests, 0)
        for h in (0, heads - 1):
            k, v = s.both[:, h * shared // heads, i, :keys - (chunk - 1 - query if i == requests else 0)]
            if not (s.out[row, h].double() - exact(s.q[row, h][None], k, v, [0])[0]).abs().max().item() < 0.02: # of NaN it is false
                raise AssertionError(f"{name}: row {row} is wrong")


def run(only, pack, budget, warm_s, others):
    on_side()
    torch.manual_seed(1)
    engine = sealed(pack)
    shape = requests, chunk, keys, heads, shared = sized(engine, (32, 512, 4096, HEADS, SHARED), (3, 40, 160, 4, 1))
    table = ways(engine, others, *shape)
    s = make(*shape)
    s.workspace = workspace(requests, heads, shared, keys)
    graphs = {}
    for name, bind in table.items():
        if only and name not in only:
            continue
        call = bind(s)
        s.out.fill_(float("nan"))
        call()
        check(s, shape, name)
        graphs[name] = Graph([call], 0.1, GRAPH_MS, look=False)
    seconds = min(warm_s, budget / (4 * len(graphs))) if GPU else 0
    began = time.monotonic()
    times = protocol(graphs, seconds)
    print("| way | us: median (p10..p90) | TB/s of K and V | of two launches |\n| --- | --- | --- | --- |")
    for name, every in times.items():
        all_of = sorted(1000 * ms for one in every for ms in one)
        us = 1000 * median([median(one) for one in every])
        two = TWO + (", pages" if name.endswith("pages") else "")
        ratio = median([median(a) / median(b) for a, b in zip(every, times[two])]) if two in times and name.startswith(ONE) else None
        size = 4 * D * shared * keys * (1 if "chunk" in name else requests if "decodes" in name else requests + 1)
        print(f"| {name} | {us:.1f} ({quantile(all_of, 0.1):.1f}..{quantile(all_of, 0.9):.1f}) | {size / us / 1e6:.2f} | {f'{ratio:.3f}' if ratio else ''}{' SHORT' if ratio and ratio > MUST else ''} |")
    print(f"B{requests} of one query and one of {chunk}, H{heads}/{shared} N{keys} D{D}: at most {MUST}, goal {GOAL}", flush=True)
    say(f"warm for {seconds:.2f} s, {time.monotonic() - began:.0f} s, {clock()}")


def record(recorder):
    """Its kernels, for a pack."""
    ways(recorder, True, 32, 512, 4096, HEADS, SHARED)
