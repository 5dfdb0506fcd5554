"""The expressions that written programs consist of: JAX's API as far as quabla has it, at random.

A maker draws an expression for operands of some shapes. ``{0}``, ``{1}`` stand for the operands, ``m`` for the
namespace; None means that the shapes do not suit it. Functions with a limited domain get an operand that stays inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

__all__ = ["BINARY", "BOOL", "ELEMENTWISE", "INT", "PIECEWISE", "SHAPED", "SQUARE", "numbers", "pair"]

Shape = tuple[int, ...]
Maker = Callable[..., "str | None"]


def numbers(rng: Random, shape: Shape, lo: float = -1.5, hi: float = 1.5) -> object:
    """Nested lists of random numbers."""
    if not shape:
        return round(rng.uniform(lo, hi), 3)
    return [numbers(rng, shape[1:], lo, hi) for _ in range(shape[0])]


# ---- elementwise --------------------------------------------------------------------------------

ELEMENTWISE = (
    "m.sin({0})",
    "m.cos({0})",
    "m.tan(0.8 * m.tanh({0}))",
    "m.tanh({0})",
    "m.sinh(m.sin({0}))",
    "m.cosh(m.sin({0}))",
    "m.exp(m.sin({0}))",
    "m.exp2(m.cos({0}))",
    "m.expm1(0.3 * m.sin({0}))",
    "m.log({0} * {0} + 0.5)",
    "m.log1p(m.square({0}))",
    "m.log2({0} * {0} + 0.7)",
    "m.log10({0} ** 2 + 0.7)",
    "m.sqrt(1.0 + {0} * {0})",
    "m.cbrt({0} * {0} + 1.0)",
    "m.arcsin(0.8 * m.sin({0}))",
    "m.arccos(0.8 * m.sin({0}))",
    "m.arctan({0})",
    "m.arcsinh({0})",
    "m.arccosh({0} * {0} + 1.5)",
    "m.arctanh(0.7 * m.sin({0}))",
    "m.erf({0})",
    "m.erfc({0})",
    "m.sigmoid({0})",
    "m.softplus({0})",
    "m.silu({0})",
    "m.gelu({0})",
    "m.gelu({0}, approximate=False)",
    "m.square(m.sin({0}))",
    "m.sin({0}) ** 3",
    "m.sin({0}) ** 7",
    "m.reciprocal(1.0 + {0} * {0})",
    "-{0}",
    "+{0}",
    "2.0 - {0}",
    "3 * {0} - 1",
    "1 / (2 + {0} * {0})",
    "1.5 ** m.sin({0})",
    "{0} * m.stop_gradient(m.sin({0}))",
    "m.nan_to_num({0})",
    "({0} * {0} + 0.3) ** 1.5",
    "({0} * {0} + 0.6) ** -2.0",
    "({0} * {0} + 0.6) ** -1",
    "({0} * {0} + 0.6) ** 0.5",
    "m.power({0}, 3)",
    "m.power({0}, 2.0)",
    "m.power({0}, 0)",
    "{0} ** 1",
    "m.where({0} * {0} > 2.25, m.sqrt(m.abs({0} * {0} - 2.25)), 0.0)",
    "m.zeros_like({0})",
    "m.ones_like({0}) * m.sum({0})",
    "m.full_like({0}, 0.7) + {0}",
    "m.asarray({0})",
    "m.floor({0})",
)

BINARY = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} / (1.0 + {1} * {1})",
    "m.power({0} * {0} + 0.5, m.sin({1}))",
    "m.atan2({0}, {1} * {1} + 0.5)",
    "m.hypot({0}, {1} * {1} + 0.5)",
    "m.logaddexp({0}, {1})",
    "m.maximum({0}, {1})",
    "m.minimum({0}, {1})",
    "m.where({0} > {1}, m.sin({0}), {1} * {1})",
    "m.where(m.logical_and({0} > -5.0, m.logical_not({0} < {1})), {0}, m.cos({1}))",
    "{0} * {1} + m.sin({0}) * {1} - {0}",
    "m.clip({0}, m.minimum({1}, 0.3) - 0.1, m.maximum({1}, 0.3))",
    "m.mod({0}, m.abs({1}) + 0.7)",
    "m.fmod({0}, m.abs({1}) + 0.7)",
    "m.where({0} > 0.0, {0}, m.log1p(m.exp({1})))",
)

#: Functions with kinks or jumps at numbers.
PIECEWISE = (
    "m.abs({0})",
    "m.relu({0})",
    "m.sign({0}) * {0}",
    "m.clip({0}, -0.5, 0.8)",
    "m.clip({0}, None, 0.4)",
    "m.floor({0}) * {0}",
    "m.ceil({0}) + m.sin({0})",
    "m.round({0}) * {0}",
    "m.mod({0}, 0.75)",
    "m.fmod({0}, 0.75)",
    "m.remainder({0}, -0.75)",
    "{0} % 0.6",
    "({0} > 0.1) * {0}",
    "m.maximum({0}, 0.2)",
    "m.minimum(0.2, {0})",
    "abs({0})",
)

BOOL = (
    "{0} > 0.1",
    "{0} <= 0.3",
    "m.less({0}, m.mean({0}))",
    "m.greater_equal({0}, -0.2)",
    "m.logical_or({0} > 0.5, {0} < -0.5)",
    "m.isfinite({0})",
    "m.isnan({0})",
    "m.equal({0}, {0})",
    "~({0} > 0.2)",
    "({0} > -0.5) & ({0} < 0.5)",
)


# ---- makers -------------------------------------------------------------------------------------


def _axis(rng: Random, shape: Shape) -> int:
    return rng.randrange(-len(shape), len(shape))


def _axes(rng: Random, shape: Shape) -> object:
    if not shape or rng.random() < 0.3:
        return None
    if rng.random() < 0.6:
        return _axis(rng, shape)
    axes = rng.sample(range(len(shape)), rng.randint(0, len(shape)))
    return tuple(a - len(shape) if rng.random() < 0.3 else a for a in axes)


def _reduced(shape: Shape, axis: object) -> int:
    """How many elements one result is made of."""
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[a] for a in (axis if isinstance(axis, tuple) else (axis,)))  # type: ignore[index]


def reduction(rng: Random, shape: Shape) -> str | None:
    name = rng.choice(("sum", "mean", "prod", "logsumexp", "var", "std", "max", "min", "norm"))
    axis, keepdims = _axes(rng, shape), rng.random() < 0.4
    rest = f"axis={axis}, keepdims={keepdims}"
    if name == "std":
        return f"m.std({{0}}, {rest}, ddof={rng.choice((0, 1))})" if _reduced(shape, axis) > 1 else None
    if name == "var" and rng.random() < 0.3 and _reduced(shape, axis) > 1:
        return f"m.var({{0}}, {rest}, ddof=1)"
    if rng.random() < 0.3 and name in ("sum", "mean", "prod", "max", "min"):
        return f"{{0}}.{name}({rest})"
    return f"m.{name}({{0}}, {rest})"


def along(rng: Random, shape: Shape) -> str | None:
    if not shape:
        return rng.choice(("m.cumsum({0})", "m.ravel({0})"))
    axis = _axis(rng, shape)
    kind = rng.choice(("softmax", "log_softmax", "cumsum", "cumprod", "sort", "diff", "trapezoid", "reverse", "order"))
    if kind == "reverse":
        return f"m.flip(m.cumsum({{0}}, axis={axis}), {axis})"
    if kind == "order":
        return f"m.take_along_axis({{0}}, m.argsort({{0}} * {{0}}, axis={axis}), {axis})"
    if kind in ("diff", "trapezoid"):
        if shape[axis] < 2:
            return None
        n = rng.randint(1, shape[axis] - 1)
        return f"m.diff({{0}}, n={n}, axis={axis})" if kind == "diff" else f"m.trapezoid({{0}}, dx=0.5, axis={axis})"
    return f"m.{kind}({{0}}, axis={axis})"


def index(rng: Random, shape: Shape) -> str | None:
    return f"{{0}}[{_index(rng, shape)}]"


def _index(rng: Random, shape: Shape, new_axes: bool = True) -> str:
    """An index that suits the shape: ints, slices, new axes, an ellipsis, lists of ints and masks."""
    key: list[str] = []
    arrays = 0
    length = rng.randint(1, 3)
    for n in shape:
        kind = rng.random()
        if kind < 0.12 and new_axes:
            key.append("None")
        if kind < 0.35 and n:
            key.append(str(rng.randrange(-n, n)))
        elif kind < 0.55:
            key.append(rng.choice((":", "::-1", "::2", "::-2", "1:", ":-1", "-2:")))
        elif kind < 0.75 and n:
            start = rng.randrange(n)
            key.append(f"{start}:{rng.randint(start + 1, n)}")
        elif n and arrays < 2:
            arrays += 1
            key.append(f"m.ints({[rng.randrange(-n, n) for _ in range(length)]})")
        else:
            key.append(":")
    if rng.random() < 0.3:
        cut = rng.randint(0, len(key))
        key = [*key[:cut], "..."] if rng.random() < 0.5 else [*key[:cut], "...", *key[cut:]]
    return ", ".join(key) or "..."


def update(rng: Random, shape: Shape) -> str | None:
    if not shape:
        return None
    method = rng.choice(("set", "add", "multiply", "max", "min"))
    if rng.random() < 0.2:
        return f"{{0}}.at[{{0}} > 0.2].{method}({rng.uniform(-1, 1):.2f})"
    if method == "set":  # JAX leaves open which of repeated indices wins
        parts = [rng.choice((":", "::2", "::-1", "0", "-1", "1:")) if n else ":" for n in shape]
        key = ", ".join(parts[: rng.randint(1, len(parts))])
    else:
        key = _index(rng, shape, new_axes=False)
    value = rng.choice(("0.3", f"m.sin({{0}}[{key}])", "m.mean({0})", f"{{0}}[{key}] * 2"))
    return f"{{0}}.at[{key}].{method}({value})"


def gather(rng: Random, shape: Shape) -> str | None:
    if not shape or 0 in shape:
        return None
    axis = rng.randrange(len(shape))
    n = shape[axis]
    indices = [rng.randrange(-n, n) for _ in range(rng.randint(1, 4))]
    kind = rng.choice(("gather", "take", "scatter_add", "take_flat", "traced"))
    if kind == "take_flat":
        return f"m.take({{0}}, m.ints({[rng.randrange(math.prod(shape)) for _ in range(3)]}))"
    if kind == "traced":
        others = tuple(i for i in range(len(shape)) if i != axis)
        return f"m.take({{0}}, m.argsort(m.sum({{0}}, axis={others})), axis={axis})"
    if kind == "scatter_add":
        rows = (*shape[:axis], len(indices), *shape[axis + 1 :])
        return f"m.scatter_add({{0}}, {tuple(indices)}, m.const({numbers(rng, rows)}) * m.sum({{0}}) * 0.3, {axis})"
    if kind == "take":
        return f"m.take({{0}}, m.ints({indices}), axis={axis})"
    return f"m.gather({{0}}, {tuple(indices)}, {axis})"


def rearrange(rng: Random, shape: Shape) -> str | None:
    rank = len(shape)
    kind = rng.choice(
        ("reshape", "transpose", "ravel", "expand", "flip", "roll", "tile", "repeat", "pad", "broadcast", "squeeze", "T",
         "swapaxes", "moveaxis", "split")
    )  # fmt: skip
    axis = _axis(rng, shape) if shape else None
    if kind == "reshape":
        order = list(shape)
        rng.shuffle(order)
        target = (*order, 1) if rng.random() < 0.3 else (-1,) if rng.random() < 0.5 else tuple(order)
        return f"m.reshape({{0}}, {target})" if rng.random() < 0.7 else f"{{0}}.reshape({target})"
    if kind == "transpose":
        return f"m.transpose({{0}}, {None if rng.random() < 0.4 else tuple(rng.sample(range(rank), rank))})"
    if kind in ("ravel", "T"):
        return "m.ravel({0})" if kind == "ravel" else "{0}.T"
    if kind == "expand":
        return f"m.expand_dims({{0}}, {rng.randint(-rank - 1, rank)})"
    if kind == "flip":
        return f"m.flip({{0}}, {None if rng.random() < 0.3 else axis})"
    if kind == "broadcast":
        lead = (rng.choice((1, 2)),) if rng.random() < 0.5 else ()
        return f"m.broadcast_to({{0}}, {(*lead, *(rng.choice((2, 3)) if n == 1 else n for n in shape))})"
    if kind == "roll":
        return f"m.roll({{0}}, {rng.randint(-4, 4)}, {None if rng.random() < 0.3 else axis})"
    if kind == "tile":
        return f"m.tile({{0}}, {tuple(rng.choice((1, 2)) for _ in range(rng.randint(1, 3)))})"
    if kind == "repeat":
        return f"m.repeat({{0}}, {rng.choice((1, 2))}, {None if rng.random() < 0.3 else axis})"
    if not shape:
        return None
    if kind == "squeeze":
        ones = [k for k, n in enumerate(shape) if n == 1]
        return f"m.squeeze({{0}}, {rng.choice([None, *ones])})"
    if kind in ("swapaxes", "moveaxis"):
        return f"m.{kind}({{0}}, {axis}, {_axis(rng, shape)})"
    if kind == "split":
        n = shape[axis]  # type: ignore[index]
        return f"m.split({{0}}, {rng.choice((1, n)) if n else 1}, axis={axis})[-1]"
    mode = rng.choice(("constant", "edge", "reflect", "symmetric", "wrap"))
    if 0 in shape and mode != "constant":
        return None
    least = min(shape) - 1 if mode == "reflect" else min(shape)
    widths = tuple((rng.randint(0, least), rng.randint(0, least)) for _ in shape)
    extra = f", constant_values={rng.choice((0.0, 1.5))}" if mode == "constant" else ""
    return f"m.pad({{0}}, {widths}, mode={mode!r}{extra})"


def matrix(rng: Random, shape: Shape) -> str | None:
    if len(shape) < 2:
        return f"m.diag({{0}}, {rng.randint(-1, 1)})" if len(shape) == 1 else None
    kind = rng.choice(("tril", "triu", "diagonal", "trace"))
    if kind in ("tril", "triu"):
        return f"m.{kind}({{0}})"
    a, b = rng.sample(range(len(shape)), 2)
    if not shape[a] or not shape[b]:
        return None
    return f"m.{kind}({{0}}, {rng.randint(1 - shape[a], shape[b] - 1)}, {a}, {b})"


def calculus(rng: Random, shape: Shape) -> str | None:
    kind = rng.choice(("polyval", "interp", "interp_knots", "trapezoid"))
    if kind == "polyval":
        return f"m.polyval(m.const({numbers(rng, (3,))}), m.sin({{0}}))"
    if kind == "trapezoid":
        return "m.trapezoid({0}, m.cumsum(1.0 + {0} * {0}, axis=-1))" if shape and shape[-1] else None
    fp = f"m.const({numbers(rng, (4,))})"
    if kind == "interp_knots":
        return f"m.interp(m.const([0.1, 1.3]), m.cumsum(m.const([0.0, 0.4, 0.5, 0.6]) + m.mean({{0}}) ** 2), {fp})"
    return f"m.interp(0.11 + 0.8 * m.sigmoid({{0}}), m.const([0.0, 0.05, 0.95, 1.0]), {fp})"


def contraction(rng: Random, shape: Shape) -> str | None:
    """A product of an array with itself."""
    if not shape:
        return None
    letters = "abcd"[: len(shape)]
    kind = rng.choice(("gram", "sum", "permute", "norm_matrix"))
    if kind == "gram" and len(shape) >= 2:
        return "{0} @ m.swapaxes({0}, -1, -2)"
    if kind == "norm_matrix":
        return f"m.linalg.norm({{0}}, axis={_axis(rng, shape)}, ord={rng.choice((None, 2, 3))})"
    out = "".join(rng.sample(letters, rng.randint(0, len(letters))))
    return f"m.einsum('{letters}->{out}', {{0}})" if kind == "sum" else "m.einsum('...a->a...', {0})"


SHAPED: tuple[Maker, ...] = (
    reduction,
    reduction,
    along,
    along,
    index,
    index,
    update,
    gather,
    rearrange,
    rearrange,
    matrix,
    calculus,
    contraction,
)


def pair(rng: Random, a: Shape, b: Shape) -> str | None:
    kind = rng.choice(
        ("matmul", "matmul", "outer", "kron", "dot", "tensordot", "einsum", "stack", "concat", "cross", "row")
    )
    if kind == "matmul":
        return "{0} @ {1}" if rng.random() < 0.5 else "m.matmul({0}, {1})"
    if kind == "stack":
        return f"m.stack([{{0}}, {{1}}, {{0}}], axis={rng.randint(-len(a) - 1, len(a))})" if a == b else None
    if kind == "concat":
        axis = _axis(rng, a) if a else 0
        return f"m.concat([{{0}}, {{1}}], axis={axis})" if a and len(a) == len(b) else None
    if kind == "cross":
        return "m.cross({0}, {1})" if a[-1:] == b[-1:] == (3,) else None
    if kind == "row":
        return "{0}.at[0].set({1})" if a and a[0] and a[1:] == b else None
    if kind == "einsum":
        letters = "abcd"
        left = "".join(rng.choice(letters) for _ in a)
        right = "".join(rng.choice(letters) for _ in b)
        used = sorted(set(left + right))
        out = "".join(rng.sample(used, rng.randint(0, len(used))))
        return f"m.einsum('{left},{right}->{out}', {{0}}, {{1}})"
    if kind == "tensordot":
        return f"m.tensordot({{0}}, {{1}}, {rng.randint(0, 2)})"
    return f"m.{kind}({{0}}, {{1}})"


INT = (
    "m.argsort({0}, axis=-1)",
    "m.argmax({0}, axis=0)",
    "m.argmin({0}, axis=-1)",
    "m.searchsorted(m.const([-0.5, 0.1, 0.7]), {0})",
)

#: Of a square matrix {0}, made regular, positive definite or symmetric first.
SQUARE = (
    "m.linalg.inv({0} + 4.0 * m.eye({n}))",
    "m.linalg.det({0})",
    "m.linalg.slogdet({0} + 4.0 * m.eye({n}))[1]",
    "m.linalg.cholesky({0} @ m.swapaxes({0}, -1, -2) + m.eye({n}))",
    "m.linalg.eigh({0} + m.swapaxes({0}, -1, -2) + m.ramp({n}))[0]",
    "m.linalg.eigh({0} + m.swapaxes({0}, -1, -2) + m.ramp({n}))[1] ** 2",
    "m.abs(m.linalg.qr({0} + 4.0 * m.eye({n}))[1])",
    "m.linalg.svd({0} + m.ramp({n}), compute_uv=False)",
    "m.linalg.matrix_power({0}, 3)",
    "m.linalg.pinv({0} + 4.0 * m.eye({n}))",
    "m.linalg.solve({0} + 4.0 * m.eye({n}), {0})",
    "m.linalg.solve(m.tril({0}) + 4.0 * m.eye({n}), m.sin({0}))",
)
