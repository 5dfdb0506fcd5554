"""Functions of which every derivative is known: calls whose rule holds a tower of programs, not one body.

Program k of a tower has a subject, k directions and parameters; it is linear in the directions, symmetric in them, and
its derivative along a change of the subject is program k + 1 with the change as one more direction. So derivatives by
the subject never look into a program, and what the programs do inside, such as a factorization that has no derivative of
its own where the function has one, is a constant to all of them. The derivatives by directions and parameters are those
of the programs as they are written; they are towers again, and so everything has derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Sequence

from quabla.ops import dispatch
from quabla.ops.dispatch import Value
from quabla.ops.rules import with_mapped_axis, zeros
from quabla.tracing import regions
from quabla.tracing.graph import CALL, Body, Graph, Node, RegionNode, TraceTensor, current_graph
from quabla.transforms import forward, reverse
from quabla.transforms.bodies import Pull, chosen, emit, filled
from quabla.transforms.call_rules import CallRule, mapped_call, over_lanes
from quabla.transforms.forward import Tangent, add_tangents
from quabla.transforms.inline import Env

__all__ = ["Tower", "ascend", "known"]

Values = Sequence[Value]


class Tower:
    """The programs of a function and of its derivatives."""

    def program(self, subject: Value, directions: Values, parameters: Values) -> list[Value]:
        """Emit the program of as many directions as there are."""
        raise NotImplementedError

    def direction(self, change: Value) -> Value:
        """A change of the subject as a direction."""
        return change


def ascend(name: str, tower: Tower, subject: Value, parameters: Values = ()) -> list[Value]:
    """The results of a tower's function, with all its derivatives.

    Args:
        name: what messages call the function.
        tower: its programs.
        subject: what directions are changes of.
        parameters: everything else that the function depends on.
    """
    if not dispatch.emitters.graphs:
        return tower.program(subject, (), parameters)
    return _call(name, tower, subject, (), parameters)


def _call(name: str, tower: Tower, subject: Value, directions: Values, parameters: Values) -> list[Value]:
    operands = [subject, *directions, *parameters]
    graph = Graph([x.type for x in operands])
    with graph:
        graph.finish(_program(tower, graph.args, len(directions)))
    (body,), captured = regions.closed([graph], len(operands))
    return regions.call(_Rule(name, tower, len(directions), len(operands)), [*operands, *captured], body)


def known(
    name: str, tower: Tower, subject: TraceTensor, parameters: Sequence[TraceTensor], n: TraceTensor
) -> list[Node]:
    """A node whose derivatives are those of a tower's function: the node, and a call that takes its place."""
    plain = TraceTensor(n.graph, n.type, n.op, n.operands, n.params)
    plain._loc = n._loc
    operands = (subject, *parameters, plain)
    graph = Graph([x.type for x in operands])
    rule = _Rule(name, tower, 0, len(operands) - 1)
    body = Body(graph.args, [], graph.args[-1:])
    return [plain, RegionNode(CALL, operands, (rule,), (body,), (n,), n._loc)]


def _program(tower: Tower, args: Values, order: int) -> list[Value]:
    return tower.program(args[0], args[1 : 1 + order], args[1 + order :])


def _traced(tower: Tower, operands: Values, order: int) -> tuple[Body, Env]:
    """A program as a body, and the values of its arguments."""
    graph = Graph([x.type for x in operands])
    with graph:
        graph.finish(_program(tower, graph.args, order))
    body = graph.body()
    return body, dict(zip(body.args, map(current_graph().lift, (*operands, *graph.captures)), strict=True))


class _Rule(CallRule):
    """The rule of a call of a tower's program.

    Attributes:
        tower: the programs.
        order: the number of directions.
    """

    __slots__ = ("order", "tower")

    def __init__(self, name: str, tower: Tower, order: int, count: int) -> None:
        super().__init__(name, count)
        self.tower = tower
        self.order = order

    def _split(self, values: Sequence[Tangent]) -> tuple[Tangent, list[Tangent], list[Tangent]]:
        first = 1 + self.order
        return values[0], list(values[1:first]), list(values[first : self.count])

    def _moving(self, operands: Values, which: Sequence[bool]) -> list[bool]:
        return [w and x.type.dtype.is_float for w, x in zip(which, operands, strict=True)][: self.count]

    def jvp(self, n: RegionNode, operands: Values, tangents: Sequence[Tangent]) -> tuple[list[Value], list[Tangent]]:
        outs = emit(n, operands)
        tower, name = self.tower, self.name
        subject, directions, parameters = self._split(operands)
        moved, turned, shifted = self._split(tangents)
        parts: list[list[Value]] = []
        if moved is not None:
            parts.append(_call(name, tower, subject, [*directions, tower.direction(moved)], parameters))
        for i, t in enumerate(turned):
            if t is not None:
                parts.append(_call(name, tower, subject, [*directions[:i], t, *directions[i + 1 :]], parameters))
        moving = [t is not None for t in shifted]
        if any(moving):
            along = _Shifted(tower, moving)
            parts.append(_call(name, along, subject, directions, [*parameters, *chosen(shifted, moving)]))
        found: list[Tangent] = [None] * len(outs)
        for part in parts:
            found = [add_tangents(a, b) for a, b in zip(found, part, strict=True)]
        return outs, found

    def vjp(
        self, n: RegionNode, operands: Values, which: Sequence[bool]
    ) -> tuple[list[Value], list[bool], Pull | None]:
        outs = emit(n, operands)
        moving = self._moving(operands, which)
        if not any(moving):
            return outs, [False] * len(outs), None
        tower, name = self.tower, self.name
        subject, directions, parameters = self._split(operands)

        def pull(given: Sequence[Tangent]) -> list[Tangent]:
            further = [*parameters, *filled(given, outs)]
            found: list[Tangent] = [None] * len(operands)
            if moving[0]:
                (found[0],) = _call(name, _Pulled(tower, len(outs), True), subject, directions, further)
            for i in range(self.order):
                if moving[1 + i]:
                    others = [*directions[:i], *directions[i + 1 :]]
                    (found[1 + i],) = _call(name, _Pulled(tower, len(outs), False), subject, others, further)
            first = 1 + self.order
            shifting = moving[first:]
            if any(shifting):
                cts = iter(_call(name, _Gathered(tower, len(outs), shifting), subject, directions, further))
                found[first : self.count] = [next(cts) if m else None for m in shifting]
            return found

        return outs, [True] * len(outs), pull

    def batch(
        self, n: RegionNode, operands: Values, mapped: Sequence[bool], size: int
    ) -> tuple[list[Value], list[bool]]:
        first = 1 + self.order
        lanes = [*mapped[:1], *[True] * self.order, *mapped[first:]]
        operands = [
            x if m or not wanted else with_mapped_axis(x, False, size)
            for x, m, wanted in zip(operands, mapped, lanes, strict=True)
        ]
        tower = _Mapped(self.tower, lanes[0], lanes[first : self.count], size)
        return mapped_call(_Rule(self.name, tower, self.order, self.count), n, operands, lanes, size, every=True)


