# SPDX-License-Identifier: Apache-2.0
"""sett.Product on the CPU engine: results beside NumPy's, how operands lie, workspaces, what is refused."""

import gc
import importlib.util
import os
import tempfile
import threading

import numpy as np
import sett
from rig import Case, engine, python, unittest
from sett import Status

RNG = np.random.default_rng(7)


def some(*shape, dtype="f2"):
    return (RNG.integers(-4, 5, shape) / 4).astype(dtype)


def product(n, k, dtype="f16", max_m=200, **problem):
    return sett.Product(n, k, dtype, max_m, sett.CPU, engine=engine(), **problem)


def exact(a, b):
    return a.astype("f8") @ np.swapaxes(b.astype("f8"), -1, -2)


def dequantised(codes, zeros, scales, group):
    each = np.arange(codes.shape[1]) // group
    return ((codes.astype("f4") - (8 if zeros is None else zeros[:, each])) * scales[:, each].astype("f4")).astype("f2")


def nibbles(values, order=range(8)):
    """Eight values along the last mode to a word: nibble i has value order[i]."""
    eight = values.reshape(*values.shape[:-1], -1, 8).astype("u4")
    return sum(eight[..., j] << np.uint32(4 * i) for i, j in enumerate(order)).astype("u4").view("i4")


