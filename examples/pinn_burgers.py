"""A physics-informed network for a shock: Burgers' equation u_t + u u_x = nu u_xx with nu = 0.01 / pi.

On -1 <= x <= 1 and 0 <= t <= 1 with u(0, x) = -sin(pi x) and u(t, -1) = u(t, 1) = 0 the solution steepens into a shock at
x = 0 whose width is about nu. A tanh network is trained on the equation alone: first with Adam on points that are drawn
anew for each step, then with L-BFGS on fixed ones. What the Cole-Hopf transformation gives only measures the error at the
end, which is about 1e-3 of the solution's norm. Writes the solution, its error and the loss as a picture.

    python examples/pinn_burgers.py [--out build/burgers] [--adam 500] [--lbfgs 1500] [--points 500]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import quabla as qb

NU = 0.01 / np.pi
SIZES = (3, 20, 20, 2)
#: A length between the width of the shock and that of the domain.
NEAR = 0.02

Params = list[dict[str, Any]]
NumpyArray = np.ndarray[Any, Any]


# ---- the network --------------------------------------------------------------------------------


def init_params(seed: int) -> Params:
    """Weights after Glorot and Bengio (2010), biases zero."""
    keys = qb.random.split(qb.random.key(seed), len(SIZES) - 1)
    return [
        {"w": qb.random.glorot_normal(key, shape), "b": qb.zeros(shape[1])}
        for key, shape in zip(keys, itertools.pairwise(SIZES), strict=True)
    ]


def solution(params: Params, t: Any, x: Any) -> Any:
    """U at vectors of t and x: odd in x, with exact initial and boundary values.

    The network gives the height and the steepness of a step at x = 0. It sees t and two even functions of x, of which the
    logarithm is one that tells places near the shock apart.
    """
    h = qb.stack([t, x**2, qb.log(1.0 + (x / NEAR) ** 2) / 8.0], axis=1)
    for layer in params[:-1]:
        h = qb.tanh(h @ layer["w"] + layer["b"])
    out = h @ params[-1]["w"] + params[-1]["b"]
    step = out[:, 0] * qb.tanh(4.0 * qb.exp(out[:, 1]) * x)
    return -qb.sin(np.pi * x) + t * (1.0 - x**2) * step


def residual(params: Params, points: Any) -> Any:
    """What the equation leaves at points (t, x), from exact derivatives of the network."""
    t, x = points[:, 0], points[:, 1]
    one = qb.ones_like(x)

    def slope(x: Any) -> Any:
        return qb.jvp(lambda x: solution(params, t, x), (x,), (one,))

    (u, u_x), (_, u_xx) = qb.jvp(slope, (x,), (one,))
    _, u_t = qb.jvp(lambda t: solution(params, t, x), (t,), (one,))
    return u_t + u * u_x - NU * u_xx


def loss(params: Params, points: Any) -> Any:
    """The mean squared residual, scaled down at the shock, where all terms of the equation are great."""
    scale = qb.minimum(0.05 + points[:, 1] / (5.0 * NEAR), 1.0)
    return qb.mean((scale * residual(params, points)) ** 2)


def draw(rng: np.random.Generator, count: int) -> NumpyArray:
    """Points (t, x) with x >= 0, which is enough for an odd function; half of them crowd at the shock."""
    t = rng.uniform(0.0, 1.0, count)
    x = rng.uniform(0.0, 1.0, count)
    x[::2] **= 3
    return np.stack([t, x], axis=1)


# ---- the reference ------------------------------------------------------------------------------


def cole_hopf(t: NumpyArray, x: NumpyArray, order: int = 120) -> NumpyArray:
    """The solution at times t > 0 (rows) and places x (columns), by Gauss-Hermite quadrature.

    With u = -2 nu (log f)_x, Burgers' equation becomes the heat equation for f (E. Hopf, "The partial differential equation
    u_t + u u_x = mu u_xx", Communications on Pure and Applied Mathematics 3, 1950).
    """
    z, weight = np.polynomial.hermite.hermgauss(order)
    y = x[None, :, None] - np.sqrt(4.0 * NU * t)[:, None, None] * z
    # At t = 0, f is exp(-cos(pi y) / (2 pi nu)); a constant factor cancels.
    f = weight * np.exp(-(1.0 + np.cos(np.pi * y)) / (2.0 * np.pi * NU))
    return -(np.sin(np.pi * y) * f).sum(-1) / f.sum(-1)


def relative_error(params: Params, t: NumpyArray, x: NumpyArray) -> tuple[NumpyArray, NumpyArray, float]:
    """The network's values on a grid, the reference's, and the relative 2-norm of the difference."""
    tt, xx = np.meshgrid(t, x, indexing="ij")
    u = solution(params, qb.array(tt.ravel()), qb.array(xx.ravel())).numpy().reshape(tt.shape)
    exact = cole_hopf(t, x)
    return u, exact, float(np.linalg.norm(u - exact) / np.linalg.norm(exact))


# ---- training -----------------------------------------------------------------------------------


def train(seed: int, adam: int, lbfgs: int, points: int) -> tuple[Params, list[float], dict[str, Any]]:
    """The trained parameters, Adam's losses, and what L-BFGS tells."""
    rng = np.random.default_rng(seed)
    optimizer = qb.optim.Adam(qb.optim.warmup_cosine_decay(1e-4, 5e-3, adam // 20 + 1, adam + 2, 1e-4), clip_norm=1.0)
    trainer = qb.optim.Trainer(loss, init_params(seed), optimizer, draw(rng, points), batch_argnums=0)

    def batches() -> Iterator[NumpyArray]:
        while True:
            yield draw(rng, points)

    started = time.perf_counter()
    losses = trainer.fit(adam, batches=batches(), progress=True)
    took = time.perf_counter() - started
    print(f"Adam:    {adam} steps, loss {losses[-1]:.2e}, {took:.0f} s, {adam / took:.0f} steps/s", flush=True)

    started = time.perf_counter()
    minimiser = qb.optim.LBFGS(history=50, max_iterations=lbfgs, tolerance_change=0.0)
    params, info = minimiser.minimize(loss, trainer.params, qb.array(draw(rng, 2 * points)))
    took = time.perf_counter() - started
    print(
        f"L-BFGS:  {info['iterations']} iterations, {info['evaluations']} evaluations, loss {info['loss']:.2e}, "
        f"{took:.0f} s ({info['reason']})",
        flush=True,
    )
    return params, losses, info


def plot(file: Path, t: NumpyArray, x: NumpyArray, u: NumpyArray, exact: NumpyArray, losses: list[float]) -> None:
    """The solution at several times, the error and the loss, as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for share, colour in ((0.25, "tab:blue"), (0.5, "tab:orange"), (1.0, "tab:red")):
        i = round(share * len(t)) - 1
        left.plot(x, exact[i], color="0.75", linewidth=5)
        left.plot(x, u[i], color=colour, label=f"$t = {t[i]:.2f}$")
    left.set(xlabel="$x$", title="network; exact solution in grey")
    left.legend(frameon=False)
    image = middle.pcolormesh(t, x, np.abs(u - exact).T, shading="gouraud", norm="log", vmin=1e-6)
    figure.colorbar(image, ax=middle)
    middle.set(xlabel="$t$", ylabel="$x$", title="error of the network")
    right.semilogy(np.arange(1, len(losses) + 1), losses, color="tab:green", linewidth=0.8)
    right.set(xlabel="step of Adam", title="loss")
    figure.savefig(file, dpi=150)
    plt.close(figure)


def main(argv: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description="Train a network to solve Burgers' equation with a shock.")
    parser.add_argument("--out", type=Path, default=Path("build/burgers"), help="folder for the plot")
    parser.add_argument("--adam", type=int, default=500, help="steps of Adam")
    parser.add_argument("--lbfgs", type=int, default=1500, help="most iterations of L-BFGS")
    parser.add_argument("--points", type=int, default=500, help="points in a step of Adam; L-BFGS gets twice as many")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)

    print(
        f"u_t + u u_x = nu u_xx, nu = 0.01 / pi: a {'-'.join(map(str, SIZES))} tanh network at {options.points} points"
    )
    params, losses, _ = train(options.seed, options.adam, options.lbfgs, options.points)
    t, x = np.linspace(0.02, 1.0, 50), np.linspace(-1.0, 1.0, 401)
    u, exact, error = relative_error(params, t, x)
    try:
        plot(out / "pinn_burgers.png", t, x, u, exact, losses)
        print(f"solution, error and loss: {out / 'pinn_burgers.png'}")
    except ModuleNotFoundError as missing:
        print(f"no plot: {missing.name} is not installed; get it with: {sys.executable} -m pip install {missing.name}")
    print(f"relative error in the 2-norm: {error:.2e}, greatest: {np.abs(u - exact).max():.2e}")
    return error


if __name__ == "__main__":
    main()
