"""Operands for the samples of the op registry."""

from __future__ import annotations

import numpy as np

import quabla as qb
from quabla import dtypes
from quabla.array import Tensor, wrap
from quabla.ops import load_all
from quabla.ops.registry import REGISTRY, Op, Sample
from quabla.ops.types import tensor_type

load_all()

#: Every (op, sample) pair, with ids such as ``matmul-1``.
CASES = [(op, s) for op in REGISTRY.values() for s in op.samples]
IDS = [f"{op.name}-{i}" for op in REGISTRY.values() for i in range(len(op.samples))]


def sample_dtypes(sample: Sample) -> list[dtypes.dtype]:
    """The dtype of each operand."""
    return list(sample.dtypes) or [dtypes.float64] * len(sample.shapes)


def bounds(sample: Sample) -> list[tuple[float, float]]:
    """The interval of each operand's values."""
    count = len(sample.shapes)
    lo = sample.lo if isinstance(sample.lo, tuple) else (sample.lo,) * count
    hi = sample.hi if isinstance(sample.hi, tuple) else (sample.hi,) * count
    return list(zip(lo, hi, strict=True))


def arrays(sample: Sample, seed: int = 0, float_dtype: np.dtype | type = np.float64) -> list[np.ndarray]:
    """Distinct values inside the sample's bounds for each operand."""
    rng = np.random.default_rng(seed)
    out = []
    for shape, dtype, (lo, hi) in zip(sample.shapes, sample_dtypes(sample), bounds(sample), strict=True):
        count = int(np.prod(shape))
        if dtype is dtypes.bool_:
            out.append(rng.permutation(np.arange(count) % 2 == 0).reshape(shape))
        else:
            values = lo + (hi - lo) * (rng.permutation(count) + 0.5 * rng.uniform(0.2, 0.8, count)) / max(count, 1)
            if dtype.is_int:
                values = np.rint(values).astype(dtype.numpy)
            out.append(values.reshape(shape))
    if sample.make is not None:
        out = list(sample.make(*out))
    if sample.symmetric:
        out = [(a + np.swapaxes(a, -1, -2)) / 2 for a in out]
    return [a.astype(float_dtype) if a.dtype.kind == "f" else a for a in out]


def tensor(a: np.ndarray) -> Tensor:
    """A Tensor over a copy of an array."""
    dtype = dtypes.from_numpy(a.dtype)
    assert dtype is not None
    return wrap(np.array(a), tensor_type(a.shape, dtype))


def tensors(sample: Sample, seed: int = 0) -> list[Tensor]:
    """The sample's operands as Tensors."""
    return [tensor(a) for a in arrays(sample, seed)]


def op_function(op: Op, sample: Sample):
    """The op with the sample's attributes as a Python function of values."""
    from quabla.ops.dispatch import apply

    return lambda *operands: apply(op, operands, sample.params)


def smooth_function(op: Op, sample: Sample):
    """The same, of operands that tests move in every direction: those that must be symmetric are made so."""
    f = op_function(op, sample)
    if not sample.symmetric:
        return f
    return lambda *operands: f(*[0.5 * (x + qb.swapaxes(x, -1, -2)) for x in operands])


def special_operands(inputs: tuple[float, ...], width: type) -> list[Tensor]:
    """The operands of a special value: bools stay bools, numbers take the width."""
    return [tensor(np.asarray(x, bool if isinstance(x, bool) else width)) for x in inputs]


def takes_floats(op: Op) -> bool:
    """Whether an op computes with float operands, and not with words and counts only."""
    return any(d.is_float for s in op.samples for d in sample_dtypes(s))
