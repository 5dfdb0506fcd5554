"""Kernels for numbers in the NumPy plan: the bits of the kernels for arrays."""

import numpy as np
import pytest

import quabla as qb
from quabla.tracing.plan import Plan
from quabla.tracing.scalars import fused
from quabla.tracing.trace import Arguments, trace

EDGES = [0.0, -0.0, 1.0, -2.5, 1e-310, -1e308, float("inf"), -float("inf"), float("nan")]


def plan_of(fun, *args):
    return Plan(trace(fun, Arguments(args)).graph)


@pytest.mark.parametrize("dtype", [qb.float64, qb.float32], ids=str)
@pytest.mark.parametrize(
    "fun",
    [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: -x,
        lambda x, y: x < y,
        lambda x, y: x <= y,
        lambda x, y: x > y,
        lambda x, y: x >= y,
        lambda x, y: qb.equal(x, y),
        lambda x, y: qb.not_equal(x, y),
        lambda x, y: qb.where(x < y, x, y),
        lambda x, y: x**y,
    ],
)
@pytest.mark.filterwarnings("error")
def test_numbers_have_the_bits_of_arrays(fun, dtype):
    with np.errstate(all="ignore"):
        x, y = np.array([(x, y) for x in EDGES for y in [*EDGES, 0.5]]).T.astype(dtype.numpy)
        (want,) = plan_of(fun, qb.array(x, dtype=dtype), qb.array(y, dtype=dtype))([x, y])
    plan = plan_of(fun, qb.array(1.0, dtype=dtype), qb.array(1.0, dtype=dtype))
    found = np.array([plan([np.array(a), np.array(b)])[0] for a, b in zip(x, y, strict=True)], want.dtype)
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(want[want == 0]))


def test_a_vector_taken_apart_and_put_together_is_read_and_made_by_one_kernel_each():
    def swap(v, m):
        return qb.stack([v[1] + 1.0, v[0] * v[2]]), m[:, 1], m[0]

    v, m = np.array([2.0, 3.0, 5.0]), np.arange(6.0).reshape(2, 3)
    graph = trace(swap, Arguments([qb.array(v), qb.array(m)])).graph
    combined, inside = fused(graph.body())
    assert len(combined) == 6  # five elements and rows, one vector
    assert len(inside) == 7  # five slices, two reshapes of numbers
    a, b, c = Plan(graph)([v, m])
    np.testing.assert_array_equal(a, [4.0, 10.0])
    np.testing.assert_array_equal(b, [1.0, 4.0])
    np.testing.assert_array_equal(c, [0.0, 1.0, 2.0])


def test_slices_with_other_uses_are_still_computed():
    def both(v):
        part = v[1:2]
        return qb.reshape(part, ()), part, qb.reshape(v[0:1], ())

    a, b, c = plan_of(both, qb.ones(3))([np.array([1.0, 2.0, 3.0])])
    assert (float(a), b.tolist(), float(c)) == (2.0, [2.0], 1.0)
