"""Programs whose state stays in the engine's buffers from call to call, such as a step of training.

The first arguments of such a program are its state, and its first results the next state. A call copies no state: the
plan writes into a second set of buffers, which then changes places with the first, and XLA gets the buffers to write over
(donation).

A call takes effect in one operation of the interpreter, an ``append`` or ``extend`` of a deque of length one: whatever
exception ends a call, an interrupt by the user among them, the state is that before or after it and never between.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np

from quabla import errors
from quabla.config import config
from quabla.ops.into import Into
from quabla.ops.types import TensorType
from quabla.runtime.cpu import Compilation, estimate, settled
from quabla.runtime.forks import process, warn
from quabla.tracing.chains import Chain, Link, fits
from quabla.tracing.graph import Graph, TraceTensor
from quabla.tracing.plan import Plan, execute
from quabla.transforms.staging import captured_array

__all__ = ["Resident"]

#: Arrays of fewer elements are made anew in each call, which costs less than finding them.
SMALL: Final = 16


class Engine(Protocol):
    """Runs the program on its own state.

    Attributes:
        name: ``"numpy"`` or ``"xla"``.
        calls: the number of calls that led to the state.
    """

    name: str

    @property
    def calls(self) -> int: ...

    def advance(self, arrays: Sequence[Any]) -> list[Any]:
        """One call with these further arguments; returns the further results, to be read before the next call."""
        ...

    def state(self) -> list[Any]:
        """Copies of the state."""
        ...


class Resident:
    """A program with its state, on the CPU.

    Which engine runs a call follows ``config.cpu_engine``. With ``"auto"`` it depends on the number of calls alone,
    so that a state that is put back later continues on the same engine, bit for bit.

    Args:
        graph: a finished graph. Its first ``count`` results have the types of its first ``count`` arguments.
        count: the number of arrays in the state.
    """

    __slots__ = ("_begin", "_captured", "_compilation", "_count", "_engine", "_from_call", "_plan")

    def __init__(self, graph: Graph, count: int) -> None:
        self._count: Final = count
        self._compilation: Final = Compilation(graph, count)
        self._captured: Final = [captured_array(x) for x in graph.captures]
        self._plan: Final = StepPlan(graph, count)
        gain, cost = estimate(self._plan)
        self._begin = cost / gain if gain > 0.0 else np.inf
        self._from_call = settled(cost) / gain if gain > 0.0 else np.inf
        self._engine: Engine | None = None

    @property
    def calls(self) -> int:
        """The number of calls that led to the state."""
        return self._current().calls

    @property
    def engine(self) -> str:
        """The engine that holds the state."""
        return self._current().name

    def _current(self) -> Engine:
        assert self._engine is not None, "put has not been called"
        return self._engine

    def put(self, arrays: Sequence[Any], calls: int) -> None:
        """Replace the state; the arrays are copied, in C order: sums depend on the order by their rounding."""
        if len(arrays) != self._count:
            raise errors.QuablaError(f"the state has {self._count} arrays, got {len(arrays)}")
        self._engine = self._on(self._wanted(calls), [np.array(a, order="C") for a in arrays], calls)

    def state(self) -> list[Any]:
        """Copies of the state."""
        return self._current().state()

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Advance the state; returns the further results, which must be read before the next call."""
        engine = self._current()
        if engine.name != (wanted := self._wanted(engine.calls)):
            engine = self._engine = self._on(wanted, engine.state(), engine.calls)
        if engine.calls >= self._begin and engine.name == "numpy" and config.cpu_engine == "auto" and not process.lost:
            self._compilation.begin()
        return engine.advance([*arrays, *self._captured])

    def _wanted(self, calls: int) -> str:
        """The engine of the call after this many."""
        if process.lost and config.cpu_engine != "numpy":
            if config.cpu_engine == "xla":
                warn()
            return "numpy"
        if config.cpu_engine == "auto":
            return "numpy" if calls < self._from_call else "xla"
        return config.cpu_engine

    def _on(self, name: str, arrays: list[Any], calls: int) -> Engine:
        """An engine with this state, which may be written over."""
        if name == "xla":
            step = self._compilation.get() if config.cpu_engine == "xla" else self._compilation.get_if_possible()
            if step is not None:
                return OnXla(step, self._count, arrays, calls)
            self._begin = self._from_call = np.inf
        return OnPlan(self._plan, arrays, calls)


class OnPlan:
    """The state in two sets of NumPy arrays, of which a call reads one and writes the other."""

    __slots__ = ("_latest", "_plan", "_sets")

    name = "numpy"

    def __init__(self, plan: StepPlan, arrays: list[Any], calls: int) -> None:
        self._plan: Final = plan
        self._sets: Final = (arrays, [np.empty_like(a) for a in arrays])
        # Which set is the state, the further results, and the number of calls.
        self._latest: Final[deque[tuple[int, list[Any], int]]] = deque([(0, [], calls)], maxlen=1)

    @property
    def calls(self) -> int:
        return self._latest[0][2]

    def advance(self, arrays: Sequence[Any]) -> list[Any]:
        which, _, calls = self._latest[0]
        results = self._plan.advance([*self._sets[which], *arrays], self._sets[1 - which])
        self._latest.append((1 - which, results, calls + 1))
        return results

    def state(self) -> list[Any]:
        return [a.copy() for a in self._sets[self._latest[0][0]]]


