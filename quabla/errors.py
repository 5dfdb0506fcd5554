"""Exceptions and warnings, and the user's own file and line in their messages and tracebacks."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from types import CodeType, FunctionType, TracebackType
from typing import Any, Final, ParamSpec, TypeVar

from quabla.config import config

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
    """A trace was evicted from a full cache: a later call with its signature will trace again.

    A function warns at its first eviction, and then each time their number has doubled.
    """


# ---- the user's line ----------------------------------------------------------------------------

#: A place in a user's program: a code object and the index of an instruction in it. Decoding a line
#: number costs more than recording an op, so it is left until somebody asks.
Location = tuple[CodeType, int]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any])

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


def user_stacklevel() -> int:
    """The ``stacklevel`` at which a warning of the caller points at the user's line."""
    level = 1
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    return level


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
    return f" ({place(location)})"


def place(location: Location | tuple[str, int]) -> str:
    """A location as text, such as ``model.py:12``."""
    name, line = file_and_line(location)
    return f"{name}:{line}"


def at_user_line() -> str:
    """The caller's user line as the tail of a message."""
    return at(user_location(1))


def hide_library_frames(error: Exception) -> None:
    """Leave only the user's frames in the traceback of an exception that is about to leave the package.

    A message of the package's own that does not say where in the user's program it happened is told.

    For the ``except`` clause around a call of a user's function; a bare ``raise`` must follow, since that adds no
    frame of its own.
    """
    frames: list[TracebackType] = []
    ours = False
    tb = error.__traceback__
    while tb is not None:
        ours = is_library_file(tb.tb_frame.f_code.co_filename)
        if not ours:
            frames.append(tb)
        tb = tb.tb_next
    if ours and isinstance(error, _LOCATED):
        here = (frames[-1].tb_frame.f_code, frames[-1].tb_lasti) if frames else user_location(1)
        _locate(error, here)
    if config.full_tracebacks:
        return
    kept = None
    for tb in reversed(frames):
        kept = TracebackType(kept, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    error.__traceback__ = kept


#: The exceptions that the package raises with messages of its own.
_LOCATED: Final = (QuablaError, TypeError, ValueError, IndexError, AttributeError, RuntimeError)


def _locate(error: Exception, location: Location | None) -> None:
    """Add the user's line to a message that names none."""
    if location is not None and len(error.args) == 1 and isinstance(error.args[0], str):
        message = error.args[0]
        if not re.search(r":\d+\)", message):
            error.args = (message + at(location),)


def hiding_library_frames(fun: Callable[_P, _R]) -> Callable[_P, _R]:
    """``fun`` with the package's frames hidden from what it raises; calls that must be fast have the clause itself."""
    known = _hiding.get(fun)
    if known is not None:
        return known

    @wraps(fun)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return fun(*args, **kwargs)
        except Exception as e:
            hide_library_frames(e)
            raise

    _hiding[fun] = _hiding[call] = call
    return call


def hides_library_frames(fun: _F) -> _F:
    """Note that ``fun`` hides the package's frames by itself, and return it."""
    _hiding[fun] = fun
    return fun


#: For each function that need not be wrapped, or not again, what hides the package's frames from what it raises.
_hiding: Final[dict[Any, Any]] = {}


def hide_library_frames_in(names: Mapping[str, Any]) -> dict[str, Any]:
    """The package's functions among public names and operators, each with its frames hidden from what it raises."""
    return {
        name: hiding_library_frames(x)
        for name, x in names.items()
        if isinstance(x, FunctionType)
        and (name[0] != "_" or name in _OPERATORS)
        and is_library_file(x.__code__.co_filename)
    }


_C = TypeVar("_C", bound=type)


def hides_library_frames_in_methods(cls: _C) -> _C:
    """A class whose public methods and operators hide the package's frames from what they raise."""
    for name, method in hide_library_frames_in(vars(cls)).items():
        setattr(cls, name, method)
    return cls


_OPERATORS: Final = frozenset(
    {
        *(
            f"__{side}{name}__"
            for side in ("", "r")
            for name in ["add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "matmul"]
        ),
        *(
            f"__{name}__"
            for name in [
                "neg",
                "abs",
                "lt",
                "le",
                "gt",
                "ge",
                "and",
                "or",
                "xor",
                "invert",
                "getitem",
                "setitem",
                "delitem",
                "iter",
                "array",
                "array_ufunc",
                "array_function",
                "reduce_ex",
                "format",
                "index",
                "call",
                "bool",
                "float",
                "int",
                "len",
            ]
        ),
    }
)
