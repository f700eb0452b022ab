# SPDX-License-Identifier: Apache-2.0
"""python -m sett: the sett command. `doctor` also says what Python has; `include` and `lib` print the folders of the headers and of the libraries."""

import importlib.metadata
import os
import signal
import sys


def packages() -> None:
    """What of the frameworks that sett works with is installed, without importing it."""
    print(f"python: {sys.version.split()[0]}, {sys.executable}")
    print(f"sett for Python: {importlib.metadata.version('sett')}, {os.path.dirname(os.path.abspath(__file__))}")
    for name in ("torch", "numpy", "cupy-cuda12x", "cupy-cuda13x", "apache-tvm-ffi"):
        try:
            print(f"{name}: {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            if not name.startswith("cupy-"):
                print(f"{name}: not installed")


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that ends ends this program, and the command below, as any of Unix
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.argv[1:] in (["include"], ["lib"]):
        print(os.path.join(here, sys.argv[1]))
        return
    if sys.argv[1:] == ["doctor"]:
        packages()
        sys.stdout.flush()
    command = os.path.join(here, "lib", "sett")
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
