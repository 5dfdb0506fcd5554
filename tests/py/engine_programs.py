"""Programs that every engine must give the same answer for: each op and its derivatives, loops, matrices, solvers, edges.

A program is a function of arrays, with operands in float32 but for a few in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from control_programs import POINT, PROGRAMS as CONTROL, REVERSIBLE
from samples import CASES, IDS, arrays, op_function, sample_dtypes, smooth_function, special_operands, tensor

import quabla as qb
from quabla.ops.types import tensor_type

__all__ = ["DERIVATIVES", "EDGES", "LOOPS", "MATRICES", "OPS", "SOLVERS", "SPECIAL", "EngineProgram"]


class EngineProgram(NamedTuple):
    """A function and its operands."""

    name: str
    run: Callable[..., Any]
    operands: tuple[Any, ...]


def f32(x: Any) -> Any:
    return qb.array(np.asarray(x, np.float32))


def numbers(*shape: int, seed: int = 0) -> Any:
    return f32(np.random.default_rng([seed, *shape]).uniform(-1.0, 1.0, shape))


# ---- ops --------------------------------------------------------------------------------------------


def _of_samples() -> Iterator[EngineProgram]:
    for (op, sample), name in zip(CASES, IDS, strict=True):
        yield EngineProgram(name, op_function(op, sample), tuple(map(tensor, arrays(sample, 4, np.float32))))


def _derivatives_of_samples() -> Iterator[EngineProgram]:
    """Gradient, tangent, Hessian-vector product, and the first and the last mapped over three sets of operands."""
    for (op, sample), name in zip(CASES, IDS, strict=True):
        kinds = sample_dtypes(sample)
        types = tuple(tensor_type(s, d) for s, d in zip(sample.shapes, kinds, strict=True))
        if op.name == "cast" or not op.differentiable or not op.result_type(types, sample.params).dtype.is_float:
            continue
        which = [i for i, d in enumerate(kinds) if d.is_float]
        if not which:
            continue
        yield EngineProgram(name, _derivatives(op, sample, which), _three_sets(sample))


def _three_sets(sample: Any) -> tuple[Any, ...]:
    sets = zip(*(arrays(sample, seed, np.float32) for seed in range(3)), strict=True)
    return tuple(tensor(np.stack(rows)) for rows in sets)


def _derivatives(op: Any, sample: Any, which: list[int]) -> Callable[..., Any]:
    f = smooth_function(op, sample)

    def scalar(*operands: Any) -> Any:
        y = f(*operands)
        weights = (np.cos(np.arange(y.type.size)).reshape(y.type.shape) + 1.5).astype(np.float32)
        return qb.sum(y * qb.array(weights))

    gradient = qb.grad(scalar, argnums=tuple(which))

    def along(transform: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        def moved(*moving: Any) -> Any:
            full = list(operands)
            for i, x in zip(which, moving, strict=True):
                full[i] = x
            return transform(*full)

        xs = tuple(operands[i] for i in which)
        return qb.jvp(moved, xs, tuple(0.5 * qb.ones_like(x) for x in xs))[1]

    def hvp(*operands: Any) -> Any:
        return along(gradient, operands)

    def run(*stacked: Any) -> Any:
        one = [x[0] for x in stacked]
        return gradient(*one), along(scalar, tuple(one)), qb.vmap(gradient)(*stacked), qb.vmap(hvp)(*stacked)

    return run


OPS = list(_of_samples())
DERIVATIVES = list(_derivatives_of_samples())


# ---- loops and choices --------------------------------------------------------------------------------


#: Programs with float64 numbers in them.
_WIDE = ("rows", "masked_by_choice", "counted")


def _loops() -> Iterator[EngineProgram]:
    for name, f in CONTROL.items():
        array = qb.array if name in _WIDE else f32
        point, batch = array(POINT), array(np.stack([POINT, POINT + 0.05, POINT[::-1]]))
        yield EngineProgram(name, f, (point,))
        yield EngineProgram(f"vmap-{name}", qb.vmap(f), (batch,))
        if name in REVERSIBLE:
            yield EngineProgram(f"grad-{name}", qb.grad(f), (point,))
            yield EngineProgram(f"hvp-{name}", lambda x, f=f: qb.jvp(qb.grad(f), (x,), (0.5 * x,))[1], (point,))

    point = f32(POINT)

    def long(x: Any) -> Any:
        return qb.sum(qb.fori_loop(0, 700, lambda i, c: 0.999 * qb.sin(c) + 1e-4 * i, x))

    yield EngineProgram("long", qb.value_and_grad(long), (point,))
    yield EngineProgram("no-iteration", lambda x: qb.fori_loop(3, 3, lambda i, c: c * 2.0, x), (point,))


LOOPS = list(_loops())


# ---- matrices -------------------------------------------------------------------------------------------


def _matrices() -> Iterator[EngineProgram]:
    la = qb.linalg
    for shape in [(4, 4), (5, 3), (3, 5), (2, 4, 4), (2, 5, 3), (1, 1), (6, 1)]:
        a = numbers(*shape)
        text = "x".join(map(str, shape))
        yield EngineProgram(f"qr-{text}", lambda a: la.qr(a), (a,))
        yield EngineProgram(f"qr-complete-{text}", lambda a: la.qr(a, mode="complete"), (a,))
        yield EngineProgram(f"svd-{text}", lambda a: la.svd(a), (a,))
        yield EngineProgram(f"pinv-{text}", lambda a: la.pinv(a), (a,))
        if shape[-1] == shape[-2]:
            spd = f32(a.numpy() @ np.swapaxes(a.numpy(), -1, -2) + np.eye(shape[-1]))
            b = numbers(*shape[:-1], 2, seed=1)
            yield EngineProgram(f"eigh-{text}", lambda a: la.eigh(a), (a,))
            yield EngineProgram(f"det-{text}", lambda a: (la.det(a), la.slogdet(a)), (a,))
            yield EngineProgram(f"cholesky-{text}", lambda a: la.cholesky(a), (spd,))
            yield EngineProgram(f"solve-{text}", lambda a, b: la.solve(a, b), (spd, b))
            yield EngineProgram(
                f"grad-solve-{text}", qb.grad(lambda a, b: qb.sum(la.solve(a, b) ** 2), argnums=(0, 1)), (spd, b)
            )

    def below(a: Any) -> Any:
        """The triangle of a factor that is NaN where there is none; of the other triangle that is not said."""
        return qb.tril(la.cholesky(a))

    # Columns that need no reflection, first and in the middle.
    for k, a in enumerate([np.eye(5)[:, :3], [[3, 2, 0], [4, 0, 1], [0, 0, 4], [0, 0, 6], [0, 0, 2]]]):
        yield EngineProgram(f"qr-complete-unreflected-{k}", lambda a: la.qr(a, mode="complete"), (f32(a),))
    large = numbers(80, 80)
    indefinite = large.numpy() @ large.numpy().T
    indefinite[70, 70] = -50.0
    yield EngineProgram("cholesky-large-indefinite", below, (f32(indefinite),))
    yield EngineProgram("solve-large", lambda a: la.solve(a + 9.0 * qb.eye(80).astype(qb.float32), a[0]), (large,))
    singular = f32([[[1, 0], [0, 1]], [[1, 2], [2, 4]], [[2, 1], [1, 3]]])
    for name in ("solve", "inv", "cholesky", "det", "slogdet"):
        f = below if name == "cholesky" else getattr(la, name)
        run = (lambda a: la.solve(a, qb.ones((3, 2, 1)).astype(qb.float32))) if name == "solve" else f
        yield EngineProgram(f"{name}-some-without-answer", run, (singular,))
    nan = f32([[[1, 0], [0, 1]], [[np.nan, 2], [2, 4]]])
    for name in ("eigh", "svd", "qr", "cholesky", "det", "slogdet", "pinv"):
        yield EngineProgram(f"{name}-nan", below if name == "cholesky" else getattr(la, name), (nan,))


MATRICES = list(_matrices())


# ---- solvers and differential equations -----------------------------------------------------------------


def _solvers() -> Iterator[EngineProgram]:
    y0, rates = f32([1.0, 0.5]), f32([[-0.5, 1.0], [-1.0, -0.3]])
    fixed, adaptive = {"steps": 20}, {"rtol": 1e-4, "atol": 1e-6, "max_steps": 100}
    for method in ("euler", "heun", "rk4", "dopri5", "tsit5", "rosenbrock23", "radau"):
        options = fixed if method in ("euler", "heun", "rk4") else adaptive

        def solution(y: Any, k: Any, method: str = method, options: Any = options) -> Any:
            def slope(y: Any, t: Any, k: Any) -> Any:
                return qb.matmul(k, y) - 0.1 * y**3

            return qb.ode.odeint(slope, y, (0.0, 2.0), method=method, args=(k,), **options)

        def loss(y: Any, k: Any, solution: Callable[..., Any] = solution) -> Any:
            return qb.sum(solution(y, k) ** 2)

        yield EngineProgram(method, solution, (y0, rates))
        yield EngineProgram(f"grad-{method}", qb.grad(loss, argnums=(0, 1)), (y0, rates))
    a, b = f32([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]]), f32([1.0, 2.0, 3.0])
    for name in ("cg", "gmres"):
        solve = getattr(qb.linalg, name)

        def squares(a: Any, b: Any, solve: Callable[..., Any] = solve) -> Any:
            return qb.sum(solve(lambda v, a: qb.matmul(a, v), b, tol=1e-6, args=(a,)) ** 2)

        yield EngineProgram(name, qb.value_and_grad(squares, argnums=(0, 1)), (a, b))

    def root(a: Any) -> Any:
        return qb.newton(lambda x, a: x**3 + x - a, qb.ones_like(a), args=(a,), tol=1e-6)

    yield EngineProgram("newton", qb.value_and_grad(lambda a: qb.sum(root(a))), (f32([2.0, 5.0]),))
    yield EngineProgram("vmap-newton", qb.vmap(root), (f32([2.0, 5.0, 30.0]),))


SOLVERS = list(_solvers())


# ---- edges ----------------------------------------------------------------------------------------------

_INF, _NAN = np.inf, np.nan


def _edges() -> Iterator[EngineProgram]:
    for shape in [(0,), (0, 3), (3, 0)]:
        e, text = f32(np.zeros(shape)), "x".join(map(str, shape))
        yield EngineProgram(f"empty-sums-{text}", lambda e: (qb.sum(e), qb.sum(e, axis=0), qb.prod(e)), (e,))
        yield EngineProgram(f"empty-moves-{text}", lambda e: (qb.exp(e), qb.concat([e, e], 0), e.T, e > 0), (e,))
    yield EngineProgram("empty-product", lambda a, b: (a @ b, b @ a), (f32(np.zeros((2, 0))), f32(np.zeros((0, 2)))))
    for n in (0, 2):
        a = f32(np.zeros((n, 0, 0)))
        for name in ("eigh", "svd", "qr", "det", "inv"):
            yield EngineProgram(f"empty-{name}-{n}", getattr(qb.linalg, name), (a,))
    ties = f32([1, 3, 3, 2, 1, 1])
    yield EngineProgram("ties", lambda x: (qb.grad(qb.max)(x), qb.grad(qb.min)(x), qb.max(x)), (ties,))
    same = f32([0.5, -1.0, 2.0])
    yield EngineProgram(
        "ties-of-two", qb.grad(lambda x, y: qb.sum(qb.maximum(x, y)), argnums=(0, 1)), (same, f32([0.5, -2.0, 2.0]))
    )
    special = f32([_NAN, 1, -_INF, _INF, -0.0, 0.0, 1e30])
    for name in ("abs", "sign", "round", "floor", "sqrt", "sin", "erf", "cbrt", "arctan", "tanh", "exp", "log1p"):
        yield EngineProgram(f"special-{name}", getattr(qb, name), (special,))
    for name in ("max", "min", "sum", "prod", "cumsum"):
        yield EngineProgram(f"special-{name}", getattr(qb, name), (special,))
        yield EngineProgram(f"infinite-{name}", getattr(qb, name), (f32([1, _INF, 2]),))
    grid = np.array([_NAN, 1.5, -2.0, -_INF, _INF, -0.0, 0.0, 3.0], np.float32)
    x, y = np.meshgrid(grid, grid)
    for name in ("add", "multiply", "divide", "mod", "power", "maximum", "minimum", "arctan2", "hypot", "logaddexp"):
        if hasattr(qb, name):
            yield EngineProgram(f"special-{name}", getattr(qb, name), (f32(x), f32(y)))
    yield EngineProgram("special-remainder", lambda x, y: x % y, (f32(x), f32(y)))
    yield EngineProgram("compared", lambda x, y: (x < y, x <= y, x > y, x >= y), (f32(x), f32(y)))
    yield EngineProgram(
        "tails",
        lambda x: (qb.erfc(x), qb.erf(x), qb.sinh(x), qb.grad(lambda v: qb.sum(qb.tanh(4.0 * v)))(x)),
        (f32(np.linspace(-5.0, 9.0, 99)),),
    )
    yield EngineProgram("near-zero", lambda x: (qb.erf(x), qb.cbrt(x), qb.expm1(x)), (f32(10.0 ** np.arange(-30, 0)),))
    many = f32(np.random.default_rng(0).uniform(0.5, 1.5, (30011, 3)))
    yield EngineProgram("long-sums", lambda x: (qb.sum(x), qb.sum(x, axis=0), qb.mean(x), qb.sum(x[:9000])), (many,))
    yield EngineProgram("bools", lambda m, x: (qb.where(m, x, -x), m, qb.all(m), qb.any(m)), (x == y, f32(x)))


EDGES = [
    p._replace(operands=tuple(qb.array(a) if isinstance(a, np.ndarray) else a for a in p.operands)) for p in _edges()
]


def _special() -> Iterator[EngineProgram]:
    for op, sample in {op.name: (op, op.samples[0]) for op, _ in CASES if op.special}.values():
        f = op_function(op, sample)
        rows = [special_operands(inputs, np.float32) for inputs, _ in op.special]
        yield EngineProgram(
            op.name, f, tuple(qb.array(np.stack([x.numpy() for x in c])) for c in zip(*rows, strict=True))
        )


SPECIAL = list(_special())
