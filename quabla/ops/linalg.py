"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.ops.blas import on_one_thread
from quabla.ops.dispatch import Value, apply, promote, weakly
from quabla.ops.eager import LONG_WAY, Found, two
from quabla.ops.into import Into, assigned
from quabla.ops.memo import Memo
from quabla.ops.registry import Kernel, Op, Sample, define
from quabla.ops.rules import align, unbroadcast
from quabla.ops.shaping import RESHAPE, TRANSPOSE
from quabla.ops.types import Params, Shape, TensorType, broadcast_shapes

__all__ = ["MATMUL", "matmul", "swapped"]


def swapped(x: Value) -> Value:
    """``x`` with its last two axes exchanged."""
    n = x.type.ndim
    return apply(TRANSPOSE, (x,), ((*range(n - 2), n - 1, n - 2),))


def product(a: Value, b: Value) -> Value:
    """Matrix product of two values of rank 2 or more."""
    return apply(MATMUL, (a, b))


def as_rows(x: Value) -> Value:
    """A stack of matrices as one tall matrix."""
    return apply(RESHAPE, (x,), ((prod(x.type.shape[:-1]), x.type.shape[-1]),))


def side_by_side(x: Value) -> Value:
    """A stack of matrices as one wide matrix, the matrices in order."""
    *stack, rows, columns = x.type.shape
    n = len(stack)
    x = apply(TRANSPOSE, (x,), ((n, *range(n), n + 1),))
    return apply(RESHAPE, (x,), ((rows, prod(stack) * columns),))


def _infer(types: Sequence[TensorType], params: Params) -> TensorType:
    a, b = types
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"needs two matrices or stacks of matrices, got {a} and {b}")
    if a.dtype is not b.dtype or not a.dtype.is_float:
        raise ValueError(f"needs two arrays of one float dtype, got {a} and {b}")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"{a.shape[-1]} columns of {a} do not meet {b.shape[-2]} rows of {b}")
    try:
        stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(f"the leading axes of {a} and {b} do not broadcast") from None
    return a.with_shape((*stack, a.shape[-2], b.shape[-1]))


def _kernel(params: Params, types: Sequence[TensorType]) -> Kernel:
    """The product; it also takes an array for the result."""
    a, b = types
    result = _infer(types, params).shape
    work = prod(result) * a.shape[-1]
    vector = 1 in (a.shape[-2], b.shape[-1])
    if a.ndim == 2 == b.ndim:
        return on_one_thread(np.matmul, work, by_vector=vector)
    if b.ndim == 2:  # one product of tall matrices instead of many small ones
        rows = (prod(a.shape[:-1]), a.shape[-1])
        return on_one_thread(_as_matrices(result, b.shape[-1], lambda x, y: (x.reshape(rows), y)), work)
    if a.ndim == 2 and b.shape[-1] == 1:  # a matrix times a stack of columns
        columns = (prod(b.shape[:-2]), b.shape[-2])
        return on_one_thread(_as_matrices(result, a.shape[0], lambda x, y: (y.reshape(columns), x.T)), work)
    if a.shape[-1] == 1:
        return np.multiply
    return on_one_thread(np.matmul, a.shape[-1] * a.shape[-2] * b.shape[-1], by_vector=vector)


def _as_matrices(result: Shape, columns: int, factors: Callable[[Any, Any], tuple[Any, Any]]) -> Kernel:
    """A product of stacks as one of the two matrices that ``factors`` makes of them."""

    def run(x: Any, y: Any, out: Any = None) -> Any:
        into = None if out is None else out.reshape(-1, columns)
        return np.matmul(*factors(x, y), into).reshape(result)

    return run


def _into(params: Params, types: Sequence[TensorType]) -> Into:
    run = _kernel(params, types)
    if types[0].dtype is dtypes.float64:
        return Into(run)

    def rounded(x: Any, y: Any, wide_x: Any, wide_y: Any, product: Any, out: Any) -> Any:
        return assigned(run(assigned(x, wide_x), assigned(y, wide_y), product), out)

    return Into(rounded, tuple([t.with_dtype(dtypes.float64) for t in (*types, _infer(types, params))]))


def _left_transpose(ct: Value, operands: Sequence[Value], params: Params) -> Value:
    a, b = operands
    if a.type.ndim == 2 and b.type.ndim > 2:
        return product(side_by_side(ct), swapped(side_by_side(b)))
    return unbroadcast(product(ct, swapped(b)), a.type.shape)


def _right_transpose(ct: Value, operands: Sequence[Value], params: Params) -> Value:
    a, b = operands
    if b.type.ndim == 2 and a.type.ndim > 2:
        return product(swapped(as_rows(a)), as_rows(ct))
    return unbroadcast(product(swapped(a), ct), b.type.shape)


