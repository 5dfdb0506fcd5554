"""Dense linear algebra over the last two axes; leading axes are batches. Solvers without a matrix: ``cg``, ``gmres``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
    from quabla.matrix_functions import funm, logm, sqrtm, trace_funm
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
    "funm",
    "gmres",
    "inv",
    "logm",
    "lstsq",
    "matrix_power",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "sqrtm",
    "svd",
    "trace_funm",
]
#: What most programs do without, and the modules that have it.
_LATER: Final = {
    "quabla.matrix_functions": ("funm", "logm", "sqrtm", "trace_funm"),
    "quabla.solvers.cg": ("cg",),
    "quabla.solvers.gmres": ("gmres",),
}
globals().update(_hidden(globals()))


@_hiding
def __getattr__(name: str) -> Any:
    """What is imported when it is first asked for."""
    module = next((m for m, names in _LATER.items() if name in names), None)
    if module is None:
        from quabla.names import missing

        raise missing("quabla.linalg", name, __all__)
    from importlib import import_module

    globals().update(_hidden({name: getattr(import_module(module), name)}))
    return globals()[name]
