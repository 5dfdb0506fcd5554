"""Exceptions and warnings, and the user's own file and line for their messages."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Final

__all__ = [
    "QuablaError",
    "RetraceLimitError",
    "RetraceWarning",
    "TracerError",
    "UnsupportedOperationError",
]


class QuablaError(Exception):
    """Base class of the errors that only this library raises."""


class TracerError(QuablaError, TypeError):
    """A traced (symbolic) value was used where a concrete one is needed, or outside its trace."""


class UnsupportedOperationError(QuablaError, ValueError, NotImplementedError):
    """A program cannot be lowered to, or run on, a target.

    Attributes:
        op: the operation or dtype that is not supported, if there is one.
        device: the target that does not support it.
    """

    def __init__(self, message: str, *, op: str | None = None, device: str | None = None) -> None:
        super().__init__(message)
        self.op = op
        self.device = device


class RetraceLimitError(QuablaError, ValueError):
    """Kept for programs that catch it; a full trace cache now evicts and warns instead."""


class RetraceWarning(UserWarning):
    """A trace was evicted from a full cache: a later call with its signature will trace again."""


# ---- the user's line ----------------------------------------------------------------------------

#: A place in a user's program: a code object and the index of an instruction in it. Decoding a line
#: number costs more than recording an op, so it is left until somebody asks.
Location = tuple[CodeType, int]

_PACKAGE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_ours: dict[str, bool] = {}


def is_library_file(filename: str) -> bool:
    """Whether a code object's file belongs to the package."""
    known = _ours.get(filename)
    if known is None:
        known = _ours[filename] = os.path.abspath(filename).startswith(_PACKAGE)
    return known


def user_location(depth: int = 1) -> Location | None:
    """The innermost frame that does not belong to the package, starting ``depth`` frames up."""
    try:
        frame = sys._getframe(depth + 1)  # pyright: ignore[reportPrivateUsage]
    except ValueError:
        return None
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        ours = _ours.get(name)
        if ours is None:
            ours = is_library_file(name)
        if not ours:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def file_and_line(location: Location | tuple[str, int]) -> tuple[str, int]:
    """The file name and line number of a location, which may be decoded already."""
    code, index = location
    if isinstance(code, str):
        return code, index
    for k, (line, _, _, _) in enumerate(code.co_positions()):
        if 2 * k >= index and line is not None:
            return code.co_filename, line
    return code.co_filename, code.co_firstlineno


def at(location: Location | tuple[str, int] | None) -> str:
    """A location as the tail of a message: ``" (model.py:12)"``, empty where it is unknown."""
    if location is None:
        return ""
    name, line = file_and_line(location)
    return f" ({name}:{line})"


def at_user_line() -> str:
    """The caller's user line as the tail of a message."""
    return at(user_location(1))
