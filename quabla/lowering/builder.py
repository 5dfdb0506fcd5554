"""What a record's StableHLO rule writes with: ops, constants, and the few shapes of op that many rules share."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.lowering.attributes import attribute, dense
from quabla.lowering.exact_f32 import VALUE, rounds_more_than_once
from quabla.lowering.indices import Linear
from quabla.mlir import context, ir, mlir_type, stablehlo, unknown
from quabla.ops.types import Const, Shape, TensorType, splat_const, tensor_type

__all__ = ["Builder"]

Value = Any  # an MLIR value

_CACHED: Final = 4096
#: The symbol of a function until it is known whether it will stay.
_TRIAL: Final = "qb.trial"

_create: Final = ir.Operation.create
_grouped: Final[dict[Any, bool]] = {}


class Builder:
    """Writes StableHLO into a module. Types are the program's own; values are MLIR values.

    Rules that need several rounding ops for one float32 op become a composite, so that a later widening to float64
    rounds once for the whole op. That happens here, without the rule knowing.

    Attributes:
        module: the module that functions go to.
        ip: where the next op goes.
        loc: the location of the next op.
        node: the node that is being lowered.
        linear: the values that are known to be integers computed from the counters of loops.
    """

    __slots__ = ("_constants", "_functions", "_symbols", "ip", "linear", "loc", "module", "node")

    def __init__(self, module: Any) -> None:
        self.module: Final = module
        self.ip: Any = None
        self.loc: Any = unknown()
        self.node: Any = None
        self.linear: Final[dict[Value, Linear]] = {}
        self._constants: dict[Any, Value] = {}
        self._functions: Final[dict[Any, dict[str, Any]]] = {}  # the attributes of the composites that call each
        self._symbols: Final = {_symbol(op) for op in module.body.operations}

    # ---- ops and constants ------------------------------------------------------------------------

    def op(self, name: str, type: Any, values: Sequence[Value], /, **attributes: Any) -> Value:
        """The result of one op; see ``attribute`` for how attributes are given."""
        if attributes:
            attributes = {k: attribute(k, v) for k, v in attributes.items()}
        t = mlir_type(type) if type.__class__ is TensorType else type
        return _create(name, [t], values, attributes=attributes, loc=self.loc, ip=self.ip).result

    def constant(self, const: Const) -> Value:
        """A constant."""
        v = self._constants.get(const)
        if v is None:
            v = self._constants[const] = self.op("stablehlo.constant", const.type, [], value=dense(const))
        return v

    def full(self, type: TensorType, number: float | bool) -> Value:
        """A constant of ``type`` whose elements are all ``number``, rounded once."""
        const = splat_const(type, number)
        if type.dtype is not dtypes.float32 or const.splat == number or number != number:
            return self.constant(const)
        key = (type, number)
        v = self._constants.get(key)
        if v is None:
            meant = {"value": dense(const), VALUE: float(number)}
            v = self._constants[key] = self.op("stablehlo.constant", type, [], **meant)
        return v

    def integers(self, array: Any) -> Value:
        """A constant of 64-bit integers, such as the indices of a gather."""
        elements = ir.DenseElementsAttr.get(np.ascontiguousarray(array, np.int64), context=context())
        return self.op("stablehlo.constant", elements.type, [], value=elements)

    def integer(self, number: int) -> Value:
        """A 64-bit integer."""
        v = self._constants.get(number)
        if v is None:
            elements = ir.DenseElementsAttr.get(np.array(number, np.int64), context=context())
            v = self._constants[number] = self.op("stablehlo.constant", elements.type, [], value=elements)
        return v

    def iota(self, type: TensorType, axis: int) -> Value:
        """The position along ``axis``, as a number of the type's dtype."""
        return self.op("stablehlo.iota", type, [], iota_dimension=axis)

    # ---- shapes -----------------------------------------------------------------------------------

    def broadcast(self, value: Value, from_type: TensorType, shape: Shape) -> Value:
        """``value`` with ``shape``, trailing axes aligned as NumPy does."""
        have = from_type.shape
        if have == shape:
            return value
        axes = tuple(range(len(shape) - len(have), len(shape)))
        return self.op("stablehlo.broadcast_in_dim", from_type.with_shape(shape), [value], broadcast_dimensions=axes)

    def reshape(self, value: Value, type: TensorType) -> Value:
        """``value`` with the shape of ``type``."""
        return self.op("stablehlo.reshape", type, [value])

    def gather(
        self,
        value: Value,
        from_type: TensorType,
        starts: Value,
        axes: Sequence[int],
        at: int,
        to_type: TensorType,
        *,
        ordered: bool = False,
    ) -> Value:
        """The parts of ``value`` at the indices along ``axes`` that the last axis of ``starts`` holds; they are clamped.

        Args:
            at: where the other axes of ``starts`` stand in the result.
            ordered: the indices are known to ascend.
        """
        lead = to_type.ndim - from_type.ndim + len(axes)
        offsets = [i for i in range(to_type.ndim) if not at <= i < at + lead]
        numbers = stablehlo.GatherDimensionNumbers.get(offsets, sorted(axes), [], [], list(axes), lead, context())
        sizes = tuple(1 if i in axes else n for i, n in enumerate(from_type.shape))
        return self.op(
            "stablehlo.gather", to_type, [value, starts],
            dimension_numbers=numbers, slice_sizes=sizes, indices_are_sorted=ordered,
        )  # fmt: skip

    # ---- rows -------------------------------------------------------------------------------------

    def row(self, index: Value, type: TensorType, extent: int) -> Value:
        """The row that a rank-0 float or int ``index`` names, as a 64-bit integer.

        A negative index counts from the end and NaN is row 0. The result may be out of range, where the ops that it
        is for clamp it.
        """
        known = self.linear.get(index)
        if known is not None:
            return self._linear_row(known, extent)
        number = dtypes.int64 if type.dtype.is_int else dtypes.float64
        if type.dtype is not number:
            wide = type.with_dtype(number)
            index, type = self.op("stablehlo.convert", wide, [index]), wide
        zero = self.full(type, 0)
        wrapped = self.add(type, index, self.full(type, float(extent)))
        row = self.select(self.compare("LT", index, zero, type), wrapped, index, type)
        if number.is_int:
            return row
        # Targets differ in what they convert NaN and numbers beyond the range of integers to.
        row = self.select(self.compare("GT", row, zero, type), row, zero, type)
        last = self.full(type, float(extent - 1))
        return self.to_integer(self.op("stablehlo.minimum", type, [row, last]))

    def _linear_row(self, form: Linear, extent: int) -> Value:
        """The row that a linear form in the counters names."""
        key = (form, extent)
        v = self._constants.get(key)
        if v is not None:
            return v
        constant = form.constant + (extent if form.high < 0 else 0)
        terms = list(form.terms)
        if constant or not terms or terms[0][1] < 0:
            v = self.integer(constant)
        else:
            v = self._scaled(*terms.pop(0))
        for term, factor in terms:
            name = "stablehlo.add" if factor > 0 else "stablehlo.subtract"
            v = self.op(name, v.type, [v, self._scaled(term, abs(factor))])
        if form.low < 0 <= form.high:
            wrapped = self.add_integers(v, self.integer(extent))
            negative = self.less(v, self.integer(0))
            v = self.op("stablehlo.select", v.type, [negative, wrapped, v])
        self._constants[key] = v
        return v

    def _scaled(self, a: Value, factor: int) -> Value:
        return a if factor == 1 else self.op("stablehlo.multiply", a.type, [a, self.integer(factor)])

    def add_integers(self, a: Value, b: Value) -> Value:
        """The sum of two 64-bit integers."""
        return self.op("stablehlo.add", a.type, [a, b])

    def less(self, a: Value, b: Value) -> Value:
        """Whether one 64-bit integer is less than another."""
        return self.op("stablehlo.compare", tensor_type((), dtypes.bool_), [a, b], comparison_direction="LT")

    def to_integer(self, value: Value) -> Value:
        """A rank-0 float as a 64-bit integer, rounded towards zero."""
        return self.op("stablehlo.convert", self.integer(0).type, [value])

    # ---- choosing ---------------------------------------------------------------------------------

    def compare(self, direction: str, a: Value, b: Value, operand_type: TensorType) -> Value:
        """Where ``a`` and ``b``, both of ``operand_type``, compare as ``direction`` says: EQ NE LT LE GT GE."""
        return self.op(
            "stablehlo.compare", operand_type.with_dtype(dtypes.bool_), [a, b], comparison_direction=direction
        )

    def select(self, predicate: Value, a: Value, b: Value, type: TensorType) -> Value:
        """``a`` where ``predicate`` holds, else ``b``."""
        return self.op("stablehlo.select", type, [predicate, a, b])

    # ---- arithmetic on values of one type ---------------------------------------------------------

    def add(self, type: TensorType, a: Value, b: Value) -> Value:
        return self.op("stablehlo.add", type, [a, b])

    def sub(self, type: TensorType, a: Value, b: Value) -> Value:
        return self.op("stablehlo.subtract", type, [a, b])

    def mul(self, type: TensorType, a: Value, b: Value) -> Value:
        return self.op("stablehlo.multiply", type, [a, b])

    def div(self, type: TensorType, a: Value, b: Value) -> Value:
        return self.op("stablehlo.divide", type, [a, b])

    def neg(self, type: TensorType, a: Value) -> Value:
        return self.op("stablehlo.negate", type, [a])

    # ---- reductions and products ------------------------------------------------------------------

    def reduce(self, kind: str, value: Value, from_type: TensorType, axes: Sequence[int], to_type: TensorType) -> Value:
        """Combine along ``axes`` with ``"add"``, ``"multiply"``, ``"maximum"`` or ``"minimum"``."""
        values = [value, self._neutral(kind, to_type.dtype)]
        return self._combining("stablehlo.reduce", kind, values, to_type, dimensions=tuple(axes))

    def reduce_window(
        self,
        kind: str,
        value: Value,
        from_type: TensorType,
        window: Shape,
        low: Shape,
        high: Shape,
        to_type: TensorType,
    ) -> Value:
        """Combine over sliding windows of stride 1, after padding every axis by ``low`` and ``high``."""
        values = [value, self._neutral(kind, to_type.dtype)]
        padding = tuple(zip(low, high, strict=True))
        return self._combining(
            "stablehlo.reduce_window", kind, values, to_type, window_dimensions=tuple(window), padding=padding
        )

    def scatter(
        self,
        kind: str,
        value: Value,
        type: TensorType,
        starts: Value,
        updates: Value,
        updates_type: TensorType,
        axes: Sequence[int],
        at: int,
        *,
        ordered: bool = False,
        unique: bool = False,
    ) -> Value:
        """``value`` with ``updates`` combined into the parts that ``gather`` would take; what is outside is dropped.

        Args:
            kind: ``"add"``, ``"maximum"`` or ``"minimum"``, or ``"set"`` to replace.
            unique: the indices are known to differ.
        """
        lead = updates_type.ndim - type.ndim + len(axes)
        windows = [i for i in range(updates_type.ndim) if not at <= i < at + lead]
        numbers = stablehlo.ScatterDimensionNumbers.get(windows, sorted(axes), [], [], list(axes), lead, context())
        return self._combining(
            "stablehlo.scatter", kind, [value, starts, updates], type,
            scatter_dimension_numbers=numbers, indices_are_sorted=ordered, unique_indices=unique,
        )  # fmt: skip

    def sort(
        self, values: Sequence[Value], types: Sequence[TensorType], axis: int, before: Callable[[Value, Value], Value]
    ) -> list[Value]:
        """``values`` in the order along ``axis`` that ``before`` gives for elements of the first; ties keep theirs."""
        made = _create(
            "stablehlo.sort",
            [mlir_type(t) for t in types],
            list(values),
            attributes={"dimension": attribute("dimension", axis), "is_stable": attribute("is_stable", True)},
            regions=1,
            loc=self.loc,
            ip=self.ip,
        )
        scalars = [mlir_type(t.with_shape(())) for t in types for _ in range(2)]
        block = made.regions[0].blocks.append(*scalars, arg_locs=[self.loc] * len(scalars))
        with self.inside(block):
            _create("stablehlo.return", [], [before(*list(block.arguments)[:2])], loc=self.loc, ip=self.ip)
        return list(made.results)

    def _neutral(self, kind: str, dtype: dtypes.dtype) -> Value:
        least, greatest = (False, True) if dtype.is_bool else (-np.inf, np.inf)
        if dtype.is_int:
            least, greatest = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        number = {"add": 0, "multiply": 1, "maximum": least, "minimum": greatest}[kind]
        return self.full(tensor_type((), dtype), number)

    def _combining(self, name: str, kind: str, values: Sequence[Value], type: TensorType, **attributes: Any) -> Value:
        """An op with a region that combines two scalars, or takes the second of them where ``kind`` is ``"set"``."""
        scalar = mlir_type(tensor_type((), type.dtype))
        attributes = {k: attribute(k, v) for k, v in attributes.items()}
        loc = self.loc
        o = _create(name, [mlir_type(type)], values, attributes=attributes, regions=1, loc=loc, ip=self.ip)
        block = o.regions[0].blocks.append(scalar, scalar, arg_locs=[loc, loc])
        ip = ir.InsertionPoint(block)
        r = block.arguments[1]
        if kind != "set":
            r = _create("stablehlo." + kind, [scalar], list(block.arguments), loc=loc, ip=ip).result
        _create("stablehlo.return", [], [r], loc=loc, ip=ip)
        return o.result

    def dot(self, a: Value, a_type: TensorType, b: Value, b_type: TensorType, to_type: TensorType) -> Value:
        """The matrix product of (stacks of) matrices; leading axes broadcast."""
        m, n, batch = a_type.ndim, b_type.ndim, to_type.ndim - 2
        if n == 2:  # the leading axes of a are rows of one big matrix
            return self._dot_general(a, b, to_type, [], [], [m - 1], [0])
        if m == 2:
            rows, columns = a_type.shape[0], b_type.shape[-1]
            found = self._dot_general(
                b, a, to_type.with_shape((*b_type.shape[:-2], columns, rows)), [], [], [n - 2], [1]
            )
            return self.op("stablehlo.transpose", to_type, [found], permutation=(*range(batch), batch + 1, batch))
        lead = to_type.shape[:-2]
        a = self.broadcast(a, a_type, (*lead, *a_type.shape[-2:]))
        b = self.broadcast(b, b_type, (*lead, *b_type.shape[-2:]))
        axes = list(range(batch))
        return self._dot_general(a, b, to_type, axes, axes, [batch + 1], [batch])

    def _dot_general(self, a: Value, b: Value, type: TensorType, *dims: list[int]) -> Value:
        numbers = stablehlo.DotDimensionNumbers.get(*dims, context())
        return self.op("stablehlo.dot_general", type, [a, b], dot_dimension_numbers=numbers)

    # ---- linear algebra ---------------------------------------------------------------------------

    def triangular_solve(self, a: Value, b: Value, type: TensorType, *, lower: bool, transposed: bool) -> Value:
        """The solutions x of ``a x = b``, or of its transpose; both have the same leading axes."""
        way = stablehlo.TransposeAttr.get("TRANSPOSE" if transposed else "NO_TRANSPOSE", context())
        return self.op(
            "stablehlo.triangular_solve", type, [a, b],
            left_side=True, lower=lower, unit_diagonal=False, transpose_a=way,
        )  # fmt: skip

    def cholesky(self, a: Value, type: TensorType) -> Value:
        """Lower Cholesky factors: zero above the diagonal, and NaN below it where there is none."""
        rank, n = type.ndim, type.shape[-1]
        if n == 0:
            return a
        factor = self.op("stablehlo.cholesky", type, [a], lower=True)
        below = self.compare("GE", self.iota(type, rank - 2), self.iota(type, rank - 1), type)
        factor = self.select(below, factor, self.full(type, 0.0), type)
        # A pivot that is not positive leaves NaN in the last one.
        corner = type.with_shape((*type.shape[:-2], 1, 1))
        starts, limits = (*(0,) * (rank - 2), n - 1, n - 1), type.shape
        last = self.op(
            "stablehlo.slice", corner, [factor],
            start_indices=starts, limit_indices=limits, strides=(1,) * rank,
        )  # fmt: skip
        last = self.broadcast(last, corner, type.shape)
        spoiled = self.op("stablehlo.and", below.type, [self.compare("NE", last, last, type), below])
        return self.select(spoiled, self.full(type, np.nan), factor, type)

    def call_target(self, name: str, values: Sequence[Value], types: Sequence[TensorType], type: TensorType) -> Value:
        """A custom call of ``name``, which takes float64 numbers; the result is rounded once."""
        wide = [self._to(dtypes.float64, v, t) for v, t in zip(values, types, strict=True)]
        result = self.op("stablehlo.custom_call", type.with_dtype(dtypes.float64), wide, call_target_name=name)
        return self._to(type.dtype, result, type.with_dtype(dtypes.float64))

    def _to(self, dtype: dtypes.dtype, value: Value, type: TensorType) -> Value:
        return value if type.dtype is dtype else self.op("stablehlo.convert", type.with_dtype(dtype), [value])

    # ---- composites -------------------------------------------------------------------------------

    def composite(
        self,
        name: str,
        type: TensorType,
        values: Sequence[Value],
        value_types: Sequence[TensorType],
        decomposition: Callable[[Builder, list[Value]], Value],
        **attributes: Any,
    ) -> Value:
        """An op ``qb.<name>`` that StableHLO has no name for, with a private function that says what it means.

        The function is written once for each name, types and attributes; the node's own attributes are added to
        the given ones where the composite bears its op's name.

        Args:
            decomposition: ``(lowering, values) -> value`` writes the function's body.
            attributes: what a backend that knows ``qb.<name>`` may want to know.
        """
        node = self.node
        own = node is not None and node.op.name == name
        if own:
            attributes = {**_written(node), **attributes}
        key = (name, type, tuple(value_types), *(() if node is None else (node.op, node.params)), *attributes.items())
        prepared = self._functions.get(key)
        if prepared is None:
            symbol = self._free_symbol(name, value_types)
            prepared = self._functions[key] = _composite_attributes(name, symbol, attributes)
            self._outline(symbol, type, value_types, decomposition)
        return self._composite_op(type, values, prepared)

    def _composite_op(self, type: TensorType, values: Sequence[Value], prepared: dict[str, Any]) -> Value:
        t = mlir_type(type)
        return _create("stablehlo.composite", [t], values, attributes=prepared, loc=self.loc, ip=self.ip).result

    def _free_symbol(self, name: str, types: Sequence[TensorType]) -> str:
        symbol = base = ".".join(["qb", name, *_spelled(types)])
        n = 0
        while symbol in self._symbols:
            n += 1
            symbol = f"{base}.{n}"
        self._symbols.add(symbol)
        return symbol

    def _outline(
        self,
        symbol: str,
        type: TensorType,
        types: Sequence[TensorType],
        body: Callable[[Builder, list[Value]], Value],
    ) -> Any:
        """A new private function."""
        kept = self.ip, self._constants
        f, block = self.function(symbol, types, [type], public=False)
        self.ip, self._constants = ir.InsertionPoint(block), {}
        try:
            result = body(self, list(block.arguments))
            _create("func.return", [], [result], loc=self.loc, ip=self.ip)
        finally:
            self.ip, self._constants = kept
        return f

    def function(
        self, symbol: str, types: Sequence[TensorType], results: Sequence[TensorType], *, public: bool
    ) -> tuple[Any, Any]:
        """A new function at the end of the module, and its entry block."""
        c = context()
        ins = [mlir_type(t) for t in types]
        attributes = {
            "sym_name": ir.StringAttr.get(symbol, c),
            "sym_visibility": ir.StringAttr.get("public" if public else "private", c),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(ins, [mlir_type(t) for t in results], c), c),
        }
        end = ir.InsertionPoint(self.module.body)
        f = _create("func.func", [], [], attributes=attributes, regions=1, loc=self.loc, ip=end)
        return f, f.regions[0].blocks.append(*ins, arg_locs=[self.loc] * len(ins))

    # ---- nodes ------------------------------------------------------------------------------------

    def enter(self, ip: Any) -> None:
        """Go to the start of another block."""
        self.ip = ip
        self._constants = {}

    def forget(self, values: Sequence[Value]) -> None:
        """Leave a block whose ``linear`` values are these: those that nothing uses are erased."""
        unused = 0
        for v in reversed(values):
            del self.linear[v]
            if _is_unused(v):
                v.owner.erase()
                unused += 1
        if unused:
            for v in self._constants.values():
                if _is_unused(v):
                    v.owner.erase()
            self._constants = {}

    @contextmanager
    def inside(self, block: Any) -> Generator[None]:
        """Write into a block of a region, then go on behind the region's op."""
        kept = self.ip, self._constants
        self.enter(ir.InsertionPoint(block))
        try:
            yield
        finally:
            self.ip, self._constants = kept

    def apply_rule(self, rule: Callable[..., Value], values: list[Value], node: Any) -> Value:
        """What a rule writes for a node; as a composite where it would round float32 more than once."""
        self.node = node
        if not _some_f32(node):
            return rule(self, values, node)
        op = node.op
        types = tuple([x.type for x in node.operands])
        key = (op, types, node.params)
        if _grouped.get(key) is False:
            return rule(self, values, node)
        prepared = self._functions.get(key)
        if prepared is None:
            function = self._outline(_TRIAL, node.type, types, lambda lo, xs: rule(lo, xs, node))
            if len(_grouped) > _CACHED:
                _grouped.clear()
            grouped = _grouped[key] = rounds_more_than_once(function.regions[0].blocks[0])
            if not grouped:
                function.erase()
                return rule(self, values, node)
            symbol = self._free_symbol(op.name, types)
            function.attributes["sym_name"] = ir.StringAttr.get(symbol, context())
            prepared = self._functions[key] = _composite_attributes(op.name, symbol, _written(node))
        return self._composite_op(node.type, values, prepared)


