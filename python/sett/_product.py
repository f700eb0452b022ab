# SPDX-License-Identifier: Apache-2.0
"""sett.Product: products of matrices at any number of rows, of sett/kernels/product.h."""

import ctypes as C
import operator
import sys
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import _c, _fast, _streams
from ._c import Error, Status
from ._engine import CPU, Engine, Family, Kernel, _completes, shared
from .kernels import _library

FAMILY = Family(_c.LIB / "libsett-kernels.so.0", "sett_product_family")
KERNEL_AT = C.CFUNCTYPE(_c.INT, _c.P, _c.STR, _c.INT, C.POINTER(C.POINTER(_c.CFamily)), _c.P, _c.ERR)
SIZE: Any = C.POINTER(_c.SIZE)
CALLS: Dict[str, tuple] = {
    "sett_product_prepare": (_c.INT, _c.P, _c.INT, _c.P, _c.INT, _c.OUT, SIZE, _c.ERR),
    "sett_product_explain": (_c.INT, _c.P, _c.INT, _c.STR, _c.SIZE),
    "sett_product_explain_for": (_c.INT, _c.P, _c.STR, _c.INT, _c.STR, _c.SIZE, _c.ERR),
    "sett_product_query": (None, _c.P, _c.P),
    "sett_kernels_compile": (_c.INT, _c.P, _c.P, _c.P, _c.STR, _c.OUT, _c.ERR),
}
for _name, (_result, *_arguments) in CALLS.items():
    _function = getattr(_library, _name)
    _function.restype, _function.argtypes = _result, _arguments
_c.lib.sett_alloc.restype, _c.lib.sett_alloc.argtypes = _c.P, [_c.P, _c.INT, _c.SIZE]
_c.lib.sett_free.restype, _c.lib.sett_free.argtypes = None, [_c.P, _c.INT, _c.P]
_c.lib.sett_memcpy.restype, _c.lib.sett_memcpy.argtypes = _c.INT, [_c.P, _c.Stream, _c.P, _c.P, _c.SIZE]
# Element types as frameworks name them: PyTorch, and NumPy or CuPy.
TORCH = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "i32": "int32", "i8": "int8"}
NUMPY = {"f32": "float32", "f16": "float16", "i32": "int32", "i8": "int8"}


# What says that a product has the operand, where that is not NAME=1.
OPTION_OF = {"sa": "scaled=1", "sb": "scaled=1", "s": "scale=1", "qs": "quantise=1", "sd": "quantise=2", "offsets": 'grouped="contiguous"', "counts": 'grouped="masked"'}


class _Workspace:
    """Memory of a device, zeros at first; freed when it is garbage."""

    def __init__(self, engine: Engine, stream: Any, n: int) -> None:
        device = stream.device
        self.address = engine._call(_c.lib.sett_alloc, device, n)
        if not self.address:
            raise Error(Status.E_MEMORY, f"sett.Product: device {device} has no {n} bytes for a workspace")
        weakref.finalize(self, _Workspace._free, engine, device, self.address)
        status = engine._call(_c.lib.sett_memcpy, stream, self.address, bytes(n), n)
        if status:
            raise Error(status, f"sett.Product: a workspace: {_c.decoded(_c.lib.sett_status_text(status))}")

    @staticmethod
    def _free(engine: Engine, device: int, address: int) -> None:
        if not engine.closed:
            engine._call(_c.lib.sett_free, device, address)


def _values(family: Any, user: Any) -> Dict[str, Any]:
    """The members of user data by name, without those that are 0."""
    raw = bytes(user)
    found: Dict[str, Any] = {}
    for p in (family.params[i] for i in range(family.n_params)):
        n = int.from_bytes(raw[p.offset : p.offset + p.bytes], "little", signed=True)
        if n:
            found[p.name.decode()] = n if p.number else _c.DTYPE_NAMES.get(n, n)
    return found


