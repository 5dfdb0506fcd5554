"""Calls of LAPACK for the factorizations of a StableHLO program, as jaxlib offers them to XLA on the CPU.

Lowering writes a custom call ``qb.<op>`` for what StableHLO has no op for. Here each becomes LAPACK's routine and what
makes its result the op's: signs, triangles, and NaN for matrices that the routine refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from quabla import dtypes
from quabla.lowering.builder import Builder
from quabla.lowering.exact_f32 import functions_of, walk
from quabla.mlir import context, ir, mlir_type, read_type, unknown
from quabla.ops.factorizations import TIE
from quabla.ops.types import TensorType

__all__ = ["call_lapack"]

Value = Any  # an MLIR value
_create: Final = ir.Operation.create


def call_lapack(module: Any) -> bool:
    """Replace the custom calls of a module that LAPACK serves, in place; returns whether there were any."""
    lo = Builder(module)
    w = _Writer(lo)
    found = False
    for op in list(walk(f.regions for f in functions_of(module))):
        name = op.name
        if name == "stablehlo.custom_call":
            name = ir.StringAttr(op.attributes["call_target_name"]).value
        write = _NATIVE.get(name) or _ROUTINES.get(name)
        if write is None or not isinstance(op.results[0].type.element_type, ir.F64Type):
            continue
        found = True
        lo.loc = op.location
        lo.enter(ir.InsertionPoint(op))
        values = list(op.operands)
        types = [read_type(v.type) for v in values]
        to = read_type(op.results[0].type)
        made = _NATIVE[name](w, values, to, op) if name in _NATIVE else _ROUTINES[name](w, values, types, to)
        op.results[0].replace_all_uses_with(made)
        op.operation.erase()
    return found


def _i32(shape: Sequence[int]) -> Any:
    return ir.RankedTensorType.get(list(shape), ir.IntegerType.get_signless(32, context()), loc=unknown())


def _layout(rank: int) -> Any:
    """Matrices by columns, as LAPACK wants them; all else by rows."""
    order = [*range(rank - 1, -1, -1)]
    if rank >= 2:
        order[:2] = order[1], order[0]
    return ir.Attribute.parse(f"dense<{order if rank else ''}> : tensor<{rank}xindex>", context())


def _rows_first(rank: int) -> Any:
    order = [*range(rank - 1, -1, -1)]
    return ir.Attribute.parse(f"dense<{order if rank else ''}> : tensor<{rank}xindex>", context())


class _Writer:
    """LAPACK's routines and a few shapes of op, written with a builder. Everything is float64."""

    def __init__(self, lo: Builder) -> None:
        self.lo: Final = lo
        self._written: Final[dict[Any, Any]] = {}

    def once(self, name: str, a: Value, write: Callable[[], Any]) -> Any:
        """A factorization of a matrix, written where a block first has it."""
        key = (name, a, self.lo.ip.block)
        if key not in self._written:
            self._written[key] = write()
        return self._written[key]

    # ---- routines ---------------------------------------------------------------------------------

    def routine(
        self, name: str, values: Sequence[Value], results: Sequence[Any], matrices: Sequence[bool], config: str
    ) -> list[Value]:
        """The results of a routine.

        Args:
            results: their types, MLIR's or ours.
            matrices: for each operand, then each result, whether its last two axes are a matrix.
        """
        types = [mlir_type(t) if isinstance(t, TensorType) else t for t in results]
        ranks = [len(v.type.shape) for v in values] + [len(t.shape) for t in types]
        layouts = [_layout(r) if m else _rows_first(r) for r, m in zip(ranks, matrices, strict=True)]
        c = context()
        attributes = {
            "call_target_name": ir.StringAttr.get(f"lapack_d{name}_ffi", c),
            "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32, c), 4),
            "backend_config": ir.Attribute.parse(f"{{{config}}}", c),
            "operand_layouts": ir.ArrayAttr.get(layouts[: len(values)], c),
            "result_layouts": ir.ArrayAttr.get(layouts[len(values) :], c),
        }
        lo = self.lo
        op = _create("stablehlo.custom_call", types, list(values), attributes=attributes, loc=lo.loc, ip=lo.ip)
        return list(op.results)

    def lu(self, a: Value, t: TensorType) -> tuple[Value, Value, Value]:
        """Both factors in one matrix, the pivots, and LAPACK's word on singularity."""
        *stack, rows, columns = t.shape
        pivots = _i32((*stack, min(rows, columns)))
        packed, pivoted, info = self.routine("getrf", [a], [t, pivots, _i32(stack)], [True, True, False, False], "")
        return packed, pivoted, info

    def trsm(self, a: Value, b: Value, to: TensorType, *, lower: bool, transposed: bool) -> Value:
        """The solutions of triangular systems."""
        trans, uplo = ord("T" if transposed else "N"), ord("L" if lower else "U")
        config = f"diag = 78 : ui8, side = 76 : ui8, trans_x = {trans} : ui8, uplo = {uplo} : ui8"
        return self.routine("trsm", [a, b], [to], [True, True, True], config)[0]

    def svd(self, a: Value, t: TensorType, *, full: bool = False) -> tuple[Value, Value, Value]:
        *stack, rows, columns = t.shape
        rank = min(rows, columns)
        left = t.with_shape((*stack, rows, rows if full else rank))
        right = t.with_shape((*stack, columns if full else rank, columns))
        results = [t, t.with_shape((*stack, rank)), left, right, _i32(stack)]
        mode = ord("A" if full else "S")
        _, s, u, vh, info = self.routine(
            "gesdd", [self.finite(a, t)], results, [True, True, False, True, True, False], f"mode = {mode} : ui8"
        )
        spoil = self.spoiled(a, t, info)
        s = self.plus(s, t.with_shape((*stack, rank)), spoil, stack)
        return self.plus(u, left, spoil, stack), s, self.plus(vh, right, spoil, stack)

    def eigh(self, a: Value, t: TensorType) -> tuple[Value, Value]:
        lo = self.lo
        *stack, n, _ = t.shape
        half = lo.mul(t, lo.full(t, 0.5), self.finite(a, t))
        half = lo.add(t, half, self.swapped(half, t))
        values = t.with_shape((*stack, n))
        vectors, w, info = self.routine(
            "syevd", [half], [t, values, _i32(stack)], [True, True, False, False], "mode = 86 : ui8, uplo = 76 : ui8"
        )
        spoil = self.spoiled(a, t, info)
        return self.plus(w, values, spoil, stack), self.plus(vectors, t, spoil, stack)

    def qr(self, a: Value, t: TensorType) -> tuple[Value, Value, Value, TensorType]:
        """R in the upper triangle of a matrix and the reflections below it, their factors, and the signs for R."""
        *stack, rows, columns = t.shape
        scales = t.with_shape((*stack, min(rows, columns)))
        packed, tau = self.routine("geqrf", [a], [t, scales], [True, True, False], "")
        negative = self.diagonal(packed, t)
        lo = self.lo
        below = lo.compare("LT", negative, lo.full(scales, 0.0), scales)
        signs = lo.select(below, lo.full(scales, -1.0), lo.full(scales, 1.0), scales)
        return packed, tau, signs, scales

    # ---- shapes -----------------------------------------------------------------------------------

    def swapped(self, x: Value, t: TensorType) -> Value:
        *stack, rows, columns = t.shape
        lead = len(stack)
        order = (*range(lead), lead + 1, lead)
        return self.lo.op("stablehlo.transpose", t.with_shape((*stack, columns, rows)), [x], permutation=order)

    def part(self, x: Value, t: TensorType, rows: range, columns: range) -> Value:
        """Some rows and columns of matrices."""
        *stack, _, _ = t.shape
        to = t.with_shape((*stack, len(rows), len(columns)))
        if to.shape == t.shape:
            return x
        zeros = (0,) * len(stack)
        return self.lo.op(
            "stablehlo.slice", to, [x],
            start_indices=(*zeros, rows.start, columns.start),
            limit_indices=(*stack, rows.stop, columns.stop),
            strides=(1,) * t.ndim,
        )  # fmt: skip

    def along(self, x: Value, t: TensorType, to: TensorType, axes: Sequence[int]) -> Value:
        """``x`` broadcast to ``to``, its axes being ``axes`` there."""
        return self.lo.op("stablehlo.broadcast_in_dim", to, [x], broadcast_dimensions=tuple(axes))

    def columns(self, x: Value, t: TensorType, to: TensorType) -> Value:
        """One number for each column."""
        n = to.ndim
        return self.along(x, t, to, [*range(n - 2), n - 1])

    def rows(self, x: Value, t: TensorType, to: TensorType) -> Value:
        """One number for each row."""
        return self.along(x, t, to, range(to.ndim - 1))

    def triangle(self, x: Value, t: TensorType) -> Value:
        """The upper triangle."""
        lo = self.lo
        above = lo.compare("LE", lo.iota(t, t.ndim - 2), lo.iota(t, t.ndim - 1), t)
        return lo.select(above, x, lo.full(t, 0.0), t)

    def diagonal(self, x: Value, t: TensorType) -> Value:
        lo = self.lo
        *stack, rows, columns = t.shape
        rank = min(rows, columns)
        x = self.part(x, t, range(rank), range(rank))
        t = t.with_shape((*stack, rank, rank))
        on = lo.compare("EQ", lo.iota(t, t.ndim - 2), lo.iota(t, t.ndim - 1), t)
        return lo.reduce("add", lo.select(on, x, lo.full(t, 0.0), t), t, [t.ndim - 1], t.with_shape((*stack, rank)))

    # ---- matrices without an answer ---------------------------------------------------------------

    def spoiled(self, a: Value, t: TensorType, info: Value | None = None) -> Value:
        """For each matrix 0, or NaN where it is not finite or LAPACK refused it."""
        lo = self.lo
        stack = t.with_shape(t.shape[:-2])
        zero = lo.mul(t, a, lo.full(t, 0.0))
        total = lo.reduce("add", zero, t, [t.ndim - 2, t.ndim - 1], stack)
        if info is None:
            return total
        return lo.select(self.is_zero(info, stack), total, lo.full(stack, np.nan), stack)

    def is_zero(self, info: Value, stack: TensorType) -> Value:
        zero = lo_integer(self.lo, info.type, 0)
        return self.lo.op("stablehlo.compare", stack.with_dtype(dtypes.bool_), [info, zero], comparison_direction="EQ")

    def plus(self, x: Value, t: TensorType, number: Value, stack: Sequence[int]) -> Value:
        """``x`` plus a number for each matrix."""
        return self.lo.add(t, x, self.along(number, t.with_shape(tuple(stack)), t, range(len(stack))))

    def finite(self, a: Value, t: TensorType) -> Value:
        """``a`` with zeros for what is not finite: LAPACK may never return from infinities."""
        lo = self.lo
        zero = lo.full(t, 0.0)
        return lo.select(lo.compare("EQ", lo.mul(t, a, zero), zero, t), a, zero, t)

    def unless_refused(self, x: Value, t: TensorType, info: Value) -> Value:
        """``x``, or NaN for the matrices that LAPACK refused."""
        stack = t.with_shape(t.shape[:-2])
        good = self.along(self.is_zero(info, stack), stack, t.with_dtype(dtypes.bool_), range(stack.ndim))
        return self.lo.select(good, x, self.lo.full(t, np.nan), t)

    # ---- signs ------------------------------------------------------------------------------------

    def signs(self, v: Value, t: TensorType) -> tuple[Value, TensorType]:
        """1 or -1 for each column, which makes its largest component positive."""
        lo = self.lo
        axis = t.ndim - 2
        each = t.with_shape((*t.shape[:-2], t.shape[-1]))
        size = lo.op("stablehlo.abs", t, [v])
        top = lo.mul(each, lo.reduce("maximum", size, t, [axis], each), lo.full(each, 1.0 - TIE))
        large = lo.compare("GE", size, self.columns(top, each, t), t)
        row = lo.iota(t, axis)
        first = lo.reduce("minimum", lo.select(large, row, lo.full(t, np.inf), t), t, [axis], each)
        chosen = lo.compare("EQ", row, self.columns(first, each, t), t)
        component = lo.reduce("add", lo.select(chosen, v, lo.full(t, 0.0), t), t, [axis], each)
        negative = lo.compare("LT", component, lo.full(each, 0.0), each)
        return lo.select(negative, lo.full(each, -1.0), lo.full(each, 1.0), each), each

    def signed(self, v: Value, t: TensorType) -> Value:
        signs, each = self.signs(v, t)
        return self.lo.mul(t, v, self.columns(signs, each, t))


