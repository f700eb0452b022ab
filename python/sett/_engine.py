# SPDX-License-Identifier: Apache-2.0
"""Engines, families, kernels."""

import contextlib
import ctypes as C
import os
import struct
import threading
import weakref
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, TypeVar, Union

from . import _c, _fast, _streams
from ._c import Error, Status

Path = Union[str, bytes, "os.PathLike[str]"]
_Type = TypeVar("_Type", bound=type)
CPU = -1
"""The device number of the CPU; GPUs count from 0."""

ASSEMBLERS = {"auto": 0, "nvjitlink": 1, "ptxas": 2, "driver": 3}
TRUST = {"private": 0, "mac": 1, "off": 2, "signed": 3}
TOOLCHAINS = {"any": 0, "exact": 1}
LEVELS = {"error": 1, "warning": 2, "info": 3, "debug": 4}
CHECKS = {None: 0, "off": 1, "errors": 2, "all": 3, "strict": 4}
ASSERTS = {None: 0, False: 1, True: 2}
ORIGINS = ("compiler", "memory", "disk", "remote")


def _choice(table: Dict, value: Any, what: str) -> int:
    if value not in table:
        raise Error(Status.E_ARGUMENT, f"{what} is {value!r}: {', '.join(map(str, table))}")
    return table[value]


def _key(key: Union[str, bytes]) -> bytes:
    try:
        raw = bytes.fromhex(key) if isinstance(key, str) else bytes(key)
    except ValueError:
        raise Error(Status.E_ARGUMENT, f"{key!r} is no key: 64 hexadecimal digits") from None
    if len(raw) != 32:
        raise Error(Status.E_ARGUMENT, f"a key has 32 bytes, or 64 hexadecimal digits; this has {len(raw)} bytes")
    return raw


def _field(structure: C.Structure, name: str) -> Any:
    value = getattr(structure, name)
    return _c.decoded(value) if isinstance(value, bytes) or value is None else value


# ---- families -------------------------------------------------------------------------------------------------
class FamilyParam(NamedTuple):
    """A member of a family's options."""

    name: str
    bytes: int
    floating: bool


def _meant(name: str, known: Iterable[str]) -> str:
    import difflib  # of who errs alone

    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}? It has" if near else ""


CHOOSER = "sett_kernels_choose: "


