# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/python.md run, and print what it says. A program whose framework is not installed is left out."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import sett
from rig import HERE, Case, unittest

PAGE = HERE.parent.parent / "docs" / "python.md"


class Docs(Case):
    @unittest.skipUnless(PAGE.exists(), "the documents are not here")
    def test_programs(self):
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
        ran = 0
        with tempfile.TemporaryDirectory() as folder:
            python = Path(folder, "python")  # `python` is this one
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            python.chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "SETT_CACHE_DIR": folder + "/cache",
                "PYTHONPATH": str(Path(sett.__file__).parent.parent)}
            for (kind, text), (after, output) in zip(blocks, [*blocks[1:], ("", "")]):
                with self.subTest(text.split("\n")[0]):
                    if kind == "c":
                        Path(folder, re.match(r"/\* (\w+\.c) \*/", text).group(1)).write_text(text)
                    if kind == "sh":
                        subprocess.run(text, shell=True, cwd=folder, env=environment, check=True)
                    missing = [n for n in ("torch", "tvm_ffi") if re.search(rf"^import {n}$", text, re.M) and not importlib.util.find_spec(n)]
                    if kind == "py" and not missing:
                        run = subprocess.run([sys.executable, "-W", "ignore", "-c", text], cwd=folder, env=environment, capture_output=True, text=True)
                        self.assertEqual((run.returncode, run.stdout), (0, output if after == "output" else ""), run.stderr)
                        ran += 1
        self.assertGreaterEqual(ran, 3)


if __name__ == "__main__":
    unittest.main()
