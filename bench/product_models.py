# SPDX-License-Identifier: Apache-2.0
"""A pack of all kernels that the products of models need, examples/models.warm: how many there are, how long they take to compile, what a
sealed process takes to open them beyond the driver's start, and that it answers any number of rows and compiles nothing.

    bench/products.py model-pack --write [--pack FILE]   compiles them, without a GPU, by as many processes as there are cores
    bench/products.py model-pack [--pack FILE]           opens the pack; without a GPU it looks all kernels up, and runs the same products
                                                         small on the CPU engine"""

import argparse
import concurrent.futures
import ctypes
import itertools
import math
import os
import random
import sys
import tempfile
import time

import sett
from sett._product import kernels_of

MANIFEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "models.warm")
PACK = os.path.join(tempfile.gettempdir(), "models.settpack")
MOST_KERNELS, MOST_M, MASKED_M, RUNS = 120, 8192, 64, 1000
ELEMENT = {"bf16": 2, "f8E4M3FN": 1}


def problems(manifest):
    """(family, its members by name) of each combination of a manifest."""
    blocks, word = [], lambda text: int(text) if text.isdigit() else text
    with open(manifest) as file:
        for line in (line.partition("#")[0].strip() for line in file):
            if line.startswith("family"):
                blocks.append((line.split()[2], {}))
            elif line:
                name, values = line.split("=")
                blocks[-1][1][name.strip()] = [word(value.strip()) for value in values.split(",")]
    return [(family, dict(zip(values, each))) for family, values in blocks for each in itertools.product(*values.values())]


def title(p):
    return " ".join(f"{name}={value}" for name, value in p.items())


def write(manifest, pack):
    with tempfile.TemporaryDirectory() as folder, sett.Engine(cache_dir=folder, no_gpu=True) as engine:
        began = time.monotonic()
        done = engine.warm(manifest, targets="sm_90a", pack=pack)
        took = time.monotonic() - began
        spilled = {entry.key for entry in engine.entries() if engine.kernel(entry.key).info["spill_stores"]}
        for event in engine.keys(manifest, targets="sm_90a"):
            if event.key in spilled:
                print(f"  spills: {event.name} {event.params}")
    print(f"model-pack: {done.total} kernels (at most {MOST_KERNELS}) in {took:.1f} s on {os.cpu_count()} cores, {os.path.getsize(pack) / 1e6:.1f} MB, of which {len(spilled)} spill")
    sys.exit(done.total > MOST_KERNELS)


# ---- a server --------------------------------------------------------------------------------------------------------------
def start_driver():
    """What any process pays that uses the GPU: ms; None: there is none."""
    began, device, context = time.monotonic(), ctypes.c_int(), ctypes.c_void_p()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    for call, arguments in (("cuInit", (0,)), ("cuDeviceGet", (ctypes.byref(device), 0)), ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), device)), ("cuCtxSetCurrent", (context,))):
        if getattr(driver, call)(*arguments):
            return None
    return 1000 * (time.monotonic() - began)


