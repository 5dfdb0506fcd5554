"""L-BFGS: quasi-Newton minimisation of smooth functions of many variables."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import errors
from quabla.ops.dispatch import Value
from quabla.ops.eager import wrap
from quabla.optim.gradient import float_leaves, refuse_traced
from quabla.optim.line_search import strong_wolfe
from quabla.optim.settings import between, count
from quabla.tracing.graph import Body
from quabla.tracing.trace import Arguments, trace
from quabla.transforms.autodiff import value_and_grad
from quabla.transforms.bodies import run
from quabla.transforms.expansion import expanded
from quabla.transforms.programs import kept_program
from quabla.transforms.wrapper import check_callable

__all__ = ["LBFGS"]

Vector = np.ndarray[Any, Any]

#: A pair whose product is below this part of the product of its norms says nothing about curvature.
CURVED: Final = 1e-10


class LBFGS:
    """The limited-memory BFGS method (Nocedal, "Updating quasi-Newton matrices with limited storage", 1980).

    Directions come from the two-loop recursion of Nocedal and Wright, "Numerical Optimization", algorithm 7.4, steps from
    a line search for the strong Wolfe conditions. Vectors of the method are float64 whatever the parameters' dtype.

    Args:
        history: how many pairs of steps and changes of the gradient are kept.
        max_iterations: the most iterations.
        max_evaluations: the most evaluations of the function and its gradient; None for no bound.
        tolerance_grad: converged where no element of the gradient is greater.
        tolerance_change: converged where an iteration changes the value by this part of it or less.
        line_search: ``"strong_wolfe"``.

    Raises:
        ValueError: counts that are not positive, negative tolerances, an unknown line search.

    Example:
        >>> lbfgs = qb.optim.LBFGS()
        >>> rosenbrock = lambda p: (1.0 - p[0]) ** 2 + 100.0 * (p[1] - p[0] ** 2) ** 2
        >>> params, info = lbfgs.minimize(rosenbrock, qb.array([-1.2, 1.0]))
        >>> qb.round(params), info["reason"]
        (Tensor([1., 1.], dtype=float64), 'gradient_tolerance')
    """

    def __init__(
        self,
        history: int = 10,
        max_iterations: int = 500,
        max_evaluations: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        line_search: str = "strong_wolfe",
    ) -> None:
        self.history: Final = count("LBFGS: history", history)
        self.max_iterations: Final = count("LBFGS: max_iterations", max_iterations)
        self.max_evaluations: Final = (
            None if max_evaluations is None else count("LBFGS: max_evaluations", max_evaluations)
        )
        self.tolerance_grad: Final = between("LBFGS: tolerance_grad", tolerance_grad, 0.0, math.inf)
        self.tolerance_change: Final = between("LBFGS: tolerance_change", tolerance_change, 0.0, math.inf)
        if line_search != "strong_wolfe":
            raise ValueError(f"LBFGS: line_search must be 'strong_wolfe', got {line_search!r}{errors.at_user_line()}")
        self.line_search: Final = line_search

    def __repr__(self) -> str:
        return f"LBFGS({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"

    @errors.hiding_library_frames
    def minimize(self, fun: Callable[..., Any], params: Any, *args: Any) -> tuple[Any, dict[str, Any]]:
        """Minimise ``fun(params, *args)`` over ``params``.

        The function is traced once and compiled together with its gradient.

        Args:
            fun: gives a rank-0 float array.
            params: a pytree of float arrays, where the search starts.
            args: further arguments, pytrees of arrays and numbers.

        Returns:
            The parameters with the least value, and a dict: the number of ``iterations`` and of ``evaluations``, the
            ``loss``, the greatest magnitude in the gradient ``grad_norm``, whether it ``converged``, and the ``reason``
            for stopping: ``"gradient_tolerance"``, ``"change_tolerance"``, ``"max_iterations"``,
            ``"max_evaluations"`` or ``"line_search_failed"``, which is what a rounding error of the size of any further
            decrease looks like, or a function that is not finite at the start.

        Raises:
            TypeError: parameters that are not float arrays; TracerError where ``fun`` cannot be traced, or where it or
                an argument uses a traced value.
            ValueError: a result that is not a rank-0 float array.

        Example:
            >>> squares = lambda p, target: qb.sum((p["x"] - target) ** 2)
            >>> params, info = qb.optim.LBFGS().minimize(squares, {"x": qb.zeros(2)}, qb.array([1.0, 2.0]))
            >>> params, info["converged"]
            ({'x': Tensor([1., 2.], dtype=float64)}, True)
        """
        check_callable(fun, "LBFGS.minimize")
        objective = _Objective(fun, params, args)
        with np.errstate(all="ignore"):
            x, info = self._run(objective)
        return objective.rebuild(x), info

    def _run(self, objective: _Objective) -> tuple[Vector, dict[str, Any]]:
        """The point with the least value, and what ``minimize`` tells about it."""
        allowed = math.inf if self.max_evaluations is None else self.max_evaluations
        pairs: deque[tuple[Vector, Vector, float]] = deque(maxlen=self.history)
        x = objective.start
        value, gradient = objective(x)
        iterations = 0
        reason = "line_search_failed"
        while math.isfinite(value):
            if _greatest(gradient) <= self.tolerance_grad:
                reason = "gradient_tolerance"
                break
            if iterations == self.max_iterations:
                reason = "max_iterations"
                break
            found = self._step(objective, x, value, gradient, pairs, allowed)
            if found is None and pairs and objective.evaluations < allowed:
                pairs.clear()  # the model of the curvature may be at fault: once more along the gradient
                found = self._step(objective, x, value, gradient, pairs, allowed)
            if found is None:
                reason = "max_evaluations" if objective.evaluations >= allowed else "line_search_failed"
                break
            iterations += 1
            new, new_value, new_gradient = found
            s, y = new - x, new_gradient - gradient
            product = float(s @ y)
            if product > CURVED * _length(s) * _length(y):
                pairs.append((s, y, 1.0 / product))
            change = abs(new_value - value)
            small = change <= self.tolerance_change * max(abs(new_value), abs(value))
            x, value, gradient = found
            if small and _greatest(gradient) > self.tolerance_grad:
                reason = "change_tolerance"
                break
            if objective.evaluations >= allowed and _greatest(gradient) > self.tolerance_grad:
                reason = "max_evaluations"
                break
        return x, {
            "iterations": iterations,
            "evaluations": objective.evaluations,
            "loss": value,
            "grad_norm": _greatest(gradient),
            "reason": reason,
            "converged": reason in ("gradient_tolerance", "change_tolerance"),
        }

    def _step(
        self,
        objective: _Objective,
        x: Vector,
        value: float,
        gradient: Vector,
        pairs: Sequence[tuple[Vector, Vector, float]],
        allowed: float,
    ) -> tuple[Vector, float, Vector] | None:
        """The next point, its value and gradient; None where the line search fails."""
        direction = _direction(gradient, pairs)
        slope = float(direction @ gradient)
        if not slope < 0.0:
            return None
        seen: dict[float, tuple[Vector, float, Vector]] = {}

        def along(step: float) -> tuple[float, float]:
            point = objective.rounded(x + step * direction)
            f, g = objective(point)
            seen[step] = point, f, g
            return f, float(direction @ g)

        left = allowed - objective.evaluations
        found = strong_wolfe(along, value, slope, 1.0, int(min(left, 2**31)))
        return None if found is None else seen[found.step]


class _Objective:
    """The function and its gradient on flat float64 vectors, as one compiled program.

    Attributes:
        start: the parameters as a vector.
        evaluations: how often the function was evaluated.
    """

    def __init__(self, fun: Callable[..., Any], params: Any, args: tuple[Any, ...]) -> None:
        leaves, self._treedef = float_leaves("LBFGS.minimize", "parameters", params)
        flat = Arguments((self._treedef.unflatten(leaves), *args))
        refuse_traced("LBFGS.minimize", "looks at values", flat.leaves)
        traced = trace(value_and_grad(fun), flat)
        refuse_traced("LBFGS.minimize", "looks at values", traced.graph.captures)
        graph = expanded(traced.graph)
        inputs = [x for x in flat.leaves if not isinstance(x, (int, float))] + list(graph.captures)
        self._program, numbers = kept_program(("LBFGS",), [graph.body()], [x.type for x in inputs], _emit)
        self._result: Final = traced.result
        self._types: Final = [x.type for x in leaves]
        self._rest: Final = [*(x.data for x in inputs[len(leaves) :]), *numbers]
        self._cuts: Final = np.cumsum([0, *(t.size for t in self._types)]).tolist()
        self._rounds: Final = any(t.dtype.numpy != np.float64 for t in self._types)
        self.start: Final[Vector] = _flat([x.data for x in leaves])
        self.evaluations = 0

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        """The value and the gradient at a point; infinite where either is not finite."""
        self.evaluations += 1
        value, grads = self._result.rebuild(self._program([*self._split(x), *self._rest]))
        gradient = _flat([g.data for g in self._treedef.flatten_up_to(grads)])
        f = value.item()
        return (f if math.isfinite(f) and np.isfinite(gradient).all() else math.inf), gradient

    def _split(self, x: Vector) -> list[Any]:
        """A vector as the arrays of the leaves."""
        cuts = zip(self._types, self._cuts, self._cuts[1:], strict=False)
        return [x[a:b].reshape(t.shape).astype(t.dtype.numpy, copy=False) for t, a, b in cuts]

    def rounded(self, x: Vector) -> Vector:
        """The point that the leaves' dtypes can represent."""
        return _flat(self._split(x)) if self._rounds else x

    def rebuild(self, x: Vector) -> Any:
        """A vector as parameters."""
        return self._treedef.unflatten([wrap(a, t) for a, t in zip(self._split(x), self._types, strict=True)])


