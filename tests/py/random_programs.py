"""Random well-typed programs over the public functions, for tests that compare ways to run and differentiate them.

A program is a list of steps, each a function of a namespace and of earlier values, so the same program runs on quabla
and on JAX. Programs are smooth around the inputs they were made for: a step is taken only if its result is finite and
of moderate size, and if everything that jumps or has a kink stays clear of it there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

import quabla as qb

__all__ = ["Program", "Quabla", "random_program"]

#: How far from a kink or a jump a program stays.
CLEAR = 1e-2
#: The largest rank, number of elements and absolute value in a program.
RANK, SIZE, LARGE = 3, 48, 20.0

Run = Callable[..., Any]


class Quabla:
    """The functions that programs use, on quabla's arrays of one dtype."""

    def __init__(self, dtype: qb.dtype = qb.float64) -> None:
        self.dtype = dtype

    def __getattr__(self, name: str) -> Any:
        return getattr(qb, name)

    def const(self, array: np.ndarray) -> Any:
        """An array as a constant of the program's dtype."""
        return qb.array(array if array.dtype == bool else array.astype(self.dtype.numpy))


class Step(NamedTuple):
    """One function applied to earlier values; ``clear`` is how far its operands are from a kink or jump."""

    name: str
    operands: tuple[int, ...]
    run: Run
    clear: Callable[..., float] | None = None


class Program(NamedTuple):
    """A program and the inputs it was made for."""

    inputs: list[np.ndarray]
    steps: list[Step]
    outputs: list[int]
    weights: list[np.ndarray]

    def __repr__(self) -> str:
        lines = [f"x{i} = {a.tolist()}" for i, a in enumerate(self.inputs)]
        first = len(self.inputs)
        lines += [
            f"x{first + k} = {s.name}({', '.join(f'x{i}' for i in s.operands)})" for k, s in enumerate(self.steps)
        ]
        return "\n".join([*lines, f"outputs {self.outputs}"])

    def run(self, m: Any, inputs: Sequence[Any]) -> list[Any]:
        """The outputs: every value that no step uses."""
        values = list(inputs)
        for s in self.steps:
            values.append(s.run(m, *[values[i] for i in s.operands]))
        return [values[i] for i in self.outputs]

    def scalar(self, m: Any, inputs: Sequence[Any]) -> Any:
        """A weighted sum of all outputs."""
        total = 0.0
        for v, w in zip(self.run(m, inputs), self.weights, strict=True):
            total = total + m.sum(v * m.const(w))
        return total


def _array(rng: Random, shape: Sequence[int], lo: float = -1.5, hi: float = 1.5) -> np.ndarray:
    return np.array([round(rng.uniform(lo, hi), 3) for _ in range(math.prod(shape))]).reshape(shape)


def _shape(rng: Random) -> tuple[int, ...]:
    return tuple(rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3))))


# ---- elementwise --------------------------------------------------------------------------------

UNARY: dict[str, Run] = {
    "sin": lambda m, x: m.sin(x),
    "cos": lambda m, x: m.cos(x),
    "tan": lambda m, x: m.tan(0.8 * m.tanh(x)),
    "tanh": lambda m, x: m.tanh(x),
    "sinh": lambda m, x: m.sinh(m.sin(x)),
    "cosh": lambda m, x: m.cosh(m.sin(x)),
    "exp": lambda m, x: m.exp(m.sin(x)),
    "exp2": lambda m, x: m.exp2(m.cos(x)),
    "expm1": lambda m, x: m.expm1(0.3 * m.sin(x)),
    "log": lambda m, x: m.log(x * x + 0.5),
    "log1p": lambda m, x: m.log1p(m.square(x)),
    "log2": lambda m, x: m.log2(x * x + 0.7),
    "log10": lambda m, x: m.log10(x * x + 0.7),
    "sqrt": lambda m, x: m.sqrt(1.0 + x * x),
    "cbrt": lambda m, x: m.cbrt(x * x + 1.0),
    "arcsin": lambda m, x: m.arcsin(0.8 * m.sin(x)),
    "arccos": lambda m, x: m.arccos(0.8 * m.sin(x)),
    "arctan": lambda m, x: m.arctan(x),
    "arcsinh": lambda m, x: m.arcsinh(x),
    "arccosh": lambda m, x: m.arccosh(x * x + 1.5),
    "arctanh": lambda m, x: m.arctanh(0.7 * m.sin(x)),
    "erf": lambda m, x: m.erf(x),
    "erfc": lambda m, x: m.erfc(x),
    "sigmoid": lambda m, x: m.sigmoid(x),
    "softplus": lambda m, x: m.softplus(x),
    "silu": lambda m, x: m.silu(x),
    "gelu": lambda m, x: m.gelu(x),
    "gelu_erf": lambda m, x: m.gelu(x, approximate=False),
    "square": lambda m, x: m.square(m.sin(x)),
    "cube": lambda m, x: m.sin(x) ** 3,
    "reciprocal": lambda m, x: m.reciprocal(1.0 + x * x),
    "negative": lambda m, x: -x,
    "from_left": lambda m, x: 2.0 - x,
    "base": lambda m, x: 1.5 ** m.sin(x),
    "stop_gradient": lambda m, x: x * m.stop_gradient(m.sin(x)),
    "nan_to_num": lambda m, x: m.nan_to_num(x),
    "half_power": lambda m, x: (x * x + 0.3) ** 1.5,
    "negative_power": lambda m, x: (x * x + 0.6) ** -2.0,
}

