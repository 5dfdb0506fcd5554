"""Dense linear algebra over the last two axes; leading axes are batches."""

from __future__ import annotations

from quabla.functions.norms import norm
from quabla.functions.spectral import EighResult, QRResult, SVDResult, eigh, qr, svd
from quabla.functions.systems import (
    LstsqResult,
    SlogdetResult,
    cho_solve,
    cholesky,
    det,
    inv,
    lstsq,
    matrix_power,
    pinv,
    slogdet,
    solve,
    solve_triangular,
)

__all__ = [
    "EighResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "inv",
    "lstsq",
    "matrix_power",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
]
