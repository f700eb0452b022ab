# SPDX-License-Identifier: Apache-2.0
"""The bits of a query depend on its own request and the options alone. Requests of random batches by sett_attention, sett_attention_decode and
sett_attention_mla are computed again: alone, in another batch, with pages and without, by other blocks, and, where queries stand beside their
keys, some queries of a request by themselves, as chunks of a prompt are. All bits of O and of the logarithm are the same. On a GPU by a sealed
engine and the pack of bench/attention.py random --write; without one small ones on the CPU engine, in the orders lazy and random:SEED."""

import random
import sys
import time

from attention_random import PACK, Case, Draw, launch
from random_problems import E4, Device, Host, has_gpu, in_orders, sealed, seeded

import sett

# What a kernel is of, and how its requests may lie: the first is the batch that others are compared with.
PREFILL = ({"dtype": "bf16", "d": 128, "causal": 1}, {"dtype": "f16", "d": 64, "window": 1, "softcap": 1, "sinks": 1}, {"dtype": "bf16", "d": 192, "dv": 128, "alibi": 1},
    {"dtype": "bf16", "d": 256, "causal": 1, "window": 1}, {"dtype": E4, "d": 128, "scaled": 1, "prefix": 1})
# Of small splits, so that requests have more than are combined at once.
DECODE = ({"dtype": "bf16", "d": 128, "split": 64}, {"dtype": "f16", "d": 64, "causal": 1, "window": 1, "rows": 32, "sinks": 1, "split": 128},
    {"dtype": "bf16", "d": 128, "kv": E4, "scaled": 1, "prefix": 1, "softcap": 1, "split": 128})
DECODES = {"lengths": 1}, {}, {"page": 16}, {"page": 64, "blocks": 3}
WAYS = {"attention": ({"ragged": 1, "dynamic": 1}, {}, {"page": 16}, {"ragged": 1, "page": 48, "blocks": 3}), "attention_decode": DECODES, "attention_mla": DECODES}
BASES = [("attention", one) for one in PREFILL] + [("attention_decode", one) for one in DECODE] + [("attention_mla", {"dtype": "bf16", "causal": 1, "sinks": 1, "split": 64})]


def kinds():
    """(family, options) of all kernels."""
    return [(family, {**base, **way, "lse": 1}) for family, base in BASES for way in WAYS[family]]


def batch(seed, number, large):
    """The requests of a number, as the first way has them."""
    rng = random.Random(f"{seed} {number}")
    family, base = BASES[number % len(BASES)]
    most = (600, 2000) if large else (100, 200)
    if family != "attention":
        most = (most[0], 4 * most[1])

    def length(most):
        return 0 if rng.random() < 0.1 else rng.randrange(1, most)

    requests, shared = rng.randrange(2, 6), rng.choice((1, 2))
    queries = rng.choice((1, 2, 5))
    rows = [queries if family != "attention" else length(most[0]) for _ in range(requests)]
    keys = [length(most[1]) for _ in range(requests)]
    return Draw(number, family, {**base, **WAYS[family][0], "lse": 1}, shared * rng.choice((1, 2, 4)), shared, rows, keys, [length(most[1]) for _ in range(requests)], rng.randrange(1, most[1]), 4.0,
        0.1, 1, rng.random() < 0.3, rng.choice((0, 7)), rng.getrandbits(31))


def bits(xp, engine, case):
    """Of O and of the logarithm, by requests."""
    launch(engine, case)
    return case.out.get(case.out.array.bits), case.lse.get(case.lse.array.bits)


def some(xp, drawn, values, way, requests, first=0, last=None):
    """The same requests, in another order or fewer, another way. first, last: queries of the one request, whose keys end where those of the last query do."""
    last = drawn.rows[requests[0]] if last is None else last
    rows = [drawn.rows[r] for r in requests]
    cut = rows[0] - last
    keys = [drawn.keys[r] - cut for r in requests]
    q, k, v = (x[xp.ints(requests)] for x in values)
    rows = [last - first] if (first, last) != (0, rows[0]) else rows
    most_rows, most_keys = max(rows), max([1, *keys])
    other = drawn._replace(options={**{name: x for name, x in drawn.options.items() if name not in WAYS[drawn.family][0]}, **way}, rows=rows, keys=keys, prefix=[drawn.prefix[r] for r in requests])
    return Case(xp, other, (q[:, :, first : first + most_rows], k[:, :, :most_keys], v[:, :, :most_keys]))


def others(drawn, rng):
    """(way, requests, first, last) of all that is compared with the batch."""
    family, every = drawn.family, list(range(len(drawn.rows)))
    for way in WAYS[family]:
        dense, uneven = not way.get("page") and not way.get("lengths") and not way.get("ragged"), way.get("ragged") or family != "attention"
        for r in every:
            yield way, [r], 0, drawn.rows[r]
        if uneven and not dense:
            yield way, every[::-1], 0, None
            yield way, rng.sample(every, 2), 0, None
    for r in every if drawn.options.get("causal") or drawn.options.get("prefix") else ():
        rows, keys = drawn.rows[r], drawn.keys[r]
        if rows > 1 and keys > rows:
            first = rng.randrange(rows)
            last = rng.randrange(first, rows) + 1
            if not drawn.options.get("prefix") or drawn.prefix[r] <= keys - (rows - last):  # a chunk has the keys up to its own alone
                yield rng.choice(WAYS[family]), [r], first, last


def run(xp, engine, drawn):
    """(what differs or None, how many were compared)."""
    case = Case(xp, drawn)
    whole, n = bits(xp, engine, case), 0
    values = [x.get() for x in (case.q, case.k, case.v)]
    for way, requests, first, last in others(drawn, random.Random(drawn.seed)):
        part = some(xp, drawn, values, way, requests, first, last)
        for name, a, b in zip(("O", "the logarithm"), whole, bits(xp, engine, part)):
            a = a[xp.ints(requests)][:, :, first : first + b.shape[2]]
            a = a if len(requests) > 1 else a[:, :, : part.drawn.rows[0]]
            if not xp.same_bytes(a, b):
                return f"{name} of requests {requests} from query {first} on as {way or 'dense'} has other bits", n
        n += sum(part.drawn.rows) * drawn.heads
    return None, n


def main(words):
    o = seeded("bench/attention.py invariant", PACK).parse_args(words)
    gpu, began, compared, wrong = has_gpu(), time.monotonic(), 0, 0
    xp = Device() if gpu else Host()
    engines = [("sealed", sealed(o.pack))] if gpu else [x for x in in_orders(o.seed) if x[0] in ("lazy", f"random:{o.seed}")]
    numbers = range(o.count or (400 if gpu else 80)) if o.only is None else [o.only]
    for i in numbers:
        drawn = batch(o.seed, i, gpu)
        for name, engine in engines:
            try:
                why, n = run(xp, engine, drawn)
            except sett.Error as e:
                why, n = str(e), 0
            compared += n
            if why:
                wrong += 1
                print(f"WRONG: batch {i} of seed {o.seed}, {name}, {drawn}: {why}", file=sys.stderr)
    print(f"invariant: {len(numbers)} batches of {len(BASES)} kinds, seed {o.seed}, {compared} rows compared, {time.monotonic() - began:.0f} s: {wrong} wrong")
    sys.exit(wrong > 0)
