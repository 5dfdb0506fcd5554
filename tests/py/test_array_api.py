"""The namespace of the array API standard: what is there, what is not, and what consumers do with it.

tests/array_api/run.py runs the standard's own tests; docs/array-api.md has their results.
"""

import inspect
from pathlib import Path

import numpy as np
import pytest

import quabla as qb
from quabla import array_api as xp

#: Names of the standard without a counterpart, by the reason.
ABSENT = {
    "no complex dtypes and only two of integers, for indices": {
        *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64) if u or n < 32),
        "complex64",
        "complex128",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "imag",
        "__complex__",
        "__lshift__",
        "__rshift__",
    },
    "no op of the meaning": {"nextafter", "unique_all", "unique_counts", "unique_inverse", "unique_values"},
}


def names():
    found = {}
    for line in (Path(__file__).parent / "data" / "array_api.txt").read_text().splitlines():
        if line.startswith("["):
            section = found[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            section.append(line)
    return found


def test_every_name_of_the_standard_is_there_or_absent_for_a_reason():
    listed = names()
    owners = {"namespace": xp, "linalg": xp.linalg, "array": qb.Tensor}
    missing = {n for section, owner in owners.items() for n in listed[section] if not hasattr(owner, n)}
    assert missing == set().union(*ABSENT.values())
    assert set(xp.__all__) >= {n for n in listed["namespace"] if hasattr(xp, n)}
    assert not hasattr(xp, "fft")


def test_functions_take_what_the_standard_names():
    for name in ("asarray", "full_like", "sum", "std", "linspace", "eye", "astype", "concat"):
        kinds = {p.kind for p in inspect.signature(getattr(xp, name)).parameters.values()}
        assert inspect.Parameter.KEYWORD_ONLY in kinds, name


@pytest.mark.parametrize("run", [lambda f: f, qb.jit], ids=["eager", "traced"])
def test_generic_code_runs_on_arrays(run):
    """Softmax as a consumer of the standard writes it."""

    def softmax(x):
        np_ = x.__array_namespace__(api_version="2024.12")
        assert np_ is xp
        e = np_.exp(x - np_.max(x, axis=-1, keepdims=True))
        return np_.divide(e, np_.sum(e, axis=-1, keepdims=True))

    x = qb.array([[1.0, 2.0], [3.0, 3.0]])
    np.testing.assert_allclose(run(softmax)(x).numpy(), qb.softmax(x).numpy(), rtol=1e-15)


def test_a_later_version_is_refused():
    with pytest.raises(ValueError, match="2099"):
        qb.ones(1).__array_namespace__(api_version="2099.01")


def test_devices():
    x = qb.ones(2)
    assert x.device == xp.__array_namespace_info__().default_device() == "cpu"
    assert x.to_device("cpu") is x
    for use in (lambda: x.to_device("gpu"), lambda: xp.zeros(2, device="gpu"), lambda: xp.asarray(x, device="gpu")):
        with pytest.raises(ValueError, match="gpu"):
            use()


def test_info():
    info = xp.__array_namespace_info__()
    assert info.dtypes().keys() == {"float64", "float32", "bool", "int32", "int64"}
    assert info.dtypes(kind="real floating").keys() == {"float64", "float32"}
    assert info.default_dtypes()["real floating"] is qb.float64
    assert info.default_dtypes()["indexing"] is qb.argmax(qb.ones(2)).dtype
    assert info.capabilities()["boolean indexing"] is True
    assert info.devices() == ["cpu"]


X = np.array([[1.0, -2.0, 0.5], [-0.0, 3.0, -1.5]])
V = np.array([3.0, -1.0, 2.0])


@pytest.mark.parametrize("run", [lambda f: f, qb.jit], ids=["eager", "traced"])
@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (lambda x: xp.signbit(x), np.signbit(X)),
        (lambda x: xp.copysign(x, qb.array(V)), np.copysign(X, V)),
        (lambda x: xp.trunc(x), np.trunc(X)),
        (lambda x: xp.logical_xor(x > 0, x < 1), np.logical_xor(X > 0, X < 1)),
        (lambda x: (x > 0) ^ (x < 1), np.logical_xor(X > 0, X < 1)),
        (lambda x: xp.tril(x, k=1), np.tril(X, 1)),
        (lambda x: xp.triu(x, k=-1), np.triu(X, -1)),
        (lambda x: xp.triu(x > 0, k=1), np.triu(X > 0, 1)),
        (lambda x: xp.vecdot(x, qb.array(V)), X @ V),
        (lambda x: xp.cumulative_sum(x, axis=1, include_initial=True), np.cumsum(np.pad(X, ((0, 0), (1, 0))), 1)),
        (lambda x: xp.count_nonzero(x, axis=0), np.count_nonzero(X, 0)),
        (lambda x: xp.cumulative_prod(x, axis=0, include_initial=True), np.cumprod(np.vstack([np.ones(3), X]), 0)),
        (lambda x: xp.sort(x, descending=True), -np.sort(-X)),
        (lambda x: xp.argsort(x * x > 1, descending=True), np.argsort(~(X * X > 1), kind="stable")),
        (lambda x: xp.argsort(xp.round(x * 0.2), axis=0, descending=True), np.argsort(-np.round(X * 0.2), 0, "stable")),
        (lambda x: xp.take_along_axis(x, xp.argsort(x)), np.sort(X)),
        (lambda x: xp.std(x, axis=1, correction=1), np.std(X, axis=1, ddof=1)),
        (lambda x: xp.concat([x, x], axis=None), np.concatenate([X, X], None)),
        (lambda x: xp.unstack(x, axis=-1)[1], X[:, 1]),
        (lambda x: xp.broadcast_arrays(x, qb.array(V))[1], np.broadcast_to(V, (2, 3))),
        (lambda x: x.mT, X.T),
        (lambda x: xp.clip(x, min=-1.0), np.clip(X, -1.0, None)),
        (lambda x: xp.linalg.vector_norm(x, axis=(0, 1), keepdims=True), np.sqrt(np.sum(X * X)).reshape(1, 1)),
        (lambda x: xp.linalg.vector_norm(x, axis=0, ord=1), np.abs(X).sum(0)),
        (lambda x: xp.linalg.matrix_norm(x), np.linalg.norm(X)),
        (lambda x: xp.linalg.matrix_rank(x), 2.0),
        (lambda x: xp.linalg.svdvals(x), np.linalg.svd(X, compute_uv=False)),
        (lambda x: xp.linalg.eigvalsh(x @ x.T), np.linalg.eigvalsh(X @ X.T)),
        (lambda x: xp.linalg.trace(x, offset=1), np.trace(X, 1)),
    ],
)
def test_values(run, ours, numpys):
    np.testing.assert_allclose(run(ours)(qb.array(X)).numpy(), numpys, rtol=1e-13)


def test_dtypes():
    assert xp.isdtype(qb.float32, "real floating")
    assert not xp.isdtype(qb.bool_, ("numeric", "integral"))
    assert xp.isdtype(qb.bool_, qb.bool_)
    assert xp.finfo(qb.array([1.0])).eps == 2.0**-52
    assert xp.finfo(qb.float32).smallest_normal == 2.0**-126
    assert xp.result_type(qb.float32, 1.0) is qb.float32
    assert xp.result_type(qb.float32, qb.float64) is qb.float64
    assert xp.result_type(qb.int32, qb.int64, 1) is qb.int64
    assert xp.iinfo(qb.int32).min == -(2**31)
    for mixed in ((qb.bool_, qb.float64), (qb.int64, 1.5), (qb.int32, qb.float32), (qb.bool_, 1)):
        with pytest.raises(TypeError, match="result_type"):
            xp.result_type(*mixed)
    with pytest.raises(ValueError, match="kind"):
        xp.isdtype(qb.float64, "quaternion")


def test_copies():
    x = qb.array([1.0])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    assert xp.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1.0], copy=False)
