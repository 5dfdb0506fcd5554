"""The standard's questions about dtypes, and about the namespace itself."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from quabla import dtypes, errors
from quabla.dtypes import dtype as DType
from quabla.ops import casting, dispatch
from quabla.ops.dispatch import Value

__all__ = ["__array_namespace_info__", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_KINDS: Final = {
    "bool": (dtypes.bool_,),
    "signed integer": (),
    "unsigned integer": (),
    "integral": (),
    "real floating": (dtypes.float32, dtypes.float64),
    "complex floating": (),
    "numeric": (dtypes.float32, dtypes.float64),
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


def iinfo(type: Any, /) -> NoReturn:
    """The range of an integer dtype, of which there is none.

    Raises:
        ValueError: always.

    Example:
        >>> iinfo(qb.float64)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: iinfo: needs an integer dtype, got quabla.float64...
    """
    raise ValueError(f"iinfo: needs an integer dtype, got {_dtype_of(type)!r}{errors.at_user_line()}")


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
    """Whether promotion may lead from a dtype, or an array's, to another: from each to itself, from float32 to float64.

    Example:
        >>> can_cast(qb.float32, qb.float64), can_cast(qb.float64, qb.float32)
        (True, False)
    """
    source = _dtype_of(from_)
    return source is to or (source is dtypes.float32 and to is dtypes.float64)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that operands have in common.

    Functions do not promote float32 to float64: convert to this dtype first.

    Raises:
        ValueError: without operands.
        TypeError: for bool together with floats.

    Example:
        >>> result_type(qb.float32, qb.zeros(2), 1.0)
        quabla.float64
    """
    found = {_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, (int, float))}
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (int, float)) and not isinstance(x, bool)]
    if not found:
        raise ValueError(f"result_type: needs an array or a dtype{errors.at_user_line()}")
    if dtypes.bool_ in found and (len(found) > 1 or numbers):
        raise TypeError(f"result_type: bool and float dtypes have none in common{errors.at_user_line()}")
    return dtypes.float64 if dtypes.float64 in found else found.pop()


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
        """Boolean masks and shapes that depend on values are not there."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": None}

    def default_device(self) -> str:
        """The device of new arrays."""
        return "cpu"

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The dtypes of new arrays."""
        return {"real floating": dtypes.float64}

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
