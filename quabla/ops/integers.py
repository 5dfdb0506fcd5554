"""Division of integers: the one piece of their arithmetic that floats do not share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.ops.dispatch import Value, apply
from quabla.ops.elementwise import MUL, SUB
from quabla.ops.records import INTS, check_one_dtype, listed
from quabla.ops.registry import Op, Sample, define
from quabla.ops.selection import choose, test
from quabla.ops.types import Params, TensorType, broadcast_shapes

__all__ = ["FLOOR_DIVIDE", "modulo"]


def _infer(types: Sequence[TensorType], params: Params) -> TensorType:
    check_one_dtype(types)
    if not types[0].dtype.is_int:
        raise ValueError(f"needs int operands, got {listed(types)}")
    return types[0].with_shape(broadcast_shapes(*[t.shape for t in types]))


def _stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    """The quotients by 0 and -1 are chosen apart: StableHLO's division leaves that by 0, and an overflow, undefined."""
    t = node.type
    x, y = (lo.broadcast(v, k.type, t.shape) for v, k in zip(xs, node.operands, strict=True))
    zero, one = lo.full(t, 0), lo.full(t, 1)
    none, negated = (lo.compare("EQ", y, c, t) for c in (zero, lo.full(t, -1)))
    y = lo.select(lo.op("stablehlo.or", none.type, [none, negated]), one, y, t)
    q = (_by_floats if t.dtype is dtypes.int32 else _by_integers)(lo, x, y, t)
    return lo.select(none, zero, lo.select(negated, lo.neg(t, x), q, t), t)


def _by_floats(lo: Any, x: Any, y: Any, t: TensorType) -> Any:
    """Float64 quotients of 32-bit integers are on the right side of every integer; XLA divides vectors of them safely.

    (Its integer division traps where LLVM fills up a vector of 32-bit integers with zeros; jaxlib 0.10.)
    """
    wide = t.with_dtype(dtypes.float64)
    quotient = lo.div(wide, *(lo.op("stablehlo.convert", wide, [v]) for v in (x, y)))
    return lo.op("stablehlo.convert", t, [lo.op("stablehlo.floor", wide, [quotient])])


def _by_integers(lo: Any, x: Any, y: Any, t: TensorType) -> Any:
    """The truncated quotient, one less where there is a rest and the signs differ."""
    q = lo.div(t, x, y)
    r, zero = lo.sub(t, x, lo.mul(t, q, y)), lo.full(t, 0)
    left, *signs = lo.compare("NE", r, zero, t), *(lo.compare("LT", v, zero, t) for v in (r, y))
    below = lo.op("stablehlo.and", left.type, [left, lo.op("stablehlo.xor", left.type, signs)])
    return lo.select(below, lo.sub(t, q, lo.full(t, 1)), q, t)


FLOOR_DIVIDE: Final = define(
    Op(
        "floor_divide",
        "The floor of the quotient of integers; 0 where the divisor is 0.",
        ("x1", "x2"),
        infer=_infer,
        kernel=lambda params, types: np.floor_divide,
        exact_f32=True,
        ints=True,
        elementwise=True,
        differentiable=False,
        stablehlo=_stablehlo,
        samples=tuple(Sample(s, (), -9, 9, dtypes=(d, d)) for s in (((2, 3), (2, 3)), ((7,), ())) for d in INTS),
        source="NumPy's floor_divide",
    )
)


def modulo(x: Value, y: Value) -> Value:
    """The remainder of integers with the sign of ``y``; 0 where ``y`` is 0."""
    rest = apply(SUB, (x, apply(MUL, (apply(FLOOR_DIVIDE, (x, y)), y))))
    return choose(test(y, "equal", 0), 0, rest)
