# SPDX-License-Identifier: Apache-2.0
"""The C library as ctypes sees it: its structs and calls, and its errors as exceptions. Nothing here is public."""

import ctypes as C
import operator
import os
from enum import IntEnum
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIB = HERE / "lib"
# Global, so that the shared objects of families find its functions in the process.
lib = C.CDLL(str(LIB / "libsett.so.0"), mode=C.RTLD_GLOBAL)

P, SIZE, BOOL, INT, STR, U64 = C.c_void_p, C.c_size_t, C.c_bool, C.c_int, C.c_char_p, C.c_uint64
KEY = C.c_uint8 * 32


def index(name: str, number: Any) -> int:
    """An integer that an argument of that name is."""
    if not hasattr(type(number), "__index__"):
        raise TypeError(f"{name} is {number!r}, which is no integer{'; sett.CPU is the CPU engine' if name == 'device' else ''}")
    return operator.index(number)


def device(number: Any) -> int:
    """A device's number for the library, which takes 32 bits of it."""
    n = index("device", number)
    if not -(1 << 31) <= n < 1 << 31:
        raise Error(Status.E_NO_DEVICE, f"no device {n}")
    return n


class Op(IntEnum):
    """The operations of two operands of sett/value.h (sett_binary_op), as kernels take them: op=sett.Op.MAX, or op="max"."""

    ADD, SUB, MUL, DIV, FLOORDIV, MOD, MIN, MAX, AND, OR, XOR, SHL, SHR, LT, LE, GT, GE, EQ, NE, POW, ATAN2, COPYSIGN, FMIN, FMAX = range(24)


class Status(IntEnum):
    """The statuses of sett/base.h; Error.status is one."""

    OK = 0
    E_ARGUMENT = 10
    E_RANK = 11
    E_SHAPE = 12
    E_DIVIDE = 13
    E_DTYPE = 14
    E_STATIC = 15
    E_SPACE = 16
    E_REGION = 17
    E_TARGET = 18
    E_STALE = 19
    E_BIND = 20
    E_ALIGN = 21
    E_RANGE = 22
    E_PARSE = 23
    E_NO_DEVICE = 30
    E_NOT_CACHED = 31
    E_CAPTURING = 32
    E_NO_COMPILER = 33
    E_NO_ASSEMBLER = 34
    E_IO = 35
    E_DRIVER = 36
    E_FORKED = 37
    E_CLOSED = 38
    E_CANCELLED = 39
    E_COMPILE = 50
    E_ASSEMBLE = 51
    E_VERIFY = 52
    E_MEMORY = 70
    E_LIMIT = 71
    E_FAULT = 72
    E_INTERNAL = 90


class Error(Exception):
    """A call of sett failed. str() is the library's text; status says what kind of failure it is."""

    __module__ = "sett"  # where it is found, as tracebacks say
    status: "Status | int"

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = Status(status) if status in Status._value2member_map_ else status  # of a newer library

    def __reduce__(self):
        return Error, (int(self.status), str(self))


# ---- structs, field by field as the headers have them; python/tests compares them ------------------------
def struct(name: str, *fields: tuple) -> Any:
    return type(name, (C.Structure,), {"_fields_": list(fields)})


LOG = C.CFUNCTYPE(None, P, INT, STR, STR)
PRINT = C.CFUNCTYPE(None, P, C.POINTER(C.c_char), SIZE)
WRITE = C.CFUNCTYPE(BOOL, P, C.POINTER(C.c_char), SIZE)
BODY = C.CFUNCTYPE(None, P, P)
FINDING = C.CFUNCTYPE(None, P, P)

