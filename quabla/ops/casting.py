"""Constants, dtype conversion, and ``stop_gradient``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quabla import dtypes
from quabla.dtypes import dtype
from quabla.ops.dispatch import Value, apply, as_value, cast, full, weakly
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
    return lambda x: x.astype(to)


def _cast_transpose(ct: Value, operands: Sequence[Value], params: Params) -> Value | None:
    to = operands[0].type.dtype
    return cast(ct, to) if to.is_float and ct.type.dtype.is_float else None


def _cast_fold(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    to = params[0]
    if x.type.dtype is to:
        return x
    if x.splat is not None:
        # NaN is true, as any number other than zero.
        return full(x.type.with_dtype(to), x.splat if to.is_float else x.splat != 0)
    return None


def _cast_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    source = node.operands[0].type
    if node.type.dtype is dtypes.bool_ and source.dtype.is_float:
        return lo.compare("NE", xs[0], lo.full(source, 0.0), source)
    return lo.op("stablehlo.convert", node.type, [xs[0]])


CAST: Final = define(
    Op(
        "cast",
        "Convert to another dtype; to bool, every number but zero is true, NaN too.",
        ("x",),
        attributes=(Attribute("dtype", "dtype"),),
        infer=lambda types, params: types[0].with_dtype(params[0]),
        kernel=_cast_kernel,
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


def astype(x: object, dtype: dtype) -> Value:
    """``x`` converted to ``dtype``.

    Args:
        x: array-like.
        dtype: ``quabla.float64``, ``quabla.float32`` or ``quabla.bool_``. To bool, every number but zero is
            true, and so is NaN.

    Raises:
        TypeError: where ``dtype`` is not a quabla dtype.

    Example:
        >>> import quabla as qb
        >>> qb.astype(qb.array([0.0, 0.5]), qb.bool_)
        Tensor([False,  True], dtype=bool)
    """
    to = dtypes.check(dtype, "astype: dtype")
    return apply(CAST, (as_value(x),), (to,))


def stop_gradient(x: object) -> Value:
    """``x`` with derivative zero in every mode.

    Example:
        >>> import quabla as qb
        >>> qb.grad(lambda x: x * qb.stop_gradient(x))(3.0)
        Tensor(3., dtype=float64)
    """
    return apply_weakly(STOP_GRADIENT, as_value(x))
