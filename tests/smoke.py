"""A minute's proof that an installation works: derivatives, both CPU engines, and the compiler's texts."""

import math
import sys

import numpy as np

import quabla as qb


def main() -> None:
    def f(x):
        return qb.sum(qb.sin(x) * x)

    x = qb.linspace(0.0, 1.0, 5)
    expected = np.sin(x.numpy()) + x.numpy() * np.cos(x.numpy())
    for engine in ("numpy", "xla"):
        qb.config.cpu_engine = engine
        got = qb.jit(qb.grad(f))(x).numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=0, err_msg=f"gradient on {engine}")
        third = qb.jit(qb.vmap(qb.grad(qb.grad(qb.grad(qb.tanh)))))(x)
        assert math.isclose(third[0].item(), -2.0, rel_tol=1e-13), f"third derivative of tanh at 0 on {engine}: {third}"

    lowered = qb.jit(qb.grad(f)).lower(x)
    assert "cos(%0) : tensor<5xf64>" in lowered.as_text(), lowered.as_text()
    assert "stablehlo.cosine" in lowered.program.stablehlo_text()


if __name__ == "__main__":
    main()
    print(f"quabla {qb.__version__} on Python {sys.version.split()[0]}: works")
