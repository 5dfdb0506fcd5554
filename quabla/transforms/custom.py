"""``custom_vjp`` and ``custom_jvp``: functions whose derivatives the user writes.

Inside a trace such a function is a call: a region with the function's body, and a rule that takes the place of the
body's derivative. A rule traces the user's functions where a transform asks for them, so whatever is done to the
result later, batching and further derivatives included, is done to what the user wrote.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from quabla import errors, tree
from quabla.ops import dispatch
from quabla.ops.dispatch import Value, cast, full
from quabla.ops.rules import zeros
from quabla.ops.types import TensorType
from quabla.tracing import regions
from quabla.tracing.graph import Body, Graph, TraceTensor, build, current_graph
from quabla.tracing.trace import Arguments, ResultTree
from quabla.transforms.call_rules import Residuals, TangentRule, VjpRule
from quabla.transforms.forward import Tangent
from quabla.transforms.inline import inline
from quabla.transforms.staging import leaves_like, shown
from quabla.transforms.wrapper import Wrapper, check_callable, static_positions

__all__ = ["CustomJvp", "CustomVjp", "custom_jvp", "custom_vjp"]


class _Running(threading.local):
    """The functions whose rules are being traced in this thread."""

    def __init__(self) -> None:
        self.functions: list[CustomFunction] = []


_running: Final = _Running()


class Like:
    """Stands for an argument of a rule that is not traced yet: it has a type and no value."""

    __slots__ = ("type", "weak")

    traced = True

    def __init__(self, value: Any) -> None:
        self.type: TensorType = value.type
        self.weak: bool = value.weak


@errors.hides_library_frames_in_methods
class CustomFunction(Wrapper):
    """A function with a derivative of its own; what ``custom_vjp`` and ``custom_jvp`` share."""

    __slots__ = ("_nondiff",)

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int]) -> None:
        super().__init__(fun)
        self._nondiff = static_positions(f"{self.transform}: nondiff_argnums", nondiff_argnums)

    @property
    def fun(self) -> Callable[..., Any]:
        """The plain function."""
        return self._fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise TypeError(f"{self!r} takes positional arguments only, got {', '.join(kwargs)}")
        self._check_defined()
        split = Split(self, self._nondiff, args)
        if any(f is self for f in _running.functions):
            return self.fun(*args)
        if not dispatch.emitters.graphs:
            return self._checked_plain(self.fun(*args))
        try:
            flat = Arguments(split.differentiable, self)
        except TypeError as e:
            raise TypeError(f"{e}, or name them in nondiff_argnums") from None
        arrays = [x for x in flat.leaves if not isinstance(x, (int, float))]
        if not any(x.traced for x in arrays):
            result = self._checked_plain(self.fun(*args))
            self._check_closure("the function", [x for x in tree.leaves(result) if dispatch.is_value(x)])
            return result
        return self._call(split, flat, arrays)

    def _call(self, split: Split, flat: Arguments, arrays: list[Any]) -> Any:
        """Emit a call of the body with the rule."""
        kept: list[Any] = []

        def run(values: list[Value]) -> list[Value]:
            leaves, treedef = self.arrays_of("the function", self.fun(*split.merged(rebuilt(flat, values))))
            kept.append(treedef)
            return leaves

        graph = self.staged("the function", arrays, run)
        self._check_types([o.type for o in graph.outs])
        flat.leaves = [x if isinstance(x, (int, float)) else Like(x) for x in flat.leaves]
        (body,), captured = regions.closed([graph], len(arrays))
        results = regions.call(self._rule(Signature(split, flat, kept[0], body)), [*arrays, *captured], body)
        for r, o in zip(results, graph.outs, strict=True):
            r.weak = o.weak
        return results[0] if kept[0] is None else kept[0].unflatten(results)

    # ---- what the two kinds define -------------------------------------------------------------------

    def _check_defined(self) -> None:
        """Raise AttributeError where the rules are missing."""
        raise NotImplementedError

    def _checked_plain(self, result: Any) -> Any:
        """The result of the plain function, checked."""
        return result

    def _check_types(self, types: Sequence[TensorType]) -> None:
        """Raise TypeError for results of types that the rules cannot differentiate."""

    def _rule(self, signature: Signature) -> Any:
        raise NotImplementedError

    # ---- tracing ------------------------------------------------------------------------------------

    def staged(self, rule: str, like: Sequence[Any], fun: Callable[[list[Value]], Sequence[Any]]) -> Graph:
        """The graph of one of the user's functions, which may use no traced values but its arguments.

        Raises:
            TypeError: where it does.
        """

        def run(*values: TraceTensor) -> list[TraceTensor]:
            for v, x in zip(values, like, strict=True):
                v.weak = x.weak
            graph = current_graph()
            return [graph.lift(x) for x in fun(list(values))]

        try:
            graph = build([x.type for x in like], None, run)
        except errors.TracerError as e:
            hint = "" if rule == "the function" else "; a rule may use no traced values but its arguments and residuals"
            raise errors.TracerError(f"{self!r}: {rule}: {e}{hint}") from e
        self._check_closure(rule, graph.captures)
        return graph

    def _check_closure(self, rule: str, used: Any) -> None:
        for x in used:
            if x.traced:
                raise TypeError(
                    f"{self!r}: {rule} closes over a traced value of type {x.type}{errors.at(x.location)}; pass it "
                    f"as an argument{errors.at_user_line()}"
                )

    def in_rule(self, rule: str, like: Sequence[Any], fun: Callable[[list[Value]], Sequence[Any]]) -> Graph:
        """The graph of a rule, in which a call of this function is the plain function."""
        _running.functions.append(self)
        try:
            return self.staged(rule, like, fun)
        finally:
            _running.functions.pop()

    def arrays_of(self, rule: str, result: Any) -> tuple[list[Value], Any]:
        """The leaves of a result, numbers as arrays, and its structure; None for a single array.

        Raises:
            TypeError: for leaves that are not arrays.
        """
        single = dispatch.is_value(result) or dispatch.is_number(result)
        flat, treedef = ([result], None) if single else tree.flatten(result)
        for x in flat:
            if not _is_array(x):
                self.fail(rule, f"must return arrays, got {shown(x)}")
        return [dispatch.as_value(x) for x in flat], treedef

    def fail(self, rule: str, problem: str) -> NoReturn:
        """Raise TypeError for what a rule returned."""
        raise TypeError(f"{self!r}: {rule} {problem}{errors.at_user_line()}") from None

    def derivative(self, rule: str, what: str, x: Any, to: TensorType) -> Tangent:
        """A tangent or cotangent that a rule returned, checked against its type; None is a zero."""
        if x is None or not to.dtype.is_float:
            return None
        if not _is_array(x):
            self.fail(rule, f"returns {shown(x)} for {what}, which is {to}")
        if dispatch.is_number(x) and to.shape == ():
            return full(to, float(x))
        v = dispatch.as_value(x)
        if v.type.shape != to.shape or not (v.type.dtype is to.dtype or (v.weak and v.type.dtype.is_float)):
            self.fail(rule, f"returns {v.type} for {what}, which is {to}")
        return cast(v, to.dtype)


def _is_array(x: Any) -> bool:
    """Whether a leaf is an array or a number."""
    return dispatch.is_value(x) or dispatch.is_number(x) or isinstance(x, np.ndarray)


class Split:
    """The arguments of a call: the differentiable ones, and those that the rules get as they are.

    Raises:
        ValueError: a position that the call does not have.
        TypeError: a traced value in a position that is not differentiated.
    """

    __slots__ = ("_fixed", "differentiable", "nondiff", "positions")

    def __init__(self, function: CustomFunction, nums: Sequence[int], args: Sequence[Any]) -> None:
        self._fixed: dict[int, Any] = {}
        for i in nums:
            k = i + len(args) if i < 0 else i
            if not 0 <= k < len(args):
                raise ValueError(f"{function!r}: nondiff_argnums {i} is out of range for {len(args)} arguments")
            for x in tree.leaves(args[k]):
                if x.__class__ is TraceTensor:
                    raise TypeError(
                        f"{function!r}: argument {k} is in nondiff_argnums and must not be traced, got a traced value "
                        f"of type {x.type}{errors.at(x.location)}{errors.at_user_line()}"
                    )
            self._fixed[k] = args[k]
        self.nondiff = list(self._fixed.values())
        self.positions = [k for k in range(len(args)) if k not in self._fixed]
        self.differentiable: list[Any] = [args[k] for k in self.positions]

    def merged(self, differentiable: Sequence[Any]) -> list[Any]:
        """All arguments in order."""
        given = {**self._fixed, **dict(zip(self.positions, differentiable, strict=True))}
        return [given[k] for k in range(len(given))]


def rebuilt(args: Arguments, values: Sequence[Any]) -> list[Any]:
    """Arguments with values in the places of arrays; Python numbers stay."""
    rest = iter(values)
    return args.rebuild([x if isinstance(x, (int, float)) else next(rest) for x in args.leaves])


class Signature:
    """What one call's rule knows of the call.

    Attributes:
        split: the arguments that are not differentiated, and where the others stand.
        args: the differentiable arguments, with stand-ins for arrays.
        arrays: these stand-ins, in the order of the call's operands.
        treedef: the structure of the result; None for a single array.
        results: the types of its leaves.
    """

    __slots__ = ("args", "arrays", "results", "split", "treedef")

    def __init__(self, split: Split, args: Arguments, treedef: Any, body: Body) -> None:
        split.differentiable = []
        self.split = split
        self.args = args
        self.arrays: list[Any] = [x for x in args.leaves if not isinstance(x, (int, float))]
        self.treedef = treedef
        self.results: list[TensorType] = [o.type for o in body.outs]

    def structured(self, leaves: Sequence[Any]) -> Any:
        """The result with these leaves."""
        return leaves[0] if self.treedef is None else self.treedef.unflatten(leaves)

    def emit(self, graph: Graph, values: Sequence[Value]) -> list[Value]:
        """Emit a rule's graph at values into the graph under construction."""
        into = current_graph()
        body = graph.body()
        lifted = [into.lift(x) for x in (*values, *graph.captures)]
        return inline(body, dict(zip(body.args, lifted, strict=True)))


