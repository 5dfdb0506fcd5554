"""The examples run and reach what they promise."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def poisson():
    return runpy.run_path(str(EXAMPLES / "pinn_poisson.py"))


def test_poisson_network_solves_the_equation(poisson, tmp_path, capsys):
    # The exact solution is sin(pi x); 3,000 steps promise an error under 5e-4 and take seconds.
    assert poisson["main"](["--out", str(tmp_path)]) < 5e-4
    assert (tmp_path / "pinn_poisson.png").stat().st_size > 10_000
    assert (tmp_path / "train_step.qb.txt").read_text().startswith("%0 = input[name=params/0/b] : tensor<32xf64>\n")
    assert "stablehlo.dot_general" in (tmp_path / "train_step.stablehlo.mlir").read_text()
    out = capsys.readouterr().out
    assert "max abs error" in out
    assert "\r" not in out  # not a terminal: lines, not one that changes
    assert [line.split()[1] for line in out.splitlines() if line.startswith("step")] == [
        f"{n}/3000" for n in range(500, 3001, 500)
    ]


def test_poisson_network_meets_the_boundary_values_before_training(poisson):
    params = poisson["init_params"](seed=3)
    assert [poisson["solution"](params, x).item() for x in (0.0, 1.0)] == [0.0, 0.0]


def test_predator_prey_fit_recovers_the_rates(tmp_path, capsys):
    fit = runpy.run_path(str(EXAMPLES / "lotka_volterra_fit.py"))
    # Observations with 5 percent of noise promise the rates to 2 percent.
    assert fit["main"](["--out", str(tmp_path)]) < 2e-2
    assert (tmp_path / "lotka_volterra_fit.png").stat().st_size > 10_000
    assert "max relative error of the rates" in capsys.readouterr().out


@pytest.mark.slow
def test_predator_prey_fit_is_closer_without_noise(tmp_path):
    fit = runpy.run_path(str(EXAMPLES / "lotka_volterra_fit.py"))
    assert fit["main"](["--out", str(tmp_path), "--noise", "0"]) < 1e-3