def _emit(bodies: Sequence[Body], values: Sequence[Value]) -> list[Value]:
    return run(bodies[0], values)


def _direction(gradient: Vector, pairs: Sequence[tuple[Vector, Vector, float]]) -> Vector:
    """The direction of descent: minus the approximate inverse Hessian times the gradient.

    Without pairs it is minus the gradient, scaled to length 1: where a function is flat its gradient tells no length.
    """
    d = -gradient
    if not pairs:
        return d / _length(gradient)
    weights: list[float] = []
    for s, y, inverse in reversed(pairs):
        weights.append(inverse * float(s @ d))
        d -= weights[-1] * y
    s, y, _ = pairs[-1]
    d *= float(s @ y) / _length(y) / _length(y)
    for (s, y, inverse), weight in zip(pairs, reversed(weights), strict=True):
        d += (weight - inverse * float(y @ d)) * s
    return d


def _flat(arrays: Sequence[Any]) -> Vector:
    """Arrays as one float64 vector."""
    return np.concatenate([np.ravel(a) for a in arrays], dtype=np.float64) if arrays else np.zeros(0)


def _length(x: Vector) -> float:
    """The 2-norm, which does not overflow on the way."""
    scale = _greatest(x)
    return scale * float(np.linalg.norm(x / scale)) if scale else 0.0


def _greatest(x: Vector) -> float:
    """The greatest magnitude."""
    return float(np.abs(x).max(initial=0.0))
