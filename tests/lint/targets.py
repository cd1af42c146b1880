"""Every file that takes in a peer's bytes is fuzzed.

Such a file is known by a function that is named for it (x_feed, x_parse, x_decode). It is covered by
the fuzz target of its own name (path.c by fuzz_path.c), or by one whose opening comment says so:

    Covers: server/http/http1/parse.c, server/http/http1/chunked.c

A target has inputs to start from in corpus/NAME/, and a weir_fuzz_target(NAME ...) that builds it.
"""
import re

import sources

FUZZ = sources.ROOT / "tests" / "fuzz"

FOLDERS = ("h2", "tls", "server/http")
# file: why it is none of these after all
NO_PARSER = {
    "server/http/files/digest.c": "feeds a hash with the content of our own files",
}

# A definition at the start of a line: the parameters end in a brace, not in a semicolon.
TAKES_BYTES = re.compile(r"^\w[\w \t*]*\b(\w+_(?:feed|parse|decode))\([^;{}]*\)\s*\{", re.MULTILINE)
COVERS = re.compile(r"Covers:((?:\s+(?:\*\s+)?[\w./-]+\.c,?)+)")
TARGET = re.compile(r"^\s*weir_fuzz_target\((\w+)", re.MULTILINE)


def covered_by(path, name):
    match = COVERS.search(sources.read(path))
    named = re.findall(r"[\w./-]+\.c", match.group(1)) if match else []
    same = [str(p) for p in sources.c_files(*FOLDERS, suffixes=(".c",)) if p.stem == name]
    return named + same


def target_complaints(path, name, covers, built):
    if not covers:
        yield "covers nothing: no file has its name, and it has no line 'Covers: FILE.c, ...'"
    for file in covers:
        if not (sources.ROOT / file).is_file():
            yield f"covers {file}, which there is not"
    if name not in built:
        yield f"no weir_fuzz_target({name} ...) in tests/fuzz/CMakeLists.txt"
    corpus = FUZZ / "corpus" / name
    if not corpus.is_dir() or not any(corpus.iterdir()):
        yield f"corpus/{name}/ holds no input"


def main():
    complaints = []
    covered = set(NO_PARSER)
    built = set(TARGET.findall((FUZZ / "CMakeLists.txt").read_text(encoding="utf-8")))
    targets = [p for p in sources.c_files("tests/fuzz") if re.fullmatch(r"fuzz_\w+\.c", p.name)]
    for path in targets:
        name = path.stem.removeprefix("fuzz_")
        covers = covered_by(path, name)
        covered.update(covers)
        complaints += [f"{path}: {c}" for c in target_complaints(path, name, covers, built)]

    files = sources.c_files(*FOLDERS, suffixes=(".c",))
    for path in files:
        match = TAKES_BYTES.search(sources.blanked(sources.read(path)))
        if match and str(path) not in covered:
            complaints.append(f"{path}: {match.group(1)}() takes in a peer's bytes, and no fuzz "
                              f"target covers the file")
    sources.finish(complaints, len(files) + len(targets))


main()
