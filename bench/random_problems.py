# SPDX-License-Identifier: Apache-2.0
"""What product_random.py and attention_random.py share: numbers on the host, by NumPy, and on a GPU, by PyTorch; arrays with NaN between what
is theirs; engines, packs, and the loop over draws."""

import argparse
import collections
import concurrent.futures
import importlib.util
import math
import os
import sys
import tempfile
import time
from typing import NamedTuple

import sett

E4, E5 = "f8E4M3FN", "f8E5M2"


class Type(NamedTuple):
    bytes: int
    u: float  # half of the distance of two numbers, of their size
    least: float  # normal
    most: float
    k: int = 1  # K of an instruction
    mantissa: int = 0


TYPE = {"f32": Type(4, 2**-24, 2**-126, 3.4e38, 1), "f16": Type(2, 2**-11, 2**-14, 65504, 16), "bf16": Type(2, 2**-8, 2**-126, 3.38e38, 16),
    E4: Type(1, 2**-4, 2**-6, 448, 32, 3), E5: Type(1, 2**-3, 2**-14, 57344, 32, 2), "i8": Type(1, 0, 0, 127, 32), "i32": Type(4, 0, 0, 2**31, 32)}
ONE = 2**-23  # of one operation of Float32, with room


def up(n, step):
    return -(-n // step) * step


# ---- numbers: of NumPy on the host, of PyTorch on a GPU -------------------------------------------------------------------
class Host:
    """Elements of types that NumPy lacks are their bits."""

    def __init__(self):
        import numpy

        self.np = self.math = numpy
        self.stored = {"f32": "f4", "f16": "f2", "bf16": "u2", E4: "u1", E5: "u1", "i8": "i1", "i32": "i4"}
        self.values = {t: self.table(TYPE[t]) for t in (E4, E5)}

    def table(self, t):
        """The numbers from 0 to the most, in order of their bits."""
        least, scale = t.least, 1 << t.mantissa
        every = [least * i / scale if i < scale else least * 2 ** (i // scale - 1) * (1 + i % scale / scale) for i in range(128)]
        return self.np.array([x for x in every if x <= t.most])

    def seed(self, seed):
        self.rng = self.np.random.default_rng(seed)

    def normal(self, shape):
        return self.rng.normal(size=shape)

    def integers(self, least, most, shape):
        return self.rng.integers(least, most + 1, shape).astype("f8")

    def raw(self, n):
        """Bytes that are NaN, of whatever type, at a multiple of 16."""
        return self.np.full(n, 255, "u1")

    def view(self, raw, offset, stored, size, shape, strides):
        return self.np.lib.stride_tricks.as_strided(raw[offset:].view(stored), shape, [s * size for s in strides])

    def put(self, view, t, values):
        view[...] = self.encoded(t, values)

    def encoded(self, t, x):
        if t == "bf16":
            bits = x.astype("f4").view("u4")
            return ((bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16).astype("u2")
        if t in self.values:
            of, size = self.values[t], abs(x)
            between = (of[1:] + of[:-1]) / 2
            i = self.np.searchsorted(between, size)
            i += (i < len(between)) & (i % 2 == 1) & (size == between[self.np.minimum(i, len(between) - 1)])
            i[self.np.isnan(size)] = 127
            return (i + 128 * (x < 0)).astype("u1")
        return x.astype(self.stored[t])

    def decoded(self, t, x):
        if t == "bf16":
            return (x.astype("u4") << 16).view("f4").astype("f8")
        if t in self.values:
            of = self.values[t]
            size = self.np.append(of, self.np.full(128 - len(of), self.np.nan))[x & 127]
            return self.np.where(x & 128, -size, size)
        return x.astype("f8")

    def get(self, view, t):
        return self.decoded(t, view)

    def nearest(self, t, x):
        return self.decoded(t, self.encoded(t, x))

    def given(self, view, t):
        return sett.view(view, t) if self.stored[t][0] == "u" else view

    def erf(self, x):
        return self.np.vectorize(math.erf)(x)

    def full(self, shape, value):
        return self.np.full(shape, value, "f8")

    def ints(self, values):
        return self.np.array(values, "i8")

    def floats(self, values):
        return self.np.array(values, "f8")

    def most(self, x):
        """Along the last mode."""
        return x.max(-1)

    def same_bytes(self, a, b):
        return self.np.array_equal(a, b)

    def clone(self, x):
        return x.copy()


class Device:
    """The same of PyTorch's tensors on the GPU."""

    def __init__(self, device="cuda"):
        import torch

        self.torch, self.math, self.device = torch, torch, device
        self.stored = {t: getattr(torch, name) for t, name in (("f32", "float32"), ("f16", "float16"), ("bf16", "bfloat16"), (E4, "float8_e4m3fn"), (E5, "float8_e5m2"), ("i8", "int8"), ("i32", "int32"))}
        self.rng = torch.Generator(device)

    def seed(self, seed):
        self.rng.manual_seed(seed)

    def normal(self, shape):
        return self.torch.randn(shape, device=self.device, dtype=self.torch.float32, generator=self.rng).double()

    def integers(self, least, most, shape):
        return self.torch.randint(least, most + 1, shape, device=self.device, generator=self.rng).double()

    def raw(self, n):
        return self.torch.full((n,), 255, dtype=self.torch.uint8, device=self.device)

    def view(self, raw, offset, stored, size, shape, strides):
        stored = getattr(self.torch, {"i1": "int8", "i2": "int16", "i4": "int32"}[stored]) if isinstance(stored, str) else stored
        return raw[offset:].view(stored).as_strided(shape, strides)

    def put(self, view, t, values):
        view.copy_(values.float().to(self.stored[t]))

    def get(self, view, t):
        return view.double()

    def nearest(self, t, x):
        return x.float().to(self.stored[t]).double()

    def given(self, view, t):
        return view

    def erf(self, x):
        return self.torch.erf(x)

    def full(self, shape, value):
        return self.torch.full(shape, value, dtype=self.torch.float64, device=self.device)

    def ints(self, values):
        return self.torch.tensor(list(values), dtype=self.torch.int64, device=self.device)

    def floats(self, values):
        return self.torch.tensor(list(values), dtype=self.torch.float64, device=self.device)

    def most(self, x):
        return x.amax(-1)

    def same_bytes(self, a, b):
        return self.torch.equal(a, b)

    def clone(self, x):
        return x.clone()


class Array:
    """Elements of a type at strides, at `offset` bytes behind a multiple of 16; what lies between them and behind is NaN."""

    def __init__(self, xp, t, shape, strides, offset=0):
        size = TYPE[t].bytes
        n = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides)) if all(shape) else 0
        self.xp, self.t = xp, t
        self.raw = xp.raw(offset + up(n * size, 16) + 16)
        self.view, self.bits = (xp.view(self.raw, offset, stored, size, shape, strides) for stored in (xp.stored[t], f"i{size}"))

    def put(self, values):
        self.xp.put(self.view, self.t, values)
        return self.get()

    def get(self):
        return self.xp.get(self.view, self.t)

    def is_wiped(self):
        """Are all bytes as they were before anything was put there?"""
        return bool((self.raw == 255).all())


# ---- runs ---------------------------------------------------------------------------------------------------------------
def has_gpu():
    if not importlib.util.find_spec("torch"):
        return False
    import torch

    return torch.cuda.is_available()


def sealed(pack):
    return sett.Engine(cache_dir="", cache_layers=[pack], cache_required=True, sealed=True)


def in_orders(seed):
    """(name, engine) of the CPU engine in all its orders."""
    return [(name, sett.Engine(no_gpu=True, cache_dir="", cpu_async=None if name == "plain" else name, cpu_plain=name == "plain")) for name in ("lazy", "eager", f"random:{seed}", "plain")]


def judged(xp, name, off, bound, got, want):
    """(what is wrong or None, the most of its bound that an error has)."""
    ratio = off / (bound + 1e-300)
    if not math.prod(ratio.shape):
        return None, 0.0
    most = float(ratio.max())
    if not most <= 1:  # NaN too
        bad = ~(ratio <= 1)
        at = int(bad.reshape(-1).nonzero()[0].reshape(-1)[0])
        said = [float(x.reshape(-1)[at]) for x in (got, want)]
        return f"{name}: {int(bad.sum())} of {math.prod(bad.shape)} are wrong, the first at {at} of {tuple(bad.shape)}: {said[0]!r}, not {said[1]!r}", most
    return None, most


def every(what, kinds, seed, numbers, draw, run, pack):
    """Runs draws, by a sealed engine on a GPU, else in all orders of the CPU engine; says what is wrong, and ends the process by that."""
    gpu = has_gpu()
    xp = Device() if gpu else Host()
    engines = [("sealed", sealed(pack))] if gpu else in_orders(seed)
    began, wrong, worst = time.monotonic(), 0, collections.defaultdict(float)
    for i in numbers:
        drawn = draw(seed, i, gpu)
        try:
            why, most = run(xp, engines, drawn)
        except sett.Error as e:
            why, most = str(e), 0
        worst[i % len(kinds)] = max(worst[i % len(kinds)], most)
        if why:
            wrong += 1
            print(f"WRONG: draw {i} of seed {seed}, {drawn}: {why}", file=sys.stderr)
    where = f"{xp.torch.cuda.get_device_name()}, {engines[0][1].stats['compiles']} compiles" if gpu else "CPU engine, in the orders " + ", ".join(name for name, _ in engines)
    for i, most in sorted(worst.items(), key=lambda one: -one[1])[:5] if gpu else ():
        print(f"  {most:.3f} of its bound: {kinds[i]}")
    print(f"random: {len(numbers)} {what} of {len(kinds)} kinds, seed {seed}, {where}, {time.monotonic() - began:.0f} s: {wrong} wrong; at most {max(worst.values()):.3f} of a bound")
    sys.exit(wrong > 0)


def spills(kernels, all_of_them=False):
    """Says what each kernel spills; how many do. kernels: (what it is of, kernel)."""
    spilled = 0
    for of, k in kernels:
        info = k.info
        bad = info["spill_stores"] or info["stack"]
        spilled += bool(bad)
        if bad or all_of_them:
            print(f"  {'spills ' + str(info['spill_stores']) + ' bytes, ' if bad else ''}{info['registers']} registers: {info['name']} {of}")
    return spilled


def write_pack(path, most, jobs, all_of_them=False):
    """jobs: (what the kernel is of, function of an engine that compiles it)."""
    if len(jobs) > most:
        sys.exit(f"{len(jobs)} kernels, at most {most}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, sett.Engine(cache_dir=folder, no_gpu=True) as engine:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            kernels = list(pool.map(lambda job: job[1](engine), jobs))
        engine.sync()
        n = engine.write_pack(path, [k.key for k in kernels])
        spilled = spills(zip((of for of, _ in jobs), kernels), all_of_them)
    print(f"{n} kernels in {path}, of which {spilled} spill, {time.monotonic() - began:.0f} s")


def seeded(prog, pack):
    p = argparse.ArgumentParser(prog=prog)
    p.add_argument("seed", nargs="?", type=int, default=1)
    p.add_argument("--count", type=int)
    p.add_argument("--only", type=int, metavar="NUMBER", help="one draw")
    p.add_argument("--pack", default=pack)
    return p


def arguments(prog, pack):
    p = seeded(prog, pack)
    p.add_argument("--write", action="store_true", help="compiles the kernels into the pack, without a GPU, and runs nothing")
    return p


def numbers_of(count, only):
    return range(count) if only is None else [only]
