"""Matrix products, against NumPy."""

import numpy as np
import pytest
from op_helpers import central, kernel, numbers

import quabla as qb
from quabla import dtypes
from quabla.ops.linalg import MATMUL
from quabla.ops.types import tensor_type

SHAPES = [
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 1)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 1), (5, 1, 4)),
    ((2, 1, 2, 3), (4, 3, 2)),
    ((6, 1, 2, 1), (1, 3)),
    ((1, 1), (1, 1)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 2)),
    ((4, 0, 3), (3, 2)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_float64(left, right):
    a, b = numbers(*left), numbers(*right, seed=1)
    np.testing.assert_allclose(kernel(MATMUL, (), a, b), a @ b, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_float32_accumulates_in_float64(left, right):
    a, b = numbers(*left, dtype=np.float32), numbers(*right, dtype=np.float32, seed=1)
    wanted = np.einsum("...ij,...jk->...ik", a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(kernel(MATMUL, (), a, b), wanted)


def test_strided_operands():
    a, b = numbers(6, 4)[::2, ::2], numbers(3, 2).T
    np.testing.assert_allclose(
        kernel(MATMUL, (), a, b), np.ascontiguousarray(a) @ np.ascontiguousarray(b).copy(), rtol=1e-13
    )


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ((3,), (3, 2), "two matrices"),
        ((2, 3), (2, 3), "3 columns of tensor<2x3xf64> do not meet 2 rows"),
        ((2, 2, 3), (3, 3, 2), "leading axes"),
    ],
)
def test_shapes_that_do_not_fit(left, right, words):
    with pytest.raises(ValueError, match=words):
        MATMUL.result_type((tensor_type(left), tensor_type(right)), ())


@pytest.mark.parametrize("other", [dtypes.float32, dtypes.bool_])
def test_mixed_dtypes(other):
    with pytest.raises(ValueError, match="one float dtype"):
        MATMUL.result_type((tensor_type((2, 2)), tensor_type((2, 2), other)), ())


PRODUCTS = [*SHAPES[:7], ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2))]


@pytest.mark.parametrize(("left", "right"), PRODUCTS)
class TestFunction:
    def test_values(self, left, right):
        a, b = numbers(*left), numbers(*right, seed=1)
        for got in (qb.matmul(a, b), qb.jit(qb.matmul)(a, b)):
            np.testing.assert_allclose(got.numpy(), a @ b, rtol=1e-13, atol=1e-15)
            assert got.shape == list(np.shape(a @ b))

    def test_gradient(self, left, right):
        a, b = numbers(*left), numbers(*right, seed=1)
        ga, gb = qb.grad(lambda p, q: qb.sum(qb.sin(qb.matmul(p, q))), argnums=(0, 1))(a, b)
        np.testing.assert_allclose(ga.numpy(), central(lambda p: np.sum(np.sin(p @ b)), a), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(gb.numpy(), central(lambda q: np.sum(np.sin(a @ q)), b), rtol=1e-6, atol=1e-8)

    def test_tangent(self, left, right):
        a, b = numbers(*left), numbers(*right, seed=1)
        s, t = numbers(*left, seed=2), numbers(*right, seed=3)
        _, dot = qb.jvp(qb.matmul, (qb.array(a), qb.array(b)), (qb.array(s), qb.array(t)))
        np.testing.assert_allclose(dot.numpy(), s @ b + a @ t, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
    def test_vmap(self, left, right, axes):
        a = numbers(*([4] if axes[0] == 0 else []), *left)
        b = numbers(*([4] if axes[1] == 0 else []), *right, seed=1)
        got = qb.vmap(qb.matmul, in_axes=axes)(qb.array(a), qb.array(b))
        wanted = [(a[i] if axes[0] == 0 else a) @ (b[i] if axes[1] == 0 else b) for i in range(4)]
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-13, atol=1e-15)


def test_a_mapped_vector_through_a_layer_is_one_product():
    from quabla.ops.types import tensor_type
    from quabla.tracing.graph import build
    from quabla.transforms.batching import graph_vmap

    for layer in (lambda x, w: qb.matmul(x, w), lambda x, w: qb.matmul(w, x)):
        graph = build([tensor_type((3,)), tensor_type((3, 3))], None, lambda *v: [layer(*v)])  # noqa: B023
        mapped = graph_vmap(graph, 8, [True, False]).body()
        (product,) = [n for n in mapped.nodes if n.op is MATMUL]
        assert product.type.shape == (8, 3)


@pytest.mark.parametrize("wrong", [(2.0, [1.0]), ([1.0], 2.0), ([1.0, 2.0], [1.0]), ([[1.0, 2.0]], [1.0])])
def test_wrong_arguments(wrong):
    with pytest.raises(ValueError, match="matmul"):
        qb.matmul(qb.asarray(wrong[0]), qb.asarray(wrong[1]))


def test_bool_operands():
    mask = qb.array([[True, False]])
    assert qb.matmul(mask, qb.array([[2.0], [3.0]])).tolist() == [[2.0]]
    with pytest.raises(ValueError, match="matmul"):
        qb.matmul(mask, mask)
