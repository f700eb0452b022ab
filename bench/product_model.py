# SPDX-License-Identifier: Apache-2.0
"""A picture (SVG) of what the model of sett_product predicts beside what was measured: a point for each cell of a file of bench/products.py cells,
both in us and logarithmic. It needs Python and the command `sett` ($SETT, else build/release/sett)."""

import math
import os
import re
import subprocess

from product_picture import COLOURS, GREY, GRID, text
from product_table import geomean, ours, read

SETT = os.environ.get("SETT", "build/release/sett")
SIDE, LEFT, TOP = 420, 60, 40
FEWEST, MOST = 5, 5000  # us


def predicted(m, n, k):
    said = subprocess.run([SETT, "product", str(m), str(n), str(k), "--target", "sm_90a"], capture_output=True, text=True, check=True).stdout
    return float(re.search(r"([\d.]+) us by the model", said).group(1))


def place(us):
    return SIDE * math.log(us / FEWEST) / math.log(MOST / FEWEST)


def model(csv, svg):
    points = [((n, k, m), min(ours(times).values()), predicted(m, n, k)) for (n, k, m), times in sorted(read(csv).items()) if ours(times)]
    off = sorted(abs(math.log(p / us)) for _, us, p in points)
    with open(svg, "w") as f:
        print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE + LEFT + 30} {SIDE + TOP + 50}" font-family="system-ui, sans-serif">', file=f)
        print(text(LEFT, 24, "us by the model (upwards) and measured, of sett_product", weight="bold"), file=f)
        for us in (10, 100, 1000):
            x, y = LEFT + place(us), TOP + SIDE - place(us)
            print(f'<path d="M{x:.1f} {TOP}v{SIDE}M{LEFT} {y:.1f}h{SIDE}" stroke="{GRID}"/>', text(x, TOP + SIDE + 16, us, "middle", GREY), text(LEFT - 6, y + 4, us, "end", GREY), file=f)
        print(f'<path d="M{LEFT} {TOP + SIDE}L{LEFT + SIDE} {TOP}" stroke="{COLOURS["roof"]}" stroke-dasharray="5 3"/>', file=f)
        for (n, k, m), us, p in points:
            print(f'<circle cx="{LEFT + place(us):.1f}" cy="{TOP + SIDE - place(p):.1f}" r="2.4" fill="{COLOURS["ours"]}" fill-opacity="0.6"><title>{m} x {n} x {k}: {us:.1f} us, {p:.1f} by the model</title></circle>', file=f)
        print("</svg>", file=f)
    print(f"{len(points)} cells: the model's time over the measured one is {geomean(p / us for _, us, p in points):.3f} in the geometric mean; off by {100 * math.expm1(off[len(off) // 2]):.0f} % in the median, "
          f"{100 * math.expm1(off[9 * len(off) // 10]):.0f} % in nine of ten")
