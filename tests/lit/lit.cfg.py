"""lit's configuration: tests are files with RUN lines, checked by filecheck."""

import importlib.util
import os
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent
root = here.parent.parent

config.name = "quabla"
config.test_format = lit.formats.ShTest(execute_external=False)
# What tests may require.
if importlib.util.find_spec("mlx"):
    config.available_features.add("mlx")
config.suffixes = [".mlir", ".txt", ".test"]
config.excludes = ["Inputs", "README.md"]
config.test_source_root = str(here)
config.test_exec_root = str(root / "build" / "lit")

# The sources of this checkout, run by the Python that runs lit; `not` is lit's own.
config.environment["PYTHONPATH"] = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])


def word(name: str) -> str:
    """A tool's name as a word of a command, not a part of a path or an option."""
    return rf"(?<![\w./-]){name}(?![\w./-])"


config.substitutions += [
    (word("qb-opt"), f"'{sys.executable}' '{root / 'tools' / 'qb-opt'}'"),
    (word("filecheck"), f"'{sys.executable}' -m filecheck"),
    (word("python"), f"'{sys.executable}'"),
]
