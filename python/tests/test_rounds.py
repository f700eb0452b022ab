# SPDX-License-Identifier: Apache-2.0
"""The statistics of the benchmarks (bench/rounds.py), which need neither a GPU nor torch."""

import math
import statistics
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import rounds  # noqa: E402


class Rounds(unittest.TestCase):
    def test_sets_that_pass_between_two_uses_of_one_fill_200_MB_and_three_caches(self):
        for operands in (1e3, 16e6, 50e6, 199e6, 200e6, 201e6, 8e8):
            for cache in (0, 50e6, 60e6, 126e6):
                n = rounds.copies(operands, cache)
                self.assertGreaterEqual(n, 2)
                self.assertGreaterEqual((n - 1) * operands, 200e6)
                self.assertGreater((n - 1) * operands, 3 * cache)
                self.assertTrue(n == 2 or (n - 2) * operands < max(200e6, 4 * cache), "no more than that takes")

    def test_each_round_has_every_way_once_and_orders_differ(self):
        ways, orders, of = {"a": 1, "b": 2, "c": 3}, set(), []
        for number, name, way in rounds.in_turn(ways, 60):
            self.assertEqual(ways[name], way)
            of.append((number, name))
        for r in range(60):
            order = [name for number, name in of[3 * r:3 * r + 3] if number == r]
            self.assertEqual(sorted(order), ["a", "b", "c"])
            orders.add(tuple(order))
        self.assertEqual(len(orders), 6)

    def test_quantiles_are_ranks_of_what_was_seen(self):
        values = [float((7 * i) % 31) for i in range(31)]  # 0 to 30
        self.assertEqual(rounds.median(values), statistics.median(values))
        self.assertEqual([rounds.quantile(values, q) for q in (0, 0.1, 0.9, 1)], [0, 3, 27, 30])
        self.assertEqual(rounds.quantile([5.0], 0.9), 5)

    def test_a_speed_is_the_median_of_paired_ratios_not_the_ratio_of_medians(self):
        ours, theirs = [1.0, 2.0, 9.0], [3.0, 1.0, 9.0]  # ratios 3, 0.5, 1
        self.assertEqual(rounds.speed(ours, theirs), (1.0, 0.5, 3.0))
        self.assertNotEqual(rounds.speed(ours, theirs)[0], statistics.median(theirs) / statistics.median(ours))
        drift = [1.0 + i for i in range(21)]  # a clock that falls slows both
        self.assertEqual(rounds.speed(drift, [1.5 * t for t in drift]), (1.5, 1.5, 1.5))
        with self.assertRaisesRegex(ValueError, "2 rounds beside 1"):
            rounds.speed([1.0, 2.0], [1.0])

    def test_a_row_has_the_cells_of_its_head_and_ratios_point_where_the_head_says(self):
        times = {rounds.PLAIN: [2.0] * 5, rounds.EARLY: [1.0] * 5, rounds.BEST: [4.0] * 5, "peer": [3.0] * 5, "other": [1.0] * 5}
        row = rounds.row("work", lambda t: f"{t:.0f} ms", times, "256 threads", "here")
        self.assertEqual(row, "| work | 2 ms | 1 ms; 2.000 (2.000..2.000) | 4 ms; 0.500 (0.500..0.500) by 256 threads | "
            "peer 3 ms; 1.500 (1.500..1.500)<br>other 1 ms; 0.500 (0.500..0.500) | here |")
        for line in rounds.HEAD.splitlines():
            self.assertEqual(line.count("|"), row.count("|"))
        alone = rounds.row("work", str, {rounds.PLAIN: [math.pi]}, "", "here")
        self.assertEqual(alone.count("|"), row.count("|"))


if __name__ == "__main__":
    unittest.main()
