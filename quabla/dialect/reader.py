"""From MLIR to graphs: reads a ``func.func`` of qb ops."""

from __future__ import annotations

from typing import Any

from quabla.dialect.checks import SourceError
from quabla.dialect.definition import check_counts, checked_params, record_of
from quabla.dialect.writer import ARGUMENT_CAPTURE, ARGUMENT_NAME
from quabla.mlir import ir, place, read_type
from quabla.ops.types import TensorType
from quabla.tracing.graph import Graph, TraceTensor

__all__ = ["read"]


def read(func: Any, fold: bool = False) -> Graph:
    """The graph of a ``func.func``. Equal ops become one node.

    Args:
        func: the function. It does not keep its module alive; hold the module until this returns.
        fold: whether the ops' folding rules are applied.

    Raises:
        SourceError: for what is not a function of qb ops, with the op's place.
    """
    op: Any = func.operation
    if op.name != "func.func":
        raise _error(op, f"expected a func.func, got '{op.name}'")
    blocks = list(op.regions[0].blocks)
    name = ir.StringAttr(op.attributes["sym_name"]).value
    if len(blocks) != 1:
        raise _error(op, f"function '{name}' must have a body of one block, got {len(blocks)} blocks")
    (block,) = blocks
    graph = Graph(_argument_types(op, block), _argument_names(op, block), fold=fold)
    values: dict[Any, TraceTensor] = {}
    for a, value in zip(graph.args, block.arguments, strict=True):
        where = place(value.location)
        a._loc = where and where[:2]
        values[value] = a
    with graph:
        outs = _read_block(block, values, graph)
    graph.finish(outs)
    # What a hidden argument stands for is not written down: it stands for itself.
    graph.captures = {a: a for i, a in enumerate(graph.args) if ARGUMENT_CAPTURE in _argument_entries(op, i)}
    return graph


def _argument_types(func: Any, block: Any) -> list[TensorType]:
    types: list[TensorType] = []
    for i, a in enumerate(block.arguments):
        try:
            types.append(read_type(a.type))
        except ValueError as e:
            raise _error(func, f"argument {i}: {e}", a.location) from None
    return types


def _argument_names(func: Any, block: Any) -> list[str]:
    names: list[str] = []
    for i in range(len(block.arguments)):
        entries = _argument_entries(func, i)
        named = ARGUMENT_NAME in entries and isinstance(entries[ARGUMENT_NAME], ir.StringAttr)
        names.append(entries[ARGUMENT_NAME].value if named else f"arg{i}")
    return names


def _argument_entries(func: Any, i: int) -> Any:
    return func.attributes["arg_attrs"][i] if "arg_attrs" in func.attributes else {}


def _read_block(block: Any, values: dict[Any, TraceTensor], graph: Graph) -> list[TraceTensor]:
    """Emit a block's ops; the operands of its terminator are the results."""
    for view in block.operations:
        op: Any = view.operation
        if op.name == "func.return":
            return [_value(op, x, values) for x in op.operands]
        if op.name == "tensor.cast":
            values[op.results[0]] = _value(op, op.operands[0], values)
        else:
            values[op.results[0]] = _read_op(op, values, graph)
    raise _error(block.owner.operation, "expected a func.return at the end of the function")


def _read_op(op: Any, values: dict[Any, TraceTensor], graph: Graph) -> TraceTensor:
    record = record_of(op)
    if record is None:
        raise _error(op, f"'{op.name}' is not a qb op: only qb ops can be read, with tensor.cast and func.return")
    operands = tuple([_value(op, x, values) for x in op.operands])
    try:
        check_counts(record, op)
        params = checked_params(record, op, [x.type for x in operands])
    except ValueError as e:
        raise _error(op, f"'{op.name}' op {e}") from None
    where = place(op.location)
    graph.location = where and where[:2]
    node = graph.emit(record, operands, params)
    if where is None:  # else emit would name the line that called this function
        node._loc = None
    return node


def _value(op: Any, x: Any, values: dict[Any, TraceTensor]) -> TraceTensor:
    found = values.get(x)
    if found is None:
        raise _error(op, f"'{op.name}' op uses a value that no argument or earlier qb op of its function defines")
    return found


def _error(op: Any, message: str, location: Any = None) -> SourceError:
    where = place(location or op.location)
    return SourceError(message, "unknown location") if where is None else SourceError(message, *where)
