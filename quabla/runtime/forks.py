"""Processes forked from one in which XLA has started, or was about to.

XLA's threads are not there: whoever waits for its programs, or for a lock that one of them held, would wait forever.
"""

from __future__ import annotations

import os
import warnings
from typing import Final

from quabla import errors

__all__ = ["LOST", "process", "warn", "watch"]

#: Why XLA is refused, and what to do.
LOST: Final = (
    "XLA cannot run in a process that was forked from one in which it had started; start processes with the method "
    "'spawn' or 'forkserver' of multiprocessing, or set quabla.config.cpu_engine = 'numpy' before the first compiled call"
)


class _Process:
    """What is known of this process.

    Attributes:
        lost: whether it was forked from one in which XLA had started.
        watched: whether a fork will be noticed.
        warned: whether it was said that the plan runs instead.
    """

    __slots__ = ("lost", "warned", "watched")

    def __init__(self) -> None:
        self.lost = False
        self.watched = False
        self.warned = False


process: Final = _Process()


def watch() -> None:
    """Notice from now on, XLA being about to start, that the process is forked."""
    if not process.watched and hasattr(os, "register_at_fork"):
        process.watched = True
        os.register_at_fork(after_in_child=_lose)


def _lose() -> None:
    process.lost = True


def warn() -> None:
    """Say once that the plan runs in the place of XLA."""
    if not process.warned:
        process.warned = True
        message = f"{LOST}. NumPy's kernels run instead"
        warnings.warn(message, RuntimeWarning, stacklevel=errors.user_stacklevel())
