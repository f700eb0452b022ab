# SPDX-License-Identifier: Apache-2.0
"""Random products by sett.Product beside sums of Float64: shapes, strides, majors, types, batches, terms. On a GPU with PyTorch, by a sealed
engine and a pack that was made before; without a GPU small ones with NumPy on the CPU engine, in all its orders, whose bits are the same.

Wrong is what differs by more than u |ref| + e S: u of D's type (below its least normal number as there), S the sum of |a| |b|,
e = (ceil(K / k) + splits + 4) 2^-23 with the k of one instruction; of fp8 2^-13 in its place, and promoted 5 x 2^-13 + ceil(K / 128) 2^-23. A term
changes e S by its derivative, and adds its own rounding. A quarter of what has no curved term is of small integers, whose results are exact, and
sums of i8 are in any case: then D is the reference's nearest, bit by bit.

A draw is its seed and number alone: --only NUMBER repeats it."""

import ctypes
import math
import os
import random
import re
import tempfile
from typing import NamedTuple

from random_problems import E4, E5, TYPE, Array, Host, arguments, every, has_gpu, judged, numbers_of, up, write_pack

import sett
from sett import _c
from sett._product import _library, _values, _Workspace, listed

PACK = os.path.join(tempfile.gettempdir(), "products-random.settpack")
MOST_KERNELS = 300
ONE = 2**-23  # of one operation of Float32, with room

# What kernels are of. align: of operands and rows, in bytes; odd: N is no multiple of that.
TMA = [{"dtype": "bf16"}, {"dtype": "bf16", "batch_invariant": 1, "residual": 1}, {"dtype": "bf16", "batch": 3, "scaled": 1}, {"dtype": "bf16", "swiglu": 1},
    {"dtype": "bf16", "swiglu": 1, "residual": 1, "batch_invariant": 1}, {"dtype": "bf16", "bias": 1, "activation": "gelu_tanh", "aux": 1},
    {"dtype": "bf16", "d": "f32", "alpha": 1, "residual": 1, "beta": 1, "clamp": 1, "softcap": 1}, {"dtype": "f16", "bias": 1, "activation": "relu"}, {"dtype": "f16", "activation": "silu", "batch": 2, "amax": 2},
    {"dtype": E4}, {"dtype": E4, "b": E5, "d": "f16", "scaled": 1}, {"dtype": E5, "b": E4, "d": E4, "scale": 1, "quantise": 1, "amax": 1},
    {"dtype": E5, "d": "f32", "promote": 1, "residual": 1}, {"dtype": E4, "promote": 1, "scaled": 1, "d": E5}, {"dtype": E4, "block_scales": 1}, {"dtype": E4, "block_scales": 1, "swiglu": 1},
    {"dtype": "i8", "scaled": 1}, {"dtype": "i8", "d": "i8", "scale": 1, "quantise": 1},
    {"dtype": "bf16", "d": E4, "quantise": 2, "residual": 1}, {"dtype": E4, "d": E4, "block_scales": 1, "swiglu": 1, "quantise": 2}]
