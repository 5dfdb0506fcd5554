"""``odeint``: the public function, its checks, and how it runs eagerly and traced."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import errors, tree
from quabla.ode import fixed
from quabla.ode.adaptive import Outcome, integrate
from quabla.ode.explicit import Explicit
from quabla.ode.radau import Radau
from quabla.ode.rosenbrock import Rosenbrock23
from quabla.ode.stepping import Stepper, Tolerance
from quabla.ode.system import Evaluate, Function, State, System, emitted
from quabla.ode.tableaus import FIXED, PAIRS
from quabla.ops import dispatch
from quabla.ops.dispatch import Value, as_value, cast, full
from quabla.ops.elementwise import where
from quabla.tracing.graph import Body
from quabla.tracing.trace import array_leaf
from quabla.transforms.programs import run_cached
from quabla.transforms.wrapper import check_callable

__all__ = ["odeint"]

#: What makes the stepper of an adaptive method; those that solve linear systems want the state as a vector.
ADAPTIVE: Final[dict[str, Callable[[Tolerance], Stepper]]] = {
    "dopri5": lambda tolerance: Explicit(PAIRS["dopri5"]),
    "tsit5": lambda tolerance: Explicit(PAIRS["tsit5"]),
    "rosenbrock23": lambda tolerance: Rosenbrock23(),
    "radau": Radau,
}
STIFF: Final = ("rosenbrock23", "radau")


class Settings:
    """The options of one call, checked.

    Raises:
        TypeError: ``steps`` missing or not an int, ``steps`` for an adaptive method, numbers that are not.
        ValueError: an unknown method, options that do not go together, numbers out of range.
    """

    def __init__(
        self, steps: Any, method: Any, save: Any, saveat: Any, rtol: Any, atol: Any, max_steps: Any, info: Any
    ) -> None:
        if not isinstance(method, str) or (method not in FIXED and method not in ADAPTIVE):
            _fail(ValueError, f"method must be one of {', '.join(map(repr, (*FIXED, *ADAPTIVE)))}, got {method!r}")
        self.method: str = method
        self.adaptive = method in ADAPTIVE
        self.save, self.info = bool(save), bool(info)
        if self.adaptive:
            if steps is not None:
                _fail(TypeError, f"{method} chooses its own steps; steps is for {', '.join(FIXED)}")
            if self.save:
                _fail(ValueError, f"save=True is for {', '.join(FIXED)}; give {method} the times as saveat")
        else:
            if steps is None:
                _fail(
                    TypeError,
                    f"{method} needs steps, the number of steps; the methods {', '.join(ADAPTIVE)} choose their own",
                )
            if self.info:
                _fail(ValueError, f"info=True is for the adaptive methods {', '.join(ADAPTIVE)}, not {method}")
        if self.save and saveat is not None:
            _fail(ValueError, "save and saveat exclude each other")
        self.steps = 1 if steps is None else _count("steps", steps)
        self.max_steps = _count("max_steps", max_steps)
        self.tolerance = Tolerance(_tolerance("rtol", rtol), _tolerance("atol", atol))
        if self.tolerance == (0.0, 0.0):
            _fail(ValueError, "rtol and atol must not both be 0")

    def key(self) -> tuple[Any, ...]:
        """All that a program depends on."""
        return self.method, self.steps, self.save, self.max_steps, self.tolerance


def _fail(kind: type[Exception], message: str) -> Any:
    raise kind(f"odeint: {message}{errors.at_user_line()}")


def _count(name: str, n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        _fail(TypeError, f"{name} must be an int, got {n!r}")
    if n < 1:
        _fail(ValueError, f"{name} must be at least 1, got {n}")
    return int(n)


def _tolerance(name: str, x: Any) -> float:
    if isinstance(x, bool) or not isinstance(x, (int, float, np.floating, np.integer)):
        _fail(TypeError, f"{name} must be a number, got {x!r}")
    if not (math.isfinite(x) and x >= 0.0):
        _fail(ValueError, f"{name} must be finite and not negative, got {x!r}")
    return float(x)


def odeint(
    f: Callable[..., Any],
    y0: Any,
    t_span: tuple[Any, Any],
    *,
    steps: int | None = None,
    method: str = "rk4",
    args: Sequence[Any] = (),
    save: bool = False,
    saveat: Any = None,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    max_steps: int = 512,
    info: bool = False,
) -> Any:
    """The solution of the initial value problem ``y' = f(y, t, *args)``, ``y(t0) = y0``.

    Args:
        f: the right-hand side; returns the structure of ``y0``, each array of a shape that broadcasts to the state's.
            ``t`` is a rank-0 array of the state's dtype.
        y0: the first state: a float array, a number, or a pytree of them, of one dtype.
        t_span: the pair ``(t0, t1)``, numbers or rank-0 arrays; ``t1`` may come before ``t0``.
        steps: the number of steps of a fixed-step method.
        method: ``"rk4"`` (the default), ``"heun"`` or ``"euler"`` with fixed steps; adaptive are ``"dopri5"``,
            ``"tsit5"``, and for stiff systems ``"rosenbrock23"`` and ``"radau"``.
        args: further arguments for ``f``, arrays and pytrees. What ``f`` closes over is differentiated alike.
        save: return the states at the ends of all steps too; fixed steps only.
        saveat: times in the order of integration, ``[m]``, inside the span; the states there are returned. Traced
            times cannot be checked; those outside the span have NaN.
        rtol, atol: an adaptive step is accepted if the root mean square of its estimated error in units of
            ``atol + rtol * max(|y|, |y_new|)`` is at most 1.
        max_steps: the largest number of trial steps of an adaptive method.
        info: return also how the integration went; adaptive methods only.

    Returns:
        The state at ``t1``; with ``save`` the states ``[steps + 1, ...]`` and with ``saveat`` those at its times
        ``[m, ...]``. With ``info`` a pair of this and a dict of rank-0 arrays: ``t``, the time reached,
        ``accepted_steps``, ``rejected_steps`` and ``success``; without success the state is that at ``t``, and times
        after it have NaN.

    Raises:
        TypeError: options of a wrong type, ``steps`` missing, ``t_span`` that is not a pair, ``f`` returning another
            structure.
        TracerError: a stiff method whose ``f`` needs the values of its arguments.
        ValueError: options that do not go together or are out of range, arrays of different dtypes, ends of the span
            that are not finite, times that are not in order or not inside the span.
        RuntimeError: eagerly, where ``t1`` is not reached within ``max_steps`` and ``info`` is not asked for. Traced
            solves without ``info`` give NaN instead.

    Example:
        >>> import quabla as qb
        >>> qb.ode.odeint(lambda y, t: -y, 1.0, (0.0, 1.0), steps=100)
        Tensor(0.36787944, dtype=float64)
        >>> qb.grad(lambda k: qb.ode.odeint(lambda y, t: -k * y, 1.0, (0.0, 1.0), method="dopri5"))(1.0)
        Tensor(-0.36787942, dtype=float64)
    """
    try:
        check_callable(f, "odeint")
        settings = Settings(steps, method, save, saveat, rtol, atol, max_steps, info)
        return Problem(f, y0, t_span, args, saveat, settings).solve()
    except Exception as e:
        errors.hide_library_frames(e)
        raise


class Problem:
    """One call's arrays and functions."""

    def __init__(self, f: Callable[..., Any], y0: Any, t_span: Any, args: Any, saveat: Any, settings: Settings) -> None:
        if isinstance(t_span, np.ndarray) and t_span.shape == (2,):
            t_span = tuple(t_span.tolist())
        if not isinstance(t_span, (tuple, list)) or len(t_span) != 2:
            _fail(TypeError, f"t_span must be a pair (t0, t1), got {t_span!r}")
        if not isinstance(args, (tuple, list)):
            _fail(TypeError, f"args must be a tuple of arguments for f, got {type(args).__name__}; write (x,) for one")
        if isinstance(y0, list) and _is_nested_numbers(y0):
            y0 = as_value(y0)
        self._f = f
        self._settings = settings
        self._state = State(y0, vector=settings.method in STIFF)
        state = self._state
        leaves = [_as(x, t.dtype, "y0") for x, t in zip(tree.leaves(y0), state.types, strict=True)]
        t0, t1 = (self._time(name, x) for name, x in zip(("t0", "t1"), t_span, strict=True))
        times = [] if saveat is None else [self._times(saveat, t0, t1)]
        # The arrays among the arguments are inputs of the program; other objects go to f as they are.
        flat, self._args = tree.flatten(list(args))
        self._flat = [array_leaf(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in flat]
        self._which = [k for k, x in enumerate(self._flat) if dispatch.is_value(x)]
        self._inputs = [*leaves, t0, t1, *times]
        self._arrays = [self._flat[k] for k in self._which]
        self._has_times = bool(times)

    def _time(self, name: str, x: Any) -> Value:
        v = _as(x, self._state.dtype, name)
        if v.type.shape:
            _fail(ValueError, f"{name} must be a number or a rank-0 array, got {v.type}")
        if not v.traced and not math.isfinite(v.data.item()):
            _fail(ValueError, f"{name} of t_span must be finite, got {v.data.item()}")
        return v

    def _times(self, saveat: Any, t0: Value, t1: Value) -> Value:
        v = _as(saveat, self._state.dtype, "saveat")
        if v.type.ndim != 1:
            _fail(ValueError, f"saveat must be a vector of times, got {v.type}")
        if not any(x.traced for x in (v, t0, t1)):
            a, b = t0.data.item(), t1.data.item()
            ts = v.data if b >= a else -v.data
            if not (np.diff(ts) >= 0.0).all():
                _fail(ValueError, f"saveat must be in order from t0 to t1, got {v.data.tolist()}")
            if ts.size and not (ts[0] >= min(a, -a if b < a else a) and ts[-1] <= (b if b >= a else -b)):
                _fail(ValueError, f"saveat must lie between t0 = {a} and t1 = {b}, got {v.data.tolist()}")
        return v

    def solve(self) -> Any:
        """The answer, eagerly at once, else as part of the trace around."""
        tracing = bool(dispatch.emitters.graphs)
        try:
            function = Function(self._evaluate, self._state, self._arrays)
        except errors.TracerError as e:
            if self._settings.method in STIFF:
                raise errors.TracerError(
                    f"odeint: {self._settings.method} takes the derivative of f, so f must be traceable: {e}"
                ) from e
            if tracing:
                raise
            function = None
        if function is None:
            # An f that looks at values, as in a Python if, is called for every step.
            return self._answer(self._run(self._inputs, self._evaluate, self._arrays, final=True), traced=False)
        arrays = [*self._arrays, *function.captured]
        if tracing:
            return self._answer(self._run(self._inputs, function, arrays, final=False), traced=True)
        count = len(self._inputs)

        def emit(bodies: Sequence[Body], values: Sequence[Value]) -> Any:
            return self._run(values[:count], functools.partial(emitted, bodies[0]), values[count:], final=True)

        key = ("odeint", self._settings.key(), self._has_times, self._state.type, tuple(self._state.types))
        return self._answer(run_cached(key, [function.body], [*self._inputs, *arrays], emit), traced=False)

    def _evaluate(self, leaves: Sequence[Value], t: Value, arrays: Sequence[Value]) -> list[Value]:
        """Call the user's function."""
        flat = list(self._flat)
        for k, x in zip(self._which, arrays, strict=True):
            flat[k] = x
        return self._state.result(
            self._f(self._state.treedef.unflatten(leaves), t, *self._args.unflatten(flat)), self._f
        )

    def _run(self, inputs: Sequence[Value], evaluate: Evaluate, arrays: Sequence[Value], *, final: bool) -> Any:
        """The solution: the packed states asked for, or an ``Outcome``."""
        state, settings = self._state, self._settings
        count = len(state.types)
        y0 = state.pack(inputs[:count])
        t0, t1, *rest = inputs[count:]
        times = rest[0] if self._has_times else None
        system = System(state, evaluate, arrays)
        if settings.adaptive:
            stepper = ADAPTIVE[settings.method](settings.tolerance)
            return integrate(system, stepper, settings.tolerance, y0, t0, t1, times, settings.max_steps, final=final)
        method = FIXED[settings.method]
        if times is not None:
            return fixed.sampled(system, method, y0, t0, t1, settings.steps, times)
        solve = fixed.trajectory if settings.save else fixed.final
        return solve(system, method, y0, t0, t1, settings.steps)

    def _answer(self, solved: Any, *, traced: bool) -> Any:
        state, settings = self._state, self._settings
        if not isinstance(solved, Outcome):
            return state.rebuild(solved)
        y = solved.y if solved.rows is None else solved.rows
        if settings.info:
            return state.rebuild(y), {
                "t": solved.t,
                "accepted_steps": solved.accepted,
                "rejected_steps": solved.rejected,
                "success": solved.success,
            }
        if traced:
            # A product, so that derivatives are NaN too where t1 is not reached; a selection would make them 0.
            return state.rebuild(
                y * where(solved.success, *(full(y.type.with_shape(()), x) for x in (1.0, float("nan"))))
            )
        if not solved.success.item():
            raise RuntimeError(f"odeint: {settings.method} {_failure(solved, settings)}{errors.at_user_line()}")
        return state.rebuild(y)


def _failure(outcome: Outcome, settings: Settings) -> str:
    """Why t1 was not reached, and what may help."""
    t, h, error, rejected = (x.item() for x in (outcome.t, outcome.h, outcome.error, outcome.rejected))
    if not math.isfinite(h):
        return f"cannot start: the state or f is not finite at t = {t:g}"
    tried = int(rejected + outcome.accepted.item())
    stuck = tried < settings.max_steps
    end = "; a smaller one would not change the time. The solution may have a singularity there" if stuck else ""
    advice = [] if stuck else ["raise max_steps"]
    if settings.tolerance.atol == 0.0:
        advice.append("give an atol above 0, without which a component at 0 may have no error")
    advice.append("loosen rtol and atol")
    if settings.method not in STIFF:
        advice.append("use a stiff method")
    return (
        f"reached t = {t:g} instead of t1 in {tried} trial steps, {int(rejected)} of them rejected; the last one was "
        f"of size {h:.3g}, its error {error:.3g} times the tolerance{end}. To get further, {', or '.join(advice)}; "
        "info=True returns what there is"
    )


def _is_nested_numbers(x: Any) -> bool:
    """Whether nested lists hold numbers alone, and so stand for one array."""
    if isinstance(x, (list, tuple)):
        return bool(x) and all(map(_is_nested_numbers, x))
    return isinstance(x, (int, float, np.generic))


def _as(x: Any, to: Any, name: str) -> Value:
    """An array-like as a value of the state's dtype; numbers and weak values are converted.

    Raises:
        TypeError: what is no array.
        ValueError: another float dtype.
    """
    number = isinstance(x, (int, float, list, tuple))
    try:
        v = as_value(x)
    except TypeError as e:
        raise TypeError(f"odeint: {name}{' of t_span' if name in ('t0', 't1') else ''}: {e}") from e
    if v.type.dtype is to:
        return v
    if v.type.dtype.is_float and not (v.weak or number):
        _fail(ValueError, f"{name} is {v.type} where the state is {to}; convert one with astype")
    return cast(v, to)
