"""The ops that only move data, from reshape to triu, and the names of ``quabla.ops.casting``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, prod
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.ops.arguments import array_list, axis_index, shape_tuple, static_ints
from quabla.ops.casting import CAST, CONSTANT, STOP_GRADIENT, apply_weakly, astype, stop_gradient
from quabla.ops.dispatch import Value, apply, as_value, full
from quabla.ops.eager import is_tensor, with_elements
from quabla.ops.into import Into, assigned
from quabla.ops.masking import moved
from quabla.ops.registry import REGISTRY, Attribute, Kernel, Op, Sample, define
from quabla.ops.rules import mapped_size, unbroadcast, with_mapped_axis, zeros
from quabla.ops.types import Params, Shape, TensorType, tensor_type

__all__ = [
    "BROADCAST",
    "CAST",
    "CONCAT",
    "CONSTANT",
    "PAD",
    "RESHAPE",
    "STOP_GRADIENT",
    "TRANSPOSE",
    "TRIL",
    "TRIU",
    "apply_weakly",
    "astype",
    "broadcast_to",
    "concat",
    "pad_zeros",
    "reshape",
    "stop_gradient",
    "transpose",
    "tril",
    "triu",
]


# ---- reshape ------------------------------------------------------------------------------------


def _reshape_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    (t,) = types
    shape = params[0]
    if min(shape, default=0) < 0 or prod(shape) != t.size:
        raise ValueError(f"cannot give {t}, which has {t.size} elements, the shape {list(shape)}")
    return t.with_shape(shape)


def _reshape_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    shape = params[0]
    return lambda x: x.reshape(shape)


def _reshape_fold(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    if x.type.shape == params[0]:
        return x
    if x.splat is not None:
        return full(x.type.with_shape(params[0]), x.splat)
    if x.op is RESHAPE:
        return apply(RESHAPE, x.operands, params)
    return None


RESHAPE: Final = define(
    Op(
        "reshape",
        "The elements in row-major order under another shape.",
        ("x",),
        attributes=(Attribute("shape", "shape"),),
        infer=_reshape_infer,
        kernel=_reshape_kernel,
        exact_f32=True,
        transpose={
            0: lambda ct, operands, params: moved(ct, lambda x: apply(RESHAPE, (x,), (operands[0].type.shape,)))
        },
        batch=lambda xs, mapped, params: apply(RESHAPE, (xs[0],), ((xs[0].type.shape[0], *params[0]),)),
        stablehlo=lambda lo, xs, node: lo.reshape(xs[0], node.type),
        fold=_reshape_fold,
        samples=(
            Sample(((2, 3),), ((6,),)),
            Sample(((4,),), ((2, 1, 2),)),
            Sample(((1,),), ((),)),
            Sample(((2, 2),), ((4,),), dtypes=(dtypes.bool_,)),
        ),
    )
)


def reshape(x: Any, shape: Any) -> Value:
    """``x`` with its elements in row-major order under another shape.

    Args:
        x: array-like.
        shape: an int or a sequence of ints; one of them may be -1 and follows from the others.

    Raises:
        ValueError: where the number of elements differs.

    Example:
        >>> import quabla as qb
        >>> qb.reshape(qb.array([1.0, 2.0, 3.0, 4.0]), (2, -1)).shape
        [2, 2]
    """
    if is_tensor(x) and shape.__class__ is tuple:
        try:
            array = x.data.reshape(shape)
        except (TypeError, ValueError):
            pass  # what follows says what is wrong
        else:
            if min(shape, default=0) >= -1:  # NumPy takes any negative extent for -1
                return with_elements(x, array)
    v = as_value(x)
    target = shape_tuple("reshape", shape)
    if -1 in target:
        known = prod(n for n in target if n != -1)
        if target.count(-1) > 1 or known <= 0 or v.type.size % known:
            raise ValueError(
                f"reshape: cannot give {v.type}, which has {v.type.size} elements, the shape {list(target)}"
                f"{errors.at_user_line()}"
            )
        target = tuple([v.type.size // known if n == -1 else n for n in target])
    return apply_weakly(RESHAPE, v, (target,))


def reshaped(x: Value, shape: Sequence[int]) -> Value:
    """``x`` with a shape that is known to fit."""
    return with_elements(x, x.data.reshape(shape)) if is_tensor(x) else apply_weakly(RESHAPE, x, (tuple(shape),))


# ---- broadcast ----------------------------------------------------------------------------------


#: Up to this size a copy is made faster than a view with strides of 0.
FEW_ELEMENTS: Final = 4096


def _broadcast_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    (t,) = types
    shape = params[0]
    lead = len(shape) - t.ndim
    if lead < 0 or any(n not in (1, m) for n, m in zip(t.shape, shape[lead:], strict=True)):
        raise ValueError(f"{t} does not broadcast to the shape {list(shape)}")
    return t.with_shape(shape)


def _broadcast_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    shape = params[0]
    if prod(shape) > FEW_ELEMENTS:
        return lambda x: np.broadcast_to(x, shape)
    dtype = types[0].dtype.numpy

    def fill(x: Any) -> Any:
        out = np.empty(shape, dtype)
        out[...] = x
        return out

    return fill


def _broadcast_into(params: Params, types: Sequence[TensorType]) -> Into | None:
    return None if prod(params[0]) > FEW_ELEMENTS else Into(assigned)


def _broadcast_batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    size, *rest = xs[0].type.shape
    fill = len(params[0]) - len(rest)
    x = apply(RESHAPE, (xs[0],), ((size, *(1,) * fill, *rest),)) if fill else xs[0]
    return apply(BROADCAST, (x,), ((size, *params[0]),))


def _without_leading_ones(shape: Shape) -> Shape:
    i = 0
    while i < len(shape) and shape[i] == 1:
        i += 1
    return shape[i:]


def _broadcast_fold(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    shape = params[0]
    if x.type.shape == shape:
        return x
    if x.splat is not None:
        return full(x.type.with_shape(shape), x.splat)
    if x.op is BROADCAST:
        return apply(BROADCAST, x.operands, params)
    if x.op is RESHAPE:
        inner = x.operands[0].type.shape
        if len(inner) <= len(shape) and _without_leading_ones(inner) == _without_leading_ones(x.type.shape):
            return apply(BROADCAST, x.operands, params)
    return None


BROADCAST: Final = define(
    Op(
        "broadcast",
        "Repeat along new leading axes and along axes of extent 1.",
        ("x",),
        attributes=(Attribute("shape", "shape"),),
        infer=_broadcast_infer,
        kernel=_broadcast_kernel,
        into=_broadcast_into,
        exact_f32=True,
        transpose={0: lambda ct, operands, params: unbroadcast(ct, operands[0].type.shape)},
        batch=_broadcast_batch,
        stablehlo=lambda lo, xs, node: lo.broadcast(xs[0], node.operands[0].type, node.type.shape),
        fold=_broadcast_fold,
        samples=(
            Sample(((3,),), ((2, 3),)),
            Sample(((2, 1),), ((4, 2, 3),)),
            Sample(((),), ((2, 2),)),
            Sample(((1, 2),), ((3, 2),), dtypes=(dtypes.bool_,)),
        ),
    )
)


def broadcast_to(x: object, shape: object) -> Value:
    """``x`` repeated along new leading axes and along axes of extent 1 until it has ``shape``.

    Raises:
        ValueError: where it does not broadcast to that shape.

    Example:
        >>> import quabla as qb
        >>> qb.broadcast_to(qb.array([1.0, 2.0]), (2, 2)).tolist()
        [[1.0, 2.0], [1.0, 2.0]]
    """
    return apply_weakly(BROADCAST, as_value(x), (shape_tuple("broadcast_to", shape),))


# ---- transpose ----------------------------------------------------------------------------------


def _transpose_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    (t,) = types
    axes = params[0]
    if sorted(axes) != list(range(t.ndim)):
        raise ValueError(f"axes {list(axes)} are not a permutation of the {t.ndim} axes of {t}")
    return t.with_shape(tuple([t.shape[i] for i in axes]))


def _transpose_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    axes = params[0]
    return lambda x: x.transpose(axes)


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    inverse = [0] * len(axes)
    for i, a in enumerate(axes):
        inverse[a] = i
    return tuple(inverse)


def _transpose_fold(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    axes = params[0]
    if axes == tuple(range(len(axes))):
        return x
    if x.splat is not None:
        return full(x.type.with_shape(tuple([x.type.shape[i] for i in axes])), x.splat)
    if x.op is TRANSPOSE:
        return apply(TRANSPOSE, x.operands, (tuple([x.params[0][i] for i in axes]),))
    return None


TRANSPOSE: Final = define(
    Op(
        "transpose",
        "Permute the axes: axis i of the result is axis axes[i] of the operand.",
        ("x",),
        attributes=(Attribute("axes", "ints"),),
        infer=_transpose_infer,
        kernel=_transpose_kernel,
        exact_f32=True,
        transpose={0: lambda ct, operands, params: moved(ct, lambda x: apply(TRANSPOSE, (x,), (_inverse(params[0]),)))},
        batch=lambda xs, mapped, params: apply(TRANSPOSE, (xs[0],), ((0, *(i + 1 for i in params[0])),)),
        stablehlo=lambda lo, xs, node: lo.op("stablehlo.transpose", node.type, [xs[0]], permutation=node.params[0]),
        fold=_transpose_fold,
        samples=(
            Sample(((2, 3),), ((1, 0),)),
            Sample(((2, 3, 4),), ((2, 0, 1),)),
            Sample(((2, 3),), ((1, 0),), dtypes=(dtypes.bool_,)),
        ),
    )
)


def transpose(x: Any, axes: object = None) -> Value:
    """``x`` with its axes permuted.

    Args:
        x: array-like.
        axes: axis i of the result is axis ``axes[i]`` of ``x``; None reverses the axes.

    Raises:
        ValueError: where ``axes`` is not a permutation.

    Example:
        >>> import quabla as qb
        >>> qb.transpose(qb.array([[1.0, 2.0]])).shape
        [2, 1]
    """
    if axes is None and is_tensor(x):
        return with_elements(x, x.data.T)
    v = as_value(x)
    rank = v.type.ndim
    if axes is None:
        order = tuple(range(rank - 1, -1, -1))
    else:
        order = static_ints("transpose: axes", axes)
        order = tuple([i + rank if -rank <= i < 0 else i for i in order])
    return apply_weakly(TRANSPOSE, v, (order,))


# ---- concat -------------------------------------------------------------------------------------


def _concat_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    axis = params[0]
    if not types:
        raise ValueError("needs at least one array")
    first = types[0]
    if not 0 <= axis < first.ndim:
        raise ValueError(f"axis {axis} is out of range for {first}")
    for t in types[1:]:
        if t.dtype is not first.dtype:
            raise ValueError(f"operands have dtypes {first.dtype!r} and {t.dtype!r}")
        if t.ndim != first.ndim or any(
            i != axis and n != m for i, (n, m) in enumerate(zip(t.shape, first.shape, strict=True))
        ):
            raise ValueError(f"{first} and {t} differ in more than axis {axis}")
    shape = first.shape
    return first.with_shape((*shape[:axis], sum([t.shape[axis] for t in types]), *shape[axis + 1 :]))


def _concat_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    axis = params[0]
    return lambda *xs: np.concatenate(xs, axis)


def _concat_into(params: Params, types: Sequence[TensorType]) -> Into:
    axis = params[0]
    return Into(lambda *arrays: np.concatenate(arrays[:-1], axis, arrays[-1]))


def _concat_transpose(
    ct: Value, operands: Sequence[Value], active: Sequence[bool], params: Params
) -> list[Value | None]:
    axis = params[0]
    out: list[Value | None] = []
    start = 0
    for x, a in zip(operands, active, strict=True):
        n = x.type.shape[axis]
        piece = (axis, start if n else 0, n, 1)
        out.append(moved(ct, lambda v, p=piece: apply(REGISTRY["slice"], (v,), p)) if a else None)
        start += n
    return out


def _concat_batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    size = mapped_size(xs, mapped)
    full_rank = [with_mapped_axis(x, m, size) for x, m in zip(xs, mapped, strict=True)]
    return apply(CONCAT, tuple(full_rank), (params[0] + 1,))


CONCAT: Final = define(
    Op(
        "concat",
        "Join arrays along an axis.",
        ("*operands",),
        attributes=(Attribute("axis", "int", "trailing"),),
        infer=_concat_infer,
        kernel=_concat_kernel,
        into=_concat_into,
        exact_f32=True,
        may_alias=False,
        transpose=_concat_transpose,
        joint=True,
        batch=_concat_batch,
        stablehlo=lambda lo, xs, node: lo.op("stablehlo.concatenate", node.type, list(xs), dimension=node.params[0]),
        fold=lambda operands, params: operands[0] if len(operands) == 1 else None,
        samples=(
            Sample(((2,), (3,)), (0,)),
            Sample(((2, 1), (2, 2), (2, 3)), (1,)),
            Sample(((1, 2), (2, 2)), (0,), dtypes=(dtypes.bool_, dtypes.bool_)),
        ),
    )
)


@errors.hides_library_frames
def concat(matrices: object, axis: object) -> Value:
    """Arrays joined along an axis that they have.

    Args:
        matrices: a sequence of arrays of one rank, equal in every other axis.
        axis: the axis to join along.

    Raises:
        TypeError: where an element is not an array.
        ValueError: for an empty sequence, different float dtypes, or shapes that do not fit.

    Example:
        >>> import quabla as qb
        >>> qb.concat([qb.ones(1), qb.zeros(2)], axis=0).tolist()
        [1.0, 0.0, 0.0]
    """
    try:
        values = array_list("concat", matrices)
        i = axis_index("concat", axis, values[0].type.ndim)
        return apply(CONCAT, tuple(values), (i,))
    except Exception as e:
        errors.hide_library_frames(e)
        raise


# ---- pad ----------------------------------------------------------------------------------------


def _pad_infer(types: Sequence[TensorType], params: Params) -> TensorType:
    (t,) = types
    low, high, interior = params
    if not len(low) == len(high) == len(interior) == t.ndim:
        raise ValueError(
            f"{t} needs {t.ndim} widths, got low {list(low)}, high {list(high)}, interior {list(interior)}"
        )
    if min((*low, *high, *interior), default=0) < 0:
        raise ValueError(
            f"widths must not be negative, got low {list(low)}, high {list(high)}, interior {list(interior)}"
        )
    extents = zip(t.shape, low, high, interior, strict=True)
    return t.with_shape(tuple([a + n + b + k * max(n - 1, 0) for n, a, b, k in extents]))


def _pad_kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    t = _pad_infer(types, params)
    window = _window(params, types)

    def kernel(x: Any) -> Any:
        out = np.zeros(t.shape, x.dtype)
        out[window] = x
        return out

    return kernel


def _pad_into(params: Params, types: Sequence[TensorType]) -> Into:
    window = _window(params, types)

    def run(x: Any, out: Any) -> Any:
        out.fill(0)
        out[window] = x
        return out

    return Into(run)


def _window(params: Params, types: Sequence[TensorType]) -> tuple[slice, ...]:
    """Where the operand of a pad is in its result."""
    low, _, interior = params
    extents = zip(types[0].shape, low, interior, strict=True)
    return tuple([slice(a, a + (n - 1) * (k + 1) + 1 if n else a, k + 1) for n, a, k in extents])


def _pad_transpose(ct: Value, operands: Sequence[Value], params: Params) -> Value:
    low, high, interior = params
    for axis, n in enumerate(operands[0].type.shape):
        if low[axis] or high[axis] or interior[axis]:
            window = (axis, low[axis] if n else 0, n, interior[axis] + 1)
            ct = moved(ct, lambda x, p=window: apply(REGISTRY["slice"], (x,), p))
    return ct


def is_zero(x: Value) -> bool:
    """Whether ``x`` is a constant whose elements are all False or +0.0, which padding writes."""
    return x.splat is not None and x.splat == 0 and copysign(1, x.splat) > 0


def _pad_fold(operands: Sequence[Value], params: Params) -> Value | None:
    (x,) = operands
    if not any(map(any, params)):
        return x
    if is_zero(x):
        return zeros(_pad_infer((x.type,), params))
    return None


def _pad_stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    low, high, interior = node.params
    zero = lo.full(tensor_type((), node.type.dtype), 0)
    widths = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    return lo.op("stablehlo.pad", node.type, [xs[0], zero], **widths)


PAD: Final = define(
    Op(
        "pad",
        "Zeros (False) before, after and between the elements along each axis.",
        ("x",),
        attributes=(Attribute("low", "ints"), Attribute("high", "ints"), Attribute("interior", "ints")),
        infer=_pad_infer,
        kernel=_pad_kernel,
        into=_pad_into,
        exact_f32=True,
        may_alias=False,
        transpose={0: _pad_transpose},
        batch=lambda xs, mapped, params: apply(PAD, (xs[0],), tuple([(0, *widths) for widths in params])),
        stablehlo=_pad_stablehlo,
        fold=_pad_fold,
        samples=(
            Sample(((3,),), ((1,), (2,), (0,))),
            Sample(((2, 3),), ((0, 1), (1, 0), (0, 2))),
            Sample(((2, 2),), ((1, 0), (0, 0), (1, 1)), dtypes=(dtypes.bool_,)),
        ),
    )
)


def pad_zeros(x: Value, widths: Sequence[tuple[int, int]]) -> Value:
    """``x`` with zeros (False) before and after each axis: one pair of widths for each."""
    return apply_weakly(PAD, x, (tuple([w[0] for w in widths]), tuple([w[1] for w in widths]), (0,) * x.type.ndim))


# ---- triangles ----------------------------------------------------------------------------------


def _triangle(name: str, summary: str, kernel: Callable[[Any], Any], direction: str) -> Op:
    def infer(types: Sequence[TensorType], params: Params) -> TensorType:
        (t,) = types
        if t.ndim < 2:
            raise ValueError(f"needs a matrix or a stack of matrices, got {t}")
        return t

    def of_same_kind(x: Value) -> Value:
        return apply(op, (x,))

    def stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
        t = node.type
        index = t if t.dtype.is_float else t.with_dtype(dtypes.float32)
        inside = lo.compare(direction, lo.iota(index, t.ndim - 1), lo.iota(index, t.ndim - 2), index)
        return lo.select(inside, xs[0], lo.full(t, 0), t)

    op = Op(
        name,
        summary,
        ("x",),
        infer=infer,
        kernel=lambda params, types: kernel,
        exact_f32=True,
        may_alias=False,
        transpose={0: lambda ct, operands, params: moved(ct, of_same_kind)},
        batch=lambda xs, mapped, params: of_same_kind(xs[0]),
        stablehlo=stablehlo,
        fold=lambda operands, params: operands[0] if operands[0].op is op or is_zero(operands[0]) else None,
        samples=(Sample(((3, 3),)), Sample(((2, 2, 3),)), Sample(((3, 2),), dtypes=(dtypes.bool_,))),
    )
    return define(op)


TRIL: Final = _triangle("tril", "The lower triangles of matrices; zero above the diagonal.", np.tril, "LE")
TRIU: Final = _triangle("triu", "The upper triangles of matrices; zero below the diagonal.", np.triu, "GE")


def tril(x: object) -> Value:
    """The lower triangle of a matrix, or of each matrix of a stack.

    Raises:
        ValueError: for rank 0 and 1.

    Example:
        >>> import quabla as qb
        >>> qb.tril(qb.ones((2, 2))).tolist()
        [[1.0, 0.0], [1.0, 1.0]]
    """
    return apply_weakly(TRIL, as_value(x))


def triu(x: object) -> Value:
    """The upper triangle of a matrix, or of each matrix of a stack.

    Raises:
        ValueError: for rank 0 and 1.

    Example:
        >>> import quabla as qb
        >>> qb.triu(qb.ones((2, 2))).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    return apply_weakly(TRIU, as_value(x))
