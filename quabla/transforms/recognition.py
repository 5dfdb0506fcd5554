"""Programs over eigenvalues and eigenvectors that are functions of the matrix, found where they are differentiated.

Neither factor of ``eigh`` has a derivative at repeated eigenvalues that would tell that of ``(v * f(w)) @ v.T``, which
exists. So the products that are functions of the matrix are found in a body before it is differentiated, and each becomes
a call that returns the value as the program computes it and has the derivatives of the function:

- ``L V diag(g) V^T R`` for a g that is elementwise in w, in whatever order it is multiplied, with or without L and R;
- the sums of such a g, and of elementwise products such as ``(V^T R) g (V^T S)``, over the eigenvalues.

What else g is made of, such as numbers that depend on the matrix too, are parameters. What is not found keeps the
derivatives of the factors, which are not finite where they do not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final, NamedTuple

import numpy as np

from quabla.ops import reductions
from quabla.ops.dispatch import Value, apply, constant, full
from quabla.ops.elementwise import DIV, MUL, POWI
from quabla.ops.factorizations import EIGH_VALUES, EIGH_VECTORS
from quabla.ops.linalg import MATMUL, product
from quabla.ops.reductions import MEAN, SUM
from quabla.ops.rules import ones
from quabla.ops.shaping import PAD, RESHAPE, TRANSPOSE
from quabla.ops.types import Const, Shape, TensorType
from quabla.tracing.graph import Body, Node, TraceTensor
from quabla.tracing.regions import dependent
from quabla.transforms.bodies import spread
from quabla.transforms.spectral import MatrixFunction, SpectralSum
from quabla.transforms.towers import Tower, known

__all__ = ["with_matrix_functions"]

#: What a program makes of a matrix function, or of a sum, with what stands around it.
Finish = Callable[[Value, Sequence[Value | None]], Value]


class Factor(NamedTuple):
    """A factor of g: what it multiplies, or divides where the power is -1, and the layout that it has there."""

    value: TraceTensor
    power: int
    layout: str


class Form(NamedTuple):
    """What a value is in terms of the eigenvalues w and eigenvectors V of a matrix.

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


_TURNED: Final = {"row": "column", "column": "row", "left": "right", "right": "left", "values": "values"}
_PAIRS: Final = {"left": "lefts", "right": "rights"}


def with_matrix_functions(body: Body, active: set[TraceTensor]) -> Body:
    """A body in which functions of the matrices that change with the active arguments are calls."""
    factored = {n.operands[0] for n in body.nodes if n.op in (EIGH_VALUES, EIGH_VECTORS)}
    matrices = {a for a in factored & dependent(body, active) if a.type.shape[-1] > 1}
    if not matrices:
        return body
    finder = _Finder(matrices)
    nodes: list[Node] = []
    for n in body.nodes:
        found = finder.read(n) if isinstance(n, TraceTensor) else None
        nodes += [n] if found is None else known("eigh", *found, n)
    return Body(body.args, nodes, body.outs)


