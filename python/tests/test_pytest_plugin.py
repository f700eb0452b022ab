# SPDX-License-Identifier: Apache-2.0
"""sett_pytest: by hand, as pytest would call it, and with pytest where the machine has it."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

import numpy as np
import sett
import sett_pytest
from rig import Case, family, family_object


class Mark(types.SimpleNamespace):
    def __init__(self, *args, **kwargs):
        super().__init__(args=args, kwargs=kwargs)


class Item:
    """What the hooks ask of a test."""

    def __init__(self, name, *marks):
        self.nodeid, self.marks, self.sections = name, marks, []

    def iter_markers(self, name):
        assert name == "sett_finding"
        return iter(self.marks)

    def add_report_section(self, *section):
        self.sections.append(section)


def call(when="call", excinfo=None):
    return types.SimpleNamespace(when=when, excinfo=excinfo)


class Plugin(Case):
    def setUp(self):
        self.engine = sett.Engine(cache_dir="", checks="all", finding=lambda *_: None)
        self.addCleanup(self.engine.close)
        self.checking = sett_pytest.Checking(lambda why: why)

    def launch(self, name):
        x, y = np.arange(64, dtype="f4"), np.zeros(64, "f4")
        self.engine.compile(family(name), target="cpu")(x, y)

    def report(self, item, **words):
        made = call(**words)
        self.checking.pytest_runtest_makereport(item, made)
        return made.excinfo

    def test_findings_of_the_process(self):
        before = {f.kind: f.count for f in sett.findings() if f.kernel == "mirror"}
        for _ in range(2):
            self.launch("mirror")
        found = [f for f in sett.findings() if f.kernel == "mirror" and f.kind == "race"]
        self.assertEqual(len(found), 1)
        f = found[0]
        self.assertGreaterEqual(f.count, before.get("race", 0) + 2)
        self.assertEqual((f.level, {s.role for s in f.sites[:2]}), ("error", {"read", "write"}))
        self.assertTrue(all(os.path.basename(s.file) == "family.c" and f"{s.file}:{s.line}" in f.text for s in f.sites[:2]), f)

    def test_a_test_that_finds_something_fails(self):
        for name in ("first", "again"):  # in each test, although one finding is told once a process
            self.launch("mirror")
            why = self.report(Item(name))
            self.assertRegex(why, r"(?s)family\.c:\d+: race: .*fix ")
        self.assertIsNone(self.report(Item("right")))
        self.launch("scale")
        self.assertIsNone(self.report(Item("right too")))
        self.launch("mirror")
        self.assertIn("race", self.report(Item("fixture"), when="setup"))

    def test_a_test_that_failed_keeps_its_failure(self):
        item = Item("failed", Mark("deadlock"))
        self.launch("mirror")
        self.assertEqual(self.report(item, excinfo="assert 1 == 2"), "assert 1 == 2")
        self.assertEqual([s[:2] for s in item.sections], [("call", "sett check")])
        self.assertIn("race", item.sections[0][2])

    def test_marks(self):
        def of(*marks):
            self.launch("mirror")
            return self.report(Item("marked", *marks))

        self.assertIsNone(of(Mark("race"), Mark("uninit")))
        self.assertIsNone(of(Mark("race", match=r"family\.c:\d+"), Mark(kind="uninit")))
        self.assertIn("no race was found that matches 'dragons'", of(Mark("race", "dragons"), Mark("uninit")))
        self.assertIn("no deadlock was found", of(Mark("race"), Mark("uninit"), Mark("deadlock")))
        self.assertRegex(of(Mark("uninit")), r"race: ")
        self.assertIn("no race was found", self.report(Item("nothing", Mark("race"))))
        for wrong in (Mark(), Mark("race", "a", "b"), Mark("race", line=3)):
            with self.assertRaisesRegex(TypeError, "sett_finding of wrong takes a kind"):
                self.report(Item("wrong", wrong))

    def test_costs_are_told_and_fail_nothing(self):
        lines = []
        reporter = types.SimpleNamespace(section=lines.append, line=lines.append)
        z = np.ones((8, 129), "f4")
        self.checking.pytest_terminal_summary(reporter)
        self.assertEqual(lines, [])
        self.engine.compile(sett.kernels.rms_norm, target="cpu", dtype="f32", cols=129)(z, z[0].copy(), np.zeros_like(z), 1e-5)
        self.assertIsNone(self.report(Item("slow")))
        self.checking.pytest_terminal_summary(reporter)
        self.assertRegex("\n".join(lines), r"(?s)^sett check: warnings and costs\nslow: cost\n.*(sectors|narrow)")


SUITE = '''
import numpy as np, pytest, sett

engine = sett.Engine(cache_dir="")
kernel = engine.compile(sett.Family({object!r}, "{name}_family"), target="cpu")

def launch():
    kernel(np.ones(64, "f4"), np.zeros(64, "f4"))

def test_first(): launch()
def test_again(): launch()
def test_none(): pass

@pytest.fixture
def launched(): launch()
def test_fixture(launched): pass

@pytest.mark.sett_finding("race")
@pytest.mark.sett_finding("uninit", match="nobody has written")
def test_wanted(): launch()

@pytest.mark.sett_finding("race")
def test_missing(): pass

@pytest.mark.xfail(strict=True)
def test_expected_to_fail(): launch()
'''


@unittest.skipUnless(importlib.util.find_spec("pytest"), "no pytest")
class Run(Case):
    def pytest(self, name, *options, **env):
        with tempfile.TemporaryDirectory() as d:
            with open(os.path.join(d, "test_it.py"), "w") as f:
                f.write(SUITE.format(object=family_object(), name=name))
            if "ini" in env:
                with open(os.path.join(d, "pytest.ini"), "w") as f:
                    f.write(f"[pytest]\nsett_check = {env.pop('ini')}\n")
            run = subprocess.run([sys.executable, "-m", "pytest", "-v", "--strict-markers", "-p", "no:cacheprovider", *options, d], cwd=d,
                capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), **env))
            return run.returncode, run.stdout + run.stderr, dict(re.findall(r"::(test_\w+) (\w+)", run.stdout.split("= FAILURES")[0]))

    def test_a_run(self):
        wrong = {"test_first": "FAILED", "test_again": "FAILED", "test_none": "PASSED", "test_fixture": "ERROR", "test_wanted": "PASSED",
            "test_missing": "FAILED", "test_expected_to_fail": "XFAIL"}
        for how in (dict(options=["--sett-check=errors"]), dict(options=[], ini="strict")):
            code, text, outcome = self.pytest("mirror", *how.pop("options"), **how)
            self.assertEqual((code, outcome), (1, wrong), text)
            self.assertRegex(text, r"(?s)___ test_again ___.*family\.c:\d+: race: ")
            self.assertIn("sett_finding: no race was found", text)
        right = dict(wrong, test_first="PASSED", test_again="PASSED", test_fixture="PASSED", test_wanted="FAILED", test_expected_to_fail="FAILED")
        code, text, outcome = self.pytest("scale", "--sett-check=1")
        self.assertEqual((code, outcome), (1, right), text)

    def test_off_and_refused(self):
        code, text, outcome = self.pytest("scale")
        self.assertEqual((code, set(outcome.values())), (1, {"PASSED", "FAILED"}), text)  # xfail(strict) alone fails
        self.assertEqual(outcome["test_missing"], "PASSED")
        self.assertEqual(self.pytest("scale", "--sett-check=all")[0], 4)
        code, text, _ = self.pytest("scale", ini="all")
        self.assertIn("sett_check is 'all'; it may be errors, 1, strict", text)


if __name__ == "__main__":
    unittest.main()
