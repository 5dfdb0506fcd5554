"""Cheaper kernels for numbers: rank-0 values in the NumPy plan.

A NumPy scalar's own operators give the same bits as a ufunc at a quarter of its cost, and code that takes a vector apart,
computes with its elements and stacks the results, as the right-hand sides of differential equations do, is made of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla.ops.indexing import SLICE
from quabla.ops.shaping import CONCAT, RESHAPE
from quabla.tracing.graph import Body, RegionNode, TraceTensor

__all__ = ["fused", "number_kernel"]


def _choose(mask: Any, on_true: Any, on_false: Any) -> Any:
    return on_true if mask else on_false


#: What gives the same for NumPy scalars as a kernel does for arrays of rank 0.
_FOR_NUMBERS: Final[dict[Any, Callable[..., Any]]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.negative: operator.neg,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.where: _choose,
}


def number_kernel(kernel: Callable[..., Any], n: TraceTensor) -> Callable[..., Any]:
    """What computes a node cheapest: ``kernel``, or the same for numbers where all of its operands are."""
    if n.type.shape or any(k.type.shape for k in n.operands):
        return kernel
    return _FOR_NUMBERS.get(kernel, kernel)


Fusion = tuple[Callable[..., Any], Sequence[TraceTensor]]


def fused(body: Body) -> tuple[dict[TraceTensor, Fusion], set[TraceTensor]]:
    """Reshapes that one kernel computes together with what they are of.

    Returns:
        For a node the kernel that computes it and that kernel's operands: a row of an array, or a vector of numbers; and
        the nodes that are not computed on their own.
    """
    uses: dict[TraceTensor, int] = dict.fromkeys(body.outs, 2)
    for n in body.nodes:
        for k in n.operands:
            uses[k] = uses.get(k, 0) + 1
    found: dict[TraceTensor, Fusion] = {}
    inside: set[TraceTensor] = set()
    for n in body.nodes:
        if isinstance(n, RegionNode):
            continue
        if n.op is RESHAPE:
            (x,) = n.operands
            if x.op is SLICE and uses[x] == 1 and _drops_axis(x, n):
                axis, start, _, _ = x.params
                found[n] = operator.itemgetter((*(slice(None),) * axis, start) if axis else start), x.operands
                inside.add(x)
        elif n.op is CONCAT and all(_is_number(k) and uses[k] == 1 for k in n.operands):
            found[n] = _vector(n.type.dtype.numpy), [k.operands[0] for k in n.operands]
            inside.update(n.operands)
    return found, inside


def _drops_axis(x: TraceTensor, n: TraceTensor) -> bool:
    """Whether ``n`` is the only row of the slice ``x``."""
    axis, _, length, _ = x.params
    shape = x.type.shape
    return length == 1 and n.type.shape == (*shape[:axis], *shape[axis + 1 :])


def _is_number(x: TraceTensor) -> bool:
    """Whether ``x`` is a number reshaped to a vector."""
    return x.op is RESHAPE and x.type.shape == (1,) and x.operands[0].type.shape == ()


def _vector(dtype: Any) -> Callable[..., Any]:
    return lambda *numbers: np.array(numbers, dtype)
