"""Carries that only collect a row of every iteration: what ``scan`` stacks, and the tapes of reverse mode itself.

Nothing but the loop's result reads such a stack, and no row is written twice. So the cotangent of an iteration's row is
that row of the result's cotangent: the backward loop reads it from outside, and carries nothing for the stack. A carry
that is read and written there would cost a copy of the whole stack an iteration wherever a compiler cannot tell that
the read comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quabla.ops.control import PUT
from quabla.ops.dispatch import Value
from quabla.ops.elementwise import ADD, SUB
from quabla.tracing.graph import FORI, Body, RegionNode, TraceTensor

__all__ = ["put_of", "stacks", "without"]


def put_of(n: RegionNode, k: int) -> TraceTensor | None:
    """The put that makes the next value of a loop's carry, where nothing else in the body reads or returns the carry."""
    body = n.regions[-1]
    put, carry = body.outs[k], body.args[n.op.lead + k]
    if put.op is not PUT or put.operands[0] is not carry or carry in put.operands[1:] or carry in body.outs:
        return None
    read = any((carry in m.operands and m is not put) or put in m.operands for m in body.nodes)
    return None if read or list(body.outs).count(put) > 1 else put


def stacks(n: RegionNode, operands: Sequence[Value], which: Sequence[bool]) -> list[int]:
    """Which carries of a loop collect rows, each in a place of its own, and start from values without a derivative."""
    found = []
    for k in range(len(n.results)):
        put = None if which[k] else put_of(n, k)
        if put is not None:
            first = _first_row(n, operands, put.operands[2])
            most = n.params[1] - n.params[0] if n.op is FORI else n.params[0]
            if first is not None and 0 <= first <= put.type.shape[put.params[0]] - most:
                found.append(k)
    return found


def _first_row(n: RegionNode, operands: Sequence[Value], index: TraceTensor) -> int | None:
    """The least index, where it changes by one from each iteration to the next; None where that cannot be seen."""
    body = n.regions[-1]
    if n.op is FORI:
        lower, upper = n.params
        counter = body.args[0]
        if index is counter:
            return lower
        others = [x.splat for x in index.operands if x is not counter]
        if len(others) != 1 or others[0] is None or not float(others[0]).is_integer():
            return None
        shift = int(others[0])
        if index.op is ADD:
            return lower + shift
        if index.op is SUB:
            return lower - shift if index.operands[0] is counter else shift - (upper - 1)
        return None
    if n.params[0] is None or index not in body.args[: len(n.results)]:
        return None
    k = list(body.args).index(index)
    following, start = body.outs[k], operands[k]
    if following.op is not ADD or [x.splat for x in following.operands if x is not index] != [1.0]:
        return None
    splat = start.splat if start.traced else None
    return None if splat is None or not float(splat).is_integer() else int(splat)


def without(body: Body, puts: Mapping[int, TraceTensor]) -> Body:
    """A loop's body which returns rows in the place of the stacks that they are put into."""
    if not puts:
        return body
    dropped = set(puts.values())
    outs = [puts[k].operands[1] if k in puts else o for k, o in enumerate(body.outs)]
    return Body(body.args, [m for m in body.nodes if m not in dropped], outs)
