# SPDX-License-Identifier: Apache-2.0
"""The bits of the CPU engine and of a GPU, at some shapes of every kernel of product_random.py's kinds: a machine without a GPU writes what the CPU
engine gives, as a file of digests, and a machine with one compares. Operands are of PyTorch's generator on the host, which gives the same on both."""

import argparse
import collections
import hashlib
import json
import sys
import time

import sett
from product_random import KINDS, Case, Shared, draw
from random_problems import Device, has_gpu
from sett._product import explain_for, listed

TRIES, TARGET = 2000, "sm_90a"
WRITTEN = "out", "aux", "amax", "sd"


def work(drawn):
    return drawn.m * drawn.problem["n"] * drawn.problem["k"] * (drawn.problem.get("batch") or 1)


def covering(seed, kind, each):
    """Of a kind the smallest draws that take each of its kernels: [(name, [(number, large, wide)...])...]."""
    found = collections.defaultdict(list)
    for number in range(kind, TRIES * len(KINDS), len(KINDS)):
        for size in ((False, False), (True, False), (True, True)):
            drawn = draw(seed, number, *size)
            found[explain_for(TARGET, drawn.problem, drawn.m).split(":")[0]].append((work(drawn), number, *size))
    return [(name, [one[1:] for one in sorted(draws)[:each]]) for name, draws in sorted(found.items())]


def digests(xp, engine, one):
    """What a draw writes, by name. The operands are made on the host and go where xp is."""
    drawn = draw(*one)
    host, case = Case(Device("cpu"), drawn), Case(xp, drawn)
    for name, operand in host.operands.items():
        case.operands[name].raw.copy_(operand.raw)
    case.wiped()
    Shared(max_m=drawn.max_m, device=engine.default_device, engine=engine, **drawn.problem)(**case.given())
    return {name: hashlib.sha256(case.operands[name].raw.cpu().numpy().tobytes()).hexdigest() for name in WRITTEN if name in case.operands}


def write(path, seed, each):
    began, engine, lines, kernels = time.monotonic(), sett.Engine(no_gpu=True, cache_dir=""), [], 0
    for kind, of in enumerate(KINDS):
        cover, listing = covering(seed, kind, each), len(listed(TARGET, draw(seed, kind, False).problem))
        kernels += len(cover)
        if len(cover) < listing:
            print(f"  {len(cover)} of {listing} kernels are taken: {of}")
        for name, draws in cover:
            if len(draws) < each:
                print(f"  {len(draws)} shapes of {name}: {of}")
            for one in draws:
                lines.append({"kind": kind, "kernel": name, "draw": [seed, *one], "digests": digests(Device("cpu"), engine, [seed, *one])})
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)
    print(f"bits: {len(lines)} products of {kernels} kernels by the CPU engine, seed {seed}, in {path}, {time.monotonic() - began:.0f} s")


def compare(path, pack):
    began, differ, xp = time.monotonic(), collections.Counter(), Device()
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    with sett.Engine(cache_dir="", cache_layers=[pack], cache_required=True, sealed=True) as engine:
        for line in lines:
            names = [name for name, digest in digests(xp, engine, line["draw"]).items() if digest != line["digests"][name]]
            if names:
                differ[line["kind"], line["kernel"]] += 1
                print(f"draw {line['draw']}, {line['kernel']} of {KINDS[line['kind']]}: {', '.join(names)} of the GPU has other bits", file=sys.stderr)
    kernels = {(line["kind"], line["kernel"]) for line in lines}
    print(f"bits: {len(lines)} products of {len(kernels)} kernels, by the GPU and by the CPU engine, {time.monotonic() - began:.0f} s: the bits of {sum(differ.values())} differ")
    sys.exit(bool(differ))


def main(words):
    p = argparse.ArgumentParser(prog="bench/products.py bits")
    p.add_argument("file", metavar="FILE")
    p.add_argument("seed", nargs="?", type=int, default=1)
    p.add_argument("--each", type=int, default=3, help="shapes of a kernel")
    p.add_argument("--pack", help="of `random --write`; with it the GPU's bits are compared with those of the file")
    o = p.parse_args(words)
    if o.pack and not has_gpu():
        sys.exit("bits: no GPU to compare with")
    if o.pack:
        compare(o.file, o.pack)
    else:
        write(o.file, o.seed, o.each)