def _rows(name: str, tensor: Any, ld: str, values: Dict[str, Any], kinds: str = "batch") -> Tuple[int, Tuple[int, ...], int]:
    """Its element type, extents and device; how it lies goes to the values. kinds: the member that says how many there are. Of a list the first
    one says how all lie."""
    if isinstance(tensor, (list, tuple)):
        if not tensor or values.setdefault("batch", len(tensor)) != len(tensor) or not values.setdefault("pointer_array", 1):
            raise Error(Status.E_SHAPE, f"sett.Product.of: {name} is a list of {len(tensor)} tensors: all operands are lists then, of as many tensors of two modes")
        ranks = [len(_fast.shape_of(one, f"{name}[{i}]")[1]) for i, one in enumerate(tensor)]
        if any(rank != 2 for rank in ranks):
            raise Error(Status.E_RANK, f"sett.Product.of: {name} is a list of tensors of {next(r for r in ranks if r != 2)} modes: rows and columns")
        tensor = tensor[0]
    elif values.setdefault("pointer_array", 0):
        raise Error(Status.E_SHAPE, f"sett.Product.of: {name} is no list, and a is one: all operands are lists then")
    dtype, shape, stride, device = _fast.shape_of(tensor, name)
    if len(shape) not in (2, 3):
        raise Error(Status.E_RANK, f"sett.Product.of: {name} has {len(shape)} modes: rows and columns, and before them those of a batch")
    rows, cols = shape[-2:]
    across = cols > 1 and stride[-1] != 1
    if across and (rows > 1 and stride[-2] != 1 or ld not in "ab"):
        raise Error(Status.E_SHAPE, f"sett.Product.of: {name} has strides {stride}: elements of a row{' or of a column' if ld in 'ab' else ''} lie beside each other")
    if across:
        values[f"{ld}_major"] = 1
    if ld == "b" and len(shape) == 3 and shape[0] > 1 and stride[0] == 0:
        raise Error(Status.E_SHAPE, f"sett.Product.of: b has strides {stride}: of one b that all share no batch, and M is the rows of all: a.reshape(-1, K), and b of two modes")
    apart = stride[-1] if across else stride[-2]
    if (cols if across else rows) > 1:
        values[f"ld{ld}"] = apart
    if len(shape) == 3:
        if values.setdefault(kinds, shape[0]) != shape[0]:
            what = "a batch" if kinds == "batch" else "groups"
            raise Error(Status.E_SHAPE, f"sett.Product.of: {name} is {what} of {shape[0]}, and another tensor of {values[kinds]}")
        values[f"batch_{ld}"] = stride[0] if shape[0] > 1 else 0
    return dtype, shape, device


