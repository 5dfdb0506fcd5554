"""Random programs as Python source: functions of arrays over a namespace ``m``, which is quabla or JAX.

A program is grown line by line on example inputs. A line is kept if quabla computes it and its result is finite and of
moderate size. Some lines define functions that close over values of the program, and pass them to a transform, a loop
or a choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
from written_steps import BINARY, BOOL, ELEMENTWISE, INT, PIECEWISE, SHAPED, SQUARE, numbers, pair

import quabla as qb

__all__ = ["Program", "Quabla", "write_program"]

#: The largest rank, number of elements and absolute value in a program, and the depth of functions in functions.
RANK, SIZE, LARGE, DEPTH = 4, 48, 20.0, 3


class Quabla:
    """The namespace ``m`` on quabla's arrays of one dtype; ``jax_namespace`` has the same on JAX's."""

    def __init__(self, dtype: qb.dtype = qb.float64) -> None:
        self.dtype = dtype
        self.jacfwd = self.jacrev = qb.jacobian

    def __getattr__(self, name: str) -> Any:
        return getattr(qb, name)

    def eye(self, n: int) -> Any:
        return qb.eye(n, dtype=self.dtype)

    def const(self, values: Any) -> Any:
        """Numbers as a constant of the program's dtype."""
        return qb.array(np.asarray(values, self.dtype.numpy))

    def ints(self, values: Any) -> Any:
        return qb.array(values, dtype=qb.int64)

    def ramp(self, n: int) -> Any:
        """A diagonal matrix of well separated numbers."""
        return self.const(np.diag(5.0 * np.arange(n)))

    def bounded_while(self, test: Any, body: Any, x: Any, steps: int) -> Any:
        """``while_loop`` of at most some steps, of which reverse mode takes any."""
        return qb.while_loop(test, body, x, max_steps=steps)


class Program(NamedTuple):
    """Lines of a function of inputs, and the inputs that it was grown on."""

    inputs: list[np.ndarray]
    lines: list[str]
    outputs: list[str]
    weights: list[np.ndarray]

    @property
    def source(self) -> str:
        head = f"def program(m, {', '.join(f'x{i}' for i in range(len(self.inputs)))}):"
        return "\n".join([head, *(f"    {x}" for x in self.lines), f"    return ({', '.join(self.outputs)},)"])

    def __repr__(self) -> str:
        return "\n".join([*(f"x{i} = {a.tolist()}" for i, a in enumerate(self.inputs)), self.source])

    def run(self, m: Any, *inputs: Any) -> tuple[Any, ...]:
        """The outputs."""
        scope: dict[str, Any] = {}
        exec(self.source, scope)
        return scope["program"](m, *inputs)

    def scalar(self, m: Any, *inputs: Any) -> Any:
        """A weighted sum of all outputs, and of the first input, so that it is never a constant."""
        total = 0.1 * m.sum(inputs[0])
        for v, w in zip(self.run(m, *inputs), self.weights, strict=True):
            total = total + m.sum(v * m.const(w))
        return total


class Unsuitable(Exception):
    """A line that was drawn does not fit."""


