"""A computation whose derivative is that of its replay.

A solver chooses as it goes: step sizes, rejections, when to stop. None of that has a derivative, but a program that
differentiates the solver carries it all along, the trial steps that came to nothing included. So the solver records
what it chose, and the derivative is that of a second program, which repeats the computation with the choices given.
Where nothing is differentiated the replay does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quabla.ops import dispatch
from quabla.ops.casting import STOP_GRADIENT
from quabla.ops.dispatch import Value, apply
from quabla.ops.reductions import MAX
from quabla.ops.rules import with_mapped_axis
from quabla.ops.types import TensorType
from quabla.tracing import regions
from quabla.tracing.graph import Body, Graph, RegionNode, current_graph
from quabla.transforms import forward, reverse
from quabla.transforms.bodies import Pull, chosen, emit, spread
from quabla.transforms.call_rules import CallRule, mapped_call, over_lanes
from quabla.transforms.forward import Tangent
from quabla.transforms.inline import inline

__all__ = ["replayed"]


class Replay(CallRule):
    """The rule of a call that returns results and then records; the results are differentiated through the replay.

    The last record is a number of iterations: over a mapped axis the replay is told the largest one of all lanes.
    """

    __slots__ = ("_program", "records")

    def __init__(self, name: str, count: int, records: int, program: Body | None) -> None:
        super().__init__(name, count)
        self.records = records
        self._program = program

    def replay(self, operands: Sequence[Value], records: Sequence[Value]) -> list[Value]:
        """Emit the results again, given the records."""
        body = self._program
        assert body is not None
        return inline(body, dict(zip(body.args, [*records, *operands], strict=True)))

    def _recorded(self, n: RegionNode, operands: Sequence[Value]) -> tuple[list[Value], Body, list[Value]]:
        """Emit the call as a constant to every derivative.

        Returns:
            Its records; the replay as a body over the records and then the operands; the values of its arguments.
        """
        fixed = [apply(STOP_GRADIENT, (x,)) for x in operands]
        outs = inline(n.regions[0], dict(zip(n.regions[0].args, fixed, strict=True)))
        records = outs[len(outs) - self.records :]
        graph = Graph([x.type for x in (*records, *operands[: self.count])])
        with graph:
            graph.finish(self.replay(graph.args[len(records) :], graph.args[: len(records)]))
        lift = current_graph().lift
        return records, graph.body(), list(map(lift, (*records, *operands[: self.count], *graph.captures)))

    def jvp(
        self, n: RegionNode, operands: Sequence[Value], tangents: Sequence[Tangent]
    ) -> tuple[list[Value], list[Tangent]]:
        moving = {i: t for i, t in enumerate(tangents[: self.count]) if t is not None}
        if not moving:
            return emit(n, operands), [None] * len(n.results)
        records, body, values = self._recorded(n, operands)
        dot = {body.args[len(records) + i]: t for i, t in moving.items()}
        outs, moved = forward.jvp(body, dict(zip(body.args, values, strict=True)), dot)
        return [*outs, *records], [*moved, *[None] * len(records)]

    def vjp(
        self, n: RegionNode, operands: Sequence[Value], which: Sequence[bool]
    ) -> tuple[list[Value], list[bool], Pull | None]:
        moving = [w and x.type.dtype.is_float for w, x in zip(which, operands, strict=True)][: self.count]
        if not any(moving):
            return emit(n, operands), [False] * len(n.results), None
        records, body, values = self._recorded(n, operands)
        given = body.args[len(records) : len(records) + self.count]
        wrt = chosen(given, moving)
        outs, pullback = reverse.vjp(body, dict(zip(body.args, values, strict=True)), set(wrt))

        def pull(cts: Sequence[Tangent]) -> list[Tangent]:
            found = pullback(cts[: len(outs)])
            return [*spread([found.get(a) for a in wrt], moving), *[None] * (len(operands) - self.count)]

        active = [o.type.dtype.is_float for o in outs]
        return [*outs, *records], [*active, *[False] * len(records)], pull

    def batch(
        self, n: RegionNode, operands: Sequence[Value], mapped: Sequence[bool], size: int
    ) -> tuple[list[Value], list[bool]]:
        return mapped_call(BatchedReplay(self, mapped, size), n, operands, mapped, size, every=True)

    def stopped(self, count: int) -> CallRule:
        return self


class BatchedReplay(Replay):
    """A rule applied to every lane of a mapped axis, which all results carry."""

    __slots__ = ("_mapped", "_rule", "_size")

    def __init__(self, rule: Replay, mapped: Sequence[bool], size: int) -> None:
        super().__init__(rule.name, len(mapped), rule.records, None)
        self._rule = rule
        self._mapped = list(mapped)
        self._size = size

    def replay(self, operands: Sequence[Value], records: Sequence[Value]) -> list[Value]:
        rule = self._rule
        *kept, trips = records
        trips = apply(MAX, (trips,), ((0,),))
        values = [*kept, trips, *operands[: self.count]]
        lanes = [*[True] * len(kept), False, *self._mapped]
        outs, flags = over_lanes(
            values, lanes, lambda lane: rule.replay(lane[rule.records :][: rule.count], lane[: rule.records])
        )
        return [with_mapped_axis(x, m, self._size) for x, m in zip(outs, flags, strict=True)]


def replayed(
    name: str,
    types: Sequence[TensorType],
    run: Callable[[], tuple[Sequence[Value], Sequence[Value]]],
    replay: Callable[[Sequence[Value]], Sequence[Value]],
) -> tuple[list[Value], list[Value]]:
    """Run a computation; its derivative is that of its replay.

    Args:
        name: what messages call it.
        types: those of the records.
        run: returns the results and the records, among them last the number of iterations, a rank-0 float.
        replay: returns the same results from the records. It must do no more iterations than that number says, and
            give the same results where it says more.

    Returns:
        The results and the records; the records have no derivative.
    """
    if not dispatch.emitters.graphs:
        results, records = run()
        return list(results), list(records)
    first, second = Graph(types), Graph(types)
    with first:
        results, records = run()
        count = len(results)
        first.finish([*results, *records])
    with second:
        second.finish(replay(second.args))
    (body, program), captured = regions.closed([first, second], len(types))
    body = Body(body.args[len(types) :], body.nodes, body.outs)
    outs = regions.call(Replay(name, len(captured), len(types), program), captured, body)
    return outs[:count], outs[count:]
