"""Rules of calls: what differentiates and batches a call in the place of its body.

A rule is the parameter of a CALL node. Whatever it emits is made of ordinary ops, so nothing else knows about rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quabla import errors
from quabla.ops.dispatch import Value, apply
from quabla.ops.reductions import SUM
from quabla.ops.rules import with_mapped_axis, zeros
from quabla.tracing import regions
from quabla.tracing.graph import CALL, Body, Graph, RegionNode, TraceTensor, current_graph
from quabla.transforms import batching, reverse
from quabla.transforms.bodies import Pull, chosen, emit, filled, spread
from quabla.transforms.forward import Tangent
from quabla.transforms.inline import Env, inline
from quabla.transforms.stopping import emit_stopped

__all__ = ["CallRule", "Residuals", "TangentRule", "VjpRule", "mapped_call", "over_lanes", "reverse_only"]


class CallRule:
    """Differentiates and batches a call.

    Attributes:
        name: how messages call the function.
        count: the number of operands that the rule knows; further ones are eager arrays that the body has captured.
        opaque: whether results may have derivatives that the body does not show.
        reverse_only: whether forward mode is refused.
    """

    __slots__ = ("count", "name")

    opaque = True
    reverse_only = False

    def __init__(self, name: str, count: int) -> None:
        self.name = name
        self.count = count

    def __repr__(self) -> str:
        return self.name

    def jvp(
        self, n: RegionNode, operands: Sequence[Value], tangents: Sequence[Tangent]
    ) -> tuple[list[Value], list[Tangent]]:
        """Emit the call with its tangents."""
        raise NotImplementedError

    def vjp(
        self, n: RegionNode, operands: Sequence[Value], which: Sequence[bool]
    ) -> tuple[list[Value], list[bool], Pull | None]:
        """Emit the call's primal part; see ``regions.node_vjp``."""
        raise NotImplementedError

    def batch(
        self, n: RegionNode, operands: Sequence[Value], mapped: Sequence[bool], size: int
    ) -> tuple[list[Value], list[bool]]:
        """Emit the call over a mapped axis."""
        raise NotImplementedError

    def stopped(self, count: int) -> CallRule | None:
        """The rule of the call, of ``count`` operands, with a last one more: where that is False, no while loop runs.

        None where every loop ends by itself.
        """
        return None


def reverse_only(body: Body) -> bool:
    """Whether a body contains, in regions too, a call that refuses forward mode."""
    return any(
        (n.op is CALL and n.params[0].reverse_only) or any(map(reverse_only, n.regions))
        for n in body.nodes
        if isinstance(n, RegionNode)
    )


def mapped_call(
    rule: CallRule, n: RegionNode, operands: Sequence[Value], mapped: Sequence[bool], size: int, every: bool
) -> tuple[list[Value], list[bool]]:
    """Emit a call of a node's body over a mapped axis; with ``every`` all results carry it."""
    flags: list[bool] = []
    graph = Graph([x.type for x in operands])
    with graph:
        body = n.regions[0]
        env: Env = dict(zip(body.args, graph.args, strict=True))
        outs, which = batching.vmap(body, env, set(chosen(body.args, mapped)))
        flags = [True] * len(outs) if every else which
        graph.finish([with_mapped_axis(x, m, size) if f else x for x, m, f in zip(outs, which, flags, strict=True)])
    (inner,), captured = regions.closed([graph], len(operands))
    return regions.call(rule, [*operands, *captured], inner), flags


def over_lanes(
    values: Sequence[Value], mapped: Sequence[bool], fun: Callable[[list[Value]], Sequence[Value]]
) -> tuple[list[Value], list[bool]]:
    """Emit a function of single lanes over a mapped axis of some of its arguments."""
    into = current_graph()
    types = [x.type.with_shape(x.type.shape[1:]) if m else x.type for x, m in zip(values, mapped, strict=True)]
    graph = Graph(types)
    with graph:
        graph.finish(fun(list(graph.args)))
    body = graph.body()
    lifted = [into.lift(x) for x in (*values, *graph.captures)]
    lanes = {a for a, m in zip(body.args, mapped, strict=False) if m}
    return batching.vmap(body, dict(zip(body.args, lifted, strict=True)), lanes)