# ---- custom_vjp -------------------------------------------------------------------------------------


@errors.hides_library_frames_in_methods
class CustomVjp(CustomFunction):
    """A function whose reverse mode the user writes."""

    __slots__ = ("bwd", "fwd")

    transform = "custom_vjp"

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int]) -> None:
        super().__init__(fun, nondiff_argnums)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Define the derivative.

        Args:
            fwd: called with the function's arguments; returns ``(out, residuals)``, where ``out`` is what the function
                returns and ``residuals`` any pytree for ``bwd``.
            bwd: called as ``bwd(*nondiff, residuals, cotangent)`` with a cotangent of the result's structure; returns a
                tuple with a cotangent for each differentiable argument. None stands for zeros, for an argument or a
                leaf of one.

        Raises:
            TypeError: for rules that cannot be called.
        """
        check_callable(fwd, f"{self!r}.defvjp")
        check_callable(bwd, f"{self!r}.defvjp")
        self.fwd, self.bwd = fwd, bwd

    def _check_defined(self) -> None:
        if self.fwd is None:
            raise AttributeError(f"{self!r} has no rule yet: define it with defvjp{errors.at_user_line()}")

    def _checked_plain(self, result: Any) -> Any:
        self._check_types([x.type for x in tree.leaves(result) if dispatch.is_value(x)])
        return result

    def _check_types(self, types: Sequence[TensorType]) -> None:
        for t in types:
            if not t.dtype.is_float:
                raise TypeError(
                    f"{self!r}: the function returns {t}, which has no derivative; results must be float arrays"
                    f"{errors.at_user_line()}"
                )

    def _rule(self, signature: Signature) -> Any:
        return _UserVjp(self, signature)


class _UserVjp(VjpRule):
    """The rule of one call of a ``custom_vjp`` function."""

    __slots__ = ("_call", "_function")

    def __init__(self, function: CustomVjp, call: Signature) -> None:
        super().__init__(repr(function), len(call.arrays))
        self._function = function
        self._call = call

    def linearize(self, operands: Sequence[Value]) -> tuple[list[Value], Residuals]:
        f, call = self._function, self._call
        fwd, bwd = f.fwd, f.bwd
        assert fwd is not None
        assert bwd is not None
        kept: list[ResultTree] = []

        def forward(values: list[Value]) -> list[Value]:
            pair = fwd(*call.split.merged(rebuilt(call.args, values)))
            if not isinstance(pair, tuple) or len(pair) != 2:
                f.fail("fwd", f"must return a pair (out, residuals), got {shown(pair)}")
            outs, treedef = f.arrays_of("fwd", pair[0])
            if treedef != call.treedef:
                f.fail("fwd", f"returns an output of another structure than the function: {shown(pair[0])}")
            checked = [
                f.derivative("fwd", "an output of the function", x, t) for x, t in zip(outs, call.results, strict=True)
            ]
            kept.append(ResultTree(pair[1]))
            return [*checked, *kept[0].outputs]

        count = len(call.results)
        values = call.emit(f.in_rule("fwd", call.arrays, forward), operands[: self.count])
        return values[:count], Residuals(values[count:], lambda res, cts: self._backward(bwd, kept[0], res, cts))

    def _backward(
        self, bwd: Callable[..., Any], residuals: ResultTree, values: Sequence[Value], cts: Sequence[Value]
    ) -> list[Tangent]:
        f, call = self._function, self._call
        present: list[bool] = []

        def backward(inner: list[Value]) -> list[Value]:
            res, ct = inner[: len(values)], inner[len(values) :]
            given = bwd(*call.split.nondiff, residuals.rebuild(res), call.structured(ct))
            found = self._cotangents(given)
            present.extend(x is not None for x in found)
            return [x for x in found if x is not None]

        found = iter(call.emit(f.in_rule("bwd", [*values, *cts], backward), [*values, *cts]))
        return [next(found) if p else None for p in present]

    def _cotangents(self, given: Any) -> list[Tangent]:
        """The cotangent of each array among the arguments, from what ``bwd`` returned."""
        f, args = self._function, self._call.args
        if not isinstance(given, tuple):
            f.fail("bwd", f"must return a tuple with a cotangent for each argument, got {shown(given)}")
        if len(given) != len(args.spans):
            f.fail("bwd", f"returns {len(given)} cotangents for {len(args.spans)} differentiable arguments")
        out: list[Tangent] = []
        for i, (ct, treedef, span) in enumerate(zip(given, args.treedefs, args.spans, strict=True)):
            what = f"differentiable argument {i}"
            try:
                leaves = [None] * len(span) if ct is None else leaves_like(treedef, ct)
            except ValueError as e:
                f.fail("bwd", f"returns a cotangent of another structure for {what}: {e}")
            likes = [args.leaves[k] for k in span]
            out += [
                f.derivative("bwd", what, c, x.type) for c, x in zip(leaves, likes, strict=True) if isinstance(x, Like)
            ]
        return out


# ---- custom_jvp -------------------------------------------------------------------------------------


@errors.hides_library_frames_in_methods
class CustomJvp(CustomFunction):
    """A function whose forward mode the user writes."""

    __slots__ = ("rule",)

    transform = "custom_jvp"

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int]) -> None:
        super().__init__(fun, nondiff_argnums)
        self.rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Define the derivative.

        Args:
            rule: called as ``rule(*nondiff, primals, tangents)`` with tuples of the differentiable arguments and of their
                tangents; returns ``(out, tangent)``. The tangent must be linear in ``tangents``: reverse mode
                transposes it. Arguments that do not move have zero tangents, numbers too; bools and arrays that are
                no float arrays have None.

        Returns:
            ``rule``, so that this can be a decorator.

        Raises:
            TypeError: for a rule that cannot be called.
        """
        check_callable(rule, f"{self!r}.defjvp")
        self.rule = rule
        return rule

    def _check_defined(self) -> None:
        if self.rule is None:
            raise AttributeError(f"{self!r} has no rule yet: define it with defjvp{errors.at_user_line()}")

    def _rule(self, signature: Signature) -> Any:
        return _UserJvp(self, signature)


