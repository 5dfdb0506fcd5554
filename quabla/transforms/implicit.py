"""Derivatives of what an equation defines, by the implicit function theorem.

A solver is a call whose rule holds the residual, a body that is zero at the solution: r(x, p) = 0 gives
x' = -r_x^-1 (r_p p'), and in reverse mode p takes -r_p^T r_x^-T ct. So nothing is ever differentiated through the
iterations, what the solver keeps between the forward and the backward part is x, and a derivative is again a solver or
made of ordinary ops: it differentiates to any order and maps over lanes.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed. (SIAM, 2008), chapter 15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from quabla import errors
from quabla.ops.dispatch import Value, apply
from quabla.ops.rules import with_mapped_axis, zeros
from quabla.ops.shaping import RESHAPE, TRANSPOSE
from quabla.ops.solving import SOLVE_OR_NAN
from quabla.tracing import regions
from quabla.tracing.graph import ARGUMENT, Body, Graph, RegionNode, TraceTensor
from quabla.transforms import batching, forward, reverse
from quabla.transforms.bodies import Pull, chosen, emit, run
from quabla.transforms.call_rules import CallRule
from quabla.transforms.forward import Tangent
from quabla.transforms.jacobians import jacobian

__all__ = ["Algorithm", "LinearSolve", "Root", "dense_solve", "linear_solve", "root", "with_common_captures"]

#: What a linear solver's body does: ``(A, M, b, start) -> (x, further results)``; M is None where there is none.
Algorithm = Callable[[Callable[[Value], Value], Callable[[Value], Value] | None, Value, Value], Sequence[Value]]


def with_common_captures(graphs: Sequence[Graph], count: int) -> tuple[list[Body], list[Any]]:
    """Bodies of finished graphs over ``count`` declared arguments and all that any of them captures, and the latter."""
    outside = list(dict.fromkeys(x for g in graphs for x in g.captures))
    bodies = []
    for g in graphs:
        hidden = [g.captures[x] if x in g.captures else TraceTensor(g, x.type, ARGUMENT, (), ()) for x in outside]
        bodies.append(Body([*g.args[:count], *hidden], g.body().nodes, g.outs))
    return bodies, outside


def copied(body: Body) -> Graph:
    """A body as a graph."""
    graph = Graph([a.type for a in body.args])
    with graph:
        return graph.finish(run(body, graph.args))


def mapped_graph(body: Body, lanes: Sequence[bool], size: int) -> Graph:
    """A body over a mapped axis of the marked arguments; every result carries it."""
    types = [a.type.with_shape((size, *a.type.shape)) if m else a.type for a, m in zip(body.args, lanes, strict=True)]
    graph = Graph(types)
    with graph:
        env = dict(zip(body.args, graph.args, strict=True))
        outs, which = batching.vmap(body, env, set(chosen(body.args, lanes)))
        graph.finish([with_mapped_axis(x, m, size) for x, m in zip(outs, which, strict=True)])
    return graph


class ImplicitRule(CallRule):
    """Differentiates a call whose first result makes a residual zero; the other results have no derivative.

    All bodies have the same arguments: a start, what the residual depends on, and ``extra``. The residual, and any other
    body but the call's own, has the unknown in the place of the start.

    Attributes:
        count: the number of operands without ``extra``.
        lead: how many operands carry the lanes' axis wherever one does.
        extra: eager arrays that the bodies have captured.
        residual: the body that is zero at the solution.
        solve: the call's body.
    """

    __slots__ = ("extra", "residual", "solve")

    lead: int

    def __init__(self, name: str, count: int, residual: Body, solve: Body, extra: Sequence[Any]) -> None:
        super().__init__(name, count)
        self.residual = residual
        self.solve = solve
        self.extra = list(extra)

    def call(self, operands: Sequence[Value]) -> list[Value]:
        """Emit a call at operands without ``extra``."""
        return regions.call(self, [*operands, *self.extra], self.solve)

    def solved(self, values: Sequence[Value], rhs: Value, *, transposed: bool) -> Value:
        """Emit the solution of the system of the residual's Jacobian at ``values``, or of its transpose."""
        raise NotImplementedError

    def mapped(self, lanes: Sequence[bool], size: int) -> Self:
        """The rule of the call over a mapped axis."""
        raise NotImplementedError

    def jvp(
        self, n: RegionNode, operands: Sequence[Value], tangents: Sequence[Tangent]
    ) -> tuple[list[Value], list[Tangent]]:
        outs = emit(n, operands)
        rest: list[Tangent] = [None] * (len(outs) - 1)
        values = [outs[0], *operands[1:]]
        dot = {a: t for a, t in zip(self.residual.args[1:], tangents[1:], strict=True) if t is not None}
        moved: Tangent = None
        if dot:
            (_, (moved,)) = forward.jvp(self.residual, dict(zip(self.residual.args, values, strict=True)), dot)
        return outs, [None if moved is None else self.solved(values, -moved, transposed=False), *rest]

    def vjp(
        self, n: RegionNode, operands: Sequence[Value], which: Sequence[bool]
    ) -> tuple[list[Value], list[bool], Pull | None]:
        outs = emit(n, operands)
        active = [a for a, w in zip(self.residual.args[1:], which[1:], strict=True) if w and a.type.dtype.is_float]
        if not active:
            return outs, [False] * len(outs), None
        values = [outs[0], *operands[1:]]

        def pull(given: Sequence[Tangent]) -> list[Tangent]:
            if given[0] is None:
                return [None] * len(operands)
            adjoint = self.solved(values, given[0], transposed=True)
            env = dict(zip(self.residual.args, values, strict=True))
            _, pullback = reverse.vjp(self.residual, env, set(active))
            cts = pullback([-adjoint])
            return [cts.get(a) for a in self.residual.args]

        return outs, [True, *[False] * (len(outs) - 1)], pull

    def batch(
        self, n: RegionNode, operands: Sequence[Value], mapped: Sequence[bool], size: int
    ) -> tuple[list[Value], list[bool]]:
        lanes = [True] * self.lead + list(mapped[self.lead : self.count])
        lead = zip(operands[: self.lead], mapped[: self.lead], strict=True)
        values = [*(with_mapped_axis(x, m, size) for x, m in lead), *operands[self.lead : self.count]]
        results = self.mapped([*lanes, *[False] * len(self.extra)], size).call(values)
        return results, [True] * len(results)

    def _mapped_bodies(self, bodies: Sequence[Body], lanes: Sequence[bool], size: int) -> tuple[list[Body], list[Any]]:
        """Bodies over a mapped axis, and the new ``extra``."""
        found, more = with_common_captures([mapped_graph(b, lanes, size) for b in bodies], len(lanes))
        return found, [*self.extra, *more]


