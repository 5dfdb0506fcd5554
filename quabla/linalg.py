"""Dense linear algebra over the last two axes; leading axes are batches."""

from __future__ import annotations

from quabla.errors import hide_library_frames_in
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

globals().update(hide_library_frames_in({name: globals()[name] for name in __all__}))
