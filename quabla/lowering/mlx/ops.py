"""The table of the translation: for every StableHLO op and every ``qb.<op>`` that MLX knows, what writes it.

A builder gets the Python function under construction and the MLIR op; it returns the expression of the op's result, a
number, or None if it has given the results their names itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from quabla.lowering.mlx.indexing import INDEXING, integers, ordered
from quabla.lowering.mlx.writer import Function, Literal, Type, number, type_of, unsupported
from quabla.mlir import ir, stablehlo

__all__ = ["OPS"]

Builder = Callable[[Function, Any], "str | Literal | None"]


# ---- elementwise ----------------------------------------------------------------------------------


def _elementwise(form: str) -> Builder:
    """An elementwise op by the form of its expression, with ``{0}`` for the first operand."""

    def build(out: Function, op: Any) -> str:
        return form.format(*out.operands(list(op.operands), type_of(op.results[0]).shape))

    return build


def _helped(name: str) -> Builder:
    """An elementwise op that a helper computes."""

    def build(out: Function, op: Any) -> str:
        operands = out.operands(list(op.operands), type_of(op.results[0]).shape)
        return f"{out.helper('helpers', name)}({', '.join(operands)})"

    return build


def _typed(floats: Builder, integers: Builder | None = None, bools: Builder | None = None) -> Builder:
    """An op whose form depends on the dtype of its first operand."""

    def build(out: Function, op: Any) -> str | Literal | None:
        type = type_of(op.operands[0])
        chosen = floats if type.is_float else bools if type.is_bool else integers
        if chosen is None:
            raise unsupported(op.operation.name.removeprefix("stablehlo."), f"not for {type.dtype}")
        return chosen(out, op)

    return build


_DIRECTIONS: Final = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


def _compare(out: Function, op: Any) -> str:
    direction = stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
    a, b = out.operands(list(op.operands), type_of(op.results[0]).shape)
    return f"{a} {_DIRECTIONS[direction]} {b}"


def _select(out: Function, op: Any) -> str:
    shape = type_of(op.results[0]).shape
    predicate, *values = op.operands
    if any(isinstance(out.found(v), str) for v in values) or type_of(predicate).shape == shape:
        found = [out.found(v) for v in values]
        texts = []
        for f, v in zip(found, values, strict=True):
            inline = isinstance(f, Literal) and (f.type.is_float or f.type.is_bool)
            texts.append(number(f.value, f.type) if inline and isinstance(f, Literal) else out.array(v))
    else:
        texts = [out.array(v) for v in values]
    return f"mx.where({out.array(predicate)}, {texts[0]}, {texts[1]})"


def _convert(out: Function, op: Any) -> str | Literal | None:
    (value,) = op.operands
    to, found = type_of(op.results[0]), out.found(value)
    if type_of(value).dtype == to.dtype:
        out.bind(op.results[0], found)
        return None
    if isinstance(found, Literal) and to.is_float:
        return Literal(float(found.value), to)
    return f"{out.array(value)}.astype(mx.{to.dtype})"


def _bitcast(out: Function, op: Any) -> str:
    (value,) = op.operands
    to = type_of(op.results[0])
    if to.shape != type_of(value).shape or "f64" in str(value.type) or "f64" in str(op.results[0].type):
        raise unsupported("bitcast_convert", f"not from {value.type} to {op.results[0].type}")
    return f"{out.array(value)}.view(mx.{to.dtype})"


def _reduce_precision(out: Function, op: Any) -> None:
    bits = [ir.IntegerAttr(op.attributes[k]).value for k in ("exponent_bits", "mantissa_bits")]
    if bits[0] < 8 or bits[1] < 23:
        raise unsupported("reduce_precision", f"to {bits[0]} and {bits[1]} bits")
    out.bind(op.results[0], out.found(op.operands[0]))


def _same(out: Function, op: Any) -> None:
    for r, v in zip(op.results, op.operands, strict=True):
        out.bind(r, out.found(v))


# ---- shapes -----------------------------------------------------------------------------------------


def _reshape(out: Function, op: Any) -> str | Literal:
    type, found = type_of(op.results[0]), out.found(op.operands[0])
    return found._replace(type=type) if isinstance(found, Literal) else f"mx.reshape({found}, {type.shape})"


def _transpose(out: Function, op: Any) -> str | Literal:
    type, found = type_of(op.results[0]), out.found(op.operands[0])
    if isinstance(found, Literal):
        return found._replace(type=type)
    axes = integers(op, "permutation")
    return f"{found}.T" if axes == (1, 0) else f"mx.transpose({found}, {axes})"


def _broadcast_in_dim(out: Function, op: Any) -> str | Literal | None:
    (value,) = op.operands
    type, have, found = type_of(op.results[0]), type_of(value).shape, out.found(value)
    if isinstance(found, Literal):
        return found._replace(type=type)
    axes = integers(op, "broadcast_dimensions")
    if list(axes) != sorted(axes):
        order = sorted(range(len(axes)), key=lambda i: axes[i])
        found = out.let(f"mx.transpose({found}, {tuple(order)})")
        axes, have = tuple(sorted(axes)), tuple(have[i] for i in order)
    placed = [1] * len(type.shape)
    for a, n in zip(axes, have, strict=True):
        placed[a] = n
    if tuple(placed) == type.shape:
        if have != type.shape:
            return f"mx.reshape({found}, {type.shape})"
        out.bind(op.results[0], found)
        return None
    if tuple(placed[len(placed) - len(have) :]) != have:  # the axes are not the last ones
        found = out.let(f"mx.reshape({found}, {tuple(placed)})")
    return f"mx.broadcast_to({found}, {type.shape})"


def _iota(out: Function, op: Any) -> str:
    type, axis = type_of(op.results[0]), ir.IntegerAttr(op.attributes["iota_dimension"]).value
    line = f"mx.arange({type.shape[axis]}, dtype=mx.{type.dtype})"
    if len(type.shape) == 1:
        return line
    after = (1,) * (len(type.shape) - 1 - axis)
    if after:
        line = f"mx.reshape({line}, {(type.shape[axis], *after)})"
    return f"mx.broadcast_to({line}, {type.shape})"


def _concatenate(out: Function, op: Any) -> str | None:
    values = [v for v in op.operands if math.prod(type_of(v).shape)]
    if len(values) < 2:
        value = values[0] if values else op.operands[0]
        out.bind(op.results[0], out.found(value))
        return None if values else out.filled(Literal(0, type_of(op.results[0])))
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    return f"mx.concatenate([{', '.join(out.array(v) for v in values)}], axis={axis})"


def _pad(out: Function, op: Any) -> str:
    value, fill = op.operands
    low, high, interior = [integers(op, k) for k in ("edge_padding_low", "edge_padding_high", "interior_padding")]
    found = out.found(fill)
    constant = number(found.value, found.type) if isinstance(found, Literal) else found
    if not any(interior) and min((*low, *high), default=0) >= 0:
        return f"mx.pad({out.array(value)}, {list(zip(low, high, strict=True))}, constant_values={constant})"
    padding = f"{low}, {high}, {interior}"
    return f"{out.helper('helpers', 'pad')}({out.array(value)}, {constant}, {padding})"


# ---- products and reductions ------------------------------------------------------------------------


def _dot_general(out: Function, op: Any) -> str:
    a, b = op.operands
    shapes = type_of(a).shape, type_of(b).shape
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    batch = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    summed = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    free = [
        [i for i in range(len(s)) if i not in k and i not in m] for s, k, m in zip(shapes, batch, summed, strict=True)
    ]
    names = [out.array(v) if type_of(v).is_float else out.let(f"{out.array(v)}.astype(mx.float32)") for v in (a, b)]
    to = type_of(op.results[0])
    if not math.prod(to.shape) or not math.prod(shapes[0][i] for i in summed[0]):
        return out.filled(Literal(0, to))
    lead = tuple(shapes[0][i] for i in batch[0])
    inner = math.prod(shapes[0][i] for i in summed[0])
    left, right = [math.prod(s[i] for i in f) for s, f in zip(shapes, free, strict=True)]
    # Matrices as mx.matmul wants them: rows by inner, inner by columns.
    first = ordered(out, names[0], [*batch[0], *free[0], *summed[0]])
    last = ordered(out, names[1], [*batch[1], *summed[1], *free[1]])
    plain_left = not batch[0] and len(summed[0]) == 1 and free[0]
    if not plain_left and (len(free[0]), len(summed[0])) != (1, 1):
        first = out.let(f"mx.reshape({first}, {(*lead, left, inner)})")
    if (len(free[1]), len(summed[1])) != (1, 1):
        last = out.let(f"mx.reshape({last}, {(*lead, inner, right)})")
    product = f"{first} @ {last}"
    made = (*(tuple(shapes[0][i] for i in free[0]) if plain_left else (*lead, left)), right)
    if made != to.shape:
        product = f"mx.reshape({product}, {to.shape})"
    return product if to.is_float else f"({product}).astype(mx.{to.dtype})"


#: For each op in a reduction's region: the name in ``mlx.core``, and its neutral number.
_REDUCTIONS: Final = {
    "stablehlo.add": ("sum", 0),
    "stablehlo.multiply": ("prod", 1),
    "stablehlo.maximum": ("max", -math.inf),
    "stablehlo.minimum": ("min", math.inf),
    "stablehlo.and": ("all", True),
    "stablehlo.or": ("any", False),
}
#: Sums of more numbers than this lose digits in MLX's own order.
_LONG: Final = 2048
_OF_BOOLS: Final = {"sum": ("any", False), "max": ("any", False), "prod": ("all", True), "min": ("all", True)}
_LIMITS: Final = {"int32": 31, "int64": 63}


def _kind(op: Any, type: Type) -> tuple[str, float | bool]:
    """What a reduction's region combines with, and the number that changes nothing."""
    ops = [o.operation.name for o in op.regions[0].blocks[0].operations]
    found = _REDUCTIONS.get(ops[0]) if len(ops) == 2 and len(op.results) == 1 else None
    if found is None:
        raise unsupported(
            op.operation.name.removeprefix("stablehlo."), f"its region combines with {', '.join(ops[:-1])}"
        )
    name, neutral = found
    if type.is_bool:
        return _OF_BOOLS.get(name, found)
    if not type.is_float and isinstance(neutral, float):
        bits = _LIMITS[type.dtype]
        neutral = -(2**bits) if neutral < 0 else 2**bits - 1
    return name, neutral


