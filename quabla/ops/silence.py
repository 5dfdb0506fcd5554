"""Running kernels without NumPy's warnings of floating-point errors.

Nothing raises or warns for a number outside a function's domain. ``np.errstate`` sees to that in about a microsecond,
which is longer than a kernel needs for a few numbers. NumPy keeps the state in a context variable, so writing the
variable does the same at a fifth of the cost.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

__all__ = ["restore", "silence"]


def _portable() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    def silence() -> np.errstate:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def restore(state: np.errstate) -> None:
        state.__exit__(None, None, None)

    return silence, restore


def _direct() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    from numpy._core import umath

    variable: Any = umath._extobj_contextvar  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue, reportPrivateUsage]
    ignoring: Any = umath._make_extobj(all="ignore")  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue, reportPrivateUsage]
    return partial(variable.set, ignoring), variable.reset


def _chosen() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """The direct way if this NumPy has it and it does what it should, else ``np.errstate``."""
    try:
        silence, restore = _direct()
    except (ImportError, AttributeError, TypeError):
        return _portable()
    token = silence()
    silent = set(np.geterr().values()) == {"ignore"}
    restore(token)
    return (silence, restore) if silent else _portable()


_pair: Final = _chosen()
#: From here on NumPy neither warns nor raises, in this thread and context. Gives what ``restore`` takes.
silence: Final = _pair[0]
#: Undo ``silence``; belongs into a ``finally`` clause.
restore: Final = _pair[1]
