# SPDX-License-Identifier: Apache-2.0
"""Kernels as operations of PyTorch, which torch.compile and CUDA graphs take: `custom_op`."""

import inspect
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

import torch

from . import _c
from ._c import Error, Status
from ._engine import Kernel

Maker = Callable[..., torch.Tensor]
_libraries: Dict[str, torch.library.Library] = {}  # an operation lives as long as its library


def _type_of(p: Any, mark: str) -> str:
    if p.bytes and p.scalar:
        raise Error(Status.E_DTYPE, f"{p.name} is a struct, which no operation of PyTorch takes")
    if not p.scalar:
        return f"Tensor({mark}!)" if mark else "Tensor"
    return "bool" if p.dtype == "i1" else "float" if p.dtype[0] == "f" or p.dtype == "bf16" else "SymInt"


def _schema_of(kernel: Kernel, outputs: Mapping[str, Any]) -> str:
    """Every argument but the outputs, in order of declaration; what the kernel writes is marked as mutated."""
    marks = iter("abcdefghijklmnopqrstuvwxyz")
    takes = [f"{_type_of(p, next(marks) if p.written else '')} {p.name}" for p in kernel.params if p.name not in outputs]
    gives = "()" if not outputs else "Tensor" if len(outputs) == 1 else f"({', '.join(['Tensor'] * len(outputs))})"
    return f"({', '.join(takes)}) -> {gives}"


