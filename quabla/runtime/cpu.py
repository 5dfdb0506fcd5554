"""The CPU engine: the NumPy plan at once, XLA when it pays."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final

from numpy.lib import introspect

from quabla import errors
from quabla.config import config
from quabla.runtime.forks import process, warn, watch
from quabla.tracing import engines
from quabla.tracing.graph import Graph
from quabla.tracing.plan import Plan
from quabla.transforms.expansion import expanded

__all__ = ["Compilation", "CpuEngine", "compiled", "estimate", "settled"]

# A deterministic model of both engines, in microseconds, fitted to benchmarks/engines.py and elements.py. It decides when
# compiling pays; it never looks at a clock, so the same program makes the same choice on every run of a machine. XLA saves
# the cost of each kernel's call and, on large arrays, passes over memory; NumPy's loops over some functions are as wide as
# XLA's or wider, others take several passes.
_PLAN_CALL: Final = 3.0
_PLAN_OP: Final = 0.8
_PLAN_TRIP: Final = 0.3  # an iteration of a loop, beside its ops
_PLAN_PRODUCT: Final = 1000.0  # waking BLAS's threads, which is worse the busier the machine
_XLA_CALL: Final = 14.0
_XLA_OP: Final = 0.04
_XLA_TRIP: Final = 0.1  # 0.02 where the whole loop is one kernel, up to 0.4 where its body is several
_XLA_BYTE: Final = 5e-5  # of arguments and results; copies of arguments are kept
_PAUSE: Final = 400_000.0  # a compilation that takes no longer is waited for
_COMPILE: Final = 60_000.0
_COMPILE_OP: Final = 1_500.0
_COMPILE_OP_SQUARED: Final = 0.1  # XLA takes 9 s for a chain of 8,000 ops and 65 s for one of 20,000


#: What XLA saves an element of a large array; less than nothing where NumPy's kernel is the faster one.
_SAVED_SIMPLE: Final = 4e-4
_SAVED: Final = {
    "bell": 0.03, "cbrt": 0.015, "direction": 0.03, "erf": 0.04, "erfc": 0.035, "hypot": 0.02, "logistic": 0.009,
    "normal_cdf": 0.1, "sech2": 0.012, "softplus": 0.008, "sqrt": 0.0, "where": 0.003,
}  # fmt: skip
#: The same for functions that NumPy computes with instructions for 512 bits, where the processor has them.
_SAVED_NARROW: Final = {
    "arctan": 0.0, "cos": -0.003, "cosh": 0.006, "exp": 0.003, "expm1": 0.009, "log": -0.004, "log1p": 0.008, "power": -0.002,
    "sin": -0.002, "sinh": 0.013, "tan": -0.002, "tanh": 0.01,
}  # fmt: skip


@cache
def _saved(op: str) -> float:
    if op in _SAVED_NARROW:
        found = introspect.opt_func_info(func_name="^tanh$", signature="float64")
        wide = any("V4" in how["current"] or "AVX512" in how["current"] for how in found.get("tanh", {}).values())
        return 0.0 if wide else _SAVED_NARROW[op]
    return _SAVED.get(op, _SAVED_SIMPLE)


def estimate(plan: Plan) -> tuple[float, float]:
    """What XLA saves in a call against a plan, and what compiling costs, in microseconds."""
    on_plan = _PLAN_CALL + _PLAN_OP * plan.op_count + _PLAN_TRIP * plan.trips + _PLAN_PRODUCT * plan.large_products
    on_plan += sum(count * _saved(op) for op, count in plan.elements.items())
    on_xla = _XLA_CALL + _XLA_OP * plan.op_count + _XLA_TRIP * plan.trips + _XLA_BYTE * plan.traffic
    written = plan.static_ops
    return on_plan - on_xla, _COMPILE + (_COMPILE_OP + _COMPILE_OP_SQUARED * written) * written


def settled(cost: float) -> float:
    """What has to be saved until compiled programs run: what compiling costs, or twice that where the plan runs beside."""
    return 2.0 * cost if cost > _PAUSE else cost


def compiled(graph: Graph, state: int = 0) -> Any:
    """A graph as a program of XLA.

    Args:
        graph: a finished graph.
        state: how many of the first arguments are written over by the first results.

    Raises:
        UnsupportedOperationError: for an op that has no lowering.
    """
    from quabla.lowering.exact_f32 import widen
    from quabla.lowering.to_stablehlo import lower
    from quabla.runtime import xla

    module = lower(expanded(graph))
    widen(module)
    return xla.compile_step(module, state) if state else xla.compile(module)


class Compilation:
    """A graph that XLA compiles once: when it is asked for, or beforehand in a thread."""

    __slots__ = ("_found", "_graph", "_lock", "_state", "_thread")

    def __init__(self, graph: Graph, state: int = 0) -> None:
        self._graph: Final = graph
        self._state: Final = state
        self._lock: Final = threading.Lock()
        self._thread: threading.Thread | None = None
        self._found: Any = None

    def begin(self) -> None:
        """Compile in a thread, which the process waits for at its end: XLA cannot be interrupted."""
        if self._thread is None and self._found is None:
            self._thread = threading.Thread(target=self._compile_ahead, name="quabla-compile")
            self._thread.start()

    def _compile_ahead(self) -> None:
        with suppress(errors.QuablaError):  # get compiles again, and says so where somebody waits
            self.get()

    def get(self) -> Any:
        """The program, which is waited for.

        Raises:
            UnsupportedOperationError: for an op that has no lowering.
        """
        if self._found is None:
            watch()  # before the lock, which a child process would find held for ever
            with self._lock:
                if self._found is None:
                    self._found = compiled(self._graph, self._state)
        return self._found

    def get_if_possible(self) -> Any:
        """The program; None where there is none, which a warning says unless it is for an op that has no lowering."""
        try:
            return self.get()
        except errors.UnsupportedOperationError:
            return None
        except errors.QuablaError as e:
            message = f"{e}. NumPy's kernels run instead"
            warnings.warn(message, RuntimeWarning, stacklevel=errors.user_stacklevel())
            return None


class CpuEngine:
    """Runs one graph on the CPU with the engine that ``config.cpu_engine`` names.

    With ``"auto"`` the plan runs until the time it has cost by the model would have paid for compiling; programs
    that XLA would not run faster stay on the plan for good. A compilation that takes long runs beside further calls of
    the plan, as many as have cost the same again.

    Attributes:
        name: the engine of the last call, ``"numpy"`` or ``"xla"``.
    """

    __slots__ = ("_compilation", "_gain", "_graph", "_paid", "_plan", "_settled", "_spent", "_xla", "name")

    def __init__(self, graph: Graph) -> None:
        self._graph: Final = graph
        self._compilation: Final = Compilation(graph)
        self._plan: Plan | None = None
        self._xla: Any = None
        self._spent = 0.0
        self._gain = 0.0
        self._paid = 0.0
        self._settled = 0.0
        self.name = "numpy"

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for these input arrays."""
        mode = config.cpu_engine
        if process.lost and mode != "numpy":
            if mode == "xla":
                warn()
            mode = "numpy"
        if mode == "auto":
            if self._xla is None:
                plan = self._plan or self._make_plan()
                if self._gain <= 0.0:
                    self.name = "numpy"
                    return plan(arrays)
                self._spent += self._gain
                if self._spent < self._settled:
                    if self._spent >= self._paid:
                        self._compilation.begin()
                    self.name = "numpy"
                    return plan(arrays)
                self._xla = self._compilation.get_if_possible()
                if self._xla is None:
                    self._gain = 0.0
                    return plan(arrays)
        elif mode == "numpy":
            self.name = "numpy"
            return (self._plan or self._make_plan())(arrays)
        run = self._xla or self._make_xla()
        self.name = "xla"
        return run(arrays)

    def _make_plan(self) -> Plan:
        plan = Plan(self._graph)
        self._gain, self._paid = estimate(plan)
        self._settled = settled(self._paid)
        self._plan = plan
        return plan

    def _make_xla(self) -> Any:
        self._xla = self._compilation.get()
        return self._xla


engines.install(CpuEngine)
