# SPDX-License-Identifier: Apache-2.0
"""Kernels as function objects of apache-tvm-ffi (pip install apache-tvm-ffi).

    import sett.tvm_ffi
    f = sett.tvm_ffi.function(kernel)                   # a tvm_ffi.Function
    sett.tvm_ffi.register("mine.softmax", kernel)       # then tvm_ffi.get_global_func("mine.softmax"), from C++ too

A function takes the kernel's arguments, tensors of any framework that tvm-ffi takes, and launches on the stream that tvm-ffi
says. Its errors have the texts of a launch and are of tvm-ffi's kinds: TypeError, ValueError, RuntimeError.

A function may be called by others than Python, for as long as they like: the engine of its kernel stays open until it is closed."""

import ctypes as C
import itertools
import threading
from typing import Set

import tvm_ffi

from . import _c
from ._engine import Engine, Kernel

_tvm = C.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())


class _Bytes(C.Structure):
    _fields_ = [("data", C.c_char_p), ("size", C.c_size_t)]


_tvm.TVMFFIFunctionSetGlobal.argtypes = [C.POINTER(_Bytes), _c.P, C.c_int]
_tvm.TVMFFIObjectDecRef.argtypes = [_c.P]
_numbers = itertools.count()
_lock = threading.Lock()
_engines: Set[Engine] = set()


def _keep_open(engine: Engine) -> None:
    with _lock:
        _engines.difference_update([e for e in _engines if e.closed])
        _engines.add(engine)


def register(name: str, kernel: Kernel, override: bool = False) -> "tvm_ffi.Function":
    """Registers a kernel as a global function of tvm-ffi. override: in place of one of that name."""
    function, key = _c.P(), name.encode()
    _c.check(_c.lib.sett_tvm_ffi_function, kernel.address, _tvm._handle, C.byref(function))
    try:
        if _tvm.TVMFFIFunctionSetGlobal(_Bytes(key, len(key)), function, int(override)):
            raise ValueError(f"tvm-ffi has a function {name} already")
    finally:
        _tvm.TVMFFIObjectDecRef(function)
    _keep_open(kernel.engine)
    return tvm_ffi.get_global_func(name)


def function(kernel: Kernel) -> "tvm_ffi.Function":
    """A kernel as a tvm_ffi.Function. It keeps the kernel alive."""
    name = f"sett._.{next(_numbers)}"  # for as long as it takes to fetch it
    made = register(name, kernel, override=True)
    tvm_ffi.registry.remove_global_func(name)
    return made
