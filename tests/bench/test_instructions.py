"""Instructions per request stay within the budget of bench/budget.json, where it can be compared.

Counted is the release build, which tests/run makes: no other is what people run.
"""

import os
import shutil
import subprocess
import sys

import context

ROOT = context.BENCH.parent
WEIR = ROOT / "build/release/weir"
SKIP = 77

if __name__ == "__main__":
    missing = [p for p in ("valgrind", "openssl", "setpriv") if shutil.which(p) is None]
    if missing or not os.access(WEIR, os.X_OK):
        print(f"skipped: {' '.join(missing) or 'no release build'}")
        sys.exit(SKIP)
    sys.exit(subprocess.run([context.BENCH / "run", "--no-setup", "--instructions", "--weir", WEIR],
                            check=False).returncode)