# ---- rules by reverse mode ---------------------------------------------------------------------


class Residuals:
    """What the backward part of a call needs.

    Attributes:
        values: the residuals.
        back: ``(residuals, cotangents) -> cotangents of the operands``; emits wherever it is called.
    """

    __slots__ = ("back", "values")

    def __init__(
        self, values: Sequence[Value], back: Callable[[Sequence[Value], Sequence[Value]], list[Tangent]]
    ) -> None:
        self.values = values
        self.back = back


class VjpRule(CallRule):
    """A rule that gives a forward part and a backward part."""

    __slots__ = ()

    reverse_only = True

    def linearize(self, operands: Sequence[Value]) -> tuple[list[Value], Residuals]:
        """Emit the forward part; returns the results and what the backward part needs."""
        raise NotImplementedError

    def jvp(
        self, n: RegionNode, operands: Sequence[Value], tangents: Sequence[Tangent]
    ) -> tuple[list[Value], list[Tangent]]:
        if any(t is not None for t in tangents):
            raise ValueError(
                f"{self.name}{errors.at(n._loc)}: has no forward-mode derivative, only the rule bwd; use reverse mode "
                "(grad, vjp), or define the function with custom_jvp"
            )
        return emit(n, operands), [None] * len(n.results)

    def vjp(
        self, n: RegionNode, operands: Sequence[Value], which: Sequence[bool]
    ) -> tuple[list[Value], list[bool], Pull | None]:
        moving = [w and x.type.dtype.is_float for w, x in zip(which, operands, strict=True)][: self.count]
        if not any(moving):
            return emit(n, operands), [False] * len(n.results), None
        outs, residuals = self.linearize(operands)

        def pull(given: Sequence[Tangent]) -> list[Tangent]:
            found = residuals.back(residuals.values, filled(given, outs))
            kept: list[Tangent] = [c if m else None for c, m in zip(found, moving, strict=True)]
            return [*kept, *[None] * (len(operands) - self.count)]

        return outs, [True] * len(outs), pull

    def batch(
        self, n: RegionNode, operands: Sequence[Value], mapped: Sequence[bool], size: int
    ) -> tuple[list[Value], list[bool]]:
        return mapped_call(BatchedVjp(self, mapped, size), n, operands, mapped, size, every=True)

    def stopped(self, count: int) -> CallRule:
        return StoppedVjp(self, count)


class StoppedVjp(VjpRule):
    """A rule in a branch: where the last operand is False, its while loops do not run."""

    __slots__ = ("_rule",)

    def __init__(self, rule: VjpRule, count: int) -> None:
        super().__init__(rule.name, count + 1)
        self._rule = rule

    def linearize(self, operands: Sequence[Value]) -> tuple[list[Value], Residuals]:
        *values, taken = operands[: self.count]
        kept: list[Residuals] = []
        counts: list[int] = []

        def forward(inner: list[Value]) -> list[Value]:
            outs, residuals = self._rule.linearize(inner)
            kept.append(residuals)
            counts.append(len(outs))
            return [*outs, *residuals.values]

        found = emit_stopped(values, taken, forward)
        count = counts[0]
        return found[:count], Residuals(
            [*found[count:], taken], lambda res, cts: self._backward(kept[0].back, res, cts)
        )

    def _backward(
        self,
        back: Callable[[Sequence[Value], Sequence[Value]], list[Tangent]],
        residuals: Sequence[Value],
        cts: Sequence[Value],
    ) -> list[Tangent]:
        *kept, taken = residuals
        present: list[bool] = []

        def backward(inner: list[Value]) -> list[Value]:
            found = back(inner[: len(kept)], inner[len(kept) :])
            present.extend(x is not None for x in found)
            return [x for x in found if x is not None]

        found = spread(emit_stopped([*kept, *cts], taken, backward), present)
        return [*found, *[None] * (self.count - len(found))]


