"""Fit the rates of a predator-prey system to noisy observations, through the differential equation.

    prey' = a prey - b prey hunters,    hunters' = c prey hunters - d hunters

The rates and the first state are found by gradient steps, those of Adam, on the misfit of the solution, which an adaptive
solver computes and reverse mode differentiates. The fit starts with the first observations and takes in more and more of
them, since a solution whose oscillations are out of step has a gradient that leads nowhere. Writes the data, the fit and
the course of the rates as a picture.

    python examples/lotka_volterra_fit.py [--out build/demo] [--noise 0.05] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import quabla as qb

RATES = np.array([1.5, 1.0, 1.0, 3.0])
START = np.array([1.0, 1.0])
GUESS = np.array([1.0, 1.5, 1.5, 2.0])
OBSERVATIONS, END = 60, 10.0
#: The fractions of the observations that the fit takes in, and the steps and rate of descent with each.
STAGES = ((0.2, 150, 0.03), (0.5, 150, 0.03), (1.0, 150, 0.01))

Params = dict[str, Any]


def interaction(y: Any, t: Any, rates: Any) -> Any:
    prey, hunters = y[0], y[1]
    meeting = prey * hunters
    return qb.stack([rates[0] * prey - rates[1] * meeting, rates[2] * meeting - rates[3] * hunters])


def populations(params: Params, times: Any) -> Any:
    """The solution at the times; the parameters are logarithms, so that what they stand for stays positive."""
    rates, start = qb.exp(params["rates"]), qb.exp(params["start"])
    return qb.ode.odeint(interaction, start, (0.0, END), method="tsit5", args=(rates,), saveat=times, max_steps=400)


def loss(params: Params, times: Any, observed: Any, weights: Any) -> Any:
    """The mean squared error of the logarithms of what is observed."""
    errors = qb.log(populations(params, times)) - qb.log(observed)
    return qb.sum(weights * qb.sum(errors * errors, axis=1)) / qb.sum(weights)


def fit(times: Any, observed: Any) -> tuple[Params, np.ndarray[Any, Any]]:
    """The fitted parameters, and the rates before each step."""
    slope = qb.jit(qb.value_and_grad(loss))
    params: Params = {"rates": qb.log(qb.array(GUESS)), "start": qb.log(observed[0])}
    history: list[Any] = []
    started = time.perf_counter()
    for fraction, steps, rate in STAGES:
        weights = qb.array((np.arange(OBSERVATIONS) < fraction * OBSERVATIONS).astype(float))
        optimizer = qb.optim.Adam(rate)
        state = optimizer.init(params)
        value = qb.array(0.0)
        for _ in range(steps):
            history.append(np.exp(params["rates"].numpy()))
            value, grads = slope(params, times, observed, weights)
            params, state = optimizer.update(params, grads, state)
        speed = len(history) / (time.perf_counter() - started)
        print(
            f"{int(fraction * OBSERVATIONS):3d} observations   loss {value.item():.3e}   {speed:6.0f} steps/s",
            flush=True,
        )
    return params, np.array(history)


def observe(noise: float, seed: int) -> tuple[Any, Any]:
    """Times, and the true solution there with relative noise."""
    times = np.linspace(0.0, END, OBSERVATIONS)
    y = qb.ode.odeint(
        interaction, START, (0.0, END), method="tsit5", args=(RATES,), saveat=times, rtol=1e-9, max_steps=2000
    )
    return qb.array(times), qb.array(y.numpy() * np.exp(np.random.default_rng(seed).normal(0.0, noise, y.shape)))


def plot(file: Path, times: Any, observed: Any, params: Params, history: np.ndarray[Any, Any]) -> None:
    """The data with the fit, and the rates from step to step, as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    fine = qb.linspace(0.0, END, 400)
    curves = populations(params, fine).numpy()
    for k, (name, color) in enumerate((("prey", "tab:green"), ("hunters", "tab:red"))):
        left.plot(times.numpy(), observed.numpy()[:, k], "o", color=color, markersize=4, alpha=0.6)
        left.plot(fine.numpy(), curves[:, k], color=color, label=name)
    left.set(xlabel="$t$", title="observations and fit")
    left.legend(frameon=False)
    for k, name in enumerate("abcd"):
        (line,) = right.plot(history[:, k], label=f"${name}$")
        right.axhline(RATES[k], color=line.get_color(), linewidth=1, linestyle=":")
    right.set(xlabel="step", title="rates; dotted: the true ones")
    right.legend(frameon=False, ncols=2)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def main(argv: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description="Fit a predator-prey system to noisy observations.")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="folder for the plot")
    parser.add_argument("--noise", type=float, default=0.05, help="relative standard deviation of the observations")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)

    times, observed = observe(options.noise, options.seed)
    params, history = fit(times, observed)
    rates = np.exp(params["rates"].numpy())
    for name, true, found in zip("abcd", RATES, rates, strict=True):
        print(f"{name}: {found:.4f}, true {true:.4f}")
    try:
        plot(out / "lotka_volterra_fit.png", times, observed, params, history)
        print(f"data, fit and rates: {out / 'lotka_volterra_fit.png'}")
    except ModuleNotFoundError as missing:
        print(f"no plot: {missing.name} is not installed; get it with: {sys.executable} -m pip install {missing.name}")
    error = float(np.abs(rates / RATES - 1.0).max())
    print(f"max relative error of the rates: {error:.3e}")
    return error


if __name__ == "__main__":
    main()