BINARY: dict[str, Run] = {
    "add": lambda m, x, y: x + y,
    "sub": lambda m, x, y: x - y,
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: x / (1.0 + y * y),
    "power": lambda m, x, y: m.power(x * x + 0.5, m.sin(y)),
    "atan2": lambda m, x, y: m.atan2(x, y * y + 0.5),
    "hypot": lambda m, x, y: m.hypot(x, y * y + 0.5),
    "logaddexp": lambda m, x, y: m.logaddexp(x, y),
    "maximum": lambda m, x, y: m.maximum(x, y),
    "minimum": lambda m, x, y: m.minimum(x, y),
    "where": lambda m, x, y: m.where(x > y, m.sin(x), y * y),
    "where_and": lambda m, x, y: m.where(m.logical_and(x > -5.0, m.logical_not(x < y)), x, m.cos(y)),
    "fused": lambda m, x, y: x * y + m.sin(x) * y - x,
}


def _distance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.min(np.abs(x - y), initial=1.0))


def _top_gap(x: np.ndarray) -> float:
    flat = np.sort(x.ravel())
    return float(np.min(np.diff(flat), initial=1.0))


#: Functions with kinks or jumps at a number: ``(run, distance of an array from there)``.
PIECEWISE: dict[str, tuple[Run, Callable[[np.ndarray], float]]] = {
    "abs": (lambda m, x: m.abs(x), lambda x: _distance(x, 0 * x)),
    "relu": (lambda m, x: m.relu(x), lambda x: _distance(x, 0 * x)),
    "sign": (lambda m, x: m.sign(x) * x, lambda x: _distance(x, 0 * x)),
    "clip": (lambda m, x: m.clip(x, -0.5, 0.8), lambda x: min(_distance(x, 0 * x - 0.5), _distance(x, 0 * x + 0.8))),
    "floor": (lambda m, x: m.floor(x) * x, lambda x: _distance(x, np.round(x))),
    "ceil": (lambda m, x: m.ceil(x) + m.sin(x), lambda x: _distance(x, np.round(x))),
    "round": (lambda m, x: m.round(x) * x, lambda x: _distance(x - 0.5, np.round(x - 0.5))),
    "mod": (lambda m, x: m.mod(x, 0.75), lambda x: _distance(x / 0.75, np.round(x / 0.75))),
    "fmod": (lambda m, x: m.fmod(x, 0.75), lambda x: _distance(x / 0.75, np.round(x / 0.75))),
    "mask": (lambda m, x: (x > 0.1) * x, lambda x: _distance(x, 0 * x + 0.1)),
    "norm": (lambda m, x: m.norm(x), lambda x: float(np.sqrt(np.sum(x * x)))),
}


# ---- makers of steps ----------------------------------------------------------------------------
#
# A maker gets the generator and the operand's shape (or shapes) and returns a step's name and function, or None where
# the shape does not suit it.

Made = tuple[str, Run] | None


def _axis(rng: Random, shape: Sequence[int]) -> int:
    return rng.randrange(-len(shape), len(shape))


def _axes(rng: Random, shape: Sequence[int]) -> Any:
    if not shape or rng.random() < 0.3:
        return None
    if rng.random() < 0.6:
        return _axis(rng, shape)
    return tuple(rng.sample(range(len(shape)), rng.randint(0, len(shape))))


