# SPDX-License-Identifier: Apache-2.0
"""Random attentions by sett_attention, sett_attention_decode and sett_attention_mla beside Float64: types, head sizes, masks, scores, requests of any length, pages in
random order, strides; what is not a request's is NaN. On a GPU with PyTorch, by a sealed engine and a pack that was made before; without a GPU
small ones with NumPy on the CPU engine, in all its orders, whose bits are the same.

Wrong is an element of O that is further from Float64's than 2^-7 (of bf16), 2^-10 (f16) or 2^-3 (f8E4M3FN) of the largest |V| that the query
sees, and a logarithm further than 2^-12 (1 + |lse|). Two things move scores by more than that, and by as much both bounds grow: tensor cores
keep 13 bits of sums of fp8 (F8_SUMS), and tanh.approx, of .softcap without .exact, is right to 2^-10.98 of itself (TANH). A row that sees
nothing is 0 and -infinity, exactly.

A draw is its seed and number alone: --only NUMBER repeats it."""

import collections
import math
import os
import random
import sys
import tempfile
import time
from typing import NamedTuple

from random_problems import E4, TYPE, Array, Device, arguments, every, has_gpu, judged, numbers_of, sealed, up, write_pack

import sett

PACK = os.path.join(tempfile.gettempdir(), "attention-random.settpack")
MOST_KERNELS, BITS, FAR = 220, 600, 1 << 28  # FAR: no page
BOUND = {"bf16": 2**-7, "f16": 2**-10, E4: 2**-3}
F8_SUMS, TANH = 2**-13, 2**-10.98

# Every two values of two lines stand together in some kind.
SCORES = ({}, {"softcap": 1}, {"alibi": 1})
MASKS = ({}, {"causal": 1}, {"window": 1}, {"causal": 1, "window": 1}, {"prefix": 1})
PREFILL = (
    ({"dtype": "bf16", "d": 64}, {"dtype": "f16", "d": 96}, {"dtype": "bf16", "d": 128}, {"dtype": "f16", "d": 128}, {"dtype": "bf16", "d": 192, "dv": 128},
        {"dtype": "f16", "d": 192}, {"dtype": "bf16", "d": 256}, {"dtype": E4, "d": 64}, {"dtype": E4, "d": 128, "scaled": 1, "out": "f16"}, {"dtype": E4, "d": 256, "scaled": 1}),
    ({}, {"ragged": 1}, {"page": 16}, {"page": 64}, {"ragged": 1, "page": 48}, {"ragged": 1, "page": 256}),
    MASKS, SCORES, ({}, {"dynamic": 1}, {"blocks": 3}, {"dynamic": 1, "blocks": 3, "rows": 64}), ({}, {"group": 2}, {"group": 8}), ({}, {"exact": 1}), ({}, {"lse": 1}), ({}, {"sinks": 1}), ({}, {"scale": 1}))
DECODE = (
    ({"dtype": "bf16", "d": 64}, {"dtype": "bf16", "d": 128}, {"dtype": "f16", "d": 128}, {"dtype": "f16", "d": 256}, {"dtype": "bf16", "d": 128, "kv": E4, "scaled": 1},
        {"dtype": "f16", "d": 64, "kv": E4}, {"dtype": "bf16", "d": 256, "kv": E4, "scaled": 1}),
    ({}, {"lengths": 1}, {"page": 16}, {"page": 48}, {"page": 64}, {"page": 256}),
    MASKS, SCORES, ({}, {"rows": 32}, {"rows": 64}), ({}, {"blocks": 3}), ({}, {"split": 256}), ({}, {"exact": 1}), ({"lse": 1}, {}), ({}, {"sinks": 1}), ({}, {"scale": 1}))