# ---- linear systems ---------------------------------------------------------------------------------


class LinearSolve(ImplicitRule):
    """The rule of a linear system A x = b: the residual is A x - b.

    The operands are a start, b and what A and the solver capture. Derivatives are calls of the same solver from zero, in
    reverse mode with the transposed operator.
    """

    __slots__ = ("_transpose", "_transposed")

    lead = 2

    def __init__(
        self,
        name: str,
        count: int,
        residual: Body,
        solve: Body,
        extra: Sequence[Any],
        transpose: Callable[[], LinearSolve] | None,
    ) -> None:
        super().__init__(name, count, residual, solve, extra)
        self._transpose = transpose
        self._transposed: LinearSolve | None = None if transpose else self

    def transposed(self) -> LinearSolve:
        """The rule of the transposed operator; for a symmetric one this rule."""
        if self._transposed is None:
            assert self._transpose is not None
            self._transposed = self._transpose()
        return self._transposed

    def solved(self, values: Sequence[Value], rhs: Value, *, transposed: bool) -> Value:
        rule = self.transposed() if transposed else self
        return rule.call([zeros(rhs.type), rhs, *values[2 : self.count]])[0]

    def mapped(self, lanes: Sequence[bool], size: int) -> LinearSolve:
        (residual, solve), extra = self._mapped_bodies((self.residual, self.solve), lanes, size)

        def transpose() -> LinearSolve:
            twin = self.transposed()
            return twin.mapped([*lanes[: self.count], *[False] * len(twin.extra)], size)

        return LinearSolve(self.name, self.count, residual, solve, extra, transpose if self._transpose else None)


def linear_solve(
    name: str, functions: Sequence[Body], operands: Sequence[Value], algorithm: Algorithm, *, symmetric: bool
) -> list[Value]:
    """Emit the solution of A x = b.

    Args:
        name: how messages call the solver.
        functions: A and, if there is one, the preconditioner M: bodies of a vector and of what both capture.
        operands: the first iterate, which has no derivative; b; and the captured values.
        algorithm: emits the solver's body.
        symmetric: A and M are their own transposes.

    Returns:
        What the algorithm returns.
    """
    return _linear_rule(name, functions, [x.type for x in operands[2:]], (), algorithm, symmetric).call(operands)


