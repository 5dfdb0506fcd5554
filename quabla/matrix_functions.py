"""Functions of symmetric matrices, through their eigenvalues. The matrices are in the last two axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quabla import errors
from quabla.functions.systems import symmetric_matrices
from quabla.ops import dispatch, reductions
from quabla.ops.casting import STOP_GRADIENT
from quabla.ops.dispatch import Value, apply, cast
from quabla.ops.elementwise import abs as absolute, sqrt
from quabla.ops.factorizations import EIGH_VALUES
from quabla.ops.linalg import swapped
from quabla.ops.rules import with_mapped_axis
from quabla.ops.selection import where
from quabla.ops.shaping import RESHAPE
from quabla.ops.transcendental import log
from quabla.ops.types import TensorType
from quabla.tracing.graph import Body, Graph, current_graph
from quabla.transforms import batching
from quabla.transforms.divided_differences import Scalar
from quabla.transforms.programs import run_cached
from quabla.transforms.spectral import MatrixFunction, SpectralSum
from quabla.transforms.staging import shown
from quabla.transforms.towers import Tower, ascend
from quabla.transforms.wrapper import check_callable

__all__ = ["funm", "logm", "sqrtm", "trace_funm"]


@errors.hiding_library_frames
def funm(a: object, f: Callable[[Any], Any]) -> Value:
    """Functions of symmetric matrices: ``V diag(f(w)) V^T`` for ``a = V diag(w) V^T``.

    Unlike what one computes from the results of ``eigh``, this has derivatives at repeated eigenvalues, of as many orders
    as ``f`` has: they are made of divided differences of ``f``, accurate to rounding near repeated values too. That of
    order k has a tensor of ``n ** (k + 1)`` elements inside. Derivatives are those along symmetric directions, so
    gradients are symmetric. Where ``f`` has one by convention only, such as ``sqrt`` at 0, so has the result.

    Args:
        a: symmetric matrices, ``[..., n, n]``.
        f: called with a rank-0 array in the place of each eigenvalue, returns another; made of quabla's functions. It may
            close over traced values, and the result has derivatives by them.

    Returns:
        The matrices, ``[..., n, n]``; NaN for one that is not finite, and, in a traced program, not symmetric.

    Raises:
        TypeError: an ``f`` that is not a function, or does not return a float array of rank 0.
        ValueError: matrices that are not square; eagerly, one that is not symmetric.

    Source: N. J. Higham, Functions of Matrices (2008), theorem 3.11.

    Example:
        >>> import quabla as qb
        >>> a = qb.array([[2.0, 0.0], [0.0, 2.0]])
        >>> qb.linalg.funm(a, qb.log)
        Tensor([[0.69314718, 0.        ],
                [0.        , 0.69314718]], dtype=float64)
        >>> qb.grad(lambda x: qb.sum(qb.linalg.funm(x, qb.log)))(a)
        Tensor([[0.5, 0.5],
                [0.5, 0.5]], dtype=float64)
    """
    return _applied("funm", MatrixFunction, a, f)


@errors.hiding_library_frames
def trace_funm(a: object, f: Callable[[Any], Any]) -> Value:
    """Traces of functions of symmetric matrices: the sums of ``f`` over the eigenvalues.

    It has derivatives at repeated eigenvalues, of as many orders as ``f`` has. The gradient is ``funm(a, f')``.

    Args:
        a: symmetric matrices, ``[..., n, n]``.
        f: as in ``funm``.

    Returns:
        The sums, ``[...]``; NaN for a matrix that is not finite, and, in a traced program, not symmetric.

    Raises:
        TypeError: an ``f`` that is not a function, or does not return a float array of rank 0.
        ValueError: matrices that are not square; eagerly, one that is not symmetric.

    Example:
        >>> import quabla as qb
        >>> a = qb.array([[2.0, 0.0], [0.0, 2.0]])
        >>> qb.linalg.trace_funm(a, qb.square)
        Tensor(8., dtype=float64)
        >>> qb.grad(lambda x: qb.linalg.trace_funm(x, qb.square))(a)
        Tensor([[4., 0.],
                [0., 4.]], dtype=float64)
    """
    return _applied("trace_funm", SpectralSum, a, f)


@errors.hiding_library_frames
def sqrtm(a: object) -> Value:
    """Square roots of symmetric positive semidefinite matrices: the symmetric positive semidefinite x with ``x x = a``.

    SciPy's of the same name for such matrices. Eigenvalues within rounding of zero count as zero. Derivatives hold at
    repeated eigenvalues; along what changes a zero eigenvalue there is none, and it is 0 as that of ``sqrt`` at 0.

    Args:
        a: symmetric matrices, ``[..., n, n]``.

    Returns:
        The roots; in a traced program NaN for a matrix that has none.

    Raises:
        ValueError: matrices that are not square; eagerly, one that is not symmetric or has a negative eigenvalue.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.sqrtm(qb.array([[2.5, 1.5], [1.5, 2.5]]))
        Tensor([[1.5, 0.5],
                [0.5, 1.5]], dtype=float64)
    """
    v = symmetric_matrices("sqrtm", a)
    if not v.type.size:
        return v
    w = apply(STOP_GRADIENT, (apply(EIGH_VALUES, (v,)),))
    noise = reductions.max(absolute(w), -1, True) * (w.type.shape[-1] * float(np.finfo(w.type.dtype.numpy).eps))
    roots = MatrixFunction(lambda x, p: sqrt(where(absolute(x) <= p[0], 0.0, x)))
    result = _where_symmetric(v, ascend("sqrtm", roots, v, [noise])[0])
    return _checked("sqrtm", v, result, "has a negative eigenvalue, and so no real square root")


@errors.hiding_library_frames
def logm(a: object) -> Value:
    """Logarithms of symmetric positive definite matrices: the symmetric x whose exponential is ``a``.

    SciPy's of the same name for such matrices. Derivatives hold at repeated eigenvalues.

    Args:
        a: symmetric matrices, ``[..., n, n]``.

    Returns:
        The logarithms; in a traced program not finite for a matrix that has none.

    Raises:
        ValueError: matrices that are not square; eagerly, one that is not symmetric or not positive definite.

    Example:
        >>> import quabla as qb
        >>> qb.linalg.logm(qb.eye(2))
        Tensor([[0., 0.],
                [0., 0.]], dtype=float64)
    """
    v = symmetric_matrices("logm", a)
    result = _where_symmetric(v, ascend("logm", MatrixFunction(lambda x, p: log(x)), v)[0])
    return _checked("logm", v, result, "is not positive definite, and so has no real logarithm")


# ---- what these share ----------------------------------------------------------------------------------


def _applied(name: str, tower: Callable[[Scalar], Tower], a: object, f: Callable[[Any], Any]) -> Value:
    """The result of a tower that is made of a user's function."""
    check_callable(f, name)
    v = symmetric_matrices(name, a)
    body, parameters = _scalar(name, f, v.type)

    def run(bodies: Sequence[Body], values: Sequence[Value]) -> Value:
        return ascend(name, tower(_elementwise(*bodies)), values[0], values[1:])[0]

    if dispatch.emitters.graphs:
        return _where_symmetric(v, run([body], [v, *parameters]))
    return run_cached((name,), [body], [v, *parameters], run)


def _scalar(name: str, f: Callable[[Any], Any], like: TensorType) -> tuple[Body, list[Value]]:
    """The body of a user's function of a number, and what it closes over.

    Raises:
        TypeError: where it does not return a number.
    """
    number = like.with_shape(())
    graph = Graph([number])
    with graph:
        (x,) = graph.args
        out = f(x)
        if not (dispatch.is_value(out) or dispatch.is_number(out)):
            raise TypeError(f"{name}: f must return a rank-0 array, got {shown(out)}{errors.at_user_line()}")
        y = dispatch.as_value(out)
        fits = y.type is number or dispatch.is_number(out) or (y.weak and y.type.dtype.is_float)
        if y.type.shape != () or not fits:
            raise TypeError(f"{name}: f must return {number} for {number}, got {y.type}{errors.at_user_line()}")
        graph.finish([cast(y, number.dtype)])
    return graph.body(), list(graph.captures)


def _elementwise(body: Body) -> Scalar:
    """A body of a number, and of what it closes over, as a function of arrays."""

    def elementwise(x: Value, parameters: Sequence[Value]) -> Value:
        flat = apply(RESHAPE, (x,), ((x.type.size,),))
        values = map(current_graph().lift, (flat, *parameters))
        (out,), (mapped,) = batching.vmap(body, dict(zip(body.args, values, strict=True)), {body.args[0]})
        return apply(RESHAPE, (with_mapped_axis(out, mapped, x.type.size),), (x.type.shape,))

    return elementwise


def _where_symmetric(a: Value, result: Value) -> Value:
    """``result``, NaN for the matrices of a traced stack that are not symmetric to rounding."""
    if not (a.traced and a.type.size):
        return result
    slack = 100.0 * float(np.finfo(a.type.dtype.numpy).eps) * reductions.max(absolute(a), (-2, -1))
    good = reductions.max(absolute(a - swapped(a)), (-2, -1)) <= slack
    return where(
        apply(RESHAPE, (good,), ((*good.type.shape, *(1,) * (result.type.ndim - good.type.ndim)),)), result, np.nan
    )


def _checked(name: str, a: Value, result: Value, refusal: str) -> Value:
    """``result``, unless a finite matrix that is not traced has none.

    Raises:
        ValueError: for such a matrix.
    """
    if not result.traced and np.isfinite(a.data).all() and not np.isfinite(result.data).all():
        raise ValueError(f"{name}: the matrix {refusal}{errors.at_user_line()}")
    return result
