"""Selections in derivatives: what a mask has set to 0 stays 0, whatever it is multiplied by.

The branch that a ``where`` does not select has no part in a derivative, where its own slope is infinite or NaN too. So
a tangent or cotangent that a mask has set to 0 is kept as one selection between a value and 0: what is linear and
elementwise goes into it, a second mask joins the first, and a sum is a selection by either mask. Masks combine by
logic, which leaves out what one of them implies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from quabla.dtypes import bool_
from quabla.ops.dispatch import Value, apply, cast, full
from quabla.ops.eager import wrap
from quabla.ops.registry import REGISTRY
from quabla.ops.types import Shape, TensorType, tensor_type

__all__ = ["added", "chosen", "moved", "negated", "selected", "sum_of", "sum_of_selected", "within_selection"]

#: How deep to look into a mask for one that it is made of.
_DEPTH: Final = 8


# ---- logic of masks -----------------------------------------------------------------------------


def _where(mask: Value, x: Value, y: Value) -> Value:
    return apply(REGISTRY["where"], (mask, x, y))


def _is_where(x: Value) -> bool:
    return x.traced and x.op.name == "where"


def _constant(like: Value, value: bool) -> Value:
    return full(like.type, value)


def negated(mask: Value) -> Value:
    """Where a mask does not hold."""
    return _where(mask, _constant(mask, False), _constant(mask, True))


def _both(a: Value, b: Value) -> Value:
    if _implies(a, b):
        return a
    if _implies(b, a):
        return b
    p, q = _negation_of(a), _negation_of(b)
    if p is b or q is a:
        return _constant(a, False)
    if p is None:
        return _where(a, b, a)
    return _where(b, a, b) if q is None else negated(_either(p, q))


def _either(a: Value, b: Value) -> Value:
    if _implies(a, b):
        return b
    if _implies(b, a):
        return a
    p, q = _negation_of(a), _negation_of(b)
    if p is b or q is a:
        return _constant(a, True)
    if p is None:
        return _where(a, a, b)
    return _where(b, b, a) if q is None else negated(_both(p, q))


def _negation_of(mask: Value) -> Value | None:
    """The mask that this one is the negation of."""
    if _is_where(mask) and mask.operands[1].splat is False and mask.operands[2].splat is True:
        return mask.operands[0]
    return None


def _implies(a: Value, b: Value, depth: int = _DEPTH) -> bool:
    """Whether ``b`` is known to hold where ``a`` does, by how they were made."""
    if a is b:
        return True
    if not depth:
        return False
    p, q = _negation_of(a), _negation_of(b)
    if p is not None and q is not None:
        return _implies(q, p, depth - 1)
    if _is_where(b) and b.operands[0] is b.operands[1]:  # either
        return any(_implies(a, part, depth - 1) for part in b.operands[1:])
    if _is_where(a) and a.operands[0] is a.operands[2]:  # both
        return any(_implies(part, b, depth - 1) for part in a.operands[:2])
    return False


# ---- selections ---------------------------------------------------------------------------------


def selection_of(x: Value) -> tuple[Value, Value] | None:
    """The mask and the value where ``x`` is a selection between a value and 0; None for anything else."""
    if _is_where(x):
        mask, on_true, on_false = x.operands
        return (mask, on_true) if on_false.splat == 0.0 else (negated(mask), on_false) if on_true.splat == 0.0 else None
    if x.traced and x.op.name == "constant" and x.splat is None:  # perhaps a selection by a constant, folded
        there = x.params[0].array != 0
        if not there.all():
            return wrap(there, tensor_type(there.shape, bool_)), x
    return None


def selected(mask: Value, x: Value, type: TensorType) -> Value:
    """``x`` where the mask holds, else 0, as a value of ``type``; the mask joins that of a selection."""
    found = selection_of(x)
    if found is not None:
        mask, x = _both(mask, found[0]), found[1]
    return _where(mask, x, full(type, 0.0))


def chosen(mask: Value, x: Value, y: Value) -> Value:
    """``where``, as one selection if ``x`` or ``y`` is one."""
    r = _where(mask, x, y)
    of_x, of_y = selection_of(x), selection_of(y)
    if of_x is None and of_y is None:
        return r
    there = [_constant(mask, True) if found is None else found[0] for found in (of_x, of_y)]
    return _where(_where(mask, *there), r, full(r.type, 0.0))


def within_selection(x: Value, f: Callable[[Value], Value]) -> Value:
    """``f(x)`` for an ``f`` that is linear and elementwise; 0 wherever a selection has made ``x`` 0."""
    found = selection_of(x)
    if found is None:
        return f(x)
    mask, value = found
    r = f(value)
    return _where(mask, r, full(x.type.with_dtype(r.type.dtype), 0.0))


def moved(x: Value, f: Callable[[Value], Value]) -> Value:
    """``f(x)`` for an ``f`` that moves elements, leaves some out or puts zeros beside them; a selection stays outside."""
    found = selection_of(x)
    if found is None:
        return f(x)
    mask, value = [f(_of_shape(v, x.type.shape)) for v in found]
    return _where(mask, value, full(value.type, 0.0))


def added(x: Value, f: Callable[[Value], Value]) -> Value:
    """``f(x)`` for an ``f`` that adds elements up; of a selection, 0 where it adds up nothing that is selected."""
    found = selection_of(x)
    if found is None:
        return f(x)
    r, count = f(x), f(cast(_of_shape(found[0], x.type.shape), x.type.dtype))
    none = full(r.type, 0.0)
    return _where(apply(REGISTRY["compare"], (count, none), ("not_equal",)), r, none)


def sum_of_selected(x: Value, axes: tuple[int, ...]) -> Value:
    """The sum over axes; of a selection, 0 where none of the summands is selected."""
    found = selection_of(x)
    total = apply(REGISTRY["sum"], (x,), (axes,))
    if found is None or not x.type.size:
        return total
    some = apply(REGISTRY["max"], (_of_shape(found[0], x.type.shape),), (axes,))
    return _where(some, total, full(total.type, 0.0))


def sum_of(a: Value, b: Value) -> Value:
    """``a + b``; of two selections, one by either mask."""
    of_a, of_b = selection_of(a), selection_of(b)
    if of_a is None or of_b is None or a.type is not b.type:
        return a + b
    if of_a[0] is of_b[0]:
        return _where(of_a[0], sum_of(of_a[1], of_b[1]), full(a.type, 0.0))
    return _where(_either(of_a[0], of_b[0]), a + b, full(a.type, 0.0))


def _of_shape(x: Value, shape: Shape) -> Value:
    return x if x.type.shape == shape else apply(REGISTRY["broadcast"], (x,), (shape,))