CError = struct("sett_error", ("status", INT), ("text", C.c_char * 508))
Stream = struct("sett_stream", ("device", INT), ("handle", P))
EngineOptions = struct(
    "sett_engine_options",
    ("size", SIZE), ("cache_dir", STR), ("sealed", BOOL), ("no_gpu", BOOL), ("cpu_threads", INT), ("assembler", INT),
    ("plugin", STR), ("ptxas", STR), ("nvjitlink", STR), ("module_api", BOOL), ("log", LOG), ("print", PRINT), ("user", P),
    ("compile_timeout_ms", INT), ("cache_layers", STR), ("cache_trust", INT), ("cache_secret", STR), ("toolchain", INT),
    ("cache_cap", U64), ("compile_wait_ms", INT), ("cache_signers", STR), ("log_level", INT), ("cache_remote", STR),
    ("cache_verify", BOOL), ("cache_required", BOOL), ("cpu_timeout_ms", INT), ("cpu_plain", BOOL), ("cpu_async", STR),
    ("cpu_sm", INT), ("cpu_fast_mma", BOOL), ("cpu_poll", P), ("verify_user", BOOL),
    ("checks", INT), ("finding", FINDING),
)
CheckSite = struct("sett_check_site", ("file", STR), ("function", STR), ("line", INT), ("role", INT))
Finding = struct(
    "sett_finding",
    ("kind", INT), ("level", INT), ("text", STR), ("kernel", STR), ("count", U64), ("n_site", INT), ("site", CheckSite * 6),
)
Stats = struct(
    "sett_stats",
    ("size", SIZE), *((n, U64) for n in "memo_hits memory_hits disk_hits misses compiles joined heals refusals disk_writes records".split()),
    *((n, BOOL) for n in ("compiler_loaded", "sealed", "faulted")),
    *((n, U64) for n in ("waits late evictions duplicates failures sealed_misses write_failures log_drops verified differences kernels "
        "codegens assembles record_ns codegen_ns assemble_ns wait_ns join_ns remote_hits memo_checks memo_differences alias_hits").split()),
)
CompileOptions = struct(
    "sett_compile_options",
    ("size", SIZE), ("name", STR), ("target", STR), ("user", P), ("user_size", SIZE), ("opt_level", INT), ("line_info", BOOL),
    ("no_fold", BOOL), ("ptx_only", BOOL), ("ready_made", BOOL), ("asserts", INT), ("pure", BOOL), ("checks", INT),
)
KernelInfo = struct(
    "sett_kernel_info",
    ("size", SIZE), ("name", STR), ("target", STR), ("key", KEY), ("origin", INT), ("registers", INT), ("spill_stores", INT),
    ("spill_loads", INT), ("stack", INT), ("smem", INT), ("block", INT * 3), ("cubin", P), ("cubin_size", SIZE), ("ptx", STR),
    ("report", STR), ("assembler", STR), ("record_ms", C.c_double), ("codegen_ms", C.c_double), ("assemble_ms", C.c_double),
    ("load_ms", C.c_double), ("compiler", STR), ("layer", STR),
)
ParamInfo = struct(
    "sett_param_info",
    ("size", SIZE), ("name", STR), ("dtype", INT), ("rank", INT), ("scalar", BOOL), ("read", BOOL), ("written", BOOL), ("bytes", C.c_uint32),
    ("extent", C.c_int64 * 8),
)
FamilyParam = struct("sett_family_param", ("name", STR), ("offset", SIZE), ("bytes", SIZE), ("floating", BOOL), ("number", BOOL), ("is_signed", BOOL))
WANTED = C.CFUNCTYPE(BOOL, P)
CHOOSE = C.CFUNCTYPE(INT, P, P, STR, P)
CFamily = struct(
    "sett_family",
    ("size", SIZE), ("body", P), ("name", STR), ("user_size", SIZE), ("defaults", P), ("params", C.POINTER(FamilyParam)),
    ("n_params", INT), ("wanted", WANTED), ("choose", CHOOSE), ("renamed", P), ("n_renamed", INT),
    ("words", P), ("n_words", INT),
    ("kernel", P), ("kernel_size", SIZE), ("ready_made", BOOL),
)
WarmEvent = struct(
    "sett_warm_event",
    ("size", SIZE), ("name", STR), ("target", STR), ("params", STR), ("key", KEY), ("status", INT), ("error", STR), ("cached", BOOL),
    ("ms", C.c_double), ("done", U64), ("failed", U64), ("total", U64), ("fetched", BOOL),
)
WARM = C.CFUNCTYPE(BOOL, P, C.POINTER(WarmEvent))
WarmOptions = struct(
    "sett_warm_options",
    ("size", SIZE), ("targets", STR), ("shard", INT), ("shards", INT), ("workers", INT), ("command", STR), ("pack", STR),
    ("secret_key", STR), ("progress", WARM), ("user", P),
)
WarmResult = struct(
    "sett_warm_result", ("size", SIZE), ("total", U64), ("cached", U64), ("compiled", U64), ("failed", U64), ("fetched", U64)
)
CacheEntry = struct(
    "sett_cache_entry",
    ("size", SIZE), ("layer", INT), ("key", KEY), ("bytes", U64), ("used", C.c_int64), ("damage", STR), ("name", STR), ("target", STR),
    ("compiler", STR), ("assembler", STR),
)
ENTRY = C.CFUNCTYPE(BOOL, P, C.POINTER(CacheEntry))
PackOptions = struct("sett_pack_options", ("size", SIZE), ("keys", P), ("n_keys", SIZE), ("secret_key", STR))
MetricsSource = struct("sett_metrics_source", ("engine", P), ("label", STR))

