"""Programs of library functions that are called eagerly: traced once for all calls that compute the same.

The user's functions are traced at every call, since what they close over may have changed. That is cheap; what a solver makes
of them is not, and depends on nothing but their structure and the types around them. Numbers in them are inputs of the
program, whether they are arguments, closed over or written down: another number needs no other program.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from quabla.ops.casting import CONSTANT
from quabla.ops.dispatch import Value
from quabla.ops.types import Const, TensorType
from quabla.tracing.graph import SMALL_CONSTANT, Body, Graph, RegionNode, TraceTensor, current_graph
from quabla.tracing.trace import Arguments, ShapeDtype, Traced, trace
from quabla.transforms.bodies import holds_call, rebuilt
from quabla.transforms.expansion import expanded
from quabla.transforms.inline import Env, results_of
from quabla.transforms.staging import StagedProgram, captured_array

__all__ = ["kept_program", "run_cached"]

_KEPT: Final = 64
#: Numbers by which programs are simplified, so that they are part of them.
_SIMPLE: Final = frozenset((0.0, 1.0, -1.0, 2.0, 0.5))
_programs: Final[dict[Hashable, StagedProgram]] = {}
_lock: Final = threading.Lock()


def run_cached(
    key: tuple[Hashable, ...],
    bodies: Sequence[Body],
    operands: Sequence[Value],
    emit: Callable[[Sequence[Body], Sequence[Value]], Any],
) -> Any:
    """Run a program at eager operands; see ``kept_program``."""
    arrays = [captured_array(x) for x in operands]
    program, numbers = kept_program(key, bodies, [x.type for x in operands], emit)
    return program([*arrays, *numbers])


def kept_program(
    key: tuple[Hashable, ...],
    bodies: Sequence[Body],
    types: Sequence[TensorType],
    emit: Callable[[Sequence[Body], Sequence[Value]], Any],
) -> tuple[StagedProgram, list[Any]]:
    """The program for functions that compute the same, and the arrays that it takes after its operands.

    Args:
        key: everything beside ``bodies`` and ``types`` that ``emit`` depends on.
        bodies: the user's functions, of which ``emit`` makes the program.
        types: those of the operands.
        emit: emits the program, given the bodies and the operands as traced values, and returns its result. Where it is
            kept, each body has all numbers of all of them as further last arguments, and the operands end with these.
    """
    if any(map(holds_call, bodies)):
        # A call in a body has a rule of its own, which is no structure that could be compared.
        return _program(bodies, types, emit), []
    numbers: list[Const] = []
    whole = (key, *types, *[structure(b, numbers) for b in bodies])
    with _lock:
        program = _programs.pop(whole, None)
        if program is not None:
            _programs[whole] = program  # the last one used goes last
    if program is None:
        inputs = [c.type for c in numbers]
        program = _program(_without_numbers(bodies, inputs), [*types, *inputs], emit)
        with _lock:
            _programs[whole] = program
            while len(_programs) > _KEPT:
                del _programs[next(iter(_programs))]
    return program, [c.array for c in numbers]


def _program(bodies: Sequence[Body], types: Sequence[TensorType], emit: Callable[..., Any]) -> StagedProgram:
    like = Arguments([ShapeDtype(t.shape, t.dtype) for t in types])
    traced = trace(lambda *values: emit(bodies, values), like)
    graph = expanded(traced.graph)  # without rules, which hold on to this call
    return StagedProgram(Traced(graph, traced.result))


def structure(body: Body, numbers: list[Const]) -> tuple[Hashable, ...]:
    """What bodies have in common that compute the same in the same way: types, ops, params, and who reads what.

    Numbers, which are no part of it, are appended to the list.
    """
    number: dict[Any, int] = {a: i for i, a in enumerate(body.args)}
    nodes: list[Hashable] = []
    for n in body.nodes:
        results: Sequence[Any] = (n,)
        regions: tuple[Hashable, ...] = ()
        if isinstance(n, RegionNode):
            results, regions = n.results, tuple([structure(r, numbers) for r in n.regions])
        elif _is_number(n):
            numbers.append(n.params[0])
            nodes.append(n.type)
            number[n] = len(number)
            continue
        nodes.append((n.op, n.params, tuple([number[k] for k in n.operands]), regions))
        for r in results:
            number[r] = len(number)
    types = tuple([a.type for a in body.args])
    return types, tuple(nodes), tuple([number[o] for o in body.outs])


def _is_number(n: TraceTensor) -> bool:
    """Whether a node is a constant that may as well be an input."""
    if n.op is not CONSTANT or not n.type.dtype.is_float or not 0 < n.type.size <= SMALL_CONSTANT:
        return False
    values = n.params[0].array
    # Zeros among others may be what a mask has left, which derivatives look at.
    return n.splat not in _SIMPLE if n.splat is not None else bool(values.all())


def _without_numbers(bodies: Sequence[Body], numbers: Sequence[TensorType]) -> list[Body]:
    """Bodies with their numbers, of these types in the order in which ``structure`` finds them, as further last arguments of each."""
    found = 0

    def emit(body: Body, arguments: Sequence[Value]) -> list[Value]:
        nonlocal found
        graph = current_graph()
        env: Env = dict(zip(body.args, arguments, strict=True))
        for n in body.nodes:
            graph.location = n._loc
            if isinstance(n, RegionNode):
                env.update(zip(n.results, rebuilt(n, [env[k] for k in n.operands], emit), strict=True))
            elif _is_number(n):
                env[n] = inputs[found]
                found += 1
            else:
                env[n] = graph.emit(n.op, tuple([env[k] for k in n.operands]), n.params)
        graph.location = None
        return results_of(body, env)

    results = []
    for body in bodies:
        graph = Graph([*(a.type for a in body.args), *numbers])
        with graph:
            given = graph.args[: len(body.args)]
            inputs = graph.args[len(body.args) :]
            graph.finish(emit(body, given))
        results.append(graph.body())
    assert found == len(numbers)
    return results