def reduction(rng: Random, shape: tuple[int, ...]) -> Made:
    name = rng.choice(("sum", "mean", "prod", "logsumexp", "var", "std"))
    axis, keepdims = _axes(rng, shape), rng.random() < 0.4
    label = f"{name}[{axis}, {keepdims}]"
    if name == "std":
        ramp = np.arange(math.prod(shape)).reshape(shape) ** 2.0
        if (
            axis == ()
            or (axis is not None and math.prod(np.atleast_1d(np.array(shape)[np.array(axis)])) < 2)
            or ramp.size < 2
        ):
            return None
        return label, lambda m, x: m.std(m.sin(x) + m.const(ramp), axis=axis, keepdims=keepdims)
    return label, lambda m, x: getattr(m, name)(x, axis=axis, keepdims=keepdims)


def softmax(rng: Random, shape: tuple[int, ...]) -> Made:
    if not shape:
        return None
    name, axis = rng.choice(("softmax", "log_softmax")), _axis(rng, shape)
    return f"{name}[{axis}]", lambda m, x: getattr(m, name)(x, axis=axis)


def cumsum(rng: Random, shape: tuple[int, ...]) -> Made:
    axis = _axis(rng, shape) if shape and rng.random() < 0.8 else None
    return f"cumsum[{axis}]", lambda m, x: m.cumsum(x, axis=axis)


def index(rng: Random, shape: tuple[int, ...]) -> Made:
    key: list[Any] = []
    for n in shape:
        kind = rng.random()
        if kind < 0.15:
            key.append(None)
        if kind < 0.4:
            key.append(rng.randrange(-n, n))
        elif kind < 0.6:
            key.append(slice(None, None, rng.choice((1, -1, 2, -2))))
        else:
            start = rng.randrange(n)
            key.append(slice(start, rng.randint(start + 1, n)))
    if rng.random() < 0.3:
        cut = rng.randint(0, len(key))
        key = [*key[:cut], Ellipsis] if rng.random() < 0.5 else [*key[:cut], Ellipsis, *key[cut:]]
    chosen = tuple(key)
    return f"index[{chosen}]", lambda m, x: x[chosen]


def gather(rng: Random, shape: tuple[int, ...]) -> Made:
    if not shape:
        return None
    axis = rng.randrange(len(shape))
    n = shape[axis]
    indices = tuple(rng.randrange(-n, n) for _ in range(rng.randint(1, 4)))
    if rng.random() < 0.5:
        return f"gather[{indices}, {axis}]", lambda m, x: m.gather(x, indices, axis)
    rows = (*shape[:axis], len(indices), *shape[axis + 1 :])
    updates = _array(rng, rows)
    return f"scatter_add[{indices}, {axis}]", lambda m, x: m.scatter_add(
        x, indices, m.const(updates) * m.sum(x) * 0.3, axis
    )


def rearrange(rng: Random, shape: tuple[int, ...]) -> Made:
    rank = len(shape)
    kind = rng.choice(("reshape", "transpose", "ravel", "expand", "flip", "roll", "tile", "repeat", "pad", "broadcast"))
    if kind == "reshape":
        order = list(shape)
        rng.shuffle(order)
        target = (*order, 1) if rng.random() < 0.3 else (-1,) if rng.random() < 0.5 else tuple(order)
        return f"reshape[{target}]", lambda m, x: m.reshape(x, target)
    if kind == "transpose":
        axes = None if rng.random() < 0.4 else tuple(rng.sample(range(rank), rank))
        return f"transpose[{axes}]", lambda m, x: m.transpose(x, axes)
    if kind == "ravel":
        return kind, lambda m, x: m.ravel(x)
    if kind == "expand":
        axis = rng.randint(0, rank)
        return f"expand_dims[{axis}]", lambda m, x: m.expand_dims(x, axis)
    if kind == "flip":
        axis = None if not shape or rng.random() < 0.3 else _axis(rng, shape)
        return f"flip[{axis}]", lambda m, x: m.flip(x, axis)
    if kind == "broadcast":
        target = (rng.choice((1, 2)), *(rng.choice((2, 3)) if n == 1 else n for n in shape))
        return f"broadcast_to[{target}]", lambda m, x: m.broadcast_to(x, target)
    if kind == "roll":
        shift, axis = rng.randint(-4, 4), None if not shape or rng.random() < 0.3 else _axis(rng, shape)
        return f"roll[{shift}, {axis}]", lambda m, x: m.roll(x, shift, axis)
    if kind == "tile":
        reps = tuple(rng.choice((1, 2)) for _ in range(rng.randint(1, 2)))
        return f"tile[{reps}]", lambda m, x: m.tile(x, reps)
    if kind == "repeat":
        axis = None if not shape or rng.random() < 0.3 else _axis(rng, shape)
        return f"repeat[{axis}]", lambda m, x: m.repeat(x, 2, axis)
    if not shape:
        return None
    mode = rng.choice(("constant", "edge", "reflect", "symmetric", "wrap"))
    least = min(shape) - 1 if mode == "reflect" else min(shape)
    widths = tuple((rng.randint(0, least), rng.randint(0, least)) for _ in shape)
    return f"pad[{widths}, {mode}]", lambda m, x: m.pad(x, widths, mode=mode)


