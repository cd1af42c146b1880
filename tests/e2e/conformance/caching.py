"""cache-control (RFC 9111 5.2)."""

from .row import absent, of_site, row

IMMUTABLE = "public, max-age=31536000, immutable"
PAGE = "no-cache"
REST = "max-age=0, must-revalidate"

# name: what its file gets
BY_NAME = [
    ("app.3f2a9c1b.js", IMMUTABLE),
    ("style.0123456789abcdef.css", IMMUTABLE),
    ("style.ABCDEF01.css", IMMUTABLE),
    ("letters.deadbeef.js", IMMUTABLE),
    ("digits.48151623.js", IMMUTABLE),
    ("chunk.a1b2c3d4e5f60718293a4b5c6d7e8f90.mjs", IMMUTABLE),
    ("logo.Bq3-x_Z9.svg", IMMUTABLE),
    ("font.4f3e2d1c.woff2", IMMUTABLE),
    ("page.3f2a9c1b.html", IMMUTABLE),
    ("app.3f2a9c1b.js.map", IMMUTABLE),
    ("two.dots.3f2a9c1b.js", IMMUTABLE),
    ("short.3f2a9c1.js", REST),
    ("3f2a9c1b.js", REST),
    ("app-3f2a9c1b.js", REST),
    ("app.3f2a9c1b", REST),
    ("app.production.js", REST),
    ("app.bootstrap5.js", REST),
    ("jquery.SmoothScroll.js", REST),
    ("lib.3f2a9c1b+.js", REST),
    ("report.20240229.pdf", REST),
    ("backup.20240229235959.tar", REST),
    ("notes.19991231.html", PAGE),
    ("plain.html", PAGE),
    ("plain.htm", PAGE),
    ("plain.js", REST),
    ("plain.css", REST),
    ("plain.png", REST),
    ("plain", REST),
]
NAMES = [f"cache/{name}" for name, _ in BY_NAME] + ["cache/sub.3f2a9c1b/x.js"]

MAIN = [row(f"{name}", f"/cache/{name}", {}, 200, {"cache-control": value}, b"#")
        for name, value in BY_NAME] + [
    row("a digest in a directory's name is none", "/cache/sub.3f2a9c1b/x.js", {}, 200,
        {"cache-control": REST}),
    row("the same in a 304", "/cache/app.3f2a9c1b.js", {"if-none-match": "*"}, 304,
        {"cache-control": IMMUTABLE}),
    row("the same in a 206", "/cache/app.3f2a9c1b.js", {"range": "bytes=0-0"}, 206,
        {"cache-control": IMMUTABLE}),
    row("the same for HEAD", "/cache/app.3f2a9c1b.js", {}, 200, {"cache-control": IMMUTABLE}, b"",
        method="HEAD"),
    row("the rule follows the file that is served", "/?v=3f2a9c1b.js", {}, 200,
        {"cache-control": PAGE}),
    row("a missing digest is not kept", "/cache/gone.3f2a9c1b.js", {}, 404,
        {"cache-control": "no-store"}),
    row("a 412 of it is not kept", "/cache/app.3f2a9c1b.js", {"if-match": '"x"'}, 412,
        {"cache-control": "no-store"}),
    row("a 416 of it is not kept", "/cache/app.3f2a9c1b.js", {"range": "bytes=9-"}, 416,
        {"cache-control": "no-store"}),
    row("a 405 of it is not kept", "/cache/app.3f2a9c1b.js", {}, 405,
        {"cache-control": "no-store"}, method="POST"),
]


def ruled(target, value, **kwargs):
    return row(f"rules: {target}", target, {}, 200, {"cache-control": value}, **kwargs)


RULES = of_site("rules", [
    ruled("/a.css", "max-age=60"),
    ruled("/sub/a.css", "max-age=60"),  # the first rule that matches
    ruled("/sub/deep/b.css", "max-age=60"),
    ruled("/data1.json", "no-store"),
    ruled("/data.json", REST),  # ? is one character
    ruled("/data22.json", REST),
    ruled("/fonts/a/b.woff2", "public, max-age=86400"),  # ** goes deep
    ruled("/fonts/c.woff2", "public, max-age=86400"),
    ruled("/pinned/x.html", "max-age=5, private"),
    ruled("/free.txt", absent),  # an empty value: no such field
    ruled("/a.js", REST),
    ruled("/", PAGE),
    ruled("/app.3f2a9c1b.js", IMMUTABLE),
    row("rules: in a 304", "/a.css", {"if-none-match": "*"}, 304, {"cache-control": "max-age=60"}),
    row("rules: of a coding", "/a.css", {"accept-encoding": "gzip"}, 200,
        {"cache-control": "max-age=60", "content-encoding": "gzip"}, b"packed"),
    row("rules: not for what is missing", "/none.css", {}, 404, {"cache-control": "no-store"}),
])

ROWS = MAIN + RULES
