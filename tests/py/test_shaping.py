"""Data movement and casts, against NumPy."""

import numpy as np
import pytest
from op_helpers import central, kernel, numbers, same_bits, trace_ops

import quabla as qb
from quabla import dtypes
from quabla.ops import shaping
from quabla.ops.arguments import array_list, axis_index, axis_set, pad_widths, shape_tuple, static_int
from quabla.ops.types import Const, tensor_type

DTYPES = [np.float64, np.float32, np.bool_]


def sample(*shape, dtype):
    x = numbers(*shape)
    return x > 0 if dtype is np.bool_ else x.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
class TestKernels:
    def test_reshape(self, dtype):
        x = sample(2, 3, 4, dtype=dtype)
        assert same_bits(kernel(shaping.RESHAPE, ((4, 6),), x), x.reshape(4, 6))

    def test_reshape_of_a_transposed_array_is_row_major(self, dtype):
        x = sample(3, 4, dtype=dtype).T
        assert same_bits(kernel(shaping.RESHAPE, ((12,),), x), x.ravel())

    def test_broadcast(self, dtype):
        x = sample(2, 1, dtype=dtype)
        assert same_bits(kernel(shaping.BROADCAST, ((3, 2, 4),), x), np.broadcast_to(x, (3, 2, 4)))

    def test_transpose(self, dtype):
        x = sample(2, 3, 4, dtype=dtype)
        assert same_bits(kernel(shaping.TRANSPOSE, ((2, 0, 1),), x), x.transpose(2, 0, 1))

    @pytest.mark.parametrize("axis", [0, 1])
    def test_concat(self, dtype, axis):
        parts = [sample(2, 2, dtype=dtype), sample(2, 2, dtype=dtype), sample(2, 2, dtype=dtype)]
        assert same_bits(kernel(shaping.CONCAT, (axis,), *parts), np.concatenate(parts, axis))

    def test_pad_outside(self, dtype):
        x = sample(2, 3, dtype=dtype)
        padded = kernel(shaping.PAD, ((1, 0), (2, 3), (0, 0)), x)
        assert same_bits(padded, np.pad(x, [(1, 2), (0, 3)]))

    def test_pad_between(self, dtype):
        x = sample(3, dtype=dtype)
        wanted = np.zeros(8, dtype)
        wanted[1::3] = x
        assert same_bits(kernel(shaping.PAD, ((1,), (0,), (2,)), x), wanted)

    @pytest.mark.parametrize("shape", [(3, 3), (2, 4), (2, 3, 2)])
    def test_triangles(self, dtype, shape):
        x = sample(*shape, dtype=dtype)
        assert same_bits(kernel(shaping.TRIL, (), x), np.tril(x))
        assert same_bits(kernel(shaping.TRIU, (), x), np.triu(x))

    def test_empty_arrays(self, dtype):
        x = np.zeros((0, 2), dtype)
        assert kernel(shaping.RESHAPE, ((2, 0),), x).shape == (2, 0)
        assert kernel(shaping.TRANSPOSE, ((1, 0),), x).shape == (2, 0)
        assert kernel(shaping.CONCAT, (0,), x, sample(1, 2, dtype=dtype)).shape == (1, 2)
        assert same_bits(kernel(shaping.PAD, ((1, 0), (1, 0), (3, 0)), x), np.zeros((2, 2), dtype))
        assert kernel(shaping.TRIL, (), x).shape == (0, 2)


class TestCast:
    def test_float64_to_float32_rounds_to_nearest_even(self):
        x = np.array([1 + 2**-24, 1 + 3 * 2**-24, 1e300, -0.0])
        got = kernel(shaping.CAST, (dtypes.float32,), x)
        assert same_bits(got, np.array([1, 1 + 2**-22, np.inf, -0.0], np.float32))

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_to_bool_all_but_zero_is_true(self, dtype):
        x = np.array([0.0, -0.0, 0.25, np.nan, -np.inf], dtype)
        assert kernel(shaping.CAST, (dtypes.bool_,), x).tolist() == [False, False, True, True, True]

    def test_bool_to_float(self):
        assert same_bits(kernel(shaping.CAST, (dtypes.float32,), np.array([True, False])), np.float32([1, 0]))


