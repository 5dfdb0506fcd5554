"""``checkpoint``: reverse mode that computes a function again instead of keeping its intermediate values.

Inside a trace a checkpointed function is a call with a rule of its own. Its pullback reads the operands through
barriers and runs the body's forward part once more from there; the barriers keep every sharing pass, ours and the
compiler's, from finding out that it is the same computation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from quabla import errors, tree
from quabla.ops import dispatch
from quabla.ops.control import BARRIER
from quabla.ops.dispatch import Value, apply
from quabla.tracing import regions
from quabla.tracing.graph import Graph, RegionNode, TraceTensor, outermost_graph
from quabla.tracing.regions import depends
from quabla.tracing.trace import Arguments, ResultTree
from quabla.transforms import forward, reverse
from quabla.transforms.bodies import Pull, chosen, emit, spread
from quabla.transforms.call_rules import CallRule, mapped_call
from quabla.transforms.forward import Tangent
from quabla.transforms.wrapper import Wrapper, static_positions

__all__ = ["Checkpoint", "checkpoint", "remat"]


class Recompute(CallRule):
    """The rule of a checkpointed call; it follows from the body alone."""

    __slots__ = ()

    opaque = False

    def jvp(
        self, n: RegionNode, operands: Sequence[Value], tangents: Sequence[Tangent]
    ) -> tuple[list[Value], list[Tangent]]:
        moving = [t is not None for t in tangents]
        if not any(moving):
            return emit(n, operands), [None] * len(n.results)
        body = n.regions[0]
        directions = chosen(tangents, moving)
        graph = Graph([x.type for x in (*operands, *directions)])
        with graph:
            values, given = graph.args[: len(operands)], graph.args[len(operands) :]
            dot = dict(zip(chosen(body.args, moving), given, strict=True))
            outs, moved = forward.jvp(body, dict(zip(body.args, values, strict=True)), dot)
            graph.finish([*outs, *(t for t in moved if t is not None)])
        # Values and tangents together are a checkpointed call again, so that reverse mode computes both anew.
        (inner,), captured = regions.closed([graph], len(operands) + len(directions))
        results = regions.call(self, [*operands, *directions, *captured], inner)
        return results[: len(outs)], spread(results[len(outs) :], [t is not None for t in moved])

    def vjp(
        self, n: RegionNode, operands: Sequence[Value], which: Sequence[bool]
    ) -> tuple[list[Value], list[bool], Pull | None]:
        active = [d and r.type.dtype.is_float for d, r in zip(depends(n, which), n.results, strict=True)]
        outs = emit(n, operands)
        if not any(active):
            return outs, active, None
        body = n.regions[0]
        wrt = {a for a, w in zip(body.args, which, strict=True) if w and a.type.dtype.is_float}

        def pull(given: Sequence[Tangent]) -> list[Tangent]:
            serial = outermost_graph().next_serial()
            fenced = [apply(BARRIER, (x,), (serial,)) for x in operands]
            _, pullback = reverse.vjp(body, dict(zip(body.args, fenced, strict=True)), wrt)
            cts = pullback(given)
            return [cts.get(a) if a in wrt else None for a in body.args]

        return outs, active, pull

    def batch(
        self, n: RegionNode, operands: Sequence[Value], mapped: Sequence[bool], size: int
    ) -> tuple[list[Value], list[bool]]:
        return mapped_call(self, n, operands, mapped, size, every=False)

    def stopped(self, count: int) -> CallRule:
        return self


RECOMPUTE: Final = Recompute("checkpoint", 0)


@errors.hides_library_frames_in_methods
class Checkpoint(Wrapper):
    """What ``checkpoint`` returns."""

    __slots__ = ("_static",)

    transform = "checkpoint"

    def __init__(self, fun: Callable[..., Any], static_argnums: int | Sequence[int]) -> None:
        super().__init__(fun)
        self._static = static_positions("checkpoint: static_argnums", static_argnums)

    @property
    def fun(self) -> Callable[..., Any]:
        """The plain function."""
        return self._fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check(args)
        if not dispatch.emitters.graphs:
            return self.fun(*args, **kwargs)
        graph = Graph()
        with graph:
            # Traced arguments are captured like any other traced value, and so become operands.
            result = ResultTree(self.fun(*args, **kwargs))
            graph.finish(result.outputs)
        if not result.outputs:
            return result.rebuild(())
        (body,), captured = regions.closed([graph], 0)
        results = regions.call(RECOMPUTE, captured, body)
        for r, o in zip(results, graph.outs, strict=True):
            r.weak = o.weak
        return result.rebuild(results)

    def _check(self, args: Sequence[Any]) -> None:
        static = set()
        for i in self._static:
            k = i + len(args) if i < 0 else i
            if not 0 <= k < len(args):
                raise ValueError(f"{self!r}: static_argnums {i} is out of range for {len(args)} positional arguments")
            if any(x.__class__ is TraceTensor for x in tree.leaves(args[k])):
                raise TypeError(f"{self!r}: the static argument {k} must not be traced{errors.at_user_line()}")
            static.add(k)
        try:
            Arguments([a for k, a in enumerate(args) if k not in static], self)
        except TypeError as e:
            raise TypeError(f"{e}, or name them in static_argnums") from None


def checkpoint(fun: Callable[..., Any] | None = None, *, static_argnums: int | Sequence[int] = ()) -> Any:
    """A function whose intermediate values reverse mode computes again instead of keeping them.

    Args:
        fun: a function of arrays and pytrees; it may close over traced values. Without it ``checkpoint`` is a decorator.
        static_argnums: positions of arguments that are neither arrays nor pytrees of them.

    Returns:
        A function with the same values and the same derivatives of every order. Between the forward and the backward
        part only its arguments and results are kept.

    Raises:
        TypeError: ``fun`` that cannot be called; a static argument that is traced.
        ValueError: ``static_argnums`` out of range.

    Example:
        >>> import quabla as qb
        >>> layer = qb.checkpoint(lambda h, w: qb.tanh(h @ w))
        >>> w = qb.array([[0.5, 0.0], [0.0, 0.5]])
        >>> qb.grad(lambda h: qb.sum(layer(layer(h, w), w)))(qb.array([[0.0, 0.0]]))
        Tensor([[0.25, 0.25]], dtype=float64)
    """
    if fun is None:
        return lambda f: Checkpoint(f, static_argnums)
    return Checkpoint(fun, static_argnums)


remat: Final = checkpoint
