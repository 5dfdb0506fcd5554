"""Rewrites that XLA needs, and no other consumer of StableHLO."""

from __future__ import annotations

from typing import Any, Final

from quabla.lowering.exact_f32 import convert, functions_of, walk, wide_type
from quabla.mlir import context, ir, stablehlo, unknown

__all__ = ["correct_log1p", "guard_products", "keep_barriers", "split_broadcasts"]

_create: Final = ir.Operation.create


def guard_products(module: Any) -> None:
    """Round float32 products explicitly, in place, where they would be fused with a sum.

    The product of two float32 numbers is exact in float64, and ``reduce_precision`` rounds it by integer arithmetic,
    which no compiler contracts.
    """
    bits = ir.IntegerType.get_signless(32, context())
    format_f32 = {"exponent_bits": ir.IntegerAttr.get(bits, 8), "mantissa_bits": ir.IntegerAttr.get(bits, 23)}
    for op in _named(module, "stablehlo.multiply"):
        narrow = op.results[0].type
        wide = wide_type(narrow)
        if wide is None:
            continue
        loc, ip = op.location, ir.InsertionPoint(op)
        a, b = [convert(v, wide, loc, ip) for v in op.operands]
        product = _create("stablehlo.multiply", [wide], [a, b], loc=loc, ip=ip).result
        rounded = _create("stablehlo.reduce_precision", [wide], [product], attributes=format_f32, loc=loc, ip=ip).result
        op.results[0].replace_all_uses_with(convert(rounded, narrow, loc, ip))
        op.operation.erase()


def keep_barriers(module: Any) -> None:
    """Write every optimization barrier, in place, as arithmetic that XLA does not see through.

    XLA on the CPU drops barriers before it merges equal computations (jaxlib 0.10), and cannot emit one inside a loop
    that it makes a single kernel of (jaxlib 0.12). The bits are flipped and flipped back instead, with a mask of its
    own for each barrier. That costs nothing where the use is elementwise: LLVM, which sees through it, is given one
    kernel at a time.
    """
    for number, op in enumerate(_named(module, "stablehlo.optimization_barrier"), 1):
        loc, ip = op.location, ir.InsertionPoint(op)
        for x, result in zip(op.operands, op.results, strict=True):
            t = x.type
            element = ir.IntegerType.get_signless(t.element_type.width, context())
            bits = ir.RankedTensorType.get(list(t.shape), element, loc=unknown())
            flip = ir.DenseElementsAttr.get_splat(bits, ir.IntegerAttr.get(element, number if element.width > 1 else 1))
            mask = _create("stablehlo.constant", [bits], [], attributes={"value": flip}, loc=loc, ip=ip).result
            name = "stablehlo.bitcast_convert"
            v = x if bits == t else _create(name, [bits], [x], loc=loc, ip=ip).result
            for _ in range(2):
                v = _create("stablehlo.xor", [bits], [v, mask], loc=loc, ip=ip).result
            result.replace_all_uses_with(v if bits == t else _create(name, [t], [v], loc=loc, ip=ip).result)
        op.operation.erase()


def split_broadcasts(module: Any) -> None:
    """Drop, in place, the axes of extent 1 that a broadcast stretches before it does.

    XLA on the CPU (jaxlib 0.10) crashes when it runs some programs that stretch an axis and were not simplified: a
    softmax of 5,000 numbers is one.
    """
    for op in _named(module, "stablehlo.broadcast_in_dim"):
        x, to = op.operands[0], op.results[0].type
        axes = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
        kept = [(n, a) for n, a in zip(x.type.shape, axes, strict=True) if n == to.shape[a]]
        if len(kept) == len(axes):
            continue
        loc, ip = op.location, ir.InsertionPoint(op)
        narrow = ir.RankedTensorType.get([n for n, _ in kept], to.element_type, loc=unknown())
        x = _create("stablehlo.reshape", [narrow], [x], loc=loc, ip=ip).result
        rest = {"broadcast_dimensions": ir.DenseI64ArrayAttr.get([a for _, a in kept], context())}
        new = _create("stablehlo.broadcast_in_dim", [to], [x], attributes=rest, loc=loc, ip=ip).result
        op.results[0].replace_all_uses_with(new)
        op.operation.erase()


def correct_log1p(module: Any) -> None:
    """Write out float64 ``log_plus_one``, in place, for jaxlib 0.10, whose own errs by up to 125 ulp.

    With u = 1 + x rounded, log(u) misses log(1 + x) by the rounding error of u, which ``((u - 1) - x) / u`` measures
    (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 1.14.1).
    """
    for op in _named(module, "stablehlo.log_plus_one"):
        t = op.results[0].type
        if not isinstance(t.element_type, ir.F64Type):
            continue
        loc, ip = op.location, ir.InsertionPoint(op)

        def write(name: str, *values: Any, type: Any = t, loc: Any = loc, ip: Any = ip, **attributes: Any) -> Any:
            return _create("stablehlo." + name, [type], list(values), attributes=attributes, loc=loc, ip=ip).result

        def number(c: float, t: Any = t, write: Any = write) -> Any:
            value = ir.FloatAttr.get(t.element_type, c, unknown())
            return write("constant", value=ir.DenseElementsAttr.get_splat(t, value))

        mask = ir.RankedTensorType.get(list(t.shape), ir.IntegerType.get_signless(1, context()), loc=unknown())
        equal = stablehlo.ComparisonDirectionAttr.get("EQ", context())
        x, one = op.operands[0], number(1.0)
        u = write("add", x, one)
        log = write("log", u)
        missed = write("divide", write("subtract", write("subtract", u, one), x), u)
        finite = write("is_finite", log, type=mask)
        found = write("select", finite, write("subtract", log, missed), log)
        zero = write("compare", x, number(0.0), type=mask, comparison_direction=equal)
        op.results[0].replace_all_uses_with(write("select", zero, x, found))  # keeps the sign of zero
        op.operation.erase()


def _named(module: Any, name: str) -> list[Any]:
    return [op for op in walk(f.regions for f in functions_of(module)) if op.name == name]
