"""What a loop keeps of an iteration for the backward loop.

The backward body starts from the carries that it reads. Where all it reads of one are a few smaller values, such as one
row of a long buffer, those are kept in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from quabla.ops.casting import CONSTANT
from quabla.ops.dispatch import Value
from quabla.tracing.graph import Body, TraceTensor
from quabla.transforms.bodies import part, run

__all__ = ["Tape"]


class Tape:
    """What is kept of every iteration of a loop.

    Args:
        program: the backward body.
        carries: those of its arguments that are the carries at the start of the iteration.
        seeds: those that the forward loop does not have.
        whole: carries that are needed as they are.

    Attributes:
        kept: carries and values of the backward body.
    """

    __slots__ = ("_forward", "_program", "kept")

    def __init__(
        self,
        program: Body,
        carries: Sequence[TraceTensor],
        seeds: Collection[TraceTensor],
        whole: Collection[TraceTensor],
    ) -> None:
        known = set(program.args).difference(seeds)
        for n in program.nodes:
            if isinstance(n, TraceTensor) and (n.op is CONSTANT or (n.operands and known.issuperset(n.operands))):
                known.add(n)
        kept: dict[TraceTensor, None] = {}
        for c in carries:
            readers = [n for n in program.nodes if c in n.operands]
            rows = [n for n in readers if isinstance(n, TraceTensor) and n in known]
            if c in whole or c in program.outs or len(rows) < len(readers) or _bytes(rows) >= _bytes([c]):
                if readers or c in whole or c in program.outs:
                    kept[c] = None
            else:
                kept.update(dict.fromkeys(rows))
        self.kept = list(kept)
        self._forward = part(program, self.kept)
        made = [n for n in self.kept if n not in set(program.args)]
        rest = [n for n in program.nodes if n not in kept]
        self._program = part(Body([*program.args, *made], rest, program.outs), program.outs)

    def record(self, values: Sequence[Value]) -> list[Value]:
        """Emit what is kept, at the backward body's arguments, of which the seeds are not read."""
        return run(self._forward, values)

    def play(self, values: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
        """Emit the backward body at its arguments, with what was kept in the place of the carries."""
        found = dict(zip(self.kept, kept, strict=True))
        arguments = self._program.args
        made = [found[a] for a in arguments[len(values) :]]
        return run(self._program, [*(found.get(a, x) for a, x in zip(arguments, values, strict=False)), *made])


def _bytes(values: Sequence[TraceTensor]) -> int:
    return sum(x.type.size * x.type.dtype.numpy.itemsize for x in values)
