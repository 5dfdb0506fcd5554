"""Dense linear algebra over the last two axes; leading axes are batches. Solvers without a matrix: ``cg``, ``gmres``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quabla.errors import hide_library_frames_in as _hidden, hiding_library_frames as _hiding
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

if TYPE_CHECKING:
    from quabla.solvers.cg import cg
    from quabla.solvers.gmres import gmres

__all__ = [
    "EighResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cg",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "gmres",
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
globals().update(_hidden(globals()))


@_hiding
def __getattr__(name: str) -> Any:
    """The iterative solvers, which most programs do without."""
    if name not in ("cg", "gmres"):
        from quabla.names import missing

        raise missing("quabla.linalg", name, __all__)
    from importlib import import_module

    globals().update(_hidden({name: getattr(import_module(f"quabla.solvers.{name}"), name)}))
    return globals()[name]
