"""Elementwise ops: arithmetic, rounding, extrema, powers and roots, and functions of two arguments.

Partial derivatives are written so that they stay finite, and accurate, wherever the true derivative is: they are
differentiated again for the higher orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.ops import dispatch
from quabla.ops.decompositions import Term, decomposed, select
from quabla.ops.dispatch import Value, apply, full, scalar
from quabla.ops.eager import known_singles, one
from quabla.ops.into import formula
from quabla.ops.masking import negated
from quabla.ops.records import (
    INF,
    NAN,
    REALS,
    STEP,
    binary_function,
    binary_op,
    infer_elementwise,
    unary_function,
    unary_op,
)
from quabla.ops.registry import REGISTRY, Attribute, Convention, Kernel, Op, Sample, define
from quabla.ops.rules import Masked, Reciprocal, ones
from quabla.ops.selection import COMPARE, GREATER, WHERE, choose, compare, gt, test, where
from quabla.ops.types import Params, TensorType, broadcast_shapes

__all__ = [
    "ABS", "ADD", "ATAN2", "CBRT", "CEIL", "COMPARE", "DIRECTION", "DIV", "FLOOR", "FMOD", "GREATER", "HYPOT", "MAXIMUM", "MINIMUM",
    "MUL", "NEG", "POW", "POWI", "ROUND", "RSQRT", "SIGN", "SQRT", "SUB", "WHERE",
    "abs", "add", "atan2", "cbrt", "ceil", "compare", "direction", "div", "floor", "fmod", "gt",
    "hypot", "maximum", "minimum", "mul", "neg", "power", "powi", "round", "rsqrt", "sign", "sqrt", "sub", "where",
]  # fmt: skip

# ---- what folds and partials share --------------------------------------------------------------


def number(x: Value) -> float | None:
    """The number that a traced constant repeats, or None."""
    return x.splat if x.traced else None


def _keeps_type(x: Value, y: Value) -> bool:
    """Whether an elementwise op on ``x`` and ``y`` has the type of ``x``."""
    return x.type is y.type or broadcast_shapes(x.type.shape, y.type.shape) == x.type.shape


def _is(x: Value, value: float) -> bool:
    """Whether ``x`` is a traced constant of ``value``, the zeros told apart."""
    return x.splat == value and math.copysign(1.0, x.splat) == math.copysign(1.0, value)


# ---- arithmetic ---------------------------------------------------------------------------------
#
# Only rewrites that keep every bit are folded: not x * 0, for NaN and -0, nor x + 0, for -0.


def _fold_add(operands: Sequence[Value], params: Params) -> Value | None:
    x, y = operands
    for acc, z in ((x, y), (y, x)):
        # A loop's gradient touches one row in each step, not the whole buffer.
        if z.op.name == "add_at" and z.operands[0].splat == 0.0 and acc.type is z.type and z.type.ndim:
            return apply(z.op, (acc, *z.operands[1:]), z.params)
    if y.op is NEG:
        return apply(SUB, (x, y.operands[0]))
    if x.op is NEG:
        return apply(SUB, (y, x.operands[0]))
    return None


def _fold_sub(operands: Sequence[Value], params: Params) -> Value | None:
    x, y = operands
    if y.op is NEG:
        return apply(ADD, (x, y.operands[0]))
    return x if _is(y, 0.0) and _keeps_type(x, y) else None


def _fold_mul(operands: Sequence[Value], params: Params) -> Value | None:
    x, y = operands
    if x is y:
        return apply(MUL, (*x.operands, *x.operands)) if x.op is ABS else _squared_norm(x)
    if x.op is NEG and y.op is NEG:
        return apply(MUL, (x.operands[0], y.operands[0]))
    for a, b in ((x, y), (y, x)):
        c = b.splat
        if c is None:
            continue
        if c == 1.0 and _keeps_type(a, b):
            return a
        if c == -1.0 and _keeps_type(a, b):
            return apply(NEG, (a,))
        if a.op is NEG:
            return apply(MUL, (full(b.type, -c), a.operands[0]))
    return None


def _fold_div(operands: Sequence[Value], params: Params) -> Value | None:
    x, y = operands
    if y.splat == 1.0 and _keeps_type(x, y):
        return x
    if y.splat == -1.0 and _keeps_type(x, y):
        return apply(NEG, (x,))
    return None


def _fold_neg(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    if x.op is NEG:
        return x.operands[0]
    if x.op is MUL:
        for c, y in (x.operands, x.operands[::-1]):
            if c.splat is not None:
                return apply(MUL, (full(c.type, -c.splat), y))
    elif x.op is DIV and x.operands[0].splat is not None:
        c, y = x.operands
        return apply(DIV, (full(c.type, -c.splat), y))
    return None


ADD: Final = binary_op(
    "add", "The sum.", np.add, (lambda x, y, r: 1, lambda x, y, r: 1), "stablehlo.add",
    exact_f32=True, ints=True, ulps=0.5, fold=_fold_add,
    special=((-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (INF, -INF, NAN), (INF, 1.0, INF), (NAN, 1.0, NAN)),
)  # fmt: skip
SUB: Final = binary_op(
    "sub", "The difference.", np.subtract, (lambda x, y, r: 1, lambda x, y, r: -1), "stablehlo.subtract",
    exact_f32=True, ints=True, ulps=0.5, fold=_fold_sub,
    special=((-0.0, 0.0, -0.0), (0.0, 0.0, 0.0), (INF, INF, NAN), (1.0, INF, -INF), (1.0, NAN, NAN)),
)  # fmt: skip
MUL: Final = binary_op(
    "mul", "The product.", np.multiply, (lambda x, y, r: y, lambda x, y, r: x), "stablehlo.multiply",
    exact_f32=True, ints=True, ulps=0.5, fold=_fold_mul,
    special=((-0.0, 1.0, -0.0), (-0.0, -2.0, 0.0), (INF, 0.0, NAN), (-INF, 2.0, -INF), (NAN, 0.0, NAN)),
)  # fmt: skip
DIV: Final = binary_op(
    "div", "The quotient.", np.divide, (lambda x, y, r: Reciprocal(y), lambda x, y, r: -(r / y)), "stablehlo.divide",
    exact_f32=True, ulps=0.5, fold=_fold_div,
    special=(
        (1.0, 0.0, INF), (1.0, -0.0, -INF), (0.0, 0.0, NAN), (INF, INF, NAN), (-1.0, INF, -0.0), (0.0, -3.0, -0.0),
        (NAN, 1.0, NAN),
    ),
)  # fmt: skip
NEG: Final = unary_op(
    "neg", "The negative.", np.negative, lambda x, r: -1, "stablehlo.negate",
    exact_f32=True, ints=True, ulps=0, fold=_fold_neg, special=((0.0, -0.0), (-0.0, 0.0), (INF, -INF)),
)  # fmt: skip
ABS: Final = unary_op(
    "abs", "The absolute value; its derivative at 0 is 0.", np.absolute, lambda x, r: sign(x), "stablehlo.abs",
    conventions=(Convention("0", "0", "the middle of the subgradients, -1 to 1", (0.0,), (0.0,)),),
    exact_f32=True, ints=True, ulps=0, special=((-0.0, 0.0), (-INF, INF)),
)  # fmt: skip
SIGN: Final = unary_op(
    "sign", "-1, 0 or 1; zeros keep their sign.", formula(lambda x: np.copysign(np.sign(x), x)), None, "stablehlo.sign",
    exact_f32=True, ulps=0, conventions=STEP, special=((0.0, 0.0), (-0.0, -0.0), (-INF, -1.0), (INF, 1.0)),
)  # fmt: skip


# ---- rounding -----------------------------------------------------------------------------------

FLOOR: Final = unary_op(
    "floor", "The greatest integer that is not greater.", np.floor, None, "stablehlo.floor",
    exact_f32=True, ulps=0, conventions=STEP, special=((-0.0, -0.0), (0.5, 0.0), (-0.5, -1.0), (INF, INF), (-INF, -INF)),
)  # fmt: skip
CEIL: Final = unary_op(
    "ceil", "The least integer that is not less.", np.ceil, None, "stablehlo.ceil",
    exact_f32=True, ulps=0, conventions=STEP, special=((-0.0, -0.0), (0.5, 1.0), (-0.5, -0.0), (INF, INF), (-INF, -INF)),
)  # fmt: skip
ROUND: Final = unary_op(
    "round", "The nearest integer; halves go to the even one.", np.rint, None, "stablehlo.round_nearest_even",
    exact_f32=True, ulps=0, conventions=STEP,
    special=((-0.0, -0.0), (0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (-2.5, -2.0), (INF, INF), (-INF, -INF)),
)  # fmt: skip


# ---- extrema ------------------------------------------------------------------------------------


def _share(which: int, missing: str) -> Callable[[Value, Value, Value], Masked]:
    """1 for the operand that is the result, 1/2 each where both are, NaN where the result is NaN.

    Args:
        which: the operand.
        missing: how an operand that is not the result compares with it; none does with NaN.
    """

    def slope(x: Value, y: Value, r: Value) -> Masked:
        missed = apply(COMPARE, (y if which else x, r), (missing,))
        undefined = apply(COMPARE, (r, r), ("not_equal",))
        tied = choose(test(x, "equal", y), 0.5, full(r.type, 1.0))
        return Masked(negated(missed), choose(undefined, scalar(NAN, r.type.dtype), tied))

    return slope


MAXIMUM: Final = binary_op(
    "maximum", "The greater operand, NaN if either is; a tie shares the derivative equally.", np.maximum,
    (_share(0, "less"), _share(1, "less")), "stablehlo.maximum",
    exact_f32=True, ints=True, ulps=0,
    conventions=(Convention("equal operands", "half to each", "symmetric in the operands", (2.0, 2.0), (0.5, 0.5)),),
    special=((NAN, 1.0, NAN), (1.0, NAN, NAN), (-INF, 1.0, 1.0), (INF, 1.0, INF)),
)  # fmt: skip
MINIMUM: Final = binary_op(
    "minimum", "The lesser operand, NaN if either is; a tie shares the derivative equally.", np.minimum,
    (_share(0, "greater"), _share(1, "greater")), "stablehlo.minimum",
    exact_f32=True, ints=True, ulps=0,
    conventions=(Convention("equal operands", "half to each", "symmetric in the operands", (2.0, 2.0), (0.5, 0.5)),),
    special=((NAN, 1.0, NAN), (1.0, NAN, NAN), (-INF, 1.0, -INF), (INF, 1.0, 1.0)),
)  # fmt: skip


# ---- powers -------------------------------------------------------------------------------------

#: Up to here products are within two units in the last place, and many times faster than the general power.
MOST_PRODUCTS: Final = 4


def _by_products(x: Any, n: int, multiply: Callable[[Any, Any], Any]) -> Any:
    """``x**n`` from the leading bit of ``n`` down: every product on the way is a power no greater than the last."""
    r = x
    for bit in bin(n)[3:]:
        r = multiply(r, r)
        if bit == "1":
            r = multiply(r, x)
    return r


def _squared_norm(x: Value) -> Value | None:
    """The square of a norm, which is ``sqrt(sum((y / scale)**2)) * scale``, as ``sum(y * y)``.

    The root has the derivative 0 at the origin by convention; its square has every derivative there.
    """
    product = _reshaped(x)
    for root, scale in (product.operands, product.operands[::-1]) if product.op is MUL else ():
        total = _reshaped(root.operands[0]) if root.op is SQRT else root
        terms = total.operands[0] if total.op.name == "sum" else total
        if terms.op is MUL and terms.operands[0] is terms.operands[1]:
            scaled = terms.operands[0]
            if scaled.op is DIV and scaled.operands[1] is scale:
                y = scaled.operands[0]
                r = y * y if total is terms else apply(total.op, (y * y,), total.params)  # one element is no sum
                return r if r.type is x.type else apply(REGISTRY["reshape"], (r,), (x.type.shape,))
    return None


def _reshaped(x: Value) -> Value:
    """What ``x`` is a reshape of, or ``x``."""
    return x.operands[0] if x.op.name == "reshape" else x


def _fold_powi(operands: Sequence[Value], params: Params) -> Value | None:
    (x,), n = operands, params[0]
    if n % 2 == 0 and x.op is ABS:  # has the derivatives of x**n at 0 too
        return apply(POWI, x.operands, params)
    if n == 2:
        return _squared_norm(x)
    return None if n > 1 else x if n else ones(x.type)


def _infer_powi(types: Sequence[TensorType], params: Params) -> TensorType:
    if params[0] < 0:
        raise ValueError(f"the exponent must not be negative, got {params[0]}")
    return infer_elementwise(types, params)


def _powi_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    n = params[0]
    if n == 0:
        return np.ones_like
    if n <= 2:
        return np.positive if n == 1 else np.square
    if n <= MOST_PRODUCTS:
        return formula(lambda x: _by_products(x, n, np.multiply))
    exponent = float(n)
    return formula(lambda x: np.power(x, exponent))


def _powi_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    (x,), n, t = xs, node.params[0], node.type
    if n == 0:
        return lo.full(t, 1.0)
    if n <= MOST_PRODUCTS:
        return _by_products(x, n, lambda a, b: lo.mul(t, a, b))
    return lo.op("stablehlo.power", t, [x, lo.full(t, float(n))])


def _powi_slope(operands: Sequence[Value], r: Value, params: Params) -> Any:
    n = params[0]
    return n if n < 2 else float(n) * apply(POWI, (operands[0],), (n - 1,))


POWI: Final = define(
    Op(
        "powi",
        "A power with a fixed non-negative integer exponent.",
        ("x",),
        attributes=(Attribute("n", "int", "positional"),),
        infer=_infer_powi,
        kernel=_powi_kernel,
        elementwise=True,
        partials=(_powi_slope,),
        stablehlo=_powi_stablehlo,
        fold=_fold_powi,
        samples=tuple(Sample(((2, 3),), (n,), -0.9) for n in (2, 3, 7, 9, 1, 0)),
        special=(((-0.0,), 0.0), ((-INF,), INF), ((NAN,), NAN), ((-3.0,), 9.0)),
        domain=(REALS,),
        ulps=2.0,
    )
)


def _pow_slope_x(x: Value, y: Value, r: Value) -> Any:
    """``y x**(y - 1)``; 0 at x = 0 for y < 1, where that is infinite or undefined."""
    c = number(y)
    if c is not None:
        if c == 0.0:
            return 0
        slope = c * _pow(x, c - 1.0)
        return slope if c >= 1.0 else choose(test(x, "equal", 0.0), 0.0, slope)
    # Elsewhere the factor y makes it 0 at y = 0; what is beside it has a derivative by y.
    origin = test(x, "equal", 0.0)
    flat = apply(WHERE, (origin, test(y, "less", 1.0), origin))
    return choose(flat, 0.0, y * _pow(choose(flat, 1.0, x), y - 1.0))


def _pow_slope_y(x: Value, y: Value, r: Value) -> Any:
    """``x**y log x``; 0 for x <= 0, but NaN where the power is."""
    c = number(x)
    if c is not None and c > 0.0:
        return 0 if c == 1.0 else _exponential_slope(x, y, r, math.log(c))
    flat = test(x, "less_equal", 0.0)
    safe = choose(flat, 1.0, x)
    undefined = apply(COMPARE, (r, r), ("not_equal",))
    edge = choose(undefined, scalar(NAN, r.type.dtype), 0.0)
    return choose(flat, edge, _pow(safe, y) * apply(REGISTRY["log"], (safe,)))


def _exponential_slope(c: Value, y: Value, r: Value, log: float) -> Value:
    """``c**y log(c)``, which may be finite where the power overflows: there the power is a product of two halves."""
    if math.fabs(log) >= 1.0:
        return r * log
    half = _pow(c, 0.5 * y)
    return choose(test(r, "equal", INF), half * log * half, r * log)


def _power(x: Any, y: Any) -> Any:
    """NumPy takes a square root for one exponent of 1/2, which has other values at -0 and minus infinity."""
    r = np.power(x, y)
    half = y == 0.5
    if not (half.any() if half.ndim else half):
        return r
    return np.where(half, np.where(x == -INF, INF, r + 0.0), r)


def _fold_pow(operands: Sequence[Value], params: Params) -> Value | None:
    x, y = operands
    if y.splat is None or not _keeps_type(x, y):
        return None
    if y.splat == 1.0:
        return x
    if y.splat == 2.0:
        return apply(POW, (x.operands[0], y)) if x.op is ABS else _squared_norm(x)
    return ones(x.type) if y.splat == 0.0 else None


POW: Final = binary_op(
    "pow", "A power with any exponent; NaN for a negative base and an exponent that is no integer.", _power,
    (_pow_slope_x, _pow_slope_y), "stablehlo.power", fold=_fold_pow, lo=(0.3, -1.7), hi=(1.9, 2.3),
    special=(
        (0.0, -1.0, INF), (-0.0, -3.0, -INF), (-0.0, -2.0, INF), (-0.0, -0.5, INF), (0.0, -INF, INF), (0.0, 2.5, 0.0),
        (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-1.0, INF, 1.0), (-1.0, -INF, 1.0), (1.0, NAN, 1.0), (NAN, 0.0, 1.0),
        (NAN, -0.0, 1.0), (0.0, 0.0, 1.0), (-8.0, 0.5, NAN), (-0.0, 0.5, 0.0),
        (-INF, 0.5, INF), (0.5, -INF, INF), (2.0, -INF, 0.0), (0.5, INF, 0.0),
        (2.0, INF, INF), (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF), (INF, -1.0, 0.0),
        (INF, 0.5, INF), (NAN, 1.0, NAN), (2.0, NAN, NAN), (-2.0, 3.0, -8.0),
    ),
    ulps=1.0,
    conventions=(
        Convention("x1 = 0, x2 < 1, by x1", "0", "agrees with sqrt at x2 = 1/2", (0.0, 0.5), (0.0, 0.0)),
        Convention("x1 <= 0, by x2", "0; NaN where the power is", "the power is no function of x2 there", (0.0, 2.0), (0.0, 0.0)),
    ),
    source="IEEE 754 pow; the derivatives' values at 0 are conventions",
)  # fmt: skip
_pow: Final = binary_function(POW, name="pow")


def powi(x: object, exponent: object) -> Value:
    """``x`` to a fixed integer power, elementwise; exact where the result is representable.

    Args:
        x: a float array of any shape, or what ``asarray`` makes one of.
        exponent: a non-negative int.

    Raises:
        TypeError: for an exponent that is not an int.
        OverflowError: for a negative one.
    """
    if isinstance(exponent, bool) or not isinstance(exponent, (int, np.integer)):
        raise TypeError(
            f"powi: the exponent must be an int, got {exponent!r}; use power for others{errors.at_user_line()}"
        )
    if exponent < 0:
        raise OverflowError(
            f"powi: the exponent must not be negative, got {exponent}; use power{errors.at_user_line()}"
        )
    return dispatch.unary(POWI, x, (int(exponent),))


def power(x1: object, x2: Any) -> Value:
    """``x1 ** x2``, elementwise, with NumPy's broadcasting.

    A non-negative Python int as exponent gives exact integer powers (``powi``). Otherwise a negative base has a
    power only for exponents that are integers; the derivative by ``x1`` at 0 is 0 for exponents below 1, and the
    derivative by ``x2`` is 0 for bases that are not positive.

    Raises:
        ValueError: for different float dtypes, bool arrays, or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> qb.power(qb.array([1.0, 2.0, 3.0]), 2)
        Tensor([1., 4., 9.], dtype=float64)
    """
    if x2.__class__ is int and 0 <= x2 < len(_KNOWN_POWERS):
        r = one(_KNOWN_POWERS[x2], x1)
        if r is not None:
            return r
    if isinstance(x2, (int, np.integer)) and not isinstance(x2, bool) and 0 <= x2 < 2**31:
        return dispatch.unary(POWI, x1, (int(x2),))
    return _pow(x1, x2)


_KNOWN_POWERS: Final = tuple([known_singles(POWI, (n,)) for n in range(9)])


# ---- roots --------------------------------------------------------------------------------------


def _sqrt_slope(x: Value, r: Value) -> Value:
    at_zero = test(r, "equal", 0.0)
    return choose(at_zero, 0.0, 0.5 / choose(at_zero, 1.0, r))


@formula
def _cbrt_kernel(x: Any) -> Any:
    """A step of Newton's method takes most of the error of the platform's function away."""
    r = np.cbrt(x)
    step = (x / (r * r) - r) / 3.0
    return np.where(np.isfinite(step), r + step, r)


def _cbrt_slope(x: Value, r: Value) -> Value:
    q = 1.0 / r
    return q * q / 3.0


SQRT: Final = unary_op(
    "sqrt", "The square root; its derivatives at 0 are 0.", np.sqrt, _sqrt_slope, "stablehlo.sqrt",
    exact_f32=True, ulps=0.5,
    domain=(0.0, INF), conventions=(Convention("0", "0", "keeps norms at the origin usable", (0.0,), (0.0,)),),
    special=((0.0, 0.0), (-0.0, -0.0), (-1.0, NAN), (-INF, NAN), (INF, INF), (9.0, 3.0)),
)  # fmt: skip
RSQRT: Final = unary_op(
    "rsqrt", "1 over the square root, infinite at 0.", formula(lambda x: 1.0 / np.sqrt(x)), lambda x, r: -0.5 * (r / x),
    "stablehlo.rsqrt", domain=(0.0, INF), special=((0.0, INF), (-0.0, -INF), (-1.0, NAN), (INF, 0.0), (4.0, 0.5)),
)  # fmt: skip
CBRT: Final = unary_op(
    "cbrt", "The cube root, of negative numbers too.", _cbrt_kernel, _cbrt_slope, "stablehlo.cbrt",
    special=((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (-27.0, -3.0)),
)  # fmt: skip


# ---- two-argument functions ---------------------------------------------------------------------


def _radius(x: Value, y: Value) -> Value:
    """The length of the vector, 1 at the origin: what is 0 there stays 0 divided by it."""
    r = hypot(x, y)
    return choose(test(r, "equal", 0.0), 1.0, r)


def _direction_kernel(x: Any, y: Any) -> Any:
    r = np.hypot(x, y)
    q = x / r
    usual = (r > 1e-300) & (r < INF)
    if usual.all():
        return q
    a, b = np.abs(x), np.abs(y)
    m = np.maximum(a, b)

    def scaled(v: Any, size: Any) -> Any:
        beside_infinity = np.where(size == INF, np.copysign(1.0, v), 0.0)
        return np.where(m == INF, beside_infinity, np.where(m == 0.0, 0.0, v / m))

    p = scaled(x, a)
    return np.where(usual, q, np.where(m == 0.0, 0.0, p / np.hypot(p, scaled(y, b))))


def _direction_formula(x: Term, y: Term) -> Term:
    a, b = x.apply("abs"), y.apply("abs")
    m = a.maximum(b)
    infinite, origin = m.eq(INF), m.eq(0.0)
    scale = select(origin, 1.0, m)
    p, q = (select(infinite, select(s.eq(INF), v.sign(), 0.0), v / scale) for v, s in ((x, a), (y, b)))
    return select(origin, 0.0, p / (p * p + q * q).sqrt())


#: The derivatives of hypot and atan2, and of itself to every order: differences of squares, whose digits cancel where one
#: coordinate is much the larger, do not come up.
DIRECTION: Final = binary_op(
    "direction", "x1 over the length of the vector (x1, x2): the cosine of its angle; 0 at the origin.", _direction_kernel,
    (
        lambda x, y, r: direction(y, x) / _radius(x, y) * direction(y, x),
        lambda x, y, r: -(r / _radius(x, y) * direction(y, x)),
    ),
    decomposed("direction", _direction_formula),
    conventions=(Convention("the origin", "0", "agrees with hypot", (0.0, 0.0), (0.0, 0.0)),),
    special=(
        (0.0, 0.0, 0.0), (3.0, -4.0, 0.6), (-0.0, 1.0, -0.0), (INF, 1.0, 1.0), (-INF, 1.0, -1.0), (1.0, INF, 0.0),
        (INF, INF, math.sqrt(0.5)), (NAN, 1.0, NAN), (1.0, NAN, NAN), (1e308, 0.0, 1.0),
    ),
)  # fmt: skip


def _hypot_formula(x: Term, y: Term) -> Term:
    a, b = x.apply("abs"), y.apply("abs")
    m = a.maximum(b)
    q = select(m.eq(0.0), 0.0, a.minimum(b) / m)
    infinite = m.lo.op("stablehlo.or", m.type.with_dtype(dtypes.bool_), [a.eq(INF), b.eq(INF)])
    return select(infinite, INF, m * (1.0 + q * q).sqrt())


HYPOT: Final = binary_op(
    "hypot", "The length of the vector (x1, x2), without overflow; its derivatives at the origin are 0.", np.hypot,
    (lambda x, y, r: direction(x, y), lambda x, y, r: direction(y, x)), decomposed("hypot", _hypot_formula), ulps=1.0,
    conventions=(Convention("the origin", "0", "agrees with abs", (0.0, 0.0), (0.0, 0.0)),),
    special=(
        (0.0, 0.0, 0.0), (-0.0, -0.0, 0.0), (3.0, -4.0, 5.0), (INF, NAN, INF), (NAN, -INF, INF), (-INF, 1.0, INF),
        (NAN, 1.0, NAN), (3e-30, 4e-30, 5e-30),
    ),
)  # fmt: skip
ATAN2: Final = binary_op(
    "atan2", "The angle of the vector (x2, x1), from -pi to pi; its derivatives at the origin are 0.", np.arctan2,
    (
        lambda y, x, r: direction(x, y) / _radius(x, y),
        lambda y, x, r: -(direction(y, x) / _radius(x, y)),
    ),
    "stablehlo.atan2", ulps=1.0,
    conventions=(Convention("the origin", "0", "agrees with hypot", (0.0, 0.0), (0.0, 0.0)),),
    special=(
        (0.0, -0.0, math.pi), (-0.0, -0.0, -math.pi), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -1.0, math.pi),
        (-0.0, 1.0, -0.0), (1.0, 0.0, math.pi / 2), (-1.0, -0.0, -math.pi / 2), (1.0, INF, 0.0), (-1.0, -INF, -math.pi),
        (INF, 1.0, math.pi / 2), (INF, INF, math.pi / 4), (INF, -INF, 3 * math.pi / 4), (NAN, 1.0, NAN), (1.0, NAN, NAN),
    ),
)  # fmt: skip
# The quotient of an exact multiple of x2 differs from a whole number by rounding only.
FMOD: Final = binary_op(
    "fmod", "The remainder of x1 / x2 with the sign of x1, exact.", np.fmod,
    (lambda x, y, r: 1, lambda x, y, r: -round((x - r) / y)), "stablehlo.remainder", lo=(5.1, 2.0), hi=(5.4, 2.4),
    special=(
        (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (1.0, 0.0, NAN), (INF, 1.0, NAN), (2.5, INF, 2.5), (-6.0, 2.0, -0.0),
        (-5.5, 2.0, -1.5), (7.25, -2.5, 2.25), (NAN, 1.0, NAN),
    ),
    conventions=(
        Convention("jumps", "1 and -trunc(x1 / x2)", "the one-sided derivatives, which agree", (6.0, 2.0), (1.0, -3.0)),
    ),
    exact_f32=True, ulps=0,
)  # fmt: skip


# ---- public functions ---------------------------------------------------------------------------

add: Final = binary_function(ADD)
sub: Final = binary_function(SUB)
mul: Final = binary_function(MUL)
div: Final = binary_function(DIV)
neg: Final = unary_function(NEG)
abs: Final = unary_function(ABS, (-1.5, "1.5"))
sign: Final = unary_function(SIGN, (-2.0, "-1."))
floor: Final = unary_function(FLOOR, (-1.5, "-2."))
ceil: Final = unary_function(CEIL, (1.5, "2."))
round: Final = unary_function(ROUND, (2.5, "2."))
maximum: Final = binary_function(MAXIMUM, (1.0, 2.0, "2."))
minimum: Final = binary_function(MINIMUM, (1.0, 2.0, "1."))
sqrt: Final = unary_function(SQRT, (2.0, "1.41421356"))
rsqrt: Final = unary_function(RSQRT)
cbrt: Final = unary_function(CBRT, (27.0, "3."))
direction: Final = binary_function(DIRECTION)
hypot: Final = binary_function(HYPOT, (3.0, 4.0, "5."))
atan2: Final = binary_function(ATAN2, (1.0, -1.0, "2.35619449"))
fmod: Final = binary_function(FMOD, (-5.5, 2.0, "-1.5"))
