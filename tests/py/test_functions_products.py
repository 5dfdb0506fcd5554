"""quabla.functions.products and contraction: values against NumPy, derivatives, kinds of errors."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from op_helpers import central, numbers

import quabla as qb


def agrees(f, theirs, *arrays, rtol=1e-12):
    """``f`` eagerly and compiled against NumPy's value, its gradients against central differences."""
    wanted = theirs(*arrays)
    values = [qb.array(x) for x in arrays]
    for got in (f(*values), qb.jit(f)(*values)):
        assert got.shape == list(np.shape(wanted))
        assert_allclose(got.numpy(), wanted, rtol=rtol, atol=1e-13)
    weights = numbers(*np.shape(wanted), seed=9)
    gradients = qb.grad(lambda *xs: qb.sum(f(*xs) * weights), argnums=tuple(range(len(arrays))))(*values)
    for i, (x, g) in enumerate(zip(arrays, gradients, strict=True)):

        def along(t, i=i):
            return np.sum(theirs(*arrays[:i], t, *arrays[i + 1 :]) * weights)

        assert_allclose(g.numpy(), central(along, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("a", "b"),
    [((), (2,)), ((3,), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 3), (4, 3, 2))],
)
def test_dot(a, b):
    agrees(qb.dot, np.dot, numbers(*a), numbers(*b, seed=1))


@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [
        ((2, 3), (2, 3), 2),
        ((2, 3), (3, 4), 1),
        ((2,), (3,), 0),
        ((2, 3), (4, 3), ([1], [1])),
        ((2, 3, 4), (4, 2, 5), ([0, 2], [1, 0])),
        ((2, 3), (3, 2), (-1, 0)),
    ],
)
def test_tensordot(a, b, axes):
    agrees(
        lambda x, y: qb.tensordot(x, y, axes), lambda x, y: np.tensordot(x, y, axes), numbers(*a), numbers(*b, seed=1)
    )


@pytest.mark.parametrize(("a", "b"), [((2,), (3,)), ((2, 2), (3,)), ((2, 3), (2, 2)), ((2,), (2, 1, 2))])
def test_outer_and_kron(a, b):
    x, y = numbers(*a), numbers(*b, seed=1)
    agrees(qb.outer, np.outer, x, y)
    agrees(qb.kron, np.kron, x, y)


def three(x):
    return np.concatenate([x, np.zeros((*x.shape[:-1], 3 - x.shape[-1]))], -1)


@pytest.mark.parametrize(
    ("a", "b"), [((3,), (3,)), ((2, 3), (3,)), ((2,), (3,)), ((4, 3), (4, 2)), ((2, 1, 3), (4, 3))]
)
def test_cross(a, b):
    agrees(qb.cross, lambda x, y: np.cross(three(x), three(y)), numbers(*a), numbers(*b, seed=1))