def _by_name(op: str, function: Callable, names: List[str]) -> Callable:
    """A function of an operation's arguments, called with all of them: it gets those that its parameters name, or all by their places."""
    try:
        wants = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of C
        return function
    places = [p for p in wants if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    others = [p.name for p in wants if p.name not in names and p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if any(p.kind == p.VAR_POSITIONAL or (p.kind == p.POSITIONAL_ONLY and p.name not in names) for p in wants) or (others and len(places) == len(names)):
        return function
    if others:
        raise Error(Status.E_BIND, f"{op}: a function takes {others[0]}; the operation has {', '.join(names)}")
    everything = any(p.kind == p.VAR_KEYWORD for p in wants)
    first = [names.index(p.name) for p in places if p.kind == p.POSITIONAL_ONLY]
    named = {n: i for i, n in enumerate(names) if i not in first and (everything or any(p.name == n for p in wants))}
    return lambda *given: function(*(given[i] for i in first), **{n: given[i] for n, i in named.items()})


class _Operation:
    """One operation: from its arguments to those of a launch. Names of the schema are names of the kernel's arguments."""

    def __init__(self, kernel: Union[Kernel, Callable[..., Kernel]], names: List[str], mutated: List[int], makers: Mapping[str, Maker], empty: List[str]) -> None:
        self.kernel, self.names, self.mutated, self.makers, self.empty = kernel, names, mutated, list(makers.values()), empty
        self.all_names = names + list(makers)
        self.orders: Dict[Kernel, Tuple[int, ...]] = {}

    def order(self, kernel: Kernel) -> Tuple[int, ...]:
        """For each argument of a kernel, where it stands among the operation's arguments and outputs."""
        at = {_c.lib.sett_kernel_argument(kernel.address, n.encode()): i for i, n in enumerate(self.all_names)}
        params = [p.name for p in kernel.params]
        wrong = [n for n in self.all_names if _c.lib.sett_kernel_argument(kernel.address, n.encode()) < 0]
        missing = [n for i, n in enumerate(params) if i not in at]
        if wrong or missing or sorted(at) != list(range(len(at))):
            raise Error(Status.E_BIND, f"{kernel.name} takes {', '.join(params)}; the operation has {', '.join(self.all_names)}")
        for i, p in enumerate(kernel.params):
            if p.written and at[i] < len(self.names) and at[i] not in self.mutated:
                raise Error(Status.E_BIND, f"{kernel.name} writes {p.name}: the schema must say Tensor(a!) {p.name}")
            if p.read and p.name in self.empty:
                raise Error(Status.E_BIND, f"{kernel.name} reads {p.name}, of which an output begins with nothing: leave {p.name} out of "
                    "outputs, so that it is mutated in place, or give a function that makes and fills it")
        return tuple(at[i] for i in range(len(at)))

    def fake(self, *arguments: Any) -> Any:
        made = [make(*arguments) for make in self.makers]
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def __call__(self, *arguments: Any) -> Any:
        kernel = self.kernel if isinstance(self.kernel, Kernel) else self.kernel(*arguments)
        order = self.orders.get(kernel)
        if order is None:
            order = self.orders[kernel] = self.order(kernel)
        made = [make(*arguments) for make in self.makers]
        given = (*arguments, *made)
        kernel(*[given[i] for i in order])
        if self.mutated:
            torch.autograd.graph.increment_version([arguments[i] for i in self.mutated])
        return None if not made else made[0] if len(made) == 1 else tuple(made)


def custom_op(
    name: str,
    kernel: Union[Kernel, Callable[..., Kernel]],
    *,
    outputs: Optional[Mapping[str, Union[str, Maker]]] = None,
    schema: Optional[str] = None,
) -> "torch._ops.OpOverload":
    """Registers a kernel as the operation `name`, "mine::softmax", on the CPU and on CUDA, with a fake kernel, and gives it.

        softmax = sett.torch.custom_op("mine::softmax", kernel, outputs={"Y": "X"})
        y = softmax(x)                                              # or torch.ops.mine.softmax(x)

    kernel: a kernel, or a function that gives one: for each device, element type or extent that is compiled in. It is called at each
    use, so it must be quick: remember what it compiled.
    outputs: the arguments that the operation makes and returns, with the name of an argument that each is like, or a function that makes
    it; it is used for fake tensors too. What is like an argument begins with nothing, so a kernel that reads it is refused. All else that the kernel writes is mutated in place.
    A function gets those of the operation's arguments that it names, as `lambda X: ...` does; with *, or with other names for all of them,
    it gets all by their places.
    schema: "(Tensor X, Tensor(a!) R, float eps) -> Tensor", by the names of the kernel's arguments; what the kernel writes in place is
    marked. None: that of the kernel, which must not be a function then. For gradients: torch.library.register_autograd(name, ...)."""
    namespace, _, op = name.partition("::")
    outputs = outputs or {}
    if not op:
        raise Error(Status.E_ARGUMENT, f"an operation's name is NAMESPACE::NAME, not {name!r}")
    if schema is None:
        if not isinstance(kernel, Kernel):
            raise Error(Status.E_ARGUMENT, f"{name}: a kernel that is chosen at each use needs a schema")
        schema = _schema_of(kernel, outputs)
    library = torch.library.Library(namespace, "FRAGMENT")  # noqa: TOR901 - kept below
    library.define(op + schema)
    overload = getattr(getattr(torch.ops, namespace), op).default
    arguments = overload._schema.arguments
    names = [a.name for a in arguments]
    mutated = [i for i, a in enumerate(arguments) if a.alias_info is not None and a.alias_info.is_write]

    def maker(like: Union[str, Maker]) -> Maker:
        if callable(like):
            return _by_name(name, like, names)
        if like not in names:
            raise Error(Status.E_ARGUMENT, f"{name} has no argument {like}: {', '.join(names)}")
        at = names.index(like)
        return lambda *given: torch.empty_like(given[at])

    chosen = kernel if isinstance(kernel, Kernel) else _by_name(name, kernel, names)
    operation = _Operation(chosen, names, mutated, {n: maker(like) for n, like in outputs.items()},
        [n for n, like in outputs.items() if not callable(like)])
    if isinstance(kernel, Kernel):
        operation.orders[kernel] = operation.order(kernel)
    for key in ("CPU", "CUDA"):
        library.impl(op, operation, key)
    torch.library.register_fake(name, operation.fake, lib=library)
    _libraries[name] = library
    return overload
