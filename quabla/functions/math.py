"""Elementwise functions composed of ops: activations, tests, comparisons, logic, and what divides or clips.

Eager and traced values alike. Where a function selects between formulas, the operands of the formula that is not
selected are kept where its derivatives are finite, so that no NaN leaks into a derivative of any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from quabla import errors
from quabla.ops.casting import STOP_GRADIENT
from quabla.ops.dispatch import (
    Value,
    apply,
    as_value,
    bool_operand,
    float_operand,
    full,
    is_number,
    is_value,
    promote,
    scalar,
    weakly,
)
from quabla.ops.eager import known_pairs, two
from quabla.ops.elementwise import ABS, COMPARE, DIV, FMOD, POWI, ROUND, WHERE, compare, power
from quabla.ops.integers import FLOOR_DIVIDE, modulo
from quabla.ops.selection import choose, test
from quabla.ops.transcendental import normal_cdf, sigmoid, softplus
from quabla.ops.types import tensor_type

__all__ = [
    "clip",
    "equal",
    "exp2",
    "floor_divide",
    "gelu",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "mod",
    "nan_to_num",
    "not_equal",
    "reciprocal",
    "relu",
    "remainder",
    "silu",
    "square",
]


# ---- activations --------------------------------------------------------------------------------


def relu(x: object) -> Value:
    """The larger of ``x`` and 0, elementwise; NaN stays NaN. Its derivative at 0 is 0.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.relu(qb.array([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    v = float_operand("relu", x)
    return weakly(choose(test(v, "less_equal", 0.0), 0.0, v), v.weak)


def silu(x: object) -> Value:
    """``x * sigmoid(x)``, elementwise; also called swish.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.silu(qb.array([0.0])).tolist()
        [0.0]
    """
    v = float_operand("silu", x)
    return _gated(v, sigmoid)


def gelu(x: object, approximate: bool = True) -> Value:
    """``x`` times the standard normal distribution function at ``x``, elementwise.

    Args:
        x: array-like.
        approximate: True for Hendrycks and Gimpel's form ``x * sigmoid(2 u)`` with
            ``u = sqrt(2 / pi) * (x + 0.044715 x**3)``, False for ``x * erfc(-x / sqrt(2)) / 2``, accurate in the tail too.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.gelu(qb.array([0.0])).tolist()
        [0.0]
    """
    v = float_operand("gelu", x)
    if not approximate:
        return _gated(v, normal_cdf)
    scale = 2 * math.sqrt(2 / math.pi)
    return _gated(v, lambda u: sigmoid(u * (scale + scale * 0.044715 * (u * u))))


def _gated(x: Value, gate: Callable[[Value], Value]) -> Value:
    """``x * gate(x)`` for a gate that is 0 below -1000 and 1 above 1000, in any precision.

    There neither infinity meets a zero, nor does anything on the way to a derivative overflow.
    """
    above, below = test(x, "greater", 1e3), test(x, "less", -1e3)
    u = choose(below, 0.0, x)
    return choose(above, x, u * gate(choose(above, 0.0, u)))


# ---- powers -------------------------------------------------------------------------------------


def square(x: object) -> Value:
    """``x * x``, elementwise.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.square(qb.array([3.0])).tolist()
        [9.0]
    """
    v = float_operand("square", x)
    return weakly(apply(POWI, (v,), (2,)), v.weak)


def reciprocal(x: object) -> Value:
    """``1 / x``, elementwise.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.reciprocal(qb.array([4.0])).tolist()
        [0.25]
    """
    v = float_operand("reciprocal", x)
    return weakly(apply(DIV, (scalar(1.0, v.type.dtype), v)), v.weak)


def exp2(x: object) -> Value:
    """2 to the power ``x``, elementwise; exact for whole numbers.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.exp2(qb.array([3.0])).tolist()
        [8.0]
    """
    return power(2.0, float_operand("exp2", x))


# ---- tests --------------------------------------------------------------------------------------


def _array_operand(name: str, x: object) -> Value:
    """``x`` as a float value where it is an array.

    Raises:
        TypeError: for numbers and lists.
        ValueError: for bool arrays.
    """
    if not is_value(x) and not isinstance(x, np.ndarray):
        x = as_value(x) if hasattr(x, "__array__") and not is_number(x) else x
        if not is_value(x):
            raise TypeError(f"{name}: needs an array, got {x!r}{errors.at_user_line()}")
    return float_operand(name, x)


def isnan(value: object) -> Value:
    """Whether each element is NaN.

    Raises:
        TypeError: where ``value`` is not an array.
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.isnan(qb.array([float("nan"), 1.0])).tolist()
        [True, False]
    """
    x = _array_operand("isnan", value)
    return test(x, "not_equal", x)


def isfinite(value: object) -> Value:
    """Whether each element is neither NaN nor infinite.

    Raises:
        TypeError: where ``value`` is not an array.
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.isfinite(qb.array([float("inf"), 1.0])).tolist()
        [False, True]
    """
    return test(apply(ABS, (_array_operand("isfinite", value),)), "less", math.inf)


def isinf(x: object) -> Value:
    """Whether each element is infinite, of either sign.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.isinf(qb.array([-float("inf"), 1.0])).tolist()
        [True, False]
    """
    return test(apply(ABS, (float_operand("isinf", x),)), "equal", math.inf)


# ---- comparisons --------------------------------------------------------------------------------


def _comparison(
    kind: str, meaning: str, example: tuple[float, str], *, bools: bool = False
) -> Callable[[object, object], Value]:
    """The public function of a comparison; the example is the first of two numbers, and what comparing them with 2 gives."""
    known = known_pairs(COMPARE, (kind,), ints=True)

    def function(lhs: object, rhs: object) -> Value:
        try:
            r = two(known, lhs, rhs)
            if r is not None:
                return r
            if is_number(lhs) and is_number(rhs):
                raise TypeError(f"{kind}: needs an array, got the numbers {lhs!r} and {rhs!r}{errors.at_user_line()}")
            return compare(lhs, rhs, kind)
        except Exception as e:
            errors.hide_library_frames(e)
            raise

    function.__name__ = function.__qualname__ = kind
    first, result = example
    function.__doc__ = f"""Whether {meaning}.

    Raises:
        TypeError: for two numbers.
        ValueError: for {"" if bools else "bool arrays, "}different float dtypes or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> qb.{kind}(qb.array([{first}, 2.0]), 2.0).tolist()
        {result}
    """
    return errors.hides_library_frames(function)


equal: Final = _comparison(
    "equal", "``lhs == rhs``, elementwise; NaN equals nothing", (1.0, "[False, True]"), bools=True
)
not_equal: Final = _comparison(
    "not_equal", "``lhs != rhs``, elementwise; NaN differs from everything", (1.0, "[True, False]"), bools=True
)
greater: Final = _comparison("greater", "``lhs > rhs``, elementwise", (3.0, "[True, False]"))
greater_equal: Final = _comparison("greater_equal", "``lhs >= rhs``, elementwise", (1.0, "[False, True]"))
less: Final = _comparison("less", "``lhs < rhs``, elementwise", (1.0, "[True, False]"))
less_equal: Final = _comparison("less_equal", "``lhs <= rhs``, elementwise", (3.0, "[False, True]"))


# ---- logic --------------------------------------------------------------------------------------


def logical_and(lhs: object, rhs: object) -> Value:
    """Whether both are true, elementwise.

    Raises:
        ValueError: for float arrays or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> qb.logical_and(qb.array([True, True]), qb.array([True, False])).tolist()
        [True, False]
    """
    x, y = bool_operand("logical_and", lhs), bool_operand("logical_and", rhs)
    return apply(WHERE, (x, y, x))


def logical_or(lhs: object, rhs: object) -> Value:
    """Whether at least one is true, elementwise.

    Raises:
        ValueError: for float arrays or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> qb.logical_or(qb.array([True, False]), qb.array([False, False])).tolist()
        [True, False]
    """
    x, y = bool_operand("logical_or", lhs), bool_operand("logical_or", rhs)
    return apply(WHERE, (x, x, y))


def logical_xor(lhs: object, rhs: object) -> Value:
    """Whether exactly one is true, elementwise.

    Raises:
        ValueError: for float arrays or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> qb.array_api.logical_xor(qb.array([True, True]), qb.array([True, False])).tolist()
        [False, True]
    """
    x, y = bool_operand("logical_xor", lhs), bool_operand("logical_xor", rhs)
    return apply(COMPARE, (x, y), ("not_equal",))


def logical_not(value: object) -> Value:
    """Whether each element is false.

    Raises:
        ValueError: for float arrays.

    Example:
        >>> import quabla as qb
        >>> qb.logical_not(qb.array([True, False])).tolist()
        [False, True]
    """
    x = bool_operand("logical_not", value)
    return apply(COMPARE, (x, full(tensor_type((), x.type.dtype), False)), ("equal",))


# ---- replacing and clipping ---------------------------------------------------------------------


def nan_to_num(
    x: object, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Value:
    """``x`` with numbers in the place of NaN and infinities; the derivative there is 0.

    Args:
        x: array-like.
        copy: accepted for NumPy's sake; arrays are immutable.
        nan: what replaces NaN.
        posinf: what replaces infinity; the largest finite number of the dtype by default.
        neginf: what replaces minus infinity; the smallest finite number of the dtype by default.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> import quabla as qb
        >>> qb.nan_to_num(qb.array([float("nan"), 1.0])).tolist()
        [0.0, 1.0]
    """
    v = float_operand("nan_to_num", x)
    largest = float(np.finfo(v.type.dtype.numpy).max)
    high = scalar(largest if posinf is None else float(posinf), v.type.dtype)
    low = scalar(-largest if neginf is None else float(neginf), v.type.dtype)
    infinite = choose(test(v, "greater", 0.0), high, low)
    replacement = choose(test(v, "not_equal", v), float(nan), infinite)
    # One selection for all of them keeps the derivative a single selection too.
    return weakly(choose(isfinite(v), v, replacement), v.weak)


def clip(x: object, lo: object = None, hi: object = None) -> Value:
    """``x`` limited to the interval from ``lo`` to ``hi``, elementwise.

    Args:
        x: array-like.
        lo, hi: array-like, or None for no limit. Where ``lo > hi`` the result is ``hi``.

    The derivative is 0 at a limit as beyond it: there it belongs to ``lo`` or ``hi``.

    Raises:
        ValueError: for different float dtypes or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> qb.clip(qb.array([-2.0, 0.5, 2.0]), -1.0, 1.0).tolist()
        [-1.0, 0.5, 1.0]
    """
    if lo is None and hi is None:
        return float_operand("clip", x)
    given = [b for b in (lo, hi) if b is not None]
    (value, *bounds), weak = promote("clip", x, *given, ints=True)
    if lo is not None:
        value = _limited(value, bounds[0], "less_equal", lo)
    if hi is not None:
        value = _limited(value, bounds[-1], "greater_equal", hi)
    return weakly(value, weak)


def _limited(x: Value, bound: Value, kind: str, given: Any) -> Value:
    inside = x
    if not is_number(given) or math.isnan(given):
        # A NaN among the limits makes NaN, and a comparison with it selects x: add it where it is 0 otherwise.
        inside = choose(test(bound, "equal", bound), x, bound)
    return choose(test(x, kind, bound), bound, inside)


# ---- division with a remainder ------------------------------------------------------------------


def mod(x1: object, x2: object) -> Value:
    """The remainder of ``x1 / x2`` with the sign of ``x2``, elementwise and exact: ``x1 - floor(x1 / x2) * x2``.

    Of integers it is an integer, and 0 where ``x2`` is 0.

    Its derivatives are 1 and ``-floor(x1 / x2)``; both are 0 where the remainder is 0, which is where it jumps.

    Raises:
        ValueError: for different float dtypes or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> qb.mod(qb.array([-5.0]), 3.0).tolist()
        [1.0]
    """
    (x, y), weak = promote("mod", x1, x2, ints=True)
    if x.type.dtype.is_int:
        return weakly(modulo(x, y), weak)
    r = apply(FMOD, (x, y))
    negative = test(y, "less", 0.0)
    opposite = apply(COMPARE, (test(r, "less", 0.0), negative), ("not_equal",))
    zero = choose(negative, scalar(-0.0, y.type.dtype), 0.0)
    return weakly(choose(test(r, "equal", 0.0), zero, choose(opposite, r + y, r)), weak)


def remainder(x1: object, x2: object) -> Value:
    """The same as ``mod``.

    Example:
        >>> import quabla as qb
        >>> qb.remainder(qb.array([5.0]), -3.0).tolist()
        [-1.0]
    """
    return mod(x1, x2)


def floor_divide(x1: object, x2: object) -> Value:
    """The floor of the exact quotient, elementwise; its derivatives are 0.

    Of integers it is an integer, and 0 where ``x2`` is 0.

    Raises:
        ValueError: for different float dtypes or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> (qb.array([1.0, -5.0]) // qb.array([0.1, 3.0])).tolist()
        [9.0, -2.0]
    """
    (x, y), weak = promote("floor_divide", x1, x2, ints=True)
    if x.type.dtype.is_int:
        return weakly(apply(FLOOR_DIVIDE, (x, y)), weak)
    x, y = apply(STOP_GRADIENT, (x,)), apply(STOP_GRADIENT, (y,))
    r = apply(FMOD, (x, y))
    opposite = apply(COMPARE, (test(r, "less", 0.0), test(y, "less", 0.0)), ("not_equal",))
    below = apply(WHERE, (opposite, test(r, "not_equal", 0.0), opposite))
    # The truncated quotient is whole but for rounding, which x / y alone would carry over the next whole number.
    truncated = apply(ROUND, (apply(DIV, (x - r, y)),))
    truncated = choose(test(truncated, "equal", 0.0), 0.0 * apply(DIV, (x, y)), truncated)  # the sign of the quotient
    whole = choose(below, truncated - 1.0, truncated)
    return weakly(choose(test(y, "equal", 0.0), apply(DIV, (x, y)), whole), weak)


# ---- logarithms of sums -------------------------------------------------------------------------


def logaddexp(x1: object, x2: object) -> Value:
    """``log(exp(x1) + exp(x2))``, elementwise, without overflow.

    Raises:
        ValueError: for different float dtypes or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> qb.logaddexp(qb.array([1000.0]), 1000.0).tolist()
        [1000.6931471805599]
    """
    (x, y), weak = promote("logaddexp", x1, x2)
    # Selecting by x > y alone keeps the formula smooth at a tie: the derivatives of maximum and abs are not.
    larger = test(x, "greater", y)
    high, low = choose(larger, x, y), choose(larger, y, x)
    gap = low - high
    undefined = test(gap, "not_equal", gap)
    same_infinity = apply(WHERE, (undefined, test(x, "equal", y), undefined))
    return weakly(high + softplus(choose(same_infinity, 0.0, gap)), weak)
