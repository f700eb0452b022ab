# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks in Python share of statistics: rounds in random order, ratios of one round, and the row of Markdown in which a
claim stands in RESULTS.md. It needs Python alone; gpu.py has what runs on a GPU."""

import datetime
import math
import os
import random
import subprocess
import sys

# Bytes that pass through a GPU's memory between two launches on one set of operands: at least so many, and four times its cache.
BETWEEN, CACHES = 200e6, 4

# The three forms of a kernel of sett, in the order of a row's cells.
PLAIN, EARLY, BEST = "choice, plain", "choice, begun early", "best of the sweep"
HEAD = "\n".join((
    "| what | sett's choice, launched plainly | begun early (PDL); speed over plain | best of a sweep; speed over plain | peers; plain's speed over theirs | seen |",
    "| --- | --- | --- | --- | --- | --- |"))


def copies(operands, cache):
    """How many sets of operands, of so many bytes each, launches take in turn: between two on one set the others pass."""
    return 1 + max(1, math.ceil(max(BETWEEN, CACHES * cache) / operands))


def in_turn(ways, rounds):
    """(number of the round, name, way), rounds x ways of them, each round in a new random order."""
    for number in range(rounds):
        for name in random.sample(list(ways), len(ways)):
            yield number, name, ways[name]


def quantile(values, q):
    """The value at this share of the sorted ones, one of them: bench/common.h has the same."""
    return sorted(values)[int(q * (len(values) - 1) + 0.5)]


def median(values):
    return quantile(values, 0.5)


def speed(of, over):
    """How many times as fast one way is as another: median, p10 and p90 of the ratios of the rounds. Both lists are of times, and in order
    of the rounds, so that what slows a round down slows both."""
    if len(of) != len(over):
        raise ValueError(f"{len(of)} rounds beside {len(over)}: ratios are of the same round")
    ratios = [theirs / ours for ours, theirs in zip(of, over)]
    return tuple(quantile(ratios, q) for q in (0.5, 0.1, 0.9))


def speed_text(of, over):
    return "{:.3f} ({:.3f}..{:.3f})".format(*speed(of, over))


def seen(device):
    """Where and when a row was made: the commit is $BENCH_COMMIT's, or the working tree's."""
    commit = os.environ.get("BENCH_COMMIT")
    if not commit:
        try:
            said = subprocess.run(("git", "describe", "--always", "--dirty", "--exclude=*"), cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True)
            commit = said.stdout.strip()
        except OSError:
            pass
    command = " ".join(("python3", os.path.relpath(sys.argv[0]), *sys.argv[1:]))
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, {device.removeprefix('NVIDIA ')}, {commit or 'commit not known'}, `{command}`"


def row(title, figure, times, shape, where):
    """A row below HEAD. times: of a launch, in any unit, by way and in order of the rounds, PLAIN's first of all; shape: of the best of the
    sweep; figure: the text of a time. A form or peer that is missing leaves its cell empty."""
    plain = times[PLAIN]

    def cell(name, text=""):
        return f"{figure(median(times[name]))}; {speed_text(times[name], plain)}{text}" if name in times else ""

    peers = [f"{name} {figure(median(took))}; {speed_text(plain, took)}" for name, took in times.items() if name not in (PLAIN, EARLY, BEST)]
    cells = (title, figure(median(plain)), cell(EARLY), cell(BEST, f" by {shape}"), "<br>".join(peers), where)
    return "| " + " | ".join(cells) + " |"
