# SPDX-License-Identifier: Apache-2.0
"""Which products are swept, by which configurations of sett's kernels, and what follows from the times: bench/products.py. It needs Python
alone."""

import csv
import math
import random
from typing import NamedTuple

SHAPES = ((1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584), (2112, 7168), (24576, 1536), (7168, 16384), (4096, 7168), (4608, 3584),
    (3584, 3584), (37888, 3584), (3584, 18944))  # N, K of models' weights
ROWS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 257, 300, 384, 512, 777, 1000, 1024, 2048, 4096, 8192)
PEER = "torch.mm"
MULTIPROCESSORS, LINE = 132, 64  # of an H200 or H100 (SXM); elements of K in a k-tile of bf16
MOST = 8  # configurations that one product chooses among

# Options of a kernel's tuning, by name. "family" is which kernel, gemm_wgmma where it is left out. "shares" is how a launch deals K tiles to
# the clusters that run at once (.stream_k): "whole", none; "split", each tile to as many as there is room for; "two", those of the last two rounds.
# Those that are worth a sweep; kernels/product_choice.c has those that sett_product chooses among.
TILES = tuple({"bm": bm, "bn": bn, "cluster": cluster} for bm, bn, cluster in (
    (16, 64, 1), (32, 64, 1), (48, 64, 1), (64, 64, 1), (48, 128, 1), (64, 128, 1), (80, 128, 1), (96, 128, 1), (64, 256, 1), (96, 256, 1), (112, 128, 1), (128, 128, 1), (128, 128, 2), (144, 128, 1), (160, 128, 1), (160, 128, 2),
    (192, 128, 2), (256, 128, 2)))
CONFIGS = tuple(tile | {"shares": shares} for tile in TILES for shares in ("whole", "split", "two")) + ({"bm": 128, "bn": 128, "cluster": 1, "ping_pong": 1},)
# Rows of a tile that is never too high; how many times as high as M is much too high; a small tile, and how many rounds of those are too many; K tiles of
# a share at least.
LOW, HIGH, SMALL, ROUNDS, LEAST = 32, 2, 128 * 128, 6, 4


def name(config):
    return " ".join(f"{key}={value}" for key, value in config.items())