class Family:
    """A kernel's body in a shared object, with names for its options: a `sett_family` of sett/warm.h.

    Family("./libmine.so", "saxpy_family"). The object stays loaded."""

    def __init__(self, path: Path, symbol: str) -> None:
        try:
            # A bare name that is a file is that file; else dlopen looks for it.
            self._library = C.CDLL(os.path.abspath(os.fsdecode(path)) if os.path.exists(path) else os.fsdecode(path))
            self._family = _c.CFamily.in_dll(self._library, symbol)
        except (OSError, ValueError) as e:
            has = [other for other in (f"{symbol}_family", f"sett_{symbol}_family") if hasattr(getattr(self, "_library", None), other)]
            raise Error(Status.E_IO, f"family {symbol} of {os.fsdecode(path)}: {e}{f'; did you mean {has[0]}?' if has else ''}") from None
        f = self._family
        self._several = f.size > _c.CFamily.kernel_size.offset and bool(f.kernel)
        self._ready_made = f.size > _c.CFamily.ready_made.offset and bool(f.ready_made)
        if f.size < _c.CFamily.renamed.offset or not (f.body or self._several) or f.n_params < 0:
            raise Error(Status.E_ARGUMENT, f"{os.fsdecode(path)}: {symbol} is no sett_family")
        self.path, self.symbol = os.fsdecode(path), symbol
        self.name = _c.decoded(f.name) or symbol
        self._params = [f.params[i] for i in range(f.n_params)]

    @property
    def params(self) -> List[FamilyParam]:
        """The options that Engine.compile takes by name."""
        return [FamilyParam(p.name.decode(), p.bytes, p.floating) for p in self._params]

    def __repr__(self) -> str:
        return f"<sett.Family {self.name}({', '.join(p.name for p in self.params)})>"

    def _user(self, target: str, values: Dict[str, Any]) -> "C.Array[C.c_char]":
        """The bytes of the options, as a manifest's line would fill them."""
        f = self._family
        user = C.create_string_buffer(C.string_at(f.defaults, f.user_size) if f.defaults else b"", max(f.user_size, 1))
        known = {p.name.decode(): p for p in self._params}
        wrong = [n for n in values if n not in known]
        missing = [] if f.defaults else [n for n in known if n not in values]
        now = _c.decoded(_c.lib.sett_family_present_name(C.byref(f), wrong[0].encode())) if wrong else None
        if wrong or missing:
            raise Error(Status.E_ARGUMENT, f"{self.name}: option {wrong[0]!r} is named {now!r} now" if now else
                f"{self.name} has no option {wrong[0]!r}{_meant(wrong[0], known)}: {', '.join(known)}" if wrong else f"{self.name} needs a value of {missing[0]!r}")
        for name, value in values.items():
            p = known[name]
            C.memmove(C.byref(user, p.offset), self._bytes_of(name, p, value), p.bytes)
        if f.wanted and not f.wanted(user):
            given = ", ".join(f"{n}={v!r}" for n, v in values.items())
            raise Error(Status.E_ARGUMENT, f"{self.name} does not exist with {given}")
        if f.choose:
            try:
                _c.check(lambda err: f.choose(f.body, C.addressof(user), target.encode(), C.addressof(err)))
            except Error as e:  # the caller named the family, and no call of C
                text = str(e)
                raise Error(int(e.status), text[len(CHOOSER) :] if text.startswith(CHOOSER) else text) from None
        return user

    def _bytes_of(self, name: str, p: Any, value: Any) -> bytes:
        if p.floating:
            try:
                return struct.pack("<f" if p.bytes == 4 else "<d", float(value))
            except OverflowError:
                raise Error(Status.E_RANGE, f"{self.name}: {name} = {value} does not fit {p.bytes} bytes") from None
            except (TypeError, ValueError):
                raise Error(Status.E_DTYPE, f"{self.name}: option {name} is a floating number, {value!r} is none") from None
        n = self._integer(name, value, p.number)
        if not -(1 << (8 * p.bytes - 1)) <= n < 1 << (8 * p.bytes - p.is_signed):
            raise Error(Status.E_RANGE, f"{self.name}: {name} = {n} does not fit {p.bytes} bytes")
        return (n & ((1 << (8 * p.bytes)) - 1)).to_bytes(p.bytes, "little")

    def _integer(self, name: str, value: Any, number: bool) -> int:
        if not isinstance(value, type) and hasattr(value, "__index__"):
            return int(value)
        if type(value).__name__ in ("bool", "bool_"):  # NumPy's
            return int(bool(value))
        word, family, param = C.c_int64(), C.byref(self._family), name.encode()
        if isinstance(value, str) and _c.lib.sett_family_word_value(family, param, value.lower().encode(), C.byref(word)):
            return word.value
        if name == "op" and isinstance(value, str) and value.upper() in _c.Op.__members__:  # of a family without words
            return int(_c.Op[value.upper()])
        if number:
            words = C.create_string_buffer(400)
            also = f" or a name: {words.value.decode()};" if _c.lib.sett_family_words(family, param, words, len(words)) else ","
            raise Error(Status.E_DTYPE, f"{self.name}: option {name} is an integer{also} {value!r} is none")
        try:
            return _c.dtype_id(value)
        except Error:
            raise Error(Status.E_DTYPE, f"{self.name}: option {name} is an integer or an element type, {value!r} is neither: "
                f"{', '.join(_c.DTYPES)}") from None


# ---- kernels ------------------------------------------------------------------------------------------------------
class Param(NamedTuple):
    """An argument of a kernel. read, written: what the kernel does with a tensor; bytes: of a struct, else 0."""

    name: str
    dtype: str
    rank: int
    scalar: bool
    read: bool
    written: bool
    bytes: int


