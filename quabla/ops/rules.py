"""Helpers that records' rules share. They name ops through the registry, since every family imports them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quabla.ops.dispatch import Value, apply, constant, full
from quabla.ops.registry import REGISTRY
from quabla.ops.types import Const, Shape, TensorType

__all__ = [
    "add_selected",
    "align",
    "as_factor",
    "linearly",
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
        ct = apply(REGISTRY["sum"], (ct,), (tuple(axes),))
    return ct if ct.type.shape == shape else apply(REGISTRY["reshape"], (ct,), (shape,))


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


def _selection(x: Value) -> tuple[Value, Value, int] | None:
    """The mask, what it selects and the operand that is: of a value that is 0 elsewhere by a ``where`` or as given."""
    if not x.traced:
        return None
    if x.op.name == "constant" and x.splat is None:
        nonzero = x.params[0].array != 0
        return None if nonzero.all() else (constant(Const(nonzero)), x, 1)
    if x.op.name == "where":
        mask, on_true, on_false = x.operands
        if on_false.splat == 0.0:
            return mask, on_true, 1
        if on_true.splat == 0.0:
            return mask, on_false, 2
    return None


def linearly(f: Callable[[Value], Value], x: Value, mask_too: Callable[[Value], Value] | None = None) -> Value:
    """``f(x)`` for an ``f`` that is linear and acts on each element: inside the selection where ``x`` is selected from.

    So a derivative that is infinite or NaN where nothing was selected never meets the zero that comes back from there,
    and reverse mode agrees with forward mode, where the selection is the last step.

    Args:
        mask_too: what ``f`` does to the shape of a mask, where it changes shapes.
    """
    found = _selection(x)
    if found is None:
        return f(x)
    mask, chosen, which = found
    if chosen is x:
        r = f(x)
        mask = mask if mask_too is None else mask_too(mask)
        return apply(REGISTRY["where"], (mask, r, zeros(r.type)))
    if mask_too is not None:  # as large as f takes it
        mask, chosen = (apply(REGISTRY["broadcast"], (v,), (x.type.shape,)) for v in (mask, chosen))
        mask = mask_too(mask)
    r = linearly(f, chosen, mask_too)
    nothing = zeros(r.type if mask_too is not None or r.type.ndim > x.type.ndim else x.type)
    return apply(REGISTRY["where"], (mask, r, nothing) if which == 1 else (mask, nothing, r))


def add_selected(x: Value, y: Value) -> Value:
    """``x + y``, as one selection where both are selected by one mask and 0 elsewhere."""
    a, b = _selection(x), _selection(y)
    if a is None or b is None or a[0] is not b[0] or a[2] != b[2] or x.type is not y.type:
        return x + y
    r, nothing = a[1] + b[1], zeros(x.type)
    return apply(REGISTRY["where"], (a[0], r, nothing) if a[2] == 1 else (a[0], nothing, r))


def as_factor(ct: Value, factor: Any) -> Value | None:
    """``ct`` times a partial derivative, which is a value or the number 0, 1 or -1."""
    if factor is None:
        return None
    if isinstance(factor, (int, float)):
        if factor == 0:
            return None
        if factor == 1:
            return ct
        return linearly(lambda c: -c if factor == -1 else c * factor, ct)
    return linearly(lambda c: c * factor, ct)
