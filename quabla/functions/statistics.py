"""Reductions composed of ops: products, norms, variances, and the softmax family.

Large and small magnitudes are scaled away by a factor that derivatives see as a constant: the results do not depend
on it, so the derivatives of the scaled formulas are exact at every order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quabla import errors
from quabla.ops.arguments import axis_set
from quabla.ops.casting import STOP_GRADIENT
from quabla.ops.dispatch import Value, apply, bool_operand, cast, full, scalar, weakly
from quabla.ops.elementwise import ABS, COMPARE, DIV, MAXIMUM, MINIMUM, MUL, SQRT, SUB
from quabla.ops.indexing import SLICE
from quabla.ops.reductions import MAX, MEAN, MIN, SUM, count, kept, over_axes, reducible
from quabla.ops.registry import Op
from quabla.ops.selection import choose
from quabla.ops.shaping import RESHAPE
from quabla.ops.transcendental import EXP, LOG1P
from quabla.ops.types import Shape

__all__ = ["all", "any", "log_softmax", "logsumexp", "norm", "prod", "softmax", "std", "var"]

Axes = tuple[int, ...]


def _keeping(op: Op, x: Value, axes: Axes) -> Value:
    """A reduction that keeps the reduced axes with extent 1."""
    return apply(RESHAPE, (apply(op, (x,), (axes,)),), (kept(x.type.shape, axes),))


def _result(r: Value, of: Value, shape: Shape) -> Value:
    """``r`` with its final shape, weak where the operand is."""
    r = apply(RESHAPE, (r,), (shape,)) if r.type.shape != shape else r
    return weakly(r, of.weak)


def _reduced_shape(shape: Shape, axes: Axes, keepdims: bool) -> Shape:
    return kept(shape, axes) if keepdims else tuple([n for i, n in enumerate(shape) if i not in axes])


# ---- logic --------------------------------------------------------------------------------------


def _over_bools(name: str, op: Op, x: object, axis: object, keepdims: bool, of_none: bool) -> Value:
    v = bool_operand(name, x)
    axes = axis_set(name, axis, v.type.ndim)
    shape = _reduced_shape(v.type.shape, axes, keepdims)
    if not count(v.type.shape, axes):
        return full(v.type.with_shape(shape), of_none)
    return _result(apply(op, (v,), (axes,)), v, shape)


@over_axes("float arrays")
def any(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """Whether an element is true along axes; False for no elements.

    Example:
        >>> import quabla as qb
        >>> qb.any(qb.array([[True, False], [False, False]]), axis=1).tolist()
        [True, False]
    """
    return _over_bools("any", MAX, x, axis, keepdims, False)


@over_axes("float arrays")
def all(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """Whether every element is true along axes; True for no elements.

    Example:
        >>> import quabla as qb
        >>> qb.all(qb.array([[True, True], [True, False]]), axis=1).tolist()
        [True, False]
    """
    return _over_bools("all", MIN, x, axis, keepdims, True)


# ---- products -----------------------------------------------------------------------------------


@over_axes("bool arrays")
def prod(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """The product over axes; 1 for no elements. Its derivatives are exact where elements are 0.

    Example:
        >>> import quabla as qb
        >>> qb.grad(qb.prod)(qb.array([0.0, 2.0, 3.0])).tolist()
        [6.0, 0.0, 0.0]
    """
    v, axes = reducible("prod", x, axis, ints=True)
    shape = _reduced_shape(v.type.shape, axes, keepdims)
    if not count(v.type.shape, axes):
        return full(v.type.with_shape(shape), 1.0)
    r = v
    if len(axes) == v.type.ndim > 1:
        r, axes = apply(RESHAPE, (v,), ((v.type.size,),)), (0,)
    for a in axes:
        r = _product_along(r, a)
    return _result(r, v, shape)


def _product_along(x: Value, axis: int) -> Value:
    """The product along an axis, which keeps extent 1: halves are multiplied until one element is left.

    Nothing is divided, so the product rule holds at zeros, and log2 of the extent is the number of steps.
    """
    left_over = None
    n = x.type.shape[axis]
    while n > 1:
        half = n // 2
        if n % 2:
            last = apply(SLICE, (x,), (axis, n - 1, 1, 1))
            left_over = last if left_over is None else apply(MUL, (left_over, last))
        x = apply(MUL, (apply(SLICE, (x,), (axis, 0, half, 1)), apply(SLICE, (x,), (axis, half, half, 1))))
        n = half
    return x if left_over is None else apply(MUL, (x, left_over))


# ---- norms and variances ------------------------------------------------------------------------


@over_axes("bool arrays")
def norm(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """The Euclidean norm over axes, without overflow or underflow; its derivatives at the origin are 0.

    Example:
        >>> import quabla as qb
        >>> qb.norm(qb.array([3e300, 4e300])).item()
        5e+300
    """
    v, axes = reducible("norm", x, axis)
    return _result(_norm(v, axes), v, _reduced_shape(v.type.shape, axes, keepdims))


def _norm(x: Value, axes: Axes) -> Value:
    """The norm; the reduced axes keep extent 1."""
    if not axes:
        return apply(ABS, (x,))
    if not count(x.type.shape, axes):
        return _keeping(SUM, x, axes)
    scale = scale_of(x, axes)
    scaled = apply(DIV, (x, scale))
    return apply(MUL, (apply(SQRT, (_keeping(SUM, apply(MUL, (scaled, scaled)), axes),)), scale))


def scale_of(x: Value, axes: Axes) -> Value:
    """About the largest magnitude over axes, which keep extent 1: a constant to derivatives, and 1 where all are 0.

    The scale and its reciprocal, a factor of the derivatives, are normal numbers; near the limits of the dtype the
    scaled elements need not be close to 1. At the origin squares of scaled tangents would overflow.
    """
    dtype = x.type.dtype
    largest = _keeping(MAX, apply(ABS, (apply(STOP_GRADIENT, (x,)),)), axes)
    limit = 2.0 ** (int(np.finfo(dtype.numpy).maxexp) - 3)
    scale = apply(MAXIMUM, (apply(MINIMUM, (largest, scalar(limit, dtype))), scalar(1 / limit, dtype)))
    return choose(apply(COMPARE, (largest, scalar(0.0, dtype)), ("equal",)), 1.0, scale)


def _centred(x: Value, axes: Axes) -> Value:
    return apply(SUB, (x, _keeping(MEAN, x, axes)))


def _degrees_of_freedom(name: str, x: Value, axes: Axes, ddof: Any) -> float:
    if not isinstance(ddof, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: ddof must be a number, got {ddof!r}{errors.at_user_line()}")
    return max(float(count(x.type.shape, axes) - ddof), 0.0)


@over_axes("bool arrays")
def var(x: object, axis: object = None, keepdims: bool = False, ddof: float = 0) -> Value:
    """The variance over axes: the mean squared distance from the mean, which is computed first.

    Example:
        >>> import quabla as qb
        >>> qb.var(qb.array([1.0, 2.0, 3.0]), ddof=1).item()
        1.0
    """
    v, axes = reducible("var", x, axis)
    n = _degrees_of_freedom("var", v, axes, ddof)
    d = _centred(v, axes)
    total = apply(SUM, (apply(MUL, (d, d)),), (axes,))
    r = apply(DIV, (total, scalar(n, v.type.dtype)))
    return _result(r, v, _reduced_shape(v.type.shape, axes, keepdims))


@over_axes("bool arrays")
def std(x: object, axis: object = None, keepdims: bool = False, ddof: float = 0) -> Value:
    """The standard deviation over axes, without overflow of the squares; its derivatives where it is 0 are 0.

    Example:
        >>> import quabla as qb
        >>> qb.std(qb.array([1.0, 3.0])).item()
        1.0
    """
    v, axes = reducible("std", x, axis)
    n = _degrees_of_freedom("std", v, axes, ddof)
    r = apply(DIV, (_norm(_centred(v, axes), axes), scalar(math.sqrt(n), v.type.dtype)))
    return _result(r, v, _reduced_shape(v.type.shape, axes, keepdims))


# ---- the softmax family -------------------------------------------------------------------------
#
# Derivatives go through the largest element that is subtracted, though the results do not depend on it: its own shifted
# tangent is then 0, not a 1 beside which those of the others round off.


@over_axes("bool arrays")
def logsumexp(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """``log(sum(exp(x)))`` over axes, without overflow; -inf of no elements and where all of them are -inf.

    There its derivatives are 0.

    Example:
        >>> import quabla as qb
        >>> qb.logsumexp(qb.array([1000.0, 1000.0])).item()
        1000.6931471805599
    """
    v, axes = reducible("logsumexp", x, axis)
    shape = _reduced_shape(v.type.shape, axes, keepdims)
    if not count(v.type.shape, axes):
        return full(v.type.with_shape(shape), -math.inf)
    largest = _keeping(MAX, v, axes)
    usual = apply(COMPARE, (apply(ABS, (largest,)), scalar(math.inf, v.type.dtype)), ("less",))
    above = choose(usual, _above_one(apply(SUB, (v, choose(usual, largest, 0.0))), axes), 0.0)
    none = apply(COMPARE, (largest, scalar(-math.inf, v.type.dtype)), ("equal",))
    base = choose(none, apply(STOP_GRADIENT, (largest,)), largest)
    return _result(apply(LOG1P, (above,)) + base, v, shape)


def _above_one(shifted: Value, axes: Axes) -> Value:
    """``sum(exp(shifted)) - 1`` for a largest element of 0, whose 1 would round off what the others add."""
    peak = cast(apply(COMPARE, (shifted, scalar(0.0, shifted.type.dtype)), ("equal",)), shifted.type.dtype)
    rest = _keeping(SUM, apply(SUB, (apply(EXP, (shifted,)), peak)), axes)
    return rest + (_keeping(SUM, peak, axes) - 1.0)


def _shifted(name: str, x: object, axis: object) -> tuple[Value, Value, Axes]:
    """The operand, the operand less its largest element, and the axes."""
    v, axes = reducible(name, x, axis)
    if not v.type.size:
        return v, v, axes
    return v, apply(SUB, (v, _keeping(MAX, v, axes))), axes


@over_axes("bool arrays")
def softmax(x: object, axis: object = -1) -> Value:
    """``exp(x) / sum(exp(x))`` along axes, without overflow.

    Example:
        >>> import quabla as qb
        >>> qb.softmax(qb.array([1000.0, 1000.0])).tolist()
        [0.5, 0.5]
    """
    v, shifted, axes = _shifted("softmax", x, axis)
    e = apply(EXP, (shifted,))
    return _result(apply(DIV, (e, _keeping(SUM, e, axes))), v, v.type.shape)


@over_axes("bool arrays")
def log_softmax(x: object, axis: object = -1) -> Value:
    """The logarithm of ``softmax``, accurate where that is close to 0.

    Example:
        >>> import quabla as qb
        >>> qb.log_softmax(qb.array([1000.0, 0.0])).tolist()
        [0.0, -1000.0]
    """
    v, shifted, axes = _shifted("log_softmax", x, axis)
    if not v.type.size:
        return v
    return _result(apply(SUB, (shifted, apply(LOG1P, (_above_one(shifted, axes),)))), v, v.type.shape)