class TestInference:
    @pytest.mark.parametrize(
        ("op", "params", "shapes", "words"),
        [
            (shaping.RESHAPE, ((4,),), [(3,)], ["reshape", "tensor<3xf64>", "3 elements", "[4]"]),
            (shaping.RESHAPE, ((-3, -1),), [(3,)], ["[-3, -1]"]),
            (shaping.BROADCAST, ((4,),), [(3,)], ["broadcast", "tensor<3xf64>", "[4]"]),
            (shaping.BROADCAST, ((3,),), [(1, 3)], ["tensor<1x3xf64>", "[3]"]),
            (shaping.TRANSPOSE, ((0, 0),), [(2, 3)], ["transpose", "[0, 0]", "permutation"]),
            (shaping.TRANSPOSE, ((0,),), [(2, 3)], ["2 axes"]),
            (shaping.CONCAT, (1,), [(2,), (2,)], ["concat", "axis 1", "out of range"]),
            (shaping.CONCAT, (0,), [(2, 2), (2, 3)], ["tensor<2x2xf64>", "tensor<2x3xf64>"]),
            (shaping.CONCAT, (0,), [], ["at least one"]),
            (shaping.PAD, ((1,), (1,), (0,)), [(2, 2)], ["pad", "2 widths"]),
            (shaping.PAD, ((-1,), (1,), (0,)), [(2,)], ["negative", "[-1]"]),
            (shaping.TRIL, (), [(2,)], ["tril", "matrix", "tensor<2xf64>"]),
        ],
    )
    def test_errors_say_what_came_and_what_was_wanted(self, op, params, shapes, words):
        with pytest.raises(ValueError, match=f"^{op.name}: ") as caught:
            op.result_type(tuple(tensor_type(s) for s in shapes), params)
        assert all(w in str(caught.value) for w in words)

    def test_concat_of_two_dtypes(self):
        types = (tensor_type((2,)), tensor_type((2,), dtypes.float32))
        with pytest.raises(ValueError, match=r"quabla\.float64 and quabla\.float32"):
            shaping.CONCAT.result_type(types, (0,))

    def test_constant(self):
        value = Const(np.array([[1.0, 2.0]]))
        assert shaping.CONSTANT.result_type((), (value,)) is tensor_type((1, 2))
        assert shaping.CONSTANT.kernel_for((), (value,))() is value.array


class TestArguments:
    def test_ints(self):
        assert static_int("n", np.int32(3)) == 3
        assert static_int("n", True) == 1
        for wrong in (1.0, "1", None, [1], np.array(1)):
            with pytest.raises(TypeError, match="n must be an int"):
                static_int("n", wrong)

    def test_shapes(self):
        assert shape_tuple("f", 3) == (3,)
        assert shape_tuple("f", [2, np.int64(3)]) == (2, 3)
        assert shape_tuple("f", ()) == ()
        for wrong in (2.0, [2.0], "23"):
            with pytest.raises(TypeError):
                shape_tuple("f", wrong)

    def test_axes(self):
        assert axis_index("f", -1, 3) == 2
        assert axis_set("f", None, 2) == (0, 1)
        assert axis_set("f", (-1, 0), 3) == (0, 2)
        assert axis_set("f", (), 3) == ()
        for wrong in (2, -3, (0, 0), (0, -2), (0, 5)):
            with pytest.raises(ValueError, match="f: "):
                axis_set("f", wrong, 2)
        with pytest.raises(TypeError):
            axis_set("f", 0.0, 2)

    @pytest.mark.parametrize("widths", [2, (1, 2), [(1, 2)], [(0, 1), (2, 0)], [[1], [2]], np.array([1, 2])])
    def test_pad_widths_follow_numpy(self, widths):
        x = numbers(2, 3)
        assert np.pad(x, pad_widths("pad", widths, 2)).shape == np.pad(x, widths).shape

    @pytest.mark.parametrize("widths", [-1, (1, -1), [(1, 1)] * 3, (1, 2, 3), []])
    def test_wrong_pad_widths(self, widths):
        with pytest.raises(ValueError, match="pad"):
            pad_widths("pad", widths, 2)

    def test_fractional_pad_widths(self):
        with pytest.raises(TypeError):
            pad_widths("pad", 1.5, 2)

    def test_lists_of_arrays(self):
        for wrong in (3.0, [1.0], "ab", [[1.0]]):
            with pytest.raises(TypeError, match="f: needs"):
                array_list("f", wrong)
        with pytest.raises(ValueError, match="at least one"):
            array_list("f", [])


