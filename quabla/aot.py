"""Ahead-of-time lowering: what ``jit(fun).lower(...)`` returns."""

from __future__ import annotations

from typing import Any

from quabla.compiler import Program
from quabla.jitting import Call, Jit
from quabla.tracing.trace import Traced
from quabla.transforms.staging import StagedProgram

__all__ = ["Compiled", "Lowered"]


class Lowered:
    """A traced function for one signature.

    Attributes:
        program: the program with named inputs and its traced outputs in order.
    """

    __slots__ = ("_call", "_jit", "_traced", "program")

    def __init__(self, jit: Jit, call: Call, traced: Traced) -> None:
        self._jit = jit
        self._call = call
        self._traced = traced
        self.program = Program(traced.graph, single=False)

    def __repr__(self) -> str:
        return f"Lowered({self._jit!r})"

    def as_text(self) -> str:
        """The program after folding, sharing and dead-code elimination; inputs are named by their pytree path."""
        return self.program.lower_text()

    def stablehlo_text(self) -> str:
        """The program as a StableHLO module."""
        return self.program.stablehlo_text()

    def compile(self) -> Compiled:
        """A function of the same arguments that never traces again."""
        return Compiled(self._jit, self._call, StagedProgram(self._traced))


class Compiled:
    """A compiled function for one signature; it takes arguments as the function does."""

    __slots__ = ("_call", "_jit", "_program")

    def __init__(self, jit: Jit, call: Call, program: StagedProgram) -> None:
        self._jit = jit
        self._call = call
        self._program = program

    def __repr__(self) -> str:
        return f"Compiled({self._jit!r})"

    @property
    def engine(self) -> str:
        """The engine of the last call."""
        return self._program.engine.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises:
            ValueError: arguments whose structure, shapes, dtypes or static values differ from those lowered for.
        """
        call = self._jit.take_apart(args, kwargs)
        if call.key != self._call.key:
            raise ValueError(
                f"{self!r}: was compiled for {self._jit.describe(self._call.key)}, got {self._jit.describe(call.key)}"
            )
        return self._program([x.data for x in call.args.leaves if not isinstance(x, (int, float))])
