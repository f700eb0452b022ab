# SPDX-License-Identifier: Apache-2.0
"""bench/attention.py random and invariant: a draw of each kind, and that they find what is wrong."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

if not importlib.util.find_spec("numpy"):
    raise unittest.SkipTest("no NumPy")

import numpy as np

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import attention_invariant  # noqa: E402
import attention_random  # noqa: E402
import random_problems  # noqa: E402

import sett  # noqa: E402


def bench(*words):
    return subprocess.run([sys.executable, str(BENCH / "attention.py"), *words], env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "SETT_DEVICE": "cpu"}, capture_output=True, text=True)


class Kinds(unittest.TestCase):
    def test_every_two_values_stand_together_and_kernels_are_few(self):
        lines = attention_random.PREFILL
        kinds = [options for family, options in attention_random.KINDS if family == "attention"]
        for a, one in enumerate(lines):
            for x in one:
                for y in (y for other in lines[a + 1 :] for y in other):
                    refused = x.get("dtype") == random_problems.E4 and x.get("d") == 256 and ("exact" in y or "softcap" in y)
                    self.assertTrue(refused or any({*x.items(), *y.items()} <= {*kind.items()} for kind in kinds), (x, y))
        self.assertLessEqual(len(attention_random.KINDS) + len(attention_invariant.kinds()), attention_random.MOST_KERNELS)

    def test_a_draw_is_its_seed_and_number(self):
        for large in (False, True):
            self.assertEqual(attention_random.draw(3, 17, large), attention_random.draw(3, 17, large))
        draws = [attention_random.draw(1, i, True) for i in range(2000)]
        for what in (lambda d: not d.rows, lambda d: 0 in d.rows, lambda d: 0 in d.keys, lambda d: max(d.keys, default=0) > 5000, lambda d: d.rows and max(d.rows) > 1000, lambda d: d.window == 2**31 - 1):
            self.assertTrue(any(what(d) for d in draws))


class Random(unittest.TestCase):
    def test_random_problems_are_right_in_all_orders(self):
        done = bench("random", "3", "--count", str(len(attention_random.KINDS)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"in the orders lazy, eager, random:3, plain, \d+ s: 0 wrong")

    def test_a_wrong_element_is_found_and_a_byte_between_rows(self):
        xp, engine = random_problems.Host(), sett.Engine(no_gpu=True, cache_dir="")
        tried = 0
        for number in range(0, len(attention_random.KINDS), 3):
            drawn = attention_random.draw(5, number, False)
            if not drawn.rows or not drawn.rows[-1]:
                continue
            case, tried = attention_random.Case(xp, drawn), tried + 1
            attention_random.launch(engine, case)
            self.assertIsNone(case.check()[0], drawn)
            for name, of in (("O", case.out), ("LSE", case.lse)) if drawn.options.get("lse") else (("O", case.out),):
                at = int(of.outer[-1, drawn.rows[-1] - 1]), -1, int(of.row[-1, drawn.rows[-1] - 1]), -1
                every = of.array.get()
                was, every[at] = every[at], 50.0
                of.array.put(every)
                self.assertIn(f"{name}: 1 of ", case.check()[0] or "nothing", drawn)
                every[at] = was
                of.array.put(every)
            self.assertIsNone(case.check()[0], drawn)
            case.wipe()
            self.assertTrue(case.out.array.is_wiped() and case.lse.array.is_wiped())
            case.out.array.raw[-1] = 0
            self.assertFalse(case.out.array.is_wiped())
        self.assertGreater(tried, 20)

    def test_a_mask_that_is_off_by_one_is_found(self):
        """The reference is the other side: a query that sees one key more or fewer."""
        xp, engine = random_problems.Host(), sett.Engine(no_gpu=True, cache_dir="")
        drawn = attention_random.draw(1, 0, False)._replace(family="attention", options={"dtype": "bf16", "d": 64, "causal": 1, "lse": 1}, heads=1, shared=1, rows=[20], keys=[20], size=0.3)
        for keys, right in (([20], True), ([19], False)):
            case = attention_random.Case(xp, drawn)
            attention_random.launch(engine, case)
            case.drawn = drawn._replace(keys=keys)
            self.assertEqual(case.check()[0] is None, right)


class Invariant(unittest.TestCase):
    def test_bits_of_requests_do_not_depend_on_others(self):
        done = bench("invariant", "2", "--count", str(len(attention_invariant.BASES)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"[1-9]\d+ rows compared, \d+ s: 0 wrong")

    def test_another_bit_is_found(self):
        """Tiles of other keys have other bits: a batch by one and its requests by the other."""
        xp, engine = random_problems.Host(), sett.Engine(no_gpu=True, cache_dir="")
        drawn = attention_invariant.batch(1, 0, False)._replace(rows=[60, 60], keys=[200, 200], prefix=[0, 0])
        self.assertIsNone(attention_invariant.run(xp, engine, drawn)[0])
        self.addCleanup(attention_invariant.WAYS.update, attention=attention_invariant.WAYS["attention"])
        attention_invariant.WAYS["attention"] = (attention_invariant.WAYS["attention"][0], {"keys": 64})
        self.assertRegex(attention_invariant.run(xp, engine, drawn)[0], "O of requests .* has other bits")


if __name__ == "__main__":
    unittest.main()
