"""Lowering ahead of time and the compiler facade, as their documentation shows them."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

import quabla as qb

PARAMS = {"w": qb.array([[0.5], [-0.3]], dtype=qb.float32), "b": qb.array([0.1], dtype=qb.float32)}
POINTS = qb.array([[1.0, 2.0], [3.0, 4.0]], dtype=qb.float32)


def loss(params, x):
    return qb.mean(qb.tanh(x @ params["w"] + params["b"]) ** 2)


def printed(*values):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for v in values:
            print(v)
    return out.getvalue()


def lowered():
    return qb.jit(loss).lower(
        {"w": qb.ShapeDtype((2, 1), qb.float32), "b": qb.ShapeDtype((1,), qb.float32)},
        qb.ShapeDtype((2, 2), qb.float32),
    )


@pytest.mark.parametrize("name", ["numpy", "xla"])
def test_training_step_on_the_cpu(engine, name):
    engine(name)
    value, grads = qb.jit(qb.value_and_grad(loss), device="cpu")(PARAMS, POINTS)
    u = POINTS.numpy().astype(np.float64) @ PARAMS["w"].numpy().astype(np.float64) + PARAMS["b"].numpy()
    d = 2 * np.tanh(u) / np.cosh(u) ** 2 / 2
    assert value.dtype is qb.float32
    np.testing.assert_allclose(value.item(), np.mean(np.tanh(u) ** 2), rtol=2e-7)
    np.testing.assert_allclose(grads["w"].numpy(), POINTS.numpy().T @ d, rtol=5e-7)
    np.testing.assert_allclose(grads["b"].numpy(), d.sum(0), rtol=5e-7)


def test_as_text_prints_the_frozen_program():
    assert lowered().as_text() == (
        "%0 = input[name=params/b] : tensor<1xf32>\n"
        "%1 = input[name=params/w] : tensor<2x1xf32>\n"
        "%2 = input[name=x] : tensor<2x2xf32>\n"
        "%3 = matmul(%2, %1) : tensor<2x1xf32>\n"
        "%4 = add(%3, %0) : tensor<2x1xf32>\n"
        "%5 = tanh(%4) : tensor<2x1xf32>\n"
        "%6 = powi(%5, 2) : tensor<2x1xf32>\n"
        "%7 = mean(%6) : tensor<f32>\n"
        "outputs: [[]]\n"
    )


def test_compiled_function_takes_the_arguments_of_the_original():
    assert printed(lowered().compile()(PARAMS, POINTS)) == "Tensor(0.07218059, dtype=float32)\n"


def test_facade_listing():
    compiler = qb.Compiler()
    assert compiler.capabilities()["cpu"] is True
    assert list(compiler.capabilities()) == ["cpu", "cuda", "mlx"]
    specs = [("x", [2], qb.float64), ("w", [2], qb.float64)]
    program = compiler.trace(lambda x, w: qb.sum(qb.sin(x * w)), specs)
    inputs = {"x": qb.array([1.0, 2.0]), "w": qb.array([0.5, 0.25])}
    grads = program.vjp("y_bar")
    assert printed(
        program.lower_text(),
        program.compile("cpu")(inputs),
        grads["w"].compile("cpu")({**inputs, "y_bar": qb.array(1.0)}),
    ) == (
        "%0 = input[name=x] : tensor<2xf64>\n"
        "%1 = input[name=w] : tensor<2xf64>\n"
        "%2 = mul(%0, %1) : tensor<2xf64>\n"
        "%3 = sin(%2) : tensor<2xf64>\n"
        "%4 = sum(%3) : tensor<f64>\n"
        "Tensor(0.95885108, dtype=float64)\n"
        "Tensor([0.87758256, 1.75516512], dtype=float64)\n"
    )


def test_program_derivatives_with_large_captured_arrays():
    table = qb.array(np.linspace(0.0, 1.0, 40))
    program = qb.Compiler().trace(lambda x, w: qb.sum(x * table * w), [("x", [40]), ("w", [])])
    inputs = {"x": qb.ones((40,)), "w": qb.array(2.0)}
    assert program.compile()(inputs).item() == pytest.approx(40.0)
    grads = program.vjp("ct")
    assert sorted(grads) == ["w", "x"]
    np.testing.assert_allclose(grads["x"].compile()({**inputs, "ct": qb.array(1.0)}).numpy(), 2 * table.numpy())
    assert program.jvp("w").compile()(inputs).item() == pytest.approx(20.0)


def test_several_outputs():
    program = qb.jit(lambda x: {"a": qb.sum(x * x), "b": x * 3.0}).lower(qb.ShapeDtype((2,))).program
    assert program.output_shapes == [[], [2]]
    with pytest.raises(qb.UnsupportedOperationError, match="2 outputs"):
        _ = program.output_shape
    inputs = {"x": qb.array([1.0, 2.0])}
    assert [t.tolist() for t in program.compile()(inputs)] == [5.0, [3.0, 6.0]]
    assert [t.tolist() for t in program.jvp("x").compile()(inputs)] == [6.0, [3.0, 3.0]]
    g = program.vjp("ct")["x"].compile()({**inputs, "ct_0": qb.array(1.0), "ct_1": qb.array([1.0, 0.0])})
    assert g.tolist() == [5.0, 4.0]


def test_programs_text_is_the_same_from_both_ends():
    low = qb.jit(lambda v: v * 2.0).lower(qb.ones((3,)))
    assert low.as_text() == low.program.lower_text()


def test_stablehlo_text_is_a_whole_module():
    text = lowered().program.stablehlo_text()
    for part in ("module", "func.func public @main", "stablehlo.dot_general", "stablehlo.tanh", "tensor<2x1xf32>"):
        assert part in text


def test_inputs_are_named_by_their_paths():
    def f(p, *rest, scale):
        return (p["net"][0]["w"] + rest[0]) * scale

    text = qb.jit(f).lower({"net": [{"w": qb.ones((2,))}]}, qb.ones((2,)), scale=qb.array(2.0)).as_text()
    assert [line.split("name=")[1].split("]")[0] for line in text.splitlines() if "input" in line] == [
        "p/net/0/w",
        "rest/0",
        "scale",
    ]


def test_untraced_results_pass_through_a_compiled_function():
    x = qb.ones((2,))
    assert qb.jit(lambda v: (3.0, True, None, "s")).lower(x).compile()(x) == (3.0, True, None, "s")
    assert qb.jit(lambda: (None, 3)).lower().compile()() == (None, 3)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda e: e({"x": qb.ones((2,))}), ValueError, "'w'.*missing"),
        (lambda e: e({"x": qb.ones((3,)), "w": qb.ones((2,))}), ValueError, r"tensor<2xf64>, got tensor<3xf64>"),
        (
            lambda e: e({"x": qb.ones((2,), dtype=qb.float32), "w": qb.ones((2,))}),
            ValueError,
            r"tensor<2xf64>, got tensor<2xf32>",
        ),
        (lambda e: e([1]), TypeError, "dict"),
        (lambda e: e({"x": [1.0, 2.0], "w": qb.ones((2,))}), TypeError, "Tensor"),
    ],
)
def test_executable_checks_its_inputs(call, kind, words):
    program = qb.Compiler().trace(lambda x, w: qb.sum(x * w), [("x", [2]), ("w", [2])])
    with pytest.raises(kind, match=words):
        call(program.compile())


def test_compiled_function_rejects_another_signature():
    x = qb.ones((2,))
    compiled = qb.jit(lambda v, n: v * n).lower(x, 2.0).compile()
    assert compiled(x, 2.0).tolist() == [2.0, 2.0]
    for args in ((qb.ones((3,)), 2.0), (x, 3.0), (x.astype(qb.float32), 2.0), ([x], 2.0)):
        with pytest.raises(ValueError, match="compiled for"):
            compiled(*args)


def test_a_program_that_closes_over_a_traced_value_cannot_run_while_tracing():
    def run(a):
        program = qb.Compiler().trace(lambda x: x + a, [("x", [2], qb.float64)])
        return program.compile()({"x": qb.ones(2)})

    with pytest.raises(qb.TracerError, match=r"uses the argument 'a', .*has no value while tracing"):
        qb.jit(run)(qb.array(1.0))
