"""The documentation runs: every ```python block, in order, with the output that the page shows.

A page's blocks share their names, as in one session. A ```text block directly after a ```python block is what that
block prints. A ```console block shows commands after ``$``, run from the root of the repository, and what they print.
Each page runs in a process of its own, since pages define ops and change settings.
"""

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from test_derivatives import CHOICES

import quabla as qb

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("quabla/**/*.md"), *ROOT.glob("tests/**/*.md")}
)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


#: Pages whose Python needs a package that not every machine has.
NEEDS = {"docs/devices.md": "mlx.core"}


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    text: str
    line: int
    follows: bool  # only blank lines part it from the block before


def blocks(page: str) -> list[Block]:
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(page):
        line = page.count("\n", 0, fence.start(2)) + 1
        found.append(Block(fence[1], fence[2], line, bool(found) and not page[end : fence.start()].strip()))
        end = fence.end()
    return found


def run_page(file: str) -> None:
    """Execute a page's Python blocks in this process."""
    names: dict[str, object] = {"__name__": "__main__"}
    found = blocks(Path(file).read_text())
    for i, block in enumerate(found):
        if block.kind != "python":
            continue
        printed = io.StringIO()
        # Padded so that tracebacks and messages carry the page's own line numbers.
        code = compile("\n" * (block.line - 1) + block.text, file, "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        following = found[i + 1] if i + 1 < len(found) else None
        if following and following.follows and following.kind == "text" and printed.getvalue() != following.text:
            raise SystemExit(
                f"{file}:{following.line}: the page shows\n{following.text}\nbut the block above prints\n{printed.getvalue()}"
            )


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def of_kind(kind: str) -> list[tuple[Path, Block]]:
    return [(page, block) for page in PAGES for block in blocks(page.read_text()) if block.kind == kind]


def run(command: str | list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shell = isinstance(command, str)
    return subprocess.run(
        command, shell=shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("page", sorted({page for page, _ in of_kind("python")}), ids=page_id)
def test_python_blocks_run_and_print_what_the_page_shows(page, tmp_path):
    needs = NEEDS.get(page_id(page))
    if needs is not None:
        pytest.importorskip(needs, reason=f"{needs} is not installed")
    done = run([sys.executable, __file__, str(page)], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("page", "block"), of_kind("console"), ids=[f"{page_id(page)}:{block.line}" for page, block in of_kind("console")]
)
def test_console_blocks_print_what_the_page_shows(page, block):
    for entry in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = entry.partition("\n")
        done = run(re.sub(r"\bqb-opt\b", f"'{sys.executable}' tools/qb-opt", command, count=1), ROOT)
        assert done.stdout + done.stderr == shown, f"{page}:{block.line}: {command}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_between_pages_lead_somewhere(page):
    targets = [t for t in LINK.findall(FENCE.sub("", page.read_text())) if "://" not in t]
    missing = [t for t in targets if not (page.parent / t).exists()]
    assert not missing, f"{page}: dead links {missing}"


def test_the_list_of_public_names_is_up_to_date():
    tool = runpy.run_path(str(ROOT / "tools" / "api_page.py"))
    page = tool["PAGE"].read_text()
    assert page == tool["page"](), "run: python tools/api_page.py"
    names = {*qb.__all__, *(n for names in tool["imported"]().values() for n in names)}
    names -= {"array_api", "linalg", "random", "tree"}
    listed = set(re.findall(r"^- `(\w+)", page, re.MULTILINE))
    assert names - listed == set()


def test_tables_of_conventions_say_what_the_records_and_the_tests_say():
    tool = runpy.run_path(str(ROOT / "tools" / "conventions.py"))
    page = tool["PAGE"].read_text()
    assert page == tool["page"](), "run: python tools/conventions.py"
    _, _, functions = page.partition("| function | where |")
    names = {
        n for row in functions.split("\n\n")[0].splitlines()[2:] for n in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert names == set(CHOICES)


if __name__ == "__main__":
    run_page(sys.argv[1])


@pytest.mark.parametrize("page", sorted((ROOT / "quabla").glob("**/README.md")), ids=lambda p: p.parent.name)
def test_the_page_of_a_folder_lists_its_modules(page):
    text = page.read_text()
    folder = page.parent
    modules = [f for f in folder.rglob("*.py") if f.name != "__init__.py" and not _has_own_page(f, folder)]
    assert modules
    assert [m.name for m in modules if f"{m.relative_to(folder).as_posix()}`" not in text] == []


def _has_own_page(module, folder):
    return any((p / "README.md").exists() for p in module.parents if p.is_relative_to(folder) and p != folder)
