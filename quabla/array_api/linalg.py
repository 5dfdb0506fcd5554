"""The standard's extension for linear algebra, over ``quabla.linalg``."""

from __future__ import annotations

from typing import Any

from quabla import dtypes, linalg
from quabla.array_api.manipulation import matrix_transpose, vecdot
from quabla.functions import shape as shapes
from quabla.functions.products import cross as _cross, outer, tensordot
from quabla.functions.shape import diagonal as _diagonal, trace as _trace
from quabla.linalg import cholesky as _cholesky, det, eigh, inv, matrix_power, pinv, slogdet, solve
from quabla.ops import reductions
from quabla.ops.arguments import axis_set
from quabla.ops.dispatch import Value, as_value, cast
from quabla.ops.linalg import matmul
from quabla.ops.shaping import reshaped
from quabla.ops.types import Shape

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
    "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip


def cholesky(x: Any, /, *, upper: bool = False) -> Value:
    """``quabla.linalg.cholesky``, or its transpose."""
    lower = _cholesky(x)
    return matrix_transpose(lower) if upper else lower


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Value:
    """``quabla.cross`` along one axis."""
    return _cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Value:
    """The diagonals of the matrices in the last two axes."""
    return _diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Value:
    """The sums of the diagonals of the matrices in the last two axes."""
    v = as_value(x)
    return _trace(v if dtype is None else cast(v, dtype), offset, -2, -1)


def eigvalsh(x: Any, /) -> Value:
    """The eigenvalues of symmetric matrices, in ascending order."""
    return eigh(x).eigenvalues


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """``quabla.linalg.qr``."""
    return linalg.qr(x, mode)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """``quabla.linalg.svd``, by default with square factors."""
    return linalg.svd(x, full_matrices)


def svdvals(x: Any, /) -> Value:
    """The singular values, in descending order."""
    return linalg.svd(x, compute_uv=False)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Value:
    """Norms of the matrices in the last two axes."""
    return linalg.norm(x, ord, (-2, -1), keepdims)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Value:
    """How many singular values exceed ``rtol`` times the largest, as int64."""
    v = as_value(x)
    s = svdvals(v)
    if rtol is None:
        eps = {dtypes.float64: 2.0**-52, dtypes.float32: 2.0**-23}[v.type.dtype]
        rtol = max(v.type.shape[-2:]) * eps
    bound = reductions.max(s, -1, keepdims=True) * shapes.expand_dims(rtol, -1)
    return reductions.sum(cast(s > bound, dtypes.int64), -1)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Value:
    """Norms of vectors along axes; several axes count as one, and None as all."""
    v = as_value(x)
    axes = axis_set("vector_norm", axis, v.type.ndim)
    rest = [i for i in range(v.type.ndim) if i not in axes]
    shape: Shape = v.type.shape
    moved = shapes.moveaxis(v, axes, range(len(rest), v.type.ndim))
    r = linalg.norm(reshaped(moved, (*[shape[i] for i in rest], reductions.count(shape, axes))), ord, -1)
    return reshaped(r, [1 if i in axes else n for i, n in enumerate(shape)]) if keepdims else r
