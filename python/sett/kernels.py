# SPDX-License-Identifier: Apache-2.0
"""The ready kernels of sett/kernels.h, each a family: sett.kernels.softmax, sett.kernels.rms_norm ... dir() lists them."""

import ctypes as _C
from typing import List

from . import _c
from ._engine import Family

# Global, as libsett is: families whose bodies call ready kernels are linked with neither.
_library = _C.CDLL(str(_c.LIB / "libsett-kernels.so.0"), mode=_C.RTLD_GLOBAL)
_library.sett_kernels_family.restype, _library.sett_kernels_family.argtypes = _C.POINTER(_c.CFamily), [_C.c_int]


def __dir__() -> List[str]:
    names: List[str] = []
    while True:
        family = _library.sett_kernels_family(len(names))
        if not family:
            return names
        names.append(family.contents.name.decode())


def __getattr__(name: str) -> Family:
    if name.startswith("_") or name not in __dir__():
        raise AttributeError(f"sett has no ready kernel {name}: {', '.join(__dir__())}")
    return globals().setdefault(name, Family(_c.LIB / "libsett-kernels.so.0", f"sett_{name}_family"))