COPIED = [{"dtype": "bf16", "odd": 1}, {"dtype": "bf16", "align": 2}, {"dtype": "bf16", "a_major": 1, "bias": 1}, {"dtype": "bf16", "b_major": 1, "swiglu": 1}, {"dtype": "bf16", "a_major": 1, "b_major": 1, "align": 4, "d": "f32"},
    {"dtype": "bf16", "batch": 2, "align": 8, "residual": 1}, {"dtype": "f16", "align": 4, "activation": "gelu", "aux": 1, "d": "f32"}, {"dtype": "f16", "b_major": 1, "residual": 1, "beta": 1},
    {"dtype": "f16", "a_major": 1, "align": 2, "d": E5}, {"dtype": "f32"}, {"dtype": "f32", "a_major": 1, "residual": 1}, {"dtype": "f32", "a_major": 1, "b_major": 1, "bias": 1, "activation": "silu"},
    {"dtype": "f32", "b_major": 1, "align": 4, "swiglu": 1}, {"dtype": "f32", "batch": 3, "align": 8, "clamp": 1, "scaled": 1}, {"dtype": "f32", "tf32": 1}, {"dtype": "f32", "tf32": 1, "a_major": 1, "residual": 1},
    {"dtype": "f32", "tf32": 1, "b_major": 1, "align": 4, "d": "bf16"}, {"dtype": "f32", "tf32": 1, "batch": 2, "a_major": 1, "b_major": 1, "softcap": 1}, {"dtype": E4, "align": 1}, {"dtype": E5, "b": E4, "a_major": 1, "scaled": 1},
    {"dtype": E4, "b": E5, "b_major": 1, "align": 4, "d": E4, "amax": 1}, {"dtype": E5, "align": 8, "promote": 1, "d": "f32"}, {"dtype": "i8"}, {"dtype": "i8", "align": 1, "scaled": 1, "residual": 1}, {"dtype": "i8", "d": "i8", "a_major": 1},
    {"dtype": "i8", "b_major": 1, "batch": 2, "align": 4}, {"dtype": "i8", "odd": 1, "bias": 1, "d": "f32"}, {"dtype": "f16", "swiglu": 1, "align": 8}, {"dtype": "bf16", "b_major": 1, "align": 2, "alpha": 1, "amax": 2},
    {"dtype": "i8", "a_major": 1, "b_major": 1, "d": "bf16", "scaled": 1, "beta": 1, "residual": 1}, {"dtype": "f32", "tf32": 1, "swiglu": 1, "align": 8}, {"dtype": "f16", "a_major": 1, "b_major": 1, "batch": 2, "clamp": 1},
    {"dtype": E5, "b_major": 1, "align": 2, "d": "f16", "residual": 1}, {"dtype": "bf16", "batch": 4, "pointer_array": 1, "bias": 1, "residual": 1},
    {"dtype": "f16", "batch": 3, "pointer_array": 1, "align": 2, "b_major": 1, "amax": 2, "aux": 1}, {"dtype": "f32", "d": E5, "quantise": 2, "bias": 1, "a_major": 1},
    {"dtype": "bf16", "d": E4, "batch": 2, "pointer_array": 1, "align": 2, "quantise": 2, "activation": "relu"}]
KINDS = TMA + COPIED


# ---- draws -------------------------------------------------------------------------------------------------------------
class Draw(NamedTuple):
    number: int
    problem: dict  # of sett.Product, with all strides
    m: int
    max_m: int
    offset: int  # bytes of operands behind a multiple of 16
    integers: bool
    seed: int


class Size(NamedTuple):
    """Extents are drawn evenly by their logarithm: up to the first, or, one of ten, up to the second."""

    extents: tuple
    k: tuple
    least: int = 1  # of M and N


SMALL, LARGE, WIDE = Size((90, 300), (90, 300)), Size((300, 2000), (300, 2000)), Size((4000, 4000), (160, 1200), 100)
WIDES = 0.2  # of the draws of a GPU have many tiles: the others take small ones


