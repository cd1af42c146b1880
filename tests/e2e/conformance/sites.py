"""The directories that the rows are about, and the options that each is served with.

Times are set: what a build, an archive or a copy leaves behind is part of what is tested.
"""

import os
import pathlib
import socket
import subprocess
import zlib

# 6 November 1994, 08:49:37: the example of RFC 9110 5.6.7
MTIME = 784111777
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
BEFORE = "Sun, 06 Nov 1994 08:49:36 GMT"
AFTER = "Sun, 06 Nov 1994 08:49:38 GMT"
EPOCH_OF_BUILDS = 315532800  # 1980-01-01, the first time that a ZIP archive can say

TEN = b"0123456789"
BIG = bytes(ord("a") + i % 26 for i in range(2000))
# larger than what is kept as a copy: this one is sent from a map
LARGE = bytes(32 + (i * i + i // 95) % 95 for i in range(100 * 1024))
HUGE = LARGE * 60
SCRIPT = b"// a script, as its author wrote it\n" * 20
TEXT = b"a text that is a text that is a text that is a text\n" * 30


def gzip_of(content):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(content) + packer.flush()


# 65 MiB once it is decoded: more than is made
BOMB = gzip_of(bytes(65 * 1024 * 1024))


def brotli_of(content):
    script = ("const c = []; process.stdin.on('data', d => c.push(d)).on('end', () => "
              "process.stdout.write(require('zlib').brotliCompressSync(Buffer.concat(c))))")
    return subprocess.run(["node", "-e", script], input=content, capture_output=True, check=True,
                          timeout=60).stdout


def zstd_of(content):
    return subprocess.run(["zstd", "-q", "-19", "-c"], input=content, capture_output=True,
                          check=True, timeout=60).stdout


class Site:
    """Own: a directory below `parent`; what lies beside it is outside of the root."""

    def __init__(self, parent):
        self.root = pathlib.Path(parent) / "root"
        self.root.mkdir()

    def put(self, name, content, mtime=MTIME, ns=0):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        stamp = mtime * 10**9 + ns
        os.utime(path, ns=(stamp, stamp))
        return content

    def link(self, name, target):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def mkdir(self, name):
        (self.root / name).mkdir(parents=True)


def put_validators(site):
    site.put("a.txt", TEN)
    site.put("copy/a.txt", TEN)
    site.put("other-bytes.txt", b"abcdefghij", ns=1)
    site.put("other-second.txt", TEN, mtime=MTIME + 1)
    site.put("longer.txt", TEN + b"!")
    site.put("empty.txt", b"")
    site.put("future.txt", TEN, mtime=4102444800)  # the year 2100
    for name, mtime in (("zero", 0), ("zip", EPOCH_OF_BUILDS), ("before-1970", -1)):
        site.put(f"build/{name}.txt", b"built once", mtime=mtime)
        site.put(f"build/{name}-again.txt", b"built more", mtime=mtime)
    site.put("build/after.txt", b"built once", mtime=EPOCH_OF_BUILDS + 1)
    site.put("build/large.txt", LARGE, mtime=1)
    site.put("build/large-copy.txt", LARGE, mtime=0)
    site.put("build/large-again.txt", LARGE[:-1] + b"?", mtime=1)
    site.put("build/app.js", SCRIPT, mtime=0)
    site.put("build/app.js.gz", gzip_of(SCRIPT), mtime=0)


def put_siblings(site):
    site.put("app.js", SCRIPT)
    site.put("app.js.br", b"B" * 60)
    site.put("app.js.zst", b"Z" * 70)
    site.put("app.js.gz", b"G" * 80, mtime=MTIME + 1)
    site.put("gzip-is-smaller.css", b"p {}\n" * 50)
    site.put("gzip-is-smaller.css.br", b"B" * 40)
    site.put("gzip-is-smaller.css.gz", b"G" * 30)
    site.put("older.css", b"newer original")
    site.put("older.css.br", b"older", mtime=MTIME - 1)
    site.put("older-by-ns.css", b"newer original", ns=1)
    site.put("older-by-ns.css.br", b"older")
    site.put("one-older.css", b"newer original")
    site.put("one-older.css.br", b"older", mtime=MTIME - 1)
    site.put("one-older.css.gz", b"as new")
    site.put("longer-sibling.txt", b"short")
    site.put("longer-sibling.txt.gz", b"longer than the original")
    site.put("empty-sibling.css", b"p {}")
    site.put("empty-sibling.css.gz", b"")
    site.put("empty-sibling.css.br", b"B")
    site.put("empty-siblings.css", b"p {}")
    site.put("empty-siblings.css.gz", b"")
    site.put("empty-siblings.css.br", b"")
    site.put("photo.png", b"\x89PNG")
    site.put("photo.png.gz", b"of no use")
    site.put("sibling-is-directory.css", b"p {}")
    site.mkdir("sibling-is-directory.css.br")
    site.put("sibling-leaves.css", b"p {}")
    (site.root.parent / "outside.br").write_bytes(b"SECRET")
    site.link("sibling-leaves.css.br", "../outside.br")
    site.put("packed/index.html", b"<p>packed")
    site.put("packed/index.html.gz", b"packed page")
    site.put("large.js", LARGE)
    site.put("large.js.br", LARGE[:20000])
    for name, pack in (("br", brotli_of), ("zst", zstd_of), ("gz", gzip_of)):
        site.put(f"alone/{name}.txt.{name}", pack(TEXT))
        site.put(f"alone/large-{name}.txt.{name}", pack(LARGE))
        site.put(f"alone/broken-{name}.txt.{name}", b"neither of these")
        site.put(f"alone/cut-{name}.txt.{name}", pack(TEXT)[:-3])
    site.put("alone/index.html.br", brotli_of(b"<p>alone"))
    site.put("alone/two.txt.gz", gzip_of(TEXT))
    site.put("alone/two.txt.zst", zstd_of(TEXT))
    site.put("alone/members.txt.gz", gzip_of(TEXT) + gzip_of(TEN))
    site.put("alone/frames.txt.zst", zstd_of(TEXT) + zstd_of(TEN))
    site.put("alone/huge.txt.gz", gzip_of(HUGE))
    site.put("alone/empty.txt.gz", b"")
    site.put("alone/bomb.txt.gz", BOMB)
    site.put("alone/epoch.txt.zst", zstd_of(TEXT), mtime=0)


def put_paths(site):
    site.put("index.html", b"<p>home")
    site.put("dir/index.html", b"<p>dir")
    site.put("dir/inner/file.txt", b"inner")
    site.put("bare/file.txt", b"in a directory without an index")
    site.put("index-is-directory/index.html/x.txt", b"x")
    site.put("a b/index.html", b"<p>blank")
    site.put("a b/c+d.txt", b"plus")
    site.put("a:b/index.html", b"<p>colon")
    site.put("ümlaut.txt", b"umlaut")
    site.put("100%.txt", b"percent")
    site.put("what?.txt", b"question")
    site.put("hash#.txt", b"hash")
    site.put("back\\slash.txt", b"backslash")
    site.put("%2e%2e/trap.txt", b"named by escapes")
    site.put(".env", b"SECRET")
    site.put(".git/config", b"SECRET")
    site.put("dir/.htpasswd", b"SECRET")
    site.put(".well-known/security.txt", b"Contact: mailto:security@example.org\n")
    site.put(".well-known/.hidden", b"SECRET")
    site.put("dir/.well-known/security.txt", b"SECRET")
    (site.root.parent / "outside.txt").write_bytes(b"SECRET")
    site.link("link-inside.txt", "dir/inner/file.txt")
    site.link("dir/link-up-inside.txt", "../a.txt")
    site.link("link-dir", "dir")
    site.link("link-chain.txt", "link-inside.txt")
    site.link("link-outside.txt", "../outside.txt")
    site.link("link-absolute.txt", str(site.root.parent / "outside.txt"))
    site.link("link-absolute-inside.txt", str(site.root / "dir" / "inner" / "file.txt"))
    site.link("link-absolute-dir", str(site.root / "dir"))
    site.link("link-absolute-back", str(site.root.parent))
    site.link("link-etc", "/etc")
    site.link("link-proc.txt", "/proc/self/environ")
    site.link("link-loop.txt", "link-loop.txt")
    site.link("link-nowhere.txt", "none.txt")
    os.mkfifo(site.root / "fifo")
    with socket.socket(socket.AF_UNIX) as sock:
        here = os.getcwd()
        os.chdir(site.root)  # a socket's path must be short
        try:
            sock.bind("socket")
        finally:
            os.chdir(here)
    site.link("device", "/dev/zero")


def put_names(site, names):
    for name in names:
        site.put(name, b"#")


def build_main(site):
    from .types import TYPES
    site.put("big.txt", BIG)
    site.put("large.txt", LARGE)
    put_validators(site)
    put_siblings(site)
    put_paths(site)
    put_names(site, [f"types/file.{extension}" for extension, _ in TYPES])
    put_names(site, ["types/noextension", "types/file.unheardof", "types/FILE.HTML", "types/a.tar.gz",
                     "types/.well.js", "types/dir.js/file", "types/file.", "types/x.MjS"])
    from .caching import NAMES
    put_names(site, NAMES)


def build_pages(site):
    """The operator's own page for what is missing, and a fallback."""
    site.put("404.html", b"<p>not here")
    site.put("404.html.gz", b"packed: not here")
    site.put("app.html", b"<p>the application")
    site.put("app.html.br", b"the application, packed")
    site.put("index.html", b"<p>home")
    site.put("app.3f2a9c1b.js", b"// there")
    site.put("assets/x.css", b"p {}")
    site.put("dir/x.txt", b"x")


def build_custom(site):
    site.put("404.html", b"<p>not here")
    site.put("404.html.gz", b"packed: not here")
    site.put("a.txt", TEN)
    site.put("dir/404.html", b"<p>of a directory")


def build_lists(site):
    site.put("index.html", b"<p>home")
    site.put("indexed/index.html", b"<p>indexed")
    for name in ("b.txt", "a.txt", "C.txt", "z & <b>\"'.txt", "a b%.txt", "ü.txt"):
        site.put(f"files/{name}", TEN)
    site.put("files/.hidden", b"SECRET")
    site.put("files/sub/x.txt", b"x")
    site.link("files/link", "a.txt")
    os.mkfifo(site.root / "files" / "pipe")
    site.mkdir("empty")
    for i in range(2500):
        site.put(f"many/{i:04}.txt", b"")
    site.put("<i>/x.txt", b"x")


def build_rules(site):
    put_names(site, ["index.html", "a.css", "sub/a.css", "sub/deep/b.css", "a.js", "data.json",
                     "data1.json", "data22.json", "free.txt", "app.3f2a9c1b.js", "pinned/x.html",
                     "fonts/a/b.woff2", "fonts/c.woff2", "x.ts", "odd/page", "odd/a.css"])
    site.put("a.css.gz", b"packed")


def build_bare(site):
    site.put("app.js", SCRIPT)
    site.put("app.js.br", b"B" * 60)
    site.put("alone.txt.gz", gzip_of(TEXT))


# name: how it is laid out, and the options it is served with
SITES = {
    "main": (build_main, ()),
    "pages": (build_pages, ("--fallback", "/app.html")),
    "custom": (build_custom, ()),
    "lists": (build_lists, ("--list",)),
    "rules": (build_rules, ("--cache-control", "*.css=max-age=60",
                            "--cache-control", "/data?.json=no-store",
                            "--cache-control", "/fonts/**=public, max-age=86400",
                            "--cache-control", "/sub/**=max-age=1",
                            "--cache-control", "free.txt=",
                            "--cache-control", "/pinned/*=max-age=5, private",
                            "--content-type", "*.ts=text/plain; charset=utf-8",
                            "--content-type", "/odd/*=text/html",
                            "--server", "")),
    "bare": (build_bare, ("--no-precompressed", "--server", "a server/1.0")),
}

# "<name>" in a row: the entity-tag of this path, asked for with this accept-encoding
TAGS = {
    "a": ("/a.txt", None),
    "big": ("/big.txt", None),
    "large": ("/large.txt", None),
    "empty": ("/empty.txt", None),
    "zero": ("/build/zero.txt", None),
    "build-large": ("/build/large.txt", None),
    "build-app": ("/build/app.js", None),
    "build-app-gz": ("/build/app.js", "gzip"),
    "app": ("/app.js", None),
    "app-br": ("/app.js", "br"),
    "app-zstd": ("/app.js", "zstd"),
    "app-gzip": ("/app.js", "gzip"),
    "alone-zst": ("/alone/zst.txt", None),
    "alone-zst-coded": ("/alone/zst.txt", "zstd"),
    "alone-br": ("/alone/br.txt", None),
    "alone-gz": ("/alone/gz.txt", None),
    "files-page": ("/files/", None),
}
