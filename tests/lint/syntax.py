"""Every Python file compiles."""
import ast

import sources


def main():
    complaints = []
    files = sorted(p.relative_to(sources.ROOT) for folder in ("tests", "bench")
                   for p in (sources.ROOT / folder).rglob("*.py"))
    for path in files:
        try:
            ast.parse(sources.read(path), str(path))
        except SyntaxError as error:
            complaints.append(f"{path}:{error.lineno}: {error.msg}")
    sources.finish(complaints, len(files))


main()