def _completes(kind: type) -> Callable[[_Type], _Type]:
    """Gives the members of a class to a type of C, which takes its place: a subclass made by Python is called by a slower path."""

    def complete(members: _Type) -> _Type:
        for name, member in vars(members).items():
            if name not in ("__module__", "__slots__"):
                setattr(kind, name, member)
        return kind  # type: ignore[return-value]

    return complete


@_completes(_fast.Kernel)
class Kernel(_fast.Kernel):
    """A compiled kernel, made by an engine.

    kernel(x, y, 2.0) checks the arguments and launches: tensors (anything with DLPack: PyTorch, NumPy, CuPy, JAX ...), numbers,
    bytes for a struct, in order of declaration or by name; then symbols that no tensor gives. On a GPU the launch is asynchronous, on
    the stream that the tensors' framework works on now, or on `stream`. On the CPU it has ended when the call returns; what a handler of
    signals or the engine's print function raises meanwhile, as KeyboardInterrupt, ends it early."""

    __slots__ = ()

    @property
    def info(self) -> Dict[str, Any]:
        """What is known of it: the fields of sett_kernel_info, as Python has them."""
        i = _c.made(_c.KernelInfo)
        _c.check(lambda err: _c.lib.sett_kernel_query(self.address, C.byref(i)))
        fields = {n: _field(i, n) for n, _ in i._fields_ if n not in ("size", "key", "block", "cubin", "cubin_size", "origin")}
        cubin = C.string_at(i.cubin, i.cubin_size) if i.cubin else b""
        return {**fields, "key": bytes(i.key).hex(), "block": tuple(i.block), "cubin": cubin, "origin": ORIGINS[i.origin]}

    @property
    def name(self) -> str:
        return self.info["name"]

    @property
    def target(self) -> str:
        """What it was compiled for: "sm_90a", "cpu"."""
        return self.info["target"]

    @property
    def key(self) -> str:
        """Its key in the cache, 64 hexadecimal digits: Engine.kernel takes it."""
        return self.info["key"]

    @property
    def params(self) -> List[Param]:
        out = []
        for n in range(_c.lib.sett_kernel_params(self.address)):
            p = _c.made(_c.ParamInfo)
            _c.check(lambda err, n=n, p=p: _c.lib.sett_kernel_param(self.address, n, C.byref(p)))
            out.append(Param(p.name.decode(), _c.DTYPE_NAMES.get(p.dtype, "?"), p.rank, p.scalar, p.read, p.written, p.bytes))
        return out

    def load(self, device: Optional[int] = None) -> None:
        """Loads its code onto a device now, as the first launch would: before a CUDA graph is captured."""
        _c.check(_c.lib.sett_prepare, self.address, self.engine._home(self.target) if device is None else _c.device(device))

    def unload(self) -> None:
        """Unloads its code from every device. No launch, graph or prepared call may use it any more."""
        _c.check(_c.lib.sett_unload, self.address)

    def __repr__(self) -> str:
        options = ", ".join(f"{n}={v!r}" for n, v in self._options.items())
        return f"<sett.Kernel {self.name}({', '.join(p.name for p in self.params)}){' of ' * bool(options)}{options} for {self.target}>"


def view(tensor: Any, dtype: Any) -> "_fast.View":
    """The memory of a tensor as elements of another type, for a launch: view(x, "bf16") of a NumPy array of uint16, view(w, "i4")
    of packed bytes. It has DLPack itself, so that others take it too. Elements of another size change the extent of the contiguous mode."""
    return _fast.View(tensor, _c.dtype_id(dtype))


# ---- what engines tell -----------------------------------------------------------------------------------------------
class Entry(NamedTuple):
    """An entry of the cache. layer: the index of its layer; damage: why a lookup would refuse it, else ""."""

    key: str
    name: str
    target: str
    bytes: int
    layer: int
    damage: str