# ---- calls: result, arguments ---------------------------------------------------------------------------------
ERR: Any = C.POINTER(CError)
OUT: Any = C.POINTER(P)
CALLS: "dict[str, tuple]" = {
    "sett_version": (STR,),
    "sett_status_name": (STR, INT),
    "sett_status_text": (STR, INT),
    "sett_check_kind_name": (STR, INT),
    "sett_check_level_name": (STR, INT),
    "sett_check_role_name": (STR, INT),
    "sett_findings": (INT, FINDING, P),
    "sett_dtype_name": (STR, INT),
    "sett_engine_open": (INT, OUT, P, ERR),
    "sett_engine_close": (None, P),
    "sett_engine_seal": (None, P, BOOL),
    "sett_default_device": (INT, P),
    "sett_gpu_count": (INT, P),
    "sett_device_target": (INT, P, INT, STR, SIZE),
    "sett_engine_describe": (INT, P, STR, SIZE),
    "sett_engine_stats": (None, P, P),
    "sett_sync_error": (INT, P, Stream, ERR),
    "sett_cancel": (INT, P, Stream, ERR),
    "sett_poll": (INT, P, INT, ERR),
    "sett_compile": (INT, P, P, P, OUT, ERR),
    "sett_compile_tape": (INT, P, STR, SIZE, P, OUT, ERR),
    "sett_kernel_get": (INT, P, KEY, OUT, ERR),
    "sett_kernel_release": (None, P),
    "sett_key": (INT, P, P, P, KEY, ERR),
    "sett_kernel_query": (INT, P, P),
    "sett_kernel_params": (INT, P),
    "sett_kernel_param": (INT, P, INT, P),
    "sett_kernel_argument": (INT, P, STR),
    "sett_prepare": (INT, P, INT, ERR),
    "sett_unload": (INT, P, ERR),
    "sett_cache_walk": (INT, P, ENTRY, P, ERR),
    "sett_pack_write": (INT, P, STR, P, C.POINTER(U64), ERR),
    "sett_warm": (INT, P, STR, P, P, ERR),
    "sett_family_present_name": (STR, P, STR),
    "sett_family_word_value": (C.c_bool, P, STR, STR, C.POINTER(C.c_int64)),
    "sett_family_words": (INT, P, STR, P, SIZE),
    "sett_family_keys": (INT, P, STR, P, WARM, P, ERR),
    "sett_metrics_write": (INT, P, INT, WRITE, P, ERR),
    "sett_tvm_ffi_function": (INT, P, P, OUT, ERR),
}
for _name, (_result, *_arguments) in CALLS.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments


def check(call, *arguments) -> None:
    """Calls a function whose last argument is a sett_error; raises what it says."""
    err = CError()
    status = call(*arguments, err)
    if status:
        raise Error(status, decoded(err.text or lib.sett_status_text(status)))


