"""Elementwise ops: values against mpmath, edges, derivative conventions, and derivatives that hold in the tails."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from op_helpers import kernel, trace_ops
from samples import tensor

import quabla as qb
from quabla.ops import elementwise as ew, transcendental as tr
from quabla.ops.dispatch import apply
from quabla.ops.records import unary_op
from quabla.ops.registry import REGISTRY

INF, NAN = math.inf, math.nan
MP = mpmath.MPContext()
MP.prec = 300


def call(op, inputs, width):
    operands = [tensor(np.asarray(x, bool if np.asarray(x).dtype == bool else width)) for x in inputs]
    return lambda *xs: apply(op, xs, op.samples[0].params), operands


SPECIAL = [(op, i, r) for op in REGISTRY.values() if op.elementwise for i, r in op.special]


@pytest.mark.parametrize("width", [np.float64, np.float32], ids=["f64", "f32"])
def test_special_values_hold_on_xla(width, engine):
    engine("xla")
    wrong = []
    for name in dict.fromkeys(op.name for op, _, _ in SPECIAL):
        rows = [(i, r) for op, i, r in SPECIAL if op.name == name]
        f, operands = call(
            REGISTRY[name], [np.array(column) for column in zip(*(i for i, _ in rows), strict=True)], width
        )
        for (inputs, want), got in zip(rows, qb.jit(f)(*operands).numpy(), strict=True):
            same = math.isnan(want) if np.isnan(got) else np.isclose(got, want, rtol=4 * np.finfo(width).eps, atol=0)
            if not same or (np.signbit(got) != np.signbit(want) and not np.isnan(got)):
                wrong.append((name, inputs, want, got))
    assert not wrong


@pytest.mark.parametrize("base", ["log2", "log10"])
def test_logarithms_of_powers_of_the_base_are_exact(base, engine):
    powers = np.ldexp(1.0, range(-1000, 1001)) if base == "log2" else np.array([float(f"1e{k}") for k in range(23)])
    exponents = np.arange(-1000, 1001) if base == "log2" else np.arange(23)
    op = REGISTRY[base]
    engine("xla")
    np.testing.assert_array_equal(kernel(op, (), powers), exponents)
    np.testing.assert_array_equal(qb.jit(lambda x: apply(op, (x,)))(tensor(powers)).numpy(), exponents)


def test_fmod_is_exact_for_distant_operands():
    x, y = np.array([1e300, -1e17, 5.3, 1e300]), np.array([3.0, 7.0, 1e-300, -1.7e-5])
    want = [math.fmod(a, b) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(kernel(ew.FMOD, (), x, y), want)


def test_hypot_neither_overflows_nor_underflows(engine):
    x, y = np.array([3e200, 3e-200, 1e308]), np.array([4e200, -4e-200, 1e308])
    want = [5e200, 5e-200, 1e308 * math.sqrt(2.0)]
    engine("xla")
    np.testing.assert_allclose(kernel(ew.HYPOT, (), x, y), want, rtol=4e-16)
    np.testing.assert_allclose(qb.jit(lambda x, y: ew.hypot(x, y))(tensor(x), tensor(y)).numpy(), want, rtol=4e-16)


# ---- powers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(13))
def test_integer_powers_of_integers_are_exact(n, engine):
    x = np.arange(-7.0, 8.0)
    want = [float(int(v) ** n) for v in x]
    np.testing.assert_array_equal(kernel(ew.POWI, (n,), x), want)
    engine("xla")
    np.testing.assert_array_equal(qb.jit(lambda v: v**n)(tensor(x)).numpy(), want)


def test_difference_of_equal_squares_is_zero(engine):
    x = np.random.default_rng(1).normal(size=50)
    for width in (np.float64, np.float32):
        a = tensor(x.astype(width))
        b = tensor(x.astype(width))
        assert not np.any((a**2 - b**2).numpy())
        for name in ("numpy", "xla"):
            engine(name)
            assert not np.any(qb.jit(lambda p, q: p**2 - q**2)(a, b).numpy())


@pytest.mark.parametrize("n", [2, 3, 5, 8, 11])
def test_float32_powers_are_rounded_once(n, engine):
    x = np.random.default_rng(2).uniform(0.5, 2.0, 200).astype(np.float32)
    want = (x.astype(np.float64) ** n).astype(np.float32)
    assert np.mean(kernel(ew.POWI, (n,), x) != want) < 0.01  # a double rounding may fall on a tie
    engine("xla")
    np.testing.assert_array_equal(qb.jit(lambda v: v**n)(tensor(x)).numpy(), kernel(ew.POWI, (n,), x))


def test_power_chooses_the_exact_op_for_integer_exponents():
    assert trace_ops(lambda x: x**3, (2,)) == ["powi"]
    assert trace_ops(lambda x: x**1, (2,)) == []
    assert trace_ops(lambda x: x**-1, (2,)) == ["constant", "pow"]
    assert trace_ops(lambda x: x**2.5, (2,)) == ["constant", "pow"]
    assert trace_ops(lambda x: 2.0**x, (2,)) == ["constant", "pow"]
    assert trace_ops(lambda x, y: x**y, (2,), (2,)) == ["pow"]


def test_powi_takes_non_negative_ints_only():
    x = qb.array([1.0, 2.0])
    with pytest.raises(OverflowError, match="not be negative, got -1"):
        ew.powi(x, -1)
    for exponent in (2.0, True, "2"):
        with pytest.raises(TypeError, match="must be an int"):
            ew.powi(x, exponent)


# ---- inference ----------------------------------------------------------------------------------


def test_errors_name_the_op_and_both_operands():
    a, b = qb.array([1.0, 2.0]), qb.array([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"add: shapes \[2\] and \[3\] do not broadcast .*test_elementwise.py"):
        ew.add(a, b)
    with pytest.raises(ValueError, match=r"mul: .*float64 and .*float32; .*astype"):
        ew.mul(a, qb.array([1.0, 2.0], dtype=qb.float32))
    with pytest.raises(ValueError, match="sin: needs a float array"):
        tr.sin(qb.array([True]))
    with pytest.raises(ValueError, match="compare: less needs float or int operands"):
        ew.compare(qb.array([True]), qb.array([False]), "less")
    with pytest.raises(ValueError, match=r"add: needs operands of one dtype, got tensor<2xf64> and tensor<2xf32>"):
        apply(ew.ADD, (a, qb.array([1.0, 2.0], dtype=qb.float32)))
    with pytest.raises(ValueError, match=r"kind must be one of less, .* got smaller"):
        apply(ew.COMPARE, (a, a), ("smaller",))
    with pytest.raises(ValueError, match="the mask must be bool"):
        apply(ew.WHERE, (a, a, a))


def test_where_takes_masks_of_both_kinds_and_bool_branches():
    m = qb.array([True, False])
    assert ew.where(qb.array([2.0, 0.0]), 1.0, 5.0).tolist() == [1.0, 5.0]
    assert ew.where(qb.array([NAN, -0.0]), 1.0, 5.0).tolist() == [1.0, 5.0]
    assert ew.where(m, True, False).dtype is qb.float64
    assert ew.where(m, qb.array([True, True]), False).tolist() == [True, False]
    assert ew.where(m, qb.array([1.0, 2.0], dtype=qb.float32), 0.0).dtype is qb.float32
    assert ew.where(m, qb.array([[1.0], [2.0]]), 0.0).shape == [2, 2]


def test_public_functions_have_names_and_docs():
    for function in (tr.sin, tr.sigmoid, ew.maximum, ew.gt, ew.abs):
        assert function.__doc__.startswith(("The ", "1 ", "The"))
    assert tr.sigmoid.__name__ == "sigmoid"
    assert ew.gt.__name__ == "gt"


def test_a_record_is_all_that_an_op_needs():
    op = unary_op("expsin", "exp(sin(x)).", lambda x: np.exp(np.sin(x)), lambda x, r: tr.cos(x) * r, "stablehlo.sine")
    try:
        f = lambda x: apply(op, (x,))  # noqa: E731
        second = qb.grad(qb.grad(f))(0.4)
        want = MP.diff(lambda x: MP.exp(MP.sin(x)), 0.4, 2)
        np.testing.assert_allclose(second.item(), float(want), rtol=1e-14)
    finally:
        del REGISTRY["expsin"]


# ---- folding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fun", "left"),
    [
        (lambda x: x * 1.0, []),
        (lambda x: 1.0 * x, []),
        (lambda x: x / 1.0, []),
        (lambda x: x - 0.0, []),
        (lambda x: -(ew.neg(x)), []),
        (lambda x: x * -1.0, ["neg"]),
        (lambda x: x + -x, ["sub"]),
        (lambda x: -(2.0 * x), ["constant", "mul"]),
        (lambda x: x**0, ["constant"]),
        (lambda x: ew.where(qb.array([True, True]), x, x * 2.0), []),
        (lambda x: ew.where(ew.compare(x, 0.0, "less"), x, x), []),
        (lambda x: x * 0.0, ["constant", "mul"]),
        (lambda x: x + 0.0, ["constant", "add"]),
        (lambda x: 0.0 - x, ["constant", "sub"]),
        (lambda x: x - -0.0, ["constant", "sub"]),
    ],
)
def test_folds_keep_every_bit(fun, left):
    assert trace_ops(fun, (2,)) == left


@pytest.mark.parametrize(
    "fun", [lambda x: x * np.ones((3, 1)), lambda x: x / np.ones((3, 1)), lambda x: x - np.zeros((3, 1))]
)
def test_folds_keep_the_broadcast(fun):
    x = qb.array([1.0, 2.0])
    assert qb.jit(fun)(x).shape == [3, 2]
    assert qb.jit(lambda x: ew.where(qb.array([[True]] * 3), x, 0.0))(x).tolist() == [[1.0, 2.0]] * 3


# ---- derivatives --------------------------------------------------------------------------------


def derivatives(fun, x, order):
    """The derivative of this order in every mixture of forward and reverse mode."""

    def forward(f):
        return lambda y: qb.jvp(f, (y,), (1.0,))[1]

    found = []
    for modes in range(2**order):
        f = fun
        for k in range(order):
            f = qb.grad(f) if modes >> k & 1 else forward(f)
        found.append(f(qb.array(x)).item())
    return found


#: (function, point, first derivative, second derivative): BEHAVIOUR's table of conventions.
CONVENTIONS = {
    "abs": (lambda x: ew.abs(x), 0.0, 0.0, 0.0),
    "sqrt": (lambda x: ew.sqrt(x), 0.0, 0.0, 0.0),
    "sqrt of -0": (lambda x: ew.sqrt(x), -0.0, 0.0, 0.0),
    "sqrt of a negative": (lambda x: ew.sqrt(x), -1.0, NAN, NAN),
    "cbrt": (lambda x: ew.cbrt(x), 0.0, INF, -INF),
    "sign": (lambda x: ew.sign(x) + x * 0.0, 0.5, 0.0, 0.0),
    "floor": (lambda x: ew.floor(x) + x * 0.0, 1.0, 0.0, 0.0),
    "ceil": (lambda x: ew.ceil(x) + x * 0.0, 1.0, 0.0, 0.0),
    "round": (lambda x: ew.round(x) + x * 0.0, 0.5, 0.0, 0.0),
    "maximum with itself": (lambda x: ew.maximum(x, x * x), 1.0, 1.5, 1.0),
    "maximum with a number": (lambda x: ew.maximum(x, 0.0), 0.0, 0.5, 0.0),
    "minimum with a number": (lambda x: ew.minimum(0.0, x), 0.0, 0.5, 0.0),
    "x**0.5": (lambda x: x**0.5, 0.0, 0.0, 0.0),
    "x**-1": (lambda x: x**-1, 0.0, 0.0, 0.0),
    "x**0": (lambda x: x**0.0 + x * 0.0, 0.0, 0.0, 0.0),
    "x**1": (lambda x: x**1.0, 0.0, 1.0, 0.0),
    "x**1.5": (lambda x: x**1.5, 0.0, 0.0, 0.0),
    "x**2.0": (lambda x: x**2.0, 0.0, 0.0, 2.0),
    "x**3 of a negative": (lambda x: x**3.0, -2.0, 12.0, -12.0),
    "x**0.5 of a negative": (lambda x: x**0.5, -2.0, NAN, NAN),
    "0**y": (lambda y: qb.array(0.0) ** y, 1.5, 0.0, 0.0),
    "0**y, y < 0": (lambda y: qb.array(0.0) ** y, -1.5, 0.0, 0.0),
    "(-2)**y, whole y": (lambda y: qb.array(-2.0) ** y, 3.0, 0.0, 0.0),
    "(-2)**y": (lambda y: qb.array(-2.0) ** y, 0.5, NAN, 0.0),
    "1**y": (lambda y: 1.0**y + y * 0.0, 2.0, 0.0, 0.0),
    "2**y": (lambda y: 2.0**y, 3.0, 8 * math.log(2), 8 * math.log(2) ** 2),
    "hypot": (lambda x: ew.hypot(x, 0.0), 0.0, 0.0, 0.0),
    "atan2 in y": (lambda y: ew.atan2(y, 0.0), 0.0, 0.0, 0.0),
    "atan2 in x": (lambda x: ew.atan2(0.0, x), 0.0, 0.0, 0.0),
    "fmod in x": (lambda x: ew.fmod(x, 2.0), 7.5, 1.0, 0.0),
    "fmod in y": (lambda y: ew.fmod(7.5, y), 2.0, -3.0, 0.0),
    "fmod in y, negative": (lambda y: ew.fmod(-7.5, y), 2.0, 3.0, 0.0),
    "fmod of a multiple": (lambda y: ew.fmod(6.0, y), 2.0, -3.0, 0.0),
    "where": (lambda x: ew.where(ew.compare(x, 0.0, "greater"), x, 0.0), 0.0, 0.0, 0.0),
    "log": (lambda x: tr.log(x), 0.0, INF, -INF),
    "log1p": (lambda x: tr.log1p(x), -1.0, INF, -INF),
    "arcsin": (lambda x: tr.arcsin(x), 1.0, INF, INF),
    "arcsin from below": (lambda x: tr.arcsin(x), -1.0, INF, -INF),
    "arccos": (lambda x: tr.arccos(x), 1.0, -INF, -INF),
    "arccosh": (lambda x: tr.arccosh(x), 1.0, INF, -INF),
    "arctanh": (lambda x: tr.arctanh(x), 1.0, INF, INF),
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_derivative_conventions_hold_in_every_mode(name):
    fun, x, first, second = CONVENTIONS[name]
    np.testing.assert_allclose(derivatives(fun, x, 1), [first] * 2, rtol=1e-15)
    if not (math.isnan(first) and name.startswith("(-2)")):  # the derivative by an exponent is no function there
        np.testing.assert_allclose(derivatives(fun, x, 2), [second] * 4, rtol=1e-15)


@pytest.mark.parametrize("name", ["sqrt", "x**0.5", "x**-1", "x**1.5", "hypot", "atan2 in y"])
def test_conventions_at_zero_hold_for_the_third_derivative(name):
    fun, x, _, _ = CONVENTIONS[name]
    assert derivatives(fun, x, 3) == [0.0] * 8


@pytest.mark.parametrize("y", [-1.5, 0.0, 0.5, 1.0, 2.0])
def test_mixed_derivatives_of_a_power_at_zero_are_finite(y):
    h = qb.hessian(lambda v: v[0] ** v[1])(qb.array([0.0, y])).numpy()
    assert np.isfinite(h).all()


#: name: (function, the function in mpmath, points in the tails)
TAILS = {
    "tanh": (tr.tanh, MP.tanh, [20.0, -20.0, 300.0, 1e-9]),
    "sigmoid": (tr.sigmoid, lambda x: 1 / (1 + MP.exp(-x)), [-700.0, -40.0, 40.0, 700.0]),
    "softplus": (tr.softplus, lambda x: MP.log1p(MP.exp(x)), [-700.0, -40.0, 30.0]),
    "expm1": (tr.expm1, MP.expm1, [-50.0, 1e-9]),
    "arcsinh": (tr.arcsinh, MP.asinh, [1e60, -1e60, 1e-9]),
    "arccosh": (tr.arccosh, MP.acosh, [1e60, 1 + 1e-10]),
    "arctanh": (tr.arctanh, MP.atanh, [1 - 1e-10, 1e-9]),
    "arctan": (tr.arctan, MP.atan, [1e60, -1e60, 1e-9]),
    "arcsin": (tr.arcsin, MP.asin, [1 - 1e-10, 1e-9]),
    "arccos": (tr.arccos, MP.acos, [1 - 1e-10, -1 + 1e-10]),
    "log": (tr.log, MP.log, [1e-60, 1e60]),
    "log2": (tr.log2, lambda x: MP.log(x, 2), [1e-60, 1e60]),
    "log1p": (tr.log1p, MP.log1p, [1e60, -1 + 1e-10]),
    "sqrt": (ew.sqrt, MP.sqrt, [1e-60, 1e60]),
    "cbrt": (ew.cbrt, lambda x: MP.sign(x) * MP.cbrt(abs(x)), [1e-60, -1e60]),
    "erf": (tr.erf, MP.erf, [5.0, -8.0, 1e-9]),
    "erfc": (tr.erfc, MP.erfc, [5.0, 8.0]),
    "tan": (tr.tan, MP.tan, [1.5707963, 1e-9]),
    "x**-2.5": (lambda x: x**-2.5, lambda x: x**-2.5, [1e-40, 1e40]),
}


def exact_derivatives(fun, x):
    with MP.workprec(3000):
        step = MP.mpf(2) ** (MP.floor(MP.log(min(abs(MP.mpf(x)), abs(abs(MP.mpf(x)) - 1)) or 1, 2)) - 600)
        f = [fun(MP.mpf(x) + k * step) for k in (-2, -1, 0, 1, 2)]
        first = (f[3] - f[1]) / (2 * step)
        second = (f[3] - 2 * f[2] + f[1]) / step**2
        third = (f[4] - 2 * f[3] + 2 * f[1] - f[0]) / (2 * step**3)
        return [float(d) for d in (first, second, third)]


@pytest.mark.parametrize("name", TAILS)
def test_derivatives_keep_their_digits_in_the_tails(name):
    fun, exact, points = TAILS[name]
    for x in points:
        for order, want in enumerate(exact_derivatives(exact, x), 1):
            small = abs(want) * abs(x) ** (order - 1) < 1e-12 and abs(x) < 1e-6  # odd functions: zero but for rounding
            np.testing.assert_allclose(
                derivatives(fun, x, order),
                want,
                rtol=2e-13,
                atol=1e-12 if small else 0,
                err_msg=f"order {order} at {x}",
            )


@pytest.mark.parametrize(
    ("fun", "x", "want"),
    [
        (tr.tanh, 20.0, 1.6993417021166356e-17),
        (tr.arcsinh, 1e200, 1e-200),
        (tr.softplus, 1000.0, 1.0),
        (tr.sigmoid, -1000.0, 0.0),
        (tr.arctan, 1e150, 1e-300),
        (lambda x: ew.atan2(x, 1e200), 1e200, 5e-201),
        (lambda x: ew.hypot(x, 1e200), 1e200, math.sqrt(0.5)),
        (lambda x: ew.hypot(x, 0.0), 1e-320, 1.0),
    ],
)
def test_first_derivative_in_the_far_tail(fun, x, want):
    np.testing.assert_allclose(derivatives(fun, x, 1), [want] * 2, rtol=5e-16)


FAR = {
    name: (getattr(tr, name, None) or getattr(ew, name), points)
    for name, points in {
        "sin": (1e300,), "tanh": (1e308, -1e308), "sech2": (1e308,), "sigmoid": (1e308, -1e308), "softplus": (1e308, -1e308),
        "arctan": (1e308,), "arcsinh": (1e308,), "arccosh": (1e308,), "log": (1e308,), "log1p": (1e308,), "log10": (1e308,),
        "sqrt": (1e308,), "cbrt": (1e308,), "rsqrt": (1e308,), "erf": (1e200, -1e200), "erfc": (1e200, -1e200),
        "exp": (-1e308,), "expm1": (-1e308,), "abs": (1e308,),
    }.items()
}  # fmt: skip


@pytest.mark.parametrize("name", FAR)
def test_no_derivative_is_nan_at_a_huge_argument(name):
    fun, points = FAR[name]
    for x in points:
        for order in (1, 2, 3):
            assert not np.isnan(derivatives(fun, x, order)).any(), f"order {order} at {x}"


def test_an_unselected_branch_leaks_nothing():
    def fun(x):
        positive = ew.compare(x, 0.0, "greater")
        return ew.where(positive, ew.sqrt(ew.where(positive, x, 1.0)), x * x)

    x = qb.array(-0.5)
    assert qb.grad(fun)(x).item() == -1.0
    assert qb.grad(qb.grad(fun))(x).item() == 2.0


def test_extrema_share_a_tie_equally_and_pass_nan_on():
    x, y = qb.array([1.0, 2.0, 3.0, NAN]), qb.array([1.0, 3.0, 2.0, 1.0])
    gx, gy = qb.grad(lambda x, y: qb.sum(ew.maximum(x, y)), argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(gx.numpy(), [0.5, 0.0, 1.0, NAN])
    np.testing.assert_array_equal(gy.numpy(), [0.5, 1.0, 0.0, NAN])
    gx, gy = qb.grad(lambda x, y: qb.sum(ew.minimum(x, y)), argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(gx.numpy(), [0.5, 1.0, 0.0, NAN])
    np.testing.assert_array_equal(gy.numpy(), [0.5, 0.0, 1.0, NAN])


def test_tanh_derivative_graphs_are_small():
    assert trace_ops(qb.grad(lambda x: tr.tanh(x)), ()) == ["sech2"]
    assert len(trace_ops(qb.grad(qb.grad(lambda x: tr.tanh(x))), ())) == 5
