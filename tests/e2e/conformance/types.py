"""Media types, as registered with IANA or given by the WHATWG (mimesniff, html)."""

from .row import absent, row

JS = "text/javascript; charset=utf-8"  # RFC 9239
PLAIN = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"

TYPES = [
    # what a page is made of
    ("html", HTML), ("htm", HTML), ("css", "text/css; charset=utf-8"), ("js", JS), ("mjs", JS),
    ("cjs", JS), ("json", "application/json"), ("map", "application/json"),
    ("wasm", "application/wasm"), ("webmanifest", "application/manifest+json"),
    ("xml", "application/xml"), ("xhtml", "application/xhtml+xml; charset=utf-8"),
    ("vtt", "text/vtt; charset=utf-8"),
    # text
    ("txt", PLAIN), ("md", "text/markdown; charset=utf-8"), ("csv", "text/csv; charset=utf-8"),
    ("ics", "text/calendar; charset=utf-8"), ("log", PLAIN), ("conf", PLAIN),
    # images
    ("svg", "image/svg+xml"), ("png", "image/png"), ("jpg", "image/jpeg"), ("jpeg", "image/jpeg"),
    ("gif", "image/gif"), ("webp", "image/webp"), ("avif", "image/avif"), ("apng", "image/apng"),
    ("jxl", "image/jxl"), ("ico", "image/x-icon"), ("bmp", "image/bmp"), ("tiff", "image/tiff"),
    # fonts: RFC 8081
    ("woff", "font/woff"), ("woff2", "font/woff2"), ("ttf", "font/ttf"), ("otf", "font/otf"),
    ("ttc", "font/collection"), ("eot", "application/vnd.ms-fontobject"),
    # sound and moving pictures
    ("mp4", "video/mp4"), ("webm", "video/webm"), ("ogv", "video/ogg"), ("mp3", "audio/mpeg"),
    ("m4a", "audio/mp4"), ("ogg", "audio/ogg"), ("opus", "audio/ogg"), ("flac", "audio/flac"),
    ("wav", "audio/wav"), ("m3u8", "application/vnd.apple.mpegurl"),
    ("mpd", "application/dash+xml"),
    # data and documents
    ("pdf", "application/pdf"), ("zip", "application/zip"), ("gz", "application/gzip"),
    ("zst", "application/zstd"), ("tar", "application/x-tar"), ("jsonld", "application/ld+json"),
    ("geojson", "application/geo+json"), ("rss", "application/rss+xml"),
    ("atom", "application/atom+xml"), ("yaml", "application/yaml"), ("epub", "application/epub+zip"),
    ("bin", "application/octet-stream"),
]


def typed(title, target, kind):
    return row(title, target, {}, 200,
               {"content-type": kind, "x-content-type-options": "nosniff"}, b"#")


ROWS = [typed(f"type of .{extension}", f"/types/file.{extension}", kind)
        for extension, kind in TYPES] + [
    typed("no extension", "/types/noextension", "application/octet-stream"),
    typed("an extension that nobody knows", "/types/file.unheardof", "application/octet-stream"),
    typed("capitals", "/types/FILE.HTML", HTML),
    typed("mixed case", "/types/x.MjS", JS),
    typed("the last extension counts", "/types/a.tar.gz", "application/gzip"),
    typed("a dot of a directory is none", "/types/dir.js/file", "application/octet-stream"),
    typed("a dot at the end", "/types/file.", "application/octet-stream"),
    row("a page is html, whatever the path", "/", {}, 200, {"content-type": HTML}),
    row("a failure is not sniffed either", "/none", {}, 404,
        {"x-content-type-options": "nosniff"}),
    row("a 304 has no type", "/types/file.html", {"if-none-match": "*"}, 304,
        {"content-type": absent}),
    # ---- what the operator says, beside the table ----
    row("a type of the operator's", "/x.ts", {}, 200,
        {"content-type": "text/plain; charset=utf-8", "cache-control": "max-age=0, must-revalidate"},
        site="rules"),
    row("by its directory; a page has the rule of pages", "/odd/page", {}, 200,
        {"content-type": "text/html", "cache-control": "no-cache"}, site="rules"),
    row("another rule is still another's", "/odd/a.css", {}, 200,
        {"content-type": "text/html", "cache-control": "max-age=60"}, site="rules"),
    row("a range has it too", "/x.ts", {"range": "bytes=0-0"}, 206,
        {"content-type": "text/plain; charset=utf-8"}, b"#", site="rules"),
    row("the table stays for all else", "/a.js", {}, 200, {"content-type": JS}, site="rules"),
]