# What targets from sm_80 on have, by mma.sync and cp.async.
OF_80 = ({"arch": 80},)
PREFILL_80 = (OF_80, ({"dtype": "bf16", "d": 64}, {"dtype": "f16", "d": 96}, {"dtype": "bf16", "d": 128}, {"dtype": "f16", "d": 192, "dv": 128}, {"dtype": "bf16", "d": 256}),
    ({}, {"ragged": 1}, {"page": 16}, {"ragged": 1, "page": 48}), MASKS, SCORES, ({}, {"dynamic": 1}, {"blocks": 3}), ({}, {"group": 4}), ({}, {"exact": 1}), ({"lse": 1}, {}), ({}, {"sinks": 1}))
DECODE_80 = (OF_80, ({"dtype": "bf16", "d": 64}, {"dtype": "f16", "d": 128}, {"dtype": "bf16", "d": 256}), ({}, {"lengths": 1}, {"page": 16}, {"page": 48}), MASKS, SCORES,
    ({}, {"rows": 32}, {"rows": 64}), ({}, {"blocks": 3}), ({}, {"exact": 1}), ({"lse": 1}, {}), ({}, {"sinks": 1}))
LATENT = ({"dtype": "bf16"}, {"dtype": "f16"}), ({}, {"lengths": 1}, {"page": 16}, {"page": 48}), ({}, {"causal": 1}), ({}, {"window": 1}), ({}, {"blocks": 3}), ({}, {"split": 128}), ({}, {"exact": 1}), ({"lse": 1}, {}), ({}, {"sinks": 1})
WIDTHS = 576, 512  # of Q and K, and of V and O, which has K's first columns


def together(lines, seed):
    """Options such that every two values of two lines stand together in some: each is the best of a few that were made greedily."""
    rng, of = random.Random(seed), range(len(lines))
    left = {(a, i, b, j) for a in of for b in of if a < b for i in range(len(lines[a])) for j in range(len(lines[b]))}
    kinds = []

    def new(row, a, i):
        return sum(((a, i, b, j) if a < b else (b, j, a, i)) in left for b, j in row.items())

    def row_of(first):
        row = {first[0]: first[1], first[2]: first[3]}
        for a in sorted(set(of) - set(row), key=lambda a: rng.random()):
            row[a] = max(range(len(lines[a])), key=lambda i: (new(row, a, i), rng.random()))
        return row

    while left:
        some = sorted(left)
        rows = [row_of(some[int(rng.random() * len(some))]) for _ in range(8)]
        row = max(rows, key=lambda row: sum(new(row, a, i) for a, i in row.items()))
        left -= {(a, row[a], b, row[b]) for a in of for b in of if a < b}
        kinds.append({name: value for a in of for name, value in lines[a][row[a]].items()})
    for one in kinds:  # the library refuses it
        if one["dtype"] == E4 and one.get("d") == 256 and one.get("exact") and one.get("softcap"):
            del one["exact"]
    return kinds


KINDS = [(family, one) for family, lines in (("attention", PREFILL), ("attention_decode", DECODE), ("attention_mla", LATENT), ("attention", PREFILL_80), ("attention_decode", DECODE_80)) for one in together(lines, 6)]


# ---- draws -------------------------------------------------------------------------------------------------------------
class Draw(NamedTuple):
    number: int
    family: str
    options: dict
    heads: int
    shared: int
    rows: list  # of each request
    keys: list
    prefix: list
    window: int
    cap: float
    scale: float
    size: float  # of elements of Q and K
    one_scale: bool  # of all heads
    spare: int  # rows and keys that no request has; of ragged ones, before the first
    seed: int

    @property
    def kv(self):
        return self.options.get("kv", self.options["dtype"])

    @property
    def latent(self):
        return self.family == "attention_mla"

    @property
    def widths(self):
        """Columns of Q and K, and of V and O."""
        return WIDTHS if self.latent else (self.options["d"], self.options.get("dv", self.options["d"]))


