"""Slices, gathers and their adjoints, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from op_helpers import kernel, numbers, same_bits, trace_ops

import quabla as qb
from quabla import dtypes
from quabla.functions.indices import Range, select
from quabla.ops import indexing
from quabla.ops.types import tensor_type

DTYPES = [np.float64, np.float32, np.bool_]


class TestSlice:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize(
        ("params", "index"),
        [
            ((0, 1, 2, 1), np.s_[1:3]),
            ((1, 0, 3, 2), np.s_[:, ::2]),
            ((1, 5, 6, -1), np.s_[:, ::-1]),
            ((1, 4, 2, -3), np.s_[:, 4:0:-3]),
            ((0, 0, 0, 1), np.s_[0:0]),
            ((1, 5, 1, 1), np.s_[:, -1:]),
        ],
    )
    def test_against_numpy(self, dtype, params, index):
        x = numbers(4, 6)
        x = x > 0 if dtype is np.bool_ else x.astype(dtype)
        assert same_bits(kernel(indexing.SLICE, params, x), x[index])

    @pytest.mark.parametrize(
        "params", [(0, 3, 2, 1), (0, -1, 1, 1), (0, 0, 2, -1), (0, 0, -1, 1), (2, 0, 1, 1), (0, 0, 1, 0)]
    )
    def test_outside_the_array(self, params):
        with pytest.raises(ValueError, match=r"^slice: "):
            indexing.SLICE.result_type((tensor_type((4, 6)),), params)


class TestGather:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("indices", [(0,), (3, 1, 1), (), tuple(range(4))])
    def test_against_numpy(self, dtype, indices):
        x = numbers(4, 4)
        x = x > 0 if dtype is np.bool_ else x.astype(dtype)
        for axis in (0, 1):
            assert same_bits(kernel(indexing.GATHER, (axis, indices), x), np.take(x, np.array(indices, int), axis))

    def test_out_of_range_names_the_index(self):
        with pytest.raises(IndexError, match=r"index 4 .* axis 1 .* extent is 3"):
            indexing.GATHER.result_type((tensor_type((2, 3)),), (1, (0, 4)))

    @given(st.lists(st.integers(0, 9), max_size=30))
    def test_runs_cover_the_indices_in_order(self, indices):
        covered = []
        for start, length, step in indexing.runs(indices):
            assert step != 0
            covered += [start + k * step for k in range(length)]
        assert covered == indices

    def test_runs_are_long(self):
        assert indexing.runs(range(5, 50, 3)) == [(5, 15, 3)]
        assert indexing.runs([4, 3, 2, 7, 7]) == [(4, 3, -1), (7, 1, 1), (7, 1, 1)]


class TestScatterAdd:
    @pytest.mark.parametrize("indices", [(2, 0), (1, 1, 0, 1), (3,) * 20, ()])
    @pytest.mark.parametrize("axis", [0, 1])
    def test_float64_adds_in_order(self, indices, axis):
        x = numbers(4, 4)
        updates = numbers(*((len(indices), 4) if axis == 0 else (4, len(indices))), seed=1)
        wanted = x.copy()
        np.add.at(wanted, (*(slice(None),) * axis, np.array(indices, int)), updates)
        assert same_bits(kernel(indexing.SCATTER_ADD, (axis, indices), x, updates), wanted)

    def test_float32_rounds_once(self):
        x = np.array([1.0], np.float32)
        updates = np.array([2.0**-24] * 2, np.float32)
        assert kernel(indexing.SCATTER_ADD, (0, (0, 0)), x, updates)[0] == np.float32(1 + 2.0**-23)

    def test_operand_is_not_written(self):
        x = np.zeros(3)
        kernel(indexing.SCATTER_ADD, (0, (1,)), x, np.ones(1))
        assert x.tolist() == [0, 0, 0]

    @pytest.mark.parametrize(
        ("error", "types", "words"),
        [
            (ValueError, ((3,), (3,)), "2 indices along axis 0 .* tensor<2xf64>"),
            (ValueError, ((3,), (2, 1)), "tensor<2xf64>"),
            (IndexError, ((1,), (2,)), "index 1"),
        ],
    )
    def test_errors(self, error, types, words):
        with pytest.raises(error, match=words):
            indexing.SCATTER_ADD.result_type(tuple(tensor_type(t) for t in types), (0, (0, 1)))

    def test_bool(self):
        types = (tensor_type((3,), dtypes.bool_),) * 2
        with pytest.raises(ValueError, match="float"):
            indexing.SCATTER_ADD.result_type(types, (0, (0, 1, 2)))


INDICES = st.one_of(
    st.none(),
    st.integers(-3, 2),
    st.slices(3),
    st.slices(8),
)


class TestSelect:
    @given(st.lists(INDICES, max_size=4), st.integers(0, 4))
    def test_against_numpy(self, items, at):
        x = numbers(3, 3, 3)
        index = (*items[:at], ..., *items[at:])
        if sum(i is not None for i in items) > 3:
            with pytest.raises(IndexError):
                select(index, x.shape)
            return
        taken = select(index, x.shape)
        assert taken.shape == x[index].shape
        assert same_bits(x[taken.window], x[index])
        y = x
        for axis, s in enumerate(taken.axes):
            y = kernel(indexing.SLICE, (axis, *(s if isinstance(s, Range) else (s, 1, 1))), y)
        assert same_bits(y.reshape(taken.shape), np.ascontiguousarray(x[index]))

    def test_bools_count_as_numbers(self):
        assert select(True, (3,)).axes == (1,)
        assert select(np.False_, (3,)).axes == (0,)
        assert select(np.int8(-1), (3,)).axes == (2,)

    @pytest.mark.parametrize("index", [1.0, [0.5, 1], np.array([0.0]), "a", (0, 1.0), slice(0.0, 1.0)])
    def test_not_an_index(self, index):
        with pytest.raises(TypeError):
            select(index, (3, 3))

    @pytest.mark.parametrize("index", [3, -4, (0, 3), (0, 0, 0), (..., 0, ...), (..., 3)])
    def test_out_of_range(self, index):
        with pytest.raises(IndexError):
            select(index, (3, 3))

    def test_zero_step(self):
        with pytest.raises(ValueError, match="zero"):
            select(slice(None, None, 0), (3,))


M = numbers(4, 5)
INDEXES = [
    np.s_[1],
    np.s_[-1, 2],
    np.s_[:, 1],
    np.s_[1:3],
    np.s_[::-2, ::2],
    np.s_[None, 0],
    np.s_[..., None, ::-1],
    np.s_[3:3],
    np.s_[..., 3:0:-1],
]


@pytest.mark.parametrize("index", INDEXES)
class TestGetitem:
    def test_values(self, index):
        x = qb.array(M)
        for y in (x[index], qb.jit(lambda v: v[index])(x)):
            np.testing.assert_array_equal(y.numpy(), M[index])
            assert y.shape == list(M[index].shape)

    def test_gradient(self, index):
        weights = numbers(*M[index].shape, seed=2)
        wanted = np.zeros_like(M)
        wanted[index] = 2 * M[index] * weights
        got = qb.grad(lambda v: qb.sum(v[index] ** 2 * qb.array(weights)))(M)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-14)

    def test_vmap(self, index):
        stack = numbers(3, *M.shape)
        got = qb.vmap(lambda v: v[index])(qb.array(stack))
        np.testing.assert_array_equal(got.numpy(), np.stack([v[index] for v in stack]))


class TestFunctions:
    def test_gather(self):
        x = qb.array(M)
        np.testing.assert_array_equal(qb.jit(lambda v: v.gather([2, -1, 2], axis=1))(x).numpy(), M[:, [2, -1, 2]])
        got = qb.grad(lambda v: qb.sum(v.gather([2, -1, 2], axis=1) ** 2))(x).numpy()
        np.testing.assert_allclose(got, 2 * M * np.array([0, 0, 2, 0, 1]), rtol=1e-14)

    def test_scatter_add(self):
        base, updates = numbers(3, 2), numbers(4, 2, seed=1)
        indices = [0, -1, 0, 2]
        wanted = base.copy()
        np.add.at(wanted, np.array(indices), updates)

        def f(b, u):
            return b.scatter_add(indices, u)

        np.testing.assert_array_equal(f(qb.array(base), qb.array(updates)).numpy(), wanted)
        gb, gu = qb.grad(lambda b, u: qb.sum(f(b, u) ** 2), argnums=(0, 1))(base, updates)
        np.testing.assert_allclose(gb.numpy(), 2 * wanted, rtol=1e-14)
        np.testing.assert_allclose(gu.numpy(), 2 * wanted[indices], rtol=1e-14)
        _, dot = qb.jvp(lambda u: f(qb.array(base), u), (qb.array(updates),), (qb.ones((4, 2)),))
        np.testing.assert_array_equal(dot.numpy(), [[2, 2], [0, 0], [2, 2]])
        stack = numbers(5, 4, 2)
        mapped = qb.vmap(f, in_axes=(None, 0))(qb.array(base), qb.array(stack))
        np.testing.assert_allclose(mapped.numpy(), [f(qb.array(base), qb.array(u)).numpy() for u in stack])

    def test_traced_slice(self):
        x = qb.array(M)
        got = qb.jit(lambda v: indexing.slice_(v, -1, 4, 3, -2))(x)
        np.testing.assert_array_equal(got.numpy(), M[:, ::-2])

    def test_errors(self):
        x = qb.array(M)
        for error, call in (
            (ValueError, lambda v: indexing.slice_(v, 0, 0, 5)),
            (ValueError, lambda v: indexing.slice_(v, 2, 0, 1)),
            (TypeError, lambda v: indexing.slice_(v, 0, 0.0, 1)),
            (IndexError, lambda v: v.gather([4])),
            (IndexError, lambda v: v.gather([0, -5])),
            (TypeError, lambda v: v.gather([0.0])),
            (TypeError, lambda v: v.gather([[0]])),
            (TypeError, lambda v: v.gather(0)),
            (ValueError, lambda v: v.gather([0], axis=2)),
            (IndexError, lambda v: v.scatter_add([4], v[:1])),
            (ValueError, lambda v: v.scatter_add([0, 1], v)),
            (TypeError, lambda v: v[[0.0, 1.0]]),
            (IndexError, lambda v: v[[0, 4]]),
            (TypeError, lambda v: v[1.0]),
            (IndexError, lambda v: v[4]),
            (IndexError, lambda v: v[0, 0, 0]),
            (IndexError, lambda v: v[..., ...]),
        ):
            with pytest.raises(error):
                call(x)
            with pytest.raises(error):
                qb.jit(call)(x)

    @pytest.mark.parametrize("index", [[0.0, 1.0], np.array([0.5]), qb.array([0, 1]), 1.0, (0, "a"), qb.array(True)])
    def test_other_indices_are_told_what_there_is(self, index):
        with pytest.raises(TypeError, match=r"ints, slices, None, \.\.\., and int or bool arrays, got"):
            qb.ones((3, 3))[index]

    def test_traced_scalar_takes_a_row(self):
        x = qb.array([[1.0, 2.0], [3.0, 4.0]])
        assert qb.jit(lambda v: x[v])(qb.array(1.0)).tolist() == [3.0, 4.0]
        assert qb.jit(lambda v: x[..., v])(qb.array(-1.0)).tolist() == [2.0, 4.0]

    def test_traced_float_index_must_be_a_scalar(self):
        with pytest.raises(TypeError, match="must hold ints"):
            qb.jit(lambda v: qb.ones(3)[v])(qb.array([1.0, 2.0]))


class TestFolding:
    def test_slices_compose(self):
        assert trace_ops(lambda v: v[1:][::2][1:], (9,)) == ["slice"]
        assert trace_ops(lambda v: v[:], (9,)) == []

    def test_parts_of_a_concat_are_its_operands(self):
        assert trace_ops(lambda v, w: qb.concat([v, w], 0)[2:], (2,), (3,)) == []
        assert trace_ops(lambda v, w: qb.concat([v, w], 0)[3:], (2,), (3,)) == ["slice"]
        assert trace_ops(lambda v, w: qb.concat([v, w], 0)[1:4], (2,), (3,)) == ["concat", "slice"]

    def test_identity_gather(self):
        assert trace_ops(lambda v: v.gather([0, 1, 2]), (3,)) == []
        assert trace_ops(lambda v: v.gather([2, 1, 0]).gather([2, 1, 0]), (3,)) == []
