"""Every file that takes in a peer's bytes is fuzzed.

Such a file is known by a function that is named for it (x_feed, x_parse, x_decode). Some
tests/fuzz/fuzz_NAME.c says in its opening comment that it covers the file:

    Covers: server/http/files/path.c, h2/session.c

and has inputs to start from in corpus/NAME/, and a weir_fuzz_target(NAME ...) that builds it.
"""
import re

import sources

FUZZ = sources.ROOT / "tests" / "fuzz"

# A definition at the start of a line: the parameters end in a brace, not in a semicolon.
TAKES_BYTES = re.compile(r"^\w[\w \t*]*\b(\w+_(?:feed|parse|decode))\([^;{}]*\)\s*\{", re.MULTILINE)
COVERS = re.compile(r"Covers:((?:\s+(?:\*\s+)?[\w./-]+\.c,?)+)")
TARGET = re.compile(r"^\s*weir_fuzz_target\((\w+)", re.MULTILINE)


def covered_by(path):
    match = COVERS.search(sources.read(path))
    return re.findall(r"[\w./-]+\.c", match.group(1)) if match else []


def main():
    complaints = []
    covered = set()
    built = set(TARGET.findall((FUZZ / "CMakeLists.txt").read_text(encoding="utf-8")))
    targets = [p for p in sources.c_files("tests/fuzz") if p.name.startswith("fuzz_")]
    for path in targets:
        name = path.stem.removeprefix("fuzz_")
        names = covered_by(path)
        covered.update(names)
        if not names:
            complaints.append(f"{path}: has no line 'Covers: FILE.c, ...'")
        complaints += [f"{path}: covers {n}, which there is not" for n in names
                       if not (sources.ROOT / n).is_file()]
        if name not in built:
            complaints.append(f"{path}: no weir_fuzz_target({name} ...) in tests/fuzz/CMakeLists.txt")
        corpus = FUZZ / "corpus" / name
        if not corpus.is_dir() or not any(corpus.iterdir()):
            complaints.append(f"{path}: corpus/{name}/ holds no input")

    files = sources.c_files("h2", "tls", "server/http", suffixes=(".c",))
    for path in files:
        match = TAKES_BYTES.search(sources.blanked(sources.read(path)))
        if match and str(path) not in covered:
            complaints.append(f"{path}: {match.group(1)}() takes in a peer's bytes, and no fuzz "
                              f"target covers the file")
    sources.finish(complaints, len(files) + len(targets) + 1)


main()