def draw(seed, number, large):
    """The problem of a number: large, as a GPU has it, or small."""
    rng = random.Random(f"{seed} {number}")
    family, options = KINDS[number % len(KINDS)]
    decode, page = family != "attention", options.get("page", 0)
    uneven_rows, uneven_keys = options.get("ragged"), options.get("ragged") or page or options.get("lengths")
    most_requests, most_pairs = (8, 4e7) if large else (3, 1e6)

    def extent(most, rare):
        return round(math.exp(rng.uniform(0, math.log(rare if rng.random() < 0.1 else most))))

    def length(most, rare):
        n = 0 if rng.random() < 0.12 else extent(most, rare)
        return n // page * page + rng.choice((0, 1)) if page and rng.random() < 0.3 else n  # at an edge of a page

    def rows():
        return rng.choice((1, 1, 1, 2, 3, 8)) if decode else length(*((500, 4000) if large else (150, 400)))

    def keys():
        return length(*((2000, 30000) if decode else (800, 8000)) if large else (200, 1500 if decode else 500))

    requests = 0 if not decode and rng.random() < 0.03 else extent(most_requests, most_requests)
    shared, group = rng.choice((1, 2, 3, 4) if large else (1, 2)), rng.choice((1, 1, 2, 4, 8) if large or decode else (1, 2))
    group = options.get("group", rng.choice((4, 16, 128)) if large and family == "attention_mla" else group)
    same_rows, same_keys = rows(), keys()
    row_of = [rows() if uneven_rows else same_rows for _ in range(requests)]
    key_of = [keys() if uneven_keys else same_keys for _ in range(requests)]
    while requests > 1 and requests * shared * group * max(row_of) * max(key_of) > most_pairs:
        requests = requests // 2
        row_of, key_of = row_of[:requests], key_of[:requests]
    prefix = [length(100, 1000) for _ in range(requests)]
    return Draw(number, family, options, shared * group, shared, row_of, key_of, prefix, rng.choice((2**31 - 1, 1, extent(200, 2000), extent(200, 2000))), rng.choice((1.0, 4.0, 30.0)),
        rng.choice((0.02, 0.1, 0.3)), rng.choice((0.3, 1, 1, 2)), rng.random() < 0.3, rng.choice((0, 0, 1, 40)), rng.getrandbits(31))


