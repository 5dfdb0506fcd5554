"""Makers of elementwise records and of their public functions.

``unary_op`` and ``binary_op`` make a record from its few particular facts, ``unary_function`` and
``binary_function`` the public function of a record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from quabla import dtypes, errors
from quabla.ops import dispatch
from quabla.ops.dispatch import Value
from quabla.ops.eager import known_pairs, known_singles, one, two
from quabla.ops.registry import Convention, Kernel, Op, Sample, define
from quabla.ops.types import Params, TensorType, broadcast_shapes

__all__ = [
    "INF",
    "NAN",
    "REALS",
    "STEP",
    "PartialSlope",
    "binary_function",
    "binary_op",
    "check_one_dtype",
    "infer_elementwise",
    "infer_numbers",
    "listed",
    "unary_function",
    "unary_op",
]

INF: Final = math.inf
NAN: Final = math.nan
REALS: Final = (-INF, INF)
#: What holds for steps, whose derivative is 0 by definition.
STEP: Final = (Convention("everywhere", "0", "constant between jumps"),)
INTS: Final = (dtypes.int32, dtypes.int64)

#: ``(x, result) -> factor``: the derivative of an op with one operand; the factor is a value or 0, 1 or -1.
Slope = Callable[[Value, Value], Any]
#: ``(x, y, result) -> factor``: one of the two derivatives of an op with two operands.
PartialSlope = Callable[[Value, Value, Value], Any]


def infer_elementwise(types: Sequence[TensorType], params: Params) -> TensorType:
    """The broadcast of float operands of one dtype."""
    if not types[0].dtype.is_float:
        check_one_dtype(types)
        raise ValueError(f"needs float operands, got {listed(types)}")
    return infer_numbers(types, params)


def infer_numbers(types: Sequence[TensorType], params: Params) -> TensorType:
    """The broadcast of float or int operands of one dtype."""
    first = types[0]
    check_one_dtype(types)
    if first.dtype.is_bool:
        raise ValueError(f"needs float or int operands, got {listed(types)}")
    return first.with_shape(broadcast_shapes(*[t.shape for t in types]))


def check_one_dtype(types: Sequence[TensorType]) -> None:
    for t in types:
        if t.dtype is not types[0].dtype:
            raise ValueError(f"needs operands of one dtype, got {listed(types)}")


def listed(types: Sequence[TensorType]) -> str:
    return " and ".join(map(str, types))


def unary_op(
    name: str,
    summary: str,
    kernel: Kernel,
    slope: Slope | None,
    stablehlo: str | Callable[..., Any],
    *,
    lo: float = 0.3,
    hi: float = 0.9,
    special: tuple[tuple[float, float], ...] = (),
    domain: tuple[float, float] = REALS,
    ulps: float = 2.0,
    conventions: tuple[Convention, ...] = (),
    exact_f32: bool = False,
    ints: bool = False,
    fold: Callable[..., Any] | None = None,
    source: str = "",
) -> Op:
    """Define an op with one float operand.

    Args:
        name: the op's name.
        summary: one line for the documentation.
        kernel: a ufunc, or another function of a NumPy array.
        slope: the derivative, or None where it is zero by definition.
        stablehlo: the StableHLO op of the same meaning, or a rule.
        lo: the least operand for tests, inside the smooth domain.
        hi: the greatest one.
        special: results at signed zeros, infinities and edges. NaN gives NaN.
        domain: the interval outside of which the result is NaN.
        ulps: as in the record.
        conventions: as in the record.
        exact_f32: as in the record.
        ints: as in the record.
        fold: as in the record.
        source: as in the record.
    """
    return define(
        Op(
            name,
            summary,
            ("x",),
            infer=infer_numbers if ints else infer_elementwise,
            kernel=lambda params, types: kernel,
            exact_f32=exact_f32,
            ints=ints,
            elementwise=True,
            partials=None if slope is None else (lambda operands, r, params: slope(operands[0], r),),
            differentiable=slope is not None,
            stablehlo=stablehlo,
            fold=fold,
            samples=(
                Sample(((2, 3),), (), lo, hi),
                Sample(((),), (), lo, hi),
                *(Sample(((2, 3),), (), -9, 9, dtypes=(d,)) for d in INTS if ints),
            ),
            special=(*(((x,), r) for x, r in special), ((NAN,), NAN)),
            domain=(domain,),
            ulps=ulps,
            conventions=conventions,
            source=source,
        )
    )


def binary_op(
    name: str,
    summary: str,
    kernel: Kernel,
    slopes: tuple[PartialSlope | None, PartialSlope | None],
    stablehlo: str | Callable[..., Any],
    *,
    lo: float | tuple[float, float] = 0.3,
    hi: float | tuple[float, float] = 0.9,
    special: tuple[tuple[float, float, float], ...] = (),
    ulps: float = 2.0,
    conventions: tuple[Convention, ...] = (),
    exact_f32: bool = False,
    ints: bool = False,
    fold: Callable[..., Any] | None = None,
    source: str = "",
) -> Op:
    """Define an op with two float operands that broadcast against each other.

    Args:
        name: the op's name.
        summary: one line for the documentation.
        kernel: a ufunc, or another function of two NumPy arrays.
        slopes: the derivative by each operand, None where there is none.
        stablehlo: the StableHLO op of the same meaning, or a rule.
        lo: the least operands for tests, inside the smooth domain: one number, or one for each operand.
        hi: the greatest ones.
        special: ``(x, y, result)`` at signed zeros, infinities, NaN and edges.
        ulps: as in the record.
        conventions: as in the record.
        exact_f32: as in the record.
        ints: as in the record.
        fold: as in the record.
        source: as in the record.
    """

    def partial(slope: PartialSlope | None) -> Callable[..., Any] | None:
        return None if slope is None else lambda operands, r, params: slope(operands[0], operands[1], r)

    return define(
        Op(
            name,
            summary,
            ("x1", "x2"),
            infer=infer_numbers if ints else infer_elementwise,
            kernel=lambda params, types: kernel,
            exact_f32=exact_f32,
            ints=ints,
            elementwise=True,
            partials=(partial(slopes[0]), partial(slopes[1])),
            stablehlo=stablehlo,
            fold=fold,
            samples=(
                *(Sample(s, (), lo, hi) for s in (((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 1)))),
                *(Sample(((2, 3), (3,)), (), -9, 9, dtypes=(d, d)) for d in INTS if ints),
            ),
            special=tuple(((x, y), r) for x, y, r in special),
            domain=(REALS, REALS),
            ulps=ulps,
            conventions=conventions,
            source=source,
        )
    )


def unary_function(op: Op, example: tuple[float, str] | None = None, name: str = "") -> Callable[[object], Value]:
    """The public function of an op with one operand; the example is a number and its result as it prints."""
    also, other = (" or int", "a bool array") if op.ints else ("", "a bool or int array")
    known = known_singles(op)

    def function(x: object) -> Value:
        try:
            r = one(known, x)
            return dispatch.unary(op, x) if r is None else r
        except Exception as e:
            errors.hide_library_frames(e)
            raise

    return _documented(
        function,
        name or op.name,
        example,
        f"""{op.summary}

    Elementwise. A Python number gives a float64 array of rank 0.

    Args:
        x: a float{also} array of any shape, or what ``asarray`` makes one of.

    Returns:
        An array of the same shape and dtype.

    Raises:
        ValueError: for {other}.
    """,
    )


def binary_function(
    op: Op, example: tuple[float, float, str] | None = None, name: str = ""
) -> Callable[[object, object], Value]:
    """The public function of an op with two operands; the example is two numbers and their result as it prints."""
    also, other = (" or int", "two bool arrays") if op.ints else ("", "bool or int arrays alone")
    known = known_pairs(op)

    def function(x1: object, x2: object) -> Value:
        try:
            r = two(known, x1, x2)
            return dispatch.binary(op, x1, x2) if r is None else r
        except Exception as e:
            errors.hide_library_frames(e)
            raise

    return _documented(
        function,
        name or op.name,
        example,
        f"""{op.summary}

    Elementwise, with NumPy's broadcasting. A Python number takes the dtype of the other operand.

    Args:
        x1: a float{also} array, or what ``asarray`` makes one of.
        x2: another one, of the same dtype.

    Returns:
        An array of the broadcast shape.

    Raises:
        ValueError: for different dtypes, {other}, or shapes that do not broadcast.
    """,
    )


def _documented(function: Any, name: str, example: tuple[Any, ...] | None, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    if example is not None:
        *operands, result = example
        call = f"qb.{name}({', '.join(map(str, operands))})"
        doc += f"""
    Example:
        >>> import quabla as qb
        >>> {call}
        Tensor({result}, dtype=float64)
    """
    function.__doc__ = doc
    return errors.hides_library_frames(function)