#: What a first value other than the neutral one is combined with.
_COMBINED: Final = {
    "sum": "{0} + {1}",
    "prod": "{0} * {1}",
    "max": "mx.maximum({0}, {1})",
    "min": "mx.minimum({0}, {1})",
    "all": "{0} & {1}",
    "any": "{0} | {1}",
}


def _reduce(out: Function, op: Any) -> str:
    value, first = op.operands[0], op.operands[-1]
    type, to, axes = type_of(value), type_of(op.results[0]), integers(op, "dimensions")
    kind, neutral = _kind(op, type)
    found = out.found(first)
    if not math.prod(type.shape):
        return f"mx.broadcast_to({out.array(first)}, {to.shape})"
    reduced = f"mx.{kind}({out.array(value)}, axis={axes})"
    if kind == "sum" and type.is_float and math.prod(type.shape[i] for i in axes) > _LONG:
        reduced = f"{out.helper('helpers', 'long_sum')}({out.array(value)}, {axes})"
    if not axes:
        reduced = out.array(value)
    elif type.dtype in ("int32", "int64") and kind in ("sum", "prod"):
        reduced += f".astype(mx.{to.dtype})"
    if isinstance(found, Literal) and found.value == neutral:
        return reduced
    return _COMBINED[kind].format(out.let(reduced), out.array(first))


