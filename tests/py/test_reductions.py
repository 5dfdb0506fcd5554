"""Sums, means, extrema and running sums, against NumPy and exact sums."""

from math import fsum

import numpy as np
import pytest
from op_helpers import central, kernel, numbers, same_bits, trace_ops

import quabla as qb
from quabla import dtypes
from quabla.ops import reductions
from quabla.ops.types import tensor_type

ARRAY = numbers(3, 4, 5)
AXES = [(), (0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("axes", AXES)
class TestAgainstNumpy:
    def test_sum(self, axes):
        np.testing.assert_allclose(kernel(reductions.SUM, (axes,), ARRAY), np.sum(ARRAY, axes), rtol=1e-14)

    def test_mean(self, axes):
        np.testing.assert_allclose(kernel(reductions.MEAN, (axes,), ARRAY), np.mean(ARRAY, axes), rtol=1e-14)

    def test_extrema(self, axes):
        assert same_bits(kernel(reductions.MAX, (axes,), ARRAY), np.max(ARRAY, axes))
        assert same_bits(kernel(reductions.MIN, (axes,), ARRAY), np.min(ARRAY, axes))

    def test_extrema_of_bools(self, axes):
        x = ARRAY > 0.5
        assert same_bits(kernel(reductions.MAX, (axes,), x), np.any(x, axes))
        assert same_bits(kernel(reductions.MIN, (axes,), x), np.all(x, axes))


class TestRounding:
    def test_float32_sum_and_mean_round_once(self):
        x = numbers(1000, dtype=np.float32)
        exact = fsum(x.tolist())
        assert kernel(reductions.SUM, ((0,),), x) == np.float32(exact)
        assert kernel(reductions.MEAN, ((0,),), x) == np.float32(exact / 1000)

    def test_float32_sum_beyond_float32(self):
        x = np.array([3e38, 3e38, -3e38], np.float32)
        assert kernel(reductions.SUM, ((0,),), x) == np.float32(3e38)

    def test_float32_cumsum_rounds_each_running_sum(self):
        x = numbers(500, dtype=np.float32)
        exact = np.array([fsum(x[: i + 1].tolist()) for i in range(500)]).astype(np.float32)
        assert same_bits(kernel(reductions.CUMSUM, (0, False), x), exact)


class TestSpecialValues:
    @pytest.mark.parametrize("op", [reductions.MAX, reductions.MIN])
    def test_extrema_propagate_nan(self, op):
        x = np.array([[1.0, np.nan], [2.0, 3.0]])
        got = kernel(op, ((1,),), x)
        assert np.isnan(got[0])
        assert not np.isnan(got[1])

    def test_infinities(self):
        x = np.array([np.inf, -np.inf, 1.0])
        assert kernel(reductions.MAX, ((0,),), x) == np.inf
        assert np.isnan(kernel(reductions.SUM, ((0,),), x))

    def test_empty(self):
        x = np.zeros((0, 3))
        assert kernel(reductions.SUM, ((0,),), x).tolist() == [0, 0, 0]
        assert np.isnan(kernel(reductions.MEAN, ((0,),), x)).all()
        assert kernel(reductions.MAX, ((1,),), x).shape == (0,)
        assert kernel(reductions.CUMSUM, (0, False), x).shape == (0, 3)
        with pytest.raises(ValueError, match="no elements"):
            kernel(reductions.MAX, ((0,),), x)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cumsum(axis, dtype):
    x = numbers(4, 6, dtype=dtype)
    forward = np.cumsum(x, axis, np.float64).astype(dtype)
    backward = np.flip(np.cumsum(np.flip(x, axis), axis, np.float64), axis).astype(dtype)
    np.testing.assert_array_equal(kernel(reductions.CUMSUM, (axis, False), x), forward)
    np.testing.assert_array_equal(kernel(reductions.CUMSUM, (axis, True), x), backward)


@pytest.mark.parametrize(
    ("op", "params", "type", "words"),
    [
        (reductions.SUM, ((0,),), tensor_type((3,), dtypes.bool_), "sum: needs a float or int array, got tensor<3xi1>"),
        (reductions.MEAN, ((2,),), tensor_type((3, 2)), r"mean: axes \[2\]"),
        (reductions.MAX, ((1, 0),), tensor_type((3, 2)), r"max: axes \[1, 0\]"),
        (reductions.CUMSUM, (1, False), tensor_type((3,)), "cumsum: axis 1"),
        (reductions.CUMSUM, (0, False), tensor_type((3,), dtypes.bool_), "cumsum: needs a float or int array"),
    ],
)
def test_errors(op, params, type, words):
    with pytest.raises(ValueError, match=words):
        op.result_type((type,), params)


class TestFunctions:
    @pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
    @pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
    @pytest.mark.parametrize("keepdims", [False, True])
    def test_values(self, name, axis, keepdims):
        wanted = getattr(np, name)(ARRAY, axis=axis, keepdims=keepdims)
        f = getattr(qb, name)
        for got in (f(qb.array(ARRAY), axis, keepdims), qb.jit(lambda x: f(x, axis=axis, keepdims=keepdims))(ARRAY)):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-13)
            assert got.shape == list(wanted.shape)

    @pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
    @pytest.mark.parametrize("axis", [None, 0, (0, 2)])
    def test_derivatives(self, name, axis):
        f, g = getattr(qb, name), getattr(np, name)
        got = qb.grad(lambda x: qb.sum(qb.sin(f(x, axis))))(ARRAY).numpy()
        np.testing.assert_allclose(got, central(lambda x: np.sum(np.sin(g(x, axis=axis))), ARRAY), rtol=1e-6, atol=1e-9)
        t = numbers(*ARRAY.shape, seed=9)
        _, dot = qb.jvp(lambda x: qb.sum(qb.sin(f(x, axis))), (qb.array(ARRAY),), (qb.array(t),))
        np.testing.assert_allclose(dot.item(), np.sum(got * t), rtol=1e-10)

    @pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "cumsum"])
    def test_vmap(self, name):
        f, g = getattr(qb, name), getattr(np, name)
        got = qb.vmap(lambda x: f(x, 1))(qb.array(ARRAY))
        np.testing.assert_allclose(got.numpy(), np.stack([g(x, axis=1) for x in ARRAY]), rtol=1e-13)

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("axis", [None, 0, 1])
    def test_cumsum(self, axis, reverse):
        x = ARRAY[0]

        def numpy(v):
            return (
                np.flip(np.cumsum(np.flip(v, axis), axis), 0 if axis is None else axis)
                if reverse
                else np.cumsum(v, axis)
            )

        for got in (qb.cumsum(x, axis, reverse), qb.jit(lambda v: qb.cumsum(v, axis, reverse))(x)):
            np.testing.assert_allclose(got.numpy(), numpy(x), rtol=1e-13)
        weights = numbers(*numpy(x).shape, seed=4)
        got = qb.grad(lambda v: qb.sum(qb.sin(qb.cumsum(v, axis, reverse)) * qb.array(weights)))(x).numpy()
        np.testing.assert_allclose(got, central(lambda v: np.sum(np.sin(numpy(v)) * weights), x), rtol=1e-6, atol=1e-9)

    def test_ties_share_the_derivative_at_every_order(self):
        x = qb.array([2.0, -1.0, 2.0])
        half = [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 0.5]]
        assert qb.grad(qb.max)(x).tolist() == [0.5, 0.0, 0.5]
        assert qb.jvp(qb.max, (x,), (qb.array([1.0, 5.0, 2.0]),))[1].item() == 1.5
        assert qb.hessian(lambda v: qb.max(v) ** 2)(x).tolist() == half
        assert qb.hessian(lambda v: qb.min(-v) ** 2)(x).tolist() == half

    def test_tangent_of_an_unattained_element_does_not_leak(self):
        _, dot = qb.jvp(qb.max, (qb.array([1.0, 2.0]),), (qb.array([np.inf, 3.0]),))
        assert dot.item() == 3.0

    def test_wrong_arguments(self):
        x = qb.array(ARRAY)
        for name in ("sum", "mean", "max", "min"):
            f = getattr(qb, name)
            for axis in (3, -4, (0, 0), (1, -2)):
                with pytest.raises(ValueError, match=name):
                    f(x, axis)
            with pytest.raises(ValueError, match=name):
                f(qb.array([True]))
            with pytest.raises(TypeError):
                f(x, 1.0)
        with pytest.raises(ValueError, match="cumsum"):
            qb.cumsum(qb.array([True]))
        with pytest.raises(ValueError, match="cumsum"):
            qb.cumsum(x, 3)

    def test_weak_numbers_stay_weak(self):
        mask = qb.array([True, False]) * 2.0
        assert (qb.sum(mask) * qb.ones(1, dtype=qb.float32)).dtype is qb.float32


def test_extrema_of_bools_on_every_engine(monkeypatch):
    rows = [[False, False], [True, False], [True, True]]
    for engine in ("numpy", "xla"):
        monkeypatch.setattr(qb.config, "cpu_engine", engine)
        assert qb.jit(lambda x: qb.any(x, 1))(qb.array(rows)).tolist() == [False, True, True]
        assert qb.jit(lambda x: qb.all(x, 1))(qb.array(rows)).tolist() == [False, False, True]


class TestFolding:
    def test_reductions_of_single_elements_are_reshapes(self):
        assert trace_ops(lambda x: qb.sum(x, 0), (1, 3)) == ["reshape"]
        assert trace_ops(lambda x: qb.max(x, ()), (1, 3)) == []
        assert trace_ops(lambda x: qb.cumsum(x, 0), (1, 3)) == []
