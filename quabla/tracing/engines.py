"""The engine protocol: what runs a finished graph on arrays.

The NumPy plan is the engine of this layer. The runtime layer installs the one that chooses among all engines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from quabla.tracing.graph import Graph
from quabla.tracing.plan import Plan

__all__ = ["Engine", "engine_for", "install"]


class Engine(Protocol):
    """Runs one program: NumPy arrays in, in the order of the graph's arguments, and NumPy arrays out."""

    @property
    def name(self) -> str: ...

    def __call__(self, arrays: Sequence[Any]) -> list[Any]: ...


_factories: Final[dict[str, Callable[[Graph], Engine]]] = {"cpu": Plan}


def install(factory: Callable[[Graph], Engine], target: str = "cpu") -> None:
    """Make ``factory`` the maker of a target's engines."""
    _factories[target] = factory


def engine_for(graph: Graph, target: str = "cpu") -> Engine:
    """An engine that runs ``graph`` on a target.

    Raises:
        UnsupportedOperationError: for an op that the target cannot run, where it compiles before the first call.
    """
    return _factories[target](graph)
