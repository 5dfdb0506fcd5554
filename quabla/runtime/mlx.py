"""Programs on MLX: StableHLO translated to ``mlx.core``, on the GPU where MLX has one, else on the CPU.

All that touches MLX in a process holds one lock: making arrays, running, and reading results back. Functions may be
called from any number of threads; they run one after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from quabla import errors
from quabla.config import config
from quabla.tracing.graph import Graph
from quabla.transforms.expansion import expanded
from quabla.transforms.narrowing import narrowed
from quabla.transforms.staging import captured_array

__all__ = ["MlxEngine", "Resident", "source"]

_lock: Final = threading.RLock()

#: The text that makes a function a program of ``mx.compile``.
_COMPILED: Final = "@mx.compile\n"


def source(graph: Graph) -> str:
    """The Python source that runs a finished graph; its function ``main`` takes arrays of MLX and returns a tuple.

    Raises:
        UnsupportedOperationError: for an op that has no translation.
    """
    from quabla.lowering.mlx.to_mlx import translate
    from quabla.lowering.to_stablehlo import lower

    return translate(lower(narrowed(expanded(graph)), device="mlx"))


@contextmanager
def _running() -> Generator[Any]:
    """``mlx.core``, for this thread alone and on the device of choice; its errors become ours."""
    import mlx.core as mx  # pyright: ignore[reportMissingImports]

    with _lock:
        try:
            with mx.stream(mx.gpu if mx.is_available(mx.gpu) else mx.cpu):
                yield mx
        except (RuntimeError, ValueError, IndexError) as e:
            raise errors.QuablaError(f"mlx cannot run the program: {e}") from e


def _compiles(mx: Any) -> bool:
    """Whether functions go through ``mx.compile``."""
    if config.mlx_compile == "auto":
        return bool(mx.is_available(mx.gpu))
    return config.mlx_compile == "always"


def _load(text: str, *, compiled: bool) -> Callable[..., tuple[Any, ...]]:
    """The function ``main`` of a translation."""
    namespace: dict[str, Any] = {"__name__": "quabla.mlx_program"}
    exec(compile(text if compiled else text.replace(_COMPILED, ""), "<mlx program>", "exec"), namespace)
    return namespace["main"]


class _Program:
    """A translated graph, and what its arrays are on both sides."""

    def __init__(self, graph: Graph) -> None:
        self._text: Final = source(graph)
        self._outputs: Final = [o.type.dtype.numpy for o in graph.outs]
        self._loaded: Final[dict[bool, Callable[..., tuple[Any, ...]]]] = {}

    def place(self, mx: Any, arrays: Sequence[Any]) -> list[Any]:
        """Arrays of MLX with the same numbers, float64 ones rounded."""
        with np.errstate(all="ignore"):
            return [mx.array(x.astype(np.float32) if x.dtype == np.float64 else x) for x in map(np.asarray, arrays)]

    def run(self, mx: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The evaluated results."""
        compiled = _compiles(mx)
        main = self._loaded.get(compiled)
        if main is None:
            main = self._loaded[compiled] = _load(self._text, compiled=compiled)
        results = main(*arrays)
        mx.eval(*results)
        return results

    def read(self, results: Sequence[Any], first: int = 0) -> list[Any]:
        """Results from the ``first`` on as NumPy arrays of the program's own dtypes."""
        return [np.array(r).astype(t, copy=False) for r, t in zip(results, self._outputs[first:], strict=True)]


class MlxEngine:
    """Runs one graph on MLX. Programs that MLX cannot run are refused when this is made."""

    __slots__ = ("_program",)

    name: str = "mlx"

    def __init__(self, graph: Graph) -> None:
        self._program: Final = _Program(graph)

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for these input arrays."""
        program = self._program
        with _running() as mx:
            return program.read(program.run(mx, program.place(mx, arrays)))


class Resident:
    """A program whose state stays in MLX's arrays from call to call, such as a step of training.

    Its first arguments are the state, and its first results the next state. A call takes effect in one assignment, so an
    exception leaves the state before the call.

    Args:
        graph: a finished graph. Its first ``count`` results have the types of its first ``count`` arguments.
        count: the number of arrays in the state.
    """

    __slots__ = ("_captured", "_count", "_dtypes", "_kept", "_latest", "_program")

    engine: str = "mlx"

    def __init__(self, graph: Graph, count: int) -> None:
        self._count: Final = count
        self._program: Final = _Program(graph)
        self._dtypes: Final = [o.type.dtype.numpy for o in graph.outs[:count]]
        self._captured: Final = [captured_array(x) for x in graph.captures]
        self._kept: list[tuple[Any, Any]] = []
        self._latest: tuple[list[Any], int] | None = None

    @property
    def calls(self) -> int:
        """The number of calls that led to the state."""
        return self._current()[1]

    def _current(self) -> tuple[list[Any], int]:
        assert self._latest is not None, "put has not been called"
        return self._latest

    def put(self, arrays: Sequence[Any], calls: int) -> None:
        """Replace the state; the arrays are copied."""
        if len(arrays) != self._count:
            raise errors.QuablaError(f"the state has {self._count} arrays, got {len(arrays)}")
        with _running() as mx:
            self._latest = (self._program.place(mx, arrays), calls)

    def state(self) -> list[Any]:
        """Copies of the state."""
        with _running():
            arrays = self._current()[0]
            return [np.array(a).astype(t, copy=False) for a, t in zip(arrays, self._dtypes, strict=True)]

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Advance the state; returns the further results."""
        state, calls = self._current()
        given = [*arrays, *self._captured]
        with _running() as mx:
            # What came in the last call too is on the device already.
            known = self._kept if len(self._kept) == len(given) else [(None, None)] * len(given)
            placed = [p if x is k else self._program.place(mx, [x])[0] for x, (k, p) in zip(given, known, strict=True)]
            results = self._program.run(mx, [*state, *placed])
            self._kept = list(zip(given, placed, strict=True))
            further = self._program.read(results[self._count :], self._count)
            self._latest = (list(results[: self._count]), calls + 1)
            return further
