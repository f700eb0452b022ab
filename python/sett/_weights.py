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
    """A tensor's bytes on the host, beside each other in the order of rows. kept: what has them. float: its element type, of floats alone: integers
    and raw bytes may be anything's."""

    def __init__(self, name: str, tensor: Any) -> None:
        if hasattr(tensor, "data_ptr"):  # PyTorch's
            self.kept = tensor.detach().cpu().contiguous()
            self.shape, self.address, self.bytes = tuple(tensor.shape), self.kept.data_ptr(), self.kept.numel() * self.kept.element_size()
        elif hasattr(tensor, "__array_interface__"):
            self.kept = tensor if tensor.flags.c_contiguous else tensor.copy(order="C")
            self.shape, self.address, self.bytes = self.kept.shape, self.kept.ctypes.data, self.kept.nbytes
        else:
            raise TypeError(f"sett.pack_weights: {name} is {type(tensor).__name__}: an array of NumPy or a tensor of PyTorch")
        own = getattr(tensor.dtype, "name", str(tensor.dtype)).rpartition(".")[2]  # torch.float16
        self.float = _c.ALIASES.get(own, own) if "float" in own else ""


def _empty(like: Any, n: int) -> Any:
    if hasattr(like, "data_ptr"):
        import torch

        return torch.empty(n, dtype=torch.uint8)
    import numpy

    return numpy.empty(n, "u1")


def _name(dtype: Any) -> str:
    return _c.DTYPE_NAMES[_c.dtype_id(dtype)]


def _extents(order: str, weights: _Host, bits: int) -> Tuple[int, int]:
    """Rows and K, of the shape in which each order has them."""
    if len(weights.shape) != 2:
        raise Error(Status.E_RANK, f"sett.pack_weights: weights have {len(weights.shape)} modes: rows and K, as the order has them")
    first, second = weights.shape
    if order == "rows":
        return first, weights.bytes * 8 // bits // first if first else 0
    return (second * 8, first) if order == "awq" else (second, first * 8)


def _check_types(weights: _Host, scales: _Host, zeros: Optional[_Host], b: str, dtype: str, sw: Optional[str], order: str) -> None:
    """What a tensor says of its elements is what is packed. Nothing is said by integers, u1 and u2 as well, which are bits."""
    if weights.float not in ("", b):
        raise Error(Status.E_DTYPE, f"sett.pack_weights: weights are of {weights.float}, and b is {b}: these, or integers that have their bits")
    if scales.float not in ("", sw or dtype):
        said = f'dtype="{scales.float}" (and of the Product too), or convert them' if sw is None and scales.float in ("f16", "bf16") else "convert them"
        raise Error(Status.E_DTYPE, f"sett.pack_weights: scales are of {scales.float}, and sw is {sw or dtype}: {said}")
    if zeros is not None and zeros.float:
        raise Error(Status.E_DTYPE, f"sett.pack_weights: zeros are of {zeros.float}: in order {order} they are {'bytes' if order == 'rows' else 'Int32, eight zero points each'}")


def pack_weights(
    weights: Any, scales: Any, zeros: Any = None, *, b: str = "i4", dtype: str = "bf16", group: int = 0, sw: Optional[str] = None, order: str = "rows", swiglu: bool = False
) -> Tuple[Any, Any]:
    """The operands b and sw of sett.Product(n, k, dtype, b=b, group=group, ...), as flat tensors of bytes on the host, of the weights' framework.

    weights, scales, zeros: as order says. "rows": (N,K), of 4 bits (N,K/2) bytes, the lower half first; scales and zeros, which are bytes,
    (N,K/group); i4 and i8 are signed, with zeros unsigned. "gptq", "gptq_v2": qweight (K/8,N), scales (K/group,N), qzeros (K/group,N/8), in rows of
    K that are in order (no g_idx). "awq": qweight (K,N/8), scales (K/group,N), qzeros (K/group,N/8).
    dtype: that of a. b: i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN. sw: type of scales; None: dtype; of f4E2M1FN also f8E4M3FN (NVFP4) and
    f8E8M0FNU (MXFP4), whose groups are of 16 and 32. group: 0: 128, or what sw has; -1: all of K. swiglu: rows of a gate, then as many of up.

    The scales' own element type, where it is a float, is sw: those of AWQ's and GPTQ's checkpoints are of f16, which dtype="f16" says. u1 and u2 are
    taken as raw bits.

    Raises sett.Error: E_ARGUMENT, what cannot be packed; E_SHAPE: scales or zeros have other numbers of bytes; E_DTYPE: a tensor's own element type
    is another float than b, or sw."""
    order = order.lower() if isinstance(order, str) else order
    if order not in ORDERS:
        raise Error(Status.E_ARGUMENT, f"sett.pack_weights: order is {order!r}: {', '.join(ORDERS)}")
    of, by = _Host("weights", weights), _Host("scales", scales)
    from_ = None if zeros is None else _Host("zeros", zeros)
    b, dtype, sw = _name(b), _name(dtype), None if sw is None else _name(sw)
    bits = 4 if b in ("i4", "f4E2M1FN") else 8
    rows, k = _extents(order, of, bits)
    group = group or {"f8E4M3FN": 16, "f8E8M0FNU": 32}.get(sw or "", 128)
    w = CWeights(C.sizeof(CWeights), _c.DTYPES[dtype], _c.DTYPES[b], _c.DTYPES[sw] if sw else 0, group, zeros is not None, rows >> swiglu, k, swiglu, ORDERS.index(order))
    packed, scaled = _c.SIZE(), _c.SIZE()
    _c.check(lambda err: _library.sett_product_weights_bytes(C.byref(w), C.byref(packed), C.byref(scaled), C.byref(err)))
    _check_types(of, by, from_, b, dtype, sw, order)
    groups = -(-k // (k if group < 0 else group))
    each = 1 if sw and sw.startswith("f8") else 2
    kind = "" if order == "rows" else " of Int32"
    for name, host, want, type_ in (("scales", by, rows * groups * each, f" of {sw or dtype}"), ("zeros", from_, rows * groups // (1 if order == "rows" else 2), kind)):
        if host is not None and host.bytes != want:
            lie = {"rows": ", two a byte" if bits == 4 else ""}.get(order, ", eight a word")
            are = f"weights ({','.join(map(str, of.shape))}) are N {rows >> swiglu}{' of a gate and of up' if swiglu else ''}, K {k} of {b}{lie}"
            parts = f"{groups} group{'s' if groups > 1 else ''} of {k if group < 0 else group}"
            raise Error(Status.E_SHAPE, f"sett.pack_weights: {are}: in {parts} {name} are {want} bytes{type_}, and these have {host.bytes}")
    made = [_empty(weights, size.value) for size in (packed, scaled)]
    to = [_Host("", tensor).address for tensor in made]
    _c.check(lambda err: _library.sett_product_pack_weights(C.byref(w), of.address, by.address, from_ and from_.address, *to, C.byref(err)))
    return made[0], made[1]
