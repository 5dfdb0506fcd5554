"""Run the lit tests and end with one line of counts; exit with 1 unless every test passed.

usage: run_lit.py [TEST OR FOLDER ...] [-- LIT OPTION ...]
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent / "lit"
REPORT = TESTS.parent.parent / "build" / "lit" / "report.json"
PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED"}


def main(arguments: list[str]) -> int:
    split = arguments.index("--") if "--" in arguments else len(arguments)
    tests, options = arguments[:split] or [str(TESTS)], arguments[split + 1 :]
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.unlink(missing_ok=True)
    lit = [sys.executable, "-c", "from lit.main import main; main()"]
    flags = ["--verbose", "--no-progress-bar", "--succinct", f"--output={REPORT}"]
    code = subprocess.run([*lit, *flags, *options, *tests], check=False).returncode
    if not REPORT.exists():
        print(f"lit: no report was written (lit exited with {code})", file=sys.stderr)
        return code or 1
    counts = Counter(test["code"] for test in json.loads(REPORT.read_text())["tests"])
    passed = sum(n for kind, n in counts.items() if kind in PASSED)
    skipped = sum(n for kind, n in counts.items() if kind in SKIPPED)
    failed = counts.total() - passed - skipped
    print(f"lit: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), flush=True)
    return 1 if failed or not passed or code else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
