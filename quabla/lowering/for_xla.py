"""Rewrites that XLA needs, and no other consumer of StableHLO."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from quabla.lowering.builder import Builder
from quabla.lowering.exact_f32 import convert, functions_of, walk, wide_type
from quabla.mlir import context, ir, read_type, unknown
from quabla.ops.decompositions import Term, select

__all__ = [
    "INACCURATE",
    "INACCURATE_BEFORE_0_12",
    "guard_products",
    "keep_barriers",
    "keep_zeros",
    "select_short_branches",
    "split_broadcasts",
    "write_out",
]

Formula = Callable[[Term], Term]

_create: Final = ir.Operation.create


def guard_products(module: Any) -> None:
    """Round float32 products explicitly, in place, where they would be fused with a sum.

    The product of two float32 numbers is exact in float64, and ``reduce_precision`` rounds it by integer arithmetic,
    which no compiler contracts.
    """
    bits = ir.IntegerType.get_signless(32, context())
    format_f32 = {"exponent_bits": ir.IntegerAttr.get(bits, 8), "mantissa_bits": ir.IntegerAttr.get(bits, 23)}
    for op in _named(module, "stablehlo.multiply"):
        narrow = op.results[0].type
        wide = wide_type(narrow)
        if wide is None:
            continue
        loc, ip = op.location, ir.InsertionPoint(op)
        a, b = [convert(v, wide, loc, ip) for v in op.operands]
        product = _create("stablehlo.multiply", [wide], [a, b], loc=loc, ip=ip).result
        rounded = _create("stablehlo.reduce_precision", [wide], [product], attributes=format_f32, loc=loc, ip=ip).result
        op.results[0].replace_all_uses_with(convert(rounded, narrow, loc, ip))
        op.operation.erase()


def keep_barriers(module: Any) -> None:
    """Write every optimization barrier, in place, as arithmetic that XLA does not see through.

    XLA on the CPU drops barriers before it merges equal computations (jaxlib 0.10), and cannot emit one inside a loop
    that it makes a single kernel of (jaxlib 0.12). The bits are flipped and flipped back instead, with a mask of its
    own for each barrier. That costs nothing where the use is elementwise: LLVM, which sees through it, is given one
    kernel at a time.
    """
    for number, op in enumerate(_named(module, "stablehlo.optimization_barrier"), 1):
        loc, ip = op.location, ir.InsertionPoint(op)
        for x, result in zip(op.operands, op.results, strict=True):
            t = x.type
            element = ir.IntegerType.get_signless(t.element_type.width, context())
            bits = ir.RankedTensorType.get(list(t.shape), element, loc=unknown())
            flip = ir.DenseElementsAttr.get_splat(bits, ir.IntegerAttr.get(element, number if element.width > 1 else 1))
            mask = _create("stablehlo.constant", [bits], [], attributes={"value": flip}, loc=loc, ip=ip).result
            name = "stablehlo.bitcast_convert"
            v = x if bits == t else _create(name, [bits], [x], loc=loc, ip=ip).result
            for _ in range(2):
                v = _create("stablehlo.xor", [bits], [v, mask], loc=loc, ip=ip).result
            result.replace_all_uses_with(v if bits == t else _create(name, [t], [v], loc=loc, ip=ip).result)
        op.operation.erase()


def split_broadcasts(module: Any) -> None:
    """Drop, in place, the axes of extent 1 that a broadcast stretches before it does.

    XLA on the CPU (jaxlib 0.10) crashes when it runs some programs that stretch an axis and were not simplified: a
    softmax of 5,000 numbers is one.
    """
    for op in _named(module, "stablehlo.broadcast_in_dim"):
        x, to = op.operands[0], op.results[0].type
        axes = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
        kept = [(n, a) for n, a in zip(x.type.shape, axes, strict=True) if n == to.shape[a]]
        if len(kept) == len(axes):
            continue
        loc, ip = op.location, ir.InsertionPoint(op)
        narrow = ir.RankedTensorType.get([n for n, _ in kept], to.element_type, loc=unknown())
        x = _create("stablehlo.reshape", [narrow], [x], loc=loc, ip=ip).result
        rest = {"broadcast_dimensions": ir.DenseI64ArrayAttr.get([a for _, a in kept], context())}
        new = _create("stablehlo.broadcast_in_dim", [to], [x], attributes=rest, loc=loc, ip=ip).result
        op.results[0].replace_all_uses_with(new)
        op.operation.erase()


#: A branch of at most this many ops, each of so few elements, takes less time than the choice of one.
SHORT_BRANCH: Final = 24
FEW_ELEMENTS: Final = 16


def select_short_branches(module: Any) -> None:
    """Compute both branches of a choice, in place, and select, where they are a few ops on a few numbers.

    XLA on the CPU calls a branch as a program of its own, and a loop around it cannot become one kernel.
    """
    for op in reversed(_named(module, "stablehlo.if")):  # those inside first
        branches = [list(r.blocks[0].operations) for r in op.regions]
        if not all(_is_short(ops) for ops in branches):
            continue
        loc, ip = op.location, ir.InsertionPoint(op)
        chosen = [list(ops[-1].operands) for ops in branches]
        for inner in (o for ops in branches for o in ops[:-1]):
            inner.operation.move_before(op.operation)
        for result, a, b in zip(op.results, *chosen, strict=True):
            made = _create("stablehlo.select", [result.type], [op.operands[0], a, b], loc=loc, ip=ip).result
            result.replace_all_uses_with(made)
        op.operation.erase()


def _is_short(ops: Sequence[Any]) -> bool:
    if len(ops) > SHORT_BRANCH:
        return False
    return all(
        not len(o.regions)
        and o.name not in ("stablehlo.custom_call", "func.call")
        and all(math.prod(r.type.shape) <= FEW_ELEMENTS for r in o.results)
        for o in (op.operation for op in ops)
    )


def keep_zeros(module: Any) -> None:
    """Write ``x + 0.0`` and ``x - -0.0`` in place as ``0.0 - -x``, which XLA leaves alone.

    As it reads a program XLA takes them for ``x`` (jaxlib 0.10 and 0.12), which differs at -0.0.
    """
    for name, sign in (("stablehlo.add", 1.0), ("stablehlo.subtract", -1.0)):
        for op in _named(module, name):
            a, b = op.operands
            for x, zero in ((a, b), (b, a)) if sign > 0.0 else ((a, b),):
                if _repeats_zero(zero, sign):
                    t, loc, ip = x.type, op.location, ir.InsertionPoint(op)
                    if sign < 0.0:
                        zero = _create("stablehlo.negate", [t], [zero], loc=loc, ip=ip).result
                    negated = _create("stablehlo.negate", [t], [x], loc=loc, ip=ip).result
                    new = _create("stablehlo.subtract", [t], [zero, negated], loc=loc, ip=ip).result
                    op.results[0].replace_all_uses_with(new)
                    op.operation.erase()
                    break


def _repeats_zero(x: Any, sign: float) -> bool:
    """Whether a value is a constant that repeats the float zero of a sign."""
    made_by = x.owner
    while not isinstance(made_by, ir.Block) and made_by.name == "stablehlo.broadcast_in_dim":
        made_by = made_by.operands[0].owner
    if isinstance(made_by, ir.Block) or made_by.name != "stablehlo.constant":
        return False
    value = made_by.attributes["value"]
    if not (isinstance(value, ir.DenseFPElementsAttr) and value.is_splat):
        return False
    number = ir.FloatAttr(value.get_splat_value()).value
    return number == 0.0 and math.copysign(1.0, number) == sign


# ---- functions that XLA computes less accurately ------------------------------------------------


def write_out(module: Any, formulas: Mapping[str, Formula]) -> None:
    """Write out float64 ops, in place, by formulas."""
    for name, formula in formulas.items():
        for op in _named(module, name):
            result = op.results[0]
            if not isinstance(result.type.element_type, ir.F64Type):
                continue
            lo = Builder(module)
            lo.ip, lo.loc = ir.InsertionPoint(op), op.location
            result.replace_all_uses_with(formula(Term(lo, read_type(result.type), op.operands[0])).value)
            op.operation.erase()


def _horner(x: Term, coefficients: Sequence[float]) -> Term:
    """The polynomial with these coefficients, that of the highest power first."""
    r = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        r = r * x + c
    return r


#: 1 / k! from k = 22 down to 2.
_TAYLOR: Final = [1.0 / math.factorial(k) for k in range(22, 1, -1)]


def _expm1(x: Term) -> Term:
    """``exp(x) - 1``, by Taylor's series where that cancels; XLA's errs by up to 4 ulp."""
    near = select(x.eq(0.0), x, x + x * x * _horner(x, _TAYLOR))  # keeps the sign of zero
    return select(abs(x - 0.2) < 0.9, near, x.exp() - 1.0)


#: The eighth convergent of Lambert's continued fraction (DLMF 4.39.1), x / (1 + x**2 / (3 + x**2 / (5 + ...))), is
#: x - x**3 p(x**2) / q(x**2), with an error below 1e-17 for |x| < 0.625.
_P: Final = (1.0, 594.0, 45045.0, 675675.0)
_Q: Final = (1.0, 630.0, 51975.0, 945945.0, 2027025.0)


def _tanh(x: Term) -> Term:
    """The hyperbolic tangent; XLA's errs by up to 7 ulp.

    Both ranges share a division, and the exponential is that of the derivative, ``sech2``.
    """
    z, sign, e = x * x, x.sign(), (-2.0 * abs(x)).exp()
    near = abs(x) < 0.625
    top = select(near, x * (z * _horner(z, _P)), sign * (2.0 * e))
    r = select(near, x, sign) - top / select(near, _horner(z, _Q), 1.0 + e)
    return select(x.eq(0.0), x, r)  # keeps the sign of zero


def _cbrt(x: Term) -> Term:
    """The cube root after a step of Newton's method; the platform's errs by up to 4 ulp."""
    r = x.apply("cbrt")
    step = (x / (r * r) - r) / 3.0
    return select(abs(step) < math.inf, r + step, r)


def _log1p(x: Term) -> Term:
    """``log(1 + x)``; that of jaxlib 0.10 errs by up to 125 ulp.

    With u = 1 + x rounded, log(u) misses log(1 + x) by the rounding error of u, which ``((u - 1) - x) / u`` measures
    (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 1.14.1).
    """
    u = x + 1.0
    log = u.log()
    found = select(abs(log) < math.inf, log - ((u - 1.0) - x) / u, log)
    return select(x.eq(0.0), x, found)  # keeps the sign of zero


#: What XLA computes with errors of more than two units in the last place.
INACCURATE: Final[dict[str, Formula]] = {
    "stablehlo.exponential_minus_one": _expm1,
    "stablehlo.tanh": _tanh,
    "stablehlo.cbrt": _cbrt,
}
#: What else jaxlib 0.10 does.
INACCURATE_BEFORE_0_12: Final[dict[str, Formula]] = {"stablehlo.log_plus_one": _log1p}


def _named(module: Any, name: str) -> list[Any]:
    return [op for op in walk(f.regions for f in functions_of(module)) if op.name == name]
