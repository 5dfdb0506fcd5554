"""Write the table of derivative conventions in docs/conventions.md from the records of the ops.

python tools/conventions.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

PAGE = Path(__file__).parent.parent / "docs" / "conventions.md"
HEAD = "| op | where | derivative | why |\n| --- | --- | --- | --- |\n"


def table() -> str:
    """The rows, one for each convention, with the ops that share it."""
    from quabla.ops import load_all
    from quabla.ops.registry import REGISTRY

    load_all()
    rows: dict[tuple[str, str, str], list[str]] = {}
    for op in sorted(REGISTRY.values(), key=lambda op: op.name):
        for c in op.conventions:
            rows.setdefault((c.where, c.derivative, c.why), []).append(f"`{op.name}`")
    lines = sorted(f"| {', '.join(ops)} | {' | '.join(row)} |" for row, ops in rows.items())
    return HEAD + "\n".join(lines) + "\n"


def page() -> str:
    """The page with the table as the records have it."""
    return re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table(), PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(page())