class WarmEvent(NamedTuple):
    """One kernel of a manifest for one target; error: why it failed, else ""."""

    name: str
    target: str
    params: str
    key: str
    error: str
    cached: bool
    fetched: bool
    ms: float
    done: int
    failed: int
    total: int


class WarmResult(NamedTuple):
    total: int
    cached: int
    compiled: int
    failed: int
    fetched: int


def _record(kind: Any, c: Any) -> Any:
    return kind(*(bytes(c.key).hex() if n == "key" else _field(c, n) for n in kind._fields))


class _Visits:
    """A callback of C over a Python function. An exception stops the walk, and is raised when the call has returned."""

    def __init__(self, signature: type, see: Callable[[Any], Any]) -> None:
        self.failure: Optional[BaseException] = None

        def visit(_user: Any, pointer: Any) -> bool:
            try:
                return see(pointer.contents) is not False
            except BaseException as e:  # noqa: B902 - raised again below
                self.failure = e
                return False

        self.function = signature(visit)

    def run(self, engine: "Engine", call: Any, *arguments: Any) -> None:
        try:
            engine._check(call, *arguments)
        finally:
            if self.failure:
                raise self.failure


# ---- engines -------------------------------------------------------------------------------------------------------------
class _Uses:
    """The calls of an engine that have not returned: closing it waits for those of other threads."""

    def __init__(self) -> None:
        self.renew()
        self.over = False
        _all_uses.add(self)

    def renew(self) -> None:  # in the child of a fork too, which has no other threads
        self.changed = threading.Condition()
        self.inside: Dict[int, int] = {}

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self.changed:
            if self.over and me not in self.inside:
                raise Error(Status.E_CLOSED, "the engine was closed")
            self.inside[me] = self.inside.get(me, 0) + 1

    def __exit__(self, *_: Any) -> None:
        me = threading.get_ident()
        with self.changed:
            self.inside[me] = self.inside.get(me, 1) - 1
            if not self.inside[me]:
                del self.inside[me]
                self.changed.notify_all()

    def end(self) -> None:
        with self.changed:
            if threading.get_ident() in self.inside:
                raise Error(Status.E_ARGUMENT, "a function that the engine calls cannot close it")
            self.over = True
            while self.inside:
                self.changed.wait()


_all_uses: "weakref.WeakSet[_Uses]" = weakref.WeakSet()
os.register_at_fork(after_in_child=lambda: [uses.renew() for uses in _all_uses] and None)
os.register_at_fork(after_in_child=_fast.forked)