class Weights(Case):
    N, K, GROUP = 72, 192, 32
    AWQ = (0, 2, 4, 6, 1, 3, 5, 7)

    def setUp(self):
        self.codes = RNG.integers(0, 16, (self.N, self.K)).astype("u1")
        self.zeros = RNG.integers(1, 16, (self.N, self.K // self.GROUP)).astype("u1")
        self.scales = (RNG.integers(1, 9, self.zeros.shape) / 64).astype("f2")

    def close(self, packed, sw, want, **problem):
        a = some(9, self.K)
        got = product(self.N, self.K, group=self.GROUP, d="f32", **problem)(a, packed, np.empty((9, self.N), "f4"), sw=sw)
        np.testing.assert_allclose(got, exact(a, want), rtol=1e-5, atol=1e-4)

    def test_rows(self):
        signed = (self.codes[:, ::2] | self.codes[:, 1::2] << 4) ^ 0x88
        b, sw = sett.pack_weights(signed, self.scales, dtype="f16", group=self.GROUP)
        self.close(b, sw, dequantised(self.codes, None, self.scales, self.GROUP), b="i4")

    def test_gptq_and_awq(self):
        want = dequantised(self.codes, self.zeros, self.scales, self.GROUP)
        gptq = nibbles(self.codes).T.copy(), self.scales.T, nibbles((self.zeros - 1).T)
        awq = nibbles(self.codes.T, self.AWQ), self.scales.T, nibbles(self.zeros.T, self.AWQ)
        for order, (weights, scales, zeros) in {"gptq": gptq, "awq": awq}.items():
            b, sw = sett.pack_weights(weights, scales, zeros, dtype="f16", group=self.GROUP, order=order)
            self.close(b, sw, want, b="i4", zeros=1)

    def test_bytes(self):
        codes = RNG.integers(-128, 128, (self.N, self.K)).astype("i1")
        b, sw = sett.pack_weights(codes, self.scales, b="i8", dtype="f16", group=self.GROUP)
        each = np.arange(self.K) // self.GROUP
        self.close(b, sw, (codes.astype("f4") * self.scales[:, each].astype("f4")).astype("f2"), b="i8")

    def test_of_each_group_and_of_each_product(self):
        codes = RNG.integers(0, 16, (3, self.N, self.K)).astype("u1")
        each = [sett.pack_weights(x[:, ::2] | x[:, 1::2] << 4, self.scales, self.zeros, dtype="f16", group=self.GROUP) for x in codes]
        b, sw = (np.stack(x) for x in zip(*each))
        values, counts = [dequantised(x, self.zeros, self.scales, self.GROUP) for x in codes], np.array([7, 0, 20], "i4")
        named = {"b": "i4", "group": self.GROUP, "zeros": 1, "d": "f32", "max_m": 30}
        p, q, r = (product(self.N, self.K, **named, **more) for more in ({"grouped": "contiguous", "groups": 3}, {"grouped": "masked", "groups": 3}, {"batch": 3}))
        flat, deep, offsets = some(30, self.K), some(3, 30, self.K), np.array([1, 8, 8, 28], "i4")
        of_flat, of_deep = np.full((30, self.N), 9, "f4"), np.full((3, 30, self.N), 9, "f4")
        p(flat, b, of_flat, sw=sw, offsets=offsets), q(deep, b, of_deep, sw=sw, counts=counts)
        all_deep = r(deep, b, np.empty((3, 30, self.N), "f4"), sw=sw)
        for i, value in enumerate(values):
            mine = slice(offsets[i], offsets[i + 1])
            for got, want in ((of_flat[mine], exact(flat[mine], value)), (of_deep[i, : counts[i]], exact(deep[i, : counts[i]], value)), (all_deep[i], exact(deep[i], value))):
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(of_flat[[0, 28, 29]], 9), np.testing.assert_array_equal(of_deep[0, 7:], 9), np.testing.assert_array_equal(of_deep[1], 9)
        for call, status, text in (
            (lambda: r(deep, b.reshape(-1), sw=sw), Status.E_SHAPE, "b: it takes 12288 elements beside each other, for each product"),
            (lambda: q(deep, b[:2], sw=sw, counts=counts), Status.E_SHAPE, "b: it takes 12288 elements beside each other, for each group"),
            (lambda: q(deep, b, sw=sw[:, 1:], counts=counts), Status.E_SHAPE, "packed scales of n=72, k=192, group=32, zeros=1 are"),
        ):
            with self.refused(status, text):
                call()

    def test_refused(self):
        half = self.codes[:, ::2]
        with self.refused(Status.E_SHAPE, "sett.pack_weights: weights (72,96) are N 72, K 192 of i4, two a byte: in 3 groups of 64 scales are 432 bytes of f16, and these have 864"):
            sett.pack_weights(half, self.scales, dtype="f16", group=64)
        with self.refused(Status.E_ARGUMENT, "sett.pack_weights: order is 'marlin': rows, gptq, gptq_v2, awq"):
            sett.pack_weights(half, self.scales, dtype="f16", order="marlin")
        with self.refused(Status.E_ARGUMENT, ".group is 24: 16, 32, a multiple of 64, or -1 for all of K"):
            sett.pack_weights(half, self.scales, group=24)
        b, sw = sett.pack_weights(half, self.scales, dtype="f16", group=self.GROUP)
        p, a = product(self.N, self.K, b="i4", group=self.GROUP), some(3, self.K)
        with self.refused(Status.E_BIND, "sw: it is missing: b is packed weights"):
            p(a, b)
        with self.refused(Status.E_SHAPE, "b: it has 12287 elements: packed weights of n=72, k=192, group=32, zeros=0 are 12288 bytes beside each other"):
            p(a, b[1:], sw=sw)
        with self.refused(Status.E_SHAPE, "sw: it has 1536 elements: packed scales of n=72, k=192, group=64, zeros=0 are 768 bytes beside each other"):
            product(self.N, self.K, b="i4", group=64)(a, b, sw=sw)
        with self.refused(Status.E_BIND, "sw: it is given, and b is not packed"):
            product(self.N, self.K)(a, some(self.N, self.K), sw=sw)


    def test_weights_that_are_not_packed(self):
        signed = (self.codes[:, ::2] | self.codes[:, 1::2] << 4) ^ 0x88
        b, sw = sett.pack_weights(signed, self.scales, dtype="f16", group=self.GROUP)
        p, a = product(self.N, self.K, b="i4", group=self.GROUP, d="f32", batch=1), some(3, self.K)
        with self.refused(Status.E_SHAPE, f"b: it takes {b.size} elements beside each other, and it has 2 modes: what sett.pack_weights gives"):
            p(a, np.resize(b, (self.N, self.K // 2)), sw=sw)
        np.testing.assert_array_equal(p(a[None], b[None], sw=sw[None]), p(a, b, sw=sw)[None])

    def test_element_types_that_tensors_say_are_those_that_are_packed(self):
        half, zeros = self.codes[:, ::2], self.zeros
        named = {"group": self.GROUP, "b": "i4"}
        with self.refused(Status.E_DTYPE, 'sett.pack_weights: scales are of f16, and sw is bf16: dtype="f16" (and of the Product too), or convert them'):
            sett.pack_weights(half, self.scales, **named)
        with self.refused(Status.E_DTYPE, "sett.pack_weights: scales are of f32, and sw is f16: convert them"):
            sett.pack_weights(half, self.scales.astype("f4"), dtype="f16", **named)
        with self.refused(Status.E_DTYPE, "sett.pack_weights: scales are of f16, and sw is f8E4M3FN: convert them"):
            sett.pack_weights(half, self.scales, b="f4E2M1FN", sw="f8E4M3FN")
        with self.refused(Status.E_DTYPE, "sett.pack_weights: weights are of f16, and b is i4: these, or integers that have their bits"):
            sett.pack_weights(half.astype("f2"), self.scales, dtype="f16", **named)
        with self.refused(Status.E_DTYPE, "sett.pack_weights: zeros are of f32: in order rows they are bytes"):
            sett.pack_weights(half, self.scales, zeros.astype("f4"), dtype="f16", **named)
        with self.refused(Status.E_DTYPE, "sett.pack_weights: zeros are of f16: in order gptq they are Int32, eight zero points each"):
            sett.pack_weights(nibbles(self.codes).T.copy(), self.scales.T, zeros.astype("f2"), dtype="f16", order="gptq", **named)
        for raw in self.scales.view("u2"), self.scales.view("u1"):  # bits, of whatever sw says
            np.testing.assert_array_equal(sett.pack_weights(half, raw, **named)[1], sett.pack_weights(half, self.scales, dtype="f16", **named)[1])

    def test_zero_points_are_0_to_16(self):
        zeros = self.zeros.copy()
        zeros[3, 2], zeros[5, 0] = 17, 255
        with self.refused(Status.E_ARGUMENT, "zeros of row 3, group 2 is 17: from 0 to 16"):
            sett.pack_weights(self.codes[:, ::2], self.scales, zeros, dtype="f16", group=self.GROUP)
        zeros[3, 2], zeros[5, 0] = 16, 0
        sett.pack_weights(self.codes[:, ::2], self.scales, zeros, dtype="f16", group=self.GROUP)

    def test_an_orders_name_is_of_any_case(self):
        awq = nibbles(self.codes.T, self.AWQ), self.scales.T, nibbles(self.zeros.T, self.AWQ)
        for got, want in zip(*(sett.pack_weights(*awq, dtype="f16", group=self.GROUP, order=order) for order in ("AWQ", "awq"))):
            np.testing.assert_array_equal(got, want)


class Results(Case):
    def same(self, got, want, by=1e-2):
        np.testing.assert_allclose(np.asarray(got, "f8"), want, rtol=by, atol=by)

    def test_any_number_of_rows(self):
        p, b = product(72, 64), some(72, 64)
        for m in (1, 2, 16, 17, 64, 129, 200):
            a, out = some(m, 64), np.empty((m, 72), "f2")
            self.assertIs(p(a, b, out), out)
            self.same(out, exact(a, b))
            np.testing.assert_array_equal(p(a, b), out)
        self.assertEqual(p(some(0, 64), b).shape, (0, 72))

    def test_types(self):
        a, b = some(5, 48, dtype="f4"), some(24, 48, dtype="f4")
        self.same(product(24, 48, "f32")(a, b), exact(a, b), 1e-6)
        ints = RNG.integers(-9, 9, (5, 48)).astype("i1"), RNG.integers(-9, 9, (24, 48)).astype("i1")
        got = product(24, 48, "i8")(*ints)
        self.assertEqual(got.dtype, np.int32)
        np.testing.assert_array_equal(got, exact(*ints))
        bits = [(x.view("u4") >> 16).astype("u2") for x in (a, b)]  # these have no lower ones
        out = np.empty((5, 24), "f4")
        product(24, 48, "bf16", d="f32")(*(sett.view(x, "bf16") for x in bits), out)
        self.same(out, exact(a, b))

    def test_terms(self):
        a, b, r = some(9, 64), some(48, 64), some(9, 48)
        want = exact(a, b) + r
        self.same(product(48, 64, residual=1)(a, b, r=r), want)
        product(48, 64, residual=1)(a, b, r, r)
        self.same(r, want)
        gate, up = np.split(exact(a, b), 2, 1)
        self.same(product(24, 64, swiglu=1)(a, b), gate / (1 + np.exp(-gate)) * up, 3e-2)
        sa, sb = some(9, dtype="f4"), some(48, dtype="f4")
        self.same(product(48, 64, scaled=1, d="f32")(a, b, sa=sa, sb=sb), exact(a, b) * sa[:, None] * sb)

    def test_scales_of_blocks(self):
        n, k, m = 144, 272, 9
        codes, values = np.array([0xC0, 0xB8, 0, 0x38, 0x40], "u1"), np.arange(-2, 3, dtype="f4")  # of f8E4M3FN
        a, b, out = RNG.integers(0, 5, (m, k)), RNG.integers(0, 5, (n, k)), np.empty((m, n), "f4")
        sa, sb = (2.0 ** RNG.integers(-1, 3, shape).astype("f4") for shape in ((3, 12), (2, 3)))
        sa = sa.T[:m]  # columns that lie 12 apart
        all_sa, all_sb = np.repeat(sa, 128, 1)[:, :k], np.repeat(np.repeat(sb, 128, 1)[:, :k], 128, 0)[:n]
        p = product(n, k, "f8E4M3FN", d="f32", block_scales=1)
        eights = [sett.view(codes[x], "f8E4M3FN") for x in (a, b)]
        p(*eights, out, sa=sa, sb=sb)
        np.testing.assert_array_equal(out, (values[a] * all_sa) @ (values[b] * all_sb).T)
        with self.refused(Status.E_BIND, "sb: it is missing: the product has block_scales=1"):
            p(*eights, out, sa=sa)
        with self.refused(Status.E_SHAPE, "sa: its strides are (3, 1), and the product takes (1, S), S a multiple of 4 and at least 9, the rows of a: a buffer (3, 12) .T[:9] has them"):
            p(*eights, out, sa=np.ascontiguousarray(sa), sb=sb)
        with self.refused(Status.E_SHAPE, "sa: its strides are (1, 9), and the product takes (1, S), S a multiple of 4 and at least 9, the rows of a: a buffer (3, 12) .T[:9] has them"):
            p(*eights, out, sa=np.asfortranarray(sa), sb=sb)
        with self.refused(Status.E_SHAPE, "sa: it is 3 x 9, and the product takes 9 x 3: rows of a, ceil(K/128)"):
            p(*eights, out, sa=sa.T, sb=sb)
        with self.refused(Status.E_SHAPE, "sb: it is 3 x 3, and the product takes 2 x 3"):
            p(*eights, out, sa=sa, sb=np.ones((3, 3), "f4"))

    def test_scales_of_a_row_and_128_columns(self):
        m, k, n, out_n = 9, 64, 272, 48
        a, b = some(m, k), some(n, k)
        p, q = product(n, k, d="f8E4M3FN", quantise=2), product(out_n, n, "f8E4M3FN", d="f32", block_scales=1)
        bits, sd = np.empty((m, n), "u1"), np.full((3, 12), np.nan, "f4").T[:m]
        self.assertEqual(p.problem["quantise"], 2)
        h = p(a, b, sett.view(bits, "f8E4M3FN"), sd=sd)
        x = np.pad(exact(a, b), ((0, 0), (0, 384 - n))).reshape(m, 3, 128)
        np.testing.assert_allclose(sd, np.abs(x).max(2) / 448, rtol=1e-5)
        codes = np.arange(128)
        values = np.where(codes < 8, codes * 2.0**-9, (8 + codes % 8) * 2.0 ** (codes // 8 - 10))  # of f8E4M3FN
        eights = np.where(bits > 127, -1, 1) * values[bits & 127]
        whole = (eights * np.repeat(sd, 128, 1)[:, :n])
        self.assertTrue((np.abs(whole - exact(a, b)) <= np.abs(whole) / 15 + np.repeat(sd, 128, 1)[:, :n] / 500).all())
        weights, sb, out = np.full((out_n, n), 0x38, "u1"), np.ones((1, 3), "f4"), np.empty((m, out_n), "f4")  # of ones
        q(h, sett.view(weights, "f8E4M3FN"), out, sa=sd, sb=sb)  # both as they are
        np.testing.assert_allclose(out, np.broadcast_to(whole.sum(1)[:, None], out.shape), rtol=1e-3, atol=1e-2)
        takes = "and the product takes (1, S), S a multiple of 4 and at least 9, the rows of a"
        for call, status, text in (
            (lambda: p(a, b, h), Status.E_BIND, "sd: it is missing: the product has quantise=2"),
            (lambda: p(a, b, h, sd=sd, qs=sb[0, :1]), Status.E_BIND, "qs: it is given, and the product is without quantise=1"),
            (lambda: p(a, b, h, sd=np.ones((m, 3), "f4")), Status.E_SHAPE, f"sd: its strides are (3, 1), {takes}"),
            (lambda: p(a, b, h, sd=sd[:, :2]), Status.E_SHAPE, "sd: it is 9 x 2, and the product takes 9 x 3: rows of a, ceil(N/128)"),
            (lambda: p(a, b, h, sd=sd.astype("f2", order="K")), Status.E_DTYPE, "sd: it is of f16, and the product takes f32"),
            (lambda: product(48, 64)(a, b[:48], sd=sd), Status.E_BIND, "sd: it is given, and the product is without quantise=2"),
            (lambda: product(48, 64, quantise=2), Status.E_ARGUMENT, ".quantise is 2: .d is f8E4M3FN or f8E5M2 then, and not f16"),
            (lambda: sett.Product.of(a, b, sd=sd), Status.E_ARGUMENT, "of: sd is a tensor"),
        ):
            with self.refused(status, text):
                call()
        lists = sett.Product(n, k, "f16", device=sett.CPU, engine=engine(), d="f8E4M3FN", quantise=2, batch=2, pointer_array=1, max_m=m)
        outs, scales = [np.empty((m, n), "u1") for _ in range(2)], [np.empty((3, 12), "f4").T[:m] for _ in range(2)]
        lists([a, a], [b, b], [sett.view(x, "f8E4M3FN") for x in outs], sd=scales)
        for got, of in zip(outs, scales):
            np.testing.assert_array_equal(got, bits), np.testing.assert_array_equal(of, sd)
        wide = [np.empty((3, 16), "f4").T[:m]] * 2
        with self.refused(Status.E_SHAPE, "sd[0]: its strides are (1, 16)"):
            lists([a, a], [b, b], [sett.view(x, "f8E4M3FN") for x in outs], sd=wide)

    def test_groups(self):
        counts, n, k = np.array([5, 0, 161, 64], "i4"), 48, 64
        offsets = np.concatenate(([3], 3 + counts.cumsum())).astype("i4")  # rows 0 to 2, and the last two, are nobody's
        b, bias, flat, deep = some(4, n, k), some(4, n), some(235, k), some(4, 170, k)
        p = product(n, k, max_m=235, grouped="contiguous", groups=4, bias=1)
        q = sett.Product.of(deep, b, max_m=170, device=sett.CPU, engine=engine(), grouped="masked", amax=2, column_sum=1)
        self.assertEqual((p.problem["groups"], p.problem["grouped"], q.problem["groups"], q.problem["batch_a"]), (4, 1, 4, 170 * k))
        for expected in (0, 16, 128):
            out = np.full((235, n), 9, "f2")
            self.assertIs(p(flat, b, out, bias=bias, offsets=offsets, expected_m=expected), out)
            got, amax = np.full((4, 170, n), 9, "f2"), np.zeros((4, 170), "f4")
            sums = np.zeros((4, n), "f4")
            q(deep, b, got, counts=counts, amax=amax, expected_m=expected, column_sum=sums)
            for i, rows in enumerate(counts):
                mine = slice(offsets[i], offsets[i + 1])
                self.same(out[mine], exact(flat[mine], b[i]) + bias[i])
                self.same(got[i, :rows], exact(deep[i, :rows], b[i]))
                np.testing.assert_array_equal(got[i, rows:], 9)
                self.same(sums[i], exact(deep[i, :rows], b[i]).sum(0), 1e-4)
                np.testing.assert_allclose(amax[i, :rows], np.abs(exact(deep[i, :rows], b[i])).max(1), rtol=1e-6)
                np.testing.assert_array_equal(amax[i, rows:], 0)
            np.testing.assert_array_equal(out[:3], 9), np.testing.assert_array_equal(out[233:], 9)
        self.assertEqual(q(deep, b, counts=counts, amax=amax, column_sum=sums).shape, (4, 170, n))
        for call, status, text in (
            (lambda: p(flat, b, bias=bias), Status.E_BIND, "offsets: it is missing: the product has grouped=contiguous"),
            (lambda: p(flat, b, bias=bias, offsets=offsets, counts=counts), Status.E_BIND, "counts: it is given, and the product is without grouped=masked"),
            (lambda: p(flat, b, bias=bias, offsets=counts), Status.E_SHAPE, "offsets: it takes 5 elements beside each other"),
            (lambda: p(flat, b, bias=bias, offsets=offsets.astype("f4")), Status.E_DTYPE, "offsets: it is of f32, and the product takes i32"),
            (lambda: p(flat, b[:3], bias=bias, offsets=offsets), Status.E_SHAPE, "b: it has 3 groups, and the product 4: groups"),
            (lambda: p(flat, b, bias=bias[0], offsets=offsets), Status.E_SHAPE, "bias: it takes 48 elements beside each other, for each group"),
            (lambda: p(deep, b, bias=bias, offsets=offsets), Status.E_RANK, "a: it has 3 modes, and the product takes 2: rows, columns"),
            (lambda: q(flat, b, counts=counts, amax=amax, column_sum=sums), Status.E_RANK, "a: it has 2 modes, and the product takes 3: groups, rows, columns"),
            (lambda: q(deep, b, counts=counts, amax=amax, column_sum=sums, expected_m=-1), Status.E_ARGUMENT, ".expected_m is -1: 0 or more"),
            (lambda: product(n, k, groups=2), Status.E_ARGUMENT, ".groups is 2: then .grouped is contiguous or masked"),
            (lambda: sett.Product.of(deep[:3], b, grouped="masked"), Status.E_SHAPE, "of: b is groups of 4, and another tensor of 3"),
        ):
            with self.refused(status, text):
                call()

    def test_groups_with_scales_of_blocks(self):
        counts, n, k, m = np.array([3, 0, 9], "i4"), 144, 272, 12
        codes, values = np.array([0xC0, 0xB8, 0, 0x38, 0x40], "u1"), np.arange(-2, 3, dtype="f4")  # of f8E4M3FN
        a, b, out = RNG.integers(0, 5, (3, m, k)), RNG.integers(0, 5, (3, n, k)), np.empty((3, m, n), "f4")
        sa, sb = (2.0 ** RNG.integers(-1, 3, shape).astype("f4") for shape in ((3, 3, 16), (3, 2, 3)))
        sa = sa.transpose(0, 2, 1)[:, :m]  # columns that lie 16 apart
        p = product(n, k, "f8E4M3FN", d="f32", block_scales=1, grouped="masked", groups=3, max_m=m)
        eights = [sett.view(codes[x], "f8E4M3FN") for x in (a, b)]
        p(*eights, out, sa=sa, sb=sb, counts=counts)
        for i, rows in enumerate(counts):
            all_sa, all_sb = np.repeat(sa[i], 128, 1)[:, :k], np.repeat(np.repeat(sb[i], 128, 1)[:, :k], 128, 0)[:n]
            np.testing.assert_array_equal(out[i, :rows], ((values[a[i]] * all_sa) @ (values[b[i]] * all_sb).T)[:rows])
        takes = "and the product takes (3 S, 1, S), S a multiple of 4 and at least 12, the rows of a: a buffer (3, 3, 12) .swapaxes(1, 2)[:, :12] has them"
        loose = np.ones((3, 4, 16), "f4").swapaxes(1, 2)[:, :m, :3]  # room for a column between groups
        for given, of_b, status, text in (
            (np.ascontiguousarray(sa), sb, Status.E_SHAPE, f"sa: its strides are (36, 3, 1), {takes}"),
            (loose, sb, Status.E_SHAPE, f"sa: its strides are (64, 1, 16), {takes}"),
            (sa[:2], sb, Status.E_SHAPE, "sa: it has 2 groups, and the product 3: groups"),
            (sa[:, :9], sb, Status.E_SHAPE, "sa: it is 9 x 3, and the product takes 12 x 3: rows of a, ceil(K/128)"),
            (sa[0], sb, Status.E_RANK, "sa: it has 2 modes, and the product takes 3: groups, rows, columns"),
            (sa, np.ones((3, 3, 3), "f4")[:, :2], Status.E_SHAPE, "sb: its groups lie 9 elements apart, and those of the problem 6: one behind the other"),
        ):
            with self.refused(status, text):
                p(*eights, out, sa=given, sb=of_b, counts=counts)

    def test_terms_by_name(self):
        a, b, bias, aux = some(9, 64), some(48, 64), some(48), np.empty((9, 48), "f2")
        p = product(48, 64, bias=1, activation="relu", aux=1, alpha=1)
        out = p(a, b, bias=bias, aux=aux, alpha=0.5)
        want = exact(a, b) / 2 + bias
        self.same(aux, want)
        self.same(out, np.maximum(want, 0))
        self.assertEqual((p.problem["activation"], p.problem["alpha"]), (1, 1))
        amax, qs = np.zeros(9, "f4"), np.full(1, 2, "f4")
        p = product(48, 64, clamp=1, amax=2, softcap=1, scale=1, d="f32")
        want = np.clip(5 * np.tanh(exact(a, b) * 2 / 5), -1, 4)
        self.same(p(a, b, amax=amax, s=qs, cap=5, low=-1, high=4), want)
        self.same(amax, np.abs(want).max(1))
        p = product(48, 64, residual=1, beta=1)
        self.same(p(a, b, r=aux, beta=-1), exact(a, b) - aux.astype("f8"))
        rows, columns, row_most, column_most = np.zeros(9, "f4"), np.ones(48, "f4"), np.full(9, -np.inf, "f4"), np.full(48, -np.inf, "f4")
        q = product(48, 64, row_sum=1, column_sum=1, row_max=1, column_max=1, quantise=0, d="f32")
        q(a, b, row_sum=rows, column_sum=columns, row_max=row_most, column_max=column_most)
        self.same(rows, exact(a, b).sum(1), 1e-5), self.same(columns, 1 + exact(a, b).sum(0), 1e-5)
        self.same(row_most, exact(a, b).max(1), 1e-6), self.same(column_most, exact(a, b).max(0), 1e-6)
        with self.refused(Status.E_BIND, "column_max: it is missing: the product has column_max=1"):
            q(a, b, row_sum=rows, column_sum=columns, row_max=row_most)
        for named, text in (({}, "beta is missing: the product has beta=1"), ({"beta": 1, "alpha": 2}, "alpha is given, and the product is without alpha=1"),
                ({"beta": 1, "bias": bias}, "bias: it is given, and the product is without bias=1")):
            with self.refused(Status.E_BIND, text):
                p(a, b, r=aux, **named)
        with self.assertRaises(TypeError):
            p(a, b, r=aux, beta="one")
        with self.refused(Status.E_SHAPE, "bias: it takes 48 elements beside each other, and it has 40"):
            product(48, 64, bias=1)(a, b, bias=bias[:40])
        with self.refused(Status.E_SHAPE, "s: it takes 1 element beside each other, and it has 9"):
            product(48, 64, scale=1)(a, b, s=amax)
        with self.refused(Status.E_SHAPE, "bias: it takes 48 elements beside each other, and they lie 2 apart"):
            product(48, 64, bias=1)(a, b, bias=some(96)[::2])
        with self.refused(Status.E_SHAPE, "bias: it takes 48 elements beside each other, and it has 2 modes"):
            product(48, 64, bias=1)(a, b, bias=some(1, 48))
        p = product(48, 64, alpha=1, clamp=1)
        self.same(p(a, b, alpha=0, low=0, high=0), np.zeros((9, 48)))
        for cap in (0, -1, float("nan")):
            with self.refused(Status.E_ARGUMENT, f".cap is {cap:g}, and .terms.softcap is 1: from 7.88861e-31 to 1.26765e+30"):
                product(48, 64, softcap=1)(a, b, cap=cap)
        for extents in ((0, 64), (48, 0)):
            self.same(product(*extents)(a[:, : extents[1]], b[: extents[0], : extents[1]]), np.zeros((9, extents[0])))

    def test_rows_that_lie_apart_and_columns_that_do(self):
        wide, b = some(7, 96), some(40, 64)
        a, out = wide[:, 8:72], np.zeros((7, 64), "f2")
        p = sett.Product.of(a, b, out[:, :40], max_m=64, device=sett.CPU, engine=engine())
        p(a, b, out[:, :40])
        self.same(out[:, :40], exact(a, b))
        self.assertFalse(out[:, 40:].any())
        self.assertEqual((p.problem["lda"], p.problem["ldb"], p.problem["ldd"], p.problem["n"]), (96, 64, 64, 40))
        turned = some(64, 40)
        p = sett.Product.of(a, turned.T, engine=engine())
        self.assertEqual((p.problem["b_major"], p.problem["ldb"]), (1, 40))
        self.same(p(a, turned.T), exact(a, turned.T))
        upright = some(64, 8)
        p = sett.Product.of(upright.T, b, max_m=8, device=sett.CPU, engine=engine())
        self.same(p(upright.T, b), exact(upright.T, b))
        self.same(p(upright.T[:3], b), exact(upright.T[:3], b))

    def test_a_class_made_from_it(self):
        class Own(sett.Product):
            """Whose workspaces are counted."""

            def _workspace(self, handle):
                asked.append(handle)
                return super()._workspace(handle)

        asked, a, b = [], some(7, 64), some(48, 64)
        p = Own(48, 64, "f16", device=sett.CPU, engine=engine())
        self.same(p(a, b), exact(a, b))
        self.assertEqual(len(asked), 1)

    def test_batches(self):
        a, b = some(3, 10, 32), some(3, 24, 32)
        p = sett.Product.of(a, b, device=sett.CPU, engine=engine(), max_m=10)
        self.same(p(a, b), exact(a, b))
        self.same(p(a[:, :4], b), exact(a[:, :4], b))
        with self.refused(Status.E_RANK, "a: it has 2 modes, and the product takes 3: products, rows, columns"):
            p(a[0], b[0])
        with self.refused(Status.E_SHAPE, "b: it has 2 products, and the product 3: batch"):
            p(a, b[:2])
        shared = np.lib.stride_tricks.as_strided(b[0], b.shape, (0, *b[0].strides))
        with self.refused(Status.E_SHAPE, "b: its products lie 0 elements apart: of one b that all share the product has no batch, and M is the rows of all"):
            p(a, shared)
        with self.refused(Status.E_RANK, "products, rows, columns; of one b that all share the product has no batch, and M is the rows of all"):
            p(a, b[0])
        with self.refused(Status.E_SHAPE, "of: b has strides (0, 32, 1): of one b that all share no batch, and M is the rows of all: a.reshape(-1, K), and b of two modes"):
            sett.Product.of(a, shared, device=sett.CPU, engine=engine())
        with self.refused(Status.E_SHAPE, "of: b is a batch of 2, and another tensor of 3"):
            sett.Product.of(a, b[:2], device=sett.CPU, engine=engine())

    def test_a_batch_of_one(self):
        a, b, r = some(1, 9, 64), some(1, 48, 64), some(1, 9, 48)
        p = sett.Product.of(a, b, max_m=9, device=sett.CPU, engine=engine(), bias=1, aux=1, residual=1, amax=2, d="f32")
        self.assertEqual(p.problem["batch"], 1)
        bias, aux, amax = some(1, 48).astype("f4"), np.empty((1, 9, 48), "f4"), np.zeros((1, 9), "f4")
        p, r = product(48, 64, batch=1, bias=1, aux=1, residual=1, amax=2, d="f32"), r.astype("f4")
        want = exact(a, b) + bias
        out = p(a, b, r=r, bias=bias, aux=aux, amax=amax)
        self.assertEqual(out.shape, (1, 9, 48))
        self.same(aux, want), self.same(out, want + r), self.same(amax, np.abs(want + r).max(-1))
        self.assertEqual(p(a[0], b[0], r=r[0], bias=bias[0], aux=aux[0], amax=amax[0]).shape, (9, 48))
        of = sett.Product.of(a, b, np.empty((1, 9, 48), "f2"), max_m=20, device=sett.CPU, engine=engine())
        self.same(of(a, b), exact(a, b)), self.same(of(a, b, np.empty((1, 9, 48), "f2")), exact(a, b))
        with self.refused(Status.E_SHAPE, "b is a batch of 3, and another tensor of 1"):
            sett.Product.of(a, some(3, 48, 64), device=sett.CPU, engine=engine())
        with self.refused(Status.E_RANK, "a: it has 3 modes, and the product takes 2: rows, columns"):
            product(48, 64)(a, b)

    def test_rows_of_products_between_each_other(self):
        """As an attention's output by heads has them."""
        a, b, r, out = some(9, 3, 64), some(3, 48, 64), some(9, 3, 48), np.empty((9, 3, 48), "f2")
        turned = [x.swapaxes(0, 1) for x in (a, out, r)]
        p = sett.Product.of(turned[0], b, turned[1], turned[2], max_m=9, device=sett.CPU, engine=engine())
        want = exact(turned[0], b) + turned[2]
        p(turned[0], b, turned[1], turned[2])
        self.same(out.swapaxes(0, 1), want)
        self.same(p(turned[0], b, r=turned[2]), want)
        with self.refused(Status.E_ARGUMENT, ".batch_d is 24: products of D overlap, whose rows lie 144 apart"):
            product(48, 64, batch=3, ldd=144, batch_d=24)

    def test_arrays_of_pointers(self):
        a, (b0, b1) = [some(5, 32) for _ in range(3)], (some(24, 32), some(24, 32))
        b, bias, out = [b0, b1, b0], [some(24) for _ in range(3)], [np.zeros((5, 24), "f2") for _ in range(3)]
        p = product(24, 32, max_m=9, batch=3, pointer_array=1, bias=1)
        self.assertIs(p(a, b, out, bias=bias), out)
        for i in range(3):
            self.same(out[i], exact(a[i], b[i]) + bias[i])
            out[i][:] = 0
        given = [p.pointers(name, tensors) for name, tensors in (("a", a), ("b", b), ("out", out), ("bias", bias))]
        self.assertIs(p(*given[:3], bias=given[3].astype("i8"), m=2), given[2])
        for i in range(3):
            self.same(out[i][:2], (exact(a[i], b[i]) + bias[i])[:2])
            self.assertFalse(out[i][2:].any())
        wide = [some(5, 64)[:, :32] for _ in range(3)]
        q = sett.Product.of(wide, b, out, device=sett.CPU, engine=engine(), max_m=9)
        self.assertEqual([q.problem[name] for name in ("lda", "batch", "pointer_array")], [64, 3, 1])
        q(wide, b, out)
        self.same(out[1], exact(wide[1], b1))
        nothing = given[1].copy()
        nothing[1] = 0
        for status, call, text in (
            (Status.E_BIND, lambda: p(*given[:3], bias=bias), "a: it is an array of addresses, which do not say the rows: m is given"),
            (Status.E_BIND, lambda: p(a, b, bias=bias), "out: it is missing: with pointer_array=1 the call makes none"),
            (Status.E_SHAPE, lambda: p(a[:2], b, out, bias=bias), "Product.pointers: a: the product has batch=3, and the list 2 tensors"),
            (Status.E_SHAPE, lambda: p(a, [b0, b1, b1[:20]], out, bias=bias), "b[2]: it is 20 x 32, and the product takes 24 x 32"),
            (Status.E_SHAPE, lambda: p(a, b, [out[0], out[1][:4], out[2]], bias=bias), "out[1]: it is 4 x 24, and the product takes 5 x 24"),
            (Status.E_SHAPE, lambda: p(a, b, out, bias=[some(24), some(24), some(20)]), "bias[2]: it takes 24 elements beside each other"),
            (Status.E_DTYPE, lambda: p(a, b, out, bias=bias[0]), "bias: it is of f16, and pointer_array=1: addresses are of u64 or i64, as Product.pointers makes them"),
            (Status.E_SHAPE, lambda: p(a, given[1][:2], out, bias=bias), "b: it has 2 addresses, and the product takes batch, 3"),
            (Status.E_SHAPE, lambda: p(a, np.repeat(given[1], 2)[::2], out, bias=bias), "b: its addresses lie 2 elements apart, and the product takes them beside each other"),
            (Status.E_SHAPE, lambda: p(a, given[1][None], out, bias=bias), "b: it has 2 modes, and the product takes one of batch, 3, addresses beside each other"),
            (Status.E_DTYPE, lambda: p(some(3, 5, 32), b, out, bias=bias), "a: it is of f16, and pointer_array=1: addresses are of u64 or i64, as Product.pointers makes them of a list of tensors; of a tensor of 3 modes list(...) is one"),
            (Status.E_DTYPE, lambda: p(a, some(3, 24, 32), out, bias=bias), "b: it is of f16, and pointer_array=1: addresses are"),
            (Status.E_BIND, lambda: p([a[0], None, a[2]], b, out, bias=bias), "a[1]: it is None, and no tensor"),
            (Status.E_BIND, lambda: p(a, b, [5, *out[1:]], bias=bias), "out[0]: it is 5, and no tensor"),
            (Status.E_BIND, lambda: p(a, b, out, bias=[*bias[:2], 1.5]), "bias[2]: it is 1.5, and no tensor"),
            (Status.E_BIND, lambda: p.pointers("b", [b0, "x", b1]), "b[1]: it is a str, and no tensor"),
            (Status.E_ARGUMENT, lambda: p(*given[:3], bias=given[3], m=-7), "sett.Product: m is -7: from 0 to 9, the product's max_m"),
            (Status.E_ARGUMENT, lambda: p(a, b, out, bias=bias, m=-7), "sett.Product: m is -7: from 0 to 9, the product's max_m"),
            (Status.E_ARGUMENT, lambda: p.pointers("a", a, -7), "sett.Product.pointers: m is -7: from 0 to 9, the product's max_m"),
            (Status.E_ARGUMENT, lambda: product(24, 32)(a[0], b0, m=-7), "sett.Product: m is -7: from 0 to"),
            (Status.E_ARGUMENT, lambda: p(given[0], nothing, given[2], bias=given[3], m=2), "sett_product_run: .b[1] is NULL: .pointer_array is 1, and it is the address of what product 1 has"),
            (Status.E_BIND, lambda: sett.Product.of([a[0], None, a[2]], b, engine=engine()), "sett.Product: a[1]: it is None, and no tensor"),
            (Status.E_BIND, lambda: sett.Product.of(a, [5, b0, b1], engine=engine()), "sett.Product: b[0]: it is 5, and no tensor"),
            (Status.E_SHAPE, lambda: p(*given[:2], out, bias=bias, m=6), "out[0]: it is 5 x 24, and the product takes 6 x 24"),
            (Status.E_ARGUMENT, lambda: p(*given[:3], bias=given[3], m=10), "sett.Product: m is 10: from 0 to 9, the product's max_m"),
            (Status.E_ALIGN, lambda: p.pointers("b", [some(24 * 32 + 1)[1:].reshape(24, 32)] * 3), "which is not a multiple of align, 16"),
            (Status.E_ARGUMENT, lambda: p.pointers("qs", a), "Product.pointers: qs is no operand that each product has"),
            (Status.E_ARGUMENT, lambda: product(24, 32).pointers("a", a), "Product.pointers: the product is without pointer_array=1"),
            (Status.E_BIND, lambda: product(24, 32)(a[0], b0, m=5), "a: its rows are M: m is of pointer_array=1"),
            (Status.E_BIND, lambda: product(24, 32)(a, b), "a: it is a list, and no tensor"),
            (Status.E_SHAPE, lambda: sett.Product.of(a, b0, engine=engine()), "of: b is no list, and a is one"),
            (Status.E_SHAPE, lambda: sett.Product.of(a, b[:2], engine=engine()), "of: b is a list of 2 tensors: all operands are lists then, of as many tensors"),
            (Status.E_SHAPE, lambda: sett.Product.of(a[0], b, engine=engine()), "of: b is a list of 3 tensors: all operands are lists then"),
            (Status.E_RANK, lambda: sett.Product.of([a[0][None]], [b0], engine=engine()), "of: a is a list of tensors of 3 modes: rows and columns"),
        ):
            with self.subTest(text), self.refused(status, text):
                call()

    def test_aux_of_batches_lies_as_out_does(self):
        a, b = some(2, 7, 32), some(2, 24, 32)
        p = product(24, 32, max_m=7, batch=2, aux=1)
        out, aux = (np.zeros((2, 7, 24), "f2")[:, :3] for _ in range(2))
        p(a[:, :3], b, out, aux=aux)
        self.same(out, exact(a[:, :3], b)), np.testing.assert_array_equal(aux, out)
        with self.refused(Status.E_SHAPE, "aux: its products lie 72 elements apart, and those of the problem 168: max_m rows, 7, as those of out do"):
            p(a[:, :3], b, out, aux=np.zeros((2, 3, 24), "f2"))

    def test_of_says_what_it_does_not_take(self):
        a, b = some(4, 32), some(16, 32)
        packed, sw = sett.pack_weights(np.zeros((16, 16), "u1"), np.ones((16, 1), "f2"), dtype="f16")
        for given in ((packed, {"b": "i4", "sw": sw}), (packed, {"b": "i4"}), (b, {"group": 64})):
            with self.refused(Status.E_ARGUMENT, "sett.Product.of: packed weights do not say N and K: sett.Product(n, k, dtype, b=..., group=..., zeros=...) takes them"):
                sett.Product.of(a, given[0], engine=engine(), **given[1])
        with self.refused(Status.E_ARGUMENT, "sett.Product.of: bias is a tensor: of a, b, out and r it takes how they lie; bias is an operand of the call, and bias=1 says that there is one"):
            sett.Product.of(a, b, engine=engine(), bias=some(16))

    def test_views_say_what_they_are_and_out_is_needed_where_none_can_be_made(self):
        a, b = np.zeros((4, 32), "u2"), np.zeros((16, 32), "u2")
        self.assertEqual((sett.view(a, "bf16").shape, sett.view(a, "bf16").dtype), ((4, 32), "bf16"))
        self.assertEqual((sett.view(a.view("u1"), "i4").shape, sett.view(a, "f8E4M3FN").dtype), ((4, 128), "f8E4M3FN"))
        p = product(16, 32, d="bf16")
        with self.refused(Status.E_BIND, "out is needed: numpy has no bf16: sett.view of an array of u2 is one"):
            p(a.view("f2"), b.view("f2"))
        out = sett.view(np.empty((4, 16), "u2"), "bf16")
        self.assertIs(p(a.view("f2"), b.view("f2"), out), out)

    def test_of_takes_types_from_tensors(self):
        a, b, out, r = some(4, 32), some(16, 32), np.empty((4, 16), "f4"), some(4, 16, dtype="f4")
        p = sett.Product.of(a, b, out, r, device=sett.CPU, engine=engine(), batch_invariant=1)
        self.assertEqual({n: p.problem[n] for n in ("dtype", "b", "d", "residual", "batch_invariant")}, {"dtype": "f16", "b": "f16", "d": "f32", "residual": 1, "batch_invariant": 1})
        self.same(p(a, b, out, r), exact(a, b) + r)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class Torch(Case):
    def test_tensors(self):
        import torch

        p = product(48, 64, "bf16", residual=1)
        a, b, r = torch.randn(9, 64).bfloat16(), torch.randn(48, 64).bfloat16(), torch.randn(9, 48).bfloat16()
        want = a.float() @ b.float().T + r.float()
        for given in (None, r):
            out = p(a, b, given, r)
            self.assertEqual((out.dtype, tuple(out.shape), out is given), (torch.bfloat16, (9, 48), given is not None))
            torch.testing.assert_close(out.float(), want, rtol=2e-2, atol=2e-2)
        q = sett.Product.of(a, b, engine=engine(), max_m=9, ldd=64)
        self.assertEqual(q(a, b).stride(), (64, 1))
        weights = b.T.contiguous()
        q = sett.Product.of(a, weights.T, engine=engine(), max_m=9, d="f32")
        torch.testing.assert_close(q(a, weights.T), a.float() @ b.float().T, rtol=1e-2, atol=1e-2)
        eights = [torch.randn(n, 64).to(torch.float8_e4m3fn) for n in (5, 48)]
        out = product(48, 64, "f8E4M3FN", d="f32", scaled=1)(*eights, sa=torch.full((5,), 2.0), sb=torch.full((48,), 0.5))
        torch.testing.assert_close(out, eights[0].float() @ eights[1].float().T, rtol=1e-2, atol=1e-1)


class Members(Case):
    def test_what_it_says_of_itself(self):
        p = product(256, 512)
        self.assertRegex(p.explain(9), r"^gemm_wgmma bm=\d+ bn=\d+: \d+ workers, \d+ of \d+ tiles streamed, \d+\.\d us by the model$")
        self.assertEqual((p.device, p.max_m, p.engine), (sett.CPU, 200, engine()))
        self.assertEqual(p.problem["k"], 512)
        self.assertIn("<sett.Product dtype=f16", repr(p))
        self.assertTrue(p.address and p.workspace_bytes)
        self.assertEqual(product(256, 512, batch_invariant=1).workspace_bytes, 0)
        kernels = p.kernels()
        self.assertLessEqual(2, len(kernels))
        self.assertLessEqual(len(kernels), 8)
        self.assertEqual(len({k.key for k in kernels}), len(kernels))
        self.assertEqual({(k.name, k.target) for k in kernels}, {("gemm_wgmma", "cpu"), ("gemm_few_rows", "cpu")})
        self.assertEqual(len({(k.name, k._options.get("bm"), k._options.get("bn")) for k in kernels}), len(kernels))
        shared = {k.key for k in product(1024, 512).kernels()} & {k.key for k in kernels}
        self.assertGreaterEqual(len(shared), len(kernels) - 2, "N is in no key, and decides which tile is left out")

    def test_streams_have_workspaces_and_threads_may_share_one(self):
        p, b = product(128, 4096), some(128, 4096)
        made = []
        inputs = [some(3 + i, 4096) for i in range(6)]

        def run(a, stream):
            for _ in range(3):
                made.append((a, p(a, b, stream=stream)))

        threads = [threading.Thread(target=run, args=(a, i % 2)) for i, a in enumerate(inputs)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual(len(made), 18)
        for a, out in made:
            np.testing.assert_allclose(out.astype("f8"), exact(a, b), rtol=1e-2, atol=1e-2)
        p.prepare()
        p.prepare(5)
        with self.assertRaises(TypeError):
            p.prepare("five")

    def test_one_engine_is_shared_and_opened_when_it_is_needed(self):
        done = python("import sett, sett._engine as e; assert e._shared is None; p = sett.Product(8, 8, 'f16', device=-1); q = sett.Product(8, 8, 'f32', device=-1)\n"
            "assert p.engine is q.engine; p.engine.close(); assert not sett.Product(8, 8, 'f16', device=-1).engine.closed", SETT_CACHE_DIR="")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_it_is_garbage_before_and_after_its_engine(self):
        e = sett.Engine(cache_dir="", no_gpu=True)
        p, a, b = sett.Product(16, 32, "f16", 8, engine=e), some(2, 32), some(16, 32)
        p(a, b)
        q = sett.Product(16, 32, "f16", 8, engine=e)
        q(a, b)
        del q
        gc.collect()
        e.close()
        with self.refused(Status.E_CLOSED):
            p(a, b)
        with self.refused(Status.E_CLOSED):
            p.prepare(3)
        del p
        gc.collect()


class Refused(Case):
    def test_problems(self):
        for options, text in (
            ({"dtype": "f64"}, ".dtype is f64: f16, bf16, f8E4M3FN, f8E5M2, i8 or f32"),
            ({"lda": 3}, ".lda is 3: at least 64, or 0 for that"),
            ({"swiglu": 2}, ".swiglu is 2: from 0 to 1"),
            ({"promote": 1}, ".promote is 1: .dtype is f8E4M3FN or f8E5M2 then, and not "),
            ({"max_m": -1}, "max_m is -1"),
            ({"biases": 1}, "product has no option 'biases'; did you mean 'bias'? It has: dtype, "),
        ):
            with self.subTest(options), self.refused(Status.E_ARGUMENT, text):
                product(48, 64, **options)
        for given in ((1 << 31) + 5, -(1 << 31) - 1, 1 << 33, 1 << 70):
            with self.refused(Status.E_RANGE, f"product: n = {given} does not fit 4 bytes"):
                product(given, 64)
        with self.refused(Status.E_RANGE, f"product: lda = {1 << 63} does not fit 8 bytes"):
            product(48, 64, lda=1 << 63)
        with self.refused(Status.E_DTYPE, "product: option n is an integer"):
            product("many", 64)
        with self.refused(Status.E_NO_DEVICE):
            sett.Product(8, 8, device=77, engine=engine())
        for given, text in (((), "sett.Product takes n and k, the extents of b"), ((8,), "sett.Product takes n and k"), ((8, 8, "f16", 9, "cpu"), "device is 'cpu', which is no integer; sett.CPU is the CPU engine"),
                ((8, 8, "f16", "many", sett.CPU), "max_m is 'many', which is no integer")):
            with self.assertRaisesRegex(TypeError, text):
                sett.Product(*given)
        with self.assertRaisesRegex(TypeError, "^sett.Product: bia is no operand: a, b, out, r, sa, sb, stream, bias, aux, "):
            product(8, 8)(some(2, 8), some(8, 8), bia=3)
        with self.refused(Status.E_ARGUMENT, "product stands for several kernels: sett.Product"):
            engine().compile(sett.Family(sett.kernels._c.LIB / "libsett-kernels.so.0", "sett_product_family"), n=8, k=8, dtype="f16")

    def test_operands(self):
        p, a, b, out = product(48, 64), some(5, 64), some(48, 64), np.empty((5, 48), "f2")
        for status, operands, named, text in (
            (Status.E_DTYPE, (a.astype("f4"), b), {}, "sett.Product: a: it is of f32, and the product takes f16"),
            (Status.E_RANK, (a[0], b), {}, "a: it has 1 mode, and the product takes 2: rows, columns"),
            (Status.E_RANK, (a, b[0]), {}, "b: it has 1 mode, and the product takes 2: rows, columns"),
            (Status.E_SHAPE, (a[:, :32], b), {}, "a: it is 5 x 32, and the product takes 5 x 64"),
            (Status.E_SHAPE, (a, b[:40]), {}, "b: it is 40 x 64, and the product takes 48 x 64"),
            (Status.E_SHAPE, (a, b, out[:4]), {}, "out: it is 4 x 48, and the product takes 5 x 48"),
            (Status.E_SHAPE, (some(10, 64)[::2], b), {}, "a: its rows lie 128 elements apart, and those of the product 64: lda of sett.Product, or Product.of"),
            (Status.E_SHAPE, (some(64, 5).T, b), {}, "a: its columns lie 5 elements apart, and those of the product beside each other: a_major is 0"),
            (Status.E_SHAPE, (some(201, 64), b), {}, "a: it has 201 rows, and the product is for at most 200, its max_m"),
            (Status.E_BIND, (a, b, out, out), {}, "r: it is given, and the product is without residual=1"),
            (Status.E_BIND, (a, b), {"sa": out}, "sa: it is given, and the product is without scaled=1"),
            (Status.E_BIND, (a, 3), {}, "b: it is 3, and no tensor"),
            (Status.E_BIND, (None, b), {}, "a and b are tensors"),
            (Status.E_BIND, (sett.view(a, "f16"), b), {}, "out is needed: a is a sett.View, and only of PyTorch, NumPy and CuPy is one made"),
        ):
            with self.subTest(text), self.refused(status, text):
                p(*operands, **named)
        with self.refused(Status.E_BIND, "r: it is missing: the product has residual=1"):
            product(48, 64, residual=1)(a, b)
        scaled = product(48, 64, scaled=1, d="f32")
        with self.refused(Status.E_SHAPE, "sb: it takes 48 elements beside each other"):
            scaled(a, b, sa=some(5, dtype="f4"), sb=some(5, dtype="f4"))
        with self.refused(Status.E_DTYPE, "sa: it is of f16, and the product takes f32"):
            scaled(a, b, sa=some(5), sb=some(48, dtype="f4"))
        with self.assertRaises(TypeError):
            p(a)
        with self.assertRaises(TypeError):
            p(a, b, biases=a)
        with self.refused(Status.E_SHAPE, "of: a has 64 columns, and b 32: they are K"):
            sett.Product.of(a, b[:, :32], engine=engine())
        with self.refused(Status.E_SHAPE, "of: a has strides (128, 2): elements of a row or of a column lie beside each other"):
            sett.Product.of(some(5, 128)[:, ::2], b, engine=engine())
        with self.refused(Status.E_RANK, "of: b has 1 modes"):
            sett.Product.of(a, b[0], engine=engine())

    def test_a_manifest_names_the_family_as_linkers_name_the_library(self):
        with tempfile.TemporaryDirectory() as folder, sett.Engine(cache_dir="", no_gpu=True) as e:
            path = os.path.join(folder, "k.warm")
            with open(path, "w") as f:
                f.write("family libsett-kernels.so sett_product_family\n dtype = bf16\n n = 64\n k = 64\n")
            found = e.keys(path, targets="sm_80")  # the wheel has libsett-kernels.so.0 alone
            self.assertTrue(found)
            self.assertEqual([event.error for event in found if event.error], [])

    def test_a_sealed_engine_has_what_a_pack_of_its_kernels_has(self):
        with sett.Engine(cache_dir="", no_gpu=True, sealed=True) as e:
            p = sett.Product(48, 64, "f16", engine=e)  # nothing is compiled for the CPU
            self.assertEqual(e.stats["compiles"], 0)
            self.assertEqual(p(some(1, 64), some(48, 64)).shape, (1, 48))


if __name__ == "__main__":
    unittest.main()