def text(size_and_fill) -> str:
    """What a call like snprintf writes: size_and_fill(buffer, bytes) gives the length."""
    size = 4096
    while True:
        buffer = C.create_string_buffer(size)
        n = size_and_fill(buffer, size)
        if n < size:
            return buffer.value.decode(errors="replace") if n >= 0 else ""
        size = n + 1


def made(kind, **fields):
    """A struct whose first field is its size. ctypes cuts an integer that its field cannot hold."""
    s = kind(size=C.sizeof(kind), **fields)
    for name, value in fields.items():
        if type(value) is int and getattr(s, name) != value:
            raise Error(Status.E_RANGE, f"{name} = {value} does not fit {8 * getattr(kind, name).size} bits")
    return s


def whole(b: bytes) -> bytes:
    """C would read what is before a NUL."""
    if b"\0" in b:
        raise ValueError("embedded null byte")
    return b


def path(p) -> "bytes | None":
    return None if p is None else whole(os.fsencode(p))


def paths(p) -> "bytes | None":
    """Paths or words with ':' between."""
    if p is None or isinstance(p, (str, bytes, os.PathLike)):
        return path(p)
    each = [whole(os.fsencode(one)) for one in p]
    for one in each:
        if b":" in one:
            raise Error(Status.E_ARGUMENT, f"{os.fsdecode(one)}: ':' stands between paths, so none may have one")
    return b":".join(each)


def absolute(p, between: bytes = b"") -> "bytes | None":
    """A path as the library takes it: relative ones are of the current folder, as everywhere in Python; "" stays so. between: there may
    be several."""
    if not p:
        return p
    made = [os.path.abspath(one) if one else one for one in (p.split(between) if between else [p])]
    for one in made:
        if between and between in one:
            raise Error(Status.E_ARGUMENT, f"{os.fsdecode(one)}: '{between.decode()}' stands between paths, so none may have one")
    return between.join(made)


def encoded(s: "str | None") -> "bytes | None":
    return None if s is None else whole(s.encode())


def decoded(s: "bytes | None") -> str:
    return "" if s is None else s.decode(errors="replace")


def finding(at):
    """Kind, level and text of a sett_finding."""
    f = C.cast(at, C.POINTER(Finding)).contents
    return decoded(lib.sett_check_kind_name(f.kind)), decoded(lib.sett_check_level_name(f.level)), decoded(f.text)


# ---- element types ---------------------------------------------------------------------------------------------------
DTYPES = {}
for _id in range(1, 256):
    _name = lib.sett_dtype_name(_id).decode()
    if _name == "?":
        break
    DTYPES[_name] = _id
DTYPE_NAMES = {v: k for k, v in DTYPES.items()}
# Names of frameworks, that of the type in sett.
ALIASES = {"bool": "i1", "bool_": "i1", "half": "f16", "float": "f32", "double": "f64", "bfloat16": "bf16", "longlong": "i64", "ulonglong": "u64"}
ALIASES.update({f"int{n}": f"i{n}" for n in (4, 8, 16, 32, 64)})
ALIASES.update({f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)})
ALIASES.update({f"{word}{n}": f"f{n}" for word in ("float", "fp") for n in (16, 32, 64)})
ALIASES.update({"float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "float8_e8m0fnu": "f8E8M0FNU", "float4_e2m1fn": "f4E2M1FN"})
# Python's own types mean what NumPy means by them.
BUILTINS = {float: "f64", int: "i64", bool: "i1"}


def dtype_id(d) -> int:
    """The id of "bf16", torch.bfloat16, numpy.dtype("float32"), numpy.float32, float ..."""
    name = d if isinstance(d, str) else BUILTINS.get(d) if isinstance(d, type) else None
    name = name or getattr(d, "__name__", None) or str(d)
    name = name.rpartition(".")[2]
    name = ALIASES.get(name, name)
    if name not in DTYPES:
        raise Error(Status.E_DTYPE, f"{d!r} is no element type of sett: {', '.join(DTYPES)}")
    return DTYPES[name]