class OnXla:
    """The state in XLA's buffers, which each call writes over."""

    __slots__ = ("_consume", "_count", "_latest", "_step")

    name = "xla"

    def __init__(self, step: Any, count: int, arrays: list[Any], calls: int) -> None:
        self._step: Final = step
        self._count: Final = count
        self._consume: Final = operator.methodcaller("consume_with_handlers", step.handlers)
        # The state's buffers and those of the further results, and the number of calls.
        self._latest: Final[deque[tuple[list[Any], int]]] = deque([(step.place(arrays), calls)], maxlen=1)

    @property
    def calls(self) -> int:
        return self._latest[0][1]

    def advance(self, arrays: Sequence[Any]) -> list[Any]:
        buffers, calls = self._latest[0]
        operands = [*buffers[: self._count], *self._step.place(arrays, self._count)]
        with self._step.errors():
            # All in C: an interrupt comes before or after.
            self._latest.extend(
                zip(map(self._consume, map(self._step.execute, (operands,))), (calls + 1,), strict=True)
            )
        return [np.asarray(b) for b in self._latest[0][0][self._count :]]

    def state(self) -> list[Any]:
        # A view that stays alive would keep XLA from writing over the buffer.
        return [np.array(b) for b in self._latest[0][0][: self._count]]


class StepPlan(Plan):
    """A plan that writes its first results into given arrays and keeps the others, small ones aside, for the next call.

    So it may not run in two threads at once.
    """

    least = SMALL

    def __init__(self, graph: Graph, count: int) -> None:
        self._count: Final = count
        self._states: Final = list(graph.outs[:count])
        self._into: Final[dict[TraceTensor, int]] = {}
        # The temporary array that holds a node's value, and those that nothing needs any more, by slot.
        self._held: Final[dict[TraceTensor, int]] = {}
        self._free: Final[dict[TensorType, list[int]]] = {}
        super().__init__(graph)
        self._copied: Final = [i for i, x in enumerate(self._states) if x not in self._into]
        self._written: Final = [(self._into[x], i) for i, x in enumerate(self._states) if x in self._into]

    def _targets(self, n: TraceTensor, dying: set[TraceTensor], into: Into) -> tuple[int, ...]:
        if fits(n):  # a chain has arrays of its own
            return ()
        over = super()._targets(n, dying, into)
        place = self._place(n)
        if place is not None:
            target = place
        elif over:
            (target,) = over
        else:
            target = self._held[n] = self._take(n.type)
        scratch = tuple([self._take(t) for t in into.scratch])
        for t, slot in zip(into.scratch, scratch, strict=True):
            self._give(t, slot)
        self._release(dying, n, target)
        return (*scratch, target)

    def _chain(self, links: Sequence[Link], kept: set[TraceTensor], dropped: set[TraceTensor]) -> Chain:
        into: dict[TraceTensor, int] = {}
        for n in (link.node for link in links if link.node in kept):
            place = self._place(n)
            if place is None:
                place = self._held[n] = self._take(n.type)
            into[n] = place
        self._release(dropped)
        return Chain(links, self._slots, kept, dropped, into, keeps=True)

    def _take(self, t: TensorType) -> int:
        """The slot of an array that nothing needs."""
        free = self._free.get(t)
        return free.pop() if free else self._new(np.empty(t.shape, t.dtype.numpy))

    def _give(self, t: TensorType, slot: int) -> None:
        self._free.setdefault(t, []).append(slot)

    def _release(self, values: set[TraceTensor], heir: TraceTensor | None = None, target: int = -1) -> None:
        """The arrays that hold these values may be used again; one of them may hold the value of ``heir`` now."""
        for k in values & self._held.keys():
            slot = self._held.pop(k)
            if heir is not None and self._slots[k] == target:
                self._held[heir] = slot
            else:
                self._give(k.type, slot)

    def _place(self, n: TraceTensor) -> int | None:
        """The slot of the array of the next state that is there for this result alone."""
        if self._states.count(n) != 1:
            return None
        if n not in self._into:
            self._into[n] = self._new(None)
        return self._into[n]

    def _new(self, array: Any) -> int:
        """A further slot."""
        self._initial.append(array)
        return len(self._initial) - 1

    def advance(self, arrays: Sequence[Any], into: Sequence[Any]) -> list[Any]:
        """Run; the first results go to ``into``, the others are returned."""
        v = self.frame(arrays)
        for slot, i in self._written:
            v[slot] = into[i]
        with np.errstate(all="ignore"):
            execute(self.steps, v)
        for i in self._copied:
            np.copyto(into[i], v[self.outputs[i]])
        return [v[i] for i in self.outputs[self._count :]]