class Operands:
    """Of any product, in one piece of memory: what the values are makes no difference here."""

    def __init__(self, torch, bytes_):
        self.torch, self.memory, self.most_m = torch, torch.zeros(bytes_, dtype=torch.uint8, device="cuda"), {}

    def take(self, dtype, *shape):
        n = math.prod(shape) * dtype.itemsize
        self.used = -(-self.used // 256) * 256
        if self.used + n > self.memory.numel():
            raise MemoryError(f"{shape} behind {self.used} bytes")
        view = self.memory[self.used : self.used + n].view(dtype).view(shape)
        self.used += n
        return view

    def of(self, p, m):
        torch, n, k, self.used = self.torch, p["n"], p["k"], 0
        t = torch.bfloat16 if p["dtype"] == "bf16" else torch.float8_e4m3fn
        groups = (p["groups"],) if p.get("grouped") else ()
        masked = p.get("grouped") == "masked"
        rows = (*groups, MASKED_M) if masked else (m,)
        named = {"a": self.take(t, *rows, k)[..., :m, :], "b": self.take(t, *groups, n << p.get("swiglu", 0), k), "out": self.take(torch.bfloat16, *rows, n)[..., :m, :]}
        if p.get("residual"):
            named["r"] = named["out"]
        if p.get("scaled"):
            named.update(sa=self.take(torch.float32, m), sb=self.take(torch.float32, n))
        if p.get("scale"):
            named["s"] = self.take(torch.float32, 1)
        if p.get("block_scales"):
            blocks, tall = -(-k // 128), -(-n // 128) << p.get("swiglu", 0)
            lead = rows[:-1]
            named["sa"] = self.take(torch.float32, *lead, blocks, -(-m // 4) * 4).transpose(-1, -2)[..., :m, :]
            named["sb"] = self.take(torch.float32, *groups, tall, blocks)
        if p.get("grouped"):
            name, length = ("counts", groups[0]) if p["grouped"] == "masked" else ("offsets", groups[0] + 1)
            named[name] = (torch.full((length,), m) if name == "counts" else torch.arange(length) * m // groups[0]).to(torch.int32).to("cuda")
        return named


def made(engine, family, p):
    """A plan of a product for any number of rows; of a kernel nothing but that it is there."""
    if family == "sett_product_family":
        return p, sett.Product(max_m=MASKED_M if p.get("grouped") == "masked" else MOST_M, engine=engine, **p)
    engine.compile(getattr(sett.kernels, family.removeprefix("sett_").removesuffix("_family")), **p)
    return None


def serve(manifest, pack, threads, driver_ms):
    """On a GPU."""
    every = problems(manifest)
    began = time.monotonic()
    engine = sett.Engine(cache_dir="", cache_layers=[pack], cache_required=True, sealed=True)
    opened = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        plans = [plan for plan in pool.map(lambda one: made(engine, *one), every) if plan]
    ready = time.monotonic()
    kernels = {kernel.key for _, plan in plans for kernel in plan.kernels()}
    print(f"model-pack: {len(plans)} products of {len(kernels)} kernels are ready {1000 * (ready - began):.1f} ms after the driver's start, which took {driver_ms:.1f} ms; "
        f"of these {1000 * (opened - began):.1f} opened the pack; {threads} threads", flush=True)
    import torch

    operands, draw = Operands(torch, 8 << 30), random.Random(1)
    began = time.monotonic()
    for _ in range(RUNS):
        p, plan = draw.choice(plans)
        most = MASKED_M if p.get("grouped") == "masked" else MOST_M if p["n"] < 100000 else 1024
        plan(**operands.of(p, round(math.exp(draw.uniform(0, math.log(most))))))
    torch.cuda.synchronize()
    return engine, f"{RUNS} runs of random M in {time.monotonic() - began:.1f} s on {torch.cuda.get_device_name()}"


def look_up(manifest, pack):
    """Without a GPU: every kernel by a sealed engine, and small products of the same members on the CPU engine."""
    import numpy as np

    engine, draw, keys = sett.Engine(cache_dir="", cache_layers=[pack], cache_required=True, sealed=True, no_gpu=True), random.Random(1), set()
    began = time.monotonic()
    every = [p for family, p in problems(manifest) if family == "sett_product_family"]
    for p in every:
        keys.update(kernel.key for kernel in kernels_of(engine, "sm_90a", p))
    took = time.monotonic() - began
    plain = [p for p in every if p["dtype"] == "bf16" and not p.get("grouped")]
    for _ in range(RUNS // 20):
        p = {**draw.choice(plain), "n": 64, "k": 72}
        m = draw.randrange(1, 200)
        plan, out = sett.Product(max_m=200, device=sett.CPU, engine=engine, **p), np.zeros((m, 64), "u2")
        a, b = (np.full((rows, 72), 0x3F80, "u2") for rows in (m, 64 << p.get("swiglu", 0)))
        plan(*(sett.view(x, "bf16") for x in (a, b, out)), **({"r": sett.view(out, "bf16")} if p.get("residual") else {}))
        if not (out == (0x45A2 if p.get("swiglu") else 0x4290)).all():  # 72 x 72, and 72
            sys.exit(f"model-pack: {title(p)} at {m} rows is wrong: {out[0, 0]:#x}")
    return engine, f"{len(every)} products of {len(keys)} kernels found in {1000 * took:.1f} ms, {RUNS // 20} small runs on the CPU engine"


def main(words):
    p = argparse.ArgumentParser(prog="bench/products.py model-pack")
    p.add_argument("--pack", default=PACK)
    p.add_argument("--manifest", default=MANIFEST)
    p.add_argument("--threads", type=int, default=min(8, os.cpu_count()), help="that prepare plans")
    p.add_argument("--write", action="store_true", help="compiles the kernels into the pack")
    o = p.parse_args(words)
    if o.write:
        return write(o.manifest, o.pack)
    driver_ms = None if os.environ.get("SETT_DEVICE") == "cpu" else start_driver()
    engine, said = look_up(o.manifest, o.pack) if driver_ms is None else serve(o.manifest, o.pack, o.threads, driver_ms)
    stats = engine.stats
    print(f"model-pack: {said}; {stats['compiles']} compiles; {stats['records']} bodies recorded, {stats['alias_hits']} kernels found by alias")
    sys.exit(bool(stats["compiles"] or stats["codegens"] or stats["sealed_misses"]))