def _is_unused(v: Value) -> bool:
    return next(iter(v.uses), None) is None


def _composite_attributes(name: str, symbol: str, given: dict[str, Any]) -> dict[str, Any]:
    c = context()
    attributes: dict[str, Any] = {
        "name": ir.StringAttr.get("qb." + name, c),
        "decomposition": ir.FlatSymbolRefAttr.get(symbol, c),
    }
    if given:
        attributes["composite_attributes"] = ir.DictAttr.get({k: attribute(k, v) for k, v in given.items()}, c)
    return attributes


def _some_f32(node: Any) -> bool:
    f32 = dtypes.float32
    if node.type.dtype is f32:
        return True
    return any(x.type.dtype is f32 for x in node.operands)


def _written(node: Any) -> dict[str, Any]:
    """The attributes of a node that the types do not already say."""
    kinds = ("int", "bool", "ints", "axes", "str")
    return {a.name: p for a, p in zip(node.op.attributes, node.params, strict=False) if a.kind in kinds}


def _spelled(types: Sequence[TensorType]) -> list[str]:
    spelled = [".".join([t.dtype.mlir, *(["x".join(map(str, t.shape))] if t.shape else [])]) for t in types]
    return spelled[:1] if len(set(spelled)) == 1 else spelled


def _symbol(op: Any) -> str:
    attributes = op.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else ""
