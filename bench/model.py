#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a model has around its products and its attention, at 1, 64 and 4096 tokens, beside torch.compile(mode="max-autotune") of the plain PyTorch
text; a copy of as many bytes stands beside works of 256 MB and more. Prints rows of Markdown (model_cells.py). Without a GPU all is small, and runs
on the CPU engine: results alone are compared.

    bench/model.py pack FILE           compiles the kernels of all rows; without a GPU for sm_90a
    bench/model.py list                the names of the rows
    bench/model.py rows [ROW,...] [--tokens 1,64,4096] [--pack FILE] [--budget SECONDS] [--warm SECONDS]
                                       ROW: a name, or what it begins with. From the pack alone; --pack "" compiles

A file of rows has rows(pick): {name: function of tokens that gives a Cell}, and stands in FILES. pick(large, small) gives an extent: the second on
the CPU engine. A pack has the kernels of the large ones."""

import argparse
import functools
import importlib
import os
import sys
import tempfile

import torch
from gpu import GPU, pick, say
from graphs import on_side
from model_cells import run_cells
from product_way import Recorder, sealed

import sett

FILES = ("model_rows", "model_rope_rows", "model_sampling_rows")


def table(pick):
    rows = {}
    for name in FILES:
        if os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")):
            rows.update(importlib.import_module(name).rows(pick))
    return rows


def cells_of(which, tokens, pick=pick):
    rows = table(pick)
    chosen = [name for name in rows if not which or any(name.startswith(w) for w in which)]
    if not chosen:
        sys.exit(f"no row is {', '.join(which)}: {', '.join(rows)}")
    return [functools.partial(rows[name], t) for name in chosen for t in tokens]


def write_pack(path):
    """Cells are made for their kernels alone: .ours compiles before it looks at its set."""
    recorder = Recorder()
    for cell in cells_of((), (1,), lambda large, small: large):
        c = cell()
        for of in (c.ours, *c.more.values()):
            of(Noted(recorder), None)
    say(f"{recorder.write(path)} kernels in {path}")


class Noted:
    """An engine that records. A kernel of it launches nothing."""

    def __init__(self, recorder):
        self.recorder = recorder

    def compile(self, family, **options):
        self.recorder.compile(family, **options)
        return self

    def prepare(self, *_):
        return lambda: None


def main():
    p = argparse.ArgumentParser(prog="bench/model.py")
    p.add_argument("what", choices=("pack", "list", "rows"))
    p.add_argument("which", nargs="?", default="", metavar="FILE or ROW,...")
    p.add_argument("--tokens", default=pick("1,64,4096", "1,5"))
    p.add_argument("--pack", default=os.path.join(tempfile.gettempdir(), "model.settpack"))
    p.add_argument("--budget", type=float, default=240)
    p.add_argument("--warm", type=float, default=0.3)
    o = p.parse_args()
    if o.what == "pack":
        return write_pack(o.which or o.pack)
    if o.what == "list":
        return print("\n".join(table(pick)))
    torch.manual_seed(1)
    on_side()
    if GPU:
        say(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    run_cells(sealed(o.pack) if o.pack else sett.Engine(), cells_of([w for w in o.which.split(",") if w], [int(t) for t in o.tokens.split(",")]), o.budget, o.warm)


if __name__ == "__main__":
    main()
