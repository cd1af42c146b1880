"""From a target to a file: indices, redirects, what is hidden and what is no file (RFC 3986)."""

from .row import absent, page, row
from .sites import SCRIPT, TEN

INNER = b"inner"


def redirect(title, target, location, **kwargs):
    return row(title, target, {}, 308,
               {"location": location, "etag": absent, "last-modified": absent, "vary": "accept"},
               **kwargs)


def missing(title, target, **kwargs):
    return row(title, target, {}, 404, {"cache-control": "no-store", "etag": absent},
               page(404, "Not Found"), **kwargs)


def bad(title, target):
    return row(title, target, {}, 400, {"cache-control": "no-store"})


ROWS = [
    # ---- index.html ----
    row("the root", "/", {}, 200, {"content-type": "text/html; charset=utf-8"}, b"<p>home"),
    row("a directory", "/dir/", {}, 200, {}, b"<p>dir"),
    row("an index by its name", "/dir/index.html", {}, 200, {}, b"<p>dir"),
    row("a directory with a query", "/dir/?x=/y", {}, 200, {}, b"<p>dir"),
    missing("a directory without an index: no list", "/bare/"),
    missing("an index that is a directory", "/index-is-directory/"),
    missing("a file with a slash behind it", "/a.txt/"),
    missing("a file taken for a directory", "/a.txt/b.txt"),
    missing("no such file", "/none.txt"),
    missing("no such directory", "/none/"),
    row("HEAD of what is missing", "/none.txt", {}, 404, {"cache-control": "no-store"}, b"",
        method="HEAD"),

    # ---- a directory without the slash: 308, relative ----
    redirect("a directory without the slash", "/dir", "dir/"),
    redirect("the method is kept: HEAD", "/dir", "dir/", method="HEAD", body=b""),
    redirect("the query is kept", "/dir?a=b&c=%20d", "dir/?a=b&c=%20d"),
    redirect("an empty query is kept", "/dir?", "dir/?"),
    redirect("a query that looks like a host", "/dir?//example.org", "dir/?//example.org"),
    redirect("deeper: the last segment", "/index-is-directory/index.html", "index.html/"),
    redirect("one without an index too", "/bare", "bare/"),
    redirect("a link to a directory", "/link-dir", "link-dir/"),
    redirect("//host is none", "//dir", "/dir/"),
    redirect("///host is none", "///dir", "/dir/"),
    redirect("/./ is resolved", "/./dir", "/dir/"),
    redirect("/../ is resolved", "/bare/../dir", "/dir/"),
    redirect("a blank stays encoded", "/a%20b", "/a%20b/"),
    redirect("a colon cannot become a scheme", "/a:b", "a%3Ab/"),
    redirect("what was needlessly encoded", "/%64ir", "/dir/"),
    row("a POST is not redirected", "/dir", {}, 405, {"location": absent}, method="POST"),
    missing("//host that is no directory", "//example.org"),
    missing("//host/..", "//example.org/%2e%2e/none"),

    # ---- encoding ----
    row("percent-encoding is undone", "/%61%2etxt", {}, 200, {}, TEN),
    row("hex digits of either case", "/%C3%BCmlaut.txt", {}, 200, {}, b"umlaut"),
    row("and small", "/%c3%bcmlaut.txt", {}, 200, {}, b"umlaut"),
    row("a blank", "/a%20b/c+d.txt", {}, 200, {}, b"plus"),
    row("a plus is no blank", "/a%20b/c%2Bd.txt", {}, 200, {}, b"plus"),
    row("a percent sign", "/100%25.txt", {}, 200, {}, b"percent"),
    row("a question mark in a name", "/what%3F.txt", {}, 200, {}, b"question"),
    row("a hash in a name", "/hash%23.txt", {}, 200, {}, b"hash"),
    row("decoded once, not twice", "/%252e%252e/trap.txt", {}, 200, {}, b"named by escapes"),
    row("a query is no part of the path", "/a.txt?/../../etc/passwd", {}, 200, {}, TEN),
    row("a second question mark", "/a.txt??", {}, 200, {}, TEN),
    bad("a percent sign alone", "/100%.txt"),
    bad("half an escape", "/a.txt%2"),
    bad("no hex", "/%zz"),
    bad("NUL", "/a.txt%00"),
    bad("NUL in the middle", "/a.txt%00.html"),
    bad("an encoded slash", "/dir%2finner/file.txt"),
    bad("an encoded backslash", "/back%5cslash.txt"),

    # ---- dot segments ----
    row("one dot", "/dir/./inner/file.txt", {}, 200, {}, INNER),
    row("two dots", "/dir/inner/../inner/file.txt", {}, 200, {}, INNER),
    row("encoded dots", "/dir/%2e%2E/a.txt", {}, 200, {}, TEN),
    row("empty segments", "//dir///inner//file.txt", {}, 200, {}, INNER),
    row("three dots are a name", "/dir/.../a.txt", {}, 404),
    row("dots at the end", "/dir/inner/..", {}, 200, {}, b"<p>dir"),
    bad("above the root", "/../outside.txt"),
    bad("above the root, encoded", "/%2e%2e/outside.txt"),
    bad("above the root by way of a directory", "/dir/../../outside.txt"),
    bad("above the root, far", "/../../../../../../etc/passwd"),

    # ---- dotfiles ----
    missing("a dotfile", "/.env"),
    missing("in a dot directory", "/.git/config"),
    missing("a dotfile below", "/dir/.htpasswd"),
    missing("a dotfile, encoded", "/%2eenv"),
    missing("a dot directory without the slash: no redirect that tells", "/.git"),
    missing("a dotfile that is not there either", "/.none"),
    row("but /.well-known/ (RFC 8615)", "/.well-known/security.txt", {}, 200, {},
        b"Contact: mailto:security@example.org\n"),
    missing("a dotfile in /.well-known/", "/.well-known/.hidden"),
    missing(".well-known elsewhere", "/dir/.well-known/security.txt"),
    missing("out of /.well-known/", "/.well-known/../.env"),

    # ---- links ----
    row("a link inside", "/link-inside.txt", {}, 200, {}, INNER),
    row("a link up, but inside", "/dir/link-up-inside.txt", {}, 200, {}, TEN),
    row("a link to a link", "/link-chain.txt", {}, 200, {}, INNER),
    row("through a linked directory", "/link-dir/inner/file.txt", {}, 200, {}, INNER),
    missing("a link that leaves", "/link-outside.txt"),
    missing("an absolute link", "/link-absolute.txt"),
    row("an absolute link that leads inside", "/link-absolute-inside.txt", {}, 200, {}, INNER),
    row("through a directory by an absolute link", "/link-absolute-dir/inner/file.txt", {}, 200, {},
        INNER),
    redirect("an absolute link to a directory", "/link-absolute-dir", "link-absolute-dir/"),
    missing("an absolute link that leaves, and back", "/link-absolute-back/root/a.txt"),
    missing("through a directory outside", "/link-etc/passwd"),
    missing("a directory outside", "/link-etc"),
    missing("/proc", "/link-proc.txt"),
    missing("a loop", "/link-loop.txt"),
    missing("a link to nothing", "/link-nowhere.txt"),

    # ---- no files ----
    missing("a FIFO, without waiting for a writer", "/fifo"),
    missing("a socket", "/socket"),
    missing("a device by a link", "/device"),
    row("a sibling by its own name", "/app.js.br", {}, 200,
        {"content-type": "application/x-brotli"}, b"B" * 60),
    row("the file beside it", "/app.js", {}, 200, {}, SCRIPT),
    row("a path that is too long", "/" + "x" * 9000, {}, 414, {}, page(414, "URI Too Long")),
    row("a name that is too long for a disk", "/" + "x" * 300, {}, 404),
    row("many segments", "/" + "x/" * 2000, {}, 404),
]
