"""Control flow: ``cond``, ``fori_loop``, ``scan`` and ``while_loop``.

Eagerly these are Python's own ``if`` and loops. Inside a trace they become ops with regions, whose functions see
traced values; what such a function uses from outside is captured by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quabla import dtypes, errors, tree
from quabla.functions.shape import stack
from quabla.ops import dispatch
from quabla.ops.control import PUT, TAKE
from quabla.ops.dispatch import Value, apply, cast, full
from quabla.ops.eager import wrap
from quabla.ops.elementwise import COMPARE, WHERE
from quabla.ops.rules import zeros
from quabla.ops.shaping import RESHAPE
from quabla.ops.types import TensorType, tensor_type
from quabla.tracing import regions
from quabla.tracing.graph import ARGUMENT, RESULT, Graph, TraceTensor, current_graph
from quabla.tracing.trace import array_leaf
from quabla.transforms.staging import shown
from quabla.transforms.wrapper import check_callable

__all__ = ["cond", "fori_loop", "scan", "while_loop"]


class Carry:
    """A pytree of values that a loop carries.

    Attributes:
        leaves: the values; Python numbers are converted.
        treedef: the structure.
        body: the loop's body, for messages.
        what: what messages call the pytree.
    """

    __slots__ = ("body", "leaves", "name", "treedef", "what")

    def __init__(self, name: str, value: Any, body: Any, what: str = "carry") -> None:
        flat, self.treedef = tree.flatten_args(value)
        self.name = name
        self.body = body
        self.what = what
        self.leaves = [strong(as_array(x, f"{name}: the {what}")) for x in flat]

    def dtype(self) -> dtypes.dtype:
        """The dtype of the loop's counter: that of the first float leaf, else of the first int one."""
        found = [x.type.dtype for x in self.leaves]
        return next((d for d in (*[d for d in found if d.is_float], *found) if not d.is_bool), dtypes.float64)

    def rebuild(self, leaves: Sequence[Any]) -> Any:
        """The pytree with other leaves."""
        return self.treedef.unflatten(leaves)

    def next(self, value: Any) -> list[Value]:
        """The leaves of what the body returned, which must have the same structure and types.

        Raises:
            TypeError, ValueError: naming the leaf, both types and the user's line.
        """
        flat, treedef = tree.flatten(value)
        if treedef != self.treedef:
            raise TypeError(
                f"{self.name}: the body must return a {self.what} of the structure {self.treedef}, got {treedef}"
                f"{at_body(self.body)}"
            )
        out = []
        for k, (was, x) in enumerate(zip(self.leaves, flat, strict=True)):
            x = like(x, was, f"{self.name}: the {self.what} that the body returns")
            if x.type is not was.type:
                where = leaf_name(self.treedef, k)
                made = errors.at(x.location) if x.traced else ""
                raise ValueError(
                    f"{self.name}: the {self.what}{where} is {was.type}, but the body returns {x.type}"
                    f"{made or at_body(self.body)}"
                )
            out.append(strong(x))
        return out


def leaf_name(treedef: Any, k: int) -> str:
    """Where a leaf of a pytree stands, for a message."""
    path = "/".join(map(str, treedef.paths()[k]))
    return f" at {path}" if path else ""


def at_body(body: Any) -> str:
    """The line where a body is defined, as the tail of a message."""
    code = getattr(body, "__code__", None)
    if code is None or errors.is_library_file(code.co_filename):
        return errors.at_user_line()
    return errors.at((code.co_filename, code.co_firstlineno))


def strong(x: Value) -> Value:
    """A carry: its dtype no longer gives way, as that of a region's argument does not."""
    if not x.weak:
        return x
    if not x.traced:
        return wrap(x.data, x.type)
    return x if x.op is ARGUMENT or x.op is RESULT else x.graph.emit(x.op, x.operands, x.params)


def as_array(x: Any, what: str) -> Value:
    """A leaf as a value; Python numbers become float64 (bool: bool_) scalars."""
    x = array_leaf(x, what)
    return dispatch.hooks.eager.asarray(x) if isinstance(x, (int, float)) else x