def _reduce_window(out: Function, op: Any) -> str:
    value, first = op.operands
    type = type_of(value)
    rank = len(type.shape)
    window = integers(op, "window_dimensions")
    for key in ("window_strides", "base_dilations", "window_dilations"):
        if key in op.attributes and any(n != 1 for n in integers(op, key)):
            raise unsupported("reduce_window", f"its {key} are {integers(op, key)}")
    padding = _pairs(op, rank)
    kind, neutral = _kind(op, type)
    found = out.found(first)
    if not isinstance(found, Literal) or found.value != neutral:
        raise unsupported("reduce_window", "its first value is not the neutral one")
    if not math.prod(type_of(op.results[0]).shape):
        return out.filled(Literal(0, type_of(op.results[0])))
    moving = [i for i, n in enumerate(window) if n != 1]
    if len(moving) == 1 and kind in ("sum", "prod", "max", "min"):
        (axis,) = moving
        n = type.shape[axis]
        others = all(p == (0, 0) for i, p in enumerate(padding) if i != axis)
        if others and window[axis] == n and padding[axis] in ((n - 1, 0), (0, n - 1)):
            reverse = ", reverse=True" if padding[axis][1] else ""
            return f"mx.cum{kind}({out.array(value)}, axis={axis}{reverse})"
    windows = f"{out.helper('helpers', 'windows')}({out.array(value)}, {number(neutral, type)}, {window}, {padding})"
    return f"mx.{kind}({windows}, axis={tuple(range(rank, 2 * rank))})"


