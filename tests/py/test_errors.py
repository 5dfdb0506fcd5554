"""Tracebacks of exceptions from traced functions: the user's frames, and the package's on demand."""

import traceback

import numpy as np
import pytest

import quabla as qb
from quabla import errors

X = qb.array([1.0, 2.0])


@pytest.fixture(autouse=True)
def _frames_hidden():
    qb.config.full_tracebacks = False


def broken(x):
    raise KeyError("from the user's function")


def mismatched(x):
    return qb.reshape(x, (7, 7))


CALLS = {
    "jit": lambda f: qb.jit(f)(X),
    "lower": lambda f: qb.jit(f).lower(X),
    "grad": lambda f: qb.grad(f)(X),
    "value_and_grad": lambda f: qb.value_and_grad(f)(X),
    "vmap": lambda f: qb.vmap(f)(X),
    "jacobian": lambda f: qb.jacobian(f)(X),
    "hessian": lambda f: qb.hessian(f)(X),
    "jvp": lambda f: qb.jvp(f, (X,), (X,)),
    "vjp": lambda f: qb.vjp(f, X),
    "nested": lambda f: qb.jit(lambda x: qb.vmap(qb.grad(f))(x))(X),
}


def raised(call, fun, error):
    with pytest.raises(error) as info:
        call(fun)
    return info.value


def files(error):
    return {frame.filename for frame in traceback.extract_tb(error.__traceback__)}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("fun", "error"), [(broken, KeyError), (mismatched, ValueError)])
def test_only_the_users_frames_are_shown(call, fun, error):
    found = raised(call, fun, error)
    assert files(found) == {__file__}
    assert traceback.extract_tb(found.__traceback__)[-1].name == fun.__name__


def test_an_error_of_the_call_itself_points_at_the_call():
    found = raised(lambda f: qb.jit(f)("text"), broken, TypeError)
    assert files(found) == {__file__}
    assert "'text'" in str(found)


BOOLS = qb.array([True, False])
EAGER = {
    "function": lambda: qb.reshape(X, (7, 7)),
    "function of one operand": lambda: qb.sin(BOOLS),
    "function of two operands": lambda: qb.maximum(X, qb.ones(3)),
    "operator": lambda: X + qb.ones(3),
    "reflected operator": lambda: np.float64(2.0) ** qb.asarray([[True]]).reshape(3),
    "comparison": lambda: qb.ones(3) < X,
    "method": lambda: X.sum(axis=3),
    "named operator": lambda: X.add(qb.ones(3)),
    "reduction": lambda: qb.sum(X, axis=3),
    "product": lambda: qb.matmul(X, qb.ones(3)),
    "dot product": lambda: qb.dot(X, qb.ones(3)),
    "matrix operator": lambda: qb.ones((2, 2)) @ qb.ones((3, 3)),
    "logical operator": lambda: BOOLS & X,
    "selection": lambda: qb.where(BOOLS, X, qb.ones(3)),
    "joining": lambda: qb.concat([X, qb.ones((2, 2))], axis=0),
    "creation": lambda: qb.zeros(-1),
    "creation from a list": lambda: qb.array([[1.0], [1.0, 2.0]]),
    "dtype": lambda: X.astype("float32"),
    "conversion": lambda: X.item(),
    "truth": lambda: bool(X),
    "index": lambda: X[5],
    "view": lambda: X.slice(0, 1, 5),
    "linalg": lambda: qb.linalg.solve(X, X),
    "random": lambda: qb.random.uniform(3),
    "imported later": lambda: qb.load("/nowhere/at/all"),
    "loop": lambda: qb.fori_loop(0, 2, lambda i, c: c + qb.ones(3), X),
}


@pytest.mark.parametrize("call", EAGER.values(), ids=EAGER)
def test_eager_errors_show_the_users_frames_only(call):
    with pytest.raises(Exception) as info:  # noqa: PT011 (of any class)
        call()
    assert files(info.value) == {__file__}


def test_vjp_function_errors_point_at_its_call():
    assert files(raised(qb.vjp(qb.sin, X)[1], (X, X), ValueError)) == {__file__}


def test_all_frames_are_shown_on_demand():
    qb.config.full_tracebacks = True
    found = raised(CALLS["grad"], broken, KeyError)
    assert files(found) > {__file__}
    assert any(map(errors.is_library_file, files(found)))


@pytest.mark.parametrize(("value", "full"), [("", False), ("0", False), ("1", True)])
def test_the_environment_sets_the_default(monkeypatch, value, full):
    monkeypatch.setenv("QUABLA_FULL_TRACEBACKS", value)
    assert type(qb.config)().full_tracebacks is full
