"""Instructions per request stay within the budget of bench/budget.json, where it can be compared, and
are the same to the last one when they are counted again.

Counted is the release build, which tests/run makes: no other is what people run.
"""

import os
import re
import shutil
import subprocess
import sys

import context

ROOT = context.BENCH.parent
WEIR = ROOT / "build/release/weir"
SKIP = 77
AGAIN = ("h2c-1k", "h1-1k")  # those over TLS depend on the scripts before by some tens


def count(*options):
    """(exit status, {script: instructions})"""
    done = subprocess.run([context.BENCH / "run", "--no-setup", "--instructions", "--weir", WEIR,
                           *options], check=False, capture_output=True, text=True)
    print(done.stdout + done.stderr)
    found = re.findall(r"^(\S+) +([\d,]+) instructions for", done.stdout, re.MULTILINE)
    return done.returncode, dict(found)


def main():
    status, first = count()
    if status in (0, SKIP):
        _, again = count("--only", f"^({'|'.join(AGAIN)})$")
        if again != {name: first[name] for name in AGAIN}:
            print("counted again they differ")
            return 1
    return status


if __name__ == "__main__":
    missing = [p for p in ("valgrind", "openssl", "setpriv") if shutil.which(p) is None]
    if missing or not os.access(WEIR, os.X_OK):
        print(f"skipped: {' '.join(missing) or 'no release build'}")
        sys.exit(SKIP)
    sys.exit(main())
