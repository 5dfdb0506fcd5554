"""Find the diffusivity of a plate and its first temperature from a few thermometers, through an implicit solver.

    u_t = k (u_xx + u_yy) on the unit square, u = 0 on its edge

Each step of Crank and Nicolson's method solves a linear system by conjugate gradients, which know the matrix only by its
products. L-BFGS fits the diffusivity k and the first temperature, a sum of sines, to readings at a few places and times.
The gradient of the misfit goes through all steps and, by the implicit function theorem, through every system. The readings
come from the exact solution, so what is left is the error of the discretization. Writes the temperatures as a picture.

    python examples/heat_equation_implicit.py [--out build/demo] [--points 31] [--steps 32]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import quabla as qb

END = 0.1
DIFFUSIVITY = 0.35
#: The amplitudes of sin(i pi x) sin(j pi y) in the first temperature, i and j from 1.
MODES = np.array([[1.0, -0.5, 0.3], [0.4, 0.8, 0.0], [-0.2, 0.0, 0.25]])
#: The places of the thermometers along each axis, and the times of their readings, as fractions of the whole.
PLACES = np.array([0.125, 0.375, 0.625, 0.875])
TIMES = np.array([0.25, 0.5, 0.75, 1.0])

Params = dict[str, Any]


def exact(modes: Any, k: float, times: Any, x: Any, y: Any) -> Any:
    """The solution at some times on the grid of ``x`` and ``y``: every product of sines decays on its own."""
    i = np.arange(1, len(modes) + 1)
    decay = np.exp(-k * np.pi**2 * (i[:, None] ** 2 + i**2) * np.asarray(times)[:, None, None])
    sines_x, sines_y = (np.sin(np.pi * np.outer(i, v)) for v in (x, y))
    return np.einsum("tij,ij,ix,jy->txy", decay, modes, sines_x, sines_y)


def laplacian(u: Any, h: float) -> Any:
    """Second differences on the inner points of a square; the edge is at 0."""
    p = qb.pad(u, 1)
    return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u) / (h * h)


class Plate:
    """The plate on a grid of ``points`` by ``points`` inner points, in ``steps`` steps."""

    def __init__(self, points: int, steps: int) -> None:
        self.h = 1.0 / (points + 1)
        self.dt = END / steps
        self.steps = steps
        self.grid = np.linspace(self.h, 1.0 - self.h, points)
        i = np.arange(1, len(MODES) + 1)
        self.sines = qb.array(np.sin(np.pi * np.outer(i, self.grid)))
        self.rows = np.rint(PLACES / self.h).astype(int) - 1
        self.times = np.rint(TIMES * steps).astype(int) - 1

    def temperatures(self, params: Params) -> Any:
        """The temperature of the whole plate after every step, ``[steps, points, points]``."""
        half = 0.5 * self.dt * qb.exp(params["log_k"])
        first = qb.einsum("ij,ix,jy->xy", params["modes"], self.sines, self.sines)

        def step(u: Any, i: Any) -> tuple[Any, Any]:
            known = u + half * laplacian(u, self.h)
            new = qb.linalg.cg(lambda v: v - half * laplacian(v, self.h), known, x0=u, tol=1e-10)
            return new, new

        return qb.scan(step, first, length=self.steps)[1]

    def readings(self, params: Params) -> Any:
        """What the thermometers show, ``[times, places, places]``."""
        return self.temperatures(params)[self.times][:, self.rows][:, :, self.rows]


def plot(file: Path, plate: Plate, start: Params, found: Params) -> None:
    """The first temperature as it was, as the fit started and as it ended, with the thermometers, as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    fields = [
        ("true", MODES),
        ("before the fit", start["modes"].numpy()),
        (f"after it: k = {np.exp(found['log_k'].item()):.4f}", found["modes"].numpy()),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for axis, (title, modes) in zip(axes, fields, strict=True):
        u = exact(modes, DIFFUSIVITY, [0.0], plate.grid, plate.grid)[0]
        image = axis.imshow(u.T, origin="lower", extent=(0, 1, 0, 1), cmap="coolwarm", vmin=-1.5, vmax=1.5)
        axis.plot(*(v.ravel() for v in np.meshgrid(PLACES, PLACES)), "k.", markersize=4)
        axis.set(title=title, xlabel="$x$")
    figure.colorbar(image, ax=axes, label="first temperature")
    figure.savefig(file, dpi=150)
    plt.close(figure)


def main(argv: list[str] | None = None) -> float:
    """The largest error of the diffusivity and the amplitudes that were found."""
    parser = argparse.ArgumentParser(description="Find a plate's diffusivity and first temperature.")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="folder for the plot")
    parser.add_argument("--points", type=int, default=31, help="inner grid points along each axis")
    parser.add_argument("--steps", type=int, default=32, help="time steps, a multiple of 4")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    plate = Plate(args.points, args.steps)
    observed = qb.array(exact(MODES, DIFFUSIVITY, TIMES * END, PLACES, PLACES))

    def misfit(params: Params) -> Any:
        return qb.mean((plate.readings(params) - observed) ** 2)

    start: Params = {"log_k": qb.log(qb.array(0.1)), "modes": qb.zeros(MODES.shape)}
    began = time.perf_counter()
    found, info = qb.optim.LBFGS(tolerance_grad=1e-7, tolerance_change=0.0).minimize(misfit, start)
    seconds = time.perf_counter() - began
    k = np.exp(found["log_k"].item())
    error = max(abs(k - DIFFUSIVITY), np.abs(found["modes"].numpy() - MODES).max())
    print(f"{info['iterations']} iterations, {info['evaluations']} evaluations in {seconds:.1f} s: {info['reason']}")
    print(f"root of the misfit {np.sqrt(info['loss']):.2e}")
    print(f"diffusivity {k:.5f}, true {DIFFUSIVITY}; max error of it and the amplitudes {error:.1e}")
    file = args.out / "heat_equation_implicit.png"
    plot(file, plate, start, found)
    print(f"wrote {file}")
    return float(error)


if __name__ == "__main__":
    sys.exit(0 if main() < 3e-3 else "the error is larger than the 3e-3 that this example promises")
