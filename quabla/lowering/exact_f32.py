"""Make every float32 op of a StableHLO program the float64 result rounded once.

``+ - * /`` and ``sqrt`` of float32 numbers are already that, computed natively: 53 bits are more than twice 24 plus
two, so rounding to float64 first would change nothing. Comparisons, selections and data movement never round. All
else is widened: operands are converted to float64, the op is done in float64, and its result is converted back.

One op of a program can be several StableHLO ops, such as the sum and the division of a mean. Lowering makes a
composite of every such op (see ``rounds_more_than_once``), and this pass widens a composite's decomposition as a whole:
arguments are converted on entry, the result on return, and nothing in between is rounded. Constants in a decomposition
carry the number that was meant in the attribute ``qb.value`` where float32 cannot hold it.

The pass table and qb-opt know the pass as ``stablehlo-exact-f32``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from quabla.mlir import context, ir, unknown

__all__ = ["VALUE", "convert", "functions_of", "rounds_more_than_once", "walk", "wide_type", "widen"]

#: On a float32 constant that rounds: the float64 number that was meant.
VALUE: Final = "qb.value"


def _named(names: str) -> frozenset[str]:
    return frozenset("stablehlo." + n for n in names.split())


#: Never round, and rounding commutes with them: monotone, odd, or moving whole elements.
_MOVES: Final = _named(
    "abs broadcast broadcast_in_dim clamp concatenate constant dynamic_slice dynamic_update_slice gather "
    "get_tuple_element iota maximum minimum negate optimization_barrier pad reshape reverse select slice sort transpose "
    "tuple"
) | {"func.return", "stablehlo.return"}
#: Never round, but rounding an operand first can change the result.
_EXACT: Final = _named(
    "and ceil compare floor is_finite not or round_nearest_afz round_nearest_even sign xor bitcast_convert"
)
#: Round once by themselves.
_ONCE: Final = _named("add subtract multiply divide sqrt convert")
#: Have regions that run as they stand.
_CONTROL: Final = _named("while if case")
#: Mean something outside this program, so their types are not ours to change.
_FOREIGN: Final = _named("bitcast_convert custom_call reduce_precision")
_CALLS: Final = frozenset({"stablehlo.composite", "func.call"})
_LEFT_ALONE: Final = _MOVES | _EXACT | _ONCE | _FOREIGN | _CALLS

_create: Final = ir.Operation.create


def rounds_more_than_once(block: Any) -> bool:
    """Whether some result of a block is more than one rounding away from the exact one."""
    rounded: set[Any] = set()
    for op in block.operations:
        moves = op.name in _MOVES
        on_rounded = any(v in rounded for v in op.operands)
        if on_rounded and not moves:
            return True
        if on_rounded or not (moves or op.name in _EXACT) or VALUE in op.attributes:
            rounded.update(r for r in op.results if wide_type(r.type) is not None)
    return False


def widen(module: Any) -> None:
    """Widen the float32 ops of a module, in place."""
    _Widening(module).run()


def functions_of(module: Any) -> list[Any]:
    """The functions of a module."""
    return [f.operation for f in module.body.operations if f.operation.name == "func.func"]


def walk(regions: Iterable[Any]) -> Iterable[Any]:
    """All ops in some regions' blocks, inner ones after their parent."""
    for group in regions:
        for region in group:
            for block in region.blocks:
                for op in block.operations:
                    yield op
                    if op.regions:
                        yield from walk([op.regions])


_wider: Final[dict[Any, Any]] = {}


def wide_type(type: Any) -> Any:
    """The float64 type of a float32 tensor type, None for any other type."""
    found = _wider.get(type, _wider)
    if found is _wider:
        found = None
        if isinstance(type, ir.RankedTensorType) and isinstance(type.element_type, ir.F32Type):
            found = ir.RankedTensorType.get(list(type.shape), ir.F64Type.get(context()), loc=unknown())
        _wider[type] = found
    return found


def convert(value: Any, type: Any, loc: Any, ip: Any) -> Any:
    """``value`` converted to another type of the same shape."""
    return _create("stablehlo.convert", [type], [value], loc=loc, ip=ip).result


