"""The standard's questions about dtypes, and about the namespace itself."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from quabla import dtypes, errors
from quabla.dtypes import dtype as DType
from quabla.ops import casting, dispatch
from quabla.ops.dispatch import Value

__all__ = ["__array_namespace_info__", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_KINDS: Final = {
    "bool": (dtypes.bool_,),
    "signed integer": (dtypes.int32, dtypes.int64),
    "unsigned integer": (),
    "integral": (dtypes.int32, dtypes.int64),
    "real floating": (dtypes.float32, dtypes.float64),
    "complex floating": (),
    "numeric": (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64),
}


class FloatInfo(NamedTuple):
    """What ``finfo`` tells of a float dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


def _dtype_of(x: Any) -> DType:
    return x if isinstance(x, DType) else dispatch.as_value(x).type.dtype


def finfo(type: Any, /) -> FloatInfo:
    """Precision and range of a float dtype, or of an array's.

    Raises:
        ValueError: for bool.

    Example:
        >>> finfo(qb.float32).bits
        32
    """
    d = _dtype_of(type)
    if not d.is_float:
        raise ValueError(f"finfo: needs a float dtype, got {d!r}{errors.at_user_line()}")
    found: Any = np.finfo(d.numpy)
    smallest = float(found.smallest_normal)
    return FloatInfo(found.bits, float(found.eps), float(found.max), float(found.min), smallest, d)


class IntInfo(NamedTuple):
    """What ``iinfo`` tells of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def iinfo(type: Any, /) -> IntInfo:
    """The range of an integer dtype, or of an array's.

    Raises:
        ValueError: for other dtypes.

    Example:
        >>> iinfo(qb.int32).max
        2147483647
    """
    d = _dtype_of(type)
    if not d.is_int:
        raise ValueError(f"iinfo: needs an integer dtype, got {d!r}{errors.at_user_line()}")
    found = np.iinfo(d.numpy)
    return IntInfo(found.bits, found.max, found.min, d)


def isdtype(dtype: DType, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind such as ``"real floating"``, or of one of several.

    Raises:
        ValueError: for an unknown kind.

    Example:
        >>> isdtype(qb.float32, "numeric"), isdtype(qb.bool_, (qb.float32, qb.float64))
        (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if kind not in _KINDS:
        raise ValueError(f"isdtype: kind must be one of {', '.join(_KINDS)}, got {kind!r}{errors.at_user_line()}")
    return dtype in _KINDS[kind]


def can_cast(from_: Any, to: DType, /) -> bool:
    """Whether promotion may lead from a dtype, or an array's, to another: to itself, or to one of its kind with more bits.

    Example:
        >>> can_cast(qb.float32, qb.float64), can_cast(qb.float64, qb.float32)
        (True, False)
    """
    source = _dtype_of(from_)
    return source is to or (source, to) in ((dtypes.float32, dtypes.float64), (dtypes.int32, dtypes.int64))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that operands have in common: of one kind, the one with more bits.

    Functions do not promote float32 to float64, nor int32 to int64: convert to this dtype first.

    Raises:
        ValueError: without operands.
        TypeError: for dtypes of different kinds, and for bool or int ones with a number that is none.

    Example:
        >>> result_type(qb.float32, qb.zeros(2), 1.0)
        quabla.float64
    """
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (int, float))]
    found = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, (int, float))]
    if not found:
        raise ValueError(f"result_type: needs an array or a dtype{errors.at_user_line()}")
    wide = found[0]
    for d in found[1:]:
        wide = d if can_cast(wide, d) else wide
    takes = (bool,) if wide.is_bool else (bool, int) if wide.is_int else (bool, int, float)
    if not all(can_cast(d, wide) for d in found) or not all(isinstance(n, takes) for n in numbers):
        raise TypeError(f"result_type: no dtype for {arrays_and_dtypes}{errors.at_user_line()}")
    return wide


def astype(x: Any, dtype: DType, /, *, copy: bool = True, device: str | None = None) -> Value:
    """``quabla.astype``; arrays never change, so ``copy`` makes no difference.

    Raises:
        ValueError: for another device than ``"cpu"``.

    Example:
        >>> astype(qb.array([0.0, 2.0]), qb.bool_).tolist()
        [False, True]
    """
    if device not in (None, "cpu"):
        raise ValueError(f"astype: device must be 'cpu' or None, got {device!r}{errors.at_user_line()}")
    return casting.astype(x, dtype)


class NamespaceInfo:
    """What this implementation of the standard has."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks as indices, and shapes that depend on values, are for eager arrays only."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """The device of new arrays."""
        return "cpu"

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The dtypes of new arrays."""
        return {"real floating": dtypes.float64, "integral": dtypes.int64, "indexing": dtypes.int64}

    def devices(self) -> list[str]:
        """The devices that arrays can be on."""
        return ["cpu"]

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes, of a kind if one is given."""
        return {d.name: d for d in dtypes.ALL if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """What this implementation of the standard has.

    Example:
        >>> __array_namespace_info__().default_device()
        'cpu'
    """
    return NamespaceInfo()
