"""Optimizers: ``quabla.optim``."""

from quabla.optim.clipping import clip_by_global_norm
from quabla.optim.gradient import SGD, Adam, AdamW
from quabla.optim.schedules import (
    constant,
    cosine_decay,
    exponential_decay,
    piecewise_constant,
    warmup_cosine_decay,
)

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "clip_by_global_norm",
    "constant",
    "cosine_decay",
    "exponential_decay",
    "piecewise_constant",
    "warmup_cosine_decay",
]