def matrix(rng: Random, shape: tuple[int, ...]) -> Made:
    if len(shape) < 2:
        return ("diag", lambda m, x: m.diag(x)) if len(shape) == 1 else None
    kind = rng.choice(("tril", "triu", "diagonal", "trace", "swapaxes", "moveaxis"))
    if kind in ("tril", "triu"):
        return kind, lambda m, x: getattr(m, kind)(x)
    a, b = rng.sample(range(len(shape)), 2)
    if kind == "swapaxes" or kind == "moveaxis":
        return f"{kind}[{a}, {b}]", lambda m, x: getattr(m, kind)(x, a, b)
    offset = rng.randint(1 - shape[a], shape[b] - 1)
    return f"{kind}[{offset}, {a}, {b}]", lambda m, x: getattr(m, kind)(x, offset, a, b)


def calculus(rng: Random, shape: tuple[int, ...]) -> Made:
    kind = rng.choice(("diff", "trapezoid", "polyval", "interp"))
    if kind == "polyval":
        p = _array(rng, (3,))
        return kind, lambda m, x: m.polyval(m.const(p), m.sin(x))
    if kind == "interp":
        fp = _array(rng, (4,))
        return kind, lambda m, x: m.interp(
            0.11 + 0.8 * m.sigmoid(x), m.const(np.array([0.0, 0.05, 0.95, 1.0])), m.const(fp)
        )
    if not shape or shape[-1] < 2:
        return None
    return (kind, lambda m, x: m.diff(x)) if kind == "diff" else (kind, lambda m, x: m.trapezoid(x, dx=0.5))


def transformed(rng: Random, shape: tuple[int, ...]) -> Made:
    """An inner transform, which closes over the operand or has it as its argument."""
    kind = rng.choice(("grad", "closure", "jvp", "vjp", "jit", "jacobian", "vmap_grad"))
    if kind == "grad":
        return kind, lambda m, x: m.grad(lambda v: m.sum(m.sin(v) * v))(x)
    if kind == "closure":
        return kind, lambda m, x: m.grad(lambda s: m.sum(m.sin(s * x) + s * s * x))(m.sum(m.tanh(x)))
    if kind == "jvp":
        return kind, lambda m, x: m.jvp(lambda v: m.tanh(v) * m.sum(v), (x,), (m.cos(x),))[1]
    if kind == "vjp":
        return kind, lambda m, x: m.vjp(lambda v: m.exp(-v * v) * m.mean(x), x)[1](m.sin(x))[0]
    if kind == "jit":
        return kind, lambda m, x: m.jit(lambda v: m.sin(v) + m.sum(x))(x)
    if not shape:
        return None
    if kind == "jacobian":
        return kind, lambda m, x: m.jacobian(lambda v: m.sum(m.sin(v) * m.cumsum(v, axis=0), axis=0))(x)
    return kind, lambda m, x: m.vmap(m.grad(lambda v: m.sum(m.sin(v) * v) * m.mean(x)))(x)


UNARY_MAKERS = (reduction, softmax, cumsum, index, gather, rearrange, rearrange, matrix, calculus, transformed)


