"""The site that is served out of the box: whole, and sufficient unto itself."""

import html.parser
import pathlib
import urllib.parse

import pytest

from harness.wire import Wire

WWW = pathlib.Path(__file__).resolve().parents[2] / "www"


class Links(html.parser.HTMLParser):
    """What a browser loads of a page by itself."""

    def __init__(self, text):
        super().__init__()
        self.loaded = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        wanted = {"link": "href", "script": "src", "img": "src", "iframe": "src"}.get(tag)
        self.loaded += [value for name, value in attrs if name == wanted and value]


@pytest.fixture
def site(start):
    with Wire.connect(start(WWW)) as wire:
        yield wire


def test_every_file_is_served_as_it_is(site):
    files = [path for path in WWW.rglob("*") if path.is_file()]
    assert files
    for path in files:
        response = site.get("/" + urllib.parse.quote(str(path.relative_to(WWW))))
        assert (response.status, response.body) == (200, path.read_bytes())


def test_the_welcome_page_loads_nothing_from_elsewhere(site):
    page = site.get("/")
    assert page.status == 200
    assert page.get("content-type").startswith("text/html")

    loaded = Links(page.body.decode()).loaded
    assert loaded
    for reference in loaded:
        parts = urllib.parse.urlsplit(reference)
        assert (parts.scheme, parts.netloc) in (("", ""), ("data", ""))
        if parts.path and not parts.scheme:
            assert site.get(urllib.parse.urljoin("/", parts.path)).status == 200


def test_its_resources_have_the_types_that_browsers_ask_for(site):
    for pattern, kind in (("*.css", "text/css"), ("*.js", "text/javascript"),
                          ("*.svg", "image/svg+xml"), ("*.html", "text/html")):
        for path in WWW.rglob(pattern):
            response = site.get(f"/{path.relative_to(WWW)}")
            assert response.get("content-type").split(";")[0] == kind
