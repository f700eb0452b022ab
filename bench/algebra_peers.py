# SPDX-License-Identifier: Apache-2.0
"""Static composition of the golden cases beside pycute and CuTe C++, where they are installed: one Markdown table.

    PYTHONPATH=<folder of pycute> CUTLASS_INCLUDE=<cutlass>/include python3 bench/algebra_peers.py [BUILD_FOLDER] [CASES.tsv]

pycute is timed as sett is: each case by itself, median of rounds, median over cases. CuTe C++ computes at compile time, so its
cost is the compiler's: g++ -fsyntax-only of a file with CASES compositions less that of one with none, per case."""
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

COMPILED = 100
ROUNDS = 7


def parse(text):
    """A layout as (shape, stride), a tiler as ["tile", ...], a tuple, an integer; None: none of these."""
    tokens = re.findall(r"-?\d+|[(),:<>]", text)
    if "".join(tokens) != text.replace(" ", ""):
        return None
    at = 0

    def group(close):
        nonlocal at
        out = []
        at += 1
        while tokens[at] != close:
            out.append(value(close == ">"))
            at += tokens[at] == ","
        at += 1
        return out

    def tree():
        nonlocal at
        if tokens[at] == "(":
            return tuple(group(")"))
        at += 1
        return int(tokens[at - 1])

    def value(layouts):
        nonlocal at
        if tokens[at] == "<":
            return ["tile", *group(">")]
        x = tree()
        if layouts and at < len(tokens) and tokens[at] == ":":
            at += 1
            return {"shape": x, "stride": tree()}
        return x

    return value(True)


def cases(path):
    for line in open(path):
        field = line.rstrip("\n").split("\t")
        if field[0] == "composition":
            a, b = parse(field[2]), parse(field[3])
            if isinstance(a, dict) and b is not None:
                yield a, b


def pycute_us(all_cases):
    import pycute

    def layout(x):
        return pycute.Layout(x["shape"], x["stride"]) if isinstance(x, dict) else tuple(map(layout, x[1:])) if isinstance(x, list) else x

    medians, failed = [], 0
    for a, b in all_cases:
        left, right = layout(a), layout(b)
        rounds = []
        try:
            for _ in range(ROUNDS):
                start = time.perf_counter()
                for _ in range(20):
                    pycute.composition(left, right)
                rounds.append((time.perf_counter() - start) / 20 * 1e6)
            medians.append(statistics.median(rounds))
        except Exception:  # it refuses, or fails on, some that CuTe C++ takes
            failed += 1
    return medians, failed


def cpp(x):
    if isinstance(x, dict):
        return f"make_layout({cpp(x['shape'])}, {cpp(x['stride'])})"
    if isinstance(x, list):
        return f"make_tile({', '.join(map(cpp, x[1:]))})"
    if isinstance(x, tuple):
        return f"cute::make_tuple({', '.join(map(cpp, x))})"
    return f"Int<{x}>{{}}"


def compile_s(some, include):
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    body = "\n".join(f"auto r{i} = composition({cpp(a)}, {cpp(b)});" for i, (a, b) in enumerate(some))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.cpp")
        open(path, "w").write(f"#include <cute/layout.hpp>\nusing namespace cute;\n{body}\n")
        start = os.times()
        command = ["g++", "-std=c++17", "-w", "-fsyntax-only", f"-I{include}", f"-I{cuda}/include", f"-I{cuda}/include/cccl", path]
        subprocess.run(command, check=True, stderr=subprocess.PIPE)
        end = os.times()
    return end.children_user + end.children_system - start.children_user - start.children_system


def takes(case, include):
    try:
        compile_s([case], include)
        return True
    except subprocess.CalledProcessError:
        return False


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build/release"
    path = sys.argv[2] if len(sys.argv) > 2 else "tests/golden/layout/composition.tsv"
    all_cases = list(cases(path))
    print(subprocess.run([f"{build}/bench/algebra", path], check=True, capture_output=True, text=True).stdout)
    print("| peer | cases | median us a composition | p10 | p90 |\n| --- | --- | --- | --- | --- |")
    try:
        us, failed = pycute_us(all_cases)
        us.sort()
        print(f"| pycute, Python {sys.version.split()[0]} | {len(us)} (fails on {failed}) | {statistics.median(us):.1f} | {us[len(us) // 10]:.1f} | {us[len(us) * 9 // 10]:.1f} |")
    except ImportError:
        print("| pycute | not importable here | | | |")
    include = os.environ.get("CUTLASS_INCLUDE")
    if not include:
        print("| CuTe C++ | CUTLASS_INCLUDE is not set | | | |")
        return
    random.seed(1)
    some = random.sample(all_cases, COMPILED)
    try:
        compile_s(some, include)
    except subprocess.CalledProcessError:
        some = [c for c in some if takes(c, include)]
    pairs = [(compile_s(some, include) - compile_s([], include)) / len(some) * 1e6 for _ in range(3)]
    empty = compile_s([], include)
    version = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    print(f"| CuTe C++, g++ {version} compile time, beyond {empty:.2f} s of headers | {len(some)} | {statistics.median(pairs):.0f} | {min(pairs):.0f} | {max(pairs):.0f} |")


main()