def product(rng: Random, a: tuple[int, ...], b: tuple[int, ...]) -> Made:
    kind = rng.choice(("matmul", "outer", "kron", "dot", "tensordot", "einsum", "stack", "concat", "vmap", "cross"))
    if kind == "vmap":
        if not a or not b or a[-1] != b[0]:
            return None
        out = rng.randint(0, len(a) - 1)
        return f"vmap[-1, 0; {out}]", lambda m, x, y: m.vmap(lambda u, v: u * m.sum(v * x), (-1, 0), out)(x, y)
    if kind == "stack":
        axis = rng.randint(0, len(a))
        return (f"stack[{axis}]", lambda m, x, y: m.stack([x, y, x], axis=axis)) if a == b else None
    if kind == "concat":
        axis = rng.randrange(len(a)) if a else 0
        fits = a and len(a) == len(b) and a[:axis] + a[axis + 1 :] == b[:axis] + b[axis + 1 :]
        return (f"concat[{axis}]", lambda m, x, y: m.concat([x, y], axis=axis)) if fits else None
    if kind == "cross":
        return (kind, lambda m, x, y: m.cross(x, y)) if a == b and a[-1:] == (3,) else None
    if kind == "einsum":
        letters = "abcd"
        left = "".join(rng.choice(letters) for _ in a)
        right = "".join(rng.choice(letters) for _ in b)
        used = sorted(set(left + right))
        out = "".join(rng.sample(used, rng.randint(0, len(used))))
        equation = f"{left},{right}->{out}"
        return f"einsum[{equation}]", lambda m, x, y: m.einsum(equation, x, y)
    if kind == "tensordot":
        axes = rng.randint(0, 2)
        return f"tensordot[{axes}]", lambda m, x, y: m.tensordot(x, y, axes)
    return kind, lambda m, x, y: getattr(m, kind)(x, y)


# ---- programs -----------------------------------------------------------------------------------


def _candidate(rng: Random, values: list[Any]) -> Step | None:
    """A step that may suit the values."""
    i, j = rng.randrange(len(values)), rng.randrange(len(values))
    if rng.random() < 0.5:  # keep near the newest values, so that programs become deep
        i = len(values) - 1
    a, b = tuple(values[i].shape), tuple(values[j].shape)
    kind = rng.random()
    if kind < 0.25:
        name = rng.choice(sorted(UNARY))
        return Step(name, (i,), UNARY[name])
    if kind < 0.45:
        name = rng.choice(sorted(BINARY))
        kinked = name in ("maximum", "minimum", "where", "where_and")
        return Step(name, (i, j), BINARY[name], _distance if kinked else None)
    if kind < 0.53:
        name = rng.choice(sorted(PIECEWISE))
        run, distance = PIECEWISE[name]
        return Step(name, (i,), run, distance)
    if kind < 0.58:
        name, axis, keepdims = rng.choice(("max", "min")), _axes(rng, a), rng.random() < 0.4
        return Step(f"{name}[{axis}]", (i,), lambda m, x: getattr(m, name)(x, axis=axis, keepdims=keepdims), _top_gap)
    if kind < 0.75:
        made = product(rng, a, b)
        return None if made is None else Step(made[0], (i, j), made[1])
    made = rng.choice(UNARY_MAKERS)(rng, a)
    return None if made is None else Step(made[0], (i,), made[1])


def _accepted(step: Step, values: list[Any]) -> Any:
    """The step's value, or None where it does not suit."""
    operands = [values[i] for i in step.operands]
    try:
        if step.clear is not None and step.clear(*[x.numpy() for x in operands]) < CLEAR:
            return None
        value = step.run(Quabla(), *operands)
    except (ValueError, TypeError, IndexError):
        return None
    array = value.numpy()
    if array.ndim > RANK or not 0 < array.size <= SIZE or not np.all(np.abs(array) < LARGE):
        return None
    return value


def random_program(rng: Random, steps: int = 8) -> Program:
    """A program of about ``steps`` steps."""
    inputs = [_array(rng, _shape(rng)) for _ in range(rng.randint(1, 3))]
    values: list[Any] = [qb.array(x) for x in inputs]
    taken: list[Step] = []
    for _ in range(3 * steps):
        if len(taken) == steps:
            break
        step = _candidate(rng, values)
        value = None if step is None else _accepted(step, values)
        if value is not None:
            taken.append(step)  # type: ignore[arg-type]
            values.append(value)
    used = {i for s in taken for i in s.operands}
    outputs = [i for i in range(len(values)) if i not in used]
    weights = [_array(rng, values[i].shape) for i in outputs]
    return Program(inputs, taken, outputs, weights)
