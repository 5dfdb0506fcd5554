"""The one place that imports the MLIR bindings.

The bindings come from the package torch-mlir, which ships LLVM's own MLIR Python bindings with the StableHLO
dialect. Import this module inside functions: it costs tens of milliseconds, which a first answer does not need.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import TYPE_CHECKING, Any, Final

import torch_mlir.dialects as _dialects
from torch_mlir import ir, passmanager
from torch_mlir._mlir_libs import _stablehlo as stablehlo
from torch_mlir.dialects import ext, irdl

from quabla import dtypes
from quabla.ops.types import TensorType, tensor_type

# An op of a dialect without a Python module of its name makes the bindings search for that module again on
# every access, 35 microseconds each. An empty module ends the search.
for _name in ("qb", "stablehlo"):
    _module = sys.modules.setdefault(f"torch_mlir.dialects.{_name}", types.ModuleType(_name))
    setattr(_dialects, _name, _module)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "context",
    "ext",
    "extend_context",
    "ir",
    "irdl",
    "mlir_type",
    "passmanager",
    "place",
    "read_type",
    "stablehlo",
    "unknown",
]

_lock: Final = threading.Lock()
_context: Any = None
_loaders: Final[list[Callable[[Any], None]]] = []


def extend_context(load: Callable[[Any], None]) -> None:
    """Load a dialect into the process's context, now or when it is made; for the module that defines the dialect."""
    with _lock:
        _loaders.append(load)
        if _context is not None:
            load(_context)


def context() -> Any:
    """The process's MLIR context with StableHLO and the dialects of modules that are imported loaded."""
    global _context
    if _context is None:
        with _lock:
            if _context is None:
                made = ir.Context()
                # Verifiers are Python: MLIR's threads would wait for a lock that the thread that waits for them holds.
                made.enable_multithreading(False)
                stablehlo.register_dialect(made)
                stablehlo.register_stablehlo_passes()
                for load in _loaders:
                    load(made)
                _context = made
    return _context


def unknown() -> Any:
    """The unknown location."""
    return ir.Location.unknown(context())


_types: Final[dict[TensorType, Any]] = {}
_read: Final[dict[Any, TensorType]] = {}


def mlir_type(t: TensorType) -> Any:
    """The MLIR tensor type of ``t``."""
    m = _types.get(t)
    if m is None:
        c = context()
        element = {
            dtypes.float64: lambda: ir.F64Type.get(c),
            dtypes.float32: lambda: ir.F32Type.get(c),
            dtypes.bool_: lambda: ir.IntegerType.get_signless(1, c),
            dtypes.int32: lambda: ir.IntegerType.get_signless(32, c),
            dtypes.int64: lambda: ir.IntegerType.get_signless(64, c),
        }[t.dtype]()
        m = ir.RankedTensorType.get(list(t.shape), element, loc=unknown())
        _types[t] = m
        _read[m] = t
    return m


def read_type(m: Any) -> TensorType:
    """The tensor type that an MLIR type stands for.

    Raises:
        ValueError: for types that quabla has none for, such as those of dynamic shape.
    """
    t = _read.get(m)
    if t is None:
        if not isinstance(m, ir.RankedTensorType) or not m.has_static_shape:
            raise ValueError(f"expected a tensor of static shape, got {m}")
        dtype = dtypes.BY_MLIR.get(str(m.element_type))
        if dtype is None:
            raise ValueError(f"expected elements of type f64, f32, i1, i32 or i64, got {m}")
        t = _read[m] = tensor_type(tuple(m.shape), dtype)
    return t


def place(location: Any) -> tuple[str, int, int] | None:
    """The first file, line and column that a location names."""
    if isinstance(location, ir.FileLineColLoc):
        return location.filename, location.start_line, location.start_col
    if isinstance(location, ir.NameLoc):
        return place(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return place(location.callee)
    if isinstance(location, ir.FusedLoc):
        return next((p for p in map(place, location.locations) if p is not None), None)
    return None


def attribute_ints(values: Sequence[int]) -> Any:
    """A dense array of 64-bit integers."""
    return ir.DenseI64ArrayAttr.get(list(values), context())
