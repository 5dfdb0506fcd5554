"""Builders of slices, gathers, scatters and sorts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from quabla.lowering.mlx.writer import Function, Literal, number, type_of, unsupported
from quabla.mlir import ir, stablehlo

__all__ = ["INDEXING", "integers", "ordered"]


def integers(op: Any, key: str) -> tuple[int, ...]:
    """The integers of an attribute."""
    return tuple([int(n) for n in ir.DenseI64ArrayAttr(op.attributes[key])])


def ordered(out: Function, name: str, axes: Sequence[int]) -> str:
    """An array with its axes in another order."""
    if list(axes) == list(range(len(axes))):
        return name
    return out.let(f"{name}.T" if list(axes) == [1, 0] else f"mx.transpose({name}, {tuple(axes)})")


# ---- slices -----------------------------------------------------------------------------------------


def _slice(out: Function, op: Any) -> str | Literal:
    (value,) = op.operands
    type, shape, found = type_of(op.results[0]), type_of(value).shape, out.found(value)
    if isinstance(found, Literal):
        return found._replace(type=type)
    bounds = zip(*(integers(op, k) for k in ("start_indices", "limit_indices", "strides")), shape, strict=True)
    return f"{found}[{_subscripts(list(bounds))}]" if shape else found


def _subscripts(bounds: Sequence[tuple[int, int, int, int]]) -> str:
    texts = []
    for start, limit, step, extent in bounds:
        text = f"{start or ''}:{limit if limit < extent else ''}"
        texts.append(text if step == 1 else f"{text}:{step}")
    while len(texts) > 1 and texts[-1] == ":":
        texts.pop()
    return ", ".join(texts)


def _reverse(out: Function, op: Any) -> str | Literal:
    (value,) = op.operands
    found, axes = out.found(value), integers(op, "dimensions")
    if isinstance(found, Literal):
        return found
    return f"{found}[{', '.join('::-1' if i in axes else ':' for i in range(max(axes, default=0) + 1))}]"


def _starts(out: Function, starts: Sequence[Any], whole: Sequence[bool]) -> tuple[str, tuple[int, ...]]:
    """The first indices along the axes that are not taken whole, and those axes."""
    axes = tuple([i for i, w in enumerate(whole) if not w])
    texts = []
    for i in axes:
        found = out.found(starts[i])
        texts.append(number(found.value, found.type) if isinstance(found, Literal) else found)
    return f"[{', '.join(texts)}]", axes


def _dynamic_slice(out: Function, op: Any) -> str:
    value, *starts = op.operands
    shape, sizes = type_of(value).shape, type_of(op.results[0]).shape
    # A slice of the whole extent has one place to start.
    where, axes = _starts(out, starts, [n == m for n, m in zip(shape, sizes, strict=True)])
    if not axes or not math.prod(sizes):
        return out.array(value) if not axes else out.filled(Literal(0, type_of(op.results[0])))
    return f"{out.helper('helpers', 'dynamic_slice')}({out.array(value)}, {where}, {axes}, {sizes})"


def _dynamic_update_slice(out: Function, op: Any) -> str:
    value, update, *starts = op.operands
    shape, sizes = type_of(value).shape, type_of(update).shape
    where, axes = _starts(out, starts, [n == m for n, m in zip(shape, sizes, strict=True)])
    if not math.prod(sizes):
        return out.array(value)
    if not axes:
        return out.array(update)
    return f"{out.helper('helpers', 'dynamic_update_slice')}({out.array(value)}, {out.array(update)}, {where}, {axes})"


# ---- gathers and scatters ---------------------------------------------------------------------------


def _along(names: Sequence[int], offset: Sequence[int], collapsed: Sequence[int], rank: int) -> int | None:
    """The axis of which whole rows are taken, by a vector of indices; None for other gathers."""
    if len(names) == 1 and list(collapsed) == list(names) and list(offset) == [i for i in range(rank) if i != names[0]]:
        return names[0]
    return None


def _gather(out: Function, op: Any) -> str:
    value, indices = op.operands
    shape, rank = type_of(value).shape, len(type_of(value).shape)
    numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    sizes = integers(op, "slice_sizes")
    to = type_of(op.results[0])
    if not math.prod(to.shape):
        return out.filled(Literal(0, to))
    offset, collapsed = list(numbers.offset_dims), list(numbers.collapsed_slice_dims)
    mapped, vector = list(numbers.start_index_map), numbers.index_vector_dim
    batching = list(numbers.operand_batching_dims)
    axis = _along(mapped, offset, collapsed, rank) if not batching else None
    if axis is not None and all(n == m for i, (n, m) in enumerate(zip(shape, sizes, strict=True)) if i != axis):
        rows = out.array(indices)
        if vector < len(type_of(indices).shape):
            rows = f"mx.squeeze({rows}, {vector})"
        return f"{out.helper('helpers', 'take')}({out.array(value)}, {rows}, {axis})"
    places = (
        f"mapped={mapped}, vector={vector}, sizes={sizes}, offset={offset}, collapsed={collapsed}, "
        f"batching={batching}, index_batching={list(numbers.start_indices_batching_dims)}"
    )
    return f"{out.helper('helpers', 'gather')}({out.array(value)}, {out.array(indices)}, {places})"


_SCATTERED: Final = {
    "stablehlo.add": "add",
    "stablehlo.multiply": "multiply",
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.or": "maximum",
    "stablehlo.and": "minimum",
    "stablehlo.return": "set",
}


def _scatter(out: Function, op: Any) -> str:
    if len(op.results) != 1:
        raise unsupported("scatter", f"of {len(op.results)} arrays at once")
    value, indices, updates = op.operands
    block = op.regions[0].blocks[0]
    ops = list(block.operations)
    kind = _SCATTERED.get(ops[0].operation.name) if len(ops) <= 2 else None
    if kind is None or (kind == "set" and ops[0].operands[0] != block.arguments[1]):
        raise unsupported("scatter", f"its region combines with {', '.join(o.operation.name for o in ops[:-1])}")
    if not math.prod(type_of(updates).shape):
        return out.array(value)
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    places = (
        f"mapped={list(numbers.scattered_dims_to_operand_dims)}, vector={numbers.index_vector_dim}, "
        f"window={list(numbers.update_window_dims)}, inserted={list(numbers.inserted_window_dims)}, "
        f"batching={list(numbers.input_batching_dims)}, index_batching={list(numbers.scatter_indices_batching_dims)}"
    )
    arrays = ", ".join(out.array(v) for v in (value, indices, updates))
    return f"{out.helper('helpers', 'scatter')}({arrays}, {kind!r}, {places})"


# ---- sorts ------------------------------------------------------------------------------------------


def _sort(out: Function, op: Any) -> str | None:
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    which, descending = _key(op)
    names = [out.array(v) for v in op.operands]
    if len(names) == 1 and not descending:
        return f"mx.sort({names[0]}, axis={axis})"
    order = out.let(f"{out.helper('helpers', 'order')}({names[which]}, {axis}, descending={descending})")
    for r, n in zip(op.results, names, strict=True):
        out.bind(r, out.let(f"mx.take_along_axis({n}, {order}, {axis})"))
    return None


def _key(op: Any) -> tuple[int, bool]:
    """The operand that a sort compares, and whether the largest comes first."""
    block = op.regions[0].blocks[0]
    arguments = list(block.arguments)
    found = _ordered_pair(list(block.operations)[-1].operands[0])
    if found is not None:
        a, b, descending = found
        if a in arguments and b in arguments:
            i, j = arguments.index(a), arguments.index(b)
            if i // 2 == j // 2 and i != j:
                return i // 2, descending is (i < j)
    raise unsupported("sort", "its region does more than compare elements of one of the arrays")


def _ordered_pair(test: Any) -> tuple[Any, Any, bool] | None:
    """The two values that a comparator compares, and whether it wants the greater first. NaN may have to be last."""
    owner = test.owner
    if isinstance(owner, ir.Block):
        return None
    if owner.name == "stablehlo.compare":
        a, b = owner.operands
        direction = _direction(owner)
        return (a, b, direction == "GT") if direction in ("LT", "GT") else None
    if owner.name == "stablehlo.or":
        first, last = owner.operands
        found = _ordered_pair(first)
        if found is not None and not found[2] and _is_nan_after(last, *found[:2]):
            return found
    return None


def _is_nan_after(test: Any, a: Any, b: Any) -> bool:
    """Whether a value says that ``a`` is a number and ``b`` is NaN."""
    owner = test.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.and":
        return False
    pairs = [(v.owner.name, *v.owner.operands, _direction(v.owner)) for v in owner.operands if _is_comparison(v)]
    return pairs == [("stablehlo.compare", a, a, "EQ"), ("stablehlo.compare", b, b, "NE")]


def _is_comparison(value: Any) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == "stablehlo.compare"


def _direction(compare: Any) -> str:
    return stablehlo.ComparisonDirectionAttr(compare.attributes["comparison_direction"]).value


INDEXING: Final[dict[str, Callable[[Function, Any], str | Literal | None]]] = {
    "stablehlo.slice": _slice,
    "stablehlo.reverse": _reverse,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather,
    "stablehlo.scatter": _scatter,
    "stablehlo.sort": _sort,
}
