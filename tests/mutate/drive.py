#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the kernels of kernels/ that no other program runs at small shapes: those by rows, transposes, sums. Three shapes each, on the CPU
engine, beside NumPy; exit 1: a wrong number. For mutate.py, and for who looks for findings of the checker in all of them."""

import sys

import numpy as np

import sett

rng = np.random.default_rng(11)


def some(*shape):
    return rng.standard_normal(shape).astype("f4")


def softmax(x):
    e = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def rms_norm(x, w, eps):
    x = x.astype("f8")
    return x / np.sqrt((x * x).mean(1, keepdims=True) + eps) * w


def layer_norm(x, w, b, eps):
    x = x.astype("f8")
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps) * w + b


def rows(m, n):
    """(family, options, arguments in order with the result as None, what it should be)"""
    x, w, b = some(m, n), some(n), some(n)
    yield "softmax", {"cols": n}, (x, None), softmax(x)
    yield "rms_norm", {"cols": n}, (x, w, None, 1e-5), rms_norm(x, w, 1e-5)
    yield "layer_norm", {"cols": n}, (x, w, b, None, 1e-5), layer_norm(x, w, b, 1e-5)
    z = some(m, 2, n)
    yield "silu_mul", {"cols": n}, (z, None), z[:, 0] / (1 + np.exp(-z[:, 0].astype("f8"))) * z[:, 1]
    yield "row_reduce", {"op": "add"}, (x, None), x.sum(1, dtype="f8")
    yield "transpose", {}, (x, None), x.T
    a = some(m, n)
    yield "elementwise", {"op": "add"}, (x, a, None), x + a


def sums(n):
    x = some(n)
    y = some(n)
    want = 2 * x + y
    got = y.copy()
    run("axpy", {}, (x, got, 2.0))
    near("axpy", got, want)
    part, done, total = np.zeros(128, "f4"), np.zeros(1, "u4"), np.zeros(1, "f4")
    run("vector_reduce", {"op": "add", "threads": 128, "blocks": 128, "vectors_per_thread": 2}, (x, part, done, total))
    near("vector_reduce", total[0], x.sum(dtype="f8"))


engine = None
bad = 0


def run(name, options, arguments):
    engine.compile(getattr(sett.kernels, name), target="cpu", dtype="f32", **options)(*arguments)


def near(name, got, want):
    global bad
    off = np.abs(np.asarray(got, "f8") - want).max()
    if not off <= 1e-4 * max(1, np.abs(want).max()):
        bad += 1
        print(f"{name}: {off} off")


def main():
    global engine
    engine = sett.Engine()
    only = sys.argv[1:]
    for m, n in ((5, 64), (33, 1000), (7, 4104)):
        for name, options, arguments, want in rows(m, n):
            if only and name not in only:
                continue
            got = np.zeros(want.shape, "f4")
            run(name, options, [got if a is None else a for a in arguments])
            near(name, got, want)
    for n in (1000, 70001, 4096) if not only or "sums" in only else ():
        sums(n)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
