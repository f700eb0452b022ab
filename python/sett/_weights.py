# SPDX-License-Identifier: Apache-2.0
"""sett.pack_weights: weights of few bits for sett.Product, of sett/kernels/weights.h."""

import ctypes as C
from typing import Any, Optional, Tuple

from . import _c
from ._c import Error, Status
from .kernels import _library

ORDERS = ("rows", "gptq", "gptq_v2", "awq")


class CWeights(C.Structure):
    _fields_ = [("size", _c.SIZE)] + [(name, _c.INT) for name in ("dtype", "b", "sw", "group", "zeros", "n", "k", "swiglu", "order")]


for _name, _arguments in (("bytes", (C.POINTER(_c.SIZE), C.POINTER(_c.SIZE))), ("", (_c.P,) * 5)):
    _function = getattr(_library, f"sett_product_weights_{_name}" if _name else "sett_product_pack_weights")
    _function.restype, _function.argtypes = _c.INT, [C.POINTER(CWeights), *_arguments, _c.ERR]


class _Host:
    """A tensor's bytes on the host, beside each other in the order of rows. kept: what has them."""

    def __init__(self, name: str, tensor: Any) -> None:
        if hasattr(tensor, "data_ptr"):  # PyTorch's
            self.kept = tensor.detach().cpu().contiguous()
            self.shape, self.address, self.bytes = tuple(tensor.shape), self.kept.data_ptr(), self.kept.numel() * self.kept.element_size()
        elif hasattr(tensor, "__array_interface__"):
            self.kept = tensor if tensor.flags.c_contiguous else tensor.copy(order="C")
            self.shape, self.address, self.bytes = self.kept.shape, self.kept.ctypes.data, self.kept.nbytes
        else:
            raise TypeError(f"sett.pack_weights: {name} is {type(tensor).__name__}: an array of NumPy or a tensor of PyTorch")


def _empty(like: Any, n: int) -> Any:
    if hasattr(like, "data_ptr"):
        import torch

        return torch.empty(n, dtype=torch.uint8)
    import numpy

    return numpy.empty(n, "u1")


def _dtype(name: Optional[str]) -> int:
    return 0 if name is None else _c.dtype_id(name)


def _extents(order: str, weights: _Host, bits: int) -> Tuple[int, int]:
    """Rows and K, of the shape in which each order has them."""
    if len(weights.shape) != 2:
        raise Error(Status.E_RANK, f"sett.pack_weights: weights have {len(weights.shape)} modes: rows and K, as the order has them")
    first, second = weights.shape
    if order == "rows":
        return first, weights.bytes * 8 // bits // first if first else 0
    return (second * 8, first) if order == "awq" else (second, first * 8)


def pack_weights(
    weights: Any, scales: Any, zeros: Any = None, *, b: str = "i4", dtype: str = "bf16", group: int = 0, sw: Optional[str] = None, order: str = "rows", swiglu: bool = False
) -> Tuple[Any, Any]:
    """The operands b and sw of sett.Product(n, k, dtype, b=b, group=group, ...), as flat tensors of bytes on the host, of the weights' framework.

    weights, scales, zeros: as order says. "rows": (N,K), of 4 bits (N,K/2) bytes, the lower half first; scales and zeros, which are bytes,
    (N,K/group); i4 and i8 are signed, with zeros unsigned. "gptq", "gptq_v2": qweight (K/8,N), scales (K/group,N), qzeros (K/group,N/8), in rows of
    K that are in order (no g_idx). "awq": qweight (K,N/8), scales (K/group,N), qzeros (K/group,N/8).
    dtype: that of a. b: i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN. sw: type of scales; None: dtype; of f4E2M1FN also f8E4M3FN (NVFP4) and
    f8E8M0FNU (MXFP4), whose groups are of 16 and 32. group: 0: 128, or what sw has; -1: all of K. swiglu: rows of a gate, then as many of up.

    Raises sett.Error: E_ARGUMENT, what cannot be packed; E_SHAPE: scales or zeros have other numbers of bytes."""
    if order not in ORDERS:
        raise Error(Status.E_ARGUMENT, f"sett.pack_weights: order is {order!r}: {', '.join(ORDERS)}")
    of, by = _Host("weights", weights), _Host("scales", scales)
    from_ = None if zeros is None else _Host("zeros", zeros)
    bits = 4 if b in ("i4", "f4E2M1FN") else 8
    rows, k = _extents(order, of, bits)
    group = group or {"f8E4M3FN": 16, "f8E8M0FNU": 32}.get(sw or "", 128)
    w = CWeights(C.sizeof(CWeights), _dtype(dtype), _dtype(b), _dtype(sw), group, zeros is not None, rows >> swiglu, k, swiglu, ORDERS.index(order))
    packed, scaled = _c.SIZE(), _c.SIZE()
    _c.check(lambda err: _library.sett_product_weights_bytes(C.byref(w), C.byref(packed), C.byref(scaled), C.byref(err)))
    groups = -(-k // (k if group < 0 else group))
    each = 1 if sw and sw.startswith("f8") else 2
    for name, host, want in (("scales", by, rows * groups * each), ("zeros", from_, rows * groups // (1 if order == "rows" else 2))):
        if host is not None and host.bytes != want:
            raise Error(Status.E_SHAPE, f"sett.pack_weights: {name} have {host.bytes} bytes: of {rows} rows and {groups} groups {want}")
    made = [_empty(weights, size.value) for size in (packed, scaled)]
    to = [_Host("", tensor).address for tensor in made]
    _c.check(lambda err: _library.sett_product_pack_weights(C.byref(w), of.address, by.address, from_ and from_.address, *to, C.byref(err)))
    return made[0], made[1]