class BatchedVjp(VjpRule):
    """A rule applied to every lane of a mapped axis, which all results carry."""

    __slots__ = ("_mapped", "_rule", "_size")

    def __init__(self, rule: VjpRule, mapped: Sequence[bool], size: int) -> None:
        super().__init__(rule.name, len(mapped))
        self._rule = rule
        self._mapped = list(mapped)
        self._size = size

    def linearize(self, operands: Sequence[Value]) -> tuple[list[Value], Residuals]:
        size = self._size
        kept: list[Residuals] = []
        counts: list[int] = []

        def forward(lane: list[Value]) -> list[Value]:
            outs, residuals = self._rule.linearize(lane)
            kept.append(residuals)
            counts.append(len(outs))
            return [*outs, *residuals.values]

        values, flags = over_lanes(operands[: self.count], self._mapped, forward)
        count = counts[0]
        outs = [with_mapped_axis(x, m, size) for x, m in zip(values[:count], flags[:count], strict=True)]
        lanes = flags[count:]
        return outs, Residuals(values[count:], lambda res, cts: self._backward(kept[0].back, lanes, res, cts))

    def _backward(
        self,
        back: Callable[[Sequence[Value], Sequence[Value]], list[Tangent]],
        lanes: Sequence[bool],
        residuals: Sequence[Value],
        cts: Sequence[Value],
    ) -> list[Tangent]:
        present: list[bool] = []

        def backward(lane: list[Value]) -> list[Value]:
            found = back(lane[: len(residuals)], lane[len(residuals) :])
            present.extend(x is not None for x in found)
            return [x for x in found if x is not None]

        values, flags = over_lanes([*residuals, *cts], [*lanes, *[True] * len(cts)], backward)
        whole = spread([with_mapped_axis(x, m, self._size) for x, m in zip(values, flags, strict=True)], present)
        whole += [None] * (self.count - len(whole))
        # An operand that all lanes share gets the cotangents of all of them.
        return [c if c is None or m else apply(SUM, (c,), ((0,),)) for c, m in zip(whole, self._mapped, strict=True)]


# ---- rules by forward mode ---------------------------------------------------------------------