class Scope:
    """The body of a function that is being written.

    Attributes:
        values: the names that it may use, with their values for the example inputs.
        lines: what has been written.
    """

    def __init__(self, rng: Random, values: dict[str, Any], names: Iterator[int], depth: int = 0) -> None:
        self.rng, self.values, self.names, self.depth = rng, values, names, depth
        self.lines: list[str] = []

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.values[name].shape)

    def new(self, letter: str = "v") -> str:
        """A name that is free: v for values, p for parameters, i for counters, f for functions."""
        return f"{letter}{next(self.names)}"

    def pick(self, kind: str = "float", newest: float = 0.5) -> str:
        """The name of a value of a kind of dtype, often the newest one, so that programs become deep."""
        found = [k for k, v in self.values.items() if v.dtype.name.startswith(kind)]
        if not found:
            raise Unsuitable
        return found[-1] if self.rng.random() < newest else self.rng.choice(found)

    def write(self, lines: list[str], result: str) -> None:
        """Add lines, the last of which assigns to ``result``."""
        scope = {"m": Quabla(), **self.values}
        try:
            exec("\n".join(lines), scope)
        except (ValueError, TypeError, IndexError, RuntimeError) as e:
            raise Unsuitable from e
        value = scope[result].numpy()
        if value.ndim > RANK or value.size > SIZE or (value.dtype != bool and not (abs(value) < LARGE).all()):
            raise Unsuitable
        self.lines += lines
        self.values[result] = scope[result]

    def assign(self, expression: str | None, *operands: str, **words: Any) -> None:
        """Add one line that assigns an expression of operands to a new name."""
        if expression is None:
            raise Unsuitable
        name = self.new()
        self.write([f"{name} = {expression.format(*operands, **words)}"], name)

    def grow(self, steps: int) -> None:
        """About ``steps`` more values."""
        for _ in range(4 * steps):
            if not steps:
                return
            try:
                self.step()
                steps -= 1
            except Unsuitable:
                pass

    def step(self) -> None:
        rng, x, y = self.rng, self.pick(), self.pick(newest=0.2)
        kind = rng.random()
        if kind < 0.20:
            self.assign(rng.choice(ELEMENTWISE), x)
        elif kind < 0.36:
            self.assign(rng.choice(BINARY), x, y)
        elif kind < 0.42:
            self.assign(rng.choice(PIECEWISE), x)
        elif kind < 0.50:
            self.assign(pair(rng, self.shape(x), self.shape(y)), x, y)
        elif kind < 0.74:
            self.assign(rng.choice(SHAPED)(rng, self.shape(x)), x)
        elif kind < 0.80:
            self.mask_or_index(x)
        elif kind < 0.84:
            *_, rows, columns = (0, 0, *self.shape(x))
            self.assign(rng.choice(SQUARE) if rows == columns > 0 else None, x, n=rows)
        elif self.depth < DEPTH:
            rng.choice(REGIONS)(self, x, y)

    def mask_or_index(self, x: str) -> None:
        """A bool or int value, or a use of one."""
        rng = self.rng
        kind = rng.choice(("bool", "int"))
        if rng.random() < 0.4:
            self.assign(rng.choice(BOOL if kind == "bool" else INT), x)
            return
        selections = ("m.where({0}, {1}, 0.0)", "m.where({0}, {1}, m.sin({1}))", "{0} * {1}", "{1} - {0}")
        rows = "{0} % {1}.shape[0]"
        indices = ("{0} * {1}", "m.sum({0}) * {1}", f"m.take({{1}}, {rows}, axis=0)", f"{{1}}[{rows}]")
        self.assign(rng.choice(selections if kind == "bool" else indices), self.pick(kind), x)

    # ---- functions in the program ----

    def function(
        self, parameters: dict[str, Any], *, like: str | None = None, result: str = "{0}"
    ) -> tuple[str, list[str]]:
        """The name and the lines of a function that closes over values of this scope.

        Args:
            parameters: their names and example values.
            like: the parameter whose shape the result has, if any; its values then stay in [-1, 1].
            result: what is returned, with ``{0}`` for the value.
        """
        body = Scope(self.rng, {**self.values, **parameters}, self.names, self.depth + 1)
        name = self.new("f")
        body.grow(self.rng.randint(1, 4))
        value = body.pick(newest=0.8)
        if like is not None:
            same = body.shape(value) == body.shape(like)
            value = f"m.sin({value})" if same else f"m.tanh({like} + m.mean({value}))"
        elif self.rng.random() < 0.7:
            value = f"{value} * m.sum(m.cos({next(iter(parameters))}))"
        head = f"def {name}({', '.join(parameters)}):"
        return name, [head, *(f"    {x}" for x in body.lines), f"    return {result.format(value)}"]

    def call(self, lines: list[str], expression: str) -> None:
        """Functions and the line that passes them on."""
        out = self.new()
        self.write([*lines, f"{out} = {expression}"], out)


# ---- what functions are passed to ---------------------------------------------------------------


def choice(s: Scope, x: str, _: str) -> None:
    p = s.new("p")
    f, first = s.function({p: s.values[x]}, like=p)
    g, second = s.function({p: s.values[x]}, like=p)
    s.call([*first, *second], f"m.cond(m.sum(m.sin({s.pick()})) > {s.rng.uniform(-1, 1):.3f}, {f}, {g}, {x})")


def counted_loop(s: Scope, x: str, _: str) -> None:
    i, p = s.new("i"), s.new("p")
    f, lines = s.function({p: s.values[x]}, like=p, result=f"{{0}} + 0.1 * {i}")
    lines[0] = f"def {f}({i}, {p}):"
    low = s.rng.randint(0, 2)
    s.call(lines, f"m.fori_loop({low}, {low + s.rng.randint(0, 4)}, {f}, {x})")


#: Containers of two values, and how each of them is taken out of one called c.
PAIRS: Final = (
    ("({0}, {1})", "c[0]", "c[1]"),
    ("{{'a': {0}, 'b': [{1}]}}", "c['a']", "c['b'][0]"),
    ("[{0}, ({1}, None)]", "c[0]", "c[1][0]"),
)


def loop_of_a_pair(s: Scope, x: str, y: str) -> None:
    p, q = s.new("p"), s.new("p")
    parameters = {p: s.values[x], q: s.values[y]}
    f, first = s.function(parameters, like=p)
    g, second = s.function(parameters, like=q)
    container, a, b = s.rng.choice(PAIRS)
    body = f"lambda i, c: {container.format(f'{f}({a}, {b})', f'{g}({a}, {b}) + 0.1 * i')}"
    loop = f"m.fori_loop(0, {s.rng.randint(1, 4)}, {body}, {container.format(x, y)})"
    s.call([*first, *second], f"(lambda c: m.sum({a}) * {b})({loop})")