# ---- operands --------------------------------------------------------------------------------------------------------------
class Rows:
    """Rows of all requests, of heads: where number j of request r lies is (outer[r,j], row[r,j]) of an array (outer,heads,rows,columns) whose
    modes lie in any order. Requests have as many rows as `is_one` says; what else the array has is NaN."""

    def __init__(self, xp, t, shape, place, rng, flat, in_row=False):
        step = max(1, 16 // TYPE[t].bytes)
        strides, n, order = [0, 0, 0, 1], shape[3], [0, 1] if in_row else [0, 1, 2]
        if in_row:  # rows lie beside each other
            strides[2], n = 1, shape[2]
        rng.shuffle(order)
        for mode in order:
            strides[mode] = up(n, step) + step * rng.choice((0, 0, 1, 3))
            n = strides[mode] * max(shape[mode], 1)
        self.xp, self.flat, self.in_row, self.shape = xp, flat, in_row, shape
        self.outer, self.row, self.is_one = place
        self.array = Array(xp, t, shape, strides, 16 * rng.choice((0, 0, 1, 3)))

    def put(self, values):
        """(requests,heads,most rows,columns)."""
        every = self.xp.full(self.shape, math.nan)
        every[self.outer[self.is_one], :, self.row[self.is_one]] = values.swapaxes(1, 2)[self.is_one]
        self.array.put(every)

    def get(self, of=None):
        """The same, with zeros for rows that a request does not have; or of `bits`."""
        if 0 in self.shape:  # there may be places, of rows that no request has
            return self.xp.full((len(self.outer), self.shape[1], self.outer.shape[1], self.shape[3]), 0.0)
        every = (self.array.get() if of is None else of)[self.outer, :, self.row]
        return self.xp.math.where(self.is_one[:, :, None, None], every, 0).swapaxes(1, 2)

    def wipe(self):
        self.array.bits[self.outer[self.is_one], :, self.row[self.is_one]] = -1

    def given(self):
        view = self.array.view[0] if self.flat else self.array.view
        return self.xp.given(view[..., 0] if self.in_row else view, self.array.t)


class Case:
    """The operands of a draw, and what becomes of them. values: (Q, K, V) by requests in place of random ones."""

    def __init__(self, xp, drawn, values=None):
        self.xp, self.drawn, o = xp, drawn, drawn.options
        self.rng = rng = random.Random(drawn.seed)
        xp.seed(drawn.seed)
        self.vectors, requests, self.most_rows, self.most_keys = {}, len(drawn.rows), max(drawn.rows, default=0), max([1, *drawn.keys])
        (d, dv), kv, ragged, pages = drawn.widths, drawn.kv, bool(o.get("ragged")), bool(o.get("page"))
        out = o.get("out", "bf16" if o["dtype"] == E4 else o["dtype"])
        total, flat_keys = drawn.spare + sum(drawn.rows) + drawn.spare, ragged and not pages
        of_rows, of_keys = self.place_of_rows(), self.place_of_pages() if pages else self.place_of_keys()
        outer, height = (1, total) if ragged else (requests, self.most_rows)
        k_outer, k_height = (self.pool, o["page"]) if pages else (1, drawn.spare + sum(drawn.keys) + drawn.spare) if ragged else (requests, max(drawn.keys, default=0) + (drawn.spare if o.get("lengths") else 0))
        self.q = Rows(xp, o["dtype"], (outer, drawn.heads, height, d), of_rows, rng, ragged)
        self.out = Rows(xp, out, (outer, drawn.heads, height, dv), of_rows, rng, ragged)
        self.lse = Rows(xp, "f32", (outer, drawn.heads, height, 1), of_rows, rng, ragged, True)
        self.k = Rows(xp, kv, (k_outer, drawn.shared, k_height, d), of_keys, rng, flat_keys)
        self.v = Rows(xp, kv, (k_outer, drawn.shared, k_height, dv), of_keys, rng, flat_keys)
        if values is None:
            q, k, v = (xp.normal((requests, *shape)) for shape in ((drawn.heads, self.most_rows, d), (drawn.shared, self.most_keys, d), (drawn.shared, self.most_keys, dv)))
            values = q * drawn.size, k * drawn.size, v
        for operand, x in zip((self.q, self.k, self.v), values):
            operand.put(x)
        self.numbers(requests)

    # ---- where rows are
    def place_of_rows(self):
        d = self.drawn
        i, n = self.xp.ints(range(self.most_rows)), self.xp.ints(d.rows)
        first = self.first_of("QOFFSETS", d.rows) if d.options.get("ragged") else None
        return self.place(i, n, first)

    def place_of_keys(self):
        d = self.drawn
        j, n = self.xp.ints(range(self.most_keys)), self.xp.ints(d.keys)
        return self.place(j, n, self.first_of("KOFFSETS", d.keys) if d.options.get("ragged") else None)

    def place(self, i, n, first):
        is_one = i[None] < n[:, None]
        if first is None:
            return self.xp.ints(range(len(n)))[:, None] + 0 * i[None], i[None] + 0 * n[:, None], is_one
        return 0 * (first[:, None] + i[None]), self.xp.math.where(is_one, first[:, None] + i[None], 0), is_one

    def first_of(self, name, lengths):
        first = [self.drawn.spare]
        for n in lengths:
            first.append(first[-1] + n)
        self.vector(name, "i32", first)
        return self.xp.ints(first[:-1])

    def place_of_pages(self):
        """Pages in random order; what the table has behind those of a request is no page."""
        d, page = self.drawn, self.drawn.options["page"]
        count = [-(-n // page) for n in d.keys]
        self.pool, self.columns = sum(count) + self.rng.choice((0, 2)), max([1, *count]) + self.rng.choice((0, 1, 5))
        free = list(range(self.pool))
        self.rng.shuffle(free)
        table = [[free.pop() if j < n else FAR for j in range(self.columns)] for n in count]
        self.table = Array(self.xp, "i32", (len(count), self.columns), (self.columns + self.rng.choice((0, 3)), 1))
        self.table.put(self.xp.ints(table).reshape(len(count), self.columns) + 0.0)
        j = self.xp.ints(range(self.most_keys))
        is_one = j[None] < self.xp.ints(d.keys)[:, None]
        outer = self.xp.ints(table).reshape(len(count), self.columns)[:, j // page]
        return self.xp.math.where(is_one, outer, 0), j[None] % page + 0 * outer, is_one

    # ---- vectors and numbers
    def vector(self, name, t, values):
        self.vectors[name] = Array(self.xp, t, (len(values),), (1,))
        self.vectors[name].put(self.xp.floats(values))

    def repeated(self, name, value, n):
        """A stride of 0."""
        self.vector(name, "f32", [value])
        array = self.vectors[name]
        array.view = self.xp.view(array.raw, 0, self.xp.stored["f32"], 4, (n,), (0,))

    def numbers(self, requests):
        d, rng = self.drawn, random.Random(f"{self.drawn.seed} numbers")  # the same however operands lie
        for name, n in (("QSCALES", d.heads), ("KSCALES", d.shared), ("VSCALES", d.shared)):
            values = [rng.choice((0.25, 0.5, 1.0, 1.3)) for _ in range(n)]
            if d.one_scale:
                self.repeated(name, values[0], n)
            else:
                self.vector(name, "f32", values)
        self.vector("SLOPES", "f32", [2.0 ** -rng.choice((1, 2, 4, 8)) for _ in range(d.heads)])
        self.vector("SINKS", "f32", [rng.choice((-math.inf, *[3 * rng.gauss(0, 1)] * 9)) for _ in range(d.heads)])
        self.vector("PREFIX", "i32", d.prefix), self.vector("KEYS", "i32", d.keys)
        self.vector("NEXT", "i32", [0, 0])
        if d.family != "attention":
            keys = self.columns * d.options["page"] if d.options.get("page") else self.k.shape[2]
            partial, left = getattr(sett.kernels, d.family + "_workspace")(requests, d.heads, d.shared, d.rows[0], max(1, keys), **d.options)
            self.vectors["PARTIAL"] = Array(self.xp, "f32", (partial,), (1,))
            self.vector("LEFT", "i32", [0] * left)

    def arguments(self):
        o, d, decode = self.drawn.options, self.drawn, self.drawn.family != "attention"
        args = [x.given() for x in (self.q, self.k, *([] if d.latent else [self.v]), self.out)]
        ragged, page = o.get("ragged"), o.get("page")
        lengths = [page, "KEYS"] if page else [o.get("lengths"), "KEYS"]
        scales = [[o.get("scaled"), name] for name in ("QSCALES", "KSCALES", "VSCALES")][decode:]
        where = [[page, self.table.view if page else None], lengths]
        masks = [[o.get("scale") or d.latent, d.scale], [o.get("window"), d.window], [o.get("prefix"), "PREFIX"], [o.get("softcap"), d.cap], [o.get("alibi"), "SLOPES"], [o.get("sinks"), "SINKS"], [o.get("lse"), self.lse.given()]]
        first = scales + where if decode else [[ragged, "QOFFSETS"], [ragged and not page, "KOFFSETS"], *where, *scales]
        last = [[decode, "PARTIAL"], [decode, "LEFT"]] if decode else [[o.get("dynamic"), "NEXT"]]
        for is_one, what in first + masks + last:
            if is_one:
                view = self.vectors[what].view if isinstance(what, str) else what
                args.append(sett.view(view, "u32") if isinstance(what, str) and what == "LEFT" else view)
        return args

    def arrays(self):
        """All that both machines have of a draw."""
        return [x.array for x in (self.q, self.k, self.v)] + list(self.vectors.values()) + ([self.table] if self.drawn.options.get("page") else [])

    def wipe(self):
        self.out.wipe(), self.lse.wipe()

    # ---- what is right
    def value(self, name):
        return self.vectors[name].get()

    def check(self):
        """(what is wrong or None, the most of a bound that an error has)."""
        xp, d, o, m = self.xp, self.drawn, self.drawn.options, self.xp.math
        group, requests = d.heads // d.shared, len(d.rows)
        q, k = self.q.get(), self.k.get()
        v = k[..., : d.widths[1]] if d.latent else self.v.get()
        unit = d.scale if o.get("scale") or d.latent else o["d"] ** -0.5
        if o.get("scaled"):
            v = v * self.value("VSCALES")[:, None, None]
            k = k * self.value("KSCALES")[:, None, None]
            q = q * self.value("QSCALES")[:, None, None] if d.family == "attention" else q
        by_shared = (requests, d.shared, group * self.most_rows, -1)
        by_heads = (requests, d.heads, self.most_rows, -1)

        def products(f):
            return (f(q).reshape((*by_shared[:3], d.widths[0])) @ f(k).swapaxes(2, 3)).reshape((*by_heads[:3], self.most_keys)) * unit

        own = xp.ints(range(self.most_rows))[None, :, None] + (xp.ints(d.keys) - xp.ints(d.rows))[:, None, None]
        key = xp.ints(range(self.most_keys))[None, None]
        sees = self.seen(own, key)[:, None]  # (requests,1,rows,keys)
        score, error = products(lambda x: x), xp.full((1, 1, 1), 0.0)
        if d.family == "attention" and o["dtype"] == E4:
            error = (o["d"] / 32 + 4) * F8_SUMS * xp.most(m.where(sees, products(abs), 0.0))
        if o.get("softcap"):
            score = d.cap * m.tanh(score / d.cap)
            error = error + (0 if o.get("exact") else TANH) * xp.most(m.where(sees, abs(score), 0.0))
        if o.get("alibi"):
            score = score - self.value("SLOPES")[:, None, None] * abs(own - key)[:, None]
        score = m.where(sees, score, -math.inf)
        level = xp.most(score)
        if o.get("sinks"):
            sink = self.value("SINKS")[:, None] + 0 * m.where(level > -math.inf, level, 0.0)
            level = m.maximum(level, sink)
        base = m.where(level > -math.inf, level, 0.0)
        weights = m.exp(score - base[..., None])
        total = weights.sum(-1)
        if o.get("sinks"):
            total = total + m.exp(sink - base)
        some = m.where(total > 0, total, 1.0)
        out = (weights.reshape((*by_shared[:3], self.most_keys)) @ v).reshape((*by_heads[:3], v.shape[-1])) / some[..., None]
        largest = xp.most(m.where(sees, xp.most(abs(v))[:, :, None], 0.0))[:, :, None] + xp.full((1, 1, group, 1), 0.0)
        largest = largest.reshape(by_heads[:3])
        said = [self.compared("O", self.out, out, (largest * (BOUND[o["dtype"]] + m.exp(2 * error) - 1))[..., None] + TYPE[self.out.array.t].u * TYPE[self.out.array.t].least)]
        if o.get("lse"):
            lse = m.where(total > 0, base + m.log(some), -math.inf)
            said.append(self.compared("LSE", self.lse, lse[..., None], (2**-12 * (1 + abs(base + m.log(some))) + error)[..., None]))
        for name in ("NEXT", "LEFT"):
            if name in self.vectors and bool((self.value(name) != 0).any()):
                return f"{name} is not left as 0", 0.0
        return max(said, key=lambda one: (one[0] is not None, one[1]))

    def seen(self, own, key):
        d, o = self.drawn, self.drawn.options
        sees = key < self.xp.ints(d.keys)[:, None, None]
        first = key < self.xp.ints(d.prefix)[:, None, None] if o.get("prefix") else None
        sees = sees & (own == own)
        if o.get("window"):
            sees = sees & (abs(own - key) < d.window)
        if o.get("causal") or o.get("prefix"):
            before = key <= own
            sees = sees & (before if first is None else before | first)
        return sees

    def compared(self, name, of, want, bound):
        """Rows that a request does not have are 0 on both sides."""
        m, got, is_one = self.xp.math, of.get(), of.is_one[:, None, :, None]
        other = is_one & (got != want)  # -infinity is equal to itself alone
        off = abs(m.where(other, got, 0.0) - m.where(other, want, 0.0))
        return judged(self.xp, name, off, bound + 0 * off, got, want)


# ---- runs ---------------------------------------------------------------------------------------------------------------
made: dict = {}  # kernels by engine, family and options


def launch(engine, case):
    drawn = case.drawn
    key = id(engine), drawn.family, tuple(sorted(drawn.options.items()))
    if key not in made:
        made[key] = engine.compile(getattr(sett.kernels, drawn.family), **drawn.options)
    made[key](*case.arguments())


def run(xp, engines, drawn):
    """The same in each engine: (what is wrong or None, the most of a bound)."""
    case, first, said = Case(xp, drawn), None, (None, 0.0)
    for name, engine in engines:
        case.wipe()
        launch(engine, case)
        if first is None:
            first = [xp.clone(x.array.raw) for x in (case.out, case.lse)]
            said = case.check()
        elif not all(xp.same_bytes(was, x.array.raw) for was, x in zip(first, (case.out, case.lse))):
            return f"the bits in order {name} are others than in {engines[0][0]}", said[1]
        if said[0]:
            return said
    case.wipe()
    for name, x in (("O", case.out), ("LSE", case.lse)):
        if not x.array.is_wiped():
            return f"{name}: what lies between its rows was written", said[1]
    return said


def same_bits(devices, engines, drawn):
    """Of what both machines write, the names whose bytes differ: the same draw on the CPU engine, and on the GPU."""
    host, device = (Case(xp, drawn) for xp in devices)
    for a, b in zip(host.arrays(), device.arrays()):
        b.raw.copy_(a.raw)
    for case, engine in zip((host, device), engines):
        launch(engine, case)
    return [name for name, a, b in (("O", host.out, device.out), ("LSE", host.lse, device.lse)) if not host.xp.torch.equal(a.array.raw, b.array.raw.cpu())]


def compare(seed, count, pack):
    """Small draws of .exact kernels, whose bits are the same everywhere, by the GPU and by the CPU engine."""
    began, differ = time.monotonic(), collections.Counter()
    exact = [i for i, (_, options) in enumerate(KINDS) if options.get("exact")]
    engines = sett.Engine(no_gpu=True, cache_dir=""), sealed(pack)
    for i in range(count):
        drawn = draw(seed, i // len(exact) * len(KINDS) + exact[i % len(exact)], False)
        names = same_bits((Device("cpu"), Device()), engines, drawn)
        if names:
            differ[i % len(exact)] += 1
            if differ[i % len(exact)] == 1:
                print(f"{drawn} of seed {seed}: {', '.join(names)} of the GPU has other bits", file=sys.stderr)
    for i, n in differ.most_common():
        print(f"  {n} of {len(range(i, count, len(exact)))} differ: {KINDS[exact[i]]}")
    print(f"random: {count} attentions of {len(exact)} exact kinds, seed {seed}, by the GPU and by the CPU engine, {time.monotonic() - began:.0f} s: the bits of {sum(differ.values())} differ")
    sys.exit(bool(differ))


def jobs_of(kinds):
    return [(f"{options}", compiler_of(family, options)) for family, options in kinds]


def compiler_of(family, options):
    return lambda engine: engine.compile(getattr(sett.kernels, family), target="sm_90a", **options)


def main(words):
    p = arguments("bench/attention.py random", PACK)
    p.add_argument("--bits", action="store_true", help="small draws of .exact kernels on the GPU and on the CPU engine: the same bits?")
    o = p.parse_args(words)
    gpu = not o.write and has_gpu()
    if o.write:
        from attention_invariant import kinds

        return write_pack(o.pack, MOST_KERNELS, jobs_of(KINDS + kinds()), True)
    if o.bits:
        return compare(o.seed, o.count or BITS, o.pack) if gpu else sys.exit("random --bits: no GPU to compare with")
    return every("attentions", KINDS, o.seed, numbers_of(o.count or (5000 if gpu else 1000), o.only), draw, run, o.pack)