class _UserJvp(TangentRule):
    """The rule of one call of a ``custom_jvp`` function."""

    __slots__ = ("_call", "_function")

    def __init__(self, function: CustomJvp, call: Signature) -> None:
        super().__init__(repr(function), len(call.arrays))
        self._function = function
        self._call = call

    def tangent(self, operands: Sequence[Value], tangents: Sequence[Tangent]) -> list[Tangent]:
        f, call = self._function, self._call
        rule = f.rule
        assert rule is not None
        operands, tangents = operands[: self.count], tangents[: self.count]
        moving = [x.type.dtype.is_float and t is not None for x, t in zip(operands, tangents, strict=True)]
        directions = [t for t, m in zip(tangents, moving, strict=True) if m]
        present: list[bool] = []

        def run(values: list[Value]) -> list[Value]:
            primals, given = values[: self.count], iter(values[self.count :])
            moved = [
                next(given) if m else zeros(x.type) if x.type.dtype.is_float else None
                for x, m in zip(primals, moving, strict=True)
            ]
            rest = iter(moved)
            leaves = [
                next(rest) if isinstance(x, Like) else None if x.__class__ is bool else 0.0 for x in call.args.leaves
            ]
            pair = rule(*call.split.nondiff, tuple(rebuilt(call.args, primals)), tuple(call.args.rebuild(leaves)))
            if not isinstance(pair, tuple) or len(pair) != 2:
                f.fail("the rule", f"must return a pair (out, tangent), got {shown(pair)}")
            found = self._tangents(pair[1])
            present.extend(x is not None for x in found)
            return [x for x in found if x is not None]

        like = [*call.arrays, *(Like(t) for t in directions)]
        found = iter(call.emit(f.in_rule("the rule", like, run), [*operands, *directions]))
        return [next(found) if p else None for p in present]

    def _tangents(self, given: Any) -> list[Tangent]:
        """The tangent of each array in the result, from what the rule returned."""
        f, call = self._function, self._call
        try:
            leaves = [None] * len(call.results) if given is None else leaves_like(call.treedef, given)
        except ValueError as e:
            f.fail("the rule", f"returns a tangent of another structure than the result: {e}")
        return [f.derivative("the rule", "a result", x, t) for x, t in zip(leaves, call.results, strict=True)]


