"""Pages that stand in: directory lists and the fallback of a single-page application."""

import re

from .row import absent, listing_json, listing_page, of_site, page, problem, row
from .sites import TEN

HTML = "text/html; charset=utf-8"
JSON = {"accept": "application/json"}
NAVIGATION = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}

# in the order of their bytes; hidden names and pipes are left out
FILES = [("C.txt", "file"), ("a b%.txt", "file"), ("a.txt", "file"), ("b.txt", "file"),
         ("link", "link"), ("sub", "directory"), ("z & <b>\"'.txt", "file"), ("ü.txt", "file")]
LINKS = [("./C.txt", "C.txt"), ("./a%20b%25.txt", "a b%.txt"), ("./a.txt", "a.txt"),
         ("./b.txt", "b.txt"), ("./link", "link"), ("./sub/", "sub/"),
         ("./z%20&#38;%20%3Cb%3E%22&#39;.txt", "z &#38; &#60;b&#62;&#34;&#39;.txt"),
         ("./%C3%BC.txt", "ü.txt")]


def numbered(first, last):
    return [(f"{i:04}.txt", "file") for i in range(first, last)]


LISTS = of_site("lists", [
    row("a list", "/files/", {}, 200,
        {"content-type": HTML, "cache-control": "no-cache", "vary": "accept", "etag": re.compile(".+"),
         "x-content-type-options": "nosniff"},
        listing_page(*LINKS, title="/files/")),
    row("a list as JSON", "/files/", JSON, 200,
        {"content-type": "application/json", "vary": "accept"},
        listing_json(*FILES, path="/files/", page=1, pages=1, complete=True)),
    row("a list for a browser", "/files/", NAVIGATION, 200, {"content-type": HTML}),
    row("a list: HEAD", "/files/", {}, 200, {"content-type": HTML}, b"", method="HEAD"),
    row("a list has a tag", "/files/", {"if-none-match": "<files-page>"}, 304,
        {"etag": "<files-page>", "vary": "accept", "content-length": absent}, b""),
    row("a list has no ranges", "/files/", {"range": "bytes=0-1"}, 200, {"content-range": absent}),
    row("an empty directory", "/empty/", JSON, 200, {}, listing_json(complete=True, pages=1)),
    row("an index comes before a list", "/indexed/", {}, 200, {}, b"<p>indexed"),
    row("the index of the root", "/", {}, 200, {}, b"<p>home"),
    row("a list without the slash", "/files", {}, 308, {"location": "files/"}),
    row("a title is escaped", "/%3Ci%3E/", {}, 200, {},
        listing_page(("./x.txt", "x.txt"), title="/&#60;i&#62;/")),
    row("the first page of many", "/many/", JSON, 200, {},
        listing_json(*numbered(0, 1000), page=1, pages=3)),
    row("the second", "/many/?page=2", JSON, 200, {},
        listing_json(*numbered(1000, 2000), page=2, pages=3)),
    row("the last", "/many/?page=3", JSON, 200, {},
        listing_json(*numbered(2000, 2500), page=3, pages=3)),
    row("a page behind another parameter", "/many/?x=1&page=3", JSON, 200, {},
        listing_json(*numbered(2000, 2500), page=3, pages=3)),
    row("no page 4", "/many/?page=4", JSON, 404, {}, problem(404, "Not Found")),
    row("no page 0", "/many/?page=0", {}, 404),
    row("a page that is no number", "/many/?page=two", {}, 404),
    row("a hidden directory has no list", "/.git/", {}, 404),
    row("what is missing has no list", "/none/", {}, 404),
    row("a file has no list", "/files/a.txt/", {}, 404),
    row("a hidden file in a listed directory", "/files/.hidden", {}, 404),
    row("a pipe in a listed directory", "/files/pipe", {}, 404),
    row("a file in a listed directory", "/files/z%20&%20%3Cb%3E%22'.txt", {}, 200, {}, TEN),
    row("a list is not for POST", "/files/", {}, 405, method="POST"),
])

APP = b"<p>the application"
APP_FIELDS = {"content-type": HTML, "cache-control": "no-cache", "vary": "accept-encoding, accept"}


def taken_over(title, target, ask=NAVIGATION, **kwargs):
    return row(title, target, ask, 200, APP_FIELDS, APP, **kwargs)


def not_taken_over(title, target, ask=NAVIGATION, **kwargs):
    return row(title, target, ask, 404, {"cache-control": "no-store"}, **kwargs)


FALLBACK = of_site("pages", [
    taken_over("a path that the application knows", "/users/42"),
    taken_over("with a query", "/users/42?tab=mail"),
    taken_over("of a directory that is not there", "/users/"),
    taken_over("of a directory without an index", "/dir/"),
    taken_over("who accepts anything", "/users/42", {"accept": "*/*"}),
    taken_over("who does not say", "/users/42", {}),
    row("HEAD", "/users/42", NAVIGATION, 200,
        {**APP_FIELDS, "content-length": str(len(APP))}, b"", method="HEAD"),
    row("its sibling", "/users/42", {**NAVIGATION, "accept-encoding": "br"}, 200,
        {**APP_FIELDS, "content-encoding": "br"}, b"the application, packed"),
    row("a 304 of it", "/users/42", {**NAVIGATION, "if-none-match": "*"}, 304,
        {"cache-control": "no-cache", "vary": "accept-encoding, accept"}, b""),
    row("a range of it", "/users/42", {**NAVIGATION, "range": "bytes=0-2"}, 206,
        {"vary": "accept-encoding, accept"}, b"<p>"),
    not_taken_over("a script that is gone", "/app.4f2a9c1b.js"),
    not_taken_over("a style sheet that is gone", "/assets/y.css"),
    not_taken_over("a page that is gone", "/old.html"),
    not_taken_over("who wants no page", "/users/42", {"accept": "application/json"}),
    not_taken_over("who wants an image", "/users/42", {"accept": "image/avif,image/*"}),
    not_taken_over("who excludes pages", "/users/42", {"accept": "*/*, text/html;q=0"}),
    not_taken_over("a dotfile", "/.env"),
    not_taken_over("below a dot directory", "/.git/HEAD"),
    not_taken_over("HEAD of a script that is gone", "/app.4f2a9c1b.js", method="HEAD"),
    row("a POST is none of the page's", "/users/42", NAVIGATION, 405, {}, page(405, "Method Not Allowed"),
        method="POST"),
    row("the missing asset has the operator's page", "/app.4f2a9c1b.js", NAVIGATION, 404,
        {"cache-control": "no-store", "content-type": HTML}, b"<p>not here"),
    row("what is there comes before it", "/app.3f2a9c1b.js", NAVIGATION, 200,
        {"content-type": "text/javascript; charset=utf-8", "vary": absent}, b"// there"),
    row("an index too", "/", NAVIGATION, 200, {}, b"<p>home"),
    row("by its own name", "/app.html", NAVIGATION, 200, {"cache-control": "no-cache"}, APP),
    row("a directory keeps its redirect", "/dir", NAVIGATION, 308, {"location": "dir/"}),
])

ROWS = LISTS + FALLBACK
