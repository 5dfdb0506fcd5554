"""What stands in the place of a user's function: how it is called, bound, shown, copied and pickled."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import MethodType
from typing import Any, Final, Self

import numpy as np

from quabla import errors

__all__ = ["Wrapper", "check_callable", "function_name", "static_positions"]

#: Flags of the code of functions that return before they have run, as in ``inspect``, which costs time to import.
CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200

#: How many transforms around a function its name shows.
NAMED_WRAPPERS: Final = 8


def check_callable(fun: object, transform: str) -> None:
    """Raise TypeError where ``fun`` cannot be called, or returns before it has run."""
    if not callable(fun):
        raise TypeError(f"{transform}: expected a function, got {fun!r} of type {type(fun).__name__}")
    flags = getattr(getattr(fun, "__code__", None), "co_flags", 0)
    if flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR):
        kind = "generator" if flags & CO_GENERATOR else "async"
        raise TypeError(f"{transform}: expected a function that returns its result, got the {kind} function {fun!r}")


def static_positions(what: str, nums: Any) -> tuple[int, ...]:
    """Positions of arguments, an int or a sequence of ints, as a tuple.

    Raises:
        TypeError: for anything else.
    """
    positions = (nums,) if isinstance(nums, (int, np.integer)) else nums
    if not isinstance(positions, (tuple, list)) or any(
        isinstance(i, bool) or not isinstance(i, (int, np.integer)) for i in positions
    ):
        raise TypeError(f"{what} must be an int or a sequence of ints, got {nums!r}")
    return tuple([int(i) for i in positions])


def function_name(fun: Any) -> str:
    """How messages call a function; of functions that are wrapped many times over, only the outer wrappers."""
    around = ""
    depth = 0
    while isinstance(fun, Wrapper):
        if depth == NAMED_WRAPPERS:
            return f"{around}...{')' * depth}"
        around += f"{fun.transform}("
        depth += 1
        fun = fun.__wrapped__
    return f"{around}{getattr(fun, '__qualname__', None) or repr(fun)}{')' * depth}"


class _Docstring:
    """``__doc__`` of a class of wrappers: the class's own, and for an instance that of the function inside."""

    __slots__ = ("_own",)

    def __init__(self, own: str | None) -> None:
        self._own = own

    def __get__(self, instance: Any, owner: type | None = None) -> str | None:
        return self._own if instance is None else instance.__wrapped__.__doc__


@errors.hides_library_frames_in_methods
class Wrapper:
    """Base of what stands in the place of a user's function, as a method too."""

    __slots__ = ("__weakref__", "_fun")

    transform: str

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_callable(fun, self.transform)
        self._fun = fun

    def __init_subclass__(cls) -> None:
        cls.__doc__ = _Docstring(cls.__doc__)  # pyright: ignore[reportAttributeAccessIssue]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.transform}({function_name(self._fun)})"

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The user's function, whose signature ``inspect.signature`` shows."""
        return self._fun

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function, so that methods can be transformed; the instance is an argument like any other."""
        return self if instance is None else MethodType(self, instance)

    # Like a function it is its own copy, and pickled by its name.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        module, name = getattr(self._fun, "__module__", None), getattr(self._fun, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str) and _named(module, name) is self:
            return _named, (module, name)
        raise TypeError(
            f"{self!r} cannot be pickled: only what stands in a module under its function's name can, as after a "
            "decorator; pickle the function and transform it where it is loaded"
        )


def _named(module: str, name: str) -> Any:
    """What a module holds under a qualified name; None where there is nothing."""
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