def custom_vjp(fun: Callable[..., Any] | None = None, nondiff_argnums: int | Sequence[int] = ()) -> Any:
    """A function with reverse-mode derivatives of the user's own.

    Args:
        fun: a function of arrays and pytrees whose results are float arrays. It may close over eager arrays, not over
            traced ones. Without it ``custom_vjp`` is a decorator: ``@qb.custom_vjp(nondiff_argnums=0)``.
        nondiff_argnums: positions of arguments that are not differentiated: functions or any other values that are not
            traced. The rules get them as they are.

    Returns:
        A function to be completed with ``defvjp(fwd, bwd)``: ``fwd`` takes the arguments and returns
        ``(out, residuals)``; ``bwd(*nondiff, residuals, cotangent)`` returns a tuple with a cotangent for each
        differentiable argument, None for zeros. The plain function is its attribute ``fun``; a call inside its own
        rules is a call of the plain function. Derivatives of higher order differentiate ``bwd``.

    Raises:
        TypeError: ``fun`` that cannot be called. Calls raise AttributeError before ``defvjp``, and TypeError for traced
            values that are not arguments and for rules that return what does not fit. Forward mode raises ValueError.

    Example:
        >>> import quabla as qb
        >>> @qb.custom_vjp
        ... def log1pexp(x):
        ...     return qb.log(1.0 + qb.exp(x))
        >>> log1pexp.defvjp(lambda x: (log1pexp(x), x), lambda x, ct: (ct * qb.sigmoid(x),))
        >>> qb.grad(log1pexp)(1000.0)
        Tensor(1., dtype=float64)
    """
    if fun is None:
        return lambda f: CustomVjp(f, nondiff_argnums)
    return CustomVjp(fun, nondiff_argnums)


