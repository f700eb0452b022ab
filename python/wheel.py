# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of what `make wheel` built, with nothing but the standard library and binutils: the same bytes each time.

    python3 python/wheel.py BUILD VERSION

BUILD/python/tree is what the wheel holds, and is importable as it lies."""

import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

METADATA = """Metadata-Version: 2.1
Name: sett
Version: {version}
Summary: GPU kernels at run time: layouts, a cache, launches; also on the CPU
License: Apache-2.0
Requires-Python: >=3.10
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

{readme}"""


def collect(build: Path, tree: Path) -> None:
    """sett/ as it is imported: the modules, the headers, and in lib/ the shared objects and the command, stripped."""
    package, lib = tree / "sett", tree / "sett" / "lib"
    shutil.rmtree(tree, ignore_errors=True)
    lib.mkdir(parents=True)
    for file in sorted(Path("python/sett").iterdir()):
        if file.suffix in (".py", ".pyi") or file.name == "py.typed":
            shutil.copy(file, package)
    for header in sorted(Path("include/sett").rglob("*.h")):
        (package / header.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(header, package / header)
    shutil.copy("python/sett_pytest.py", tree)
    shutil.copy(build / "python" / "_fast.abi3.so", package)
    for name in ("libsett.so.0", "libsett-kernels.so.0", "libsett-ptx.so", "libsett-remote.so", "sett"):
        if (build / name).exists():
            shutil.copy(build / name, lib)
    (lib / "models").mkdir()
    for model in sorted((build / "models").iterdir()):
        shutil.copy(model, lib / "models")
    for binary in binaries(tree):
        subprocess.run(["strip", "--strip-unneeded", binary], check=True)
        binary.chmod(0o755)


def binaries(tree: Path) -> "list[Path]":
    return [*sorted((tree / "sett").glob("*.so")), *sorted(f for f in (tree / "sett" / "lib").iterdir() if f.is_file())]


def platform_tag(tree: Path) -> str:
    """manylinux_2_N, of the newest C library that one of them asks for; packed relocations need 2.36."""
    minor = 17
    for binary in binaries(tree):
        needs = subprocess.run(["objdump", "-p", binary], check=True, capture_output=True, text=True).stdout
        minor = max([minor, *map(int, re.findall(r"GLIBC_2\.(\d+)", needs)), *(36 for _ in re.findall("GLIBC_ABI_DT_RELR", needs))])
    return f"manylinux_2_{minor}_{platform.machine()}"


def write_info(tree: Path, version: str, tag: str) -> Path:
    info = tree / f"sett-{version}.dist-info"
    info.mkdir()
    readme = Path("docs/python.md").read_text()
    (info / "METADATA").write_text(METADATA.format(version=version, readme=readme))
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: sett\nRoot-Is-Purelib: false\nTag: {tag}\n")
    (info / "entry_points.txt").write_text("[console_scripts]\nsett = sett.__main__:main\n\n[pytest11]\nsett_check = sett_pytest\n")
    shutil.copy("LICENSE", info)
    (info / "LICENSES.static").write_text(licences())
    lines = []
    for file in files(tree):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"{file.relative_to(tree)},sha256={digest},{file.stat().st_size}\n")
    (info / "RECORD").write_text("".join(lines) + f"{info.name}/RECORD,,\n")
    return info


def licences() -> str:
    """Of what the shared objects hold of other projects."""
    parts = re.findall(r"^STATIC_PARTS_\w+ := (.*)", Path("Makefile").read_text(), re.M)
    return subprocess.run(["tools/sbom", "--licences", ",".join(" ".join(parts).split())], check=True, capture_output=True, text=True).stdout


def files(tree: Path) -> "list[Path]":
    return sorted(f for f in tree.rglob("*") if f.is_file() and "__pycache__" not in f.parts)


def pack(tree: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as z:
        for file in files(tree):
            entry = zipfile.ZipInfo(str(file.relative_to(tree)), (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if os.access(file, os.X_OK) else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, file.read_bytes())


def main() -> None:
    build, version = Path(sys.argv[1]), sys.argv[2]
    tree = build / "python" / "tree"
    collect(build, tree)
    tag = f"cp310-abi3-{platform_tag(tree)}"
    write_info(tree, version, tag)
    for old in (build / "python").glob("*.whl"):
        old.unlink()
    wheel = build / "python" / f"sett-{version}-{tag}.whl"
    pack(tree, wheel)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
