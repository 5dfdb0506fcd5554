"""How eager arrays print: NumPy's default style, with the dtype always shown.

The text does not depend on ``numpy.set_printoptions``, so it is the same in every program.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

__all__ = ["array_text"]

_WIDTH: Final = 75
_STYLE: Final[dict[str, Any]] = {
    "precision": 8,
    "threshold": 1000,
    "edgeitems": 3,
    "linewidth": _WIDTH,
    "suppress": False,
    "nanstr": "nan",
    "infstr": "inf",
    "sign": "-",
    "floatmode": "maxprec",
    "formatter": None,
    "legacy": False,
}


def array_text(name: str, array: np.ndarray[Any, Any]) -> str:
    """The text of an array, such as ``Tensor([1., 2.], dtype=float64)``.

    Args:
        name: what stands before the parenthesis.
        array: an array of one of quabla's dtypes; more than 1000 elements are summarised.
    """
    prefix = f"{name}("
    if array.size == 0:
        body = "[]" if array.ndim == 1 else f"[], shape={array.shape}"
    elif array.ndim == 0 and array.dtype == np.bool_:
        body = f"{bool(array)!s:>5}"  # as wide as an element of a longer array
    else:
        with np.printoptions(**_STYLE):
            body = np.array2string(array, separator=", ", prefix=prefix, suffix=")")
    text = f"{prefix}{body},"
    dtype = f"dtype={array.dtype.name})"
    last = len(text) - (text.rfind("\n") + 1)
    if last + 1 + len(dtype) > _WIDTH:
        return f"{text}\n{' ' * len(prefix)}{dtype}"
    return f"{text} {dtype}"