def _batch(xs: Sequence[Value], mapped: Sequence[bool], params: Params) -> Value:
    a, b = xs
    if not mapped[1] and b.type.ndim == 2:
        return apply(RESHAPE, (product(as_rows(a), b),), ((*a.type.shape[:-1], b.type.shape[-1]),))
    if not mapped[0] and a.type.ndim == 2:
        if b.type.ndim == 3 and b.type.shape[-1] == 1:  # a matrix times a mapped column
            size, columns, _ = b.type.shape
            rows = product(apply(RESHAPE, (b,), ((size, columns),)), swapped(a))
            return apply(RESHAPE, (rows,), ((size, a.type.shape[0], 1),))
        return product(a, b)
    return product(*align(xs, mapped))


def _stablehlo(lo: Any, xs: Sequence[Any], node: Any) -> Any:
    a, b = node.operands
    return lo.dot(xs[0], a.type, xs[1], b.type, node.type)


MATMUL: Final = define(
    Op(
        "matmul",
        "Products of the matrices in the last two axes; the leading axes broadcast.",
        ("a", "b"),
        infer=_infer,
        kernel=_kernel,
        into=_into,
        may_alias=False,
        transpose={0: _left_transpose, 1: _right_transpose},
        batch=_batch,
        stablehlo=_stablehlo,
        samples=(
            Sample(((2, 3), (3, 4))),
            Sample(((2, 2, 3), (3, 2))),
            Sample(((2, 3), (2, 3, 1))),
            Sample(((2, 1, 2, 3), (3, 3, 2))),
            Sample(((2, 3, 1), (2, 1, 2))),
        ),
    )
)


@errors.hides_library_frames
def matmul(x1: object, x2: object) -> Value:
    """Matrix product by NumPy's rules.

    Args:
        x1: array-like of rank 1 or more; a vector is a row.
        x2: array-like of rank 1 or more; a vector is a column. Leading axes broadcast.

    Returns:
        The product, without the axis of a vector.

    Raises:
        ValueError: for scalars, bool arrays, different float dtypes, and shapes that do not fit.

    Example:
        >>> import quabla as qb
        >>> qb.matmul(qb.array([[1.0, 2.0], [3.0, 4.0]]), qb.array([1.0, 1.0]))
        Tensor([3., 7.], dtype=float64)
    """
    try:
        r = two(known_products, x1, x2)
        return _matmul(x1, x2) if r is None else r
    except Exception as e:
        errors.hide_library_frames(e)
        raise


def _matmul(x1: object, x2: object) -> Value:
    (a, b), weak = promote("matmul", x1, x2)
    if a.type.ndim > 1 and b.type.ndim > 1:
        return weakly(product(a, b), weak)
    for x in (a, b):
        if x.type.ndim == 0:
            raise ValueError(f"matmul: needs arrays of rank 1 or more, got {x.type}{errors.at_user_line()}")
    row, column = a.type.ndim == 1, b.type.ndim == 1
    n = a.type.shape[-1]
    if (row or column) and n != b.type.shape[0 if column else -2]:
        raise ValueError(f"matmul: the shapes of {a.type} and {b.type} do not fit{errors.at_user_line()}")
    if row:
        a = apply(RESHAPE, (a,), ((1, n),))
    if column:
        b = apply(RESHAPE, (b,), ((n, 1),))
    r = product(a, b)
    *stack, p, q = r.type.shape
    return weakly(apply(RESHAPE, (r,), ((*stack, *(() if row else (p,)), *(() if column else (q,))),)), weak)


def _of_matrices(types: tuple[TensorType, TensorType]) -> Found:
    a, b = types
    fit = a.dtype is b.dtype and a.dtype.is_float and a.ndim > 1 and b.ndim > 1
    return MATMUL.prepared[(), a, b] if fit else LONG_WAY


def _of_vectors(types: tuple[TensorType, TensorType]) -> Found:
    """Also of vectors, for which the kernel of two matrices serves: NumPy takes a vector for a row or a column too."""
    a, b = types
    if a.ndim > 1 and b.ndim > 1:
        return _of_matrices(types)
    if not 1 <= a.ndim <= 2 or not 1 <= b.ndim <= 2 or a.shape[-1] != b.shape[0]:
        return LONG_WAY
    kernel, _ = _of_matrices((a.with_shape((1, *a.shape)[-2:]), b.with_shape((*b.shape, 1)[:2])))
    if kernel is np.matmul and a.ndim == b.ndim:
        kernel = np.dot  # the same sum, without what a ufunc costs
    return kernel, a.with_shape((*a.shape[:-1], *b.shape[1:]))


known_matrices: Final = Memo(_of_matrices)
known_products: Final = Memo(_of_vectors)