class Engine:
    """The devices of this machine, the cache, and the threads that compile: sett_engine_options of sett/engine.h by name.

    cache_dir: where compiled kernels are kept; "" keeps none; None: $SETT_CACHE_DIR, else below the home folder. cache_layers:
    folders and packs that are only read. Relative paths are of the current folder. sealed: a kernel that is not cached is an error, never a compile. log(level, component,
    message) and print(text) may be called from any thread; log must not call sett, and print may launch and cancel. checks: "errors", "all", "strict" or "off": kernels for the CPU run under the checker
    (docs/checking.md); None: $SETT_CHECK. finding(kind, level, text) is called for each thing that it finds, by the thread that launches; without it findings go to the log. Any number of threads may use an engine.
    It closes when it is garbage; close() or `with` does it at once."""

    def __init__(
        self,
        *,
        cache_dir: Optional[Path] = None,
        cache_layers: Union[Path, Iterable[Path], None] = None,
        cache_trust: str = "private",
        cache_secret: Optional[Path] = None,
        cache_signers: Union[str, Iterable[str], None] = None,
        cache_cap: int = 0,
        cache_remote: Optional[str] = None,
        cache_verify: bool = False,
        cache_required: bool = False,
        sealed: bool = False,
        no_gpu: bool = False,
        toolchain: str = "any",
        assembler: str = "auto",
        plugin: Optional[Path] = None,
        ptxas: Optional[Path] = None,
        nvjitlink: Optional[Path] = None,
        module_api: bool = False,
        compile_timeout_ms: int = 0,
        compile_wait_ms: int = 0,
        cpu_threads: int = 0,
        cpu_timeout_ms: int = 0,
        cpu_plain: bool = False,
        cpu_async: Optional[str] = None,
        cpu_sm: int = 0,
        cpu_fast_mma: bool = False,
        verify_user: bool = False,
        checks: Optional[str] = None,
        finding: Optional[Callable[[str, str, str], None]] = None,
        log: Optional[Callable[[str, str, str], None]] = None,
        log_level: str = "debug",
        print: Optional[Callable[[str], None]] = None,  # noqa: A002 - the library's name
    ) -> None:
        names = {v: k for k, v in LEVELS.items()}
        for what, function in (("log", log), ("print", print), ("finding", finding)):
            if function is not None and not callable(function):
                raise Error(Status.E_ARGUMENT, f"{what} is {function!r}, which is no function")
        # ctypes keeps no callback alive: the options do.
        self._options = _c.made(
            _c.EngineOptions,
            cache_dir=_c.absolute(_c.path(cache_dir)), cache_layers=_c.absolute(_c.paths(cache_layers), b":"), cache_trust=_choice(TRUST, cache_trust, "cache_trust"),
            cache_secret=_c.absolute(_c.path(cache_secret)), cache_signers=_c.paths(cache_signers), cache_cap=cache_cap,
            cache_remote=_c.encoded(cache_remote), cache_verify=cache_verify, cache_required=cache_required, sealed=sealed, no_gpu=no_gpu,
            toolchain=_choice(TOOLCHAINS, toolchain, "toolchain"), assembler=_choice(ASSEMBLERS, assembler, "assembler"),
            plugin=_c.path(plugin), ptxas=_c.absolute(_c.path(ptxas)), nvjitlink=_c.path(nvjitlink), module_api=module_api,
            compile_timeout_ms=compile_timeout_ms, compile_wait_ms=compile_wait_ms, cpu_threads=cpu_threads,
            cpu_timeout_ms=cpu_timeout_ms, cpu_plain=cpu_plain, cpu_async=_c.encoded(cpu_async), cpu_sm=cpu_sm, cpu_fast_mma=cpu_fast_mma,
            log_level=_choice(LEVELS, log_level, "log_level"), cpu_poll=_fast.look_for_signals, verify_user=verify_user,
            checks=_choice(CHECKS, checks, "checks"),
        )
        if log is not None:
            self._options.log = _c.LOG(lambda _, level, component, message: log(names[level], _c.decoded(component), _c.decoded(message)))
        if finding is not None:
            self._options.finding = _c.FINDING(lambda _, at: finding(*_c.finding(at)))
        if print is not None:
            self._options.print = _c.PRINT(_fast.print_text)
            self._options.printer = (print, id(self))
            self._options.user = id(self._options.printer)
        handle = _c.P()
        _c.check(_c.lib.sett_engine_open, C.byref(handle), C.byref(self._options))
        self._handle = handle
        self._uses = _Uses()
        # It gets nothing that a user's function could hold the engine by. The options, with the functions that C calls, live until this has
        # run: an object's weak references are called before what it holds is dropped.
        self._close = weakref.finalize(self, Engine._end, handle, self._uses)

    @staticmethod
    def _end(handle: Any, uses: _Uses) -> None:
        if not uses.inside:  # at the end of the process a thread may still be there
            _c.lib.sett_engine_close(handle)

    def close(self) -> None:
        """Closes the engine, after calls of other threads have returned, and what is still being written to the cache. Launches of its
        kernels then raise E_CLOSED."""
        if _fast.inside(id(self)):
            raise Error(Status.E_ARGUMENT, "a handler of signals or a print function cannot close an engine while its thread runs a kernel of it")
        self._uses.end()
        self._close()

    @property
    def closed(self) -> bool:
        return not self._close.alive

    def _call(self, call: Any, *arguments: Any) -> Any:
        """A call of the library that takes the engine first."""
        with self._uses:
            return call(self.address, *arguments)

    def _check(self, call: Any, *arguments: Any) -> None:
        with self._uses:
            _c.check(call, self.address, *arguments)

    @property
    def address(self) -> int:
        """The sett_engine *, as an integer, for calls of the C library."""
        if not self._close.alive:
            raise Error(Status.E_CLOSED, "the engine was closed")
        return self._handle.value or 0

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # -- devices
    @property
    def default_device(self) -> int:
        """What $SETT_DEVICE said when the engine was opened; else 0, the first GPU, or CPU on a machine without one."""
        return self._call(_c.lib.sett_default_device)

    @property
    def gpu_count(self) -> int:
        return self._call(_c.lib.sett_gpu_count)

    def target(self, device: Optional[int] = None) -> str:
        """What kernels for a device are compiled for: "sm_90a", "cpu"."""
        device = self.default_device if device is None else device
        name = C.create_string_buffer(32)
        if self._call(_c.lib.sett_device_target, device, name, 32) < 0:
            gpus = self.gpu_count
            there = "there is no GPU here" if not gpus else "there is one GPU, 0" if gpus == 1 else f"GPUs count from 0 to {gpus - 1}"
            raise Error(Status.E_NO_DEVICE, f"there is no device {device}: {there}; the CPU is {CPU}")
        return name.value.decode()

    def _home(self, target: str) -> int:
        return CPU if target == "cpu" else max(self.default_device, 0)

    def sync(self, device: Optional[int] = None, stream: Any = 0) -> None:
        """Waits for a stream, and raises a fault or a failed assertion of an earlier launch."""
        device = self.default_device if device is None else device
        handle = stream if isinstance(stream, int) else _streams.handle(stream)
        self._check(_c.lib.sett_sync_error, _c.Stream(_c.device(device), handle or None))

    def poll(self, device: Optional[int] = None) -> None:
        """Raises the report of an assertion that failed in a kernel on this device; waits for nothing."""
        self._check(_c.lib.sett_poll, self.default_device if device is None else _c.device(device))

    def cancel(self, stream: Any = 0) -> None:
        """Ends the launches that run on this stream of the CPU; each raises E_CANCELLED where it was called."""
        handle = stream if isinstance(stream, int) else _streams.handle(stream)
        self._check(_c.lib.sett_cancel, _c.Stream(CPU, handle or None))

    # -- kernels
    def compile(
        self,
        family: Family,
        *,
        target: Optional[str] = None,
        name: Optional[str] = None,
        opt_level: int = 0,
        line_info: bool = False,
        ptx_only: bool = False,
        asserts: Optional[bool] = None,
        **values: Any,
    ) -> Kernel:
        """The kernel of a family for these values of its options: from memory or the cache, else compiled. A value is a number, or an
        element type by name ("bf16") or as a framework has it (torch.bfloat16). target: None is that of the default device."""
        if not isinstance(family, Family):
            raise TypeError("compile takes a sett.Family or one of sett.kernels; a body of your own is C: docs/python.md")
        if family._several:
            raise Error(Status.E_ARGUMENT, f"{family.name} stands for several kernels: sett.Product has those of a product, sett warm those of a manifest")
        target = target or self.target()
        user = family._user(target, values)
        # The user bytes of a family hold all that its body depends on, so the engine, and the cache, may remember the call.
        options, keep = self._compile_options(name or family.name, target, opt_level, line_info, ptx_only, asserts)
        options.user, options.user_size = C.addressof(user), family._family.user_size
        options.pure = True
        options.ready_made = family._ready_made
        try:
            return self._made(_c.lib.sett_compile, family._family.body, C.byref(options), options=values)
        except Error as e:
            if e.status != Status.E_NOT_CACHED or not values:
                raise
            raise Error(e.status, f"{e} ({' '.join(f'{n}={v!r}' for n, v in values.items())})") from None
        finally:
            del keep

    def compile_tape(
        self,
        tape: Union[str, bytes],
        *,
        target: Optional[str] = None,
        name: Optional[str] = None,
        opt_level: int = 0,
        line_info: bool = False,
        ptx_only: bool = False,
    ) -> Kernel:
        """The kernel of a tape, its text or its bytes: what `sett compile --emit tape` writes."""
        if isinstance(tape, str) and "\0" in tape:
            raise ValueError(f"the tape is text and holds a NUL (character {tape.index(chr(0))})")
        data = tape.encode() if isinstance(tape, str) else bytes(tape)
        options, keep = self._compile_options(name, target or self.target(), opt_level, line_info, ptx_only, None)
        kernel = self._made(_c.lib.sett_compile_tape, data, len(data), C.byref(options))
        del keep
        return kernel

    def kernel(self, key: Union[str, bytes]) -> Kernel:
        """The kernel of a key, from memory or the cache; E_NOT_CACHED: it is in neither. Never compiles."""
        return self._made(_c.lib.sett_kernel_get, _c.KEY(*_key(key)))

    def _compile_options(self, name, target, opt_level, line_info, ptx_only, asserts) -> Tuple[Any, Any]:
        words = (_c.encoded(name), _c.encoded(target))
        return _c.made(_c.CompileOptions, name=words[0], target=words[1], opt_level=opt_level, line_info=line_info, ptx_only=ptx_only,
            asserts=_choice(ASSERTS, asserts, "asserts")), words

    def _made(self, call: Any, *arguments: Any, options: Optional[Dict[str, Any]] = None) -> Kernel:
        handle = _c.P()
        self._check(call, *arguments, C.byref(handle))
        return Kernel(_fast, handle.value, self, options or {})

    # -- the cache
    @property
    def sealed(self) -> bool:
        """Whether a miss is an error (E_NOT_CACHED), never a compile. A server that has warmed up sets it."""
        return bool(self.stats["sealed"])

    @sealed.setter
    def sealed(self, sealed: bool) -> None:
        self._call(_c.lib.sett_engine_seal, sealed)

    def entries(self) -> List[Entry]:
        """Every entry of every layer of the cache, a pack's too, read and verified: Engine.kernel takes their keys."""
        found: List[Entry] = []
        visits = _Visits(_c.ENTRY, lambda e: found.append(_record(Entry, e)))
        visits.run(self, _c.lib.sett_cache_walk, visits.function, None)
        return found

    def write_pack(self, path: Path, keys: Optional[Iterable[Union[str, bytes]]] = None, secret_key: Optional[Path] = None) -> int:
        """Writes the entries with these keys, else all, to a file that other engines read as a layer. Gives how many."""
        raw = [_key(k) for k in keys or ()]
        array = C.create_string_buffer(b"".join(raw), max(32 * len(raw), 1))
        n = C.c_uint64()
        options = _c.made(_c.PackOptions, keys=C.addressof(array) if keys is not None else None, n_keys=len(raw), secret_key=_c.absolute(_c.path(secret_key)))
        self._check(_c.lib.sett_pack_write, _c.path(path), C.byref(options), C.byref(n))
        return n.value

    def warm(
        self,
        manifest: Path,
        *,
        targets: Union[str, Iterable[str], None] = None,
        pack: Optional[Path] = None,
        secret_key: Optional[Path] = None,
        shard: int = 0,
        shards: int = 0,
        workers: int = 0,
        progress: Optional[Callable[[WarmEvent], Optional[bool]]] = None,
    ) -> WarmResult:
        """Compiles the kernels of a manifest (docs/sett-manifest.5) that the cache lacks, in worker processes. It needs no GPU.
        progress is called once a kernel; False cancels. Raises E_COMPILE if some failed; all others are done then."""
        if progress is not None and not callable(progress):
            raise Error(Status.E_ARGUMENT, f"progress is {progress!r}, which is no function")
        visits = _Visits(_c.WARM, lambda e: progress(_record(WarmEvent, e)) if progress else True)
        options = self._warm_options(targets, shard, shards, workers=workers, pack=_c.path(pack), secret_key=_c.absolute(_c.path(secret_key)),
            progress=visits.function)
        result = _c.made(_c.WarmResult)
        visits.run(self, _c.lib.sett_warm, _c.path(manifest), C.byref(options), C.byref(result))
        return WarmResult(*(getattr(result, n) for n in WarmResult._fields))

    def keys(self, manifest: Path, *, targets: Union[str, Iterable[str], None] = None, shard: int = 0, shards: int = 0) -> List[WarmEvent]:
        """The kernels of a manifest with their keys, in its order. Compiles nothing and looks into no cache: .cached is False."""
        found: List[WarmEvent] = []
        visits = _Visits(_c.WARM, lambda e: found.append(_record(WarmEvent, e)))
        visits.run(self, _c.lib.sett_family_keys, _c.path(manifest), C.byref(self._warm_options(targets, shard, shards)), visits.function, None)
        return found

    def _warm_options(self, targets, shard, shards, **more) -> Any:
        words = targets if targets is None or isinstance(targets, str) else ",".join(targets)
        return _c.made(_c.WarmOptions, targets=_c.encoded(words), shard=shard, shards=shards, command=_c.path(_c.LIB / "sett"), **more)

    # -- what it tells
    @property
    def stats(self) -> Dict[str, Union[int, bool]]:
        """Counters since the engine was opened, by the names of sett_stats."""
        s = _c.made(_c.Stats)
        self._call(_c.lib.sett_engine_stats, C.byref(s))
        return {n: getattr(s, n) for n, _ in s._fields_ if n != "size"}

    def describe(self) -> str:
        """What the engine found and where, as lines `name: value`."""
        return _c.text(lambda buffer, size: self._call(_c.lib.sett_engine_describe, buffer, size))

    def metrics(self, label: Optional[str] = None) -> str:
        """All counters in Prometheus' text format; label: of this engine in it."""
        return metrics({label: self})


