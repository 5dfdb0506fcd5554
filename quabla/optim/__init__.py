"""Optimizers: ``quabla.optim``."""

from quabla.optim.clipping import clip_by_global_norm
from quabla.optim.gradient import SGD, Adam, AdamW
from quabla.optim.lbfgs import LBFGS
from quabla.optim.schedules import (
    constant,
    cosine_decay,
    exponential_decay,
    piecewise_constant,
    warmup_cosine_decay,
)
from quabla.optim.trainer import Trainer

__all__ = [
    "LBFGS",
    "SGD",
    "Adam",
    "AdamW",
    "Trainer",
    "clip_by_global_norm",
    "constant",
    "cosine_decay",
    "exponential_decay",
    "piecewise_constant",
    "warmup_cosine_decay",
]