def lo_integer(lo: Builder, type: Any, number: int) -> Value:
    """A constant of 32-bit integers."""
    value = ir.DenseElementsAttr.get_splat(type, ir.IntegerAttr.get(type.element_type, number))
    return lo.op("stablehlo.constant", type, [], value=value)


def _solve(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    b = types[1]
    *stack, n, k = b.shape
    both = b.with_shape((*stack, n, n + k))
    wide = w.lo.op("stablehlo.concatenate", both, xs, dimension=b.ndim - 1)
    # Elimination carries the right-hand sides along, so the pivots need not be applied to them.
    packed, _, info = w.lu(wide, both)
    upper = w.part(packed, both, range(n), range(n))
    right = w.part(packed, both, range(n), range(n, n + k))
    return w.unless_refused(w.trsm(upper, right, to, lower=False, transposed=False), to, info)


def _determinant(w: _Writer, a: Value, t: TensorType) -> tuple[Value, Value, TensorType, Value]:
    """The pivots' diagonal, where rows were exchanged, the type of both, and 0 or NaN for each matrix."""
    lo = w.lo
    packed, pivots, _ = w.once("lu", a, lambda: w.lu(a, t))
    line = t.with_shape(t.shape[:-1])
    rows = lo.op("stablehlo.iota", pivots.type, [], iota_dimension=line.ndim - 1)
    rows = lo.op("stablehlo.add", pivots.type, [rows, lo_integer(lo, pivots.type, 1)])
    moved = lo.op("stablehlo.compare", line.with_dtype(dtypes.bool_), [pivots, rows], comparison_direction="NE")
    nan = lo.select(lo.compare("NE", a, a, t), lo.full(t, np.nan), lo.full(t, 0.0), t)
    spoil = lo.reduce("add", nan, t, [t.ndim - 2, t.ndim - 1], t.with_shape(t.shape[:-2]))
    return w.diagonal(packed, t), moved, line, spoil


def _det_sign(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    lo = w.lo
    diagonal, moved, line, spoil = _determinant(w, xs[0], types[0])
    one, zero = lo.full(line, 1.0), lo.full(line, 0.0)
    negative = lo.select(lo.compare("LT", diagonal, zero, line), one, zero, line)
    flips = lo.reduce("add", lo.add(line, negative, lo.select(moved, one, zero, line)), line, [line.ndim - 1], to)
    half = lo.mul(to, flips, lo.full(to, 0.5))
    odd = lo.compare("NE", half, lo.op("stablehlo.floor", to, [half]), to)
    sign = lo.select(odd, lo.full(to, -1.0), lo.full(to, 1.0), to)
    least = lo.reduce("minimum", lo.op("stablehlo.abs", line, [diagonal]), line, [line.ndim - 1], to)
    singular = lo.compare("EQ", least, lo.full(to, 0.0), to)
    return lo.add(to, lo.select(singular, lo.full(to, 0.0), sign, to), spoil)


def _det(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    lo = w.lo
    diagonal, moved, line, spoil = _determinant(w, xs[0], types[0])
    pivots = lo.select(moved, lo.neg(line, diagonal), diagonal, line)
    return lo.add(to, lo.reduce("multiply", pivots, line, [line.ndim - 1], to), spoil)


def _log_abs_det(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    lo = w.lo
    diagonal, _, line, spoil = _determinant(w, xs[0], types[0])
    logs = lo.op("stablehlo.log", line, [lo.op("stablehlo.abs", line, [diagonal])])
    return lo.add(to, lo.reduce("add", logs, line, [line.ndim - 1], to), spoil)


def _eigh_values(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    return w.once("eigh", xs[0], lambda: w.eigh(xs[0], types[0]))[0]


def _eigh_vectors(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    return w.signed(w.once("eigh", xs[0], lambda: w.eigh(xs[0], types[0]))[1], to)


def _qr_q(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    """Q with as many columns as ``to`` has."""
    lo, (t,) = w.lo, types
    *stack, rows, columns = t.shape
    packed, tau, signs, scales = w.once("qr", xs[0], lambda: w.qr(xs[0], t))
    wanted = to.shape[-1]
    packed = w.part(packed, t, range(rows), range(min(columns, wanted)))
    if wanted > columns:
        none = lo.full(t.with_shape(()), 0.0)
        high = (*(0,) * (to.ndim - 1), wanted - columns)
        plain = (0,) * to.ndim
        packed = lo.op(
            "stablehlo.pad", to, [packed, none], edge_padding_low=plain, edge_padding_high=high, interior_padding=plain
        )
        one = lo.full(t.with_shape(()), 1.0)
        more = scales.with_shape((*stack, wanted))
        low = (0,) * more.ndim
        signs = lo.op(
            "stablehlo.pad", more, [signs, one],
            edge_padding_low=low, edge_padding_high=(*low[1:], wanted - columns), interior_padding=low,
        )  # fmt: skip
        scales = more
    (q,) = w.routine("orgqr", [packed, tau], [to], [True, False, True], "")
    q = lo.mul(to, q, w.columns(signs, scales, to))
    return w.plus(q, to, w.spoiled(xs[0], t), stack)


def _qr_r(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    lo, (t,) = w.lo, types
    packed, _, signs, scales = w.once("qr", xs[0], lambda: w.qr(xs[0], t))
    r = w.triangle(w.part(packed, t, range(to.shape[-2]), range(to.shape[-1])), to)
    r = lo.mul(to, r, w.rows(signs, scales, to))
    return w.plus(r, to, w.spoiled(xs[0], t), t.shape[:-2])


def _svd_s(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    return w.once("svd", xs[0], lambda: w.svd(xs[0], types[0]))[1]


def _svd_u(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    return w.signed(w.once("svd", xs[0], lambda: w.svd(xs[0], types[0]))[0], to)


def _svd_u_full(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    return w.signed(w.svd(xs[0], types[0], full=True)[0], to)


def _svd_vh(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    u, _, vh = w.once("svd", xs[0], lambda: w.svd(xs[0], types[0]))
    *stack, rows, _ = types[0].shape
    signs, each = w.signs(u, to.with_shape((*stack, rows, to.shape[-2])))
    return w.lo.mul(to, vh, w.rows(signs, each, to))


def _pinv(w: _Writer, xs: list[Value], types: list[TensorType], to: TensorType) -> Value:
    lo, t = w.lo, types[0]
    *stack, rows, columns = t.shape
    line = t.with_shape((*stack, min(rows, columns)))
    u, s, vh = w.once("svd", xs[0], lambda: w.svd(xs[0], t))
    one = t.with_shape(tuple(stack))
    least = lo.mul(one, xs[1], lo.reduce("maximum", s, line, [line.ndim - 1], one))
    zero = lo.compare("LE", s, w.along(least, one, line, range(len(stack))), line)
    inverse = lo.select(zero, lo.full(line, 0.0), lo.div(line, lo.full(line, 1.0), s), line)
    tall = t.with_shape((*stack, columns, line.shape[-1]))
    wide = t.with_shape((*stack, line.shape[-1], rows))
    v = w.swapped(vh, t.with_shape((*stack, line.shape[-1], columns)))
    scaled = lo.mul(tall, v, w.columns(inverse, line, tall))
    across = w.swapped(u, t.with_shape((*stack, rows, line.shape[-1])))
    return lo.dot(scaled, tall, across, wide, to)


def _cholesky(w: _Writer, xs: list[Value], to: TensorType, op: Any) -> Value:
    info = _i32(to.shape[:-2])
    factor, refused = w.routine("potrf", xs, [to, info], [True, True, False], "uplo = 76 : ui8")
    return w.unless_refused(factor, to, refused)


def _triangular(w: _Writer, xs: list[Value], to: TensorType, op: Any) -> Value:
    lower = ir.BoolAttr(op.attributes["lower"]).value
    transposed = "NO_TRANSPOSE" not in str(op.attributes["transpose_a"])
    return w.trsm(xs[0], xs[1], to, lower=lower, transposed=transposed)


#: Ops of StableHLO that XLA itself writes out as loops, far slower than LAPACK.
_NATIVE: Final[dict[str, Callable[[_Writer, list[Value], TensorType, Any], Value]]] = {
    "stablehlo.cholesky": _cholesky,
    "stablehlo.triangular_solve": _triangular,
}
_ROUTINES: Final[dict[str, Callable[[_Writer, list[Value], list[TensorType], TensorType], Value]]] = {
    "qb.det": _det,
    "qb.det_sign": _det_sign,
    "qb.eigh_values": _eigh_values,
    "qb.eigh_vectors": _eigh_vectors,
    "qb.log_abs_det": _log_abs_det,
    "qb.pinv": _pinv,
    "qb.qr_q": _qr_q,
    "qb.qr_q_complete": _qr_q,
    "qb.qr_r": _qr_r,
    "qb.solve": _solve,
    "qb.svd_s": _svd_s,
    "qb.svd_u": _svd_u,
    "qb.svd_u_full": _svd_u_full,
    "qb.svd_vh": _svd_vh,
}