def _pairs(op: Any, rank: int) -> list[tuple[int, int]]:
    if "padding" not in op.attributes:
        return [(0, 0)] * rank
    flat = [int(n) for n in ir.DenseIntElementsAttr(op.attributes["padding"])]
    if len(flat) == 1:
        flat *= 2 * rank
    return list(zip(flat[::2], flat[1::2], strict=True))


# ---- matrices ---------------------------------------------------------------------------------------


def _linalg(name: str) -> Builder:
    """A function of ``quabla.lowering.mlx.linalg`` of all operands."""

    def build(out: Function, op: Any) -> str:
        return f"{out.helper('linalg', name)}({', '.join(out.array(v) for v in op.operands)})"

    return build


def _triangular_solve(out: Function, op: Any) -> str:
    attributes = op.attributes
    left, lower, unit = [ir.BoolAttr(attributes[k]).value for k in ("left_side", "lower", "unit_diagonal")]
    way = str(attributes["transpose_a"])
    if not left:
        raise unsupported("triangular_solve", "the matrix is on the right")
    a, b = [out.array(v) for v in op.operands]
    options = f"lower={lower}, transpose={'NO_TRANSPOSE' not in way}{', unit=True' if unit else ''}"
    return f"{out.helper('linalg', 'solve_triangular')}({a}, {b}, {options})"


def _cholesky(out: Function, op: Any) -> str:
    lower = ir.BoolAttr(op.attributes["lower"]).value if "lower" in op.attributes else False
    return f"{out.helper('linalg', 'cholesky')}({out.array(op.operands[0])}, lower={lower})"


# ---- the table --------------------------------------------------------------------------------------

_XOR: Final = _typed(_elementwise("{0} != {1}"), _elementwise("{0} ^ {1}"), _elementwise("{0} != {1}"))


def _functions(pairs: Sequence[tuple[str, str]]) -> dict[str, Builder]:
    return {name: _elementwise(f"mx.{function}({{0}})") for name, function in pairs}


