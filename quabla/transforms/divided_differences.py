"""Divided differences of a scalar function at points in ascending order, some of which may be close or equal.

f[x0, ..., xk] is the quotient (f[x1, ..., xk] - f[x0, ..., xk-1]) / (xk - x0), which loses digits where the points are
close, and the mean of the k-th derivative over the simplex of the points (Genocchi and Hermite), which a rule of few
nodes gives to rounding where they are close and f is smooth. Both come with an estimate of their error. The mean is
taken where its error is the less and the quotient does not contradict it: so the result is never worse than the
quotient's rounding, and equal points give derivatives.

Source: C. de Boor, Divided differences (2005), sections 3 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, Final

import numpy as np

from quabla.functions.items import take
from quabla.ops.dispatch import Value, constant
from quabla.ops.elementwise import abs as absolute
from quabla.ops.linalg import matmul
from quabla.ops.rules import ones, zeros
from quabla.ops.selection import compare, where
from quabla.ops.types import Const
from quabla.tracing.graph import Graph, current_graph
from quabla.transforms import forward

__all__ = ["Scalar", "differences", "slope", "tables"]

#: An elementwise function of an array of any shape, which further values are parameters of.
Scalar = Callable[[Value, Sequence[Value]], Value]

#: Nodes of a rule along each axis of the simplex, by its dimension; one of a node less estimates the error.
_NODES: Final = {1: 8, 2: 6}


def slope(f: Scalar) -> Scalar:
    """The derivative of an elementwise function."""

    def derivative(x: Value, parameters: Sequence[Value]) -> Value:
        graph = Graph([v.type for v in (x, *parameters)])
        with graph:
            graph.finish([f(graph.args[0], graph.args[1:])])
        body = graph.body()
        values = map(current_graph().lift, (x, *parameters, *graph.captures))
        dot = {body.args[0]: ones(x.type)}
        _, (tangent,) = forward.jvp(body, dict(zip(body.args, values, strict=True)), dot)
        return zeros(x.type) if tangent is None else tangent

    return derivative


@lru_cache(64)
def tables(n: int, order: int) -> tuple[Any, Any, Any, Any]:
    """The multisets of ``order + 1`` of n points, and where to find them.

    Returns:
        The points of each, ascending, ``[count, order + 1]``; the places among the multisets of one point less of each
        without its last point, and without its first; the multiset of each tuple of points, ``[n ** (order + 1)]``.
    """
    sets = list(combinations_with_replacement(range(n), order + 1))
    place = {s: i for i, s in enumerate(sets)}
    fewer = {s: i for i, s in enumerate(combinations_with_replacement(range(n), order))}
    every = np.sort(np.indices((n,) * (order + 1)).reshape(order + 1, -1), 0).T
    return (
        np.array(sets).reshape(-1, order + 1),
        np.array([fewer.get(s[:-1], 0) for s in sets]),
        np.array([fewer.get(s[1:], 0) for s in sets]),
        np.array([place[tuple(s)] for s in every.tolist()]),
    )


@lru_cache(16)
def _simplex(dimension: int, nodes: int) -> tuple[Any, Any]:
    """A rule on a simplex: the barycentric coordinates of its nodes without the first one, and its weights.

    It is exact up to the degree 2 nodes - 1. Source: A. H. Stroud, Approximate Calculation of Multiple Integrals
    (1971), 2.5.
    """
    from scipy.special import roots_sh_jacobi

    rest, weights = np.ones(1), np.ones(1)
    coordinates = np.zeros((0, 1))
    for i in range(dimension):
        shrinking = dimension - 1 - i  # the number of axes that follow
        x, w = roots_sh_jacobi(nodes, shrinking + 1, 1)
        coordinates = np.concatenate([np.repeat(coordinates, nodes, 1), np.outer(rest, x).reshape(1, -1)])
        rest = np.outer(rest, 1.0 - x).ravel()
        weights = np.outer(weights, w).ravel()
    return coordinates, weights


def _constant(array: Any, like: Value) -> Value:
    return constant(Const(array.astype(like.type.dtype.numpy)))


def differences(f: Scalar, x: Value, parameters: Sequence[Value], order: int) -> Value:
    """The divided differences at all multisets of ``order + 1`` points, in the order of ``tables``.

    Args:
        f: the function; its derivatives are those that it has by the rules of its ops.
        x: the points, ascending along the last axis.
        parameters: those of ``f``.
        order: how many points there are beside the first.
    """
    eps = 2.0 * float(np.finfo(x.type.dtype.numpy).eps)
    found = f(x, parameters)
    derivative = slope(f)
    error = eps * (absolute(found) + absolute(x * derivative(x, parameters))) if order else None
    for k in range(1, order + 1):
        points, low, high, _ = tables(x.type.shape[-1], k)
        first = take(x, points[:, 0], -1)
        gap = take(x, points[:, -1], -1) - first
        equal = compare(gap, 0.0, "equal")
        apart = where(equal, 1.0, gap)
        quotient = (take(found, high, -1) - take(found, low, -1)) / apart
        doubt = (take(error, high, -1) + take(error, low, -1)) / apart + eps * absolute(quotient)
        mean, own = _mean(derivative, x, points, parameters, eps)
        agree = absolute(mean - quotient) <= 2.0 * (doubt + own)
        smooth = where(equal, True, where(own <= doubt, agree, False))
        found = where(smooth, mean, quotient)
        error = where(smooth, own, doubt)
        derivative = slope(derivative)
    return found


def _mean(derivative: Scalar, x: Value, points: Any, parameters: Sequence[Value], eps: float) -> tuple[Value, Value]:
    """The integral of a function over the simplex of each multiset of points, and an estimate of its error."""
    count, dimension = points.shape[0], points.shape[1] - 1
    nodes = _NODES.get(dimension, 4)
    (fine, weights), (coarse, others) = _simplex(dimension, nodes), _simplex(dimension, nodes - 1)
    first = take(x, points[:, 0], -1)
    at = first[..., None]
    for i, c in enumerate(np.concatenate([fine, coarse], 1)):
        away = take(x, points[:, i + 1], -1) - first
        at = at + away[..., None] * _constant(c, x)
    *stack, _, width = at.type.shape
    values = derivative(at.reshape((*stack, count * width)), parameters).reshape((*stack, count, width))
    here, there = values[..., : weights.size], values[..., weights.size :]
    scale = _constant(weights, x)
    mean = matmul(here, scale)
    return mean, absolute(mean - matmul(there, _constant(others, x))) + eps * matmul(absolute(here), scale)
