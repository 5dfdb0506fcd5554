"""The public transforms: composition, pytrees, closures, caching and errors."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import quabla as qb

X = qb.array([1.0, 2.0, 3.0])


def test_gradient_of_a_polynomial_to_fifth_order():
    f = lambda x: x**5  # noqa: E731
    expected = [32.0, 80.0, 160.0, 240.0, 240.0, 120.0]
    for want in expected:
        assert f(qb.array(2.0)).item() == want
        f = qb.grad(f)


def test_third_derivative_of_tanh_network_matches_the_closed_form():
    x = 0.3
    t = math.tanh(x)
    third = qb.grad(qb.grad(qb.grad(qb.tanh)))(x).item()
    assert third == pytest.approx((1 - t * t) * (6 * t * t - 2), rel=1e-14)


def test_grad_mirrors_pytrees_and_skips_bools():
    g = qb.grad(lambda p: qb.sum(p["w"] * p["w"]) * p["s"])({"w": X, "m": qb.array(True), "s": 2.0})
    assert g["m"] is None
    np.testing.assert_array_equal(g["w"].numpy(), [4.0, 8.0, 12.0])
    assert g["s"].item() == 14.0


def test_inner_transform_differentiates_through_outer_tracers():
    f = qb.grad(lambda w: qb.sum(qb.vmap(qb.grad(lambda v: qb.sin(w * v)))(X)))
    v = X.numpy()
    want = np.sum(np.cos(2 * v) - 2 * v * np.sin(2 * v))
    assert f(qb.array(2.0)).item() == pytest.approx(want, rel=1e-14)


def test_hessian_blocks_follow_the_arguments():
    h = qb.hessian(lambda p: p["a"] ** 2 * qb.sum(p["b"]))({"a": qb.array(3.0), "b": qb.array([1.0, 2.0])})
    assert h["a"]["a"].item() == 6.0
    np.testing.assert_array_equal(h["a"]["b"].numpy(), [6.0, 6.0])
    np.testing.assert_array_equal(h["b"]["a"].numpy(), [6.0, 6.0])
    np.testing.assert_array_equal(h["b"]["b"].numpy(), np.zeros((2, 2)))


@pytest.mark.parametrize("rows", [2, 5])
def test_jacobian_of_a_linear_map_is_its_matrix(rows):
    a = np.arange(rows * 3.0).reshape(rows, 3)
    j = qb.jacobian(lambda v: qb.matmul(qb.array(a), v))(X)
    np.testing.assert_array_equal(j.numpy(), a)


def test_jacobian_of_results_that_do_not_depend_on_the_argument():
    j = qb.jacobian(lambda v: {"c": qb.array([1.0, 2.0]), "m": v > 1.0, "v": v})(X)
    np.testing.assert_array_equal(j["c"].numpy(), np.zeros((2, 3)))
    np.testing.assert_array_equal(j["m"].numpy(), np.zeros((3, 3)))
    np.testing.assert_array_equal(j["v"].numpy(), np.eye(3))


def test_vjp_runs_the_forward_part_once_and_answers_many_cotangents():
    calls = []

    def f(x, y):
        calls.append(1)
        return x * y, qb.sum(x)

    (product, total), pullback = qb.vjp(f, X, qb.array(2.0))
    assert (product.tolist(), total.item()) == ([2.0, 4.0, 6.0], 6.0)
    for scale in (1.0, 2.0):
        gx, gy = pullback((qb.array([scale, 0.0, 0.0]), 1.0))
        np.testing.assert_array_equal(gx.numpy(), [2 * scale + 1, 1.0, 1.0])
        assert gy.item() == scale
    assert len(calls) == 1


def test_vjp_function_inside_another_trace():
    _, pullback = qb.vjp(lambda x: qb.sin(x), X)
    g = qb.jacobian(lambda ct: pullback(ct)[0])(X)
    np.testing.assert_allclose(g.numpy(), np.diag(np.cos(X.numpy())), rtol=1e-15)


def test_vmap_moves_axes_and_repeats_constants():
    m = qb.array(np.arange(6.0).reshape(2, 3))
    a, b = qb.vmap(lambda c: (c * 2.0, 7.0), in_axes=1, out_axes=(1, 0))(m)
    np.testing.assert_array_equal(a.numpy(), 2 * m.numpy())
    np.testing.assert_array_equal(b.numpy(), [7.0, 7.0, 7.0])


def test_vmap_with_axes_for_a_pytree():
    p = {"a": qb.array(np.arange(6.0).reshape(2, 3)), "b": X}
    out = qb.vmap(lambda q: qb.sum(q["a"]) + qb.sum(q["b"]), in_axes=({"a": 1, "b": None},))(p)
    np.testing.assert_array_equal(out.numpy(), [9.0, 11.0, 13.0])


def test_traces_are_reused_per_signature():
    calls = []

    def f(x, n):
        calls.append(1)
        return x * n

    j = qb.jit(f)
    for _ in range(3):
        j(X, 2.0)
    assert len(calls) == 1
    j(X, 3.0)
    j(qb.array([1.0]), 2.0)
    assert len(calls) == 3


def test_signature_distinguishes_signed_zeros_and_types_of_numbers():
    j = qb.jit(lambda x, n: x * 0.0 + n)
    assert math.copysign(1.0, j(qb.array(-1.0), -0.0).item()) == -1.0
    assert j(X, 1).tolist() == j(X, True).tolist() == [1.0, 1.0, 1.0]


def test_full_cache_evicts_the_least_recently_used_and_prints_both_signatures():
    j = qb.jit(lambda x: x + 1.0, max_traces=2)
    j(qb.zeros((1,)))
    j(qb.zeros((2,)))
    j(qb.zeros((1,)))
    with pytest.warns(qb.RetraceWarning, match=r"tensor<2xf64>.*tensor<3xf64>") as record:
        j(qb.zeros((3,)))
    assert record[0].filename == __file__


def test_evictions_warn_each_time_their_number_has_doubled():
    j = qb.jit(lambda x, n: x + n, max_traces=2)
    with pytest.warns(qb.RetraceWarning, match=r"quabla\.array\(number\)") as record:
        [j(X, float(i)) for i in range(102)]
    assert len(record) == 7  # at 1, 2, 4, ..., 64 of 100
    assert "64 were evicted so far" in str(record[-1].message)


def test_escaped_tracer_names_the_line_that_made_it():
    kept = []
    qb.jit(lambda x: kept.append(x + 1.0) or x)(X)
    with pytest.raises(qb.TracerError, match=r"test_transforms\.py:\d+"):
        kept[0] + 1.0
    with pytest.raises(qb.TracerError, match="after its trace has ended"):
        qb.jit(lambda x: x + kept[0])(X)


@pytest.mark.parametrize(
    "use", [bool, float, int, lambda x: x.item(), lambda x: x.tolist(), lambda x: x.numpy(), np.asarray]
)
def test_values_of_tracers_are_refused(use):
    with pytest.raises(qb.TracerError, match=r"test_transforms\.py:\d+"):
        qb.jit(lambda x: use(x))(qb.array(1.0))


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda p: range(p["w"]), r"for range.*the argument 'p/w', of type tensor<f64>.*from a shape.*static_argnums"),
        (lambda p: f"{p['w']:.3f}", r"format '\.3f'.*argument 'p/w'.*outside"),
        (
            lambda p: float(p["w"] + 1.0),
            r"a traced array of type tensor<f64>, made at .*test_transforms\.py:\d+, which",
        ),
    ],
)
def test_messages_call_a_tracer_by_its_name(use, words):
    for transform in (qb.jit, qb.grad, lambda f: qb.jit(qb.grad(f)).lower):
        with pytest.raises(qb.TracerError, match=words):
            transform(use)({"w": qb.array(2.0)})
    with pytest.raises(qb.TracerError, match=words):
        qb.jit(use)(p={"w": qb.array(2.0)})


def test_formatting_a_tracer_without_a_format_shows_its_type():
    shown = []
    qb.jit(lambda x: shown.append(f"{x}"))(X)
    assert "shape=[3], dtype=float64" in shown[0]


@pytest.mark.parametrize("transform", [qb.jit, qb.grad, qb.value_and_grad, qb.vmap, qb.jacobian, qb.hessian])
def test_transformed_functions_show_what_they_wrap(transform):
    def f(x, scale=2.0):
        """Doubles."""

    wrapped = transform(f)
    assert wrapped.__wrapped__ is f
    assert wrapped.__doc__ == "Doubles."
    assert list(inspect.signature(wrapped).parameters) == ["x", "scale"]
    assert "function" in type(wrapped).__doc__
    assert not hasattr(wrapped, "__name__")


def test_python_control_flow_on_a_tracer_names_where_and_cond():
    with pytest.raises(qb.TracerError, match=r"where.*cond"):
        qb.grad(lambda v: v if v > 0 else -v)(1.0)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: qb.grad(lambda x: x)(X), ValueError, r"rank-0 float array, got tensor<3xf64>"),
        (lambda: qb.grad(lambda x: x > 0)(1.0), ValueError, r"tensor<i1>"),
        (lambda: qb.grad(lambda x: 3.0)(1.0), ValueError, "constant"),
        (
            lambda: qb.grad(lambda x: (qb.sum(x), {"a": x, "b": 3}))(X),
            TypeError,
            r"got \(tensor<f64>, \{'a': tensor<3xf64>, 'b': int\}\), a tuple; has_aux=True",
        ),
        (
            lambda: qb.vjp(lambda x: {"a": x, "b": (x, x)}, X)[1]([X, X]),
            ValueError,
            r"structure than the result: expected \{'a': \*, 'b': \(\*, \*\)\}, got \[\*, \*\] \(",
        ),
        (lambda: qb.jvp(lambda x: x, ((X, X),), ([X, X],)), ValueError, r"expected \(\*, \*\), got \[\*, \*\] \("),
        (lambda: qb.grad(lambda x: x, argnums=2)(1.0), ValueError, "out of range"),
        (lambda: qb.grad(lambda x: x)("s"), TypeError, "'s'"),
        (lambda: qb.grad(lambda x: x)(x=1.0), TypeError, "positional"),
        (lambda: qb.jvp(qb.sin, X, X), TypeError, "tuple or a list"),
        (lambda: qb.jvp(qb.sin, (X,), (qb.array([1.0]),)), TypeError, r"tensor<1xf64>.*tensor<3xf64>"),
        (lambda: qb.jvp(qb.sin, (X,), ((X, X),)), ValueError, "structure"),
        (lambda: qb.vjp(lambda v: (v, v), X)[1](X), ValueError, "structure"),
        (lambda: qb.vmap(lambda a, b: a)(X, qb.zeros((2,))), ValueError, "different sizes: a has 3, b has 2"),
        (lambda: qb.vmap(lambda a: a, in_axes=1)(X), ValueError, "out of range"),
        (lambda: qb.vmap(lambda a, b: a)(X, 2.0), ValueError, "number 2.0"),
        (lambda: qb.jit(lambda x: x, device="gpu"), ValueError, "'cuda:N'"),
        (
            lambda: qb.jit(lambda x: x, device="mlx", precision="float64"),
            qb.UnsupportedOperationError,
            "mlx has no float64",
        ),
        (lambda: qb.jit(lambda x: x, precision="float32"), ValueError, "float64"),
        (lambda: qb.jit(3), TypeError, "function"),
    ],
)
def test_misuse_is_explained(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_shape_errors_name_the_op_the_shapes_and_the_line():
    with pytest.raises(ValueError, match=r"matmul.*2x3.*2x3.*test_transforms\.py:\d+"):
        qb.jit(lambda a: a @ a)(qb.zeros((2, 3)))


def test_nested_programs_agree_with_jax():
    jax = pytest.importorskip("jax", reason="JAX is an oracle of the dev extra")
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    w, b, xs = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=(5, 4))

    def loss(np_, grad, vmap):
        def u(x, p):
            return np_.sum(np_.tanh(np_.matmul(p[0], x) + p[1]) ** 2)

        def total(p, x):
            inner = vmap(lambda y, q: np_.sum(grad(lambda z: u(z, q))(y) ** 2), (0, None))
            return np_.mean(inner(x, p))

        return total

    args = ((w, b), xs)
    ours = qb.value_and_grad(loss(qb, qb.grad, qb.vmap))(((qb.array(w), qb.array(b))), qb.array(xs))
    theirs = jax.value_and_grad(loss(jnp, jax.grad, lambda f, a: jax.vmap(f, a)))(*args)
    np.testing.assert_allclose(ours[0].item(), float(theirs[0]), rtol=1e-13)
    for g, h in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(g.numpy(), np.asarray(h), rtol=1e-11, atol=1e-13)


def test_methods_can_be_transformed():
    class Model:
        def __init__(self, w):
            self.w = w

        def loss(self, x):
            return qb.sum(self.w * x * x)

        @qb.jit(static_argnums=0)
        def scaled(self, x):
            return self.w * x

    model = Model(qb.array(2.0))
    assert qb.grad(model.loss)(X).tolist() == [4.0, 8.0, 12.0]
    assert model.scaled(X).tolist() == [2.0, 4.0, 6.0]
