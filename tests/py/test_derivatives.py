"""Derivatives at special points and in the tails: exact ones, conventions, masks and NaN, in every mode."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from references import INF, MP, NAN, NORMAL, UNARY, derivatives
from samples import special_operands

import quabla as qb
from quabla.ops.dispatch import apply
from quabla.ops.registry import REGISTRY


def forward(f):
    return lambda x: qb.jvp(f, (x,), (1.0,))[1]


def in_every_mode(f, x, order):
    """The derivative of this order of a function of a number, for each sequence of forward and reverse mode."""
    found = []
    for modes in itertools.product([forward, qb.grad], repeat=order):
        g = f
        for mode in modes:
            g = mode(g)
        found.append(g(qb.array(x)).item())
    return found


def assert_derivatives(f, x, wanted):
    """Relative to 1e-12; what is lost is a number that float64 has no place for, or not all digits of."""
    for order, want in enumerate(wanted, 1):
        got = in_every_mode(f, x, order)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=4 * NORMAL, err_msg=f"order {order} at {x}")


SMOOTH = [n for n in UNARY if REGISTRY[n].partials is not None and n not in ("neg", "abs")]
#: Where one takes no tail as such: the largest number at which functions that end in exponentials are asked.
POINTS = (
    5e-324, -NORMAL, 1e-200, -1e-100, 1e-9, 0.3, -0.9, 1 - 1e-10, -1 + 1e-10, 1 + 1e-10, 1.5, -3.0, 10.0, -20.0, 40.0,
    -300.0, 1e8, -1e60, 1e155, 1e200, 1.7976931348623157e308,
)  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_of_ops_are_exact_in_the_tails_and_near_zero(name):
    op, reference = REGISTRY[name], UNARY[name]
    low, high = op.domain[0]
    for x in POINTS:
        if (
            name == "bell" and 0.9 < abs(x) < 1.1
        ):  # turns there: its second derivative is 0 but for what rounding leaves
            continue
        if low < x < high and abs(x) <= min(reference.far, 700.0 if name in ("sinh", "cosh", "exp", "expm1") else INF):
            wanted = derivatives(reference.function, x, 2)
            assert_derivatives(
                lambda v: apply(op, (v,)), x, [w if abs(w) < 1e308 else math.copysign(INF, w) for w in wanted]
            )


def _phi(x):
    return MP.erfc(-x / MP.sqrt(2)) / 2


def _hyperbolic_gelu(x):
    return x / (1 + MP.exp(-2 * MP.sqrt(2 / MP.pi) * (x + MP.mpf("0.044715") * x**3)))


COMPOSED = {
    "silu": (qb.silu, lambda x: x / (1 + MP.exp(-x)), (-700.0, -40.0, 1e-9, 40.0, 900.0)),
    "gelu": (qb.gelu, _hyperbolic_gelu, (-20.0, -5.0, 1e-9, 5.0, 20.0, 900.0)),
    "exact gelu": (lambda x: qb.gelu(x, approximate=False), lambda x: x * _phi(x), (-37.0, -9.3, -5.0, 1e-9, 5.0, 20.0)),
    "exp2": (qb.exp2, lambda x: MP.mpf(2) ** x, (-1000.0, 1e-9, 900.0)),
    "reciprocal": (qb.reciprocal, lambda x: 1 / x, (1e-100, -1e-100, 1e100, -1e100)),
    "x**2.5": (lambda x: x**2.5, lambda x: x ** MP.mpf(2.5), (1e-100, 1e100)),
    "x**-0.5": (lambda x: x**-0.5, lambda x: x ** MP.mpf(-0.5), (1e-100, 1e100)),
    "log_softmax": (lambda x: qb.log_softmax(qb.stack([x, x * 0.0]))[0], lambda x: -MP.log1p(MP.exp(-x)), (-300.0, -30.0, 1.0)),
    "logaddexp": (lambda x: qb.logaddexp(x, 0.0), lambda x: MP.log1p(MP.exp(x)), (-300.0, -30.0, 30.0)),
    "hypot": (lambda x: qb.hypot(x, 1.0), lambda x: MP.sqrt(1 + x * x), (1e-100, 1e-9, 3.0, 1e8, -1e50)),
    "atan2 by x1": (lambda y: qb.atan2(y, 1.0), MP.atan, (1e-9, 1e60, -1e60)),
    "atan2 by x2": (lambda x: qb.atan2(1.0, x), lambda x: MP.atan2(1, x), (1e-9, 1e60, -1e60)),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSED)
def test_derivatives_of_composed_functions_are_exact_in_the_tails(name):
    f, exact, points = COMPOSED[name]
    for x in points:
        assert_derivatives(f, x, derivatives(exact, x))


@pytest.mark.parametrize(
    ("f", "x", "want"),
    [
        (qb.tanh, 20.0, 1.6993417021166356e-17),
        (qb.sigmoid, 40.0, 4.248354255291589e-18),
        (qb.expm1, -40.0, 4.248354255291589e-18),
        (qb.arctan, 1e8, 1e-16),
        (qb.arcsinh, 1e200, 1e-200),
        (lambda x: qb.hypot(x, 1e200), 1e200, math.sqrt(0.5)),
        (lambda x: qb.norm(qb.stack([x, x])), 1e-200, math.sqrt(2.0)),
    ],
)
def test_first_derivatives_in_the_tails(f, x, want):
    np.testing.assert_allclose(in_every_mode(f, x, 1), want, rtol=1e-15)


#: Derivatives at infinity are the limits.
@pytest.mark.parametrize("x", [INF, -INF])
@pytest.mark.parametrize(
    ("f", "below", "above"),
    [
        (qb.tanh, 0.0, 0.0), (qb.sigmoid, 0.0, 0.0), (qb.softplus, 0.0, 1.0), (qb.exp, 0.0, INF), (qb.expm1, 0.0, INF),
        (qb.arctan, 0.0, 0.0), (qb.arcsinh, 0.0, 0.0), (qb.erf, 0.0, 0.0), (qb.erfc, 0.0, 0.0), (qb.cbrt, 0.0, 0.0),
        (qb.silu, 0.0, 1.0), (qb.gelu, 0.0, 1.0), (lambda x: qb.gelu(x, approximate=False), 0.0, 1.0),
    ],
)  # fmt: skip
def test_first_derivatives_at_infinity(f, below, above, x):
    assert in_every_mode(f, x, 1) == [above if x > 0 else below] * 2


def test_gates_at_infinity():
    for f in (qb.silu, qb.gelu, lambda x: qb.gelu(x, approximate=False)):
        np.testing.assert_array_equal(f(qb.array([-INF, -0.0, INF, NAN])).numpy(), [0.0, -0.0, INF, NAN])


# ---- conventions --------------------------------------------------------------------------------

STATED = [(op, c) for op in REGISTRY.values() for c in op.conventions if c.at]


@pytest.mark.parametrize(("op", "convention"), STATED, ids=[f"{op.name} at {c.where}" for op, c in STATED])
def test_conventions_of_records_hold_in_both_modes(op, convention):
    operands = special_operands(convention.at, np.float64)
    params = op.samples[0].params
    for i, want in enumerate(convention.slopes):
        if operands[i].dtype is qb.bool_:
            continue
        alone = lambda x, i=i: apply(op, (*operands[:i], x, *operands[i + 1 :]), params)  # noqa: E731
        assert in_every_mode(alone, convention.at[i], 1) == [want, want]


def test_steps_have_no_derivative():
    for op in REGISTRY.values():
        if any(c.where == "everywhere" for c in op.conventions):
            assert not op.differentiable


#: The functions of the second table in docs/conventions.md: (function, point, derivative).
CHOICES = {
    "relu": (qb.relu, [0.0], [0.0]),
    "clip": (lambda x: qb.sum(qb.clip(x, -1.0, 1.0)), [-1.0, 0.5, 1.0], [0.0, 1.0, 0.0]),
    "norm": (qb.norm, [0.0, 0.0], [0.0, 0.0]),
    "std": (qb.std, [2.0, 2.0], [0.0, 0.0]),
    "logaddexp": (lambda x: qb.logaddexp(x[0], x[1]), [3.0, 3.0], [0.5, 0.5]),
    "logsumexp": (qb.logsumexp, [-INF, -INF], [0.0, 0.0]),
    "prod": (qb.prod, [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    "nan_to_num": (lambda x: qb.sum(qb.nan_to_num(x)), [NAN, INF, 1.0], [0.0, 0.0, 1.0]),
    "sort": (lambda x: qb.sort(x)[0], [2.0, 2.0], [1.0, 0.0]),
    "mod": (lambda x: qb.sum(qb.mod(x, 2.0)), [4.0, 5.0], [0.0, 1.0]),
}


@pytest.mark.parametrize("name", CHOICES)
def test_conventions_of_functions_hold_in_both_modes(name):
    f, x, want = CHOICES[name]
    x = qb.array(x)
    scalar = lambda v: qb.sum(f(v))  # noqa: E731
    np.testing.assert_array_equal(qb.grad(scalar)(x).numpy(), want)
    along = [qb.jvp(scalar, (x,), (qb.array(t),))[1].item() for t in np.eye(x.size)]
    np.testing.assert_array_equal(along, want)


# ---- masks and NaN ------------------------------------------------------------------------------

MASKED = {
    "log": lambda x: qb.where(x > 0.0, qb.log(x), 0.0),
    "sqrt": lambda x: qb.where(x > 0.0, qb.sqrt(x), 0.0),
    "division": lambda x: qb.where(x > 0.0, 1.0 / x, 0.0),
    "power": lambda x: qb.where(x > 0.0, x**-1.5, 0.0),
    "the other way": lambda x: qb.where(x <= 0.0, 0.0, qb.log(x)),
    "a chain": lambda x: qb.where(x > 0.0, 3.0 * qb.exp(-(qb.log(x) ** 2)) / x, 0.0),
    "two uses": lambda x: qb.where(x > 0.0, qb.log(x) * qb.log(x) + qb.sqrt(x), 0.0),
    "two masks": lambda x: qb.where(x > 0.0, qb.where(x < 9.0, qb.log(x), 0.0), 0.0),
    "another branch": lambda x: qb.where(x > 0.0, qb.log(x), x * 0.0),
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("x", [0.0, -1.0, -INF])
def test_what_a_mask_hides_has_no_derivative(name, x):
    if name == "another branch" and x == -INF:
        return
    for order in (1, 2):
        np.testing.assert_array_equal(in_every_mode(MASKED[name], x, order), 0.0)


@pytest.mark.parametrize("name", MASKED)
def test_what_a_mask_shows_has_its_derivative(name):
    plain = {
        "sqrt": qb.sqrt,
        "division": lambda x: 1.0 / x,
        "power": lambda x: x**-1.5,
        "a chain": lambda x: 3.0 * qb.exp(-(qb.log(x) ** 2)) / x,
        "two uses": lambda x: qb.log(x) * qb.log(x) + qb.sqrt(x),
    }.get(name, qb.log)
    for order in (1, 2, 3):
        np.testing.assert_allclose(
            in_every_mode(MASKED[name], 0.7, order), in_every_mode(plain, 0.7, order), rtol=1e-13
        )


@pytest.mark.parametrize("weight", [1.0, 2.0])
def test_masks_of_rows_hide_sums(weight):
    def f(x):
        return qb.sum(weight * qb.where(qb.min(x, 1) > 0.0, qb.sum(qb.log(x), 1), 0.0))

    x = qb.array([[1.0, 2.0], [0.0, -1.0]])
    np.testing.assert_array_equal(qb.grad(f)(x).numpy(), weight * np.array([[1.0, 0.5], [0.0, 0.0]]))


@pytest.mark.parametrize("f", [qb.max, qb.min])
def test_extrema_of_nan_have_the_derivative_nan_in_both_modes(f):
    x = qb.array([[1.0, NAN, 2.0], [3.0, 3.0, 3.0]])
    total = lambda v: qb.sum(f(v, 1))  # noqa: E731
    want = [[NAN] * 3, [1 / 3] * 3]
    np.testing.assert_allclose(qb.grad(total)(x).numpy(), want)
    rows = lambda v: f(v, 1)  # noqa: E731
    _, along = qb.jvp(rows, (x,), (qb.ones((2, 3)),))
    np.testing.assert_allclose(along.numpy(), [NAN, 1.0])


# ---- smooth functions of functions that are not -------------------------------------------------


def test_fourth_derivative_of_a_bell_curve():
    assert in_every_mode(lambda x: qb.exp(-(x**2.0)), 0.0, 4) == [12.0] * 16


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_powers_at_zero_have_every_derivative(n):
    for exponent in (n, float(n)):
        for order in range(1, n + 2):
            f = lambda x, p=exponent: x**p  # noqa: E731
            for _ in range(order):
                f = qb.grad(f)
            assert f(0.0).item() == (math.factorial(n) if order == n else 0.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda v: qb.norm(v) ** 2,
        lambda v: qb.norm(v) ** 2.0,
        lambda v: qb.norm(v) * qb.norm(v),
        lambda v: qb.square(qb.linalg.norm(v)),
        lambda v: qb.sum(qb.norm(v, axis=0, keepdims=True) ** 2),
        lambda v: qb.norm(qb.reshape(v, (1, 2)), axis=1)[0] ** 2,
    ],
)
def test_square_of_a_norm_is_smooth_at_the_origin(f):
    assert qb.hessian(f)(qb.zeros(2)).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    x = qb.array([3.0, -4.0])
    np.testing.assert_allclose(qb.grad(f)(x).numpy(), [6.0, -8.0], rtol=1e-15)
    np.testing.assert_allclose(qb.jit(f)(x).item(), 25.0, rtol=1e-15)
    np.testing.assert_allclose(qb.grad(f)(qb.array([1e200, 0.0])).numpy(), [2e200, 0.0], rtol=1e-15)


def test_square_of_a_norm_of_single_elements_is_smooth_too():
    rows = lambda v: qb.sum(qb.norm(qb.reshape(v, (-1, 1)), axis=1) ** 2)  # noqa: E731
    for f, n in ((lambda v: qb.norm(v) ** 2, 1), (lambda v: qb.norm(v) * qb.norm(v), 1), (rows, 1), (rows, 3)):
        assert qb.hessian(f)(qb.zeros(n)).tolist() == (2.0 * np.eye(n)).tolist()
        x = qb.array(np.arange(1.0, n + 1))
        assert qb.jit(f)(x).item() == float(np.sum(x.numpy() ** 2))
        assert qb.grad(f)(x).tolist() == (2.0 * x.numpy()).tolist()


def test_variance_and_deviation_of_equal_numbers():
    x = qb.array([2.0, 2.0, 2.0])
    assert qb.grad(qb.var)(x).tolist() == qb.grad(qb.std)(x).tolist() == [0.0] * 3
    want = 2 / 3 * (np.eye(3) - 1 / 3)
    np.testing.assert_allclose(qb.hessian(qb.var)(x).numpy(), want, rtol=1e-14)


def test_products_with_zeros_are_exact_to_every_order():
    x = qb.array([0.0, 0.0, 3.0])
    assert qb.grad(qb.prod)(x).tolist() == [0.0] * 3
    assert qb.hessian(qb.prod)(x).tolist() == [[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    third = qb.jacobian(qb.hessian(qb.prod))(qb.zeros(3)).numpy()
    want = np.zeros((3, 3, 3))
    for p in itertools.permutations(range(3)):
        want[p] = 1.0
    np.testing.assert_array_equal(third, want)


def test_softmax_of_minus_infinity():
    x = qb.array([-INF, 0.0, 0.0])
    assert qb.softmax(x).tolist() == [0.0, 0.5, 0.5]
    assert qb.grad(lambda v: qb.softmax(v)[1])(x).tolist() == [0.0, 0.25, -0.25]
    assert qb.grad(lambda v: qb.log_softmax(v)[1])(x).tolist() == [0.0, 0.5, -0.5]
    assert qb.logaddexp(qb.array(-INF), -INF).item() == -INF
    assert qb.grad(lambda v: qb.logaddexp(v, -INF))(-INF).item() in (0.0, 0.5, 1.0)