def custom_jvp(fun: Callable[..., Any] | None = None, nondiff_argnums: int | Sequence[int] = ()) -> Any:
    """A function with forward-mode derivatives of the user's own; reverse mode transposes them.

    Args:
        fun: a function of arrays and pytrees. It may close over eager arrays, not over traced ones. Without it
            ``custom_jvp`` is a decorator: ``@qb.custom_jvp(nondiff_argnums=0)``.
        nondiff_argnums: positions of arguments that are not differentiated: functions or any other values that are not
            traced. The rule gets them as they are.

    Returns:
        A function to be completed with ``defjvp(rule)``: ``rule(*nondiff, primals, tangents)`` returns
        ``(out, tangent)`` with a tangent that is linear in ``tangents``. The value is always that of ``fun``. The plain
        function is its attribute ``fun``; a call inside its own rule is a call of the plain function.

    Raises:
        TypeError: ``fun`` that cannot be called. Calls raise AttributeError before ``defjvp``, and TypeError for traced
            values that are not arguments and for rules that return what does not fit. Reverse mode raises ValueError
            where the tangent is not linear.

    Example:
        >>> import quabla as qb
        >>> @qb.custom_jvp
        ... def length(x):
        ...     return qb.sqrt(qb.sum(x * x))
        >>> @length.defjvp
        ... def length_jvp(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return length(x), qb.sum(x * t) / length(x)
        >>> qb.grad(length)(qb.array([3.0, 4.0]))
        Tensor([0.6, 0.8], dtype=float64)
    """
    if fun is None:
        return lambda f: CustomJvp(f, nondiff_argnums)
    return CustomJvp(fun, nondiff_argnums)