def test_cross_of_plane_vectors_and_other_axes():
    x, y = numbers(2, 4), numbers(2, 4, seed=1)
    agrees(lambda a, b: qb.cross(a, b, axis=0), lambda a, b: a[0] * b[1] - a[1] * b[0], x, y)
    x, y = numbers(3, 4), numbers(4, 3, seed=1)
    f = {"axisa": 0, "axisb": 1, "axisc": 0}
    agrees(lambda a, b: qb.cross(a, b, **f), lambda a, b: np.cross(a, b, **f), x, y)


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("...ij,...jk->...ik", (5, 2, 3), (1, 3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ji", (2, 3)),
    ("ij->ji", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->ij", (3, 3, 2)),
    ("iiji->ij", (2, 2, 3, 2)),
    ("iijj->", (2, 2, 3, 3)),
    ("i,i", (3,), (3,)),
    ("i,j->ji", (3,), (2,)),
    ("i,j->", (3,), (2,)),
    ("bi,bi->b", (2, 3), (2, 3)),
    ("bi,bj->bij", (2, 3), (2, 4)),
    ("bij,bjk,bk->bi", (2, 3, 4), (2, 4, 2), (2, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ijk->", (2, 3, 4)),
    ("ijk->j", (2, 3, 4)),
    ("...->...", (2, 3)),
    ("...i->...", (2, 3)),
    ("i...->...i", (2, 3, 4)),
    ("i...j,j...->i...", (2, 5, 3), (3, 5)),
    ("...,...", (2, 3), (3,)),
    ("ii,i->i", (3, 3), (3,)),
    ("ij,jk->ik", (2, 1), (3, 4)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("bA,Ab", (2, 3), (3, 2)),
    ("ba", (2, 3)),
    (",i->i", (), (3,)),
    ("ab,cd,ef->", (2, 2), (2, 1), (1, 2)),
    ("abc,bd,dc,a->d", (2, 3, 2), (3, 2), (2, 2), (2,)),
]


@pytest.mark.parametrize(("equation", "shapes"), [(e[0], e[1:]) for e in EQUATIONS], ids=[e[0] for e in EQUATIONS])
def test_einsum(equation, shapes):
    arrays = [numbers(*s, seed=i) for i, s in enumerate(shapes)]
    agrees(lambda *xs: qb.einsum(equation, *xs), lambda *xs: np.einsum(equation, *xs), *arrays)
    assert_array_equal(qb.einsum(equation, arrays).numpy(), qb.einsum(equation, *arrays).numpy())


@given(st.data())
def test_einsum_of_random_equations(data):
    extents = {"a": 2, "b": 3, "c": 1, "d": 2}
    terms = data.draw(st.lists(st.text("abcd", min_size=1, max_size=3), min_size=1, max_size=3))
    arrays = [numbers(*[extents[c] for c in t], seed=i) for i, t in enumerate(terms)]
    output = data.draw(st.permutations(sorted(set("".join(terms)))))
    output = "".join(output[: data.draw(st.integers(0, len(output)))])
    for equation in (f"{','.join(terms)}->{output}", ",".join(terms)):
        assert_allclose(qb.einsum(equation, *arrays).numpy(), np.einsum(equation, *arrays), rtol=1e-12, atol=1e-13)


def test_einsum_of_empty_arrays_and_single_precision():
    assert_array_equal(qb.einsum("ij,jk->ik", qb.zeros((2, 0)), qb.zeros((0, 3))).numpy(), np.zeros((2, 3)))
    one = qb.ones((2, 2), qb.float32)
    assert qb.einsum("ij,jk", one, one).dtype is qb.float32
    with pytest.raises(ValueError, match="astype"):
        qb.einsum("ij,jk", one, qb.ones((2, 2)))


def test_einsum_of_a_matrix_product_is_one_matmul():
    text = qb.jit(lambda x, y: qb.einsum("ij,jk->ik", x, y)).lower(qb.ones((2, 3)), qb.ones((3, 4))).as_text()
    assert text.count("matmul(") == 1
    assert text.count("transpose(") == text.count("reshape(") == 0


def test_einsum_takes_the_cheapest_pairs_first():
    x, v = qb.ones((50, 50)), qb.ones(50)
    text = qb.jit(lambda a, b, c: qb.einsum("ij,jk,k->i", a, b, c)).lower(x, x, v).as_text()
    assert "50x50xf64" not in text.replace("input", "").split("matmul", 1)[1]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3)]),
        ("ij", [(2,)]),
        ("i", [(2, 3)]),
        ("ij,jk", [(2, 3), (2, 4)]),
        ("ij->ijk", [(2, 3)]),
        ("ij->ii", [(2, 3)]),
        ("i1", [(2, 3)]),
        ("i->->i", [(2,)]),
        ("...i->i", [(2, 3)]),
        ("ii", [(2, 3)]),
    ],
)
def test_einsum_rejects_equations_that_do_not_fit(equation, shapes):
    with pytest.raises(ValueError, match="einsum"):
        qb.einsum(equation, *[qb.ones(s) for s in shapes])


