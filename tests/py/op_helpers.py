"""Running one op's kernel on NumPy arrays."""

import numpy as np

from quabla import dtypes
from quabla.ops.types import tensor_type


def type_of(array):
    return tensor_type(array.shape, dtypes.from_numpy(array.dtype))


def kernel(op, params, *arrays):
    """The op's eager kernel, its result checked against the op's own inference."""
    types = tuple(type_of(a) for a in arrays)
    inferred = op.result_type(types, params)
    with np.errstate(all="ignore"):
        result = np.asarray(op.kernel_for(types, params)(*arrays))
    assert result.shape == inferred.shape
    assert result.dtype == inferred.dtype.numpy
    return result


def numbers(*shape, dtype=np.float64, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def central(f, x, step=1e-6):
    """The gradient of a scalar function of a NumPy array by central differences."""
    x = np.asarray(x, np.float64)
    out = np.empty_like(x)
    for i in np.ndindex(x.shape):
        low, high = x.copy(), x.copy()
        low[i] -= step
        high[i] += step
        out[i] = (f(high) - f(low)) / (2 * step)
    return out


def trace_ops(fun, *shapes):
    """The names of the ops that a function of float64 arguments records, dead ones left out."""
    from quabla.tracing.graph import build

    graph = build([tensor_type(s) for s in shapes], None, lambda *xs: [fun(*xs)])
    return [n.op.name for n in graph.body().nodes]
