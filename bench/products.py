# SPDX-License-Identifier: Apache-2.0
"""Products of matrices, C (M,N) = A (M,K) times B (N,K) transposed, beside cuBLAS and cuBLASLt, with sett and torch installed, on a Hopper GPU.
Without a GPU all of it runs small, on the CPU engine, and compares results alone.

    bench/products.py sweep [--shapes N,K;N,K...] [--rows M,M...] [--out FILE.csv] [--budget SECONDS] [--rounds ROUNDS] [--early]
                               [--configs '[{"bm": 64, "bn": 128}, ...]']
                                               every configuration of product_table.py, or these, in every cell, as CSV
    bench/products.py analyse FILE.csv...      what follows from it; needs neither a GPU nor torch
    bench/products.py readme [main] [few] [fp8] [llama]
                                               rows of README, as Markdown
    bench/products.py                          the sweep and README's, small"""

import argparse
import json
import sys


def pairs(text):
    return [tuple(int(x) for x in pair.split(",")) for pair in text.split(";")]


def numbers(text):
    return [int(x) for x in text.split(",")]


def sweep(words):
    from product_sweep import ROUNDS, sweep as of

    p = argparse.ArgumentParser(prog="bench/products.py sweep")
    p.add_argument("--shapes", type=pairs)
    p.add_argument("--rows", type=numbers)
    p.add_argument("--out")
    p.add_argument("--budget", type=float, default=200)
    p.add_argument("--rounds", type=int, default=ROUNDS)
    p.add_argument("--configs", type=json.loads)
    p.add_argument("--early", action="store_true", help="sett's kernels begin before the one before them has ended (PDL), in cells where torch's do")
    of(**vars(p.parse_args(words)))


def analyse(words):
    from product_table import analyse as of

    of(*words)


def readme(words):
    from product_readme import readme as of

    of(*words)


def main():
    parts = {"sweep": sweep, "analyse": analyse, "readme": readme}
    words = sys.argv[1:]
    if not words:
        sweep([])
        readme([])
    elif words[0] in parts:
        parts[words[0]](words[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
