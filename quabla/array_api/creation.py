"""The standard's creation functions: ``quabla``'s with keyword-only dtypes and devices.

The only device is ``"cpu"``, where eager arrays are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quabla import errors
from quabla.dtypes import dtype as DType
from quabla.functions import creation
from quabla.functions.creation import (
    from_dlpack,
    full_like as _full_like,
    ones_like as _ones_like,
    zeros_like as _zeros_like,
)
from quabla.functions.shape import meshgrid
from quabla.ops import dispatch, shaping
from quabla.ops.dispatch import Value
from quabla.ops.selection import choose

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid", "ones",
    "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip

Shape = int | Sequence[int]


def _check(name: str, device: str | None) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"{name}: device must be 'cpu' or None, got {device!r}{errors.at_user_line()}")


def asarray(obj: Any, /, *, dtype: DType | None = None, device: str | None = None, copy: bool | None = None) -> Value:
    """``quabla.asarray``; True for ``copy`` gives a new array, False raises where the storage cannot be shared.

    Raises:
        ValueError: for another device, and where a copy is needed but ruled out.
        TypeError: where ``obj`` is not array-like.

    Example:
        >>> asarray([1.0, 2.0]).tolist()
        [1.0, 2.0]
    """
    _check("asarray", device)
    out = creation.array(obj, dtype) if copy else creation.asarray(obj, dtype)
    if copy is False and out is not obj:
        raise ValueError(f"asarray: {type(obj).__name__} needs a copy{errors.at_user_line()}")
    return out


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Value:
    """``quabla.arange``.

    Example:
        >>> arange(3).tolist()
        [0.0, 1.0, 2.0]
    """
    _check("arange", device)
    return creation.arange(start, stop, step, dtype)


def linspace(
    start: float,
    stop: float,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Value:
    """``quabla.linspace``, without the last number where ``endpoint`` is False.

    Example:
        >>> linspace(0.0, 1.0, 4, endpoint=False).tolist()
        [0.0, 0.25, 0.5, 0.75]
    """
    _check("linspace", device)
    if endpoint:
        return creation.linspace(start, stop, num, dtype)
    return creation.linspace(start, stop, num + 1, dtype)[:-1]


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType | None = None, device: str | None = None
) -> Value:
    """A matrix of zeros with ones on diagonal ``k``.

    Example:
        >>> eye(2, k=1).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    _check("eye", device)
    rows, columns = creation.checked_shape("eye", (n_rows, n_rows if n_cols is None else n_cols))
    return creation.asarray(np.eye(rows, columns, k), dtype)


def zeros(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Value:
    """``quabla.zeros``.

    Example:
        >>> zeros(2).tolist()
        [0.0, 0.0]
    """
    _check("zeros", device)
    return creation.zeros(shape, dtype)


def ones(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Value:
    """``quabla.ones``.

    Example:
        >>> ones(2).tolist()
        [1.0, 1.0]
    """
    _check("ones", device)
    return creation.ones(shape, dtype)


def empty(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Value:
    """An array of any values: zeros, since arrays cannot be filled later.

    Example:
        >>> empty((2, 3)).shape
        [2, 3]
    """
    _check("empty", device)
    return creation.zeros(shape, dtype)


def full(shape: Shape, fill_value: Any, *, dtype: DType | None = None, device: str | None = None) -> Value:
    """``quabla.full``.

    Example:
        >>> full(2, 7.0).tolist()
        [7.0, 7.0]
    """
    _check("full", device)
    return creation.full(shape, fill_value, dtype)


def zeros_like(x: Any, /, *, dtype: DType | None = None, device: str | None = None) -> Value:
    """``quabla.zeros_like``.

    Example:
        >>> zeros_like(qb.array([1.0])).tolist()
        [0.0]
    """
    _check("zeros_like", device)
    return _zeros_like(x, dtype)


def ones_like(x: Any, /, *, dtype: DType | None = None, device: str | None = None) -> Value:
    """``quabla.ones_like``.

    Example:
        >>> ones_like(qb.array([2.0])).tolist()
        [1.0]
    """
    _check("ones_like", device)
    return _ones_like(x, dtype)


def empty_like(x: Any, /, *, dtype: DType | None = None, device: str | None = None) -> Value:
    """An array of any values of the shape and dtype of ``x``.

    Example:
        >>> empty_like(qb.array([2.0, 3.0])).shape
        [2]
    """
    _check("empty_like", device)
    return _zeros_like(x, dtype)


def full_like(x: Any, /, fill_value: Any, *, dtype: DType | None = None, device: str | None = None) -> Value:
    """``quabla.full_like``.

    Example:
        >>> full_like(qb.array([2.0]), 7.0).tolist()
        [7.0]
    """
    _check("full_like", device)
    return _full_like(x, fill_value, dtype)


def tril(x: Any, /, *, k: int = 0) -> Value:
    """The elements of matrices on and below diagonal ``k``, zeros above.

    Example:
        >>> tril(qb.ones((2, 2)), k=-1).tolist()
        [[0.0, 0.0], [1.0, 0.0]]
    """
    return _triangle(shaping.tril, x, k, 1)


def triu(x: Any, /, *, k: int = 0) -> Value:
    """The elements of matrices on and above diagonal ``k``, zeros below.

    Example:
        >>> triu(qb.ones((2, 2)), k=1).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    return _triangle(shaping.triu, x, k, 0)


def _triangle(main: Any, x: Any, k: int, below: int) -> Value:
    v = dispatch.as_value(x)
    if k == 0 or v.type.ndim < 2:
        return main(v)
    rows, columns = v.type.shape[-2:]
    lower = np.tri(rows, columns, k - 1 + below, dtype=bool)
    return choose(creation.asarray(lower if below else ~lower), v, 0.0)