class _Widening:
    """One run of the pass over a module."""

    def __init__(self, module: Any) -> None:
        self._module: Final = module
        self._clones: Final[dict[str, str]] = {}

    def run(self) -> None:
        functions = {_symbol(f): f for f in functions_of(self._module)}
        calls = {s: _called(f) for s, f in functions.items()}
        decompositions = {s for called in calls.values() for key, s in called if key == "decomposition"}
        rounded = {s for f, called in calls.items() if f not in decompositions for _, s in called} & decompositions
        nested: set[str] = set()  # called inside decompositions, where nothing may round
        pending = list(decompositions)
        while pending:
            for _, s in calls[pending.pop()]:
                if s not in nested:
                    nested.add(s)
                    pending.append(s)
        wide = [self._wide_clone(functions[s]) for s in functions if s in nested and _has_f32(functions[s])]
        for s, f in functions.items():
            if s in rounded:
                self._whole(f, narrow_signature=True)
            elif s in self._clones and s in decompositions:
                f.erase()
            elif s not in decompositions and f.regions[0].blocks:
                self._block(f.regions[0].blocks[0])
        for f in wide:
            self._whole(f, narrow_signature=False)

    def _wide_clone(self, f: Any) -> Any:
        """A copy of a function, as yet unchanged, for callers that are float64 throughout."""
        symbol = _symbol(f)
        clone = self._clones[symbol] = symbol + ".wide"
        copy = f.clone(ip=ir.InsertionPoint(self._module.body))
        copy.attributes["sym_name"] = ir.StringAttr.get(clone, context())
        return copy.operation

    # ---- op by op -----------------------------------------------------------------------------------

    def _block(self, block: Any) -> None:
        """Widen what needs it among the ops of a block."""
        widened: dict[Any, Any] = {}
        for op in list(block.operations):
            name = op.name
            if name in _LEFT_ALONE:
                continue
            if name in _CONTROL:
                for region in op.regions:
                    for inner in region.blocks:
                        self._block(inner)
            elif not _only_moves(op):
                self._op(op, widened)

    def _op(self, op: Any, widened: dict[Any, Any]) -> None:
        """Do one op in float64: its operands converted, its results rounded."""
        loc, before = op.location, ir.InsertionPoint(op)
        for i, v in enumerate(op.operands):
            wide = wide_type(v.type)
            if wide is not None:
                converted = widened.get(v)
                if converted is None:
                    converted = widened[v] = convert(v, wide, loc, before)
                op.operands[i] = converted
        for region in op.regions:
            for inner in region.blocks:
                self._widen_ops(inner)
        after = None
        for r in op.results:
            narrow = r.type
            wide = wide_type(narrow)
            if wide is not None:
                r.set_type(wide)
                after = after or ir.InsertionPoint.after(op)
                rounded = convert(r, narrow, loc, after)
                r.replace_all_uses_except(rounded, rounded.owner.operation)

    # ---- as a whole ---------------------------------------------------------------------------------

    def _whole(self, f: Any, *, narrow_signature: bool) -> None:
        """Do all of a function in float64.

        Args:
            narrow_signature: keep float32 arguments and results, converting on entry and rounding on return.
        """
        block = f.regions[0].blocks[0]
        signature = _signature(f)
        self._widen_ops(block)
        if not narrow_signature:
            ins, outs = [[wide_type(t) or t for t in types] for types in (signature.inputs, signature.results)]
            f.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(ins, outs, context()), context())
            return
        start = ir.InsertionPoint.at_block_begin(block)
        for argument, narrow in zip(block.arguments, signature.inputs, strict=True):
            wide = wide_type(narrow)
            if wide is not None:
                argument.set_type(narrow)
                converted = convert(argument, wide, f.location, start)
                argument.replace_all_uses_except(converted, converted.owner.operation)
        end = block.operations[len(block.operations) - 1]
        before = ir.InsertionPoint(end)
        for i, narrow in enumerate(signature.results):
            if wide_type(narrow) is not None:
                end.operands[i] = convert(end.operands[i], narrow, end.location, before)

    def _widen_ops(self, block: Any) -> None:
        """Turn every float32 value of a block into a float64 one."""
        ops = list(block.operations)
        foreign = [(op, [v.type for v in op.operands]) for op in ops if op.name in _FOREIGN]
        for argument in block.arguments:
            wide = wide_type(argument.type)
            if wide is not None:
                argument.set_type(wide)
        for op in ops:
            name = op.name
            if name in _FOREIGN:
                continue
            if name == "stablehlo.constant":
                _widen_constant(op)
            elif name in _CALLS:
                key, symbol = _callee(op)
                op.attributes[key] = ir.FlatSymbolRefAttr.get(self._clones.get(symbol, symbol), context())
            for r in op.results:
                wide = wide_type(r.type)
                if wide is not None:
                    r.set_type(wide)
            for region in op.regions:
                for inner in region.blocks:
                    self._widen_ops(inner)
        for op, types in foreign:
            _keep(op, types)


def _keep(op: Any, operand_types: list[Any]) -> None:
    """Leave an op in float32 among ops that have been widened."""
    loc, before, after = op.location, ir.InsertionPoint(op), ir.InsertionPoint.after(op)
    for i, narrow in enumerate(operand_types):
        if wide_type(narrow) is not None:
            op.operands[i] = convert(op.operands[i], narrow, loc, before)
    for r in op.results:
        wide = wide_type(r.type)
        if wide is not None:
            converted = convert(r, wide, loc, after)
            r.replace_all_uses_except(converted, converted.owner.operation)


def _only_moves(op: Any) -> bool:
    """Whether an op's regions, such as that of a maximum reduction, never round."""
    regions = op.regions
    if not len(regions):
        return False
    return all(inner.name in _MOVES or inner.name in _EXACT for inner in walk([regions]))


def _widen_constant(op: Any) -> None:
    attributes = op.attributes
    wide = wide_type(op.results[0].type)
    if wide is None:
        return
    if VALUE in attributes:
        elements = ir.DenseElementsAttr.get_splat(wide, attributes[VALUE])
        del attributes[VALUE]
    else:
        numbers = np.array(ir.DenseElementsAttr(attributes["value"])).astype(np.float64)
        elements = ir.DenseElementsAttr.get(np.ascontiguousarray(numbers), type=wide, context=context())
    attributes["value"] = elements


def _called(f: Any) -> list[tuple[str, str]]:
    return [_callee(op) for op in walk([f.regions]) if op.name in _CALLS]


def _has_f32(f: Any) -> bool:
    signature = _signature(f)
    return any(wide_type(t) is not None for t in (*signature.inputs, *signature.results))


def _signature(f: Any) -> Any:
    return ir.FunctionType(ir.TypeAttr(f.attributes["function_type"]).value)


def _callee(op: Any) -> tuple[str, str]:
    """The attribute that names the function that a call or composite calls, and the function's symbol."""
    key = "decomposition" if op.name == "stablehlo.composite" else "callee"
    return key, ir.FlatSymbolRefAttr(op.attributes[key]).value


def _symbol(f: Any) -> str:
    return ir.StringAttr(f.attributes["sym_name"]).value
