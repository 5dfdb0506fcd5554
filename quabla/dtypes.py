"""The element types: float64 (the default), float32, bool_, and int32 and int64 for indices and counts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

__all__ = ["bool_", "dtype", "float32", "float64", "from_numpy", "int32", "int64"]

_NAMES: Final = "quabla.float64, quabla.float32, quabla.bool_, quabla.int32 or quabla.int64"


class dtype:
    """An element type of quabla arrays.

    There are exactly five instances: ``quabla.float64``, ``quabla.float32``, ``quabla.bool_``, ``quabla.int32`` and
    ``quabla.int64``. They are compared by identity and print as ``f64``, ``f32``, ``bool``, ``i32`` and ``i64``.
    The integers are for indices and counts: they have no derivative.

    Attributes:
        name: the NumPy name, such as ``"float64"`` or ``"bool"``.
        numpy: the NumPy dtype of the storage; also ``dtype``, the name under which NumPy looks for it, so that
            ``np.zeros(3, dtype=x.dtype)`` works.
        type: NumPy's class of scalars, such as ``np.float64``.
        mlir: the element type's name in MLIR, ``"f64"``, ``"f32"``, ``"i1"``, ``"i32"`` or ``"i64"``.
        is_float: whether values can be differentiated.
        is_int: whether values are integers.
        is_bool: whether values are bools.
    """

    __slots__ = ("_repr", "_short", "dtype", "is_bool", "is_float", "is_int", "mlir", "name", "numpy", "type")

    name: str
    numpy: np.dtype[Any]
    dtype: np.dtype[Any]
    type: type[np.generic]
    mlir: str
    is_float: bool
    is_int: bool
    is_bool: bool

    def __init__(self) -> None:
        raise TypeError(f"dtype cannot be instantiated; use {_NAMES}")

    def __repr__(self) -> str:
        return self._repr

    def __str__(self) -> str:
        return self._short

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)


def _make(name: str, short: str, mlir: str, numpy: Any, public: str) -> dtype:
    d = object.__new__(dtype)
    d.name, d._short, d._repr, d.mlir = name, short, f"quabla.{public}", mlir
    d.numpy = d.dtype = np.dtype(numpy)
    d.type = d.numpy.type
    d.is_float, d.is_int, d.is_bool = (d.numpy.kind == kind for kind in "fib")
    return d


float64: Final = _make("float64", "f64", "f64", np.float64, "float64")
float32: Final = _make("float32", "f32", "f32", np.float32, "float32")
bool_: Final = _make("bool", "bool", "i1", np.bool_, "bool_")
int32: Final = _make("int32", "i32", "i32", np.int32, "int32")
int64: Final = _make("int64", "i64", "i64", np.int64, "int64")

ALL: Final = (float64, float32, bool_, int32, int64)
BY_MLIR: Final = {d.mlir: d for d in ALL}
_BY_NUMPY: Final = {d.numpy: d for d in ALL}


def _named(name: str) -> dtype:
    return next(d for d in ALL if d.name == name)


def from_numpy(numpy: np.dtype[Any]) -> dtype | None:
    """The dtype stored as ``numpy``, or None where there is none."""
    return _BY_NUMPY.get(numpy)


def check(value: object, what: str = "dtype") -> dtype:
    """``value`` if it is a dtype.

    Raises:
        TypeError: for anything else, such as a string or a NumPy dtype.
    """
    if isinstance(value, dtype):
        return value
    hint = "; a shape of several extents is one tuple" if type(value) is int else ""
    raise TypeError(f"{what} must be {_NAMES}, got {value!r}{hint}")