def draw(seed, number, large, wide=False):
    """The problem of a number: large, as a GPU has it, or small; wide: as that, of many tiles."""
    rng = random.Random(f"{seed} {number}")
    kind = KINDS[number % len(KINDS)]
    size = WIDE if wide or (large and rng.random() < WIDES) else LARGE if large else SMALL

    def extent(most, least=1):
        return round(math.exp(rng.uniform(math.log(least), math.log(most[rng.random() < 0.1]))))

    p = {name: value for name, value in kind.items() if name != "odd"}
    t, align = p["dtype"], p.setdefault("align", 16)
    p["b"] = p.get("b", t)
    plain = not any(p.get(name) for name in ("scaled", "alpha", "scale", "bias", "clamp", "quantise", "amax", "activation"))
    p["d"] = p.get("d", t if t in ("f16", "f32") else "i32" if t == "i8" and plain else "bf16")
    beside = beside_of(p["d"])
    m, n, k = extent(size.extents, size.least), extent(size.extents, size.least), extent(size.k)
    step_in, step_out = max(1, align // TYPE[t].bytes), max(1, align // TYPE[p["d"]].bytes)
    n = n // 2 * 2 + 1 if kind.get("odd") else up(n, step_out) if kind in TMA else up(n, step_in) if p.get("b_major") and p.get("swiglu") else n
    max_m, rows_b = m + rng.choice((0, 0, 5, 100)), n << p.get("swiglu", 0)

    def apart(length, step):
        return up(length, step) + step * rng.choice((0, 0, 1, 3))

    def row(length, step):
        """From a row of A or B to the next: of TMA's kinds in turn at a multiple of 64 bytes, and not, as these have tiles of their own."""
        whole, least = max(1, 64 // TYPE[t].bytes), apart(length, step)
        if kind not in TMA:
            return least
        return up(least, whole) if number % len(KINDS) % 2 else least + step * (least % whole == 0)

    p.update(n=n, k=k, lda=row(max_m if p.get("a_major") else k, step_in), ldb=row(rows_b if p.get("b_major") else k, step_in), ldr=apart(n, step_out), ldd=apart(n, step_out),
        ldaux=apart(n, max(1, align // TYPE[beside].bytes)))
    if p.get("block_scales"):
        p["ldsb"] = -(-k // 128) + rng.choice((0, 1, 5))
    if p.get("batch") and not p.get("pointer_array"):
        p.update(batch_a=apart(p["lda"] * (k if p.get("a_major") else max_m), step_in), batch_b=apart(p["ldb"] * (k if p.get("b_major") else rows_b), step_in),
            batch_r=apart(p["ldr"] * max_m, step_out), batch_d=apart(p["ldd"] * max_m, step_out))
    curved = p.get("swiglu") or p.get("softcap") or p.get("activation") not in (None, "relu")
    offset = align if align < 16 and rng.random() < 0.7 else 0
    integers = not curved and (rng.random() < 0.25 or (t == "i8" and not (p.get("scaled") or p.get("scale"))))
    return Draw(number, p, m, max_m, offset, integers, rng.getrandbits(31))


def beside_of(d):
    return d if d in ("f32", "f16", "bf16") else "f32"


# ---- operands and what is right -----------------------------------------------------------------------------------------
class Matrix(Array):
    """(rows,cols), or batches of these, with NaN between the rows and behind them."""

    def __init__(self, xp, t, shape, apart, batch=0, major=0, offset=0):
        strides = [1, apart] if major else [apart, 1]
        super().__init__(xp, t, shape, [batch, *strides] if len(shape) > 2 else strides, max(offset, TYPE[t].bytes) if offset else 0)

    def kept_what_is_between(self):
        """After that its elements are gone."""
        self.bits[...] = -1
        return self.is_wiped()


class Case:
    """The operands of a draw, and what becomes of them."""

    def __init__(self, xp, drawn):
        self.xp, self.drawn, self.p = xp, drawn, drawn.problem
        p, m, n, k, offset = self.p, drawn.m, self.p["n"], self.p["k"], drawn.offset
        xp.seed(drawn.seed)
        many = (p["batch"],) if p.get("batch") else ()
        rows_b, d = n << p.get("swiglu", 0), p["d"]
        self.shape = (*many, m, n)

        def between(name, rows):  # of an array of pointers the problem does not say it
            return up(p["ld" + name] * rows, 16) + 16 if p.get("pointer_array") else p.get("batch_" + name, 0)

        a = Matrix(xp, p["dtype"], (*many, m, k), p["lda"], between("a", k if p.get("a_major") else drawn.max_m), p.get("a_major", 0), offset)
        b = Matrix(xp, p["b"], (*many, rows_b, k), p["ldb"], between("b", k if p.get("b_major") else rows_b), p.get("b_major", 0), offset)
        self.a, self.b = self.factors(a, 1), self.factors(b, k ** -0.5)
        self.which = [i // 2 for i in range(p["batch"])] if p.get("pointer_array") else []  # two products and two share a b
        if self.which:
            self.b = self.b[self.which]
        self.out = Matrix(xp, d, self.shape, p["ldd"], between("d", drawn.max_m), 0, offset)
        self.operands, self.numbers, self.value = {"a": a, "b": b, "out": self.out}, {}, {}
        if p.get("residual"):
            self.have("r", d, self.shape, p["ldr"], between("r", drawn.max_m), offset)
        if p.get("bias"):
            self.have("bias", beside_of(d), (*many, n))
        if p.get("scaled"):
            self.have("sa", "f32", (*many, m)), self.have("sb", "f32", (*many, n))
        for term, name in (("scale", "s"), ("quantise", "qs")):
            if p.get(term) == 1:
                self.have(name, "f32", (1,))
        if p.get("quantise") == 2:
            apart, blocks = up(m, 4) + (0 if self.which else 4), -(-n // 128)
            self.operands["sd"] = Matrix(xp, "f32", (*many, m, blocks), apart, apart * blocks, 1)
        if p.get("block_scales"):
            self.blocks(m, -(-n // 128) << p.get("swiglu", 0), -(-k // 128))
        if p.get("aux"):
            self.operands["aux"] = Matrix(xp, beside_of(d), self.shape, p["ldaux"], p["ldaux"] * drawn.max_m, 0, offset)
        if p.get("amax"):
            self.operands["amax"] = Matrix(xp, "f32", (1, 1) if p["amax"] == 1 else (many or (1,)) + (m,), m)
            self.operands["amax"].put(self.xp.integers(0, 0, self.operands["amax"].view.shape))
        rng = random.Random(drawn.seed)
        for term, names in (("alpha", ["alpha"]), ("beta", ["beta"]), ("softcap", ["cap"]), ("clamp", ["low", "high"])):
            for name in names if p.get(term) else ():
                self.numbers[name] = {"cap": 2.0, "low": -1.0, "high": 1.5}.get(name, rng.choice((0.5, -2.0, 1.0)))

    def factors(self, of, size):
        """Integers small enough that sums, which of fp8 have 13 bits, are exact; of i8 24."""
        if self.p["dtype"] == "i8":
            return of.put(self.xp.integers(-90, 90, of.view.shape))
        if self.drawn.integers:
            return of.put(self.xp.integers(-2, 2, of.view.shape))
        values = self.xp.normal(of.view.shape) * (size if of.t not in (E4, E5) else 1)
        if self.p.get("tf32"):  # numbers of 19 bits, so that nobody cuts
            values = self.cut(values)
        return of.put(values if of.t not in (E4, E5) else values.clip(min=-100, max=100))

    def cut(self, x):
        part, exponent = self.xp.math.frexp(x)
        return (part * 2**11).round() / 2**11 * 2.0**exponent

    def have(self, name, t, shape, apart=0, batch=0, offset=0):
        """An operand of the epilogue: factors are powers of two where results are exact."""
        matrix = Matrix(self.xp, t, shape if len(shape) > 1 else (1, *shape), apart or shape[-1], batch, 0, offset)
        values = self.xp.integers(-1, 1, matrix.view.shape)
        if name in ("r", "bias"):
            values = values * 3 if self.drawn.integers else self.xp.normal(matrix.view.shape)
        else:
            values = 2.0 ** values if self.drawn.integers else abs(self.xp.normal(matrix.view.shape)) + 0.25
        values = matrix.put(values)
        self.operands[name] = matrix
        self.value[name] = values if len(shape) > 1 else values[0]

    def blocks(self, m, rows_b, blocks):
        sa = Matrix(self.xp, "f32", (m, blocks), up(m, 4) + 4, 0, 1)
        sb = Matrix(self.xp, "f32", (rows_b, blocks), self.p["ldsb"])
        self.operands.update(sa=sa, sb=sb)
        a, b = (x.put(2.0 ** self.xp.integers(-1, 2, x.view.shape)) for x in (sa, sb))
        k, n = self.p["k"], self.p["n"]
        of_k = [i // 128 for i in range(k)]
        of_n = [half * (rows_b // 2) + i // 128 for half in range(1 + self.p.get("swiglu", 0)) for i in range(n)]
        self.a, self.b = self.a * a[:, of_k], self.b * b[of_n][:, of_k]

    def given(self):
        """As arguments of a call: vectors without the mode that a Matrix has."""
        many = bool(self.p.get("batch"))
        flat = {"s", "qs"} | (set() if many else {"bias", "amax"}) | ({"amax"} if self.p.get("amax") == 1 else set()) | (set() if many or self.p.get("block_scales") else {"sa", "sb"})
        each = set(self.operands) - flat if self.which else set()
        of = {name: [x.view[i] for i in (self.which if name == "b" else range(len(self.which)))] for name, x in self.operands.items() if name in each}
        given = {name: self.xp.given(x.view[0] if name in flat else x.view, x.t) for name, x in self.operands.items() if name not in each}
        return given | {name: [self.xp.given(one, self.operands[name].t) for one in views] for name, views in of.items()} | self.numbers

    def wiped(self):
        """For another run of the same."""
        for name in ("out", "aux", "sd"):
            if name in self.operands:
                self.operands[name].bits[...] = -1
        if "amax" in self.operands:
            self.operands["amax"].bits[...] = 0

    def error_of_sums(self, splits):
        p, k = self.p, self.p["k"]
        if p.get("promote") or p.get("block_scales"):
            return 5 * 2**-13 + -(-k // 128) * ONE
        if p["dtype"] == "i8":
            return 0
        of = 8 if p.get("tf32") else TYPE[p["dtype"]].k
        return (-(-k // of) + splits + 4) * (2**-13 if p["dtype"] in (E4, E5) else ONE)

    def check(self, splits):
        """(what is wrong or None, the most of its bound that an error has)."""
        p, v, xp = self.p, self.value, self.xp
        product = [f(self.a) @ f(self.b).swapaxes(-1, -2) for f in (lambda x: x, abs)]
        x, e = product[0], self.error_of_sums(splits) * product[1]
        worst = []

        def times(x, e, factor):
            return x * factor, e * abs(factor) + ONE * abs(x * factor)

        if "scaled" in p:
            x, e = times(x, e, v["sa"][..., :, None] * v["sb"][..., None, :])
        for name, factor in (("alpha", self.numbers.get("alpha")), ("scale", v.get("s"))):
            if name in p:
                x, e = times(x, e, factor)
        if "swiglu" in p:
            n = p["n"]
            gate, other = x[..., :n], x[..., n:]
            silu = gate / (1 + xp.math.exp(-gate))
            e = (1.1 * e[..., :n] + 2**-19 * abs(gate)) * (abs(other) + e[..., n:]) + abs(silu) * e[..., n:] + ONE * abs(silu * other)
            x = silu * other
        if "bias" in p:
            x = x + v["bias"][..., None, :]
            e = e + ONE * abs(x)
        if "softcap" in p:
            cap = self.numbers["cap"]
            e = e + ONE * abs(x)
            x = cap * xp.math.tanh(x / cap)
            e = e + abs(x) * (2**-19 if p["d"] in ("f32", "f16") else 2**-10)
        if "aux" in p:
            worst.append(self.compared("aux", x, e))
        x, e = self.activated(x, e)
        if "residual" in p:
            r = v["r"] * self.numbers.get("beta", 1)
            x, e = x + r, e + ONE * (abs(r) + abs(x + r))
        if "clamp" in p:
            x = x.clip(min=self.numbers["low"], max=self.numbers["high"])
        if "amax" in p:
            worst.append(self.greatest(x, e))
        if p.get("quantise") == 1:
            x, e = times(x, e, v["qs"])
        if p.get("quantise") == 2:
            x, e, scales = self.by_blocks(x, e)
            worst.append(scales)
        worst.append(self.compared("out", x, e))
        return max(worst, key=lambda one: (one[0] is not None, one[1]))

    def by_blocks(self, x, e):
        """By the greatest of each row's 128 columns, which is e off at most, and what is said of the scales."""
        of, greatest, n = self.operands["sd"], TYPE[self.p["d"]].most, self.p["n"]
        most, off = (self.xp.math.stack([self.most(of_all[..., i : i + 128]) for i in range(0, n, 128)], -1) for of_all in (abs(x), e))
        most = most.clip(min=1e-12)
        columns = [i // 128 for i in range(n)]
        by, share = greatest / most[..., columns], (off / most)[..., columns]
        said = self.judged("sd", of, abs(of.get() - most / greatest), (off + 2 * ONE * most) / greatest, most / greatest)
        return x * by, e * by + abs(x) * by * (share.clip(max=1) * 2 + 3 * ONE) + (share > 0.25) * 2 * greatest, said

    def most(self, x):
        return x.max(-1) if isinstance(self.xp, Host) else x.amax(-1)

    def activated(self, x, e):
        xp, name = self.xp, self.p.get("activation")
        if name is None:
            return x, e
        if name == "relu":
            return x.clip(min=0), e
        off = 2**-20 if name == "silu" else {"f32": 2**-20, "f16": 2**-16}.get(self.operands["out"].t, 2**-13)  # docs/products.md
        e = 1.13 * e + off * abs(x)
        if name == "silu":
            return x / (1 + xp.math.exp(-x)), e
        return x / 2 * (1 + (xp.erf(x / 2**0.5) if name == "gelu" else xp.math.tanh(0.79788456 * (x + 0.044715 * x**3)))), e

    def compared(self, name, x, e):
        of = self.operands[name]
        t = TYPE[of.t]
        x = x.clip(min=-128 if of.t == "i8" else -t.most, max=t.most)
        if self.drawn.integers and self.exact(of.t):
            x, bound = self.xp.nearest(of.t, x.round() if not t.u else x), x * 0
        else:
            bound = e + (t.u * abs(x).clip(min=t.least) if t.u else 0.5)
        return self.judged(name, of, abs(of.get() - x), bound, x)

    def exact(self, t):
        """Of what i8 gives to i8 by a factor halves may be anywhere: it is the nearest then. What 128 columns are divided by is no power of two."""
        return not (t == "i8" and self.p.get("quantise")) and self.p.get("quantise") != 2

    def greatest(self, x, e):
        of, size = self.operands["amax"], abs(x)
        if self.p["amax"] == 1:
            most, bound = size.max(), e.max()
        else:
            most, bound = self.most(size), self.most(e)
        return self.judged("amax", of, abs(of.get() - most), bound + ONE * most, most)

    def judged(self, name, of, off, bound, want):
        return judged(self.xp, name, off, bound, of.get(), want)


# ---- runs ---------------------------------------------------------------------------------------------------------------
class Shared(sett.Product):
    """All plans of an engine have one workspace, as each run leaves it as the next one needs it."""

    __slots__ = ()
    kept = {}

    def _workspace(self, handle):
        key = id(self.engine), handle
        if key not in self.kept or self.kept[key][0] < self.workspace_bytes:
            n = max(self.workspace_bytes, 20 << 20)
            self.kept[key] = n, _Workspace(self.engine, _c.Stream(self.device, handle or None), n)
        return self.kept[key][1]


def splits_of(plan, m):
    """Of K, at most: by what a plan says of itself."""
    found = re.search(r"(\d+) workers, (\d+) of \d+ tiles streamed", plan.explain(m))
    return -(-int(found[1]) // int(found[2])) + 1 if found and int(found[2]) else 0


def run(xp, engines, drawn):
    """The same in each engine: (what is wrong or None, the most of a bound)."""
    case, first, said = Case(xp, drawn), None, (None, 0.0)
    for name, engine in engines:
        if first is not None:
            case.wiped()
        plan = Shared(max_m=drawn.max_m, device=engine.default_device, engine=engine, **drawn.problem)
        plan(**case.given())
        if first is None:
            first = xp.clone(case.out.raw)
            said = case.check(splits_of(plan, drawn.m))
        elif not xp.same_bytes(first, case.out.raw):
            return f"the bits in order {name} are others than in {engines[0][0]}", said[1]
        if said[0]:
            return f"{said[0]} ({plan.explain(drawn.m)})", said[1]
    for name in ("out", "aux", "sd"):
        if name in case.operands and not case.operands[name].kept_what_is_between():
            return f"{name}: what lies between its rows was written", said[1]
    return said


def jobs_of(seed, count, only):
    """What compiles the kernels of the draws."""
    options = {}
    for drawn in [draw(seed, i, True) for i in numbers_of(count, only)]:
        for family, one in listed("sm_90a", drawn.problem):
            options[ctypes.addressof(family), bytes(one)] = family, one

    def job(family, one):
        return str(_values(family, one)), lambda engine: engine._made(_library.sett_kernels_compile, family.body, ctypes.addressof(one), b"sm_90a")

    return [job(*of) for of in options.values()]


def main(words):
    o = arguments("bench/products.py random", PACK).parse_args(words)
    gpu = not o.write and has_gpu()
    count = o.count or (10000 if gpu or o.write else 2000)
    if o.write:
        return write_pack(o.pack, MOST_KERNELS, jobs_of(o.seed, count, o.only))
    return every("products", KINDS, o.seed, numbers_of(count, o.only), draw, run, o.pack)
