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

from math import prod

import numpy as np

from quabla.ops.casting import CAST, CONSTANT
from quabla.ops.elementwise import DIV, MUL, POWI
from quabla.ops.factorizations import EIGH_VALUES, EIGH_VECTORS
from quabla.ops.linalg import MATMUL
from quabla.ops.reductions import MEAN, SUM
from quabla.ops.shaping import PAD, RESHAPE, TRANSPOSE
from quabla.ops.types import Shape, TensorType
from quabla.tracing.graph import Body, Node, TraceTensor
from quabla.tracing.regions import dependent
from quabla.transforms.spectral import MatrixFunction, SpectralSum
from quabla.transforms.spectral_forms import (
    PAIRS,
    TURNED,
    Factor,
    Finish,
    Finished,
    Form,
    FormFunction,
    between,
    diagonal_sum,
    total,
)
from quabla.transforms.towers import Tower, known

__all__ = ["with_matrix_functions"]

#: A tower, its subject and parameters.
Found = tuple[Tower, TraceTensor, list[TraceTensor]]


def with_matrix_functions(body: Body, active: set[TraceTensor]) -> Body:
    """A body in which functions of the matrices that change with the active arguments are calls."""
    factored = {n.operands[0] for n in body.nodes if n.op in (EIGH_VALUES, EIGH_VECTORS)}
    matrices = {a for a in factored & dependent(body, active) if a.type.shape[-1] > 1}
    if not matrices:
        return body
    finder = _Finder(matrices)
    nodes: list[Node] = []
    for n in body.nodes:
        if isinstance(n, TraceTensor) and (found := finder.read(n)) is not None:
            nodes += known("eigh", *found, n)
        else:
            nodes.append(n)
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

    def read(self, n: TraceTensor) -> Found | None:
        """What a node is that is a function of a matrix; None for all others."""
        op, forms = n.op, [self.forms.get(x) for x in n.operands]
        form: Form | None = None
        if op in (EIGH_VALUES, EIGH_VECTORS):
            a = n.operands[0]
            if a in self.matrices:
                form = Form("values", a, "line") if op is EIGH_VALUES else Form("left", a, "row")
        elif not any(forms):
            return None
        elif op is MATMUL:
            one, other = forms
            if one is not None and other is not None and one.matrix is other.matrix:
                found = self._function(n, one, other)
                if found is not None:
                    return found
            form = self._product(n, one, other)
        elif (first := forms[0]) is not None and op in (SUM, MEAN):
            return self._sum(n, first)
        elif first is not None and op is RESHAPE:
            form = self._reshaped(n, first)
        elif first is not None and op is TRANSPOSE:
            form = self._transposed(n, first)
        elif first is not None and op is PAD:
            form = self._padded(n, first)
        elif first is not None and op is POWI and n.params == (2,) and first.kind in PAIRS:
            form = first._replace(kind=PAIRS[first.kind], factors=first.factors * 2, outer=first.outer * 2)
        elif (op.elementwise and op.name != "barrier") or op is CAST:
            form = self._scaled(n) or self._elementwise(n)
        if form is not None:
            self.forms[n] = form
        return None

    # ---- forms ------------------------------------------------------------------------------------------

    def _product(self, n: TraceTensor, first: Form | None, second: Form | None) -> Form | None:
        if first is not None and second is not None and first.matrix is second.matrix:
            if (first.kind, first.layout, second.kind) == ("left", "row", "diagonal"):
                return first.times(*second.factors)
            if (first.kind, second.kind, second.layout) == ("diagonal", "right", "column"):
                return second.times(*first.factors)
        one, other = n.operands
        for form, outer, plain in ((second, one, ("left", "row")), (first, other, ("right", "column"))):
            alone = form is not None and (form.kind, form.layout) == plain and form.outer == (None,)
            if alone and form is not None and n.type.shape[:-2] == form.stack:
                return form._replace(outer=(outer,))
        return None

    def _scaled(self, n: TraceTensor) -> Form | None:
        """A form with an axis of eigenvalues among others, times or by another operand."""
        if n.op is not MUL and n.op is not DIV:
            return None
        for base, x in (n.operands, n.operands[::-1])[: 2 if n.op is MUL else 1]:
            form, other = self.forms.get(base), self.forms.get(x)
            if form is None or form.kind in ("values", "padded") or n.type is not base.type:
                continue
            power = 1 if n.op is MUL else -1
            if other is not None and other.kind == "values" and other.matrix is form.matrix:
                along = ("row", "column") if form.kind == "diagonal" else (form.layout,)
                if other.layout in along or (other.layout == "line" and "row" in along and not form.stack):
                    return form.times(Factor(x, power, other.layout))
            elif other is not None and form.kind in PAIRS:
                if power == 1 and other[:3] == form[:3] and x.type is base.type:
                    outer = form.outer + other.outer
                    return form._replace(kind=PAIRS[form.kind], factors=form.factors + other.factors, outer=outer)
            elif all(extent == 1 for extent in x.type.shape[-1 if form.layout == "line" else -2 :]):
                return form.times(Factor(x, power, "line" if form.layout == "line" else "column"))
        return None

    def _reshaped(self, n: TraceTensor, form: Form) -> Form | None:
        stack, extent, shape = form.stack, form.matrix.type.shape[-1], n.type.shape
        if form.kind == "padded":
            return form._replace(kind="diagonal", layout="row") if shape == (*stack, extent, extent) else None
        layouts: dict[Shape, str] = {(*stack, extent): "line"}
        if not form.kind.startswith("left"):
            layouts[*stack, extent, 1] = "column"
        if not form.kind.startswith("right"):
            layouts[*stack, 1, extent] = "row"
        return form._replace(layout=layouts[shape]) if shape in layouts and form.kind != "diagonal" else None

    def _transposed(self, n: TraceTensor, form: Form) -> Form | None:
        lead = len(form.stack)
        if n.params[0] != (*range(lead), lead + 1, lead) or form.outer != (None,):
            return None
        if form.kind == "diagonal":
            return form
        return form._replace(kind=TURNED[form.kind], layout=TURNED[form.layout]) if form.kind in TURNED else None

    def _padded(self, n: TraceTensor, form: Form) -> Form | None:
        """What becomes a diagonal matrix: the values with as many zeros behind each as there are values."""
        (x,), none = n.operands, (0,) * n.type.ndim
        spread = (none, none, (*none[1:], x.type.shape[-1]))
        if (form.kind, form.layout) != ("values", "line") or n.params != spread:
            return None
        return Form("padded", form.matrix, "line", (Factor(x, 1, "line"),))

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
            elif n.op is MUL and not form.stack and form.layout != "column" and _is_identity(x):
                place = n.operands.index(x)
                return Form("diagonal", form.matrix, "row", (Factor(n.operands[1 - place], 1, form.layout),))
            elif x.splat is None and not _uniform(x.type, form.layout):
                return None
        return form

    # ---- functions of the matrix ---------------------------------------------------------------------------

    def _function(self, n: TraceTensor, first: Form, second: Form) -> Found | None:
        """A product that leaves no axis of eigenvalues."""
        if (first.layout, second.layout) != ("row", "column"):
            return None
        if (first.kind, second.kind) == ("left", "right"):
            factors = first.factors + second.factors
            return self._found(MatrixFunction, first.matrix, factors, first.outer + second.outer, between)
        if (first.kind, second.kind) == ("values", "values"):
            one, other = n.operands
            factors = (Factor(one, 1, "row"), Factor(other, 1, "column"))
            return self._found(SpectralSum, first.matrix, factors, (), total((), n.type.shape, 1.0))
        return None

    def _sum(self, n: TraceTensor, form: Form) -> Found | None:
        """A sum, or mean, over the eigenvalues and perhaps other axes."""
        (axes,), (x,) = n.params, n.operands
        if x.type.ndim - (2 if form.layout == "column" else 1) not in axes:
            return None
        scale = 1.0 / prod([x.type.shape[i] for i in axes]) if n.op is MEAN else 1.0
        if form.kind == "values":
            stacked = [i for i in axes if i < len(form.stack)]
            factors = (Factor(x, 1, form.layout),)
            return self._found(SpectralSum, form.matrix, factors, (), total(stacked, n.type.shape, scale))
        if form.kind in ("lefts", "rights"):
            finish = diagonal_sum(form.kind, x.type.shape, axes, scale)
            return self._found(MatrixFunction, form.matrix, form.factors, form.outer, finish)
        return None

    def _found(
        self,
        base: type[MatrixFunction | SpectralSum],
        matrix: TraceTensor,
        factors: tuple[Factor, ...],
        outer: tuple[TraceTensor | None, ...],
        finish: Finish,
    ) -> Found:
        f = FormFunction(self.forms, matrix, factors)
        tower = Finished(base(f), len(f.parameters), [x is not None for x in outer], finish)
        return tower, matrix, [*f.parameters, *(x for x in outer if x is not None)]


def _uniform(t: TensorType, layout: str) -> bool:
    """Whether an operand is the same for all eigenvalues of a matrix."""
    return all(n == 1 for n in (t.shape[-2:-1] if layout == "column" else t.shape[-1:]))


def _is_identity(x: TraceTensor) -> bool:
    if x.op is not CONSTANT or x.type.ndim != 2:
        return False
    array = x.params[0].array
    return array.shape[0] == array.shape[1] and bool((array == np.eye(array.shape[0])).all())