def test_einsum_wants_a_string():
    with pytest.raises(TypeError, match="string"):
        qb.einsum(qb.ones(2), "i")


@given(st.integers(0, 3), st.integers(-2, 1))
def test_diff_as_in_numpy(n, axis):
    x = numbers(3, 2)
    assert_array_equal(qb.diff(x, n, axis).numpy(), np.diff(x, n, axis))
    assert_array_equal(qb.diff(x, n, axis, prepend=1.0).numpy(), np.diff(x, n, axis, prepend=1.0))
    assert_array_equal(qb.diff(x, n, axis, append=x, prepend=0.0).numpy(), np.diff(x, n, axis, append=x, prepend=0.0))


def test_diff_of_bools_and_derivatives():
    mask = np.array([True, True, False])
    assert_array_equal(qb.diff(mask).numpy(), np.diff(mask))
    assert_array_equal(qb.diff(mask, prepend=False).numpy(), np.diff(mask, prepend=False))
    agrees(lambda t: qb.diff(t, 2, 0), lambda t: np.diff(t, 2, 0), numbers(4, 2))
    assert qb.diff(qb.ones(3, qb.float32), prepend=0.0).dtype is qb.float32


def test_trapezoid():
    agrees(qb.trapezoid, np.trapezoid, numbers(3, 4))
    agrees(lambda y: qb.trapezoid(y, axis=0, dx=0.5), lambda y: np.trapezoid(y, axis=0, dx=0.5), numbers(3, 4))
    agrees(lambda y, x: qb.trapezoid(y, x, axis=0), lambda y, x: np.trapezoid(y, x, axis=0), numbers(3, 4), numbers(3))
    agrees(qb.trapezoid, np.trapezoid, numbers(3, 4), numbers(3, 4, seed=2))
    assert qb.trapezoid(qb.ones(1)).item() == 0.0


def test_polyval():
    agrees(qb.polyval, np.polyval, numbers(4), numbers(2, 3))
    agrees(qb.polyval, np.polyval, numbers(1), numbers(2))
    assert_array_equal(qb.polyval([], numbers(2)).numpy(), [0.0, 0.0])
    assert_array_equal(qb.grad(lambda p: qb.polyval(p, 2.0))(qb.array([1.0, 2.0, 3.0])).numpy(), [4.0, 2.0, 1.0])
    assert qb.jit(lambda x: qb.polyval([1.0, 0.0], x))(3.0).item() == 3.0


KNOTS, HEIGHTS = np.array([0.0, 1.0, 2.5, 3.0]), np.array([1.0, 3.0, 2.0, math.inf])


@given(st.lists(st.one_of(st.floats(-1, 4), st.sampled_from([0.0, 1.0, 2.5, 3.0])), max_size=5))
def test_interp_as_in_numpy(x):
    heights = np.array([1.0, 3.0, 2.0, -1.0])
    wanted = np.interp(x, KNOTS, heights)
    for got in (qb.interp(np.array(x), KNOTS, heights), qb.jit(qb.interp)(qb.array(x), KNOTS, heights)):
        assert_allclose(got.numpy(), wanted, rtol=1e-14, atol=1e-15)
    got = qb.jit(lambda t: qb.interp(t, KNOTS, heights, left=-5.0, right=7.0))(qb.array(x))
    assert_allclose(got.numpy(), np.interp(x, KNOTS, heights, left=-5.0, right=7.0), rtol=1e-14, atol=1e-15)


def test_interp_slopes():
    heights = qb.array([1.0, 3.0, 2.0, -1.0])
    f = qb.grad(lambda t: qb.sum(qb.interp(t, KNOTS, heights)))
    got = f(qb.array([-0.5, 0.0, 0.5, 1.0, 2.5, 2.9, 3.0, 3.5, math.inf, -math.inf, math.nan])).numpy()
    s = np.diff(heights.numpy()) / np.diff(KNOTS)
    assert_allclose(got, [0.0, s[0], s[0], s[1], s[2], s[2], s[2], 0.0, 0.0, 0.0, 0.0])
    assert_array_equal(qb.interp(qb.array([math.nan]), KNOTS, heights).numpy(), [math.nan])


