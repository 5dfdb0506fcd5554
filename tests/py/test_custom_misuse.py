"""``custom_vjp`` and ``custom_jvp`` used wrongly: errors name the function and the rule."""

from __future__ import annotations

import re

import pytest
from custom_rules import KINDS, X, make_cubic

import quabla as qb

# ---- misuse -------------------------------------------------------------------------------------


@KINDS
def test_call_before_the_rules_are_defined(kind):
    f = kind(lambda x: x)
    for call in (f, qb.grad(f), qb.jit(f)):
        with pytest.raises(AttributeError, match=r"lambda.*has no rule yet: define it with def"):
            call(1.0)


def cubic_with(fwd=None, bwd=None):
    f = qb.custom_vjp(lambda x: x**3)
    f.defvjp(fwd or (lambda x: (x**3, x)), bwd or (lambda x, ct: (3.0 * x * x * ct,)))
    return f


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"fwd": lambda x: x}, "fwd must return a pair"),
        ({"fwd": lambda x: ([x], x)}, "fwd returns an output of another structure"),
        ({"fwd": lambda x: (qb.stack([x, x]), x)}, "fwd returns .*2xf64"),
        ({"fwd": lambda x: ("text", x)}, "fwd must return arrays, got 'text'"),
        ({"bwd": lambda x, ct: ct}, "bwd must return a tuple"),
        ({"bwd": lambda x, ct: [ct]}, "bwd must return a tuple"),
        ({"bwd": lambda x, ct: (ct, ct)}, "bwd returns 2 cotangents for 1"),
        ({"bwd": lambda x, ct: (qb.stack([ct, ct]),)}, "bwd returns .* for differentiable argument 0"),
        ({"bwd": lambda x, ct: (ct.astype(qb.float32),)}, "bwd returns .*f32"),
        ({"bwd": lambda x, ct: ({"a": ct},)}, "bwd returns a cotangent of another structure"),
        ({"bwd": lambda x, ct: ("text",)}, "bwd returns 'text'"),
    ],
)
def test_rules_of_reverse_mode_that_do_not_fit(rules, message):
    with pytest.raises(TypeError, match=message) as e:
        qb.grad(cubic_with(**rules))(2.0)
    assert "custom_vjp(cubic_with" in str(e.value)
    assert "test_custom_misuse.py" in str(e.value)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda p, t: t[0], "the rule must return a pair"),
        (lambda p, t: (p[0], (t[0], t[0])), "the rule returns a tangent of another structure"),
        (lambda p, t: (p[0], qb.stack([t[0], t[0]])), "the rule returns .*2"),
        (lambda p, t: (p[0], "text"), "the rule returns 'text'"),
    ],
)
def test_rules_of_forward_mode_that_do_not_fit(rule, message):
    f = qb.custom_jvp(lambda x: x * 1.0)
    f.defjvp(rule)
    for run in (qb.grad(f), lambda x: qb.jvp(f, (x,), (1.0,))):
        with pytest.raises(TypeError, match=message):
            run(2.0)


def test_tangent_that_is_not_linear():
    f = qb.custom_jvp(lambda x: x * 1.0)
    f.defjvp(lambda p, t: (p[0], t[0] * t[0]))
    assert qb.jvp(f, (1.0,), (3.0,))[1].item() == 9.0
    with pytest.raises(ValueError, match="linear in the tangents"):
        qb.grad(f)(1.0)


def test_forward_mode_of_a_reverse_only_function():
    f = make_cubic()
    loop = lambda v: qb.fori_loop(0, 3, lambda i, c: f(c), v)  # noqa: E731
    runs = {
        "jvp": lambda: qb.jvp(f, (2.0,), (1.0,)),
        "loop": lambda: qb.jvp(loop, (2.0,), (1.0,)),
        "vmap": lambda: qb.jvp(qb.vmap(f), (X,), (X,)),
        "checkpoint": lambda: qb.jvp(qb.checkpoint(f), (2.0,), (1.0,)),
        "while": lambda: qb.jvp(lambda v: qb.while_loop(lambda c: c < 9.0, f, v), (2.0,), (1.0,)),
    }
    for run in runs.values():
        with pytest.raises(ValueError, match=r"custom_vjp\(make_cubic.*bwd"):
            run()
    # What does not move needs no derivative.
    out, t = qb.jvp(lambda x: x * f(qb.array(2.0)), (3.0,), (1.0,))
    assert (out.item(), t.item()) == (24.0, 8.0)


@pytest.mark.parametrize("where", ["the function", "fwd", "bwd"])
def test_closing_over_a_traced_value(where):
    def run(y, x):
        part = {k: (y if k == where else 1.0) for k in ("the function", "fwd", "bwd")}
        f = qb.custom_vjp(lambda v: v * part["the function"])
        f.defvjp(lambda v: (v * part["fwd"], v), lambda r, ct: (ct * part["bwd"],))
        return qb.grad(f)(x)

    with pytest.raises(TypeError, match=rf"custom_vjp\(.*: {where}.*"):
        qb.jit(run)(qb.array(2.0), qb.array(3.0))


def test_closing_over_a_traced_value_with_eager_arguments():
    def run(y):
        f = qb.custom_jvp(lambda v: v * y)
        f.defjvp(lambda p, t: (f(*p), t[0] * 1.0))
        return f(qb.array(2.0))

    with pytest.raises(TypeError, match="the function closes over a traced value"):
        qb.grad(run)(1.0)


def test_closing_over_the_argument_of_the_differentiated_function():
    f = qb.custom_vjp(lambda v: v * 1.0)

    def run(y):
        f.defvjp(lambda v: (v * y, None), lambda r, ct: (ct,))
        return f(y)

    with pytest.raises(TypeError, match=re.escape("custom_vjp(") + ".*fwd"):
        qb.grad(run)(1.0)


def test_traced_nondiff_argument():
    f = qb.custom_vjp(lambda k, x: k * x, nondiff_argnums=0)
    f.defvjp(lambda k, x: (k * x, None), lambda k, r, ct: (k * ct,))
    with pytest.raises(TypeError, match="argument 0 is in nondiff_argnums"):
        qb.jit(f)(qb.array(2.0), X)
    with pytest.raises(TypeError, match="argument 0 is in nondiff_argnums"):
        qb.grad(lambda v: qb.sum(f([v], X)))(2.0)
    with pytest.raises(ValueError, match="out of range"):
        qb.grad(defined(qb.custom_vjp(lambda x: x, nondiff_argnums=3)))(1.0)


def defined(f):
    f.defvjp(lambda x: (x, None), lambda r, ct: (ct,))
    return f


def test_arguments_results_and_definitions_that_do_not_fit():
    f = defined(qb.custom_vjp(lambda x: x > 0.0))
    for call in (f, qb.jit(f), qb.vmap(f)):
        with pytest.raises(TypeError, match="float arrays"):
            call(X)
    g = make_cubic()
    with pytest.raises(TypeError, match="positional"):
        g(x=1.0)
    with pytest.raises(TypeError, match="nondiff_argnums"):
        qb.jit(lambda x: defined(qb.custom_vjp(lambda a, s: a))(x, "text"))(X)
    for kind in (qb.custom_vjp, qb.custom_jvp):
        with pytest.raises(TypeError, match="expected a function"):
            kind(3)
        with pytest.raises(TypeError, match="nondiff_argnums must be"):
            kind(qb.sin, nondiff_argnums="0")
    with pytest.raises(TypeError, match="defvjp"):
        g.defvjp(1, lambda r, ct: (ct,))
    with pytest.raises(TypeError, match="defjvp"):
        qb.custom_jvp(qb.sin).defjvp(None)
