# SPDX-License-Identifier: Apache-2.0
"""Streams of frameworks that have no C call for them."""

import sys


def current(kind: type, device: int) -> int:
    """The handle of the stream that the framework of this type of tensor works on; 0, the default stream, if it does not say."""
    name = kind.__module__.partition(".")[0]
    framework = sys.modules.get(name)
    if name == "torch" and framework is not None:
        return framework.cuda.current_stream(device).cuda_stream
    if name == "cupy" and framework is not None:
        return framework.cuda.get_current_stream(device).ptr
    return 0


def handle(stream: object) -> int:
    """The handle of a stream of PyTorch, CuPy or cuda.core, or of what has __cuda_stream__."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if value is not None:
            return int(value)
    raise TypeError(f"{type(stream).__name__} is no stream: an integer, or an object with __cuda_stream__, cuda_stream, ptr or handle")