def scan(s: Scope, x: str, y: str) -> None:
    p = s.new("p")
    f, first = s.function({p: s.values[x]}, like=p)
    g, second = s.function({p: s.values[x]})
    n = s.rng.randint(1, 4)
    row = f"{g}(c) + {y}[i]" if s.shape(y)[:1] == (n,) else f"{g}(c) * (i + 1)"
    loop = f"m.scan(lambda c, i: ({f}(c), {{'a': {row}, 'b': m.max(c) * i}}), {x}, length={n})"
    ends = ("r[0] + m.mean(r[1]['a']) * m.sum(r[1]['b'])", "m.tanh(r[1]['a'])")
    s.call([*first, *second], f"(lambda r: {s.rng.choice(ends)})({loop})")


def conditional_loop(s: Scope, x: str, _: str) -> None:
    p = s.new("p")
    f, lines = s.function({p: s.values[x]}, like=p, result="{0} * 1.3 + 0.1")
    test = f"lambda c: m.sum(c * c) < {s.rng.uniform(0.2, 3.0):.3f}"
    s.call(lines, f"m.bounded_while({test}, {f}, {x}, {s.rng.randint(1, 5)})")


DERIVATIVES: Final = (
    "m.grad({f})({x})",
    "m.value_and_grad({f})({x})[1]",
    "m.jvp({f}, ({x},), (m.cos({x}),))[1]",
    "m.vjp({f}, {x})[1](m.const(0.7))[0]",
    "m.jvp(m.grad({f}), ({x},), ({x},))[1]",
    "m.grad(lambda s: m.jvp({f}, (s,), (m.sin({x}),))[1])({x})",
    "m.grad(lambda s: m.sum(m.grad({f})(s) * m.sin(s)))({x})",
    "m.jit(m.grad({f}))({x})",
    "m.grad(m.checkpoint({f}))({x})",
    "m.checkpoint({f})({x})",
)


def derivative(s: Scope, x: str, _: str) -> None:
    p = s.new("p")
    f, lines = s.function({p: s.values[x]}, result=f"m.sum({{0}}) + 0.1 * m.sum({p} * {p})")
    s.call(lines, f"m.tanh({s.rng.choice(DERIVATIVES).format(f=f, x=x)})")


def jacobian(s: Scope, x: str, _: str) -> None:
    if math.prod(s.shape(x)) > 6:
        raise Unsuitable
    p = s.new("p")
    f, lines = s.function({p: s.values[x]})
    s.call(lines, f"m.tanh(m.{s.rng.choice(('jacobian', 'jacfwd', 'jacrev'))}({f})({x}))")


def mapped(s: Scope, x: str, y: str) -> None:
    shape = s.shape(x)
    if math.prod(shape) * len(shape) == 0:
        raise Unsuitable
    axis = s.rng.randrange(-len(shape), len(shape))
    along_y = s.shape(y)[:1] == (shape[axis],)
    p, q = s.new("p"), s.new("p")
    lane = qb.moveaxis(s.values[x], axis, 0)[0]
    f, lines = s.function({p: lane, q: s.values[y][0] if along_y else s.values[y]})
    inner = ("{f}", "{f}", "m.jit({f})", "m.grad(lambda a, b: m.sum({f}(a, b)))", "m.checkpoint({f})")
    s.call(lines, f"m.vmap({s.rng.choice(inner).format(f=f)}, in_axes=({axis}, {0 if along_y else None}))({x}, {y})")


def compiled(s: Scope, x: str, _: str) -> None:
    f, lines = s.function({s.new("p"): s.values[x]})
    s.call(lines, f"m.jit({f})({x})")


def rule_of_its_own(s: Scope, x: str, _: str) -> None:
    f = s.new("f")
    rule = f"{f}.defjvp(lambda p, t: ({f}(p[0]), t[0] * m.cos(p[0])))"
    s.call([f"{f} = m.custom_jvp(lambda p: m.sin(p))", rule], f"{f}({x})")


REGIONS: Final = (
    choice,
    counted_loop,
    loop_of_a_pair,
    scan,
    conditional_loop,
    derivative,
    derivative,
    jacobian,
    mapped,
    mapped,
    compiled,
    rule_of_its_own,
)


# ---- programs -----------------------------------------------------------------------------------


def _shape(rng: Random) -> tuple[int, ...]:
    extents = (0, 1, 2, 3) if rng.random() < 0.04 else (1, 2, 3, 3)
    return tuple(rng.choice(extents) for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3))))


def write_program(rng: Random, steps: int = 8, *, kinks: bool = False) -> Program:
    """A program of about ``steps`` values; its inputs are small whole numbers where it shall meet kinks."""
    shapes = [_shape(rng) for _ in range(rng.randint(1, 3))]
    inputs = [np.array(numbers(rng, s), float).reshape(s) for s in shapes]
    if kinks:
        inputs = [np.round(a) for a in inputs]
    scope = Scope(rng, {f"x{i}": qb.array(a) for i, a in enumerate(inputs)}, count())
    scope.grow(steps)
    text = "\n".join(scope.lines)
    floats = [k for k, v in scope.values.items() if v.dtype.is_float]
    unused = [k for k in floats if k[0] == "v" and text.count(k) == 1]
    outputs = list(dict.fromkeys([*unused, floats[-1]]))[-4:]
    weights = [np.array(numbers(rng, scope.shape(k)), float).reshape(scope.shape(k)) for k in outputs]
    return Program(inputs, scope.lines, outputs, weights)
