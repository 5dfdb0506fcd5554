"""quabla: a compiler toolkit with a NumPy-like API for scientific machine learning.

Arrays, derivatives of every order, batching and compilation; a traced function becomes a program of the ``qb``
dialect, which lowers to StableHLO and runs on the CPU.
"""

from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any as _Any, Final as _Final

from quabla import tree as tree
from quabla.array import Array, Tensor, TensorView
from quabla.config import config
from quabla.control import cond, fori_loop, scan, while_loop
from quabla.devices import devices
from quabla.dtypes import bool_, dtype, float32, float64, int32, int64
from quabla.errors import (
    QuablaError,
    RetraceLimitError,
    RetraceWarning,
    TracerError,
    UnsupportedOperationError,
    hide_library_frames_in as _hidden,
    hiding_library_frames as _hiding,
)
from quabla.functions.creation import (
    arange,
    array,
    asarray,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from quabla.functions.items import take, take_along_axis
from quabla.functions.math import (
    clip,
    equal,
    exp2,
    gelu,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    mod,
    nan_to_num,
    not_equal,
    reciprocal,
    relu,
    remainder,
    silu,
    square,
)
from quabla.functions.products import (
    cholesky,
    cross,
    diff,
    dot,
    einsum,
    interp,
    kron,
    outer,
    polyval,
    tensordot,
    trapezoid,
)
from quabla.functions.shape import (
    diag,
    diagonal,
    expand_dims,
    flip,
    meshgrid,
    moveaxis,
    pad,
    ravel,
    repeat,
    roll,
    split,
    squeeze,
    stack,
    swapaxes,
    tile,
    trace,
)
from quabla.functions.statistics import all as all, any as any, log_softmax, logsumexp, norm, prod, softmax, std, var
from quabla.jitting import jit
from quabla.ops.casting import astype, stop_gradient
from quabla.ops.elementwise import (
    abs as abs,
    atan2,
    cbrt,
    ceil,
    floor,
    fmod,
    hypot,
    maximum,
    minimum,
    power,
    round as round,
    sign,
    sqrt,
    where,
)
from quabla.ops.indexing import gather, scatter_add
from quabla.ops.linalg import matmul
from quabla.ops.reductions import cumsum, max as max, mean, min as min, sum as sum
from quabla.ops.shaping import broadcast_to, concat, reshape, transpose, tril, triu
from quabla.ops.transcendental import (
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctanh,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    expm1,
    log,
    log1p,
    log2,
    log10,
    sigmoid,
    sin,
    sinh,
    softplus,
    tan,
    tanh,
)
from quabla.runtime import cpu as _cpu  # noqa: F401  # pyright: ignore[reportUnusedImport]  (installs the engine)
from quabla.tracing.graph import TraceTensor
from quabla.tracing.trace import ShapeDtype
from quabla.transforms import regions as _regions  # noqa: F401  # pyright: ignore[reportUnusedImport]  (installs rules)
from quabla.transforms.autodiff import grad, value_and_grad
from quabla.transforms.directional import jvp, vjp
from quabla.transforms.jacobians import hessian, jacobian
from quabla.transforms.vectorize import vmap

if TYPE_CHECKING:
    from quabla import array_api, distributed, linalg, ode, optim, random as random
    from quabla.compiler import Compiler, Executable, Program
    from quabla.functions.sorting import argmax, argmin, argsort, compress, nonzero, searchsorted, sort
    from quabla.functions.systems import solve
    from quabla.io import load, save
    from quabla.ops.cumulative import cumprod
    from quabla.solvers.newton import newton
    from quabla.transforms.custom import custom_jvp, custom_vjp
    from quabla.transforms.remat import checkpoint, remat

#: What most programs do without is imported when it is first asked for.
_LATER: _Final = {
    "Compiler": "compiler",
    "Executable": "compiler",
    "Program": "compiler",
    "array_api": "array_api",
    "solve": "functions.systems",
    "checkpoint": "transforms.remat",
    "custom_jvp": "transforms.custom",
    "custom_vjp": "transforms.custom",
    "argmax": "functions.sorting",
    "argmin": "functions.sorting",
    "argsort": "functions.sorting",
    "compress": "functions.sorting",
    "nonzero": "functions.sorting",
    "searchsorted": "functions.sorting",
    "sort": "functions.sorting",
    "cumprod": "ops.cumulative",
    "distributed": "distributed",
    "linalg": "linalg",
    "load": "io",
    "newton": "solvers.newton",
    "ode": "ode",
    "optim": "optim",
    "random": "random",
    "remat": "transforms.remat",
    "save": "io",
}


@_hiding
def __getattr__(name: str) -> _Any:
    module = _LATER.get(name)
    if module is None:
        from quabla.names import missing as _missing

        raise _missing("quabla", name, __all__)
    from importlib import import_module

    found = import_module(f"quabla.{module}")
    value = found if module == name else getattr(found, name)
    return globals().setdefault(name, _hidden({name: value}).get(name, value))


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


globals().update(_hidden(globals()))

newaxis = None

__version__ = "0.1.0"

# Star imports leave the builtins alone: abs, all, any, max, min, round and sum are attributes only, and so are random,
# tree and the constants.
__all__ = [
    "Array",
    "Compiler",
    "Executable",
    "Program",
    "QuablaError",
    "RetraceLimitError",
    "RetraceWarning",
    "ShapeDtype",
    "Tensor",
    "TensorView",
    "TraceTensor",
    "TracerError",
    "UnsupportedOperationError",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "array",
    "array_api",
    "asarray",
    "astype",
    "atan2",
    "bool_",
    "broadcast_to",
    "cbrt",
    "ceil",
    "checkpoint",
    "cholesky",
    "clip",
    "compress",
    "concat",
    "cond",
    "config",
    "cos",
    "cosh",
    "cross",
    "cumprod",
    "cumsum",
    "custom_jvp",
    "custom_vjp",
    "devices",
    "diag",
    "diagonal",
    "diff",
    "distributed",
    "dot",
    "dtype",
    "einsum",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "flip",
    "float32",
    "float64",
    "floor",
    "fmod",
    "fori_loop",
    "from_dlpack",
    "full",
    "full_like",
    "gather",
    "gelu",
    "grad",
    "greater",
    "greater_equal",
    "hessian",
    "hypot",
    "int32",
    "int64",
    "interp",
    "isfinite",
    "isinf",
    "isnan",
    "jacobian",
    "jit",
    "jvp",
    "kron",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "load",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logsumexp",
    "matmul",
    "maximum",
    "mean",
    "meshgrid",
    "minimum",
    "mod",
    "moveaxis",
    "nan_to_num",
    "newton",
    "nonzero",
    "norm",
    "not_equal",
    "ode",
    "ones",
    "ones_like",
    "optim",
    "outer",
    "pad",
    "polyval",
    "power",
    "prod",
    "ravel",
    "reciprocal",
    "relu",
    "remainder",
    "remat",
    "repeat",
    "reshape",
    "roll",
    "save",
    "scan",
    "scatter_add",
    "searchsorted",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "solve",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "stop_gradient",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "trace",
    "transpose",
    "trapezoid",
    "tril",
    "triu",
    "value_and_grad",
    "var",
    "vjp",
    "vmap",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]