class _Finder:
    """Reads the nodes of a body in order, and says which are functions of a matrix.

    Attributes:
        matrices: the operands of ``eigh`` that count.
        forms: what nodes are that have been read.
    """

    def __init__(self, matrices: set[TraceTensor]) -> None:
        self.matrices = matrices
        self.forms: dict[TraceTensor, Form] = {}

    def read(self, n: TraceTensor) -> tuple[Tower, TraceTensor, list[TraceTensor]] | None:
        """The tower, matrix and parameters of a node that is a function of a matrix; None for all others."""
        op, forms = n.op, [self.forms.get(x) for x in n.operands]
        if op in (EIGH_VALUES, EIGH_VECTORS):
            a = n.operands[0]
            if a in self.matrices:
                self.forms[n] = Form("values", a, "line") if op is EIGH_VALUES else Form("left", a, "row")
            return None
        if not any(forms):
            return None
        first, second = (*forms, None)[:2]
        if op in (SUM, MEAN) and first is not None:
            return self._sum(n, first)
        if op is MATMUL and first is not None and second is not None and first.matrix is second.matrix:
            if (first.layout, second.layout) == ("row", "column"):
                if (first.kind, second.kind) == ("left", "right"):
                    outer = (*first.outer, *second.outer)
                    return self._found(first.matrix, MatrixFunction, first.factors + second.factors, outer, _between)
                if (first.kind, second.kind) == ("values", "values"):
                    factors = (Factor(n.operands[0], 1, "row"), Factor(n.operands[1], 1, "column"))
                    return self._found(first.matrix, SpectralSum, factors, (), _of_shape(n.type.shape))
        form = self._form(n, first, second)
        if form is not None:
            self.forms[n] = form
        return None

    # ---- forms ------------------------------------------------------------------------------------------

    def _form(self, n: TraceTensor, first: Form | None, second: Form | None) -> Form | None:
        op = n.op
        if op is MATMUL:
            return self._product(n, first, second)
        for i, j in ((0, 1), (1, 0))[: 2 if op is MUL else 1 if op is DIV else 0]:
            form = (first, second)[i]
            scaled = None if form is None else self._scaled(n, i, form, j)
            if scaled is not None:
                return scaled
        if first is not None and op is POWI and n.params == (2,) and first.kind in _PAIRS:
            return first._replace(kind=_PAIRS[first.kind], factors=first.factors * 2, outer=first.outer * 2)
        if first is not None and op is RESHAPE:
            return self._reshaped(n, first)
        if first is not None and op is TRANSPOSE:
            return self._transposed(n, first)
        if first is not None and op is PAD:
            stack, extent = first.stack, n.operands[0].type.shape[-1]
            none = (0,) * (len(stack) + 1)
            spread = (none, none, (*none[1:], extent))
            if (first.kind, first.layout) == ("values", "line") and n.params == spread:
                return Form("padded", first.matrix, "line", (Factor(n.operands[0], 1, "line"),))
            return None
        return self._elementwise(n) if op.elementwise and op.name != "barrier" else None

    def _product(self, n: TraceTensor, first: Form | None, second: Form | None) -> Form | None:
        one, other = n.operands
        same = first is not None and second is not None and first.matrix is second.matrix
        if same and first is not None and second is not None:
            if (first.kind, first.layout, second.kind) == ("left", "row", "diagonal"):
                return first._replace(factors=first.factors + second.factors)
            if (first.kind, second.kind, second.layout) == ("diagonal", "right", "column"):
                return second._replace(factors=first.factors + second.factors)
        for form, outer in ((second, one), (first, other)):
            kind = "left" if form is second else "right"
            if form is not None and form.kind == kind and form.layout != "line" and form.outer == (None,):
                if n.type.shape[:-2] == form.stack:
                    return form._replace(outer=(outer,))
        return None

    def _scaled(self, n: TraceTensor, i: int, form: Form, j: int) -> Form | None:
        """Operand i, of a form with an axis of eigenvalues among others, times or by operand j."""
        base, x = n.operands[i], n.operands[j]
        if form.kind in ("values", "padded") or n.type is not base.type:
            return None
        power = 1 if n.op is MUL else -1
        other = self.forms.get(x)
        if other is not None and other.kind == "values" and other.matrix is form.matrix:
            along = (form.layout, "row", "column") if form.kind == "diagonal" else (form.layout,)
            if other.layout in along or (other.layout == "line" and form.layout == "row" and not form.stack):
                return form._replace(factors=(*form.factors, Factor(x, power, other.layout)))
            return None
        if other is not None and power == 1 and other[:3] == form[:3] and x.type is base.type and form.kind in _PAIRS:
            outer = form.outer + other.outer
            return form._replace(kind=_PAIRS[form.kind], factors=form.factors + other.factors, outer=outer)
        inner = x.type.shape[-1:] if form.layout == "line" else x.type.shape[-2:]
        if all(extent == 1 for extent in inner):
            layout = "line" if form.layout == "line" else "column"
            return form._replace(factors=(*form.factors, Factor(x, power, layout)))
        return None

    def _reshaped(self, n: TraceTensor, form: Form) -> Form | None:
        stack, extent, shape = form.stack, form.matrix.type.shape[-1], n.type.shape
        if form.kind == "padded":
            square = (*stack, extent, extent)
            return form._replace(kind="diagonal", layout="row") if shape == square else None
        if form.kind == "diagonal" or n.type.size != prod(stack) * extent:
            return None
        layouts = {(*stack, extent): "line", (*stack, 1, extent): "row", (*stack, extent, 1): "column"}
        layout = layouts.get(shape)
        if layout is None or (layout == "column" and "left" in form.kind) or (layout == "row" and "right" in form.kind):
            return None
        return form._replace(layout=layout)

    def _transposed(self, n: TraceTensor, form: Form) -> Form | None:
        lead = len(form.stack)
        if n.params[0] != (*range(lead), lead + 1, lead) or form.outer != (None,):
            return None
        if form.kind == "diagonal":
            return form
        return form._replace(kind=_TURNED[form.kind], layout=_TURNED[form.layout]) if form.kind in _TURNED else None

    def _elementwise(self, n: TraceTensor) -> Form | None:
        """An elementwise function of the eigenvalues and of what is the same for all of a matrix."""
        forms = [self.forms.get(x) for x in n.operands]
        form = next((f for f in forms if f is not None and f.kind == "values"), None)
        if form is None:
            return None
        for x, f in zip(n.operands, forms, strict=True):
            if f is not None and f.kind == "values" and f.matrix is form.matrix:
                if f.layout != form.layout or n.type.shape != x.type.shape:
                    return None
            elif x.splat is None and not _uniform(x.type, form.layout):
                return None
        return form

    # ---- functions of the matrix ---------------------------------------------------------------------------

    def _sum(self, n: TraceTensor, form: Form) -> tuple[Tower, TraceTensor, list[TraceTensor]] | None:
        """A sum, or mean, over the eigenvalues and perhaps other axes."""
        (axes,), (x,) = n.params, n.operands
        at = x.type.ndim - (2 if form.layout == "column" else 1)
        if at not in axes or form.kind not in ("values", "lefts", "rights"):
            return None
        scale = 1.0 / prod(x.type.shape[i] for i in axes) if n.op is MEAN else 1.0
        to, lead = n.type.shape, len(form.stack)
        if form.kind == "values":

            def total(each: Value, outer: Sequence[Value | None]) -> Value:
                stacked = tuple([i for i in axes if i < lead])
                found = reductions.sum(each, stacked) if stacked else each
                return apply(RESHAPE, (found,), (to,)) * scale

            return self._found(form.matrix, SpectralSum, (Factor(x, 1, form.layout),), (), total)

        def traced(matrix: Value, outer: Sequence[Value | None]) -> Value:
            left, right = [_identity(matrix.type) if v is None else v for v in outer]
            found = product(left, matrix) * right if form.kind == "lefts" else left * product(matrix, right)
            found = apply(RESHAPE, (found,), (x.type.shape,))
            return reductions.sum(found, axes) * scale

        return self._found(form.matrix, MatrixFunction, form.factors, form.outer, traced)

    def _found(
        self,
        matrix: TraceTensor,
        base: type[MatrixFunction | SpectralSum],
        factors: tuple[Factor, ...],
        outer: tuple[TraceTensor | None, ...],
        finish: Finish,
    ) -> tuple[Tower, TraceTensor, list[TraceTensor]]:
        f = _Function(self.forms, matrix, factors)
        tower = _Finished(base(f), len(f.parameters), [x is not None for x in outer], finish)
        return tower, matrix, [*f.parameters, *(x for x in outer if x is not None)]


