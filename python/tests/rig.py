# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the families of family.c, engines without a cache on disk, refusals."""

import contextlib
import functools
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import sett

HERE = Path(__file__).resolve().parent
_folder = tempfile.TemporaryDirectory()


@functools.lru_cache(None)
def family_object(name: str = "family") -> str:
    """family.c, or another file, as a shared object, built with the wheel's own headers and linked with nothing."""
    out = os.path.join(_folder.name, f"lib{name}.so")
    subprocess.run(
        [os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-Wl,--build-id", "-I" + sett.include_dir(),
            str(HERE / f"{name}.c"), "-o", out], check=True)
    return out


def family(name: str) -> sett.Family:
    return sett.Family(family_object(), f"{name}_family")


@functools.lru_cache(None)
def engine() -> sett.Engine:
    return sett.Engine(cache_dir="", cache_layers="", cache_remote="")


class Case(unittest.TestCase):
    @contextlib.contextmanager
    def refused(self, status: sett.Status, text: str = ""):
        """The block raises a sett.Error of this status whose text contains this."""
        with self.assertRaises(sett.Error) as caught:
            yield caught
        self.assertEqual((caught.exception.status, str(caught.exception)), (status, str(caught.exception)))
        self.assertIn(text, str(caught.exception))


def python(code: str, **environment: str) -> subprocess.CompletedProcess:
    """A program in a process of its own, with what this one imports."""
    path = os.pathsep.join([str(HERE), str(Path(sett.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path, **environment}, capture_output=True, text=True)
