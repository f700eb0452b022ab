# SPDX-License-Identifier: Apache-2.0
"""The ready kernels of sett/kernels.h, each a family: sett.kernels.softmax, sett.kernels.rms_norm ... dir() lists them."""

import ctypes as _C
from typing import Any, List, Tuple

from . import _c
from ._engine import Family

# Global, as libsett is: families whose bodies call ready kernels are linked with neither.
_library = _C.CDLL(str(_c.LIB / "libsett-kernels.so.0"), mode=_C.RTLD_GLOBAL)
_library.sett_kernels_family.restype, _library.sett_kernels_family.argtypes = _C.POINTER(_c.CFamily), [_C.c_int]


def _workspace(family: str, counts: Tuple[int, ...], options: Any) -> Tuple[int, int]:
    call = getattr(_library, f"sett_{family}_workspace")
    call.restype, call.argtypes = _c.INT, [_c.P, _c.INT, _c.INT, _c.INT, _c.INT, _c.INT, _C.POINTER(_c.SIZE), _C.POINTER(_c.SIZE), _c.ERR]
    partial, left = _c.SIZE(), _c.SIZE()
    user = __getattr__(family)._user("sm_90a", options)
    _c.check(call, _C.addressof(user), *counts, _C.byref(partial), _C.byref(left))
    return partial.value, left.value


def attention_decode_workspace(requests: int, heads: int, heads_k: int, queries: int, keys: int, /, **options: Any) -> Tuple[int, int]:
    """Elements of PARTIAL (f32) and LEFT (u32, zeros before the first launch) for launches of attention_decode with these options, of at most so many
    requests, heads, heads of K and V, queries of a request, and keys of one."""
    return _workspace("attention_decode", (requests, heads, heads_k, queries, keys), options)


def attention_mla_workspace(requests: int, heads: int, heads_k: int, queries: int, keys: int, /, **options: Any) -> Tuple[int, int]:
    """The same of attention_mla."""
    return _workspace("attention_mla", (requests, heads, heads_k, queries, keys), options)


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