X = numbers(2, 3)
WEIGHTS = numbers(24, seed=7)


def weigh(y):
    """A scalar that depends differently on every element."""
    return qb.sum(qb.sin(y) * qb.array(WEIGHTS[: y.type.size].reshape(y.type.shape)))


def weigh_numpy(y):
    return np.sum(np.sin(y) * WEIGHTS[: y.size].reshape(y.shape))


MOVES = [
    (lambda m, x: m.reshape(x, (3, 2)), X),
    (lambda m, x: m.broadcast_to(x, (2, 2, 3)), X),
    (lambda m, x: m.broadcast_to(x, (2, 3)), X[:1]),
    (lambda m, x: m.transpose(x), X),
    (lambda m, x: m.transpose(x, (1, 0, 2)), numbers(2, 3, 2)),
    (lambda m, x: m.tril(x), X),
    (lambda m, x: m.triu(x), numbers(2, 3, 3)),
    (lambda m, x: m.pad(x, ((1, 0), (0, 2))), X),
]


class TestFunctions:
    @pytest.mark.parametrize(("move", "x"), MOVES)
    def test_values(self, move, x):
        wanted = move(np, x)
        assert same_bits(np.ascontiguousarray(move(qb, x).numpy()), np.ascontiguousarray(wanted))
        assert same_bits(np.ascontiguousarray(qb.jit(lambda v: move(qb, v))(x).numpy()), np.ascontiguousarray(wanted))

    @pytest.mark.parametrize(("move", "x"), MOVES)
    def test_gradient(self, move, x):
        got = qb.grad(lambda v: weigh(move(qb, v)))(x)
        np.testing.assert_allclose(got.numpy(), central(lambda v: weigh_numpy(move(np, v)), x), rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize(("move", "x"), MOVES)
    def test_tangent_is_the_move_of_the_tangent(self, move, x):
        t = numbers(*x.shape, seed=3)
        _, dot = qb.jvp(lambda v: move(qb, v), (qb.array(x),), (qb.array(t),))
        np.testing.assert_array_equal(dot.numpy(), move(np, t))

    @pytest.mark.parametrize(("move", "x"), MOVES)
    def test_vmap(self, move, x):
        stack = numbers(3, *x.shape, seed=5)
        got = qb.vmap(lambda v: move(qb, v))(qb.array(stack))
        np.testing.assert_array_equal(got.numpy(), np.stack([move(np, v) for v in stack]))

    def test_concat(self):
        a, b = numbers(2, 1), numbers(2, 2, seed=1)
        wanted = np.concatenate([a, b, a], 1)
        assert same_bits(qb.concat([qb.array(a), b, qb.array(a)], -1).numpy(), wanted)
        ga, gb = qb.grad(lambda p, q: weigh(qb.concat([p, q, p], 1)), argnums=(0, 1))(a, b)
        np.testing.assert_allclose(
            ga.numpy(), central(lambda p: weigh_numpy(np.concatenate([p, b, p], 1)), a), rtol=1e-6
        )
        np.testing.assert_allclose(
            gb.numpy(), central(lambda q: weigh_numpy(np.concatenate([a, q, a], 1)), b), rtol=1e-6
        )
        stack = numbers(3, 2, 1)
        mapped = qb.vmap(lambda p, q: qb.concat([p, q], 1), in_axes=(0, None))(qb.array(stack), qb.array(b))
        np.testing.assert_array_equal(mapped.numpy(), np.stack([np.concatenate([p, b], 1) for p in stack]))

    def test_concat_of_bools_and_of_mixed_arrays(self):
        mask = qb.array([True])
        assert qb.concat([mask, mask], 0).dtype is qb.bool_
        assert qb.concat([mask, qb.array([2.0])], 0).tolist() == [1.0, 2.0]
        with pytest.raises(ValueError, match="float32"):
            qb.concat([qb.ones(1), qb.ones(1, dtype=qb.float32)], 0)
        with pytest.raises(TypeError):
            qb.concat([1.0, 2.0], 0)
        with pytest.raises(ValueError, match="concat"):
            qb.concat([], 0)

    def test_derivative_passes_through_float_casts_only(self):
        f = qb.grad(lambda x: qb.sum(qb.astype(qb.astype(x, qb.float32), qb.float64) ** 2))
        assert f(qb.array([0.5, 2.0])).tolist() == [1.0, 4.0]
        g = qb.grad(lambda x: qb.sum(x + qb.astype(qb.astype(x, qb.bool_), qb.float64)))
        assert g(qb.array([0.5, 0.0])).tolist() == [1.0, 1.0]

    def test_stop_gradient_in_every_mode(self):
        def f(x):
            return x * qb.stop_gradient(x)

        assert qb.grad(f)(3.0).item() == 3.0
        assert qb.jvp(f, (3.0,), (1.0,))[1].item() == 3.0
        assert qb.grad(qb.grad(f))(3.0).item() == 0.0

    def test_wrong_arguments(self):
        x = qb.array(X)
        for call in (
            lambda v: qb.reshape(v, (4,)),
            lambda v: qb.reshape(v, (-1, -1)),
            lambda v: qb.reshape(v, (-1, 4)),
            lambda v: qb.broadcast_to(v, (3, 3)),
            lambda v: qb.transpose(v, (0, 0)),
            lambda v: qb.transpose(v, (0,)),
            lambda v: qb.tril(v[0]),
            lambda v: qb.concat([v, v], 2),
        ):
            with pytest.raises(ValueError, match=r"^(reshape|broadcast|broadcast_to|transpose|tril|concat): "):
                call(x)
            with pytest.raises(ValueError, match=r"test_shaping\.py:\d+"):
                qb.jit(call)(x)
        with pytest.raises(TypeError):
            qb.astype(x, "float32")
        with pytest.raises(TypeError):
            qb.reshape(x, (2.0, 3.0))


class TestFolding:
    def test_what_changes_nothing_is_not_recorded(self):
        assert trace_ops(lambda x: qb.reshape(x, (2, 3)), (2, 3)) == []
        assert trace_ops(lambda x: qb.broadcast_to(x, (2, 3)), (2, 3)) == []
        assert trace_ops(lambda x: qb.transpose(qb.transpose(x)), (2, 3)) == []
        assert trace_ops(lambda x: qb.astype(x, qb.float64), (2, 3)) == []
        assert trace_ops(lambda x: qb.reshape(qb.reshape(x, (6,)), (2, 3)), (2, 3)) == []

    def test_chains_become_one_op(self):
        assert trace_ops(lambda x: qb.reshape(qb.reshape(x, (6,)), (3, 2)), (2, 3)) == ["reshape"]
        assert trace_ops(lambda x: qb.broadcast_to(qb.reshape(x, (1, 3)), (2, 3)), (3,)) == ["broadcast"]
        assert trace_ops(lambda x: qb.broadcast_to(qb.reshape(x, (3, 1)), (3, 3)), (3,)) == ["reshape", "broadcast"]
        assert trace_ops(lambda x: qb.tril(qb.tril(x)), (3, 3)) == ["tril"]

    def test_wrong_shapes_are_not_folded_away(self):
        def f(x):
            return qb.reshape(qb.zeros_like(x), (5,)) + x

        def g(x):
            return qb.broadcast_to(qb.broadcast_to(x, (3, 1)), (2, 1))

        for fun in (f, g):
            with pytest.raises(ValueError, match="shape"):
                qb.jit(fun)(qb.ones((1,)))