def clusters_of(config, m, n):
    """(tiles, counted in clusters; how many clusters run at once)."""
    cluster, bm = config.get("cluster", 1), config.get("bm", 128)
    return -(-m // bm) * -(-n // (config.get("bn", 128) * cluster)), config.get("clusters", MULTIPROCESSORS // cluster)


def shares_of(config, m, n, k):
    """(workers, streamed tiles) of a launch, or None where the policy is another one's. A share has at least LEAST K tiles."""
    tiles, most = clusters_of(config, m, n)
    together = min(-(-m // config["bm"]), 8)  # tiles that are streamed side by side
    tail = -(-(tiles % most) // together) * together
    policy = config["shares"]
    if policy == "whole":
        return most, 0
    if policy == "split":
        parts = min(most // tiles, -(-k // LINE) // LEAST)
        return (parts * tiles, tiles) if parts >= 2 and tiles % together == 0 else None
    return (most, min(tail + most // together * together, tiles // together * together)) if tiles > most + together and tail else None


def pointless(config, m, n, k):
    """Whether this configuration cannot be the best one: it is much higher than the rows, or small where there is much to do; or its way to deal K
    is another one's."""
    bm, bn, cluster = config.get("bm", 128), config.get("bn", 128), config.get("cluster", 1)
    tiles, most = clusters_of(config, m, n)
    if cluster == 2 and n <= bn or LOW < bm and HIGH * m < bm or m > bm and bm * bn < SMALL and tiles > ROUNDS * most:
        return True
    return "shares" in config and shares_of(config, m, n, k) is None


def drawn(seed):
    """20 products (m, n, k), uniform in the logarithms of M up to 8192, and of N and K up to 32768 in steps of 8."""
    draw = random.Random(seed)

    def number(least, most, step):
        return step * round(math.exp(draw.uniform(math.log(least / step), math.log(most / step))))

    return [(number(1, 8192, 1), number(256, 32768, 8), number(256, 32768, 8)) for _ in range(20)]


# ---- times ----------------------------------------------------------------------------------------------------
class Time(NamedTuple):
    us: float
    p10: float
    p90: float


FIELDS = ("n", "k", "m", "way", "us", "p10", "p90")


def head(device):
    """The first lines of a file."""
    return f"# {device}\n{','.join(FIELDS)}"


def line(n, k, m, way, time):
    return f"{n},{k},{m},{way.replace(',', ';')},{time.us:.3f},{time.p10:.3f},{time.p90:.3f}"


def write(path, device, lines):
    with open(path, "w") as f:
        print(head(device), *(line(*one) for one in lines), sep="\n", file=f)


def read(*paths):
    """{(n, k, m): {way: Time}}. A later line replaces an earlier one of the same cell and way."""
    cells = {}
    for path in paths:
        with open(path, newline="") as f:
            for row in csv.DictReader(x for x in f if not x.startswith("#")):
                cell = tuple(int(row[x]) for x in "nkm")
                cells.setdefault(cell, {})[row["way"]] = Time(*(float(row[x]) for x in ("us", "p10", "p90")))
    return cells


def device_of(path):
    """The device that a file's first line names."""
    with open(path) as f:
        first = f.readline()
    return first[1:].strip() if first.startswith("#") else ""


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def ours(times):
    """us by way, without those of torch and what only reads."""
    return {way: t.us for way, t in times.items() if not way.startswith(("torch", "read"))}


def best(times, among=None):
    """(way, us) of the fastest of ours, or of those named."""
    have = {way: us for way, us in ours(times).items() if among is None or way in among}
    return min(have.items(), key=lambda pair: pair[1]) if have else (None, math.inf)


def ratio(times, among=None):
    """The peer's time over that of our best."""
    return times[PEER].us / best(times, among)[1]


def chosen(cells, most=MOST):
    """The ways, at most so many, with which the geometric mean of the ratios is largest, what would be missed most first: greedily, then by
    exchanges of one for another. cells: the times of some cells. A cell without any of the ways counts as 100 times as slow as its best."""
    rows = [(100 * best(times)[1], ours(times)) for times in cells]
    ways = sorted({way for _, us in rows for way in us})

    def cost(have):
        return sum(math.log(min([slow, *(us[way] for way in have if way in us)])) for slow, us in rows)

    def improved(have, tries):
        """The cheapest of the sets to try, or None where none is cheaper."""
        found = min(tries, key=cost, default=have)
        return found if cost(found) < cost(have) - 1e-6 else None

    have = []
    while len(have) < most and (more := improved(have, [[*have, way] for way in ways if way not in have])):
        have = more
    while other := improved(have, [[*(w for w in have if w != out), way] for out in have for way in ways if way not in have]):
        have = other
    for way in list(have):  # what others have made needless
        if len(have) > 1 and cost([w for w in have if w != way]) < cost(have) + 1e-6:
            have.remove(way)
    return sorted(have, key=lambda way: -cost([w for w in have if w != way]))


def by(cells, key):
    """The times of cells in groups, in order of key(n, k, m)."""
    groups = {}
    for cell in sorted(cells):
        groups.setdefault(key(*cell), []).append(cells[cell])
    return dict(sorted(groups.items()))


# ---- what is said of them ----------------------------------------------------------------------------------------
def best_table(cells):
    rows = sorted({m for _, _, m in cells})
    lines = ["| N x K | " + " | ".join(f"M = {m}" for m in rows) + " |", "| --- |" + " --- |" * len(rows)]
    for n, k in dict.fromkeys((n, k) for n, k, _ in cells):
        def text(m):
            times = cells.get((n, k, m), {})
            way, us = best(times)
            return f"{times[PEER].us / us:.2f} {us:.1f} us {way}" if way and PEER in times else ""

        lines.append(f"| {n} x {k} | " + " | ".join(map(text, rows)) + " |")
    return lines


def slow_cells(cells, limit):
    return sorted((ratio(times), cell) for cell, times in cells.items() if ratio(times) < limit)


def choices(cells, most=MOST):
    """What at most so many ways for each (N,K) lose: lines, and the ratios with them."""
    lines, ratios = [], []
    for (n, k), group in by(cells, lambda n, k, m: (n, k)).items():
        have = chosen(group, most)
        with_them = [ratio(times, have) for times in group]
        ratios += with_them
        lines.append(f"{n} x {k}: {geomean(with_them):.3f} with {len(have)}, {geomean(map(ratio, group)):.3f} with all: {'; '.join(have)}")
    return lines, ratios


def worth(cells):
    """(loss, wins, way) of each way: by how much the geometric mean falls without it, and where it is the best."""
    lost, wins = {}, {}
    for times in cells.values():
        (way, us), *others = sorted(ours(times).items(), key=lambda pair: pair[1])
        wins[way] = wins.get(way, 0) + 1
        lost[way] = lost.get(way, 0) + (math.log(others[0][1] / us) if others else 0)
    return sorted(((math.expm1(lost[way] / len(cells)), wins[way], way) for way in wins), reverse=True)


def analyse(*paths):
    every = read(*paths)
    cells = {cell: times for cell, times in every.items() if PEER in times and ours(times)}
    print(f"{len(cells)} cells, peer's time over that of the best of {len({way for times in cells.values() for way in ours(times)})} ways\n")
    print("\n".join(best_table(cells)))
    print("\nGeometric mean by M: " + ", ".join(f"{m}: {geomean(map(ratio, group)):.3f}" for m, group in by(cells, lambda n, k, m: m).items()))
    print("By N x K: " + ", ".join(f"{n} x {k}: {geomean(map(ratio, group)):.3f}" for (n, k), group in by(cells, lambda n, k, m: (n, k)).items()))
    print(f"Over all: {geomean(map(ratio, cells.values())):.4f}; cells at least 1: {sum(ratio(times) >= 1 for times in cells.values())}")
    print("".join(f"Below {limit}: {len(slow_cells(cells, limit))}. " for limit in (0.7, 0.8, 0.9)))
    for r, (n, k, m) in slow_cells(cells, 0.9):
        way, us = best(cells[n, k, m])
        print(f"  {r:.3f} {m} x {n} x {k}: {us:.1f} us by {way}, peer {cells[n, k, m][PEER].us:.1f} us")
    for most in sorted({4, 6, MOST}):
        lines, ratios = choices(cells, most)
        print(f"\nAt most {most} for each N x K: {geomean(ratios):.4f}, {sum(r < 0.8 for r in ratios)} below 0.8, {sum(r < 0.7 for r in ratios)} below 0.7")
        if most == MOST:
            print("\n".join(lines))
    print(f"\nAt most {MOST} for all of them: " + "; ".join(chosen(list(cells.values()))))
    print("\nWhat the mean loses without a way, and in how many cells it is the best, of 40 ways:")
    for loss, wins, way in worth(cells)[:40]:
        print(f"  {100 * loss:6.2f} % {wins:4} {way}")
