"""Values of a function that are worked out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["Memo"]

K = TypeVar("K")
V = TypeVar("V")

_MOST: Final = 4096


class Memo(dict[K, V]):
    """The values of a function of one hashable argument, by the argument; emptied when there are too many.

    A lookup is one operation of the interpreter, where ``functools.cache`` needs a call.

    Args:
        work_out: the function.
    """

    __slots__ = ("_work_out",)

    def __init__(self, work_out: Callable[[K], V]) -> None:
        super().__init__()
        self._work_out: Final = work_out

    def __missing__(self, key: K) -> V:
        value = self._work_out(key)
        if len(self) >= _MOST:
            self.clear()
        self[key] = value
        return value
