"""Whether a program survives being printed and parsed, in every form it has."""

from __future__ import annotations

import io

from quabla.dialect import reader, text, writer
from quabla.dialect.checks import SourceError
from quabla.mlir import context, ir

__all__ = ["fault"]


def fault(module: ir.Module) -> str | None:
    """Which form the program does not survive, or None.

    Each form is printed, parsed and compared in MLIR's generic form: custom and generic MLIR, bytecode, and for
    functions of qb ops the graph and its text.
    """
    op = module.operation
    wanted = _generic(op)
    for form, printed in (("custom", str(op.get_asm())), ("generic", wanted), ("bytecode", _bytecode(op))):
        try:
            again = ir.Module.parse(printed, context())
        except ir.MLIRError:
            return f"failed to roundtrip: the {form} form does not parse"
        if _generic(again.operation) != wanted:
            return f"failed to roundtrip: the {form} form parses as another program"
    for view in module.body.operations:
        message = _function_fault(view.operation)
        if message is not None:
            return f"failed to roundtrip: {message}"
    return None


def _function_fault(op: ir.Operation) -> str | None:
    if op.name != "func.func":
        return None
    try:
        graph = reader.read(op)
    except SourceError:
        return None  # not a function of qb ops, which alone have a graph
    name = ir.StringAttr(op.attributes["sym_name"]).value
    printed = text.as_text(graph)
    written = writer.write(graph, name)
    if text.as_text(reader.read(written.body.operations[0].operation)) != printed:
        return f"the graph of function '{name}' is another one when it is written and read"
    try:
        again = text.parse(printed)
    except SourceError as e:
        return f"the text of function '{name}' does not parse: {e}"
    if text.as_text(again) != printed:
        return f"the text of function '{name}' parses as another program"
    return None


def _generic(op: ir.Operation) -> str:
    return str(op.get_asm(print_generic_op_form=True))


def _bytecode(op: ir.Operation) -> bytes:
    into = io.BytesIO()
    op.write_bytecode(into)
    return into.getvalue()
