# SPDX-License-Identifier: Apache-2.0
"""GPU kernels of sett from Python: engines, families of kernels, launches on the tensors of PyTorch, NumPy, CuPy and others.

    import numpy, sett

    engine = sett.Engine()
    softmax = engine.compile(sett.kernels.softmax, target="cpu", dtype="f32", cols=1000)
    x = numpy.random.rand(8, 1000).astype("f4")
    y = numpy.empty_like(x)
    softmax(x, y)

sett.torch makes operations of PyTorch, sett.tvm_ffi function objects of apache-tvm-ffi. docs/python.md has all of it."""

from . import _c as _c
from . import _fast as _fast
from . import _streams as _streams
from ._c import Error as Error
from ._c import Op as Op
from ._c import Status as Status

_fast.setup(Error, _streams.current, _streams.handle)

from ._engine import CPU as CPU  # noqa: E402 - after the C module has what it needs
from ._engine import Engine as Engine  # noqa: E402
from ._engine import Entry as Entry  # noqa: E402
from ._engine import Family as Family  # noqa: E402
from ._engine import FamilyParam as FamilyParam  # noqa: E402
from ._engine import Finding as Finding  # noqa: E402
from ._engine import Kernel as Kernel  # noqa: E402
from ._engine import Param as Param  # noqa: E402
from ._engine import WarmEvent as WarmEvent  # noqa: E402
from ._engine import WarmResult as WarmResult  # noqa: E402
from ._engine import findings as findings  # noqa: E402
from ._engine import metrics as metrics  # noqa: E402
from ._engine import view as view  # noqa: E402
from . import kernels as kernels  # noqa: E402
from ._product import Product as Product  # noqa: E402
from ._weights import pack_weights as pack_weights  # noqa: E402

Call = _fast.Call
Graph = _fast.Graph
__version__: str = _c.lib.sett_version().decode()


def include_dir() -> str:
    """The folder with sett's C headers, for building families: cc -shared -fPIC -I$(python -m sett include) mine.c -o libmine.so"""
    return str(_c.HERE / "include")
