"""A physics-informed network for a boundary value problem: u'' = -pi^2 sin(pi x) on [0, 1], u(0) = u(1) = 0.

A small tanh network is trained until its own second derivative satisfies the equation; no solution data is used. The
exact solution sin(pi x) only measures the error at the end. Writes the loss and the solution as a picture, and the
compiled training step in both its forms: quabla's own and StableHLO.

    python examples/pinn_poisson.py [--out build/demo] [--steps 3000]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import quabla as qb

SIZES = (1, 32, 32, 1)
POINTS = 128
PEAK_RATE, LAST_RATE = 1e-2, 1e-5

Params = list[dict[str, Any]]


def init_params(seed: int) -> Params:
    """Weights after Glorot and Bengio (2010), biases zero."""
    rng = np.random.default_rng(seed)
    return [
        {"w": qb.array(rng.normal(0.0, np.sqrt(2.0 / (m + n)), (m, n))), "b": qb.zeros(n)}
        for m, n in itertools.pairwise(SIZES)
    ]


def solution(params: Params, x: Any) -> Any:
    """u(x) at one point. The factor x (1 - x) makes the boundary values exact."""
    h = qb.reshape(x, (1, 1))
    for layer in params[:-1]:
        h = qb.tanh(h @ layer["w"] + layer["b"])
    last = params[-1]
    return x * (1.0 - x) * qb.sum(h @ last["w"] + last["b"])


def residual(params: Params, x: Any) -> Any:
    """What the equation leaves at one point, from the network's exact second derivative."""
    u_xx = qb.grad(qb.grad(solution, argnums=1), argnums=1)(params, x)
    return u_xx + np.pi**2 * qb.sin(np.pi * x)


def loss(params: Params, points: Any) -> Any:
    """The mean squared residual."""
    return qb.mean(qb.vmap(residual, in_axes=(None, 0))(params, points) ** 2)


def train(params: Params, points: Any, steps: int) -> tuple[Params, list[float], Any]:
    """The trained parameters, the loss before each step, and the lowered step."""
    adam = qb.optim.Adam(qb.optim.cosine_decay(PEAK_RATE, steps, LAST_RATE / PEAK_RATE))

    @qb.jit
    def step(params: Params, state: Any, points: Any) -> tuple[Any, Params, Any]:
        value, grads = qb.value_and_grad(loss)(params, points)
        return value, *adam.update(params, grads, state)

    # A number that changes is passed as an array: a Python number is part of the program, and would be compiled again.
    state = {**adam.init(params), "step": qb.array(0.0)}
    lowered = step.lower(params, state, points)
    losses: list[float] = []
    started = time.perf_counter()
    for i in range(steps):
        value, params, state = step(params, state, points)
        losses.append(value.item())
        # A terminal shows one line that changes; a file or a pipe gets a line now and then.
        changing = sys.stdout.isatty()
        last = i + 1 == steps
        if last or (i + 1) % (100 if changing else 500) == 0:
            rate = (i + 1) / (time.perf_counter() - started)
            line = f"step {i + 1:5d}/{steps}   loss {losses[-1]:.3e}   {rate:6.0f} steps/s"
            print(f"\r{line}" if changing else line, end="" if changing and not last else "\n", flush=True)
    return params, losses, lowered


def plot(file: Path, x: np.ndarray[Any, Any], u: np.ndarray[Any, Any], losses: list[float]) -> None:
    """The solution, its error and the loss, as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    exact = np.sin(np.pi * x)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    left.plot(x, exact, color="0.7", linewidth=5, label=r"exact, $\sin\,\pi x$")
    left.plot(x, u, color="tab:blue", label="network")
    left.set(xlabel="$x$", title="solution $u(x)$")
    left.legend(frameon=False)
    middle.plot(x, u - exact, color="tab:red")
    middle.axhline(0.0, color="0.8", linewidth=1, zorder=0)
    middle.ticklabel_format(axis="y", scilimits=(0, 0))
    middle.set(xlabel="$x$", title="error of the network")
    right.semilogy(np.arange(1, len(losses) + 1), losses, color="tab:green", linewidth=0.8)
    right.set(xlabel="step", title="mean squared residual")
    figure.savefig(file, dpi=150)
    plt.close(figure)


def main(argv: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description="Train a network to solve u'' = -pi^2 sin(pi x).")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="folder for the plot and the IR")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)

    print(f"u'' = -pi^2 sin(pi x), u(0) = u(1) = 0: a {'-'.join(map(str, SIZES))} tanh network at {POINTS} points")
    points = qb.linspace(0.0, 1.0, POINTS)
    params, losses, lowered = train(init_params(options.seed), points, options.steps)

    (out / "train_step.qb.txt").write_text(lowered.as_text())
    (out / "train_step.stablehlo.mlir").write_text(lowered.program.stablehlo_text())
    print(f"training step as qb:         {out / 'train_step.qb.txt'}")
    print(f"training step as StableHLO:  {out / 'train_step.stablehlo.mlir'}")

    x = np.linspace(0.0, 1.0, 1001)
    u = qb.jit(qb.vmap(solution, in_axes=(None, 0)))(params, qb.array(x)).numpy()
    try:
        plot(out / "pinn_poisson.png", x, u, losses)
        print(f"solution, error and loss:    {out / 'pinn_poisson.png'}")
    except ModuleNotFoundError as missing:
        print(f"no plot: {missing.name} is not installed; get it with: {sys.executable} -m pip install {missing.name}")
    error = float(np.abs(u - np.sin(np.pi * x)).max())
    print(f"max abs error: {error:.3e}")
    return error


if __name__ == "__main__":
    main()