def test_interp_derivatives_in_knots_and_values():
    x = np.array([-1.0, 0.3, 1.2, 2.0, 2.7, 5.0])
    agrees(qb.interp, np.interp, x, KNOTS, np.array([1.0, 3.0, 2.0, -1.0]))
    one = qb.grad(lambda x, xp, fp: qb.sum(qb.interp(x, xp, fp)), argnums=(0, 1, 2))
    gx, gk, gv = one(qb.array([-1.0, 5.0]), qb.array([1.0]), qb.array([2.0]))
    assert_array_equal(gx.numpy(), [0.0, 0.0])
    assert [gk.item(), gv.item()] == [0.0, 2.0]


def test_values_of_other_intervals_do_not_leak():
    f = qb.grad(lambda t: qb.interp(t, qb.array(KNOTS), qb.array(HEIGHTS)))
    assert f(qb.array(0.5)).item() == 2.0
    assert qb.interp(qb.array(0.5), qb.array(KNOTS), qb.array(HEIGHTS)).item() == 2.0


def test_products_check_their_arguments():
    x, m, s = qb.array([1.0, 2.0, 3.0]), qb.ones((2, 3)), qb.ones(3, qb.float32)
    for call in (
        lambda: qb.dot(m, m),
        lambda: qb.dot(x, s),
        lambda: qb.dot(x > 0, x > 0),
        lambda: qb.tensordot(m, m, 3),
        lambda: qb.tensordot(m, m, 1),
        lambda: qb.tensordot(m, m, ([0, 1], [0])),
        lambda: qb.tensordot(m, m, ([0, 0], [0, 1])),
        lambda: qb.outer(x, s),
        lambda: qb.kron(x, s),
        lambda: qb.cross(qb.ones((4, 3)), qb.ones((4, 3)), axis=0),
        lambda: qb.cross(x, qb.ones(4)),
        lambda: qb.diff(x, -1),
        lambda: qb.diff(qb.array(1.0)),
        lambda: qb.diff(x, axis=1),
        lambda: qb.trapezoid(x, qb.ones(2)),
        lambda: qb.polyval(m, 1.0),
        lambda: qb.interp(0.5, qb.array([0.0, 0.0, 2.0]), x),
        lambda: qb.interp(0.5, x, qb.ones(2)),
        lambda: qb.interp(0.5, m, m),
        lambda: qb.interp(0.5, qb.zeros(0), qb.zeros(0)),
    ):
        with pytest.raises(ValueError, match=r"test_functions_products\.py"):  # the message ends with the user's line
            call()
    with pytest.raises(TypeError):
        qb.diff(x, 1.5)


def test_einsum_of_many_operands_goes_the_cheap_way():
    a, b, c, d = numbers(2, 50), numbers(50, 2), numbers(2, 50), numbers(50, 2)
    program = qb.jit(lambda *x: qb.einsum("ab,bc,cd,de->ae", *x))
    assert_allclose(program(a, b, c, d).numpy(), a @ b @ c @ d, rtol=1e-12)
    assert "50x50" not in program.lower(a, b, c, d).as_text()  # the middle product first would be that large


@pytest.mark.parametrize("n", [3, 5, 8, 12, 20])
def test_einsum_of_networks(n):
    rng = np.random.default_rng(n)
    letters = [chr(97 + k) for k in range(n + 1)]
    terms = [letters[k] + letters[k + 1] for k in range(n)] + [letters[0] + letters[n // 2] + "..."]
    operands = [rng.normal(size=(2, 2)) for _ in range(n)] + [rng.normal(size=(2, 2, 3))]
    equation = ",".join(terms) + "->" + letters[n] + "..."
    wanted = np.einsum(equation, *operands, optimize="greedy")
    assert_allclose(qb.einsum(equation, *operands).numpy(), wanted, rtol=1e-10)
