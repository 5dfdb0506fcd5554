"""The namespace ``m`` of written programs on JAX, which is an oracle of the tests alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["Jax"]


def _scan(f: Any, init: Any, *, length: int) -> Any:
    return jax.lax.scan(f, init, jnp.arange(length))


def _bounded_while(test: Any, body: Any, x: Any, steps: int) -> Any:
    return jax.lax.fori_loop(0, steps, lambda i, c: jax.lax.cond(test(c), body, lambda v: v, c), x)


_OTHER_NAMES: dict[str, Callable[..., Any]] = {
    "atan2": jnp.arctan2,
    "bounded_while": _bounded_while,
    "checkpoint": jax.checkpoint,
    "cond": jax.lax.cond,
    "custom_jvp": jax.custom_jvp,
    "custom_vjp": jax.custom_vjp,
    "erf": jax.scipy.special.erf,
    "erfc": jax.scipy.special.erfc,
    "fori_loop": jax.lax.fori_loop,
    "gather": lambda x, i, axis: jnp.take(x, np.array(i), axis=axis),
    "grad": jax.grad,
    "hessian": jax.hessian,
    "jacfwd": jax.jacfwd,
    "jacobian": jax.jacrev,
    "jacrev": jax.jacrev,
    "jit": jax.jit,
    "jvp": jax.jvp,
    "log_softmax": jax.nn.log_softmax,
    "logsumexp": jax.scipy.special.logsumexp,
    "norm": lambda x, axis=None, keepdims=False: jnp.sqrt(jnp.sum(x * x, axis=axis, keepdims=keepdims)),
    "scan": _scan,
    "scatter_add": lambda x, i, u, axis: x.at[(slice(None),) * axis + (np.array(i),)].add(u),
    "stop_gradient": jax.lax.stop_gradient,
    "value_and_grad": jax.value_and_grad,
    "vjp": jax.vjp,
    "vmap": jax.vmap,
    **{k: getattr(jax.nn, k) for k in ("gelu", "relu", "sigmoid", "silu", "softmax", "softplus")},
}


class Jax:
    """The functions that programs use, under quabla's names, on arrays of one dtype."""

    def __init__(self, dtype: Any = np.float64) -> None:
        self.dtype = dtype

    def __getattr__(self, name: str) -> Any:
        return _OTHER_NAMES[name] if name in _OTHER_NAMES else getattr(jnp, name)

    def eye(self, n: int) -> Any:
        return jnp.eye(n, dtype=self.dtype)

    def const(self, values: Any) -> Any:
        return jnp.asarray(np.asarray(values, self.dtype))

    def ints(self, values: Any) -> Any:
        return jnp.asarray(values, dtype=jnp.int64)

    def ramp(self, n: int) -> Any:
        return self.const(np.diag(5.0 * np.arange(n)))
