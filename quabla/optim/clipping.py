"""Clipping of gradients by their global norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quabla import dtypes, tree
from quabla.functions import math, statistics
from quabla.functions.shape import ravel, stack
from quabla.ops import dispatch, elementwise
from quabla.ops.dispatch import Value, cast
from quabla.ops.shaping import concat
from quabla.optim.packing import SMALL
from quabla.optim.settings import positive
from quabla.tracing.trace import array_leaf

__all__ = ["clip_by_global_norm", "clipped"]


def clip_by_global_norm(grads: Any, max_norm: float) -> tuple[Any, Any]:
    """Scale gradients down to a norm, where theirs is greater.

    The norm is the 2-norm of all elements of all leaves, computed in float64 and scaled so that squares of huge
    elements do not overflow. Where it is infinite or NaN, every gradient becomes NaN.

    Args:
        grads: a pytree of float arrays.
        max_norm: the greatest norm to let through.

    Returns:
        The gradients, of the same structure, shapes and dtypes, and their norm before clipping: a float, or a traced
        float64 scalar inside a trace.

    Raises:
        ValueError: ``max_norm`` that is not positive and finite, or leaves that are not float arrays.

    Example:
        >>> qb.optim.clip_by_global_norm({"w": qb.array([3.0]), "b": qb.array([4.0])}, 1.0)
        ({'w': Tensor([0.6], dtype=float64), 'b': Tensor([0.8], dtype=float64)}, 5.0)
    """
    greatest = positive("clip_by_global_norm: max_norm", max_norm)
    leaves, treedef = tree.flatten(grads)
    values = [dispatch.float_operand("clip_by_global_norm", array_leaf(x)) for x in leaves]
    scaled, norm = clipped([cast(v, dtypes.float64) for v in values], greatest)
    outs = [cast(x, v.type.dtype) for x, v in zip(scaled, values, strict=True)]
    return treedef.unflatten(outs), norm if norm.traced else norm.item()


def clipped(grads: Sequence[Value], max_norm: float) -> tuple[list[Value], Value]:
    """float64 gradients with a norm of at most ``max_norm``, and the norm that they had."""
    if not grads:
        return [], dispatch.scalar(0.0, dtypes.float64)
    norm = _global_norm(grads)
    # Two factors, since max_norm / norm may underflow. Not less, so that NaN is clipped to NaN.
    within = math.less_equal(norm, max_norm)
    divisor = elementwise.where(within, 1.0, norm)
    factor = elementwise.where(within, 1.0, elementwise.where(math.isfinite(norm), max_norm, float("nan")))
    return [g / divisor * factor for g in grads], norm


def _global_norm(grads: Sequence[Value]) -> Value:
    """The 2-norm of all elements. Small arrays are joined, since an op on each costs more than the copy."""
    small = [ravel(g) for g in grads if g.type.size <= SMALL]
    parts = [statistics.norm(g) for g in grads if g.type.size > SMALL]
    if small:
        parts.append(statistics.norm(small[0] if len(small) == 1 else concat(small, 0)))
    return parts[0] if len(parts) == 1 else statistics.norm(stack(parts))
