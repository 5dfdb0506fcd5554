"""The standard's functions of shapes, and statistics with its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quabla import dtypes, errors
from quabla.dtypes import dtype as DType
from quabla.functions import products, shape as shapes, statistics
from quabla.ops import casting, reductions, shaping
from quabla.ops.arguments import axis_index
from quabla.ops.cumulative import cumprod
from quabla.ops.dispatch import Value, as_value, cast, promote
from quabla.ops.shaping import reshaped
from quabla.ops.types import broadcast_shapes as _broadcast_shapes

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "concat", "count_nonzero", "cumulative_prod", "cumulative_sum", "matrix_transpose", "permute_dims",
    "prod", "reshape", "std", "sum", "unstack", "var", "vecdot",
]  # fmt: skip


def permute_dims(x: Any, /, axes: tuple[int, ...]) -> Value:
    """``quabla.transpose`` with axes.

    Example:
        >>> permute_dims(qb.ones((2, 3)), (1, 0)).shape
        [3, 2]
    """
    return shaping.transpose(x, axes)


def matrix_transpose(x: Any, /) -> Value:
    """The matrices in the last two axes, transposed.

    Raises:
        ValueError: for vectors and scalars.

    Example:
        >>> matrix_transpose(qb.ones((4, 2, 3))).shape
        [4, 3, 2]
    """
    v = as_value(x)
    if v.type.ndim < 2:
        raise ValueError(f"matrix_transpose: needs matrices, got {v.type}{errors.at_user_line()}")
    return shapes.swapaxes(v, -1, -2)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Value:
    """``quabla.concat``; None for ``axis`` flattens first.

    Example:
        >>> concat([qb.ones(1), qb.zeros(2)]).tolist()
        [1.0, 0.0, 0.0]
    """
    if axis is None:
        return shaping.concat([shapes.ravel(x) for x in arrays], 0)
    return shaping.concat(list(arrays), axis)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Value:
    """``quabla.reshape``; arrays never change, so ``copy`` makes no difference.

    Example:
        >>> reshape(qb.ones(4), (2, 2)).shape
        [2, 2]
    """
    return shaping.reshape(x, shape)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Value, ...]:
    """The parts of an array along an axis, which they lack.

    Raises:
        ValueError: where there is no such axis.

    Example:
        >>> [part.tolist() for part in unstack(qb.array([[1.0, 2.0], [3.0, 4.0]]), axis=1)]
        [[1.0, 3.0], [2.0, 4.0]]
    """
    v = as_value(x)
    k = axis_index("unstack", axis, v.type.ndim)
    v = shapes.moveaxis(v, k, 0)
    return tuple([v[i] for i in range(v.type.shape[0])])


def broadcast_shapes(*given: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what arrays of these shapes make together.

    Raises:
        ValueError: where they do not broadcast.

    Example:
        >>> broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    return _broadcast_shapes(*map(tuple, given))


def broadcast_arrays(*arrays: Any) -> list[Value]:
    """Arrays repeated to their common shape.

    Raises:
        ValueError: where they do not broadcast.

    Example:
        >>> [x.shape for x in broadcast_arrays(qb.ones((2, 1)), qb.ones(3))]
        [[2, 3], [2, 3]]
    """
    values = [as_value(x) for x in arrays]
    shape = _broadcast_shapes(*[v.type.shape for v in values])
    return [shaping.broadcast_to(v, shape) for v in values]


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Value:
    """Sums of products along an axis, counted from the end; the other axes broadcast.

    Raises:
        ValueError: for different float dtypes, and shapes that do not fit.

    Example:
        >>> vecdot(qb.array([1.0, 2.0]), qb.array([3.0, 4.0])).item()
        11.0
    """
    (x, y), _ = promote("vecdot", x1, x2)
    x, y = (shapes.moveaxis(v, axis, -1) for v in (x, y))
    if x.type.shape[-1] != y.type.shape[-1]:
        raise ValueError(f"vecdot: axis {axis} differs in extent{errors.at_user_line()}")
    r = shapes.expand_dims(x, -2) @ shapes.expand_dims(y, -1)
    return reshaped(r, r.type.shape[:-2])


# ---- statistics ---------------------------------------------------------------------------------


def _as(x: Any, dtype: DType | None) -> Value:
    v = as_value(x)
    return v if dtype is None else cast(v, dtype)


def sum(x: Any, /, *, axis: Any = None, dtype: DType | None = None, keepdims: bool = False) -> Value:
    """``quabla.sum`` of the elements in another dtype, if one is given.

    Example:
        >>> sum(qb.array([True, True]), dtype=qb.float64).item()
        2.0
    """
    return reductions.sum(_as(x, dtype), axis, keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: DType | None = None, keepdims: bool = False) -> Value:
    """``quabla.prod`` of the elements in another dtype, if one is given.

    Example:
        >>> prod(qb.array([2.0, 3.0])).item()
        6.0
    """
    return statistics.prod(_as(x, dtype), axis, keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Value:
    """``quabla.var`` with the standard's name for ``ddof``.

    Example:
        >>> var(qb.array([1.0, 3.0]), correction=1).item()
        2.0
    """
    return statistics.var(x, axis, keepdims, correction)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Value:
    """``quabla.std`` with the standard's name for ``ddof``.

    Example:
        >>> std(qb.array([1.0, 3.0])).item()
        1.0
    """
    return statistics.std(x, axis, keepdims, correction)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Value:
    """``quabla.cumsum`` along an axis, which only a vector may leave out, with a 0 before it if ``include_initial``.

    Raises:
        ValueError: where the axis is left out for a rank other than 1.

    Example:
        >>> cumulative_sum(qb.array([1.0, 2.0]), include_initial=True).tolist()
        [0.0, 1.0, 3.0]
    """
    return _cumulative("cumulative_sum", reductions.cumsum, 0.0, _as(x, dtype), axis, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Value:
    """``quabla.cumprod`` along an axis, which only a vector may leave out, with a 1 before it if ``include_initial``.

    Raises:
        ValueError: where the axis is left out for a rank other than 1.

    Example:
        >>> cumulative_prod(qb.array([2.0, 3.0]), include_initial=True).tolist()
        [1.0, 2.0, 6.0]
    """
    return _cumulative("cumulative_prod", cumprod, 1.0, _as(x, dtype), axis, include_initial)


def _cumulative(
    name: str, function: Callable[[Any, int], Value], initial: float, v: Value, axis: int | None, include_initial: bool
) -> Value:
    if axis is None and v.type.ndim != 1:
        raise ValueError(f"{name}: {v.type} needs an axis{errors.at_user_line()}")
    k = axis_index(name, 0 if axis is None else axis, v.type.ndim)
    r = function(v, k)
    widths = [(1, 0) if i == k else (0, 0) for i in range(v.type.ndim)]
    return shapes.pad(r, widths, constant_values=initial) if include_initial else r


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Value:
    """The number of elements that are not 0, as int64.

    Example:
        >>> count_nonzero(qb.array([0.0, 2.0, 3.0])).item()
        2
    """
    there = cast(casting.astype(x, dtypes.bool_), dtypes.int64)
    return reductions.sum(there, axis, keepdims)


diff = products.diff
