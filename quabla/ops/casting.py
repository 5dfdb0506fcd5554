"""Constants, dtype conversion, and ``stop_gradient``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.dtypes import dtype
from quabla.ops.dispatch import Value, apply, as_value, cast, full, weakly
from quabla.ops.eager import Known, one
from quabla.ops.into import Into, assigned
from quabla.ops.masking import within_selection
from quabla.ops.memo import Memo
from quabla.ops.registry import Attribute, Convention, Kernel, Op, Sample, define
from quabla.ops.types import Params, TensorType

__all__ = ["CAST", "CONSTANT", "STOP_GRADIENT", "apply_weakly", "astype", "stop_gradient"]


def apply_weakly(op: Op, x: Value, params: Params = ()) -> Value:
    """Apply an op to one value; a weak value stays weak."""
    r = apply(op, (x,), params)
    return weakly(r, x.weak and r.type.dtype is x.type.dtype)


# ---- constants ----------------------------------------------------------------------------------


def _constant_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    array = params[0].array
    return lambda: array


CONSTANT: Final = define(
    Op(
        "constant",
        "A value known while tracing.",
        (),
        attributes=(Attribute("value", "const", "bracket"),),
        infer=lambda types, params: params[0].type,
        kernel=_constant_kernel,
        exact_f32=True,
        differentiable=False,
        stablehlo=lambda lo, xs, node: lo.constant(node.params[0]),
    )
)


# ---- cast and stop_gradient ---------------------------------------------------------------------


def _cast_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    to = params[0].numpy
    if params[0].is_int and types[0].dtype.is_float:
        return lambda x: to_integers(x, to)
    return lambda x: x.astype(to)


def _cast_into(params: Params, types: Sequence[TensorType]) -> Into | None:
    if params[0].is_int and types[0].dtype.is_float:
        return None
    return Into(assigned)


def to_integers(x: Any, to: np.dtype[Any]) -> Any:
    """Floats as integers: rounded towards zero, those out of range to the nearest integer there is, NaN to 0."""
    limits = np.iinfo(to)
    x = x.astype(np.float64)
    inside = (x >= limits.min) & (x < -float(limits.min))
    whole = np.where(inside, x, 0.0).astype(to)
    return np.where(x < limits.min, to.type(limits.min), np.where(x >= -float(limits.min), to.type(limits.max), whole))


def _cast_transpose(ct: Value, operands: Sequence[Value], params: Params) -> Value | None:
    to = operands[0].type.dtype
    return within_selection(ct, lambda x: cast(x, to)) if to.is_float and ct.type.dtype.is_float else None


def _cast_fold(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    to = params[0]
    if x.type.dtype is to:
        return x
    if x.splat is not None:
        if to.is_int and x.type.dtype.is_float:
            return full(x.type.with_dtype(to), to_integers(np.asarray(x.splat), to.numpy).item())
        # NaN is true, as any number other than zero.
        return full(x.type.with_dtype(to), x.splat != 0 if to.is_bool else x.splat)
    return None


def _cast_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    source = node.operands[0].type
    if node.type.dtype.is_bool and not source.dtype.is_bool:
        return lo.compare("NE", xs[0], lo.full(source, 0.0), source)
    if node.type.dtype.is_int and source.dtype.is_float:
        return _integers_stablehlo(lo, xs[0], source, node.type)
    return lo.op("stablehlo.convert", node.type, [xs[0]])


def _integers_stablehlo(lo: Any, x: Any, source: TensorType, to: TensorType) -> Any:
    """``to_integers``: targets differ in what they convert NaN and numbers out of range to."""
    limits = np.iinfo(to.dtype.numpy)
    low, beyond = lo.full(source, float(limits.min)), lo.full(source, -float(limits.min))
    above = lo.compare("GE", x, beyond, source)
    below = lo.compare("LE", x, low, source)
    odd = lo.op(
        "stablehlo.or", above.type, [lo.compare("NE", x, x, source), lo.op("stablehlo.or", above.type, [above, below])]
    )
    whole = lo.op("stablehlo.convert", to, [lo.select(odd, lo.full(source, 0.0), x, source)])
    whole = lo.select(below, lo.full(to, limits.min), whole, to)
    return lo.select(above, lo.full(to, limits.max), whole, to)


CAST: Final = define(
    Op(
        "cast",
        "Convert to another dtype. To bool, every number but zero is true, NaN too; to ints, floats are truncated.",
        ("x",),
        attributes=(Attribute("dtype", "dtype"),),
        infer=lambda types, params: types[0].with_dtype(params[0]),
        kernel=_cast_kernel,
        into=_cast_into,
        exact_f32=True,
        may_alias=False,
        transpose={0: _cast_transpose},
        batch=lambda xs, mapped, params: apply(CAST, (xs[0],), params),
        stablehlo=_cast_stablehlo,
        fold=_cast_fold,
        samples=(
            Sample(((3,),), (dtypes.float32,)),
            Sample(((2, 3),), (dtypes.float64,), dtypes=(dtypes.float32,)),
            Sample(((2, 2),), (dtypes.bool_,)),
            Sample(((3,),), (dtypes.float64,), dtypes=(dtypes.bool_,)),
            Sample(((5,),), (dtypes.int64,), -9.0, 9.0),
            Sample(((5,),), (dtypes.int32,), -9.0, 9.0),
            Sample(((3,),), (dtypes.float64,), -9.0, 9.0, dtypes=(dtypes.int64,)),
            Sample(((3,),), (dtypes.bool_,), -2, 2, dtypes=(dtypes.int32,)),
        ),
    )
)

STOP_GRADIENT: Final = define(
    Op(
        "stop_gradient",
        "The operand, as a constant to every derivative.",
        ("x",),
        infer=lambda types, params: types[0],
        kernel=lambda params, types: lambda x: x,
        exact_f32=True,
        differentiable=False,
        batch=lambda xs, mapped, params: apply(STOP_GRADIENT, (xs[0],)),
        stablehlo=lambda lo, xs, node: xs[0],
        fold=lambda operands, params: operands[0] if operands[0].op is CONSTANT else None,
        samples=(Sample(((3,),)), Sample(((2, 2),), dtypes=(dtypes.bool_,))),
        conventions=(Convention("everywhere", "0", "by definition", (3.0,), (0.0,)),),
    )
)


@errors.hides_library_frames
def astype(x: object, dtype: dtype) -> Value:
    """``x`` converted to ``dtype``.

    Args:
        x: array-like.
        dtype: one of quabla's dtypes. To bool, every number but zero is true, and so is NaN. To ints, floats are
            rounded towards zero; those out of range become the nearest integer there is, and NaN 0. An int64 becomes an
            int32 modulo 2**32.

    Raises:
        TypeError: where ``dtype`` is not a quabla dtype.

    Example:
        >>> import quabla as qb
        >>> qb.astype(qb.array([0.0, 0.5]), qb.bool_)
        Tensor([False,  True], dtype=bool)
    """
    try:
        to = dtypes.check(dtype, "astype: dtype")
        r = one(_known[to], x)
        return apply(CAST, (as_value(x),), (to,)) if r is None else r
    except Exception as e:
        errors.hide_library_frames(e)
        raise


def _to(dtype: dtype) -> Known:
    return Memo(lambda t: CAST.prepared[(dtype,), t])


_known: Final = Memo(_to)


def stop_gradient(x: object) -> Value:
    """``x`` with derivative zero in every mode.

    Example:
        >>> import quabla as qb
        >>> qb.grad(lambda x: x * qb.stop_gradient(x))(3.0)
        Tensor(3., dtype=float64)
    """
    return apply_weakly(STOP_GRADIENT, as_value(x))