def _linear_rule(
    name: str,
    functions: Sequence[Body],
    types: Sequence[Any],
    extra: Sequence[Any],
    algorithm: Algorithm,
    symmetric: bool,
) -> LinearSolve:
    """The rule of a system given A and maybe M, which are closed over values of ``types`` and ``extra``."""
    vector = functions[0].args[0].type
    every = [vector, vector, *types, *(x.type for x in extra)]
    count = 2 + len(types)
    residual, solve = Graph(every), Graph(every)
    with residual:
        x, b, *captured = residual.args
        residual.finish([run(functions[0], [x, *captured])[0] - b])
    with solve:
        start, b, *captured = solve.args
        apply_to = [lambda v, f=f, c=captured: run(f, [v, *c])[0] for f in functions]
        solve.finish(algorithm(apply_to[0], apply_to[1] if len(apply_to) > 1 else None, b, start))
    (residual, solve), more = with_common_captures([residual, solve], len(every))

    def transpose() -> LinearSolve:
        bodies, new = with_common_captures([_transpose(name, f) for f in functions], len(functions[0].args))
        return _linear_rule(name, bodies, types, [*extra, *new], algorithm, symmetric)

    return LinearSolve(name, count, residual, solve, [*extra, *more], None if symmetric else transpose)


def _transpose(name: str, function: Body) -> Graph:
    """The transpose of a function that is linear in its first argument.

    Raises:
        ValueError: where it is not.
    """
    vector, *types = [a.type for a in function.args]
    graph = Graph([vector, *types, vector])
    with graph:
        ct, *captured, x = graph.args
        env = dict(zip(function.args, [x, *captured], strict=True))
        _, pullback = reverse.vjp(function, env, {function.args[0]})
        found = pullback([ct]).get(function.args[0])
        graph.finish([zeros(vector) if found is None else found])
    body = graph.body()
    if x in set(body.outs).union(*[n.operands for n in body.nodes]):
        raise ValueError(
            f"{name}: reverse mode needs the transposed operator, but the operator or the preconditioner is not linear in "
            f"its first argument{errors.at_user_line()}"
        )
    del graph.args[1 + len(types)], graph.names[1 + len(types)]
    return graph


# ---- roots ------------------------------------------------------------------------------------------


class Root(ImplicitRule):
    """The rule of a root of a function of a vector, by its dense Jacobian.

    The operands are a start and what the function captures.

    Attributes:
        jacobian: the body of the residual's Jacobian with respect to the unknown.
    """

    __slots__ = ("jacobian",)

    lead = 1

    def __init__(
        self, name: str, count: int, residual: Body, solve: Body, extra: Sequence[Any], jacobian: Body
    ) -> None:
        super().__init__(name, count, residual, solve, extra)
        self.jacobian = jacobian

    def solved(self, values: Sequence[Value], rhs: Value, *, transposed: bool) -> Value:
        (matrix,) = run(self.jacobian, [*values[: self.count], *self.extra])
        return dense_solve(matrix, rhs, transposed=transposed)

    def mapped(self, lanes: Sequence[bool], size: int) -> Root:
        bodies = (self.residual, self.solve, self.jacobian)
        (residual, solve, matrix), extra = self._mapped_bodies(bodies, lanes, size)
        return Root(self.name, self.count, residual, solve, extra, matrix)


def dense_solve(matrix: Value, rhs: Value, *, transposed: bool = False) -> Value:
    """The solutions of systems of one vector each, NaN where the matrix is singular."""
    if transposed:
        rank = matrix.type.ndim
        matrix = apply(TRANSPOSE, (matrix,), ((*range(rank - 2), rank - 1, rank - 2),))
    column = apply(RESHAPE, (rhs,), ((*rhs.type.shape, 1),))
    return apply(RESHAPE, (apply(SOLVE_OR_NAN, (matrix, column)),), (rhs.type.shape,))


def root(
    name: str,
    function: Body,
    operands: Sequence[Value],
    algorithm: Callable[..., Sequence[Value]],
    context: Sequence[Value] = (),
) -> list[Value]:
    """Emit a root of a function of a vector.

    Args:
        name: how messages call the solver.
        function: a body of the vector and of what it captures.
        operands: the first iterate, which has no derivative, and the captured values.
        algorithm: emits the solver's body, ``(f, Jacobian of f, start, *context) -> (x, further results)``.
        context: what else the algorithm needs; the root does not depend on it.
    """
    operands = [*operands, *context]
    types = [x.type for x in operands]
    unread = Graph([x.type for x in context]).args
    function = Body([*function.args, *unread], function.nodes, function.outs)
    matrix, solve = Graph(types), Graph(types)
    with matrix:
        x, *captured = matrix.args
        matrix.finish([jacobian(lambda v: run(function, [v, *captured])[0])(x)])
    (square,), extra = with_common_captures([matrix], len(types))
    with solve:
        start, *captured = solve.args
        outs = algorithm(
            lambda v: run(function, [v, *captured])[0],
            lambda v: run(square, [v, *captured, *extra])[0],
            start,
            *captured[len(captured) - len(context) :],
        )
        solve.finish(outs)
    (residual, body, square), extra = with_common_captures([copied(function), solve, matrix], len(types))
    return Root(name, len(operands), residual, body, extra, square).call(operands)
