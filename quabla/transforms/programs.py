"""Programs of library functions that are called eagerly: traced once for all calls that compute the same.

The user's functions are traced at every call, since what they close over may have changed. That is cheap; what a solver makes
of them is not, and depends on nothing but their structure and the types around them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from quabla.ops.dispatch import Value
from quabla.tracing.graph import Body, RegionNode
from quabla.tracing.trace import Arguments, ShapeDtype, Traced, trace
from quabla.transforms.bodies import holds_call
from quabla.transforms.expansion import expanded
from quabla.transforms.staging import StagedProgram, captured_array

__all__ = ["run_cached"]

_KEPT: Final = 64
_programs: Final[dict[Hashable, StagedProgram]] = {}
_lock: Final = threading.Lock()


def run_cached(
    key: tuple[Hashable, ...],
    bodies: Sequence[Body],
    operands: Sequence[Value],
    emit: Callable[[Sequence[Value]], Any],
) -> Any:
    """Run a program at eager operands.

    Args:
        key: everything beside ``bodies`` and the operands' types that ``emit`` depends on.
        bodies: the user's functions, of which ``emit`` makes the program.
        operands: the program's inputs.
        emit: emits the program at traced operands, and returns its result.
    """
    program = None
    # A call in a body has a rule of its own, which is no structure that could be compared.
    whole = None if any(map(holds_call, bodies)) else (key, *[x.type for x in operands], *map(structure, bodies))
    if whole is not None:
        with _lock:
            program = _programs.pop(whole, None)
            if program is not None:
                _programs[whole] = program  # the last one used goes last
    if program is None:
        like = Arguments([ShapeDtype(x.type.shape, x.type.dtype) for x in operands])
        traced = trace(lambda *values: emit(values), like)
        graph = expanded(traced.graph)  # without rules, which hold on to this call
        program = StagedProgram(Traced(graph, traced.result))
        if whole is not None:
            with _lock:
                _programs[whole] = program
                while len(_programs) > _KEPT:
                    del _programs[next(iter(_programs))]
    return program([captured_array(x) for x in operands])


def structure(body: Body) -> tuple[Hashable, ...]:
    """What bodies have in common that compute the same in the same way: types, ops, params, and who reads what."""
    number: dict[Any, int] = {a: i for i, a in enumerate(body.args)}
    nodes: list[Hashable] = []
    for n in body.nodes:
        regions = tuple(map(structure, n.regions)) if isinstance(n, RegionNode) else ()
        nodes.append((n.op, n.params, tuple([number[k] for k in n.operands]), regions))
        for r in n.results if isinstance(n, RegionNode) else (n,):
            number[r] = len(number)
    types = tuple([a.type for a in body.args])
    return types, tuple(nodes), tuple([number[o] for o in body.outs])
