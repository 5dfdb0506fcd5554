"""Helpers that records' rules share. They name ops through the registry, since every family imports them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from quabla.dtypes import bool_
from quabla.ops.dispatch import Value, apply, full, hooks
from quabla.ops.registry import REGISTRY
from quabla.ops.types import Shape, TensorType, tensor_type

__all__ = [
    "align",
    "as_factor",
    "mapped_size",
    "move_mapped_first",
    "moved",
    "ones",
    "sum_of",
    "unbroadcast",
    "with_mapped_axis",
    "within_selection",
    "zeros",
]


def zeros(type: TensorType) -> Value:
    """A constant of zeros (False for bool)."""
    return full(type, 0.0)


def ones(type: TensorType) -> Value:
    """A constant of ones."""
    return full(type, 1.0)


def unbroadcast(ct: Value, shape: Shape) -> Value:
    """Sum a cotangent over the axes along which a value of ``shape`` was broadcast."""
    have = ct.type.shape
    if have == shape:
        return ct
    lead = len(have) - len(shape)
    axes = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and have[i + lead] != 1))
    if axes:
        ct = _sum_of_selected(ct, tuple(axes))
    return ct if ct.type.shape == shape else moved(ct, lambda x: apply(REGISTRY["reshape"], (x,), (shape,)))


def align(operands: Sequence[Value], mapped: Sequence[bool]) -> list[Value]:
    """Operands of a mapped elementwise op: mapped axis first, ranks filled up so that NumPy broadcasting does the rest."""
    rank = max(x.type.ndim - m for x, m in zip(operands, mapped, strict=True))
    out = []
    for x, m in zip(operands, mapped, strict=True):
        shape = x.type.shape
        fill = rank - (len(shape) - 1)
        if m and fill:
            x = apply(REGISTRY["reshape"], (x,), ((shape[0], *(1,) * fill, *shape[1:]),))
        out.append(x)
    return out


def mapped_size(operands: Sequence[Value], mapped: Sequence[bool]) -> int:
    """The extent of the mapped axis."""
    return next(x.type.shape[0] for x, m in zip(operands, mapped, strict=True) if m)


def with_mapped_axis(x: Value, mapped: bool, size: int) -> Value:
    """``x`` with the mapped axis first, broadcast where it has none."""
    if mapped:
        return x
    return apply(REGISTRY["broadcast"], (x,), ((size, *x.type.shape),))


def move_mapped_first(x: Value, axis: int) -> Value:
    """``x`` with ``axis`` moved to the front."""
    if axis == 0:
        return x
    return apply(REGISTRY["transpose"], (x,), ((axis, *(i for i in range(x.type.ndim) if i != axis)),))


def as_factor(ct: Value, factor: Any) -> Value | None:
    """``ct`` times a partial derivative, which is a value or the number 0, 1 or -1."""
    if factor is None:
        return None
    if isinstance(factor, (int, float)):
        if factor == 0:
            return None
        if factor == 1:
            return ct
        if factor == -1:
            return within_selection(ct, lambda x: -x)
    return within_selection(ct, lambda x: x * factor)


# ---- selections --------------------------------------------------------------------------------
#
# A tangent or cotangent that a selection has set to 0 has to stay 0, whatever it is multiplied by: the branch that is
# not selected has no part in a derivative, where its own slope is infinite or NaN too. So what is linear and elementwise
# goes into the selections around a value, and they stay outside. Selections in selections are followed two deep: the
# user's, and one that the partial derivative of an op has for its singular points.

SELECTIONS: Final = 2


def within_selection(x: Value, f: Callable[[Value], Value], depth: int = SELECTIONS) -> Value:
    """``f(x)`` for an ``f`` that is linear and elementwise; 0 wherever a selection has made ``x`` 0."""
    kept = selected_operand(x) if depth else None
    if kept is not None:
        operands = list(x.operands)
        operands[kept] = within_selection(operands[kept], f, depth - 1)
        return apply(REGISTRY["where"], tuple(operands))
    if depth and x.traced and x.splat is None and x.op.name == "constant":  # perhaps a selection by a constant, folded
        there = x.params[0].array != 0
        if not there.all():
            mask = hooks.eager.wrap(there, tensor_type(there.shape, bool_))
            return apply(REGISTRY["where"], (mask, f(x), zeros(x.type)))
    return f(x)


def selected_operand(x: Value) -> int | None:
    """Where ``x`` is a selection between a value and 0, the operand that is the value; None for anything else."""
    if not x.traced or x.op.name != "where":
        return None
    _, on_true, on_false = x.operands
    return 1 if on_false.splat == 0.0 else 2 if on_true.splat == 0.0 else None


def moved(x: Value, f: Callable[[Value], Value]) -> Value:
    """``f(x)`` for an ``f`` that moves elements, leaves some out or puts zeros beside them; a selection stays outside."""
    if selected_operand(x) is None:
        return f(x)
    return apply(REGISTRY["where"], tuple([f(_of_shape(v, x.type.shape)) for v in x.operands]))


def _sum_of_selected(x: Value, axes: tuple[int, ...]) -> Value:
    """The sum over axes; of a selection, 0 where none of the summands is selected."""
    kept = selected_operand(x)
    total = apply(REGISTRY["sum"], (x,), (axes,))
    if kept is None or not x.type.size:
        return total
    some = apply(REGISTRY["max" if kept == 1 else "min"], (_of_shape(x.operands[0], x.type.shape),), (axes,))
    operands = [some, zeros(total.type), zeros(total.type)]
    operands[kept] = total
    return apply(REGISTRY["where"], tuple(operands))


def _of_shape(x: Value, shape: Shape) -> Value:
    return x if x.type.shape == shape else apply(REGISTRY["broadcast"], (x,), (shape,))


def sum_of(a: Value, b: Value) -> Value:
    """``a + b``; of two selections by one mask, the selection of the sum."""
    kept = selected_operand(a)
    if kept is None or kept != selected_operand(b) or a.operands[0] is not b.operands[0] or a.type is not b.type:
        return a + b
    operands = list(a.operands)
    operands[kept] = sum_of(operands[kept], b.operands[kept])
    return apply(REGISTRY["where"], tuple(operands))
