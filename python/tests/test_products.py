# SPDX-License-Identifier: Apache-2.0
"""What bench/products.py says of a sweep, and its picture, which need neither a GPU nor torch; and where torch is installed all of it small, on
the CPU engine."""

import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import numpy as np  # noqa: E402
import product_models  # noqa: E402
import product_picture  # noqa: E402
import product_random  # noqa: E402
import product_table as table  # noqa: E402
import sett  # noqa: E402
from sett._product import listed  # noqa: E402


def time(us):
    return table.Time(us, us - 0.5, us + 0.5)


# Of three cells a is best in one, b in two, and c is near the best everywhere.
CELLS = {(64, 128, 1): {table.PEER: time(10), "a": time(5), "b": time(20), "c": time(6)}, (64, 128, 2): {table.PEER: time(10), "a": time(40), "b": time(10), "c": time(11)},
    (96, 128, 2): {table.PEER: time(10), "b": time(20), "c": time(22)}}


class Table(unittest.TestCase):
    def file(self, name):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return os.path.join(folder.name, name)

    def written(self):
        path = self.file("a.csv")
        table.write(path, "NVIDIA H200", [(*cell, way, t) for cell, times in CELLS.items() for way, t in times.items()])
        return path

    def test_what_was_written_is_read_and_later_lines_replace_earlier_ones(self):
        path, more = self.written(), self.file("b.csv")
        self.assertEqual(table.read(path), CELLS)
        self.assertEqual(table.device_of(path), "NVIDIA H200")
        table.write(more, "NVIDIA H100", [(64, 128, 1, "read by x, y", time(3)), (64, 128, 1, "a", time(7))])
        both = table.read(path, more)[64, 128, 1]
        self.assertEqual((both["a"].us, both["b"].us, both["read by x; y"].us), (7, 20, 3))
        self.assertNotIn("read by x; y", table.ours(both))

    def test_each_cell_of_the_grid_has_configurations_that_are_not_pointless(self):
        for n, k in table.SHAPES:
            for m in table.ROWS:
                left = [c for c in table.CONFIGS if not table.pointless(c, m, n, k)]
                self.assertGreaterEqual(len(left), 2, (m, n, k))
                self.assertLess(len(left), len(table.CONFIGS))
        self.assertEqual(len({table.name(c) for c in table.CONFIGS}), len(table.CONFIGS))

    def test_ratios_are_the_peers_time_over_that_of_the_best(self):
        self.assertEqual([table.ratio(times) for times in CELLS.values()], [2, 1, 0.5])
        self.assertEqual(table.best(CELLS[64, 128, 1], ["b", "c"]), ("c", 6))
        self.assertEqual(table.best(CELLS[96, 128, 2], ["a"])[0], None)
        self.assertAlmostEqual(table.geomean([2, 1, 0.5]), 1)
        self.assertEqual(table.slow_cells(CELLS, 0.7), [(0.5, (96, 128, 2))])

    def test_few_are_chosen_that_lose_least_and_no_more_than_help(self):
        every = list(CELLS.values())
        self.assertEqual(table.chosen(every, 1), ["c"], "it covers all, a does not, and b is slow in one")
        self.assertEqual(table.chosen(every, 2), ["b", "a"])
        self.assertEqual(table.chosen(every, 8), ["b", "a"], "c came first, and is needless beside them")
        ring = [{table.PEER: time(1), **{way: time(us) for way, us in pair.items()}} for pair in ({"x": 1, "z": 1.5}, {"x": 1, "w": 1.9}, {"y": 1, "z": 1.5}, {"y": 1, "w": 1.9})]
        self.assertEqual(sorted(table.chosen(ring, 2)), ["x", "y"])
        self.assertEqual(table.chosen([{table.PEER: time(1), "a": time(5), "b": time(5)}], 8), ["a"])
        worth = {way: (loss, wins) for loss, wins, way in table.worth(CELLS)}
        self.assertEqual({way: wins for way, (_, wins) in worth.items()}, {"a": 1, "b": 2})
        self.assertAlmostEqual(worth["a"][0], (6 / 5) ** (1 / 3) - 1)
        self.assertAlmostEqual(worth["b"][0], (11 / 10 * 22 / 20) ** (1 / 3) - 1)

    def test_the_analysis_names_what_matters(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            table.analyse(self.written())
        said = out.getvalue()
        for text in ("3 cells", "| 64 x 128 | 2.00 5.0 us a | 1.00 10.0 us b |", "Over all: 1.0000; cells at least 1: 2", "Below 0.7: 1. Below 0.8: 1.", "0.500 2 x 96 x 128: 20.0 us by b, peer 10.0 us",
            "64 x 128: 1.414 with 2, 1.414 with all"):
            self.assertIn(text, said)

    def test_the_picture_has_a_panel_a_shape_a_mark_a_time_and_the_roofline_of_the_device(self):
        svg = self.file("a.svg")
        product_picture.picture(self.written(), svg)
        tree = xml.etree.ElementTree.parse(svg)
        tags = [e.tag.split("}")[1] for e in tree.iter()]
        self.assertEqual(tags.count("circle"), 3)
        self.assertEqual(tags.count("rect"), 3 + 1)
        self.assertEqual(tags.count("polyline"), 3 * 2)
        texts = [e.text for e in tree.iter() if e.tag.endswith("text")]
        self.assertIn("N 64, K 128", texts)
        self.assertIn("roofline: 4.8 TB/s, 989 TFLOP/s", texts)
        self.assertAlmostEqual(product_picture.roof(1, 4096, 4096, (4.8e12, 989e12)) / 4.8e12, 1, delta=1e-3, msg="a byte of weights an operation")
        self.assertEqual(product_picture.roof(8192, 8192, 8192, (4.8e12, 989e12)), 989e12)

    def test_picture_and_analysis_import_nothing_but_python(self):
        code = f"import sys; sys.path.insert(0, {str(BENCH)!r}); import product_picture; sys.exit('torch' in sys.modules or 'sett' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)


class Random(unittest.TestCase):
    """bench/products.py random: two draws of each kind, and that it finds what is wrong."""

    def test_random_problems_are_right_in_all_orders(self):
        done = subprocess.run([sys.executable, str(BENCH / "products.py"), "random", "3", "--count", str(2 * len(product_random.KINDS))],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "SETT_DEVICE": "cpu"}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"in the orders lazy, eager, random:3, plain, \d+ s: 0 wrong")

    def test_a_wrong_element_is_found_and_a_byte_between_rows(self):
        xp = product_random.Host()
        engine = sett.Engine(no_gpu=True, cache_dir="")
        for number in range(len(product_random.KINDS)):
            drawn = product_random.draw(5, number, False)
            case = product_random.Case(xp, drawn)
            plan = sett.Product(max_m=drawn.max_m, device=sett.CPU, engine=engine, **drawn.problem)
            plan(**case.given())
            self.assertIsNone(case.check(9)[0], drawn)
            last, got = tuple(x - 1 for x in case.out.view.shape), case.out.get()
            got[last] = -100 if got[last] > 0 else 100
            case.out.put(got)
            self.assertIn("out: 1 of ", case.check(9)[0] or "nothing", drawn)
            case.out.raw[-1] = 0
            self.assertFalse(case.out.kept_what_is_between())

    def test_types_of_few_bits_are_as_others_have_them(self):
        xp = product_random.Host()
        for t, pairs in ((product_random.E4, {0x38: 1, 0x7E: 448, 0x01: 2**-9, 0xB8: -1, 0x08: 2**-6, 0x54: 12}), (product_random.E5, {0x3C: 1, 0x7B: 57344, 0x01: 2**-16, 0xC0: -2}),
                ("bf16", {0x3F80: 1, 0xC040: -3})):
            for code, value in pairs.items():
                x = np.array([float(value)])
                self.assertEqual(int(xp.encoded(t, x)[0]), code)
                self.assertEqual(float(xp.nearest(t, x)[0]), value)
        self.assertEqual(xp.nearest(product_random.E4, np.array([17.0, 19.0, -17.5, 1e9])).tolist(), [16, 20, -18, 448], "to even, where two are as near")


