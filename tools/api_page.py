"""Write docs/api.md: every public name with the first sentence of its docstring, by the module it comes from.

python tools/api_page.py
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import quabla as qb

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "api.md"

#: The sections, each with the modules whose names it lists.
SECTIONS = {
    "Arrays and dtypes": ("array", "dtypes", "tracing.graph"),
    "Creation": ("functions.creation",),
    "Elementwise functions": ("ops.elementwise", "ops.transcendental", "functions.math", "ops.casting"),
    "Reductions and statistics": ("ops.reductions", "functions.statistics", "ops.cumulative"),
    "Shapes and elements": ("ops.shaping", "functions.shape", "ops.indexing", "functions.items", "functions.sorting"),
    "Products and linear systems": ("ops.linalg", "functions.products", "functions.systems"),
    "Roots": ("solvers.newton",),
    "Transforms": ("transforms.autodiff", "transforms.directional", "transforms.jacobians", "transforms.vectorize"),
    "Control flow": ("control",),
    "Rules of one's own": ("transforms.custom", "transforms.remat"),
    "Compilation": ("jitting", "tracing.trace", "compiler", "devices", "config"),
    "Files": ("io",),
    "Errors and warnings": ("errors",),
}
NAMESPACES = {
    "`distributed`: data parallelism": qb.distributed,
    "`linalg`: linear algebra": qb.linalg,
    "`ode`: differential equations": qb.ode,
    "`optim`: optimizers": qb.optim,
    "`random`: random numbers": qb.random,
    "`tree`: nested containers of arrays": qb.tree,
}


def imported() -> dict[str, list[str]]:
    """The public names that quabla/__init__.py imports, by module."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(ast.parse(Path(qb.__file__).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quabla."):
            names = [a.asname or a.name for a in node.names]
            public = [n for n in names if not n.startswith("_")]
            found.setdefault(node.module.removeprefix("quabla."), []).extend(public)
    return {module: names for module, names in found.items() if names}


def summary(x: Any) -> str:
    """The first paragraph of the docstring of an object, or of its class, as one line of Markdown."""
    if isinstance(x, qb.dtype):
        return f"The dtype of NumPy's `{x.name}`."
    text = " ".join((inspect.getdoc(x) or inspect.getdoc(type(x)) or "").split("\n\n")[0].split())
    first = re.match(r".*?[.](?= [A-Z]|$)", text)
    return (first[0] if first else text).replace("``", "`").replace("|", r"\|")


def entry(name: str, x: Any) -> str:
    """One line of a list."""
    return f"- `{name}{call(x)}`: {summary(x)}"


def call(x: Any) -> str:
    """The parameters of a function with their defaults, or of a class whose documentation has some."""
    if not inspect.isfunction(x) and not (inspect.isclass(x) and "Args:" in (inspect.getdoc(x) or "")):
        return ""
    signature = inspect.signature(x)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty)).replace("quabla.", "")


def lines() -> Iterator[str]:
    yield "# Public names"
    yield ""
    yield "Written by `tools/api_page.py` from the docstrings; `help(qb.sin)` shows one in full. A method of an array is the"
    yield "function of the same name; `dir(qb.Tensor)` lists them. `qb` stands for `import quabla as qb`."
    modules = imported()
    for title, names in SECTIONS.items():
        yield from ("", f"## {title}", "")
        public = [n for module in names for n in modules.pop(module)]
        yield from (entry(n, getattr(qb, n)) for n in sorted(public, key=str.lower))
    if modules:
        raise SystemExit(f"tools/api_page.py: give the names of {', '.join(modules)} a section")
    for title, namespace in NAMESPACES.items():
        yield from ("", f"## {title}", "")
        prefix = namespace.__name__.removeprefix("quabla.")
        yield from (entry(f"{prefix}.{n}", getattr(namespace, n)) for n in namespace.__all__)


def page() -> str:
    """The page as it should be."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