class TangentRule(CallRule):
    """A rule that gives a tangent, which is linear in the operands' tangents; reverse mode transposes it."""

    __slots__ = ()

    def tangent(self, operands: Sequence[Value], tangents: Sequence[Tangent]) -> list[Tangent]:
        """Emit the tangents of the results."""
        raise NotImplementedError

    def jvp(
        self, n: RegionNode, operands: Sequence[Value], tangents: Sequence[Tangent]
    ) -> tuple[list[Value], list[Tangent]]:
        outs = emit(n, operands)
        if all(t is None for t in tangents[: self.count]):
            return outs, [None] * len(outs)
        return outs, self.tangent(operands, tangents)

    def vjp(
        self, n: RegionNode, operands: Sequence[Value], which: Sequence[bool]
    ) -> tuple[list[Value], list[bool], Pull | None]:
        outs = emit(n, operands)
        moving = [
            w and x.type.dtype.is_float and i < self.count for i, (w, x) in enumerate(zip(which, operands, strict=True))
        ]
        floats = [o.type.dtype.is_float for o in outs]
        if not any(moving) or not any(floats):
            return outs, [False] * len(outs), None
        body, captured = self._transposed(n, operands, moving, floats)
        directions = sum(moving)
        seeds = body.args[directions : directions + sum(floats)]
        into = current_graph()
        env: Env = dict(zip(body.args[directions + len(seeds) :], map(into.lift, captured), strict=True))
        late = set(seeds)
        early: list[Any] = []
        rest: list[Any] = []
        for node in body.nodes:
            if late.isdisjoint(node.operands):
                early.append(node)
            else:
                rest.append(node)
                late.update(node.results if isinstance(node, RegionNode) else (node,))
        # What does not wait for cotangents is computed once, in the forward part.
        inline(Body(body.args, early, ()), env)

        def pull(given: Sequence[Tangent]) -> list[Tangent]:
            cts = filled(chosen(given, floats), chosen(outs, floats))
            found = inline(Body(body.args, rest, body.outs), {**env, **dict(zip(seeds, cts, strict=True))})
            return spread(found, moving)

        return outs, floats, pull

    def _transposed(
        self, n: RegionNode, operands: Sequence[Value], moving: Sequence[bool], floats: Sequence[bool]
    ) -> tuple[Body, list[Any]]:
        """The transpose of the tangent at fixed operands.

        Returns:
            A body over the directions, which it does not read, and the cotangents of the results; and the values that it
            captures.

        Raises:
            ValueError: for a tangent that is not linear.
        """
        types = [x.type for x in chosen(operands, moving)]
        outs = [r.type for r in chosen(n.results, floats)]
        graph = Graph([*types, *outs])
        with graph:
            directions, seeds = graph.args[: len(types)], graph.args[len(types) :]
            inner = Graph(types)
            with inner:
                dots = chosen(self.tangent(operands, spread(inner.args, moving)), floats)
                inner.finish([zeros(t) if d is None else d for d, t in zip(dots, outs, strict=True)])
            tangent = inner.body()
            env: Env = dict(zip(tangent.args, [*directions, *map(graph.lift, inner.captures)], strict=True))
            wrt = tangent.args[: len(types)]
            _, pullback = reverse.vjp(tangent, env, set(wrt))
            cts = pullback(seeds)
            graph.finish([cts[a] if a in cts else zeros(a.type) for a in wrt])
        body = graph.body()
        read: set[TraceTensor] = set(body.outs).union(*[m.operands for m in body.nodes])
        if not read.isdisjoint(directions):
            raise ValueError(
                f"{self.name}{errors.at(n._loc)}: reverse mode needs a rule whose tangent is linear in the tangents"
            )
        return body, list(graph.captures)

    def batch(
        self, n: RegionNode, operands: Sequence[Value], mapped: Sequence[bool], size: int
    ) -> tuple[list[Value], list[bool]]:
        return mapped_call(BatchedTangent(self, mapped, size), n, operands, mapped, size, every=True)

    def stopped(self, count: int) -> CallRule:
        return StoppedTangent(self, count)


class StoppedTangent(TangentRule):
    """A rule in a branch: where the last operand is False, its while loops do not run."""

    __slots__ = ("_rule",)

    def __init__(self, rule: TangentRule, count: int) -> None:
        super().__init__(rule.name, count + 1)
        self._rule = rule

    def tangent(self, operands: Sequence[Value], tangents: Sequence[Tangent]) -> list[Tangent]:
        *values, taken = operands[: self.count]
        moving = [t is not None for t in tangents[: len(values)]]
        present: list[bool] = []

        def tangent(inner: list[Value]) -> list[Value]:
            found = self._rule.tangent(inner[: len(values)], spread(inner[len(values) :], moving))
            present.extend(x is not None for x in found)
            return [x for x in found if x is not None]

        return spread(emit_stopped([*values, *chosen(tangents[: len(values)], moving)], taken, tangent), present)


class BatchedTangent(TangentRule):
    """A rule applied to every lane of a mapped axis, which all results carry."""

    __slots__ = ("_mapped", "_rule", "_size")

    def __init__(self, rule: TangentRule, mapped: Sequence[bool], size: int) -> None:
        super().__init__(rule.name, len(mapped))
        self._rule = rule
        self._mapped = list(mapped)
        self._size = size

    def tangent(self, operands: Sequence[Value], tangents: Sequence[Tangent]) -> list[Tangent]:
        moving = [t is not None for t in tangents[: self.count]]
        present: list[bool] = []

        def tangent(lane: list[Value]) -> list[Value]:
            found = self._rule.tangent(lane[: self.count], spread(lane[self.count :], moving))
            present.extend(x is not None for x in found)
            return [x for x in found if x is not None]

        arguments = [*operands[: self.count], *chosen(tangents[: self.count], moving)]
        values, flags = over_lanes(arguments, [*self._mapped, *chosen(self._mapped, moving)], tangent)
        return spread([with_mapped_axis(x, m, self._size) for x, m in zip(values, flags, strict=True)], present)