def _uniform(t: TensorType, layout: str) -> bool:
    """Whether an operand is the same for all eigenvalues of a matrix."""
    return all(n == 1 for n in (t.shape[-2:-1] if layout == "column" else t.shape[-1:]))


# ---- towers of what is found ---------------------------------------------------------------------------------


class _Function:
    """A product of factors as an elementwise function of points that take the place of the eigenvalues.

    Attributes:
        parameters: what it depends on beside the points.
    """

    def __init__(self, forms: dict[TraceTensor, Form], matrix: TraceTensor, factors: tuple[Factor, ...]) -> None:
        needed: set[TraceTensor] = set()
        rest = [f.value for f in factors]
        while rest:
            x = rest.pop()
            form = forms.get(x)
            if x not in needed and form is not None and form.kind == "values" and form.matrix is matrix:
                needed.add(x)
                rest += x.operands if x.op is not EIGH_VALUES else ()
        self.factors = factors
        self.steps = [(x, form.layout) for x, form in forms.items() if x in needed]
        used = [*(f.value for f in factors), *(o for x, _ in self.steps for o in x.operands if x.op is not EIGH_VALUES)]
        self.parameters = list(dict.fromkeys(x for x in used if x not in needed and x.splat is None))

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


class _Finished(Tower):
    """A tower whose results are put into a linear expression with further parameters, some of which are absent."""

    def __init__(self, base: Tower, count: int, present: Sequence[bool], finish: Finish) -> None:
        self.base = base
        self.count = count
        self.present = list(present)
        self.finish = finish

    def program(self, subject: Value, directions: Sequence[Value], parameters: Sequence[Value]) -> list[Value]:
        (result,) = self.base.program(subject, directions, parameters[: self.count])
        return [self.finish(result, spread(parameters[self.count :], self.present))]


def _between(matrix: Value, outer: Sequence[Value | None]) -> Value:
    """L f(a) R."""
    left, right = outer
    found = matrix if left is None else product(left, matrix)
    return found if right is None else product(found, right)


def _of_shape(shape: Shape) -> Finish:
    return lambda result, outer: apply(RESHAPE, (result,), (shape,))


def _identity(t: TensorType) -> Value:
    return constant(Const(np.eye(t.shape[-1]).astype(t.dtype.numpy)))