class Models(unittest.TestCase):
    def test_kernels_of_models_are_few_and_the_manifest_has_all_that_their_products_need(self):
        every = product_models.problems(product_models.MANIFEST)
        products = [p for family, p in every if family == "sett_product_family"]
        self.assertGreaterEqual(len(products), 15)
        self.assertIn({"dtype": "bf16", "n": 128256, "k": 4096}, products)
        if not os.path.exists(BENCH.parent / "build/release/libsett-kernels.so"):
            self.skipTest("the manifest's library is not built")
        with sett.Engine(no_gpu=True, cache_dir="") as engine:
            found = engine.keys(product_models.MANIFEST, targets="sm_90a")
            self.assertEqual([event.error for event in found if event.error], [])
            self.assertLessEqual(len(found), product_models.MOST_KERNELS)
            made = {bytes(options) for p in products for _, options in listed("sm_90a", p)}
            self.assertLessEqual(len(made), len(found))
            self.assertGreater(8 * len(products), len(made), "products share kernels")


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class Small(unittest.TestCase):
    def test_every_row_is_right_on_the_cpu_engine(self):
        names = ("cells", "drawn", "invariant", "few", "large", "fp8", "epilogues", "f32", "mlp", "assemblers")
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "SETT_DEVICE": "cpu"}
        done = subprocess.run([sys.executable, str(BENCH / "products.py")], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in names:
            self.assertRegex(done.stdout, rf"(?m)^{name}: \d+ cells are right$")
        self.assertNotIn("WRONG", done.stderr)


if __name__ == "__main__":
    unittest.main()
