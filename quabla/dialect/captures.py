"""The values that regions capture, in the order of both written forms."""

from __future__ import annotations

from collections.abc import Iterator

from quabla.tracing.graph import Body, RegionNode, TraceTensor

__all__ = ["captured_in_order", "first_operands", "outer_names"]


def first_operands(n: RegionNode) -> tuple[TraceTensor, ...]:
    """The operands before the captured values."""
    return n.operands[: n.op.fixed + len(n.carries())]


def outer_names(n: RegionNode, body: Body) -> dict[TraceTensor, TraceTensor]:
    """The value outside that each captured argument of a region stands for."""
    first = n.op.lead + len(n.carries())
    return dict(zip(body.args[first:], n.captured(), strict=True))


def captured_in_order(n: RegionNode) -> list[TraceTensor]:
    """The captured values, each once, in the order of their first use in the regions.

    MLIR does not write down which values a region captures, so this is the order that reading it finds; the text
    form lists the captured values in it too.
    """
    found: dict[TraceTensor, None] = {}
    for body in n.regions:
        outside = outer_names(n, body)
        found.update((outside[k], None) for k in _used(body) if k in outside)
    return list(found)


def _used(body: Body) -> Iterator[TraceTensor]:
    for n in body.nodes:
        if isinstance(n, RegionNode):
            yield from first_operands(n)
            yield from captured_in_order(n)
        else:
            yield from n.operands
    yield from body.outs
