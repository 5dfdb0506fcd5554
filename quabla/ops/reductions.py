"""Reductions over axes, and running sums.

Sums of float32 values accumulate in float64 and round each result once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from math import nan, prod
from typing import Any, Final, TypeVar

import numpy as np

from quabla import dtypes, errors
from quabla.ops.arguments import axis_index, axis_set
from quabla.ops.dispatch import Value, apply, cast, float_operand, full, scalar
from quabla.ops.eager import LONG_WAY, Found, Known, one, takes
from quabla.ops.into import Into, assigned
from quabla.ops.masking import added, moved, within_selection
from quabla.ops.memo import Memo
from quabla.ops.records import INTS
from quabla.ops.registry import Attribute, Convention, Kernel, Op, Sample, define
from quabla.ops.rules import zeros
from quabla.ops.shaping import BROADCAST, RESHAPE, apply_weakly, is_zero, reshaped
from quabla.ops.types import Params, Shape, TensorType

__all__ = ["CUMSUM", "MAX", "MEAN", "MIN", "SUM", "cumsum", "max", "mean", "min", "sum"]

AXES: Final = (Attribute("axis", "axes"),)
#: Extrema name their axes even where they are all of the operand's.
NAMED_AXES: Final = (Attribute("axis", "axes", default=()),)


def kept(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """``shape`` with extent 1 at the reduced axes."""
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def count(shape: Shape, axes: tuple[int, ...]) -> int:
    """How many elements each result takes in."""
    return prod([shape[a] for a in axes])


def spread(x: Value, t: TensorType, axes: tuple[int, ...]) -> Value:
    """A reduced value repeated along the reduced axes of ``t``."""

    def repeat(v: Value) -> Value:
        return apply(BROADCAST, (apply(RESHAPE, (v,), (kept(t.shape, axes),)),), (t.shape,))

    return moved(x, repeat)


def _reduced(types: Sequence[TensorType], params: Params) -> TensorType:
    (t,) = types
    axes = params[0]
    if sorted(set(axes)) != list(axes) or not all(0 <= a < t.ndim for a in axes):
        raise ValueError(f"axes {list(axes)} are not distinct axes of {t} in order")
    return t.with_shape(tuple([n for i, n in enumerate(t.shape) if i not in axes]))


def _infer_sum(types: Sequence[TensorType], params: Params) -> TensorType:
    if types[0].dtype.is_bool:
        raise ValueError(f"needs a float or int array, got {types[0]}")
    return _reduced(types, params)


def _infer_mean(types: Sequence[TensorType], params: Params) -> TensorType:
    if not types[0].dtype.is_float:
        raise ValueError(f"needs a float array, got {types[0]}")
    return _reduced(types, params)


def _infer_extremum(types: Sequence[TensorType], params: Params) -> TensorType:
    r = _reduced(types, params)
    if r.size and not count(types[0].shape, params[0]):
        raise ValueError(f"no elements along axes {list(params[0])} of {types[0]}")
    return r


def _fold(*, splat_survives: bool) -> Callable[[Sequence[Value], Params], Value | None]:
    def fold(operands: Sequence[Value], params: Params) -> Value | None:
        (x,) = operands
        axes = params[0]
        if not axes:
            return x
        n = count(x.type.shape, axes)
        if x.splat is not None and n and (splat_survives or is_zero(x)):
            return full(_reduced((x.type,), params), x.splat)
        if n == 1 and all(x.type.shape[a] == 1 for a in axes):
            return apply(RESHAPE, (x,), (_reduced((x.type,), params).shape,))
        return None

    return fold


def _batch(op: Callable[[], Op]) -> Callable[..., Value]:
    return lambda xs, mapped, params: apply(op(), (xs[0],), (tuple([a + 1 for a in params[0]]),))


# ---- sum and mean -------------------------------------------------------------------------------


def _one_each(types: Sequence[TensorType], params: Params) -> bool:
    """Whether every result is one element as it is, the sign of a zero kept."""
    return all(types[0].shape[a] == 1 for a in params[0])


def _first_element(types: Sequence[TensorType], params: Params) -> Kernel:
    shape = _reduced(types, params).shape
    return lambda x: x.reshape(shape).copy()


def _sum_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    axes = params[0]
    if _one_each(types, params):
        return _first_element(types, params)
    reduce = np.add.reduce
    if types[0].dtype is dtypes.float32:
        return lambda x: reduce(x, axes, np.float64).astype(np.float32)
    if types[0].dtype is dtypes.int32:
        return lambda x: reduce(x, axes, np.int32)
    return lambda x: reduce(x, axes)


def _mean_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    axes = params[0]
    if _one_each(types, params):
        return _first_element(types, params)
    n = np.float64(count(types[0].shape, axes))
    reduce = np.add.reduce
    if types[0].dtype is dtypes.float32:
        return lambda x: (reduce(x, axes, np.float64) / n).astype(np.float32)
    return lambda x: reduce(x, axes) / n


def _sum_into(params: Params, types: Sequence[TensorType], divisor: int | None) -> Into:
    """A sum, or a mean, into an array."""
    axes = params[0]
    result = _reduced(types, params)
    if _one_each(types, params):
        return Into(lambda x, out: assigned(x.reshape(result.shape), out))
    reduce, n = np.add.reduce, None if divisor is None else np.float64(divisor)
    wide = types[0].dtype is dtypes.float32

    def run(x: Any, *arrays: Any) -> Any:
        total, out = arrays[0], arrays[-1]  # one array unless the sum is rounded
        reduce(x, axes, total.dtype, total)
        if n is not None:
            return np.divide(total, n, out)
        return assigned(total, out) if wide else out

    return Into(run, (result.with_dtype(dtypes.float64),) if wide else ())


def _sum_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    axes = node.params[0]
    return lo.reduce("add", xs[0], node.operands[0].type, axes, node.type) if axes else xs[0]


def _mean_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    n = count(node.operands[0].type.shape, node.params[0])
    return lo.div(node.type, _sum_stablehlo(lo, xs, node), lo.full(node.type, float(n)))


def _mean_transpose(ct: Value, operands: Sequence[Value], params: Params) -> Value:
    t = operands[0].type
    n = count(t.shape, params[0])
    return spread(within_selection(ct, lambda x: x / float(n)), t, params[0]) if n else zeros(t)


_SAMPLES: Final = (
    Sample(((3,),), ((0,),)),
    Sample(((2, 3),), ((0, 1),)),
    Sample(((2, 3, 2),), ((0, 2),)),
    Sample(((2, 3),), ((1,),)),
)

_INT_SAMPLES: Final = tuple(Sample(((2, 3),), ((1,),), -9, 9, dtypes=(d,)) for d in INTS)

SUM: Final = define(
    Op(
        "sum",
        "Sum over axes.",
        ("x",),
        ints=True,
        attributes=AXES,
        infer=_infer_sum,
        kernel=_sum_kernel,
        into=lambda params, types: _sum_into(params, types, None),
        exact_f32=True,
        may_alias=False,
        transpose={0: lambda ct, operands, params: spread(ct, operands[0].type, params[0])},
        batch=_batch(lambda: SUM),
        stablehlo=_sum_stablehlo,
        fold=_fold(splat_survives=False),
        samples=(*_SAMPLES, *_INT_SAMPLES),
    )
)

MEAN: Final = define(
    Op(
        "mean",
        "Arithmetic mean over axes.",
        ("x",),
        attributes=AXES,
        infer=_infer_mean,
        kernel=_mean_kernel,
        into=lambda params, types: _sum_into(params, types, count(types[0].shape, params[0])),
        exact_f32=True,
        may_alias=False,
        transpose={0: _mean_transpose},
        batch=_batch(lambda: MEAN),
        stablehlo=_mean_stablehlo,
        fold=_fold(splat_survives=False),
        samples=_SAMPLES,
    )
)


# ---- max and min --------------------------------------------------------------------------------


def _extremum_jvp(missing: str) -> Callable[..., Value | None]:
    """The mean of the tangents of the elements that attain the result, so that ties share the derivative equally.

    Where the result is NaN every element has the derivative NaN.

    Args:
        missing: how the elements that do not attain the result compare with it; none does with NaN.
    """

    def jvp(operands: Sequence[Value], tangents: Sequence[Value | None], result: Value, params: Params) -> Value | None:
        from quabla.ops.elementwise import COMPARE, WHERE

        (x,) = operands
        (tangent,) = tangents
        if tangent is None:
            return None
        t = x.type
        missed = apply(COMPARE, (x, spread(result, t, params[0])), (missing,))
        total = apply(SUM, (apply(WHERE, (missed, zeros(t), tangent)),), params)
        ties = float(count(t.shape, params[0])) - apply(SUM, (cast(missed, t.dtype),), params)
        undefined = apply(COMPARE, (result, result), ("not_equal",))
        return total / apply(WHERE, (undefined, scalar(nan, t.dtype), ties))

    return jvp


def _extremum(name: str, summary: str, ufunc: np.ufunc, stablehlo: str, missing: str) -> Op:
    def kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
        axes = params[0]
        return lambda x: ufunc.reduce(x, axes)

    def lower(lo: Any, xs: Sequence[Any], node: Any) -> Any:
        axes = node.params[0]
        return lo.reduce(stablehlo, xs[0], node.operands[0].type, axes, node.type) if axes else xs[0]

    op = Op(
        name,
        summary,
        ("x",),
        ints=True,
        attributes=NAMED_AXES,
        infer=_infer_extremum,
        kernel=kernel,
        into=lambda params, types: Into(lambda x, out: ufunc.reduce(x, params[0], None, out)),
        exact_f32=True,
        may_alias=False,
        jvp=_extremum_jvp(missing),
        batch=_batch(lambda: op),
        stablehlo=lower,
        fold=_fold(splat_survives=True),
        samples=(*_SAMPLES, *_INT_SAMPLES, Sample(((2, 3),), ((1,),), dtypes=(dtypes.bool_,))),
        conventions=(
            Convention("several extreme elements", "equal shares", "agrees with maximum and minimum"),
            Convention("a NaN among the elements", "NaN for all", "which of them is extreme is unknown"),
        ),
    )
    return define(op)


MAX: Final = _extremum(
    "max", "The largest element along axes; NaN if there is one. Of bools: any.", np.maximum, "maximum", "less"
)
MIN: Final = _extremum(
    "min", "The smallest element along axes; NaN if there is one. Of bools: all.", np.minimum, "minimum", "greater"
)


# ---- cumsum -------------------------------------------------------------------------------------


def _cumsum_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    (t,) = types
    if t.dtype.is_bool:
        raise ValueError(f"needs a float or int array, got {t}")
    if not 0 <= params[0] < t.ndim:
        raise ValueError(f"axis {params[0]} is out of range for {t}")
    return t


def _cumsum_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    axis, reverse = params
    accumulate = np.add.accumulate
    result = types[0].dtype.numpy
    total = np.float64 if types[0].dtype.is_float else result
    if reverse:
        backwards = (*(slice(None),) * axis, slice(None, None, -1))
        return lambda x: accumulate(x[backwards], axis, total)[backwards].astype(result, copy=False)
    return lambda x: accumulate(x, axis, total).astype(result, copy=False)


def _cumsum_into(params: Params, types: Sequence[TensorType]) -> Into | None:
    if types[0].dtype is dtypes.float32:
        return None
    axis, reverse = params
    way = (*(slice(None),) * axis, slice(None, None, -1 if reverse else 1))

    def run(x: Any, out: Any) -> Any:
        np.add.accumulate(x[way], axis, out.dtype, out[way])
        return out

    return Into(run)


def _cumsum_fold(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    return x if x.type.shape[params[0]] <= 1 or is_zero(x) else None


def _cumsum_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    # One window over all that came before: XLA turns it into a scan by blocks, linear in the length.
    axis, reverse = node.params
    t = node.type
    n = t.shape[axis]
    if n <= 1:
        return xs[0]
    window = [1] * t.ndim
    low, high = [0] * t.ndim, [0] * t.ndim
    window[axis] = n
    (high if reverse else low)[axis] = n - 1
    return lo.reduce_window("add", xs[0], t, tuple(window), tuple(low), tuple(high), t)


CUMSUM: Final = define(
    Op(
        "cumsum",
        "Running sums along an axis, from its end if reverse.",
        ("x",),
        ints=True,
        attributes=(Attribute("axis", "int"), Attribute("reverse", "bool")),
        infer=_cumsum_infer,
        kernel=_cumsum_kernel,
        into=_cumsum_into,
        exact_f32=True,
        may_alias=False,
        transpose={
            0: lambda ct, operands, params: added(ct, lambda x: apply(CUMSUM, (x,), (params[0], not params[1])))
        },
        batch=lambda xs, mapped, params: apply(CUMSUM, (xs[0],), (params[0] + 1, params[1])),
        stablehlo=_cumsum_stablehlo,
        fold=_cumsum_fold,
        samples=(
            Sample(((4,),), (0, False)),
            Sample(((2, 3),), (1, True)),
            Sample(((3, 2),), (0, False)),
            *(Sample(((2, 3),), (1, False), -9, 9, dtypes=(d,)) for d in INTS),
        ),
    )
)


# ---- public functions ---------------------------------------------------------------------------

F = TypeVar("F", bound=Callable[..., Any])

_ARGUMENTS: Final = {
    "x": "array-like.",
    "axis": "an axis, several, or None for all.",
    "keepdims": "keep the reduced axes with extent 1.",
    "ddof": (
        "the sum of squares is divided by the number of elements less ``ddof``; where that leaves nothing, the result\n"
        "        is infinite or NaN."
    ),
}


def over_axes(*refused: str) -> Callable[[F], F]:
    """Document the arguments and errors that reductions share, in front of the example.

    Args:
        refused: what else is a ValueError than an axis that does not exist.
    """

    def document(function: F) -> F:
        code: Any = function.__code__  # pyright: ignore[reportFunctionMemberAccess]
        names = code.co_varnames[: code.co_argcount]
        arguments = "".join(f"    {name}: {_ARGUMENTS[name]}\n" for name in names)
        text, example, rest = inspect.cleandoc(function.__doc__ or "").partition("Example:")
        function.__doc__ = (
            f"{text}Args:\n{arguments}\nRaises:\n"
            f"    ValueError: for {', '.join(refused)}, and axes that do not exist or are given twice.\n\n"
            f"{example}{rest}\n"
        )
        return function

    return document


def reducible(name: str, x: object, axis: object, *, ints: bool = False) -> tuple[Value, tuple[int, ...]]:
    """A float array, or one of ints where ``ints`` allows them, and the axes to reduce it over.

    Raises:
        ValueError: for arrays of other dtypes, and axes that do not exist or are given twice.
    """
    v = float_operand(name, x, ints=ints)
    return v, axis_set(name, axis, v.type.ndim)


def _reduction(op: Op, x: object, axis: object, keepdims: bool) -> Value:
    v, axes = reducible(op.name, x, axis, ints=op.ints)
    r = apply_weakly(op, v, (axes,))
    return reshaped(r, kept(v.type.shape, axes)) if keepdims else r


def _at_once(op: Op) -> Callable[[F], F]:
    """Give a reduction the short way for Tensors."""

    def along(axis: int | None) -> Known:
        def work_out(type: TensorType) -> Found:
            return op.prepared[(axis_set(op.name, axis, type.ndim),), type] if takes(op, type.dtype) else LONG_WAY

        return Memo(work_out)

    known = Memo(along)

    def decorated(long: Any) -> Any:
        @wraps(long)
        def function(x: object, axis: Any = None, keepdims: bool = False) -> Value:
            try:
                if (axis is None or axis.__class__ is int) and not keepdims:
                    r = one(known[axis], x)
                    if r is not None:
                        return r
                return long(x, axis, keepdims)
            except Exception as e:
                errors.hide_library_frames(e)
                raise

        return errors.hides_library_frames(function)

    return decorated


@_at_once(SUM)
@over_axes("bool arrays")
def sum(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """The sum over axes; float32 values are added in float64 and the result rounded once, ints keep their dtype.

    Example:
        >>> import quabla as qb
        >>> qb.sum(qb.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
        Tensor([4., 6.], dtype=float64)
    """
    return _reduction(SUM, x, axis, keepdims)


@_at_once(MEAN)
@over_axes("bool arrays")
def mean(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """The arithmetic mean over axes; NaN of no elements.

    Example:
        >>> import quabla as qb
        >>> qb.mean(qb.array([1.0, 2.0, 6.0]))
        Tensor(3., dtype=float64)
    """
    return _reduction(MEAN, x, axis, keepdims)


@_at_once(MAX)
@over_axes("bool arrays", "no elements")
def max(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """The largest element along axes, NaN if there is one. Ties share the derivative equally.

    Example:
        >>> import quabla as qb
        >>> qb.grad(qb.max)(qb.array([2.0, -1.0, 2.0]))
        Tensor([0.5, 0. , 0.5], dtype=float64)
    """
    return _reduction(MAX, x, axis, keepdims)


@_at_once(MIN)
@over_axes("bool arrays", "no elements")
def min(x: object, axis: object = None, keepdims: bool = False) -> Value:
    """The smallest element along axes, NaN if there is one. Ties share the derivative equally.

    Example:
        >>> import quabla as qb
        >>> qb.min(qb.array([[1.0, 2.0], [3.0, 0.0]]), axis=1)
        Tensor([1., 0.], dtype=float64)
    """
    return _reduction(MIN, x, axis, keepdims)


def cumsum(x: object, axis: object = None, reverse: bool = False) -> Value:
    """Running sums along an axis.

    Args:
        x: array-like.
        axis: the axis; None flattens first.
        reverse: sum from the end of the axis.

    Raises:
        ValueError: for bool arrays and axes that do not exist.

    Example:
        >>> import quabla as qb
        >>> qb.cumsum(qb.array([1.0, 2.0, 3.0]))
        Tensor([1., 3., 6.], dtype=float64)
    """
    v = float_operand("cumsum", x, ints=True)
    if axis is None:
        v = reshaped(v, (v.type.size,))
        axis = 0
    return apply_weakly(CUMSUM, v, (axis_index("cumsum", axis, v.type.ndim), bool(reverse)))
