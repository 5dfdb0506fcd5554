"""Initial value problems of ordinary differential equations."""

from __future__ import annotations

from quabla.ode.integrate import odeint

__all__ = ["odeint"]
