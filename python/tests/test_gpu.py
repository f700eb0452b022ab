# SPDX-License-Identifier: Apache-2.0
"""What lies on our side of a launch on a GPU, over the tests' driver: fake_gpu.py in a process that finds it."""

import os
import subprocess
import sys

from rig import HERE, Case, unittest

DRIVER = os.environ.get("SETT_FAKE_DRIVER")  # the folder of the tests' libcuda.so.1


class Gpu(Case):
    @unittest.skipUnless(DRIVER, "$SETT_FAKE_DRIVER does not name the folder of the tests' driver")
    def test_over_the_fake_driver(self):
        run = subprocess.run([sys.executable, "fake_gpu.py"], cwd=HERE, env={**os.environ, "LD_LIBRARY_PATH": DRIVER, "FAKE_CUDA_GPUS": "2"},
            capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main()
