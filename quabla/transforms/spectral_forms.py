"""What values are in terms of the eigenvalues w and eigenvectors V of a matrix, and the towers that are made of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from quabla.ops import reductions
from quabla.ops.dispatch import Value, apply, constant, full
from quabla.ops.factorizations import EIGH_VALUES
from quabla.ops.linalg import product
from quabla.ops.rules import ones
from quabla.ops.shaping import RESHAPE, TRANSPOSE
from quabla.ops.types import Const, Shape, TensorType
from quabla.tracing.graph import TraceTensor
from quabla.transforms.bodies import spread
from quabla.transforms.towers import Tower

__all__ = [
    "PAIRS",
    "TURNED",
    "Factor",
    "Finish",
    "Finished",
    "Form",
    "FormFunction",
    "between",
    "diagonal_sum",
    "total",
]


class Factor(NamedTuple):
    """A factor of g: what it multiplies, or divides where the power is -1, and the layout that it has there."""

    value: TraceTensor
    power: int
    layout: str


class Form(NamedTuple):
    """What a value is.

    Attributes:
        kind: ``values``, elementwise in w; ``padded`` and ``diagonal``, the way to diag(g) and this itself; ``left``,
            L V diag(g); ``right``, diag(g) V^T R; ``lefts`` and ``rights``, an elementwise product of two of these.
        matrix: the matrix.
        layout: where the axis of the eigenvalues is behind those of the stack: ``row``, the second of two; ``column``,
            the first of two; ``line``, the only one.
        factors: those of g.
        outer: L or R, None where there is none; two for a product.
    """

    kind: str
    matrix: TraceTensor
    layout: str
    factors: tuple[Factor, ...] = ()
    outer: tuple[TraceTensor | None, ...] = (None,)

    @property
    def stack(self) -> Shape:
        return self.matrix.type.shape[:-2]

    def times(self, *factors: Factor) -> Form:
        """The same with further factors of g."""
        return self._replace(factors=self.factors + factors)


#: The layouts and kinds of transposes.
TURNED: Final = {"row": "column", "column": "row", "left": "right", "right": "left", "values": "values"}
#: The kinds of elementwise products.
PAIRS: Final = {"left": "lefts", "right": "rights"}


class FormFunction:
    """g as a function of points that take the place of the eigenvalues.

    Attributes:
        parameters: what it depends on beside the points.
    """

    def __init__(self, forms: Mapping[TraceTensor, Form], matrix: TraceTensor, factors: tuple[Factor, ...]) -> None:
        needed: set[TraceTensor] = set()
        used = rest = [f.value for f in factors]
        while rest:
            x, *rest = rest
            form = forms.get(x)
            if x not in needed and form is not None and form.kind == "values" and form.matrix is matrix:
                needed.add(x)
                inner = () if x.op is EIGH_VALUES else x.operands
                used, rest = [*used, *inner], [*rest, *inner]
        self.factors = factors
        self.steps = [(x, form.layout) for x, form in forms.items() if x in needed]
        self.parameters = [x for x in dict.fromkeys(used) if x not in needed and x.splat is None]

    def __call__(self, points: Value, parameters: Sequence[Value]) -> Value:
        given = dict(zip(self.parameters, parameters, strict=True))
        made: dict[TraceTensor, Value] = {}

        def value(x: TraceTensor, layout: str) -> Value:
            if x in made:
                return made[x]
            if x.splat is not None:
                return full(x.type.with_shape(()), x.splat)
            shape = x.type.shape
            if len(shape) > 1 and layout != "line":  # without the axis beside that of the eigenvalues
                shape = (*shape[:-2], shape[-1]) if layout == "row" else shape[:-1]
            return apply(RESHAPE, (given[x],), (shape,))

        for x, layout in self.steps:
            if x.op is EIGH_VALUES:
                made[x] = points
            elif x.op is RESHAPE or x.op is TRANSPOSE:
                made[x] = made[x.operands[0]]
            else:
                made[x] = apply(x.op, tuple([value(o, layout) for o in x.operands]), x.params)
        result = ones(points.type)
        for x, power, layout in self.factors:
            v = value(x, layout)
            result = result * v if power == 1 else result / v
        return result


# ---- results -----------------------------------------------------------------------------------------

#: What a program makes of a function of the matrix, or of a sum, and of what stands around it.
Finish = Callable[[Value, Sequence[Value | None]], Value]


class Finished(Tower):
    """A tower whose results are put into a linear expression with further parameters, some of which are absent."""

    def __init__(self, base: Tower, count: int, present: Sequence[bool], finish: Finish) -> None:
        self.base = base
        self.count = count
        self.present = list(present)
        self.finish = finish

    def program(self, subject: Value, directions: Sequence[Value], parameters: Sequence[Value]) -> list[Value]:
        (result,) = self.base.program(subject, directions, parameters[: self.count])
        return [self.finish(result, spread(parameters[self.count :], self.present))]


def between(matrix: Value, outer: Sequence[Value | None]) -> Value:
    """L f(a) R."""
    left, right = outer
    found = matrix if left is None else product(left, matrix)
    return found if right is None else product(found, right)


def total(axes: Sequence[int], to: Shape, scale: float) -> Finish:
    """The sum over axes of the stack of what is there for each matrix."""

    def finish(each: Value, outer: Sequence[Value | None]) -> Value:
        found = reductions.sum(each, tuple(axes)) if axes else each
        return apply(RESHAPE, (found,), (to,)) * scale

    return finish


def diagonal_sum(kind: str, of: Shape, axes: tuple[int, ...], scale: float) -> Finish:
    """The sum over axes of (L f(a)) * M, for products of left forms, or of R * (f(a) S)."""

    def finish(matrix: Value, outer: Sequence[Value | None]) -> Value:
        one, other = [_identity(matrix.type) if v is None else v for v in outer]
        found = product(one, matrix) * other if kind == "lefts" else one * product(matrix, other)
        return reductions.sum(apply(RESHAPE, (found,), (of,)), axes) * scale

    return finish


def _identity(t: TensorType) -> Value:
    return constant(Const(np.eye(t.shape[-1]).astype(t.dtype.numpy)))