@_completes(_fast.Product)
class Product(_fast.Product):
    """out = epilogue(a b^T) of one (N,K), for any number of rows of a: at most 8 kernels, among which each call chooses by a model.

    Product(n, k, dtype="bf16", max_m=8192, device=None, engine=None, **problem) loads or compiles them; problem: the members of
    sett_product_problem by name (docs/products.md). p(a, b, out) is one product. engine None: one that such objects share; device None: its
    default one. A workspace is kept for each stream: the first call on a stream allocates it, prepare(stream) does so before a capture.
    Any number of threads may call it."""

    __slots__ = ()

    @staticmethod
    def _plan(
        n: Optional[int] = None, k: Optional[int] = None, dtype: Any = "bf16", max_m: int = 8192, device: Optional[int] = None, *, engine: Optional[Engine] = None, **problem: Any
    ) -> Tuple[Engine, int, int, int, int]:
        if n is None or k is None:
            raise TypeError("sett.Product takes n and k, the extents of b")
        engine = engine or shared()
        on = engine.default_device if device is None else _c.device(device)
        rows = _c.index("max_m", max_m)
        if not 0 <= rows < 1 << 31:
            raise Error(Status.E_ARGUMENT, f"max_m is {rows}: from 0 to {(1 << 31) - 1025}")
        user = FAMILY._user(engine.target(on), {"n": n, "k": k, "dtype": dtype, **{name: value for name, value in problem.items() if value is not None}})
        plan, bytes_ = _c.P(), _c.SIZE()
        engine._check(_library.sett_product_prepare, on, C.addressof(user), rows, C.byref(plan), C.byref(bytes_))
        return engine, plan.value or 0, bytes_.value, on, rows

    @classmethod
    def of(
        cls, a: Any, b: Any, /, out: Any = None, r: Any = None, *, max_m: int = 8192, device: Optional[int] = None, engine: Optional[Engine] = None, **problem: Any
    ) -> "Product":
        """The product of tensors that lie as these do: N, K, types, strides, batch and device are theirs; of a only the number of rows may differ.
        out, r: without them their rows lie beside each other. problem: the rest, as scaled=1."""
        values: Dict[str, Any] = {}
        listed_b = isinstance(b, (list, tuple)) and len(b) > 0
        of_b, shape, *_ = _fast.shape_of(b[0] if listed_b else b, "b[0]" if listed_b else "b")
        if any(problem.get(name) is not None for name in ("b", "sw", "group", "zeros")) or (len(shape) == 1 and of_b == _c.DTYPES["u8"]):
            raise Error(Status.E_ARGUMENT, "sett.Product.of: packed weights do not say N and K: sett.Product(n, k, dtype, b=..., group=..., zeros=...) takes them, with b and sw of sett.pack_weights")
        for name in ("sa", "sb", "bias", "aux", "s", "qs", "amax", "offsets", "counts", "row_sum", "column_sum", "row_max", "column_max", "sd"):
            if hasattr(problem.get(name), "__dlpack__"):
                raise Error(Status.E_ARGUMENT, f"sett.Product.of: {name} is a tensor: of a, b, out and r it takes how they lie; {name} is an operand of the call, and {OPTION_OF.get(name, name + '=1')} says that there is one")
        kinds = "groups" if problem.get("grouped") not in (None, 0, "none") else "batch"
        dtype, shape_a, on = _rows("a", a, "a", values, kinds)
        dtype_b, shape_b, _ = _rows("b", b, "b", values, kinds)
        n = shape_b[-2] // 2 if problem.get("swiglu") else shape_b[-2]
        if out is not None:
            values["d"] = _c.DTYPE_NAMES.get(_rows("out", out, "d", values, kinds)[0])
        if r is not None:
            _rows("r", r, "r", values, kinds)
            values["residual"] = 1
        if shape_a[-1] != shape_b[-1]:
            raise Error(Status.E_SHAPE, f"sett.Product.of: a has {shape_a[-1]} columns, and b {shape_b[-1]}: they are K")
        values["b"] = _c.DTYPE_NAMES.get(dtype_b)
        return cls(n, shape_b[-1], _c.DTYPE_NAMES.get(dtype), max_m, on if device is None else device, engine=engine, **{**values, **problem})

    @property
    def problem(self) -> Dict[str, Any]:
        """The members of the problem that are not 0, with what was left open filled in."""
        user = C.create_string_buffer(FAMILY._family.user_size)
        C.memmove(user, FAMILY._family.user_size.to_bytes(8, "little"), 8)
        _library.sett_product_query(self.address, C.addressof(user))
        return _values(FAMILY._family, user)

    def explain(self, m: int) -> str:
        """What a call with m rows takes: the kernel, its workers, tiles that are streamed, and microseconds by the model."""
        rows = operator.index(m)
        if not 0 <= rows < 1 << 31:
            raise Error(Status.E_ARGUMENT, f"sett.Product.explain: m is {rows}: 0 or more, below 2^31")
        return _c.text(lambda buffer, size: _library.sett_product_explain(self.address, rows, buffer, size))

    def kernels(self) -> List[Kernel]:
        """Its kernels, which a pack for a sealed engine has: [k.key for k in p.kernels()]."""
        return kernels_of(self.engine, self.engine.target(self.device), self.problem)

    def prepare(self, stream: Any = None) -> None:
        """Allocates the workspace of a stream, so that calls on it may be captured. stream: as of a call; None: PyTorch's current one, where
        PyTorch is loaded."""
        if stream is None:
            torch = sys.modules.get("torch")
            stream = torch.cuda.current_stream(self.device).cuda_stream if torch is not None and self.device != CPU else 0
        self._reserve(stream if isinstance(stream, int) else _streams.handle(stream))

    def _workspace(self, handle: int) -> _Workspace:
        stream = _c.Stream(self.device, handle or None)
        try:
            self.engine._check(_c.lib.sett_sync_error, stream)
        except Error as e:
            if e.status != Status.E_CAPTURING:
                raise
            raise Error(e.status, "sett.Product: the stream is being captured and has no workspace of this product: call prepare(stream) before the capture") from None
        return _Workspace(self.engine, stream, self.workspace_bytes)

    def pointers(self, name: str, tensors: Sequence[Any], m: int = -1) -> Any:
        """The addresses of tensors on its device, one of each product of pointer_array=1, as an operand of that name ("a", "out", "bias" ...) takes them:
        a tensor of u64 or i64 of their framework. A call does so with a list each time; this once, as before a capture. Whoever calls keeps the tensors.
        m: the rows of those that lie by rows of a; -1: as many as a tensor of "a" has, else not checked."""
        return self._pointers(name, tensors, operator.index(m))[0]

    def _pointers(self, name: str, tensors: Sequence[Any], m: int) -> Tuple[Any, int]:
        addresses, rows = self._addresses(name, tensors, m)
        kind = type(tensors[0]).__module__.partition(".")[0]
        usual = ("numpy", "torch") if self.device == CPU else ("torch", "cupy")
        kind = next((k for k in (kind, *usual) if k in ("torch", "cupy", "numpy") and k in sys.modules and (k != "numpy" or self.device == CPU)), "")
        if not kind:
            raise Error(Status.E_BIND, f"sett.Product.pointers: {name}: no framework that makes a tensor of addresses on its device was imported: give one of u64 or i64")
        framework = sys.modules[kind]
        if kind == "torch":
            return framework.tensor(addresses, dtype=framework.int64, device="cpu" if self.device == CPU else f"cuda:{self.device}"), rows
        return framework.array(addresses, dtype="u8"), rows

    def _empty(self, a: Any, shape: Tuple[int, ...], strides: Tuple[int, ...], dtype: int) -> Any:
        """A tensor of a's framework, for a call without out."""
        kind, name = type(a).__module__.partition(".")[0], _c.DTYPE_NAMES[dtype]
        framework = sys.modules.get(kind)
        if kind == "torch" and name in TORCH:
            return framework.empty_strided(shape, strides, dtype=getattr(framework, TORCH[name]), device=a.device)  # type: ignore[union-attr]
        if kind not in ("numpy", "cupy") or name not in NUMPY:
            of = f"{type(a).__module__}.{type(a).__name__}"
            raw = f"u{-(-_c.lib.sett_dtype_bits(dtype) // 8)}"
            why = f"{kind} has no {name}: sett.view of an array of {raw} is one" if kind in ("numpy", "cupy") else f"a is a {of}, and only of PyTorch, NumPy and CuPy is one made"
            raise Error(Status.E_BIND, f"sett.Product: out is needed: {why}")
        length = sum((extent - 1) * stride for extent, stride in zip(shape, strides)) + 1 if 0 not in shape else 0
        flat = framework.empty(length, dtype=NUMPY[name])  # type: ignore[union-attr]
        return framework.lib.stride_tricks.as_strided(flat, shape, tuple(s * flat.itemsize for s in strides))  # type: ignore[union-attr]

    def __repr__(self) -> str:
        return f"<sett.Product {' '.join(f'{n}={v}' for n, v in self.problem.items())} for device {self.device}>"


