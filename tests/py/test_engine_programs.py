"""The programs that all engines share, on XLA beside the plan; `test_mlx.py` runs them on MLX."""

from __future__ import annotations

import numpy as np
import pytest
from engine_programs import DERIVATIVES, LOOPS, MATRICES, SOLVERS

import quabla as qb


def agree(program, engine):
    answers = []
    for name in ("numpy", "xla"):
        engine(name)
        # A function of its own for each engine: a compiled function keeps the engine that it has chosen.
        answers.append(qb.tree.leaves(qb.jit(lambda *x: program.run(*x))(*program.operands)))
    for plan, xla in zip(*answers, strict=True):
        assert plan.dtype is xla.dtype
        assert plan.shape == xla.shape
        np.testing.assert_allclose(xla.numpy(), plan.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("program", [*LOOPS, *MATRICES, *SOLVERS], ids=lambda p: p.name)
def test_xla_agrees_with_the_plan(program, engine):
    agree(program, engine)


@pytest.mark.slow
@pytest.mark.parametrize("program", DERIVATIVES, ids=lambda p: p.name)
def test_xla_agrees_with_the_plan_in_derivatives(program, engine):
    agree(program, engine)
