"""Running products, and running results of any associative operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla.ops.arguments import axis_index
from quabla.ops.dispatch import Value, apply, float_operand
from quabla.ops.elementwise import ADD, MUL
from quabla.ops.indexing import check_axis, piece
from quabla.ops.records import INTS
from quabla.ops.registry import Attribute, Kernel, Op, Sample, define
from quabla.ops.shaping import CONCAT, RESHAPE, apply_weakly, reshaped
from quabla.ops.types import Params, TensorType

__all__ = ["CUMPROD", "cumprod", "scanned"]

#: What combines a tuple of values with a later one.
Combine = Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]]


def _infer(types: Sequence[TensorType], params: Params) -> TensorType:
    (t,) = types
    if t.dtype.is_bool:
        raise ValueError(f"needs a float or int array, got {t}")
    check_axis(t, params[0])
    return t


def _kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    (axis,) = params
    own = types[0].dtype
    dtype = np.dtype(np.float64) if own.is_float else own.numpy
    return lambda x: np.multiply.accumulate(x, axis, dtype)


def scanned(xs: Sequence[Value], combine: Combine, axis: int) -> list[Value]:
    """The running results of an associative operation on tuples of values, along an axis of arrays of equal extent.

    Pairs of neighbours are combined, half as many elements scanned, and the elements between filled in: as many
    applications as a loop has, in twice the logarithm of steps.
    """
    n = xs[0].type.shape[axis]
    if n < 2:
        return list(xs)

    def part(values: Sequence[Value], start: int, length: int, step: int = 1) -> list[Value]:
        return [piece(x, axis, start, length, step) for x in values]

    half = n // 2
    odd = scanned(combine(part(xs, 0, half, 2), part(xs, 1, half, 2)), combine, axis)
    rest = (n - 1) // 2
    even = part(xs, 0, 1)
    if rest:
        later = combine(part(odd, 0, rest), part(xs, 2, rest, 2))
        even = [apply(CONCAT, pair, (axis,)) for pair in zip(even, later, strict=True)]
    return [_interleaved(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _interleaved(even: Value, odd: Value, axis: int) -> Value:
    """The elements of two arrays in turn; the first has as many, or one more."""
    shape, n = even.type.shape, even.type.shape[axis] + odd.type.shape[axis]
    if odd.type.shape != shape:
        odd = apply(CONCAT, (odd, piece(even, axis, 0, 1)), (axis,))
    column = (*shape[: axis + 1], 1, *shape[axis + 1 :])
    pairs = apply(CONCAT, tuple([apply(RESHAPE, (x,), (column,)) for x in (even, odd)]), (axis + 1,))
    both = apply(RESHAPE, (pairs,), ((*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]),))
    return piece(both, axis, 0, n)


def _jvp(operands: Sequence[Value], tangents: Sequence[Value | None], result: Value, params: Params) -> Value | None:
    """The product rule along the tree of products, so that no zero is divided by."""
    (x,), (t,), (axis,) = operands, tangents, params
    return None if t is None else scanned((x, t), _product_rule, axis)[1]


def _product_rule(first: Sequence[Value], then: Sequence[Value]) -> list[Value]:
    (x, dx), (y, dy) = first, then
    return [apply(MUL, (x, y)), apply(ADD, (apply(MUL, (dx, y)), apply(MUL, (dy, x))))]


def _stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    t, (axis,) = node.type, node.params
    n = t.shape[axis]
    if n <= 1:
        return xs[0]
    window, low = [1] * t.ndim, [0] * t.ndim
    window[axis], low[axis] = n, n - 1
    return lo.reduce_window("multiply", xs[0], t, tuple(window), tuple(low), (0,) * t.ndim, t)


CUMPROD: Final = define(
    Op(
        "cumprod",
        "Running products along an axis; the derivative is exact where elements are 0.",
        ("x",),
        attributes=(Attribute("axis", "int"),),
        infer=_infer,
        kernel=_kernel,
        ints=True,
        may_alias=False,
        jvp=_jvp,
        batch=lambda xs, mapped, params: apply(CUMPROD, (xs[0],), (params[0] + 1,)),
        stablehlo=_stablehlo,
        fold=lambda operands, params: operands[0] if operands[0].type.shape[params[0]] <= 1 else None,
        samples=(
            Sample(((5,),), (0,)),
            Sample(((2, 3),), (1,)),
            Sample(((3, 2),), (0,)),
            *(Sample(((2, 3),), (1,), -9, 9, dtypes=(d,)) for d in INTS),
        ),
        source="G. E. Blelloch, Prefix sums and their applications, CMU-CS-90-190 (1990)",
    )
)


def cumprod(x: object, axis: object = None) -> Value:
    """Running products along an axis. Derivatives are exact where elements are 0.

    Args:
        x: array-like; ints keep their dtype and wrap around.
        axis: the axis; None flattens first.

    Raises:
        ValueError: for bool arrays and axes that do not exist.

    Example:
        >>> import quabla as qb
        >>> qb.cumprod(qb.array([1.0, 2.0, 3.0]))
        Tensor([1., 2., 6.], dtype=float64)
    """
    v = float_operand("cumprod", x, ints=True)
    if axis is None:
        v = reshaped(v, (v.type.size,))
        axis = 0
    return apply_weakly(CUMPROD, v, (axis_index("cumprod", axis, v.type.ndim),))
