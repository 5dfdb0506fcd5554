"""Programs on MLX: StableHLO translated to ``mlx.core``, on the GPU where MLX has one, else on the CPU.

All that touches MLX in a process holds one lock: making arrays, running, and reading results back. Functions may be
called from any number of threads; they run one after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from quabla import dtypes, errors
from quabla.config import config
from quabla.tracing.graph import Graph
from quabla.transforms.expansion import expanded
from quabla.transforms.narrowing import narrowed
from quabla.transforms.staging import captured_array

__all__ = ["MlxEngine", "Resident", "source"]

_lock: Final = threading.RLock()

#: The text that makes a function a program of ``mx.compile``.
_COMPILED: Final = "@mx.compile\n"
_FLOAT64: Final = np.dtype(np.float64)


def source(graph: Graph) -> str:
    """The Python source that runs a finished graph; its function ``main`` takes arrays of MLX and returns a tuple.

    Raises:
        UnsupportedOperationError: for an op that has no translation.
    """
    from quabla.lowering.mlx.to_mlx import translate
    from quabla.lowering.to_stablehlo import lower

    return translate(lower(narrowed(expanded(graph)), device="mlx"))


@cache
def _mlx() -> tuple[Any, Any]:
    """``mlx.core``, and the device of choice."""
    import mlx.core as mx  # pyright: ignore[reportMissingImports]

    return mx, mx.gpu if mx.is_available(mx.gpu) else mx.cpu


class _Device:
    """``mlx.core`` on the device of choice; its errors become ours. The caller holds the lock."""

    __slots__ = ("_stream",)

    def __enter__(self) -> Any:
        mx, device = _mlx()
        self._stream = mx.stream(device)
        self._stream.__enter__()
        return mx

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._stream.__exit__(kind, error, traceback)
        if isinstance(error, (RuntimeError, ValueError, IndexError)) and not isinstance(error, errors.QuablaError):
            raise errors.QuablaError(f"mlx cannot run the program: {error}") from error


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

    __slots__ = ("_loaded", "_outputs", "_text")

    def __init__(self, graph: Graph) -> None:
        self._text: Final = source(graph)
        self._outputs: Final = [o.type.dtype for o in graph.outs]
        self._loaded: Final[dict[bool, Callable[..., tuple[Any, ...]]]] = {}

    def run(self, mx: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The evaluated results."""
        compiled = _compiles(mx)
        main = self._loaded.get(compiled)
        if main is None:
            main = self._loaded[compiled] = _load(self._text, compiled=compiled)
        results = main(*arrays)
        mx.eval(results)
        return results

    def read(self, results: Sequence[Any], first: int = 0) -> list[Any]:
        """Results, of which the first is that number ``first``, as NumPy arrays of the program's own dtypes."""
        return [
            np.array(r, np.float64 if t is dtypes.float64 else None)
            for r, t in zip(results, self._outputs[first : first + len(results)], strict=True)
        ]


def _place(mx: Any, arrays: Sequence[Any]) -> list[Any]:
    """Arrays of MLX with the same numbers, float64 ones rounded."""
    return [mx.array(_rounded(x) if x.dtype == _FLOAT64 else np.asarray(x)) for x in arrays]


def _rounded(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(x, np.float32)


class MlxEngine:
    """Runs one graph on MLX. Programs that MLX cannot run are refused when this is made."""

    __slots__ = ("_program",)

    name: str = "mlx"

    def __init__(self, graph: Graph) -> None:
        self._program: Final = _Program(graph)

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for these input arrays."""
        program = self._program
        with _lock, _Device() as mx:
            return program.read(program.run(mx, _place(mx, arrays)))


class Resident:
    """A program whose state stays in MLX's arrays from call to call, such as a step of training.

    Its first arguments are the state, and its first results the next state. A call takes effect in one assignment, so an
    exception leaves the state before the call.

    Args:
        graph: a finished graph. Its first ``count`` results have the types of its first ``count`` arguments.
        count: the number of arrays in the state.
    """

    __slots__ = ("_captured", "_count", "_kept", "_latest", "_program")

    engine: str = "mlx"

    def __init__(self, graph: Graph, count: int) -> None:
        self._count: Final = count
        self._program: Final = _Program(graph)
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
        with _lock, _Device() as mx:
            self._latest = (_place(mx, arrays), calls)

    def state(self) -> list[Any]:
        """Copies of the state."""
        with _lock, _Device():
            return self._program.read(self._current()[0])

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Advance the state; returns the further results."""
        state, calls = self._current()
        given = [*arrays, *self._captured]
        with _lock, _Device() as mx:
            # What came in the last call too is on the device already.
            known = self._kept if len(self._kept) == len(given) else [(None, None)] * len(given)
            placed = [p if x is k else _place(mx, [x])[0] for x, (k, p) in zip(given, known, strict=True)]
            results = self._program.run(mx, [*state, *placed])
            self._kept = list(zip(given, placed, strict=True))
            further = self._program.read(results[self._count :], self._count)
            self._latest = (list(results[: self._count]), calls + 1)
            return further
