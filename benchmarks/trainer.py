"""A step of training beside one gradient, and beside a step that JAX compiled.

    python benchmarks/trainer.py [--steps N] [--engines numpy,xla] [--memory]

A tanh network, 2-64-64-1, on a batch of 256 in float64, trained with Adam. Every time is the best and the median of many
calls; what is compared is called in turns, so that a busy machine slows all alike. JAX's step uses optax where it is
installed, else Adam written by hand, with its buffers donated. With ``--memory`` the resident set is printed after every
tenth of 10,000 steps.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_max_isa=AVX")

import numpy as np
from workloads import mlp

import quabla as qb

SIZES = ((2, 64), (64, 64), (64, 1))
#: What a step may cost in units of one jitted value_and_grad.
BOUND = 1.5


def problem(array: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """Parameters and data."""
    rng = np.random.default_rng(0)
    params = [(array(rng.normal(size=s) / np.sqrt(s[0])), array(np.zeros(s[1]))) for s in SIZES]
    return params, array(rng.normal(size=(256, 2))), array(rng.normal(size=(256, 1)))


def ours(engine: str) -> dict[str, Callable[[], Any]]:
    """What to call for quabla."""
    params, x, y = problem(qb.array)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return mlp(qb, p, x, y)

    gradient = qb.jit(qb.value_and_grad(loss))
    adam = qb.optim.Adam(1e-3)
    clipped = qb.optim.Adam(qb.optim.cosine_decay(1e-3, 100_000), clip_norm=1.0)
    loop: dict[str, Any] = {"params": params, "state": adam.init(params)}

    def updated() -> None:
        _, grads = gradient(loop["params"], x, y)
        loop["params"], loop["state"] = adam.update(loop["params"], grads, loop["state"])

    return {
        f"{engine}: value_and_grad": lambda: gradient(params, x, y),
        f"{engine}: Trainer.step": qb.optim.Trainer(loss, params, adam, x, y).step,
        f"{engine}: Trainer.step, clipped, schedule": qb.optim.Trainer(loss, params, clipped, x, y).step,
        f"{engine}: value_and_grad, Adam.update": updated,
    }


def theirs() -> dict[str, Callable[[], Any]]:
    """What to call for JAX; nothing where it is not installed."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    params, x, y = problem(jnp.asarray)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return mlp(jnp, p, x, y)

    def by_hand(p: Any, g: Any, state: Any) -> tuple[Any, Any]:
        t, m, v = state
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        c1, c2 = 1.0 - 0.9 ** (t + 1.0), 1.0 - 0.999 ** (t + 1.0)
        p = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), p, m, v)
        return p, (t + 1.0, m, v)

    try:
        import optax
    except ImportError:
        zeros = jax.tree.map(jnp.zeros_like, params)
        name, update, state = "by hand", by_hand, (jnp.zeros(()), zeros, jax.tree.map(jnp.zeros_like, params))
    else:
        adam = optax.adam(1e-3)
        name, state = "optax", adam.init(params)

        def update(p: Any, g: Any, state: Any) -> tuple[Any, Any]:
            changes, state = adam.update(g, state, p)
            return optax.apply_updates(p, changes), state

    gradient = jax.jit(jax.value_and_grad(loss))

    def stepped(p: Any, state: Any) -> tuple[Any, Any]:
        return update(p, jax.grad(loss)(p, x, y), state)

    step = jax.jit(stepped, donate_argnums=(0, 1))
    now = [jax.tree.map(jnp.array, params), state]

    def advance() -> None:
        now[:] = jax.block_until_ready(step(*now))

    return {
        "jax: value_and_grad": lambda: jax.block_until_ready(gradient(params, x, y)),
        f"jax: step, {name}": advance,
    }


def measure(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, np.ndarray[Any, Any]]:
    """Microseconds of each call, made in turns."""
    for call in calls.values():
        for _ in range(20):
            call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(1e6 * (time.perf_counter() - start))
    return {name: np.array(t) for name, t in times.items()}


def report(times: dict[str, np.ndarray[Any, Any]]) -> None:
    """Print the times, and each as a multiple of the first."""
    first = next(iter(times.values()))
    for name, t in times.items():
        ratio = f"{t.min() / first.min():8.2f} /{np.median(t) / np.median(first):6.2f}"
        print(f"{name:44s}{t.min():10.0f} /{np.median(t):8.0f}{ratio}", flush=True)


def memory(engine: str) -> None:
    """Print the resident set during 10,000 steps."""
    trainer = ours(engine)[f"{engine}: Trainer.step, clipped, schedule"]
    print(f"{engine}: resident set in MB after thousands of steps: ", end="")
    for i in range(10_001):
        trainer()
        if i % 1000 == 0:
            with open("/proc/self/statm") as f:
                print(f"{int(f.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**20:.1f}", end=" ", flush=True)
    print()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--engines", default="numpy,xla")
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    if not options.memory:
        print(f"{'':44s}{'best / median, us':>20s}{'x value_and_grad':>17s}   (a step may take {BOUND})")
    for engine in options.engines.split(","):
        qb.config.cpu_engine = engine
        if options.memory:
            memory(engine)
        else:
            report(measure(ours(engine), options.steps))
    if not options.memory and (calls := theirs()):
        report(measure(calls, options.steps))


if __name__ == "__main__":
    main()
