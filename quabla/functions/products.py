"""Products of arrays and the calculus of sampled functions, composed of ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from quabla import errors
from quabla.functions.contraction import einsum
from quabla.functions.shape import stack
from quabla.ops.arguments import axis_index, static_int
from quabla.ops.dispatch import Value, apply, as_value, full, is_number, promote, scalar, weakly
from quabla.ops.eager import LONG_WAY, Found, two
from quabla.ops.elementwise import COMPARE, DIV, MUL, NEG, SUB, WHERE
from quabla.ops.indexing import GATHER, piece
from quabla.ops.linalg import MATMUL, known_products
from quabla.ops.memo import Memo
from quabla.ops.reductions import SUM
from quabla.ops.shaping import BROADCAST, CONCAT, TRANSPOSE, reshaped
from quabla.ops.types import TensorType, tensor_type

__all__ = ["cholesky", "cross", "diff", "dot", "einsum", "interp", "kron", "outer", "polyval", "tensordot", "trapezoid"]


# ---- products -----------------------------------------------------------------------------------


@errors.hides_library_frames
def dot(a: object, b: object) -> Value:
    """NumPy's dot product: sums of products over the last axis of ``a`` and the last but one of ``b``.

    Args:
        a: array-like.
        b: array-like; its only axis where it is a vector. A scalar on either side multiplies.

    Raises:
        ValueError: for bool arrays, different float dtypes, or extents that do not fit.

    Example:
        >>> import quabla as qb
        >>> qb.dot(qb.array([1.0, 2.0]), qb.array([3.0, 4.0])).item()
        11.0
    """
    try:
        r = two(_known_dots, a, b)
        return _dot(a, b) if r is None else r
    except Exception as e:
        errors.hide_library_frames(e)
        raise


def _dot(a: object, b: object) -> Value:
    (x, y), weak = promote("dot", a, b)
    if not x.type.ndim or not y.type.ndim:
        return weakly(apply(MUL, (x, y)), weak)
    return weakly(_contract("dot", x, y, (x.type.ndim - 1,), (max(y.type.ndim - 2, 0),)), weak)


def _known_dot(types: tuple[TensorType, TensorType]) -> Found:
    """Of vectors and matrices it is what ``matmul`` gives."""
    return known_products[types] if max(types[0].ndim, types[1].ndim) <= 2 else LONG_WAY


_known_dots: Final = Memo(_known_dot)


def tensordot(a: object, b: object, axes: object = 2) -> Value:
    """Sums of products over pairs of axes.

    Args:
        a: array-like.
        b: array-like.
        axes: n for the last n axes of ``a`` and the first n of ``b``; or the axes of ``a`` and those of ``b``.

    Returns:
        An array with the other axes of ``a``, then those of ``b``.

    Raises:
        ValueError: for bool arrays, different float dtypes, axes that do not exist, or extents that differ.

    Example:
        >>> import quabla as qb
        >>> qb.tensordot(qb.ones((2, 3)), qb.ones((3, 4)), axes=1).shape
        [2, 4]
    """
    (x, y), weak = promote("tensordot", a, b)
    p, q = x.type.ndim, y.type.ndim
    if isinstance(axes, (Sequence, np.ndarray)) and getattr(axes, "ndim", 1):
        if len(axes) != 2:
            raise ValueError(f"tensordot: axes must be a number or two lists, got {axes!r}{errors.at_user_line()}")
        left, right = [_axis_list("tensordot", given, rank) for given, rank in zip(axes, (p, q), strict=True)]
    else:
        n = static_int("tensordot: axes", axes)
        if not 0 <= n <= min(p, q):
            raise ValueError(
                f"tensordot: {n} axes of {x.type} and {y.type} cannot be contracted{errors.at_user_line()}"
            )
        left, right = tuple(range(p - n, p)), tuple(range(n))
    if len(left) != len(right):
        raise ValueError(f"tensordot: {len(left)} axes against {len(right)}{errors.at_user_line()}")
    return weakly(_contract("tensordot", x, y, left, right), weak)


def _axis_list(name: str, given: object, rank: int) -> tuple[int, ...]:
    listed = given if isinstance(given, (Sequence, np.ndarray)) and getattr(given, "ndim", 1) else (given,)
    axes = tuple([axis_index(name, a, rank) for a in listed])
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: an axis is given twice in {given!r}{errors.at_user_line()}")
    return axes


def _contract(name: str, x: Value, y: Value, left: tuple[int, ...], right: tuple[int, ...]) -> Value:
    """Sums of products over axes ``left`` of ``x`` and ``right`` of ``y``, as one matrix product."""
    shape, other = x.type.shape, y.type.shape
    if [shape[i] for i in left] != [other[i] for i in right]:
        raise ValueError(
            f"{name}: axes {list(left)} of {x.type} and {list(right)} of {y.type} differ in extent"
            f"{errors.at_user_line()}"
        )
    rows = [i for i in range(len(shape)) if i not in left]
    columns = [i for i in range(len(other)) if i not in right]
    n = prod([shape[i] for i in left])
    kept = [shape[i] for i in rows], [other[i] for i in columns]
    x = reshaped(apply(TRANSPOSE, (x,), ((*rows, *left),)), (prod(kept[0]), n))
    y = reshaped(apply(TRANSPOSE, (y,), ((*right, *columns),)), (n, prod(kept[1])))
    return reshaped(apply(MATMUL, (x, y)), (*kept[0], *kept[1]))


def outer(a: object, b: object) -> Value:
    """The products of each element of ``a`` with each of ``b``; both are flattened.

    Raises:
        ValueError: for bool arrays or different float dtypes.

    Example:
        >>> import quabla as qb
        >>> qb.outer(qb.array([1.0, 2.0]), qb.array([3.0, 4.0])).tolist()
        [[3.0, 4.0], [6.0, 8.0]]
    """
    (x, y), weak = promote("outer", a, b)
    return weakly(apply(MUL, (reshaped(x, (x.type.size, 1)), reshaped(y, (1, y.type.size)))), weak)


def kron(a: object, b: object) -> Value:
    """The Kronecker product: each element of ``a`` times the whole of ``b``, as blocks.

    Raises:
        ValueError: for bool arrays or different float dtypes.

    Example:
        >>> import quabla as qb
        >>> qb.kron(qb.array([1.0, 2.0]), qb.array([1.0, 1.0])).tolist()
        [1.0, 1.0, 2.0, 2.0]
    """
    (x, y), weak = promote("kron", a, b)
    rank = max(x.type.ndim, y.type.ndim)
    p = (*(1,) * (rank - x.type.ndim), *x.type.shape)
    q = (*(1,) * (rank - y.type.ndim), *y.type.shape)
    blocks = reshaped(x, [m for n in p for m in (n, 1)])
    inside = reshaped(y, [m for n in q for m in (1, n)])
    return weakly(reshaped(apply(MUL, (blocks, inside)), [n * m for n, m in zip(p, q, strict=True)]), weak)


def cross(a: object, b: object, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Value:
    """The cross product of vectors of 2 or 3 components; the other axes broadcast.

    Args:
        a: array-like.
        b: array-like.
        axisa, axisb: the axes of the components. A third component that is missing is 0.
        axisc: the axis of the components of the result, which has none where both vectors have 2: then the result is
            the third component.
        axis: the axis of all three, in place of the others.

    Raises:
        ValueError: where the axes have another extent or do not exist, bool arrays, or different float dtypes.

    Example:
        >>> import quabla as qb
        >>> qb.cross(qb.array([1.0, 0.0, 0.0]), qb.array([0.0, 1.0, 0.0])).tolist()
        [0.0, 0.0, 1.0]
    """
    (x, y), weak = promote("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = _components(x, axisa), _components(y, axisb)
    p, q = x.type.shape[-1], y.type.shape[-1]
    if p == 2 == q:
        return weakly(_minor(x, y, 0, 1), weak)
    if p == q:
        ahead, behind = (1, 2, 0), (2, 0, 1)
        forward = apply(MUL, (_cyclic(x, ahead), _cyclic(y, behind)))
        r = apply(SUB, (forward, apply(MUL, (_cyclic(x, behind), _cyclic(y, ahead)))))
    else:
        r = stack([_minor(x, y, 1, 2), _minor(x, y, 2, 0), _minor(x, y, 0, 1)], -1)
    rank = r.type.ndim
    to = axis_index("cross", axisc, rank)
    order = list(range(rank - 1))
    order.insert(to, rank - 1)
    return weakly(apply(TRANSPOSE, (r,), (tuple(order),)), weak)


def _minor(x: Value, y: Value, i: int, j: int) -> Value:
    """``x[i] y[j] - x[j] y[i]``, without the product in which a third component is missing, whatever its other factor."""
    p, q = x.type.shape[-1], y.type.shape[-1]
    backward = apply(MUL, (_at(x, j), _at(y, i))) if j < p and i < q else None
    if i >= p or j >= q:
        return apply(NEG, (backward,))
    forward = apply(MUL, (_at(x, i), _at(y, j)))
    return forward if backward is None else apply(SUB, (forward, backward))


def _components(x: Value, axis: int) -> Value:
    """``x`` with its components along the last axis."""
    k = axis_index("cross", axis, x.type.ndim)
    if x.type.shape[k] not in (2, 3):
        raise ValueError(f"cross: needs 2 or 3 components along axis {k} of {x.type}{errors.at_user_line()}")
    return apply(TRANSPOSE, (x,), ((*[i for i in range(x.type.ndim) if i != k], k),))


def _at(x: Value, i: int) -> Value:
    """Component i."""
    return reshaped(piece(x, x.type.ndim - 1, i, 1), x.type.shape[:-1])


def _cyclic(x: Value, order: tuple[int, ...]) -> Value:
    return apply(GATHER, (x,), (x.type.ndim - 1, order))


def cholesky(x: object) -> Value:
    """``linalg.cholesky``: lower triangular factors L of symmetric positive definite matrices, ``x = L L^T``.

    Args:
        x: symmetric matrices, ``[..., n, n]``.

    Raises:
        ValueError: as ``linalg.cholesky``.

    Example:
        >>> import quabla as qb
        >>> qb.cholesky(qb.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
        [[2.0, 0.0], [1.0, 2.0]]
    """
    from quabla.functions import systems

    return systems.cholesky(x)


# ---- differences and integrals ------------------------------------------------------------------


def diff(a: object, n: int = 1, axis: int = -1, prepend: object = None, append: object = None) -> Value:
    """Differences of neighbours along an axis.

    Args:
        a: array-like; differences of bools are their inequality.
        n: how many times to difference.
        axis: the axis.
        prepend, append: values to put before and after ``a`` along the axis first; a scalar counts as one element.

    Raises:
        ValueError: for negative ``n``, rank 0, an axis that does not exist, different float dtypes or shapes that do
            not fit.

    Example:
        >>> import quabla as qb
        >>> qb.diff(qb.array([1.0, 4.0, 9.0])).tolist()
        [3.0, 5.0]
    """
    n = static_int("diff: n", n)
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}{errors.at_user_line()}")
    x = as_value(a)
    k = axis_index("diff", axis, x.type.ndim)
    parts: list[object] = [p for p in (prepend, x, append) if p is not None]
    if n and len(parts) > 1:
        x = _extended(parts, x, k)
    for _ in range(n):
        m = max(x.type.shape[k] - 1, 0)
        later, earlier = piece(x, k, 1, m), piece(x, k, 0, m)
        if not x.type.dtype.is_bool:
            x = weakly(apply(SUB, (later, earlier)), x.weak)
        else:
            x = apply(COMPARE, (later, earlier), ("not_equal",))
    return x


def _extended(parts: list[object], x: Value, axis: int) -> Value:
    values: list[Any] = [p if is_number(p) else as_value(p) for p in parts]
    if all(isinstance(v, (bool, np.bool_)) if is_number(v) else v.type.dtype.is_bool for v in values):
        values, weak = [as_value(v) for v in values], False
    else:
        values, weak = promote("diff", *values, ints=True)
    one = (*x.type.shape[:axis], 1, *x.type.shape[axis + 1 :])
    values = [v if v.type.ndim else apply(BROADCAST, (v,), (one,)) for v in values]
    return weakly(apply(CONCAT, tuple(values), (axis,)), weak)


def trapezoid(y: object, x: object = None, dx: object = 1.0, axis: int = -1) -> Value:
    """The integral of samples by the trapezoidal rule.

    Args:
        y: the samples.
        x: where they were taken: a vector, or an array that broadcasts against ``y``.
        dx: the distance between them where ``x`` is None.
        axis: the axis to integrate along.

    Raises:
        ValueError: for bool arrays, different float dtypes, an axis that does not exist, or shapes that do not fit.

    Example:
        >>> import quabla as qb
        >>> qb.trapezoid(qb.array([1.0, 2.0, 3.0])).item()
        4.0
    """
    if x is None:
        (v, d), weak = promote("trapezoid", y, dx)
        k = axis_index("trapezoid", axis, v.type.ndim)
    else:
        (v, at), weak = promote("trapezoid", y, x)
        k = axis_index("trapezoid", axis, v.type.ndim)
        if at.type.ndim == 1:
            if at.type.size != v.type.shape[k]:
                raise ValueError(
                    f"trapezoid: {v.type.shape[k]} samples along axis {k} of {v.type} at {at.type.size} places"
                    f"{errors.at_user_line()}"
                )
            d = diff(at)
            d = reshaped(d, (d.type.size, *(1,) * (v.type.ndim - 1 - k)))
        else:
            d = diff(at, axis=axis)
    m = max(v.type.shape[k] - 1, 0)
    heights = piece(v, k, 1, m) + piece(v, k, 0, m)
    areas = apply(MUL, (heights, d * 0.5))
    return weakly(apply(SUM, (areas,), ((k + areas.type.ndim - v.type.ndim,),)), weak)


# ---- interpolation and polynomials --------------------------------------------------------------


def polyval(p: object, x: object) -> Value:
    """A polynomial at ``x``, by Horner's rule.

    Args:
        p: the coefficients, a vector, the highest power first.
        x: array-like.

    Raises:
        ValueError: where ``p`` is not a vector, or for different float dtypes.

    Example:
        >>> import quabla as qb
        >>> qb.polyval(qb.array([1.0, 2.0, 3.0]), 2.0).item()
        11.0
    """
    (c, v), weak = promote("polyval", p, x)
    if c.type.ndim != 1:
        raise ValueError(f"polyval: the coefficients must be a vector, got {c.type}{errors.at_user_line()}")
    if not c.type.size:
        return full(v.type, 0.0)
    coefficients = [reshaped(piece(c, 0, i, 1), ()) for i in range(c.type.size)]
    r = coefficients[0]
    for coefficient in coefficients[1:]:
        r = r * v + coefficient
    return weakly(apply(BROADCAST, (r,), (v.type.shape,)) if r.type.shape != v.type.shape else r, weak)


def interp(x: object, xp: object, fp: object, left: object = None, right: object = None) -> Value:
    """Linear interpolation between knots.

    Args:
        x: where to interpolate; array-like.
        xp: the knots, an increasing vector.
        fp: the values at the knots.
        left, right: the values before the first and after the last knot; those at the knots by default.

    The derivative in ``x`` at a knot is the slope to its right, at the last knot the last slope, and 0 outside.

    Raises:
        ValueError: where ``xp`` and ``fp`` are not vectors of one length with an element or more, eager knots do not
            increase, or float dtypes differ.

    Example:
        >>> import quabla as qb
        >>> qb.interp(qb.array([0.5]), qb.array([0.0, 1.0]), qb.array([2.0, 4.0])).tolist()
        [3.0]
    """
    given = [e for e in (left, right) if e is not None]
    (v, knots, values, *ends), weak = promote("interp", x, xp, fp, *given)
    if knots.type.ndim != 1 or values.type is not knots.type or not knots.type.size:
        raise ValueError(
            f"interp: knots and values must be vectors of one length with an element or more, got {knots.type} and "
            f"{values.type}{errors.at_user_line()}"
        )
    if not knots.traced and not (np.diff(knots.data) > 0).all():
        raise ValueError(f"interp: the knots must increase, got {knots!r}{errors.at_user_line()}")
    n = knots.type.size
    low, high = reshaped(piece(knots, 0, 0, 1), ()), reshaped(piece(knots, 0, n - 1, 1), ())
    before = reshaped(piece(values, 0, 0, 1), ()) if left is None else ends[0]
    after = reshaped(piece(values, 0, n - 1, 1), ()) if right is None else ends[-1]
    not_before, not_after = apply(COMPARE, (v, low), ("greater_equal",)), apply(COMPARE, (v, high), ("less_equal",))
    inside = apply(WHERE, (not_before, not_after, not_before))
    # Outside, and at NaN, the line through the first knot is evaluated at that knot: its derivatives stay finite.
    within = apply(WHERE, (inside, v, low))
    line = _line_at(within, knots, values)
    is_before, is_after = apply(COMPARE, (v, low), ("less",)), apply(COMPARE, (v, high), ("greater",))
    outside = apply(WHERE, (is_after, after, scalar(math.nan, v.type.dtype)))
    r = apply(WHERE, (inside, line, apply(WHERE, (is_before, before, outside))))
    return weakly(r, weak)


def _line_at(x: Value, knots: Value, values: Value) -> Value:
    """The interpolating lines at ``x`` between the knots: each is anchored at a knot and extends to the next.

    The last knot anchors a line of its own, with the slope of the line before, so that its value is exact.
    """
    n = knots.type.size
    dtype = knots.type.dtype
    if not x.type.size:
        return x
    if n == 1:
        return apply(BROADCAST, (reshaped(values, ()),), (x.type.shape,))
    slopes = apply(DIV, (diff(values), diff(knots)))
    slopes = apply(CONCAT, (slopes, piece(slopes, 0, n - 2, 1)), (0,))
    if not x.traced and not knots.traced:
        found = np.searchsorted(knots.data, x.data.ravel(), side="right") - 1
        indices = tuple(found.tolist())

        def anchored(of_knots: Value) -> Value:
            return reshaped(apply(GATHER, (of_knots,), (0, indices)), x.type.shape)

    else:
        column = reshaped(x, (*x.type.shape, 1))
        ends = apply(CONCAT, (piece(knots, 0, 1, n - 1), full(tensor_type((1,), dtype), math.inf)), (0,))
        reached = apply(COMPARE, (column, knots), ("greater_equal",))
        chosen = apply(WHERE, (reached, apply(COMPARE, (column, ends), ("less",)), reached))
        nothing = scalar(0.0, dtype)

        def anchored(of_knots: Value) -> Value:
            return apply(SUM, (apply(WHERE, (chosen, of_knots, nothing)),), ((x.type.ndim,),))

    return anchored(values) + anchored(slopes) * (x - anchored(knots))
