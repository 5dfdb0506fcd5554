"""Symptoms that users of array and autodiff libraries report, each as a function, a point and the truth, on every engine.

The truths are mathematics: limits, one-sided derivatives, the rules of IEEE 754 and the conventions of
docs/conventions.md. ``slope(f, k)`` is the gradient of the sum, k times.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import quabla as qb
from quabla import float32, int32, int64

INF, NAN = math.inf, math.nan
LN2, ROOT = math.log(2.0), math.sqrt(0.5)


def f64(*xs):
    return qb.array(xs[0] if isinstance(xs[0], list) else list(xs))


def f32(*xs):
    return qb.array(list(xs), dtype=float32)


def single(*xs):
    """Exact results rounded once."""
    return np.array(xs, np.float64).astype(np.float32)


def slope(f, order=1):
    return qb.grad(lambda v: qb.sum(slope(f, order - 1)(v))) if order else f


def where(f, g=lambda x: 0.0, mask=lambda x: x > 0.0):
    return lambda x: qb.where(mask(x), f(x), g(x))


def differs_from_zero(x):
    return qb.not_equal(x, 0.0)


ROWS = qb.array([[True], [False]])
PAIR = f64([[0.0, 0.0], [-INF, -INF]])
GROUPS = {}

GROUPS["masks"] = {
    "log at 0": (slope(where(qb.log)), (f64(0.0, 2.0),), [0.0, 0.5]),
    "third of log at 0": (slope(where(qb.log), 3), (f64(0.0, 2.0),), [0.0, 0.25]),
    "reciprocal, twice": (slope(where(lambda x: 1.0 / x, mask=differs_from_zero), 2), (f64(0.0, 2.0),), [0.0, 0.25]),
    "entropy": (slope(where(lambda x: -x * qb.log(x))), (f64(0.0, 1.0, 0.5),), [0.0, -1.0, LN2 - 1.0]),
    "x log x, twice": (slope(where(lambda x: x * qb.log(x)), 2), (f64(0.0, 2.0),), [0.0, 0.5]),
    "both branches have holes": (slope(where(qb.log, lambda x: qb.sqrt(-x))), (f64(2.0, -4.0),), [0.5, -0.25]),
    "double where, third": (
        slope(where(lambda x: qb.log(qb.where(x > 0.0, x, 1.0))), 3), (f64(0.0, 2.0),), [0.0, 0.25],
    ),
    "overflow of exp": (slope(where(qb.exp, mask=lambda x: x < 100.0)), (f64(1000.0, 0.0),), [0.0, 1.0]),
    "overflow in a product": (
        slope(where(lambda x: qb.exp(x) * x, lambda x: x, lambda x: x < 100.0)), (f64(1000.0, 0.0),), [1.0, 1.0],
    ),
    "NaN among the data": (slope(lambda x: qb.where(qb.isnan(x), 0.0, x * x * x), 3), (f64(NAN, 3.0),), [0.0, 6.0]),
    "variance of what is finite": (
        slope(lambda x: qb.var(qb.where(qb.isfinite(x), x, 0.0))), (f64(0.0, 2.0, NAN),), [-4 / 9, 8 / 9, 0.0],
    ),
    "mean of what is positive": (
        slope(lambda x: qb.sum(where(qb.log)(x)) / qb.sum(qb.where(x > 0.0, 1.0, 0.0))), (f64(0.0, 2.0, 1.0),),
        [0.0, 0.25, 0.5],
    ),
    "rows that are not zero": (
        slope(lambda x: qb.where(qb.sum(x * x, 1) > 0.0, qb.sqrt(qb.sum(x * x, 1)), 0.0)), (f64([[0.0, 0.0], [3.0, 4.0]]),),
        [[0.0, 0.0], [0.6, 0.8]],
    ),
    "cosine similarity of zeros": (
        slope(lambda x: qb.where(qb.norm(x) > 0.0, qb.sum(x) / qb.norm(x), 0.0)), (f64(0.0, 0.0),), [0.0, 0.0],
    ),
    "Hessian": (lambda x: qb.hessian(lambda v: qb.sum(where(qb.log)(v)))(x), (f64(0.0, 2.0),), [[0, 0], [0, -0.25]]),
    "Hessian of an outer product": (
        lambda x: qb.hessian(lambda v: qb.sum(where(qb.log)(qb.outer(v, v))))(x), (f64(0.0, 2.0),), [[0, 0], [0, -0.5]],
    ),
    "Jacobian": (lambda x: qb.jacobian(where(lambda v: 1.0 / v))(x), (f64(0.0, 2.0),), [[0, 0], [0, -0.25]]),
    "different masks on one value": (
        slope(lambda x: qb.sum(where(lambda v: v)(qb.stack([qb.log(x), 1.0 / x]) * (qb.stack([x, x - 1.0]) > 0.0))), 2),
        (f64(3.0, 4.0),), [-1 / 9 + 2 / 27, -1 / 16 + 2 / 64],
    ),
    "a stack of masked things, third": (
        slope(lambda x: qb.where(qb.stack([x, x - 1.0]) > 0.0, qb.stack([qb.log(x), 1.0 / x]), 0.0), 3), (f64(0.0, 0.5, 2.0),),
        [0.0, 16.0, 0.25 - 6 / 16],
    ),
    "behind a gather": (
        slope(lambda x: where(lambda v: v)(qb.where(x[[1, 1, 0]] > 0.0, qb.log(x)[[1, 1, 0]], 0.0))), (f64(0.0, 2.0),), [0.0, 1.0],
    ),
    "mapped cond": (
        slope(qb.vmap(lambda x: qb.cond(x > 0.0, qb.log, lambda v: v * 0.0, x)), 2), (f64(0.0, 2.0, -1.0),), [0.0, -0.25, 0.0],
    ),
    "in a loop": (
        slope(lambda x: qb.fori_loop(0, 3, lambda i, c: where(qb.sqrt, lambda v: v * 0.0)(c), x)), (f64(0.0, 1.0),),
        [0.0, 0.125],
    ),
    "maximum": (slope(lambda x: qb.maximum(qb.log(x), -5.0)), (f64(0.0, 2.0),), [0.0, 0.5]),
    "minimum, twice": (slope(lambda x: qb.minimum(1.0 / x, 10.0), 2), (f64(0.0, 1.0),), [0.0, 2.0]),
    "minimum of exp": (slope(lambda x: qb.minimum(qb.exp(x), 10.0)), (f64(1000.0, 0.0),), [0.0, 1.0]),
    "clip": (slope(lambda x: qb.clip(qb.log(x), -5.0, 5.0)), (f64(0.0, 2.0),), [0.0, 0.5]),
    "relu": (slope(lambda x: qb.relu(qb.log(x))), (f64(0.0, 2.0),), [0.0, 0.5]),
    "max": (slope(lambda x: qb.max(qb.log(x))), (f64(0.0, 2.0),), [0.0, 0.5]),
    "nan_to_num": (slope(lambda x: qb.nan_to_num(x / x)), (f64(0.0, 2.0),), [0.0, 0.0]),
    "set": (slope(lambda x: qb.log(x).at[0].set(0.0)), (f64(0.0, 2.0),), [0.0, 0.5]),
    "sinc, twice": (
        slope(lambda x: qb.where(qb.equal(x, 0.0), 1.0 - x * x / 6.0, qb.sin(x) / x), 2), (f64(0.0),), [-1 / 3],
    ),
}  # fmt: skip

GROUPS["softmax family"] = {
    "softmax of a masked row": (where(qb.softmax, mask=lambda x: ROWS), (PAIR,), [[0.5, 0.5], [0.0, 0.0]]),
    "its gradient": (slope(where(lambda x: qb.softmax(x) ** 2, mask=lambda x: ROWS)), (PAIR,), [[0, 0], [0, 0]]),
    "log_softmax of a masked row": (
        slope(where(lambda x: qb.log_softmax(x) * f64(1.0, 2.0), mask=lambda x: ROWS)), (PAIR,), [[-0.5, 0.5], [0, 0]],
    ),
    "softmax with -inf, twice": (slope(lambda x: qb.softmax(x) ** 2, 2), (f64(0.0, 0.0, -INF),), [0.0, 0.0, 0.0]),
    "softmax of -inf": (qb.softmax, (f64(0.0, -INF),), [1.0, 0.0]),
    "log_softmax of -inf": (qb.log_softmax, (f64(0.0, -INF),), [0.0, -INF]),
    "logsumexp of -inf": (qb.logsumexp, (f64(-INF, -INF),), -INF),
    "logsumexp of inf": (qb.logsumexp, (f64(0.0, INF),), INF),
    "logsumexp with inf": (slope(qb.logsumexp), (f64(0.0, INF),), [0.0, 1.0]),
    "logsumexp with -inf": (slope(qb.logsumexp), (f64(0.0, -INF),), [1.0, 0.0]),
    "its Hessian": (lambda x: qb.hessian(qb.logsumexp)(x), (f64(0.0, -INF),), [[0, 0], [0, 0]]),
    "logsumexp beside 0": (qb.logsumexp, (f64(0.0, -40.0),), math.log1p(math.exp(-40.0))),
    "logsumexp of ties": (qb.logsumexp, (f64(0.0, 0.0, -40.0),), math.log(2.0)),
    "softmax, what is beside 1": (
        slope(lambda x: qb.softmax(x)[0]), (f64(37.42994775023705, 0.0),), [5.551115123125775e-17, -5.551115123125775e-17],
    ),
    "cross entropy, what is beside 1": (
        lambda x: -qb.log_softmax(x)[0], (f64(40.0, 0.0),), math.exp(-40.0),
    ),
    "its slope": (slope(lambda x: -qb.log_softmax(x)[0]), (f64(40.0, 0.0),), [-math.exp(-40.0), math.exp(-40.0)]),
    "Hessian of logsumexp beside 1": (
        lambda x: qb.hessian(qb.logsumexp)(x), (f64(40.0, 0.0),),
        [[math.exp(-40.0), -math.exp(-40.0)], [-math.exp(-40.0), math.exp(-40.0)]],
    ),
    "logsumexp without overflow": (qb.logsumexp, (f64(1e308, 1e308),), 1e308),
    "logaddexp of infinities": (
        qb.logaddexp, (f64(INF, -INF, INF, -INF, NAN), f64(INF, -INF, -INF, 0.0, INF)), [INF, -INF, INF, 0.0, NAN],
    ),
}  # fmt: skip

GROUPS["powers"] = {
    "x**0, twice": (slope(lambda x: x**0.0, 2), (f64(0.0, NAN, -1.0),), [0.0, 0.0, 0.0]),
    "x**2., twice": (slope(lambda x: x**2.0, 2), (f64(0.0, -1.0),), [2.0, 2.0]),
    "x**3., third": (slope(lambda x: x**3.0, 3), (f64(0.0, -1.0),), [6.0, 6.0]),
    "a negative base": (lambda x: qb.power(x, 3.0), (f64(-2.0, -0.0, 0.0),), [-8.0, -0.0, 0.0]),
    "its slope": (slope(lambda x: qb.power(x, 3.0)), (f64(-2.0, 0.0),), [12.0, 0.0]),
    "negative exponents": (lambda x: x**-3, (f64(-2.0, -0.0, 0.0),), [-0.125, -INF, INF]),
    "exponents in an array": (slope(lambda x: qb.power(x, f64(0.0, 1.0, 2.0, 3.0))), (qb.zeros(4),), [0.0, 1.0, 0.0, 0.0]),
    "exponents in an array, twice": (
        slope(lambda x: qb.power(x, f64(0.0, 1.0, 2.0, 3.0)), 2), (qb.zeros(4),), [0.0, 0.0, 2.0, 0.0],
    ),
    "by the exponent": (
        slope(lambda y: qb.power(f64(0.0, 2.0, -2.0, 1.0), y)), (f64(2.0, 3.0, 2.0, 5.0),), [0.0, 8 * LN2, 0.0, 0.0],
    ),
    "0**0": (lambda x: x**x, (f64(0.0),), [1.0]),
    "mixed": (lambda x: qb.grad(lambda a: qb.grad(lambda b: a**b)(0.0))(x), (qb.array(2.0),), 0.5),
    "|x|**2, twice": (slope(lambda x: qb.abs(x) ** 2, 2), (f64(0.0, -1.0),), [2.0, 2.0]),
    "|x| |x|, twice": (slope(lambda x: qb.abs(x) * qb.abs(x), 2), (f64(0.0, -1.0),), [2.0, 2.0]),
    "|x|**2., twice": (slope(lambda x: qb.power(qb.abs(x), 2.0), 2), (f64(0.0, -1.0),), [2.0, 2.0]),
    "|x|**3, twice": (slope(lambda x: qb.abs(x) ** 3, 2), (f64(0.0, -1.0),), [0.0, 6.0]),
    "sqrt(x**2)": (slope(lambda x: qb.sqrt(x**2)), (f64(-3.0, 0.0),), [-1.0, 0.0]),
    "relu squared, twice": (slope(lambda x: qb.relu(x) ** 2, 2), (f64(-1.0, 0.0, 1.0),), [0.0, 0.0, 2.0]),
    "slope of exp2 beyond its own range": (slope(qb.exp2), (f64(1024.0, 3.0),), [LN2 * 2.0**1023 * 2.0, 8 * LN2]),
    "exp2, twice": (slope(qb.exp2, 2), (f64(1024.0, 0.0),), [LN2 * LN2 * 2.0**1023 * 2.0, LN2 * LN2]),
    "exp2 of whole numbers": (qb.exp2, (f64(3.0, -1022.0, 1023.0),), [8.0, 2.0**-1022, 2.0**1023]),
}  # fmt: skip

GROUPS["reductions"] = {
    "prod of zeros": (slope(qb.prod), (f64(0.0, 2.0, 0.0),), [0.0, 0.0, 0.0]),
    "prod of one zero": (slope(qb.prod), (f64(0.0, 2.0, 3.0),), [6.0, 0.0, 0.0]),
    "cumprod with a zero": (slope(qb.cumprod), (f64(2.0, 0.0, 3.0),), [1.0, 8.0, 0.0]),
    "cumprod of zeros, twice": (slope(qb.cumprod, 2), (f64(0.0, 0.0),), [1.0, 1.0]),
    "cumsum of NaN": (qb.cumsum, (f64(1.0, NAN, 2.0),), [1.0, NAN, NAN]),
    "max of NaN": (qb.max, (f64(1.0, NAN),), NAN),
    "max of -inf": (slope(qb.max), (f64(-INF, -INF),), [0.5, 0.5]),
    "max of rows with ties": (slope(lambda x: qb.max(x, axis=1)), (f64([[1.0, 1.0], [2.0, 1.0]]),), [[0.5, 0.5], [1.0, 0.0]]),
    "argmax of NaN": (qb.argmax, (f64(1.0, NAN, 3.0, NAN),), 1),
    "argmin of NaN": (qb.argmin, (f64(-INF, NAN),), 1),
    "argmax of ties": (qb.argmax, (f64(1.0, 3.0, 3.0),), 1),
    "argmax of signed zeros": (qb.argmax, (f64(-0.0, 0.0),), 0),
    "argmax of -inf": (qb.argmax, (f64(-INF, -INF),), 0),
    "sort": (qb.sort, (f64(NAN, 1.0, -INF, INF, -0.0, 0.0),), [-INF, -0.0, 0.0, 1.0, INF, NAN]),
    "argsort": (qb.argsort, (f64(NAN, 1.0, 1.0, NAN, -INF),), [4, 1, 2, 0, 3]),
    "infinities of both signs": (qb.sum, (f64(INF, -INF),), NAN),
    "mean of nothing": (qb.mean, (qb.zeros(0),), NAN),
    "variance of one": (lambda x: qb.var(x, ddof=1), (f64(3.0),), NAN),
    "std of equal numbers": (slope(qb.std), (f64(2.0, 2.0, 2.0),), [0.0, 0.0, 0.0]),
    "std without overflow": (qb.std, (f64(1e200, -1e200),), 1e200),
    "variance of large numbers": (qb.var, (f64(1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0),), 22.5),
    "norm of one": (slope(qb.norm), (f64(-3.0),), [-1.0]),
    "norm of order 1 at 0": (slope(lambda x: qb.linalg.norm(x, ord=1)), (f64(0.0, 2.0),), [0.0, 1.0]),
    "norm of order inf": (slope(lambda x: qb.linalg.norm(x, ord=INF)), (f64(2.0, -2.0),), [0.5, -0.5]),
    "norm of order 3 at 0": (slope(lambda x: qb.linalg.norm(x, ord=3)), (f64(0.0, 0.0),), [0.0, 0.0]),
    "norm of order 3 beside 0": (slope(lambda x: qb.linalg.norm(x, ord=3)), (f64(0.0, 2.0),), [0.0, 1.0]),
    "norm of order 3, overflow": (lambda x: qb.linalg.norm(x, ord=3), (f64(1e200, 1e-200),), 1e200),
    "norm of order 3, rows": (
        lambda x: qb.linalg.norm(x, ord=3, axis=1, keepdims=True), (f64([[0.0, 0.0], [-2.0, 0.0]]),), [[0.0], [2.0]],
    ),
    "Frobenius norm at 0": (slope(qb.linalg.norm), (qb.zeros((2, 2)),), [[0, 0], [0, 0]]),
    "norm, twice": (lambda x: qb.hessian(qb.norm)(x), (f64(0.0, 2e-100),), [[0.5e100, 0], [0, 0]]),
    "zero times infinity in a product": (lambda x: x @ f64([[0.0], [1.0]]), (f64([[INF, 1.0]]),), [[NAN]]),
    "a product is linear": (slope(lambda x: x @ f64([[0.0], [1.0]])), (f64([[NAN, 1.0]]),), [[0.0, 1.0]]),
    "a million tenths": (qb.sum, (qb.full(1_000_000, 0.1),), 1_000_000 * 0.1),
}  # fmt: skip

GROUPS["kinks"] = {
    "abs": (slope(qb.abs), (f64(0.0, -0.0, -2.0),), [0.0, 0.0, -1.0]),
    "maximum(x, -x)": (slope(lambda x: qb.maximum(x, -x)), (f64(0.0, 2.0),), [0.0, 1.0]),
    "maximum of NaN": (qb.maximum, (f64(NAN, 1.0), f64(1.0, NAN)), [NAN, NAN]),
    "clip, limits crossed": (lambda x: qb.clip(x, 1.0, -1.0), (f64(0.0, 5.0, -5.0),), [-1.0, -1.0, -1.0]),
    "clip, NaN": (lambda x: qb.clip(x, 0.0, 1.0), (f64(NAN, INF, -INF),), [NAN, 1.0, 0.0]),
    "clip, a NaN for a limit": (lambda x: qb.clip(x, NAN, 1.0), (f64(0.0, 2.0),), [NAN, NAN]),
    "clip, NaN among the limits": (lambda x: qb.clip(x, f64(NAN, 0.0), 1.0), (f64(0.0, 2.0),), [NAN, 1.0]),
    "clip by its limit": (
        lambda x: qb.grad(lambda lo: qb.sum(qb.clip(x, lo, 1.0)))(qb.array(0.5)), (f64(0.0, 0.7, 2.0),), 1.0,
    ),
    "round": (qb.round, (f64(0.5, 1.5, 2.5, -0.5, 0.49999999999999994),), [0.0, 2.0, 2.0, -0.0, 0.0]),
    "sign": (qb.sign, (f64(-0.0, 0.0, NAN, -3.0),), [-0.0, 0.0, NAN, -1.0]),
    "floor_divide": (
        lambda x, y: x // y,
        (f64(1.0, -1.0, 1.0, -1.0, 0.0, -0.0, INF, 1.0, -1.0, 7.0, 6.0), f64(INF, INF, -INF, -INF, 5.0, 5.0, 2.0, 0.0, 0.0, -2.0, 0.1)),
        [0.0, -1.0, -1.0, 0.0, 0.0, -0.0, NAN, INF, -INF, -4.0, 59.0],
    ),
    "mod": (
        lambda x, y: x % y,
        (f64(1.0, -1.0, 1.0, -1.0, 0.0, -0.0, INF, 1.0, 5.0, -5.0, 6.0), f64(INF, INF, -INF, -INF, -5.0, 5.0, 2.0, 0.0, -3.0, 3.0, 0.1)),
        [1.0, INF, -INF, -1.0, -0.0, 0.0, NAN, NAN, -1.0, 1.0, 6.0 % 0.1],
    ),
    "fmod": (qb.fmod, (f64(-1.0, 1.0, 5.0, -5.0, -6.0), f64(INF, 0.0, -3.0, 3.0, 3.0)), [-1.0, NAN, 2.0, -2.0, -0.0]),
    "atan2 on the axes": (slope(lambda y: qb.atan2(y, f64(1.0, -1.0, 0.0))), (f64(0.0, 0.0, 1.0),), [1.0, -1.0, 0.0]),
    "atan2, twice": (
        lambda v: qb.hessian(lambda u: qb.atan2(u[0], u[1]))(v), (f64(0.0, 1.0),), [[0, -1], [-1, 0]],
    ),
    "interp": (
        slope(lambda x: qb.interp(x, f64(0.0, 1.0, 2.0), f64(0.0, 1.0, 4.0))), (f64(-1.0, 0.0, 0.5, 1.0, 2.0, 3.0),),
        [0.0, 1.0, 1.0, 3.0, 3.0, 0.0],
    ),
    "interp by the values": (
        lambda x: qb.grad(lambda fp: qb.sum(qb.interp(x, f64(0.0, 1.0), fp)))(f64(5.0, 6.0)), (f64(-1.0, 0.25, 9.0),),
        [1.75, 1.25],
    ),
    "interp at infinity and NaN": (
        lambda x: qb.interp(x, f64(0.0, 1.0), f64(2.0, 3.0)), (f64(NAN, INF, -INF),), [NAN, 3.0, 2.0],
    ),
    "interp at knots": (
        lambda x: qb.interp(x, f64(0.1, 0.2, 0.7), f64(1.0, 2.0, 3.0)), (f64(0.1, 0.2, 0.7),), [1.0, 2.0, 3.0],
    ),
    "where NaN is constant": (slope(lambda x: qb.where(x > 0.0, x, NAN)), (f64(1.0, -1.0),), [1.0, 0.0]),
    "at[].max with a tie": (slope(lambda x: x.at[0].max(2.0)), (f64(2.0, 1.0),), [0.5, 1.0]),
    "through integers": (slope(lambda x: x * x.astype(int64).astype(qb.float64)), (f64(2.5),), [2.0]),
}  # fmt: skip

GROUPS["tails"] = {
    "tanh, twice": (slope(qb.tanh, 2), (f64(20.0),), [-2 * 1.6993417021166356e-17]),
    "sigmoid": (slope(qb.sigmoid), (f64(1000.0, -1000.0, -700.0),), [0.0, 0.0, math.exp(-700.0)]),
    "log sigmoid": (lambda x: -qb.softplus(-x), (f64(-1000.0, -INF),), [-1000.0, -INF]),
    "slope of log sigmoid": (slope(lambda x: -qb.softplus(-x)), (f64(-1000.0, 1000.0, -INF, INF),), [1.0, 0.0, 1.0, 0.0]),
    "silu": (slope(qb.silu), (f64(INF, -INF, 1e5, -1e5),), [1.0, 0.0, 1.0, 0.0]),
    "erf, twice": (slope(qb.erf, 2), (f64(INF, -INF, 1.7e308, -1.7e308),), [0.0, 0.0, 0.0, 0.0]),
    "erf, third": (slope(qb.erf, 3), (f64(INF, -INF, 1.7e308, 1e200),), [0.0, 0.0, 0.0, 0.0]),
    "erfc, third": (slope(qb.erfc, 3), (f64(INF, 8e307),), [0.0, 0.0]),
    "exact gelu": (
        lambda x: qb.gelu(x, approximate=False), (f64(-6.0, -10.0, -37.0),),
        [-5.9195258702261885e-09, -7.619853024160526e-23, -2.1184613523340935e-298],
    ),
    "exact gelu, third, at infinity": (slope(lambda x: qb.gelu(x, approximate=False), 3), (f64(INF, -INF),), [0.0, 0.0]),
    "arctan, twice": (slope(qb.arctan, 2), (f64(INF, -INF, 1e200),), [0.0, 0.0, 0.0]),
    "arctan, third": (slope(qb.arctan, 3), (f64(INF, -INF, 1e200),), [0.0, 0.0, 0.0]),
    "arcsinh, twice": (slope(qb.arcsinh, 2), (f64(INF, -INF, 1e100),), [0.0, 0.0, -1e-200]),
    "hypot at infinity": (slope(lambda x: qb.hypot(x, 1.0)), (f64(INF, -INF),), [1.0, -1.0]),
    "hypot of infinity and NaN": (qb.hypot, (f64(INF, NAN), f64(NAN, 1.0)), [INF, NAN]),
    "hypot, twice": (
        lambda x: qb.hessian(lambda v: qb.hypot(v[0], v[1]))(x), (f64(1e8, 1.0),), [[1e-24, -1e-16], [-1e-16, 1e-8]],
    ),
    "hypot of tiny numbers, twice": (
        lambda x: qb.hessian(lambda v: qb.hypot(v[0], v[1]))(x), (f64(3e-200, 4e-200),),
        [[16 / 25 / 5e-200, -12 / 25 / 5e-200], [-12 / 25 / 5e-200, 9 / 25 / 5e-200]],
    ),
    "log1p at -1": (slope(qb.log1p), (f64(-1.0),), [INF]),
    "arccos at its ends": (slope(qb.arccos), (f64(1.0, -1.0),), [-INF, -INF]),
    "cbrt of a negative number": (slope(qb.cbrt), (f64(-8.0),), [1 / 12]),
    "log2 and log10 of powers": (
        lambda x: qb.stack([qb.log2(x[0]), qb.log10(x[1]), qb.log10(x[2])]), (f64(2.0**-1022, 1e-5, 1e22),), [-1022.0, -5.0, 22.0],
    ),
}  # fmt: skip

GROUPS["arithmetic"] = {
    "zeros keep their signs": (
        lambda x: qb.stack([x + 0.0, 0.0 + x, x - 0.0, x - -0.0, x + -0.0, 0.0 - x, x * 0.0, -x]), (f64(-0.0, 0.0),),
        [[0.0, 0.0], [0.0, 0.0], [-0.0, 0.0], [0.0, 0.0], [-0.0, 0.0], [0.0, 0.0], [-0.0, 0.0], [0.0, -0.0]],
    ),
    "x * 0": (lambda x: x * 0.0, (f64(INF, NAN, -1.0),), [NAN, NAN, -0.0]),
    "x - x": (lambda x: x - x, (f64(INF, 1.0),), [NAN, 0.0]),
    "x / x": (lambda x: x / x, (f64(0.0, INF, 2.0),), [NAN, NAN, 1.0]),
    "division by zero": (lambda x: 1.0 / x, (f64(0.0, -0.0),), [INF, -INF]),
    "no fused multiply-add": (lambda x: x * x - 1.0, (f64(1 + 2.0**-30),), [(1 + 2.0**-30) ** 2 - 1.0]),
    "no reassociation": (lambda x: (x + 1.0) - x, (f64(1e16, 0.1),), [(1e16 + 1.0) - 1e16, (0.1 + 1.0) - 0.1]),
    "log(exp(x))": (lambda x: qb.log(qb.exp(x)), (f64(-800.0, 800.0),), [-INF, INF]),
    "NaN equals nothing": (lambda x: qb.equal(x, x), (f64(NAN, 1.0),), [False, True]),
    "nan_to_num": (qb.nan_to_num, (f64(NAN, INF, -INF),), [0.0, 1.7976931348623157e308, -1.7976931348623157e308]),
    "NaN as int": (lambda x: x.astype(int32), (f64(NAN, INF, -INF, 3e9, -1.9),), [0, 2**31 - 1, -(2**31), 2**31 - 1, -1]),
    "NaN as bool": (lambda x: x.astype(qb.bool_), (f64(NAN, 0.0, -0.0),), [True, False, False]),
    "overflow of float32": (lambda x: x.astype(float32), (f64(1e39, -1e39),), [INF, -INF]),
    "ints wrap around": (lambda x: x + x, (qb.array([2**31 - 1, -(2**31)], dtype=int32),), [-2, 0]),
    "the least int": (lambda x: qb.stack([x // -1, qb.abs(x)]), (qb.array([-(2**31)], dtype=int32),), [[-(2**31)], [-(2**31)]]),
    "ints by 0": (lambda x: qb.stack([x // 0, x % 0]), (qb.array([5, -5], dtype=int32),), [[0, 0], [0, 0]]),
    "remainders of ints": (lambda x: x % qb.array(-3, dtype=int64), (qb.array([5, -5], dtype=int64),), [-1, -2]),
    "linspace ends": (lambda x: qb.linspace(0.1, 0.7, 7)[-1] * x, (qb.array(1.0),), 0.7),
    "linspace in float32": (lambda x: qb.linspace(0.0, 1.0, 4, dtype=float32) * x, (f32(1.0),), single(0, 1 / 3, 2 / 3, 1)),
    "arange": (lambda x: qb.arange(0.0, 1.0, 0.1) * x, (qb.array(1.0),), [0.1 * i for i in range(10)]),
}  # fmt: skip

TENTH, LARGE = float(np.float32(0.1)), float(np.float32(3e30))
GROUPS["float32 rounds once"] = {
    "products": (lambda x: x * x * x, (f32(1.1),), np.float32(1.1) * np.float32(1.1) * np.float32(1.1)[None]),
    "x**3": (lambda x: x**3, (f32(1.1),), single(float(np.float32(1.1)) ** 3)),
    "exp": (qb.exp, (f32(1.1, -3.3),), single(*(math.exp(float(np.float32(v))) for v in (1.1, -3.3)))),
    "softplus": (qb.softplus, (f32(-20.0, 100.0),), single(math.log1p(math.exp(-20.0)), 100.0)),
    "log1p": (qb.log1p, (f32(1e-10),), single(math.log1p(float(np.float32(1e-10))))),
    "a constant": (lambda x: x * 0.1, (f32(3.0),), single(3.0 * TENTH)),
    "sum": (qb.sum, (f32(1e8, 1.0, -1e8),), single(1.0)[0]),
    "a long sum": (qb.sum, (qb.full(1_000_003, 0.1, dtype=float32),), single(1_000_003 * TENTH)[0]),
    "mean": (qb.mean, (f32(16777216.0, 1.0, 1.0),), single(16777218.0 / 3.0)[0]),
    "a mean whose sum overflows": (qb.mean, (qb.full(1000, 3e38, dtype=float32),), single(3e38)[0]),
    "norm without overflow": (qb.norm, (f32(3e30, 0.0),), single(LARGE)[0]),
    "exact gelu": (lambda x: qb.gelu(x, approximate=False), (f32(-6.0),), single(-5.919525870226188e-09)),
    "slope of erf": (slope(qb.erf), (f32(5.0),), single(1.5670866531017336e-11)),
    "slope of tanh": (slope(qb.tanh), (f32(10.0),), single(8.244614455767397e-09)),
    "nan_to_num": (qb.nan_to_num, (f32(INF),), single(3.4028234663852886e38)),
}  # fmt: skip

DIGITS = {np.dtype(np.float64): 2e-15, np.dtype(np.float32): 2.5e-7}


def check(name, got, want):
    """Equal to a few units in the last place; zeros with their signs where the truth is a value, not a derivative."""
    want = np.asarray(want, got.dtype)
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=name)
        return
    assert got.shape == want.shape, name
    np.testing.assert_allclose(got, want, rtol=DIGITS[got.dtype], atol=0.0, err_msg=name)


@pytest.mark.parametrize("run", ["eager", "numpy", "xla"])
@pytest.mark.parametrize("group", GROUPS)
def test_symptoms(group, run, engine):
    rows = GROUPS[group]

    def all_of(arguments):
        return [f(*a) for (f, _, _), a in zip(rows.values(), arguments, strict=True)]

    arguments = [a for _, a, _ in rows.values()]
    if run != "eager":
        engine(run)
        all_of = qb.jit(all_of)
    for (name, (_, _, want)), got in zip(rows.items(), all_of(arguments), strict=True):
        check(name, got.numpy(), want)


@pytest.mark.parametrize("run", ["eager", "numpy", "xla"])
def test_signs_of_zero(run, engine):
    f = lambda x: GROUPS["arithmetic"]["zeros keep their signs"][0](x)  # noqa: E731
    _, (x,), want = GROUPS["arithmetic"]["zeros keep their signs"]
    if run != "eager":
        engine(run)
        f = qb.jit(f)
    np.testing.assert_array_equal(np.signbit(f(x).numpy()), np.signbit(want))