_shared: Optional[Engine] = None
_shared_lock = threading.Lock()


def shared() -> Engine:
    """The engine of what is made without one: opened at its first use, with the defaults."""
    global _shared
    with _shared_lock:
        if _shared is None or _shared.closed:
            _shared = Engine()
        return _shared


class Site(NamedTuple):
    """A line that a finding names, and what it does there: "write", "read" ..."""

    file: str
    line: int
    role: str


class Finding(NamedTuple):
    """What the checker found: docs/checking.md has a page for each kind. The first two sites are the two accesses."""

    kind: str
    level: str
    text: str
    kernel: str
    count: int
    sites: Tuple[Site, ...]


def findings() -> List[Finding]:
    """All findings of this process so far, without those that are suppressed; count is how often each came."""
    found: List[Finding] = []

    def add(_user: Any, at: Any) -> None:
        f = _c.C.cast(at, _c.C.POINTER(_c.Finding)).contents
        sites = tuple(Site(_c.decoded(s.file), s.line, _c.decoded(_c.lib.sett_check_role_name(s.role))) for s in f.site[:f.n_site])
        found.append(Finding(*_c.finding(at), _c.decoded(f.kernel), f.count, sites))

    _c.lib.sett_findings(_c.FINDING(add), None)
    return found


def metrics(engines: Dict[Optional[str], Engine]) -> str:
    """The counters of several engines, by label, in Prometheus' text format: a server's /metrics."""
    pieces: List[bytes] = []

    def write(_user: Any, text: Any, n: int) -> bool:
        pieces.append(text[:n])
        return True

    with contextlib.ExitStack() as stay:
        for e in engines.values():
            stay.enter_context(e._uses)
        sources = (_c.MetricsSource * len(engines))(*((e.address, _c.encoded(label)) for label, e in engines.items()))
        _c.check(_c.lib.sett_metrics_write, C.cast(sources, _c.P), len(engines), _c.WRITE(write), None)
    return b"".join(pieces).decode(errors="replace")
