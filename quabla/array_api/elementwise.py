"""The standard's elementwise functions that quabla spells otherwise, or only here."""

from __future__ import annotations

from typing import Any

from quabla.functions import math
from quabla.ops import elementwise, shaping, transcendental
from quabla.ops.dispatch import Value, apply, as_value, float_operand, promote
from quabla.ops.selection import COMPARE, WHERE, choose, test

__all__ = [
    "acos", "acosh", "add", "asin", "asinh", "atan", "atanh", "bitwise_and", "bitwise_invert", "bitwise_or", "bitwise_xor",
    "clip", "conj", "copysign", "divide", "floor_divide", "logical_xor", "multiply", "negative", "positive", "pow", "real",
    "signbit", "subtract", "trunc",
]  # fmt: skip

acos = transcendental.arccos
acosh = transcendental.arccosh
asin = transcendental.arcsin
asinh = transcendental.arcsinh
atan = transcendental.arctan
atanh = transcendental.arctanh
add = elementwise.add
subtract = elementwise.sub
multiply = elementwise.mul
divide = elementwise.div
floor_divide = math.floor_divide
negative = elementwise.neg
pow = elementwise.power
bitwise_and = math.logical_and
bitwise_or = math.logical_or
bitwise_xor = logical_xor = math.logical_xor
bitwise_invert = math.logical_not


def positive(x: Any, /) -> Value:
    """The array itself.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> positive(qb.array([-1.0])).tolist()
        [-1.0]
    """
    return float_operand("positive", x)


def conj(x: Any, /) -> Value:
    """The array itself: numbers are real.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> conj(qb.array([-1.0])).tolist()
        [-1.0]
    """
    return float_operand("conj", x)


def real(x: Any, /) -> Value:
    """The array itself: numbers are real.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> real(qb.array([-1.0])).tolist()
        [-1.0]
    """
    return float_operand("real", x)


def signbit(x: Any, /) -> Value:
    """Whether a number is negative or minus zero; False for NaN, whose sign is not kept.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> signbit(qb.array([-0.0, 0.0, -2.0])).tolist()
        [True, False, True]
    """
    v = float_operand("signbit", x)
    zero = test(v, "equal", 0.0)
    return test(choose(zero, 1.0 / v, v), "less", 0.0)


def copysign(x1: Any, x2: Any, /) -> Value:
    """The magnitude of one number with the sign of another.

    Raises:
        ValueError: for different float dtypes, bool arrays, or shapes that do not broadcast.

    Example:
        >>> copysign(qb.array([1.0, -2.0]), qb.array([-0.0, 3.0])).tolist()
        [-1.0, 2.0]
    """
    (x, y), _ = promote("copysign", x1, x2)
    same = apply(COMPARE, (signbit(x), signbit(y)), ("equal",))
    return apply(WHERE, (same, x, elementwise.neg(x)))


def trunc(x: Any, /) -> Value:
    """The whole number next to ``x`` towards 0.

    Raises:
        ValueError: for bool arrays.

    Example:
        >>> trunc(qb.array([-1.5, 1.5])).tolist()
        [-1.0, 1.0]
    """
    v = float_operand("trunc", x)
    return choose(test(v, "less", 0.0), elementwise.ceil(v), elementwise.floor(v))


def clip(x: Any, /, min: Any = None, max: Any = None) -> Value:
    """``quabla.clip`` with the standard's names; the result has the shape of ``x``.

    Raises:
        ValueError: for different float dtypes, or limits whose shapes do not broadcast to that of ``x``.

    Example:
        >>> clip(qb.array([-2.0, 0.5, 2.0]), min=-1.0, max=1.0).tolist()
        [-1.0, 0.5, 1.0]
    """
    v = as_value(x)
    r = math.clip(v, min, max)
    return r if r.type.shape == v.type.shape else shaping.broadcast_to(r, v.type.shape)
