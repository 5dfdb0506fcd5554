"""The qb dialect, generated from the op registry.

Every record becomes an op ``qb.<name>`` without side effects: its operands and result are tensors, its attributes
are the record's (all are written, defaults too; a result's own shape or dtype is not repeated as an attribute). The
verifier calls the record's ``infer``, so MLIR accepts an op exactly where tracing does, with the same words.

The operands of an op with any number of them have one type in MLIR. Where the graph's differ, as lengths do in
``concat``, each operand passes through a ``tensor.cast`` to the type in which the unequal extents are dynamic;
whoever asks for an operand's type looks through it. So every qb op but for such operands has static types.

Loops and choices are ops of MLIR's scf dialect around qb ops. One op here serves them: ``qb.index`` makes a loop's
counter, an ``index``, the ``tensor<f64>`` that qb ops take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quabla.dialect import attributes, checks
from quabla.mlir import ext, extend_context, ir, irdl, read_type
from quabla.ops import load_all
from quabla.ops.registry import REGISTRY, Op
from quabla.ops.types import Params, TensorType

__all__ = ["NAMESPACE", "check_counts", "checked_params", "dialect_text", "fault", "load", "record_of"]

NAMESPACE = "qb"


def load(context: Any) -> None:
    """Define the dialect in ``context``: ops, their verifier, and that they are pure."""
    load_all()
    with context, ir.Location.unknown(context):
        irdl.load_dialects(ir.Module.parse(dialect_text()))
        for op in REGISTRY.values():
            ir.DynamicOpTrait.attach(op.mlir_name, _Verifier)
            ext.Pure.attach(op.mlir_name)
        ext.Pure.attach(f"{NAMESPACE}.index")


def dialect_text() -> str:
    """The dialect's definition in IRDL."""
    records = [_operation_text(op) for op in REGISTRY.values()]
    return "\n".join([f"irdl.dialect @{NAMESPACE} {{", *records, _INDEX_TEXT, "}"])


#: A loop's counter as a tensor. It has no record: in a graph the counter is an argument of the loop's body.
_INDEX_TEXT: Final = """\
  irdl.operation @index {
    %x = irdl.is index
    %r = irdl.is tensor<f64>
    irdl.operands(counter: %x)
    irdl.results(result: %r)
  }"""


def _operation_text(op: Op) -> str:
    # A value under a constraint of its own may have any tensor type; one constraint for two values makes them equal.
    lines = [f"  irdl.operation @{op.name} {{"]
    tensor = 'irdl.base "!builtin.tensor"'
    operands: list[str] = []
    for i, name in enumerate(op.operands):
        lines.append(f"    %x{i} = {tensor}")
        operands.append(f"{name.lstrip('*')}: {'variadic ' * name.startswith('*')}%x{i}")
    written = [a for a in op.attributes if a.kind not in checks.TYPED]
    lines += [f"    %a{i} = {attributes.KINDS[a.kind].irdl}" for i, a in enumerate(written)]
    lines.append(f"    %r = {tensor}")
    if operands:
        lines.append(f"    irdl.operands({', '.join(operands)})")
    if written:
        listed = ", ".join([f'"{a.name}" = %a{i}' for i, a in enumerate(written)])
        lines.append(f"    irdl.attributes {{{listed}}}")
    return "\n".join([*lines, "    irdl.results(result: %r)", "  }"])


class _Verifier:
    """The verifier of every op. MLIR calls it before it compares the op with the IRDL definition."""

    @staticmethod
    def verify_invariants(op: Any) -> bool:
        try:
            message = fault(op.operation)
        except Exception as e:  # noqa: BLE001  the caller is C++ code that no exception may pass through
            message = f"cannot be verified: {type(e).__name__}: {e}"
        if message is None:
            return True
        op.location.emit_error(f"'{op.operation.name}' op {message}")
        return False


def record_of(op: Any) -> Op | None:
    """The record of a qb op; None for other dialects' ops."""
    space, _, name = op.name.partition(".")
    return REGISTRY.get(name) if space == NAMESPACE else None


def fault(op: Any) -> str | None:
    """What is wrong with a qb op."""
    record = REGISTRY[op.name.partition(".")[2]]
    try:
        check_counts(record, op)
        if record.variadic:
            _check_one_type(op)
        checked_params(record, op, _operand_types(record, op))
    except ValueError as e:
        return str(e)
    return None


def check_counts(record: Op, op: Any) -> None:
    """Compare the numbers of operands, results and regions with the record's.

    Raises:
        ValueError: where they differ.
    """
    message = checks.operand_count_fault(record, len(op.operands))
    if message is not None:
        raise ValueError(message)
    if len(op.results) != 1:
        raise ValueError(f"expects 1 result, got {len(op.results)}")
    if len(op.regions):
        raise ValueError(f"expects no region, got {len(op.regions)}")


def _check_one_type(op: Any) -> None:
    for x in op.operands:
        if x.type != op.operands[0].type:
            raise ValueError(
                f"operands must have one type, got {op.operands[0].type} and {x.type}; pass them through tensor.cast "
                "to the type in which the extents that differ are dynamic"
            )


def checked_params(record: Op, op: Any, types: Sequence[TensorType]) -> Params:
    """The attribute values of a qb op with operands of these types.

    Raises:
        ValueError: for a result type or attributes that do not belong to these operands.
    """
    try:
        result = read_type(op.results[0].type)
    except ValueError as e:
        raise ValueError(f"result: {e}") from None
    params = _params(record, op, result)
    message = checks.result_fault(record, types, params, result)
    if message is not None:
        raise ValueError(message)
    return params


def _operand_types(record: Op, op: Any) -> list[TensorType]:
    types: list[TensorType] = []
    for i, x in enumerate(op.operands):
        source = _cast_source(x) if record.variadic else x
        try:
            types.append(read_type(source.type))
        except ValueError as e:
            name = "" if record.variadic else f" ({record.operands[i]})"
            raise ValueError(f"operand {i}{name}: {e}") from None
    return types


def _cast_source(x: Any) -> Any:
    """What ``tensor.cast`` made ``x`` from, or ``x`` itself."""
    owner = x.owner
    return owner.operands[0] if not isinstance(owner, ir.Block) and owner.name == "tensor.cast" else x


def _params(record: Op, op: Any, result: TensorType) -> Params:
    found = op.attributes
    if not record.attributes and not len(found):
        return ()
    values: list[Any] = []
    for a in record.attributes:
        if a.kind in checks.TYPED:
            values.append(checks.typed_value(a, result))
            continue
        if a.name not in found:
            raise ValueError(f"needs the attribute '{a.name}', {attributes.KINDS[a.kind].wanted}")
        value = attributes.decode(a.kind, found[a.name])
        if value is None:
            raise ValueError(f"attribute '{a.name}' must be {attributes.KINDS[a.kind].wanted}, got {found[a.name]}")
        values.append(value)
    for name in found:
        # A name with a dot belongs to another dialect and may sit on any op.
        if "." not in name and name not in checks.attribute_names(record):
            raise ValueError(checks.unknown_attribute_fault(record, name))
    return tuple(values)


extend_context(load)
