# SPDX-License-Identifier: Apache-2.0
"""A picture (SVG) of the times of products: one panel for each (N,K), M to the right and TFLOP/s upwards, both logarithmic, with the roofline of
the device's memory and tensor cores. Python alone."""

import html
import math

from product_table import PEER, device_of, ours, read

# Bytes and bf16 operations a second that the makers name, of memory and of tensor cores without sparsity, by a part of the device's name.
DEVICES = {"H200": (4.8e12, 989e12), "H100 NVL": (3.9e12, 835e12), "H100": (3.35e12, 989e12)}
WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 310, 230, 46, 12, 30, 34  # of a panel, and of what surrounds its plot
COLUMNS, HEAD = 3, 58
INK, GREY, GRID = "#1f2328", "#6b7280", "#e5e7eb"
COLOURS = {"ours": "#0b6bcb", "peer": "#d9480f", "roof": "#9aa1ab"}  # told apart by shape of their marks too


def roof(m, n, k, device):
    """The most operations a second that a product can have, each operand moved once."""
    memory, cores = device
    return min(cores, 2 * m * n * k / (2 * (m * k + n * k + m * n)) * memory)


def known(name):
    return next((peaks for part, peaks in DEVICES.items() if part in name), DEVICES["H200"])


class Panel:
    def __init__(self, x, y, ms, lowest, highest):
        self.x, self.y, self.ms = x + LEFT, y + TOP, ms
        self.wide, self.high = WIDE - LEFT - RIGHT, HIGH - TOP - BOTTOM
        self.lows, self.spans = [math.log(ms[0]), math.log(lowest)], [math.log(ms[-1] / ms[0]) or 1, math.log(highest / lowest)]

    def at(self, m, flops):
        return (self.x + self.wide * (math.log(m) - self.lows[0]) / self.spans[0], self.y + self.high * (1 - (math.log(flops) - self.lows[1]) / self.spans[1]))

    def line(self, points, colour, width=1.6, more=""):
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*p) for p in points))
        return f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{width}" {more}/>'

    def marks(self, points, colour, square):
        for p in points:
            x, y = self.at(*p)
            shape = f'<rect x="{x - 2.4:.1f}" y="{y - 2.4:.1f}" width="4.8" height="4.8"' if square else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"'
            yield f'{shape} fill="{colour}"><title>M = {p[0]}: {p[1] / 1e12:.1f} TFLOP/s</title></{"rect" if square else "circle"}>'

    def axes(self, lowest, highest):
        for exponent in range(math.ceil(math.log10(lowest) - 1e-9), math.floor(math.log10(highest)) + 1):
            x, y = self.at(self.ms[0], 10.0**exponent)
            yield f'<path d="M{x:.1f} {y:.1f}h{self.wide}" stroke="{GRID}"/>' + text(x - 5, y + 3.5, f"{10.0 ** (exponent - 12):g}", "end", GREY)
        ticks = [m for m in (1, 8, 64, 512, 4096) if self.ms[0] <= m <= self.ms[-1]] or self.ms[:1]
        for m in ticks:
            x, y = self.at(m, lowest)
            yield f'<path d="M{x:.1f} {y:.1f}v4" stroke="{GREY}"/>' + text(x, y + 15, m, "middle", GREY)


def text(x, y, what, anchor="start", colour=INK, size=11, weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" font-weight="{weight}">{html.escape(str(what))}</text>'


def rates(cells, n, k, us):
    """[(m, operations a second)] of the cells of this (N,K) for which us(times) gives a time."""
    have = [(m, us(times)) for (n_, k_, m), times in sorted(cells.items()) if (n_, k_) == (n, k)]
    return [(m, 2 * m * n * k / t * 1e6) for m, t in have if t]


def panel(x, y, n, k, cells, device):
    ms = sorted(m for n_, k_, m in cells if (n_, k_) == (n, k))
    mine = rates(cells, n, k, lambda times: min(ours(times).values(), default=None))
    theirs = rates(cells, n, k, lambda times: times[PEER].us if PEER in times else None)
    above = [(m, roof(m, n, k, device)) for m in (ms[0] * (ms[-1] / ms[0]) ** (i / 60) for i in range(61))]
    seen = [flops for _, flops in mine + theirs + above]
    lowest, highest = 0.7 * min(seen), 1.4 * max(seen)
    p = Panel(x, y, ms, lowest, highest)
    yield text(p.x, y + 18, f"N {n}, K {k}", weight="bold")
    yield from p.axes(lowest, highest)
    yield p.line(above, COLOURS["roof"], 1.6, 'stroke-dasharray="5 3"')
    for points, who, square in ((theirs, "peer", True), (mine, "ours", False)):
        yield p.line(points, COLOURS[who])
        yield from p.marks(points, COLOURS[who], square)


def legend(name, device):
    what = (("ours", "sett"), ("peer", PEER + " (cuBLAS)"), ("roof", f"roofline: {device[0] / 1e12:g} TB/s, {device[1] / 1e12:g} TFLOP/s"))
    yield text(14, 22, f"Products bf16 on {name}: TFLOP/s by M", size=14, weight="bold")
    x = 14
    for who, label in what:
        yield f'<path d="M{x} 40h22" stroke="{COLOURS[who]}" stroke-width="2" {"stroke-dasharray=" + chr(34) + "5 3" + chr(34) if who == "roof" else ""}/>'
        yield text(x + 28, 44, label)
        x += 52 + 7 * len(label)


def picture(csv, svg):
    """Draws a file of product_table: of ours the fastest way of each cell."""
    cells, name = read(csv), device_of(csv)
    device, shapes = known(name), list(dict.fromkeys((n, k) for n, k, _ in sorted(cells)))
    columns = min(COLUMNS, len(shapes))
    wide, high = max(640, columns * WIDE), HEAD + -(-len(shapes) // columns) * HIGH
    with open(svg, "w") as f:
        print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" font-family="system-ui, sans-serif">', file=f)
        print(f'<rect width="{wide}" height="{high}" fill="#ffffff"/>', *legend(name, device), sep="\n", file=f)
        for i, (n, k) in enumerate(shapes):
            print(*panel(i % columns * WIDE, HEAD + i // columns * HIGH, n, k, cells, device), sep="\n", file=f)
        print("</svg>", file=f)