def listed(target: str, problem: Dict[str, Any]) -> List[Tuple[Any, Any]]:
    """The kernels of a problem for a target: the family of each, and its options."""
    f = FAMILY._family
    user, at = FAMILY._user(target, problem), C.cast(f.kernel, KERNEL_AT)
    found: List[Tuple[Any, Any]] = []
    while True:
        options, of = C.create_string_buffer(f.kernel_size), C.POINTER(_c.CFamily)()
        _c.check(lambda err, options=options, of=of: at(C.addressof(user), target.encode(), len(found), C.byref(of), C.addressof(options), C.byref(err)))
        if not of:
            return found
        found.append((of.contents, options))


def explain_for(target: str, problem: Dict[str, Any], m: int) -> str:
    """What Product.explain(m) says, of a problem on a target: nothing is compiled."""
    user = FAMILY._user(target, problem)

    def explained(buffer: Any, size: int) -> int:
        n = 0

        def call(err: Any) -> int:
            nonlocal n
            n = _library.sett_product_explain_for(C.addressof(user), target.encode(), m, buffer, size, C.byref(err))
            return err.status

        _c.check(call)
        return n

    return _c.text(explained)


def kernels_of(engine: Engine, target: str, problem: Dict[str, Any]) -> List[Kernel]:
    """The kernels of a problem for a target, compiled."""
    return [engine._made(_library.sett_kernels_compile, f.body, C.addressof(options), target.encode(), options=_values(f, options)) for f, options in listed(target, problem)]
