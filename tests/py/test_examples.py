"""The examples run and reach what they promise."""

import runpy
from pathlib import Path

import numpy as np
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


def test_burgers_network_finds_the_shock(tmp_path, capsys):
    # All of it, 500 steps of Adam and 1,500 iterations of L-BFGS, promises about 1e-3; a third promises 1e-2.
    burgers = runpy.run_path(str(EXAMPLES / "pinn_burgers.py"))
    assert burgers["main"](["--out", str(tmp_path), "--lbfgs", "500", "--points", "400"]) < 1e-2
    assert (tmp_path / "pinn_burgers.png").stat().st_size > 10_000
    out = capsys.readouterr().out
    assert "Adam:    500 steps" in out
    assert "relative error" in out


@pytest.mark.slow
def test_burgers_network_reaches_what_it_promises(tmp_path):
    burgers = runpy.run_path(str(EXAMPLES / "pinn_burgers.py"))
    assert burgers["main"](["--out", str(tmp_path)]) < 2e-3


def test_the_reference_solves_burgers_equation():
    """By finite differences away from the shock; and before it, u is constant along characteristics as nu goes to 0."""
    burgers = runpy.run_path(str(EXAMPLES / "pinn_burgers.py"))
    u, nu, h = burgers["cole_hopf"], burgers["NU"], 1e-4
    t, x = np.array([0.3, 0.7]), np.array([-0.8, -0.4, 0.2, 0.6])
    u_t = (u(t + h, x) - u(t - h, x)) / (2 * h)
    u_x = (u(t, x + h) - u(t, x - h)) / (2 * h)
    u_xx = (u(t, x + h) - 2 * u(t, x) + u(t, x - h)) / h**2
    np.testing.assert_allclose(u_t + u(t, x) * u_x, nu * u_xx, atol=1e-5)
    np.testing.assert_allclose(u(np.array([1e-6]), x)[0], -np.sin(np.pi * x), atol=1e-5)


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


def test_thermometers_tell_the_diffusivity(tmp_path, capsys):
    # On 31 x 31 points the example promises 3e-3. The error is that of second differences, so half the points give four
    # times as much.
    heat = runpy.run_path(str(EXAMPLES / "heat_equation_implicit.py"))
    assert heat["main"](["--out", str(tmp_path), "--points", "15", "--steps", "16"]) < 1.2e-2
    assert (tmp_path / "heat_equation_implicit.png").stat().st_size > 10_000
    assert "gradient_tolerance" in capsys.readouterr().out


@pytest.mark.slow
def test_thermometers_tell_the_diffusivity_as_well_as_promised(tmp_path):
    heat = runpy.run_path(str(EXAMPLES / "heat_equation_implicit.py"))
    assert heat["main"](["--out", str(tmp_path)]) < 3e-3
