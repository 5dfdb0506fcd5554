"""Install the package into a small environment for every other Python on this machine, and try it there.

usage: run_smoke.py FOLDER    (for the environments; they are kept, and made anew when pyproject.toml changes)
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALL_SECONDS, TRY_SECONDS = 600, 120


def version_of(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, timeout=30).stdout.strip()


def attempt(python: str, env: Path) -> None:
    """Make the environment if there is none that is current, and run tests/smoke.py in it."""
    inside, ready = env / "bin" / "python", env / ".ready"
    if not ready.exists() or ready.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        subprocess.run([python, "-m", "venv", "--clear", env], check=True, timeout=INSTALL_SECONDS)
        pip = [inside, "-m", "pip", "--disable-pip-version-check", "--quiet", "--quiet"]
        subprocess.run([*pip, "install", ROOT], check=True, timeout=INSTALL_SECONDS)
        # What was installed proves that it installs; what is tried are the sources as they are now.
        subprocess.run([*pip, "uninstall", "--yes", "quabla"], check=True, timeout=INSTALL_SECONDS)
        ready.touch()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([inside, ROOT / "tests" / "smoke.py"], check=True, timeout=TRY_SECONDS, env=environment)


def main(folder: str) -> int:
    pythons = subprocess.run(["sh", ROOT / "tools" / "pythons"], check=True, capture_output=True, text=True).stdout
    here = ".".join(map(str, sys.version_info[:2]))
    others = {version_of(python): python for python in pythons.splitlines()}
    others.pop(here, None)
    failed = 0
    for version, python in others.items():
        started = time.monotonic()
        try:
            attempt(python, Path(folder).resolve() / version)
            outcome = "passed"
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            failed += 1
            outcome = f"FAILED: {error}"
        print(f"smoke: Python {version} {outcome} ({time.monotonic() - started:.0f} s)", flush=True)
    if not others:
        print(f"smoke: no Python beside {here} found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
