"""Helpers that records' rules share. They name ops through the registry, since every family imports them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from quabla.ops.dispatch import Value, apply, full
from quabla.ops.masking import moved, selected, sum_of_selected, within_selection
from quabla.ops.registry import REGISTRY
from quabla.ops.types import Shape, TensorType

__all__ = [
    "Masked",
    "Reciprocal",
    "align",
    "as_factor",
    "mapped_size",
    "move_mapped_first",
    "ones",
    "unbroadcast",
    "with_mapped_axis",
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
        ct = sum_of_selected(ct, tuple(axes))
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


class Masked(NamedTuple):
    """A partial derivative that is 0 where a mask does not hold, whatever it multiplies."""

    mask: Value
    factor: Value


class Reciprocal(NamedTuple):
    """A partial derivative of 1 over a value: what it multiplies is divided, rounded once and without overflow."""

    divisor: Value


def as_factor(ct: Value, factor: Any) -> Value | None:
    """``ct`` times a partial derivative: a value, the number 0, 1 or -1, ``Masked`` or ``Reciprocal``."""
    if factor is None or (ct.traced and ct.splat == 0.0):  # nothing times an infinite slope is nothing
        return None
    if isinstance(factor, (int, float)):
        if factor == 0:
            return None
        if factor == 1:
            return ct
        if factor == -1:
            return within_selection(ct, lambda x: -x)
    if isinstance(factor, Reciprocal):
        return within_selection(ct, lambda x: x / factor.divisor)
    if isinstance(factor, Masked):
        scaled = within_selection(ct, lambda x: x * factor.factor)
        return selected(factor.mask, scaled, scaled.type)
    return within_selection(ct, lambda x: x * factor)