OPS: Final[dict[str, Builder]] = {
    # elementwise
    "stablehlo.add": _typed(_elementwise("{0} + {1}"), _elementwise("{0} + {1}"), _elementwise("{0} | {1}")),
    "stablehlo.subtract": _typed(_elementwise("{0} - {1}"), _elementwise("{0} - {1}")),
    "stablehlo.multiply": _typed(_elementwise("{0} * {1}"), _elementwise("{0} * {1}"), _elementwise("{0} & {1}")),
    "stablehlo.divide": _typed(_elementwise("{0} / {1}"), _helped("divide_integers")),
    "stablehlo.remainder": _typed(_helped("remainder"), _helped("remainder_integers")),
    "stablehlo.power": _elementwise("mx.power({0}, {1})"),
    "stablehlo.maximum": _typed(
        _elementwise("mx.maximum({0}, {1})"), _elementwise("mx.maximum({0}, {1})"), _elementwise("{0} | {1}")
    ),
    "stablehlo.minimum": _typed(
        _elementwise("mx.minimum({0}, {1})"), _elementwise("mx.minimum({0}, {1})"), _elementwise("{0} & {1}")
    ),
    "stablehlo.atan2": _elementwise("mx.arctan2({0}, {1})"),
    "stablehlo.and": _elementwise("{0} & {1}"),
    "stablehlo.or": _elementwise("{0} | {1}"),
    "stablehlo.xor": _XOR,
    "stablehlo.not": _elementwise("~{0}"),
    "stablehlo.shift_left": _elementwise("{0} << {1}"),
    "stablehlo.shift_right_logical": _helped("shift_right_logical"),
    "stablehlo.shift_right_arithmetic": _elementwise("{0} >> {1}"),
    "stablehlo.negate": _elementwise("-{0}"),
    **_functions(
        [
            ("stablehlo.abs", "abs"),
            ("stablehlo.ceil", "ceil"),
            ("stablehlo.cosine", "cos"),
            ("stablehlo.exponential", "exp"),
            ("stablehlo.exponential_minus_one", "expm1"),
            ("stablehlo.floor", "floor"),
            ("stablehlo.is_finite", "isfinite"),
            ("stablehlo.log", "log"),
            ("stablehlo.log_plus_one", "log1p"),
            ("stablehlo.logistic", "sigmoid"),
            ("stablehlo.round_nearest_even", "round"),
            ("stablehlo.rsqrt", "rsqrt"),
            ("stablehlo.sqrt", "sqrt"),
            ("stablehlo.tan", "tan"),
            ("stablehlo.tanh", "tanh"),
            ("qb.arccos", "arccos"),
            ("qb.arccosh", "arccosh"),
            ("qb.arcsin", "arcsin"),
            ("qb.arcsinh", "arcsinh"),
            ("qb.arctan", "arctan"),
            ("qb.arctanh", "arctanh"),
            ("qb.cosh", "cosh"),
            ("qb.log10", "log10"),
            ("qb.log2", "log2"),
            ("qb.sinh", "sinh"),
        ]
    ),
    "stablehlo.cbrt": _helped("cbrt"),
    "stablehlo.round_nearest_afz": _helped("round_away"),
    "stablehlo.sign": _typed(_helped("sign"), _elementwise("mx.sign({0})")),
    "stablehlo.sine": _helped("sin"),
    "qb.erf": _helped("erf"),
    "qb.gaussian": _helped("gaussian"),
    "qb.sech2": _helped("sech2"),
    "stablehlo.clamp": _elementwise("mx.minimum(mx.maximum({1}, {0}), {2})"),
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.convert": _convert,
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.optimization_barrier": _same,
    # shapes
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.iota": _iota,
    "stablehlo.pad": _pad,
    "stablehlo.reshape": _reshape,
    "stablehlo.transpose": _transpose,
    **INDEXING,
    # products and reductions
    "stablehlo.dot_general": _dot_general,
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
    # matrices
    "stablehlo.cholesky": _cholesky,
    "stablehlo.triangular_solve": _triangular_solve,
    "qb.cholesky": _linalg("cholesky"),
    "qb.det": _linalg("det"),
    "qb.det_sign": _linalg("det_sign"),
    "qb.eigh_values": _linalg("eigh_values"),
    "qb.eigh_vectors": _linalg("eigh_vectors"),
    "qb.log_abs_det": _linalg("log_abs_det"),
    "qb.pinv": _linalg("pinv"),
    "qb.qr_q": _linalg("qr_q"),
    "qb.qr_q_complete": _linalg("qr_q_complete"),
    "qb.qr_r": _linalg("qr_r"),
    "qb.solve": _linalg("solve"),
    "qb.svd_s": _linalg("svd_s"),
    "qb.svd_u": _linalg("svd_u"),
    "qb.svd_u_full": _linalg("svd_u_full"),
    "qb.svd_vh": _linalg("svd_vh"),
}