def like(x: Any, other: Value, what: str) -> Value:
    """A result as a value; Python numbers and weak values take the dtype of ``other``."""
    x = array_leaf(x, what)
    to = other.type.dtype
    if isinstance(x, (int, float)):
        if to.is_int and isinstance(x, float):
            return dispatch.hooks.eager.asarray(x)
        return full(tensor_type((), to), x)
    return cast(x, to) if x.weak and gives_way(x.type.dtype, to) else x


def gives_way(weak: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Whether a weak value of one dtype can become one of another without loss: not a float an int, nor ints bools."""
    return (to.is_float and not weak.is_bool) or (to.is_int and weak.is_int)


def counter(i: Value, carry: Carry) -> Value:
    """A loop's counter in the dtype of the carry; weak, so that it goes with any float array."""
    i = cast(i, carry.dtype())
    i.weak = True
    return i


def static_bound(name: str, what: str, n: object, least: int = 0) -> int:
    """A static count.

    Raises:
        TypeError: for anything but an int.
        ValueError: for one below ``least``.
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        if isinstance(n, TraceTensor):
            raise TypeError(
                f"{name}: {what} must be a static int, got {n.described()}, whose value is not known while tracing"
                f"{errors.at_user_line()}; make the argument static (static_argnums of quabla.jit), or use while_loop"
            )
        raise TypeError(f"{name}: {what} must be a static int, got {n!r}{errors.at_user_line()}")
    if n < least:
        wanted = f"be at least {least}" if least else "not be negative"
        raise ValueError(f"{name}: {what} must {wanted}, got {n}{errors.at_user_line()}")
    return int(n)


def checked_operands(name: str, operands: Any) -> Sequence[Any]:
    """Further arguments of a loop's functions.

    Raises:
        TypeError: for anything but a tuple or list, such as an array, which would be taken apart.
    """
    if not isinstance(operands, (tuple, list)):
        raise TypeError(f"{name}: operands must be a tuple or a list, got {shown(operands)}")
    return operands


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """One of two functions, chosen by a predicate.

    Args:
        pred: a bool, a number, or an array of one element; it counts as True where it is not 0.
        true_fun: called with the operands where the predicate holds.
        false_fun: called where it does not. While tracing both are traced, and both must return the same structure
            of arrays of the same shapes and dtypes; Python numbers take the other branch's dtype.
        operands: arguments for the functions, pytrees of arrays.

    Returns:
        What the chosen function returns.

    Raises:
        ValueError: a predicate of more than one element, or branches whose results differ in shape or dtype.
        TypeError: branches whose results differ in structure.

    Example:
        >>> import quabla as qb
        >>> qb.jit(lambda x: qb.cond(x > 0.0, qb.sqrt, lambda v: -v, x))(qb.array(4.0))
        Tensor(2., dtype=float64)
    """
    check_callable(true_fun, "cond: true_fun")
    check_callable(false_fun, "cond: false_fun")
    if not dispatch.is_value(pred):
        pred = array_leaf(pred, "cond: the predicate")
    if isinstance(pred, (int, float)):
        return true_fun(*operands) if pred else false_fun(*operands)
    if pred.type.size != 1:
        raise ValueError(f"cond: the predicate must have one element, got {pred.type}{errors.at_user_line()}")
    if not pred.traced:
        return true_fun(*operands) if pred.data.item() else false_fun(*operands)
    if not pred.type.dtype.is_bool:
        pred = apply(COMPARE, (pred, zeros(pred.type)), ("not_equal",))
    if pred.type.shape:
        pred = apply(RESHAPE, (pred,), ((),))
    graphs = [Graph(), Graph()]
    results = []
    for graph, fun in zip(graphs, (true_fun, false_fun), strict=True):
        with graph:
            flat, treedef = tree.flatten(fun(*operands))
            results.append(([array_leaf(x, "cond: a result of a branch") for x in flat], treedef))
    types = _common_types(*results)
    for graph, (leaves, _) in zip(graphs, results, strict=True):
        with graph:
            graph.finish([_as_type(x, t) for x, t in zip(leaves, types, strict=True)])
    return results[0][1].unflatten(regions.choice(pred, graphs))


def _common_types(first: tuple[list[Any], Any], second: tuple[list[Any], Any]) -> list[TensorType]:
    """The types on which both branches agree; Python numbers and weak values give way.

    Raises:
        TypeError, ValueError: where they differ.
    """
    if first[1] != second[1]:
        raise TypeError(
            f"cond: the branches must return the same structure, but true_fun returns {first[1]} and false_fun "
            f"{second[1]}{errors.at_user_line()}"
        )
    types = []
    for k, (a, b) in enumerate(zip(first[0], second[0], strict=True)):
        t, u = _wanted(a, b), _wanted(b, a)
        if t is not u:
            raise ValueError(
                f"cond: the branches must return the same shapes and dtypes, but true_fun returns {t} and false_fun {u}"
                f"{leaf_name(first[1], k)}{errors.at_user_line()}"
            )
        types.append(t)
    return types


def _wanted(x: Any, other: Any) -> TensorType:
    """The type of a branch's result: a number or weak value takes the dtype of the other branch's."""
    number = x
    x = as_array(x, "cond: a result of a branch")
    if isinstance(other, (int, float)) or other.weak:
        return x.type
    to = other.type.dtype
    # A bool counts as 0 or 1, but a number is not a bool.
    if isinstance(number, (int, float)):
        adopts = to.is_float or (to.is_int and isinstance(number, int))
    else:
        adopts = number.weak and (to.is_float or gives_way(x.type.dtype, to))
    return tensor_type(x.type.shape, to) if adopts else x.type


def _as_type(x: Any, t: TensorType) -> Value:
    """A branch's result with the common type."""
    return full(t, x) if isinstance(x, (int, float)) else cast(x, t.dtype)


def fori_loop(
    lower: int,
    upper: int,
    body_fun: Callable[..., Any],
    init_val: Any,
    *,
    operands: Sequence[Any] = (),
    unroll: bool = False,
) -> Any:
    """A loop over a range of integers.

    Args:
        lower: the first value of the counter, a static non-negative int.
        upper: where the counter stops; at least ``lower``.
        body_fun: ``body_fun(i, carry, *operands) -> carry``. Eagerly and unrolled ``i`` is an int; in a trace it is a
            rank-0 array of the carry's dtype, which can index arrays.
        init_val: the first carry, a pytree of arrays and numbers. The body keeps its structure, shapes and dtypes.
        operands: further arguments for the body. What the body uses from outside is captured anyway.
        unroll: trace every iteration on its own instead of a loop.

    Returns:
        The last carry.

    Raises:
        TypeError: bounds that are not static ints, or a carry that changes its structure.
        ValueError: negative bounds, ``upper`` below ``lower``, or a carry that changes its shape or dtype.

    Example:
        >>> import quabla as qb
        >>> qb.fori_loop(0, 3, lambda i, c: c * 2.0, qb.array(1.0))
        Tensor(8., dtype=float64)
    """
    first, last = static_bound("fori_loop", "lower", lower), static_bound("fori_loop", "upper", upper)
    if last < first:
        raise ValueError(f"fori_loop: upper {last} is below lower {first}{errors.at_user_line()}")
    check_callable(body_fun, "fori_loop: body_fun")
    operands = checked_operands("fori_loop", operands)
    carry = Carry("fori_loop", init_val, body_fun)
    if unroll or not dispatch.emitters.graphs:
        now = carry.rebuild(carry.leaves)
        for i in range(first, last):
            now = carry.rebuild(carry.next(body_fun(i, now, *operands)))
        return now

    def step(i: Value, leaves: list[Value]) -> list[Value]:
        return carry.next(body_fun(counter(i, carry), carry.rebuild(leaves), *operands))

    return carry.rebuild(regions.fori(first, last, carry.leaves, step))


def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    *,
    length: int | None = None,
    operands: Sequence[Any] = (),
    unroll: bool = False,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """A loop that also stacks a result of every iteration.

    Args:
        f: ``f(carry, i, *operands) -> (carry, y)``, where i counts the iterations; with ``xs``,
            ``f(carry, x, *operands) -> (carry, y)``.
        init: the first carry, a pytree.
        xs: a pytree of arrays with a common first extent; x is the pytree of their rows.
        length: the number of iterations, a static positive int; with ``xs`` it is their extent.
        operands: further arguments for ``f``.
        unroll: trace every iteration on its own.
        reverse: go from the last row, or number, to the first; each ``y`` stays beside its own.

    Returns:
        The last carry, and the pytree of the ``y`` stacked along a new first axis.

    Raises:
        TypeError: neither ``xs`` nor a length, a length that is not a static int, or a body that does not return a pair.
        ValueError: a length below 1, ``xs`` of rank 0 or of several extents, or a carry or ``y`` that changes its shape
            or dtype.

    Example:
        >>> import quabla as qb
        >>> qb.scan(lambda c, i: (c + 1.0, c * c), 0.0, length=3)
        (Tensor(3., dtype=float64), Tensor([0., 1., 4.], dtype=float64))
        >>> qb.scan(lambda c, x: (c + x, c + x), 0.0, qb.array([1.0, 2.0, 3.0]))
        (Tensor(6., dtype=float64), Tensor([1., 3., 6.], dtype=float64))
    """
    rows, structure = tree.flatten_args(xs)
    rows = [as_array(x, "scan: xs") for x in rows]
    count = _scan_length(rows, length)
    check_callable(f, "scan: f")
    operands = checked_operands("scan", operands)
    carry = Carry("scan", init, f)

    def element(i: Any) -> Any:
        return structure.unflatten([apply(TAKE, (x, as_array(i, "scan")), (0,)) for x in rows]) if rows else i

    if unroll or not dispatch.emitters.graphs:
        now: Any = carry.rebuild(carry.leaves)
        made: list[Any] = []
        for i in range(count)[:: -1 if reverse else 1]:
            now, y = _pair(f(now, element(i), *operands), f)
            now = carry.rebuild(carry.next(now))
            made.append(_row(y, carry, f))
        made = made[:: -1 if reverse else 1]
        ys = [stack([made[0].next(row.rebuild(row.leaves))[k] for row in made]) for k in range(len(made[0].leaves))]
        return now, made[0].rebuild(ys)
    graph = Graph([regions.INDEX, *(x.type for x in carry.leaves)])
    with graph:
        i, *leaves = graph.args
        if reverse:
            i = float(count - 1) - i
        now, y = _pair(f(carry.rebuild(leaves), element(i) if rows else counter(i, carry), *operands), f)
        following = carry.next(now)
        row = _row(y, carry, f)
        # What y looks like decides the buffers, which the loop carries beside its own carry.
        types = [x.type.with_shape((count, *x.type.shape)) for x in row.leaves]
        buffers = [graph.argument(t) for t in types]
        graph.finish([*following, *(apply(PUT, (b, x, i), (0,)) for b, x in zip(buffers, row.leaves, strict=True))])
    outer = current_graph()
    outs = regions.loop(0, count, [*map(outer.lift, carry.leaves), *map(zeros, types)], graph)
    size = len(carry.leaves)
    return carry.rebuild(outs[:size]), row.rebuild(outs[size:])


def _scan_length(rows: Sequence[Value], length: int | None) -> int:
    """The number of iterations that ``xs`` and ``length`` ask for."""
    if any(x.type.ndim == 0 for x in rows):
        raise ValueError(f"scan: xs must have a first axis to go along, got an array of rank 0{errors.at_user_line()}")
    extents = {x.type.shape[0] for x in rows}
    if length is not None:
        extents.add(static_bound("scan", "length", length))
    if not extents:
        raise TypeError(f"scan: needs xs or a length{errors.at_user_line()}")
    if len(extents) > 1:
        raise ValueError(
            f"scan: xs and length must agree, got arrays of shapes {[list(x.type.shape) for x in rows]} and length={length}"
            f"{errors.at_user_line()}"
        )
    (count,) = extents
    if count < 1:
        raise ValueError(f"scan: length must be at least 1, got {count}{errors.at_user_line()}")
    return count


def _pair(result: Any, body: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"scan: the body must return a pair (carry, y), got {type(result).__name__}{at_body(body)}")
    return result


def _row(y: Any, carry: Carry, body: Any) -> Carry:
    """What one iteration stacks; numbers and weak values, such as the counter, take the counter's dtype."""
    to = carry.dtype()
    leaves, treedef = tree.flatten_args(y)
    return Carry("scan", treedef.unflatten([_weakly_as(x, to) for x in leaves]), body, "y")


def _weakly_as(x: Any, to: dtypes.dtype) -> Any:
    if isinstance(x, bool) or (dispatch.is_value(x) and not (x.weak and gives_way(x.type.dtype, to))):
        return x
    x = as_array(x, "scan: the y")
    return cast(x, to) if gives_way(x.type.dtype, to) else x


def while_loop(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    init_val: Any,
    *,
    operands: Sequence[Any] = (),
    max_steps: int | None = None,
) -> Any:
    """A loop that runs as long as a predicate holds.

    Reverse mode has to know how often a loop may run: with ``max_steps`` it keeps up to that many carries, or those at
    the start of blocks, as for ``fori_loop``, and the loop has derivatives of every order in both modes.

    Args:
        cond_fun: ``cond_fun(carry, *operands)``, a rank-0 bool.
        body_fun: ``body_fun(carry, *operands) -> carry``.
        init_val: the first carry, a pytree of arrays and numbers.
        operands: further arguments for both functions.
        max_steps: the loop stops after this number of iterations at the latest, a static positive int.

    Returns:
        The first carry for which the predicate does not hold, or that after ``max_steps`` iterations. Under ``vmap``
        each lane stops on its own; a stopped lane keeps its carry bit for bit.

    Raises:
        TypeError: a predicate that is not a rank-0 bool, or ``max_steps`` that is not a static int.
        ValueError: a carry that changes its shape or dtype; ``max_steps`` below 1; reverse mode without ``max_steps``.

    Example:
        >>> import quabla as qb
        >>> double = lambda x: qb.while_loop(lambda c: c < 10.0, lambda c: c * 2.0, x, max_steps=20)
        >>> double(1.0), qb.grad(double)(1.0)
        (Tensor(16., dtype=float64), Tensor(16., dtype=float64))
    """
    if max_steps is not None:
        static_bound("while_loop", "max_steps", max_steps, 1)
    check_callable(cond_fun, "while_loop: cond_fun")
    check_callable(body_fun, "while_loop: body_fun")
    operands = checked_operands("while_loop", operands)
    carry = Carry("while_loop", init_val, body_fun)

    def test(leaves: Sequence[Value]) -> Any:
        pred = cond_fun(carry.rebuild(leaves), *operands)
        if isinstance(pred, (bool, np.bool_)):
            return dispatch.hooks.eager.asarray(bool(pred))
        if not dispatch.is_value(pred) or not pred.type.dtype.is_bool or pred.type.shape:
            got = pred.type if dispatch.is_value(pred) else shown(pred)
            raise TypeError(f"while_loop: the predicate must be a rank-0 bool, got {got}{errors.at_user_line()}")
        return pred

    def step(leaves: Sequence[Value]) -> list[Value]:
        return carry.next(body_fun(carry.rebuild(leaves), *operands))

    if not dispatch.emitters.graphs:
        leaves: list[Any] = carry.leaves
        ran = 0
        while ran != max_steps and test(leaves).data.item():
            leaves = step(leaves)
            ran += 1
        return carry.rebuild(leaves)
    if max_steps is None:
        return carry.rebuild(regions.while_(carry.leaves, test, step))
    most = full(regions.INDEX, float(max_steps))

    def going(now: list[Value]) -> Value:
        within = apply(COMPARE, (now[-1], most), ("less",))
        return apply(WHERE, (within, test(now[:-1]), within))

    counted = [*carry.leaves, full(regions.INDEX, 0.0)]
    outs = regions.while_(counted, going, lambda now: [*step(now[:-1]), now[-1] + 1.0], int(max_steps))
    return carry.rebuild(outs[:-1])
