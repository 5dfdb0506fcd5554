"""tools/environment, which makes .venv for the Makefile: what it reuses, and what it leaves alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "environment"


@pytest.fixture
def folder(tmp_path):
    """A project whose .venv is up to date, with this interpreter in it."""
    (tmp_path / "pyproject.toml").touch()
    inside = tmp_path / ".venv" / "bin" / "python"
    inside.parent.mkdir(parents=True)
    inside.write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
    inside.chmod(0o755)
    (tmp_path / ".venv" / ".ready").touch()
    return tmp_path


def prepare(folder, *python):
    done = subprocess.run(
        ["sh", SCRIPT, ".venv", *map(str, python)], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


def other_python(folder):
    file = folder / "python3.99"
    file.write_text("#!/bin/sh\necho Python 3.99.0 in /elsewhere\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("python", [[], [sys.executable]], ids=["any", "the same"])
def test_a_working_environment_is_used_whoever_made_it(folder, python):
    assert prepare(folder, *python) == (0, "")


def test_another_python_does_not_replace_an_environment_of_somebody_else(folder):
    status, text = prepare(folder, other_python(folder))
    assert status == 1
    assert "not Python 3.99.0 in /elsewhere, and was not made by make" in text
    assert (folder / ".venv" / "bin" / "python").exists()


def test_another_python_replaces_an_environment_of_its_own(folder):
    (folder / ".venv" / ".made-by-make").touch()
    _, text = prepare(folder, other_python(folder))
    assert ": making it again with Python 3.99.0 in /elsewhere\n" in text
    assert not (folder / ".venv" / "bin").exists()


def test_a_folder_without_a_python_is_left_alone(folder):
    os.remove(folder / ".venv" / "bin" / "python")
    status, text = prepare(folder)
    assert (status, "was not made by make" in text) == (1, True)
    assert (folder / ".venv" / "bin").exists()


def test_an_interpreter_that_does_not_work_is_refused(folder):
    assert prepare(folder, "nosuchpython") == (1, "PYTHON=nosuchpython is not a working Python 3.11 or newer\n")
