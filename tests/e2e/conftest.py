import pytest

from harness import transport as transports
from harness import tree as trees
from harness.server import Server
from harness.wire import Wire

TRANSPORTS = ["h2c", "tls"]


def pytest_collection_modifyitems(config, items):
    """Tests marked h2c_only have no variant over TLS."""
    def is_meant(item):
        callspec = getattr(item, "callspec", None)
        over_tls = callspec is not None and callspec.params.get("transport") == "tls"
        return not over_tls or item.get_closest_marker("h2c_only") is None

    config.hook.pytest_deselected(items=[item for item in items if not is_meant(item)])
    items[:] = filter(is_meant, items)


@pytest.fixture(params=TRANSPORTS)
def transport(request):
    return transports.BY_NAME[request.param]


@pytest.fixture
def start(transport):
    """start(directory, *options, ...) gives a running server; each ends with the test, and is
    held to a clean end: status 0, no report, no block referenced, no connection forgotten."""
    running = []

    def start_one(directory, *options, workers=1, **kwargs):
        count = () if workers is None else ("-w", str(workers))
        server = Server(directory, transport, (*count, *options), **kwargs)
        running.append(server)
        return server

    yield start_one
    for server in running:
        if server.stats is None:
            server.stop()


@pytest.fixture(scope="session")
def big_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("big") / "big.bin"
    path.write_bytes(trees.content(trees.BIG_LEN))
    return path


@pytest.fixture(scope="session")
def tree(tmp_path_factory, big_file):
    """The files that most tests have served; none of these tests may change them."""
    return trees.standard(tmp_path_factory.mktemp("tree") / "site", big_file)


@pytest.fixture
def own_tree(tmp_path, big_file):
    """The same files for one test alone, which may do with them as it likes."""
    return trees.standard(tmp_path / "site", big_file)


@pytest.fixture
def server(start, tree):
    return start(tree.root)


@pytest.fixture
def wire(server):
    """A connection that has exchanged SETTINGS and may send."""
    with Wire.connect(server) as connected:
        yield connected
