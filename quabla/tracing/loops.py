"""Loops over few numbers as Python code.

A loop whose arrays hold a few numbers each, as that of an integrator of a small system, spends its time on calling kernels,
not in them. Once it has run for a while it is written down as a Python function over floats, an expression for each element,
which does the same arithmetic bit for bit: additions, products, quotients, roots, comparisons and selections are Python's
own. Everything else calls the kernel that the plan calls, on an array made for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.ops.casting import CONSTANT, STOP_GRADIENT
from quabla.ops.control import WRITERS
from quabla.ops.indexing import SLICE
from quabla.ops.reductions import MAX, MIN, SUM
from quabla.ops.shaping import BROADCAST, CONCAT, RESHAPE, TRANSPOSE
from quabla.ops.types import TensorType
from quabla.tracing.graph import CALL, COND, FORI, Body, RegionNode, TraceTensor

__all__ = ["PythonLoop", "writable_carries"]

#: After so many iterations a loop is written down: they take about as long as writing it down does.
PATIENCE: Final = 50
#: An array of more elements than this stays an array.
FEW: Final = 8
#: A loop that makes an array of so many elements is not written down: there the plan saves memory, and kernels take time.
MANY: Final = 512
#: Neither is one with more expressions than this, or with deeper regions.
MOST: Final = 2000
DEEPEST: Final = 8

#: Kernels that are expressions of Python. Where operands are equal NumPy takes the second one, zeros of either sign too.
_EXPRESSIONS: Final[dict[Any, str]] = {
    np.add: "{0} + {1}",
    np.subtract: "{0} - {1}",
    np.multiply: "{0} * {1}",
    np.divide: "{0} / {1} if {1} else by_zero({0}, {1})",
    np.negative: "-{0}",
    np.absolute: "abs({0})",
    np.sqrt: "sqrt({0}) if {0} >= 0.0 else nan",
    np.maximum: "{0} if {0} > {1} or {0} != {0} else {1}",
    np.minimum: "{0} if {0} < {1} or {0} != {0} else {1}",
    np.less: "{0} < {1}",
    np.less_equal: "{0} <= {1}",
    np.greater: "{0} > {1}",
    np.greater_equal: "{0} >= {1}",
    np.equal: "{0} == {1}",
    np.not_equal: "{0} != {1}",
    np.where: "{1} if {0} else {2}",
}
#: Reductions, of floats in the order that NumPy takes where there are fewer than eight elements, and of bools.
_REDUCTIONS: Final = {
    SUM: (_EXPRESSIONS[np.add], ""),
    MAX: (_EXPRESSIONS[np.maximum], "{0} or {1}"),
    MIN: (_EXPRESSIONS[np.minimum], "{0} and {1}"),
}
#: Ops that move elements.
_MOVES: Final = (RESHAPE, BROADCAST, TRANSPOSE, SLICE, CONCAT, STOP_GRADIENT)


def _by_zero(x: float, y: float) -> float:
    return math.nan if x == 0.0 or x != x else math.copysign(math.inf, x) * math.copysign(1.0, y)


def writable_carries(body: Body, lead: int, count: int) -> list[int]:
    """The carries that a body may write to: read by ops that make new arrays and, last, one put that makes the next."""
    found = []
    for k in range(count):
        arg, out = body.args[lead + k], body.outs[k]
        uses = [n for n in body.nodes if arg in n.operands]
        if (
            uses
            and uses[-1] is out
            and out.op in WRITERS
            and out.operands[0] is arg
            and arg not in out.operands[1:]
            and not any(isinstance(n, RegionNode) or n.op.may_alias for n in uses[:-1])
            and list(body.outs).count(out) == 1
            and not any(out in n.operands for n in body.nodes)
            and arg not in body.outs
        ):
            found.append(k)
    return found


class PythonLoop:
    """A loop that becomes a Python function.

    Attributes:
        function: the function of its operands and, where it has a counter, of the one to start from; None before.
        wait: how many iterations are left until it is written down.
    """

    __slots__ = ("_loop", "function", "wait")

    def __init__(self, n: RegionNode) -> None:
        self.function: Callable[[Sequence[Any], int | None], list[Any]] | None = None
        self.wait: float = PATIENCE if _fits(n.regions, DEEPEST) and _expressions(n.regions) <= MOST else math.inf
        self._loop = n

    def written(self) -> Callable[[Sequence[Any], int | None], list[Any]]:
        """The function, made now."""
        n, code = self._loop, _Code()
        operands = [code.fresh() for _ in n.operands]
        results = code.loop(n, operands, first="start")
        head = [f"def loop(operands, start):\n ({', '.join(operands)},) = operands"]
        text = "\n".join([*head, *code.lines, f" return [{', '.join(results)}]"])
        exec(compile(text, "<loop>", "exec"), code.names)
        self.function = code.names["loop"]
        return code.names["loop"]


def _expressions(bodies: Sequence[Body]) -> int:
    """About how many expressions there are to write."""
    return sum(
        _expressions(n.regions) if isinstance(n, RegionNode) else n.type.size if _is_few(n.type) else 1
        for body in bodies
        for n in body.nodes
    )


def _fits(bodies: Sequence[Body], depth: int) -> bool:
    """Whether bodies compute with small arrays alone; buffers that they write rows of may be large."""
    for n in (n for body in bodies for n in body.nodes):
        if isinstance(n, RegionNode):
            if n.op is CALL or (n.op is COND and n.params[0]) or not depth or not _fits(n.regions, depth - 1):
                return False
        elif n.type.size >= MANY and n.op not in WRITERS:
            return False
    return True


def _is_few(t: TensorType) -> bool:
    return (t.dtype is dtypes.float64 or t.dtype is dtypes.bool_) and 0 < t.size <= FEW


def _literal(x: float | bool) -> str:
    return f"({x!r})"  # inf and nan are names


class _Code:
    """A function being written.

    Attributes:
        lines: its lines.
        names: the global names that they use.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "array": np.array, "float64": np.float64, "bool_": np.bool_, "sqrt": math.sqrt, "by_zero": _by_zero,
            "inf": math.inf, "nan": math.nan,
        }  # fmt: skip
        self._indent = " "
        self._count = 0
        # How values are at hand here: as numbers, in C order, and as arrays.
        self._numbers: dict[TraceTensor, list[str]] = {}
        self._arrays: dict[TraceTensor, str] = {}

    def fresh(self) -> str:
        """A new name."""
        self._count += 1
        return f"v{self._count}"

    def _write(self, line: str) -> None:
        self.lines.append(self._indent + line)

    def _assigned(self, expression: str) -> str:
        name = self.fresh()
        self._write(f"{name} = {expression}")
        return name

    def _given(self, value: Any) -> str:
        """A name for an object."""
        name = f"g{len(self.names)}"
        self.names[name] = value
        return name

    # ---- the two forms of a value ---------------------------------------------------------------------

    def numbers(self, x: TraceTensor) -> list[str]:
        """The elements of a small value."""
        found = self._numbers.get(x)
        if found is None:
            found = self._numbers[x] = self._unpacked(self._arrays[x], x.type)
        return found

    def _unpacked(self, array: str, t: TensorType) -> list[str]:
        if not t.shape:
            return [self._assigned(f"{array}.item()")]
        found = [self.fresh() for _ in range(t.size)]
        self._write(f"({', '.join(found)},) = {array}{'.ravel()' if len(t.shape) > 1 else ''}.tolist()")
        return found

    def array(self, x: TraceTensor) -> str:
        """The name of a value as an array, or a NumPy number."""
        found = self._arrays.get(x)
        if found is None:
            found = self._arrays[x] = self._assigned(self._packed(self._numbers[x], x.type))
        return found

    def _packed(self, numbers: Sequence[str], t: TensorType) -> str:
        kind = "float64" if t.dtype is dtypes.float64 else "bool_"
        if not t.shape:
            return f"{kind}({numbers[0]})"
        shape = f".reshape({t.shape})" if len(t.shape) > 1 else ""
        return f"array(({', '.join(numbers)},), {kind}){shape}"

    def _bind(self, x: TraceTensor, value: list[str] | str) -> None:
        """Say which names a value has: elements, or an array."""
        if isinstance(value, str):
            self._arrays[x] = value
        else:
            self._numbers[x] = value

    def _form(self, x: TraceTensor) -> list[str] | str:
        """The names of a value in the form in which it passes from block to block."""
        return self.numbers(x) if _is_few(x.type) else self.array(x)

    # ---- ops ------------------------------------------------------------------------------------------

    def _body(self, body: Body, donated: set[TraceTensor]) -> None:
        for n in body.nodes:
            if isinstance(n, RegionNode):
                self._region(n)
            else:
                self._op(n, donated)

    def _op(self, n: TraceTensor, donated: set[TraceTensor]) -> None:
        if n.op is CONSTANT:
            value = n.params[0].array
            if _is_few(n.type):
                self._numbers[n] = [_literal(x) for x in value.ravel().tolist()]
            self._arrays[n] = self._given(value[()])
            return
        types = tuple([k.type for k in n.operands])
        if n.op in WRITERS and n.operands[0] in donated:
            kernel = WRITERS[n.op](n.params, types)
            assert kernel is not None
        else:
            kernel = n.op.kernel_for(types, n.params)
            numbers = self._elements(n, kernel) if _is_few(n.type) and all(map(_is_few, types)) else None
            if numbers is not None:
                self._numbers[n] = numbers
                return
        self._arrays[n] = self._assigned(f"{self._given(kernel)}({', '.join(map(self.array, n.operands))})")

    def _elements(self, n: TraceTensor, kernel: Any) -> list[str] | None:
        """The elements of a result as they are computed from numbers; None where a kernel has to."""
        if n.op in _MOVES:
            return self._moved(n)
        if n.op in _REDUCTIONS:
            (x,) = n.operands
            form = _REDUCTIONS[n.op][x.type.dtype.is_bool]
            if n.type.shape or x.type.size >= 8 or not form:
                return None
            total, *rest = self.numbers(x)
            for term in rest:
                total = self._assigned(form.format(total, term))
            # NumPy's sum of negative zeros is 0.0, but for a single one.
            return [self._assigned(f"0.0 + {total}") if rest and n.op is SUM else total]
        if isinstance(kernel, np.ufunc) or kernel is np.where:
            form = _EXPRESSIONS.get(kernel)
            floats = n.operands[1:] if kernel is np.where else n.operands
            if form is None or any(k.type.dtype is not floats[0].type.dtype for k in floats):
                return None
            if floats[0].type.dtype.is_bool and kernel not in (np.where, np.equal, np.not_equal):
                return None
            columns = []
            for k in n.operands:
                places = np.broadcast_to(np.arange(k.type.size).reshape(k.type.shape), n.type.shape)
                given = self.numbers(k)
                columns.append([given[i] for i in places.ravel().tolist()])
            return [self._assigned(form.format(*row)) for row in zip(*columns, strict=True)]
        return None

    def _moved(self, n: TraceTensor) -> list[str]:
        """The elements of a result that only moves them, found by moving their places."""
        given = [x for k in n.operands for x in self.numbers(k)]
        types = tuple([k.type.with_dtype(dtypes.float64) for k in n.operands])
        starts = np.cumsum([0, *(t.size for t in types)]).tolist()
        places = [
            np.arange(a, a + t.size, dtype=np.float64).reshape(t.shape) for a, t in zip(starts, types, strict=False)
        ]
        moved = n.op.kernel_for(types, n.params)(*places)
        return [given[int(i)] for i in np.ravel(moved).tolist()]

    # ---- regions --------------------------------------------------------------------------------------

    def _region(self, n: RegionNode) -> None:
        if n.op is not COND:
            for r, array in zip(n.results, self.loop(n, list(map(self.array, n.operands))), strict=True):
                self._arrays[r] = array
            return
        pred, *values = n.operands
        (test,) = self.numbers(pred)
        results = [[self.fresh() for _ in range(r.type.size)] if _is_few(r.type) else self.fresh() for r in n.results]
        for head, body in zip((f"if {test}:", "else:"), n.regions, strict=True):
            self._write(head)
            outer = self._enter()
            for a, x in zip(body.args, values, strict=True):
                if x in self._numbers:
                    self._numbers[a] = self._numbers[x]
                if x in self._arrays:
                    self._arrays[a] = self._arrays[x]
            self._body(body, set())
            self._assign(results, list(map(self._form, body.outs)))
            self._write("pass")
            self._leave(outer)
        for r, names in zip(n.results, results, strict=True):
            self._bind(r, names)

    def _assign(self, targets: Sequence[list[str] | str], values: Sequence[list[str] | str]) -> None:
        """Assign to names at once."""
        left = [x for t in targets for x in ([t] if isinstance(t, str) else t)]
        right = [x for v in values for x in ([v] if isinstance(v, str) else v)]
        if left:
            self._write(f"{', '.join(left)} = {', '.join(right)}")

    def _enter(self) -> tuple[dict[TraceTensor, list[str]], dict[TraceTensor, str]]:
        """Begin a block: what is computed in it is not at hand after it."""
        outer = self._numbers, self._arrays
        self._numbers, self._arrays = dict(self._numbers), dict(self._arrays)
        self._indent += " "
        return outer

    def _leave(self, outer: tuple[dict[TraceTensor, list[str]], dict[TraceTensor, str]]) -> None:
        self._numbers, self._arrays = outer
        self._indent = self._indent[:-1]

    def loop(self, n: RegionNode, operands: Sequence[str], first: str | None = None) -> list[str]:
        """Write a loop over arrays of these names; the names of its results as arrays.

        Args:
            n: the loop.
            operands: the names of its operands as arrays.
            first: the name of the counter to start from, where that is not the loop's own.
        """
        count = len(n.results)
        body = n.regions[-1]
        lead = n.op.lead
        writable = writable_carries(body, lead, count)
        carries, captured = body.args[lead : lead + count], body.args[lead + count :]
        names: list[list[str] | str] = []
        for k, a in enumerate(carries):
            if _is_few(a.type):
                names.append([self._assigned(x) for x in self._unpacked(operands[k], a.type)])
            else:
                names.append(self._assigned(f"array({operands[k]})" if k in writable else operands[k]))
        shared = [
            (array, self._unpacked(array, a.type) if _is_few(a.type) else None)
            for array, a in zip(operands[count:], captured, strict=True)
        ]

        def begin(arguments: Sequence[TraceTensor]) -> None:
            for a, name in zip(arguments, names, strict=False):
                self._bind(a, name)
            for a, (array, numbers) in zip(arguments[count:], shared, strict=True):
                self._arrays[a] = array
                if numbers is not None:
                    self._numbers[a] = numbers

        if n.op is FORI:
            lower, upper = n.params
            counter = self.fresh()
            self._write(f"for {counter} in range({first or lower}, {upper}):")
            outer = self._enter()
            self._numbers[body.args[0]] = [self._assigned(f"float({counter})")]
        else:
            self._write("while True:")
            outer = self._enter()
            test = n.regions[0]
            begin(test.args)
            self._body(test, set())
            self._write(f"if not {self.numbers(test.outs[0])[0]}: break")
        begin(body.args[lead:])
        self._body(body, {carries[k] for k in writable})
        self._assign(names, list(map(self._form, body.outs)))
        self._leave(outer)
        return [
            name if isinstance(name, str) else self._assigned(self._packed(name, a.type))
            for a, name in zip(carries, names, strict=True)
        ]