# ---- towers made of towers ---------------------------------------------------------------------------


class _Derived(Tower):
    """A tower made of another one, with the same subject and directions."""

    def __init__(self, base: Tower) -> None:
        self.base = base

    def direction(self, change: Value) -> Value:
        return self.base.direction(change)


class _Shifted(_Derived):
    """The tangents along changes of some parameters, which follow the parameters."""

    def __init__(self, base: Tower, moving: Sequence[bool]) -> None:
        super().__init__(base)
        self.moving = list(moving)

    def program(self, subject: Value, directions: Values, parameters: Values) -> list[Value]:
        count = len(self.moving)
        body, env = _traced(self.base, [subject, *directions, *parameters[:count]], len(directions))
        first = 1 + len(directions)
        moved = chosen(body.args[first : first + count], self.moving)
        outs, tangents = forward.jvp(body, env, dict(zip(moved, parameters[count:], strict=True)))
        return filled(tangents, outs)


class _Gathered(_Derived):
    """The cotangents of some parameters; those of the results follow the parameters."""

    def __init__(self, base: Tower, outs: int, moving: Sequence[bool]) -> None:
        super().__init__(base)
        self.outs = outs
        self.moving = list(moving)

    def program(self, subject: Value, directions: Values, parameters: Values) -> list[Value]:
        count = len(self.moving)
        body, env = _traced(self.base, [subject, *directions, *parameters[:count]], len(directions))
        first = 1 + len(directions)
        wrt = chosen(body.args[first : first + count], self.moving)
        _, pullback = reverse.vjp(body, env, set(wrt))
        cts = pullback(parameters[count:])
        return [cts[x] if x in cts else zeros(x.type) for x in wrt]


class _Pulled(_Derived):
    """The cotangent of one more direction, or of a change of the subject; those of the results follow the parameters."""

    def __init__(self, base: Tower, outs: int, change: bool) -> None:
        super().__init__(base)
        self.outs = outs
        self.change = change

    def program(self, subject: Value, directions: Values, parameters: Values) -> list[Value]:
        count = len(parameters) - self.outs
        base, order = self.base, len(directions)
        none = zeros(subject.type)
        slot = none if self.change else base.direction(none)  # what is linear in it does not read its value
        graph = Graph([x.type for x in (subject, *directions, *parameters[:count], slot)])
        with graph:
            *args, last = graph.args
            last = base.direction(last) if self.change else last
            graph.finish(base.program(args[0], [*args[1 : 1 + order], last], args[1 + order :]))
        body = graph.body()
        values = [subject, *directions, *parameters[:count], slot, *graph.captures]
        env = dict(zip(body.args, map(current_graph().lift, values), strict=True))
        wrt = body.args[1 + order + count]
        _, pullback = reverse.vjp(body, env, {wrt})
        cts = pullback(parameters[count:])
        return [cts[wrt] if wrt in cts else zeros(wrt.type)]


class _Mapped(_Derived):
    """The programs over the lanes of a mapped axis, which directions and results carry."""

    def __init__(self, base: Tower, subject: bool, parameters: Sequence[bool], size: int) -> None:
        super().__init__(base)
        self.subject = subject
        self.parameters = list(parameters)
        self.size = size

    def direction(self, change: Value) -> Value:
        (out,), (mapped,) = over_lanes([change], [self.subject], lambda lane: [self.base.direction(lane[0])])
        return with_mapped_axis(out, mapped, self.size)

    def program(self, subject: Value, directions: Values, parameters: Values) -> list[Value]:
        order = len(directions)
        # Derived towers have further parameters, all of which are cotangents or tangents.
        outs, mapped = over_lanes(
            [subject, *directions, *parameters],
            [self.subject, *[True] * order, *self.parameters],
            lambda lane: _program(self.base, lane, order),
        )
        return [with_mapped_axis(x, m, self.size) for x, m in zip(outs, mapped, strict=True)]
