"""Running products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from quabla.ops.arguments import axis_index
from quabla.ops.dispatch import Value, apply, float_operand
from quabla.ops.elementwise import ADD, MUL
from quabla.ops.indexing import check_axis, piece
from quabla.ops.records import INTS
from quabla.ops.registry import Attribute, Kernel, Op, Sample, define
from quabla.ops.shaping import CONCAT, apply_weakly, reshaped
from quabla.ops.types import Params, TensorType

__all__ = ["CUMPROD", "cumprod"]


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


def _jvp(operands: Sequence[Value], tangents: Sequence[Value | None], result: Value, params: Params) -> Value | None:
    """The product rule along products of 2, 4, 8, ... neighbours, so that no zero is divided by."""
    (x,), (t,), (axis,) = operands, tangents, params
    if t is None:
        return None
    n, span = x.type.shape[axis], 1
    while span < n:
        x_before, x_now = piece(x, axis, 0, n - span), piece(x, axis, span, n - span)
        t_before, t_now = piece(t, axis, 0, n - span), piece(t, axis, span, n - span)
        moved = apply(ADD, (apply(MUL, (t_now, x_before)), apply(MUL, (t_before, x_now))))
        t = apply(CONCAT, (piece(t, axis, 0, span), moved), (axis,))
        x = apply(CONCAT, (piece(x, axis, 0, span), apply(MUL, (x_now, x_before))), (axis,))
        span *= 2
    return t


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
        source="W. D. Hillis and G. L. Steele, Data parallel algorithms, CACM 29 (1986)",
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
