"""The engine protocol: what runs a finished graph on arrays.

The NumPy plan is the engine of this layer. The runtime layer installs the one that chooses among all engines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from quabla.tracing.graph import Graph
from quabla.tracing.plan import Plan

__all__ = ["Engine", "Resident", "engine_for", "install", "install_resident", "resident_for"]


class Engine(Protocol):
    """Runs one program: NumPy arrays in, in the order of the graph's arguments, and NumPy arrays out."""

    @property
    def name(self) -> str: ...

    def __call__(self, arrays: Sequence[Any]) -> list[Any]: ...


class Resident(Protocol):
    """A program whose state stays in the target's buffers from call to call, such as a step of training.

    Its first arguments are the state, and its first results the next state. An exception in a call leaves the state
    before or after it.
    """

    @property
    def calls(self) -> int:
        """The number of calls that led to the state."""
        ...

    @property
    def engine(self) -> str:
        """The name of the engine that holds the state."""
        ...

    def put(self, arrays: Sequence[Any], calls: int) -> None:
        """Replace the state by copies of NumPy arrays."""
        ...

    def state(self) -> list[Any]:
        """Copies of the state."""
        ...

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Advance the state; returns the further results, which must be read before the next call."""
        ...


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


_residents: Final[dict[str, Callable[[Graph, int], Resident]]] = {}


def install_resident(factory: Callable[[Graph, int], Resident], target: str = "cpu") -> None:
    """Make ``factory`` the maker of a target's programs with state."""
    _residents[target] = factory


def resident_for(graph: Graph, count: int, target: str = "cpu") -> Resident:
    """A program that keeps its state on a target.

    Args:
        graph: a finished graph. Its first ``count`` results have the types of its first ``count`` arguments.
        count: the number of arrays in the state.
        target: where it runs.

    Raises:
        UnsupportedOperationError: for an op that the target cannot run, where it compiles before the first call.
    """
    return _residents[target](graph, count)
