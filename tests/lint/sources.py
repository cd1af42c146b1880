"""Our sources, for the checks of this folder: what there is, and code without its comments."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("include", "server", "h2", "tls", "tests", "bench")

# A comment, a string or a character constant, whichever begins first.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def c_files(*folders, suffixes=(".c", ".h")):
    """Paths, relative to the root, of the C files below the folders, all of ours by default."""
    found = []
    for folder in folders or FOLDERS:
        found += [p.relative_to(ROOT) for p in (ROOT / folder).rglob("*") if p.suffix in suffixes]
    return sorted(found)


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def blanked(text):
    """The code with comments and literals blanked out; offsets and lines stay what they were."""
    return TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def finish(complaints, checked):
    """Print the complaints and end the program: 0 if there are none."""
    for complaint in complaints:
        print(complaint)
    if checked == 0:
        print("nothing was found to check")
    print(f"{checked} checked, {len(complaints)} complaints")
    sys.exit(1 if complaints or checked == 0 else 0)
