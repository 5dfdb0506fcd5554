"""Running kernels without NumPy's warnings of floating-point errors.

Nothing raises or warns for a number outside a function's domain. ``np.errstate`` sees to that in about a microsecond,
which is longer than a kernel needs for a few numbers. NumPy keeps the state in a context variable, so a kernel that runs
in a context of ours is silent at a tenth of the cost, and what users have set for their own NumPy stays theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import Final

import numpy as np

__all__ = ["silent"]

_context: Final = Context()
_context.run(np.seterr, all="ignore")

#: ``silent().run(kernel, *arrays)`` is ``kernel(*arrays)``, which neither warns nor raises. Only one call at a time can be
#: in a context, so each has a copy of its own: threads, and kernels that run kernels, do not meet.
silent: Final[Callable[[], Context]] = _context.copy
