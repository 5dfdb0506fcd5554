"""Comparison and selection: what decides between values elementwise, and the only elementwise ops on bool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.ops.dispatch import Value, apply, as_value, binary, is_number, number_like, promote, scalar, weakly
from quabla.ops.eager import LONG_WAY, Found, three
from quabla.ops.into import Into
from quabla.ops.masking import chosen, negated, selected
from quabla.ops.memo import Memo
from quabla.ops.records import INF, INTS, NAN, REALS, STEP, binary_function, check_one_dtype, infer_elementwise, listed
from quabla.ops.registry import Attribute, Convention, Kernel, Op, Sample, define
from quabla.ops.rules import unbroadcast
from quabla.ops.types import Params, TensorType, broadcast_shapes

__all__ = ["COMPARE", "GREATER", "WHERE", "choose", "compare", "gt", "test", "where"]

KINDS: Final = {
    "less": (np.less, "LT"),
    "less_equal": (np.less_equal, "LE"),
    "greater": (np.greater, "GT"),
    "greater_equal": (np.greater_equal, "GE"),
    "equal": (np.equal, "EQ"),
    "not_equal": (np.not_equal, "NE"),
}


def _infer_compare(types: Sequence[TensorType], params: Params) -> TensorType:
    kind = params[0]
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind}")
    check_one_dtype(types)
    if types[0].dtype.is_bool and kind not in ("equal", "not_equal"):
        raise ValueError(f"{kind} needs float or int operands, got {listed(types)}")
    return types[0].with_shape(broadcast_shapes(*[t.shape for t in types])).with_dtype(dtypes.bool_)


def _compare_stablehlo(lo: Any, xs: Sequence[Any], node: Any, kind: str = "") -> Any:
    a, b = node.operands
    shape = node.type.shape
    x, y = lo.broadcast(xs[0], a.type, shape), lo.broadcast(xs[1], b.type, shape)
    return lo.compare(KINDS[kind or node.params[0]][1], x, y, a.type.with_shape(shape))


COMPARE: Final = define(
    Op(
        "compare",
        "A comparison, as bool; NaN is unequal to everything.",
        ("x1", "x2"),
        attributes=(Attribute("kind", "str"),),
        infer=_infer_compare,
        kernel=lambda params, types: KINDS[params[0]][0],
        exact_f32=True,
        elementwise=True,
        differentiable=False,
        stablehlo=_compare_stablehlo,
        samples=(
            *(Sample(((2, 3), (3,)), (kind,)) for kind in KINDS),
            Sample(((2, 3), (2, 3)), ("equal",), dtypes=(dtypes.bool_, dtypes.bool_)),
            Sample(((3,), ()), ("not_equal",), dtypes=(dtypes.bool_, dtypes.bool_)),
            *(Sample(((2, 3), (3,)), (kind,), -4, 4, dtypes=(d, d)) for kind in ("less", "equal") for d in INTS),
        ),
        special=(((-0.0, 0.0), 0.0), ((NAN, 1.0), 0.0), ((1.0, NAN), 0.0), ((-INF, INF), 1.0), ((INF, INF), 0.0)),
        domain=(REALS, REALS),
        ulps=0,
        conventions=STEP,
    )
)


def _greater_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    to = types[0].dtype.numpy
    return lambda x, y: np.greater(x, y).astype(to)


GREATER: Final = define(
    Op(
        "greater",
        "1 where the first operand is greater, else 0, in the dtype of the operands.",
        ("x1", "x2"),
        infer=infer_elementwise,
        kernel=_greater_kernel,
        into=lambda params, types: Into(np.greater),
        exact_f32=True,
        elementwise=True,
        differentiable=False,
        stablehlo=lambda lo, xs, node: lo.op(
            "stablehlo.convert", node.type, [_compare_stablehlo(lo, xs, node, "greater")]
        ),
        samples=(Sample(((2, 3), (2, 3))), Sample(((2, 3), ()))),
        special=(((0.0, -0.0), 0.0), ((NAN, 1.0), 0.0), ((1.0, NAN), 0.0), ((INF, 1.0), 1.0), ((1.0, 1.0), 0.0)),
        domain=(REALS, REALS),
        ulps=0,
        conventions=STEP,
    )
)


def _infer_where(types: Sequence[TensorType], params: Params) -> TensorType:
    mask, *branches = types
    if mask.dtype is not dtypes.bool_:
        raise ValueError(f"the mask must be bool, got {mask}")
    check_one_dtype(branches)
    return branches[0].with_shape(broadcast_shapes(*[t.shape for t in types]))


def _fold_where(operands: Sequence[Value], params: Params) -> Value | None:
    mask, x, y = operands
    type = _infer_where([v.type for v in operands], params)
    if mask.splat is not None or x is y:
        chosen = x if mask.splat or x is y else y
        return chosen if chosen.type is type else _broadcast(chosen, type)
    if x.splat is True and y.splat is False and mask.type is type:
        return mask
    if mask.op is WHERE and mask.operands[1].splat is False and mask.operands[2].splat is True:
        negated = mask.operands[0]
        return apply(WHERE, (negated, y, x)) if negated.type is mask.type else None
    return None


def _broadcast(x: Value, type: TensorType) -> Value:
    from quabla.ops.shaping import BROADCAST

    return apply(BROADCAST, (x,), (type.shape,))


def _where_jvp(
    operands: Sequence[Value], tangents: Sequence[Value | None], result: Value, params: Params
) -> Value | None:
    mask, (_, x, y) = operands[0], tangents
    if x is None:
        return None if y is None else selected(negated(mask), y, result.type)
    return selected(mask, x, result.type) if y is None else chosen(mask, x, y)


def _where_transpose(branch: int) -> Callable[..., Any]:
    def transpose(ct: Value, operands: Sequence[Value], params: Params) -> Value:
        mask = operands[0] if branch == 1 else negated(operands[0])
        return unbroadcast(selected(mask, ct, ct.type), operands[branch].type.shape)

    return transpose


WHERE: Final = define(
    Op(
        "where",
        "The second operand where the first is true, else the third; only what is selected has a derivative.",
        ("mask", "on_true", "on_false"),
        infer=_infer_where,
        kernel=lambda params, types: np.where,
        exact_f32=True,
        elementwise=True,
        jvp=_where_jvp,
        transpose={1: _where_transpose(1), 2: _where_transpose(2)},
        joint=True,
        stablehlo="stablehlo.select",
        fold=_fold_where,
        samples=(
            Sample(((2, 3), (2, 3), (2, 3)), dtypes=(dtypes.bool_, dtypes.float64, dtypes.float64)),
            Sample(((3,), (), (2, 3)), dtypes=(dtypes.bool_, dtypes.float64, dtypes.float64)),
            Sample(((2,), (2,), (2,)), dtypes=(dtypes.bool_, dtypes.bool_, dtypes.bool_)),
            *(Sample(((2, 3), (3,), ()), (), -4, 4, dtypes=(dtypes.bool_, d, d)) for d in INTS),
        ),
        special=(((True, 1.0, NAN), 1.0), ((False, NAN, -0.0), -0.0), ((True, -INF, 0.0), -INF)),
        domain=((False, True), REALS, REALS),
        ulps=0,
        conventions=(
            Convention(
                "what is not selected",
                "0",
                "nothing of the other operand gets through, however infinite its derivative",
                (True, 2.0, NAN),
                (0.0, 1.0, 0.0),
            ),
        ),
    )
)


def compare(lhs: Any, rhs: Any, kind: str) -> Value:
    """A comparison, elementwise, as a bool array.

    Args:
        lhs: an array, or what ``asarray`` makes one of.
        rhs: another one. Two bool arrays can only be ``equal`` or ``not_equal``.
        kind: ``equal``, ``not_equal``, ``less``, ``less_equal``, ``greater`` or ``greater_equal``.

    Raises:
        ValueError: for different float or int dtypes, or shapes that do not broadcast.
    """
    if _is_bool(lhs) and _is_bool(rhs):
        return apply(COMPARE, (as_value(lhs), as_value(rhs)), (kind,))
    return binary(COMPARE, lhs, rhs, (kind,), kind, ints=True)


def _is_bool(x: Any) -> bool:
    """Whether ``x`` is a bool array."""
    return not is_number(x) and as_value(x).type.dtype.is_bool


@errors.hides_library_frames
def where(mask: object, on_true: Any, on_false: Any) -> Value:
    """``on_true`` where ``mask`` holds, else ``on_false``, elementwise.

    A derivative goes to the selected branch only, and none to the mask.

    Args:
        mask: a bool array, or one of numbers, which holds where it is not 0.
        on_true: an array or a number; two numbers give float64.
        on_false: another one.

    Raises:
        ValueError: for different float or int dtypes, or shapes that do not broadcast.

    Example:
        >>> import quabla as qb
        >>> qb.where(qb.array([True, False]), qb.array([1.0, 2.0]), 0.0)
        Tensor([1., 0.], dtype=float64)
    """
    try:
        r = three(_known, mask, on_true, on_false)
        return _where(mask, on_true, on_false) if r is None else r
    except Exception as e:
        errors.hide_library_frames(e)
        raise


def _where(mask: object, on_true: Any, on_false: Any) -> Value:
    m = as_value(mask)
    if not m.type.dtype.is_bool:
        m = test(m, "not_equal", 0.0)
    if _all_bool(on_true, on_false):
        x, y = (scalar(v, dtypes.bool_) if is_number(v) else as_value(v) for v in (on_true, on_false))
        return apply(WHERE, (m, x, y))
    (x, y), weak = promote("where", on_true, on_false, ints=True)
    r = apply(WHERE, (m, x, y))
    return weakly(r, True) if weak else r


def _work_out(types: tuple[TensorType, ...]) -> Found:
    mask, x, y = types
    return WHERE.prepared[((), *types)] if mask.dtype.is_bool and x.dtype is y.dtype else LONG_WAY


_known: Final = Memo(_work_out)


def _all_bool(*branches: Any) -> bool:
    """Whether all are bool and at least one is an array."""
    some = False
    for v in branches:
        if is_number(v):
            if not isinstance(v, (bool, np.bool_)):
                return False
        elif _is_bool(v):
            some = True
        else:
            return False
    return some


gt: Final = binary_function(GREATER, name="gt")


def test(x: Value, kind: str, y: Value) -> Value:
    """A comparison without promotion, for formulas: a number takes the dtype of ``x``."""
    if isinstance(y, (int, float)):
        y = number_like(x, y)
    return apply(COMPARE, (x, y), (kind,))


def choose(mask: Value, x: Value, y: Value) -> Value:
    """``where`` without promotion, for formulas: a number takes the dtype of the other branch."""
    if isinstance(x, (int, float)):
        x = number_like(y, x)
    elif isinstance(y, (int, float)):
        y = number_like(x, y)
    return apply(WHERE, (mask, x, y))
