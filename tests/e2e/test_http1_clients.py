"""Clients of HTTP/1.1 that others wrote: ab, Node's, and one that means harm."""

import json
import pathlib
import re
import subprocess
import time

import pytest

from harness import tools
from harness import transport as transports
from harness.tree import BIG_LEN
from harness.wire import PATIENCE

# ---- ab: HTTP/1.0 ----


def ab(server, path, requests, *options):
    """What ab counted: the lines of its report, by name."""
    said = tools.run("ab", "-q", "-n", requests, "-c", 10, *options, server.url(path)).decode()
    return dict(re.findall(r"^([A-Z][^:]*):\s+(\S+)", said, re.MULTILINE)), said


@pytest.mark.parametrize("keeps", [True, False], ids=["keep-alive", "close"])
def test_ab(server, tree, keeps):
    requests = 1000
    report, said = ab(server, "/small.txt", requests, *(["-k"] if keeps else []))
    assert report["Complete requests"] == str(requests), said
    assert report["Failed requests"] == "0", said
    assert report["HTML transferred"] == str(requests * len(tree.files["small.txt"])), said
    assert "Non-2xx" not in said
    assert report.get("Keep-Alive requests", "0") == (str(requests) if keeps else "0"), said
    server.stop()
    accepted = server.stats["connections"]["accepted"]
    assert accepted <= 20 if keeps else accepted >= requests
    assert server.stats["requests"] >= requests


# ---- Node ----

NODE_HTTP1 = """
const url = new URL(process.argv[1]);
const lib = require(url.protocol === "https:" ? "node:https" : "node:http");
const agent = new lib.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
const crypto = require("node:crypto");

function get(path, options = {}) {
  return new Promise((resolve, reject) => {
    const request = lib.request(new URL(path, url), { agent, ...options }, (answer) => {
      const hash = crypto.createHash("sha256");
      let length = 0;
      answer.on("data", (bytes) => { hash.update(bytes); length += bytes.length; });
      answer.on("end", () => resolve({
        path, status: answer.statusCode, length, hash: hash.digest("hex"),
        reused: request.reusedSocket, complete: answer.complete,
      }));
    });
    request.on("error", reject);
    request.end(options.body);
  });
}

(async () => {
  const answers = [];
  for (const path of process.argv.slice(2)) answers.push(await get(path));
  answers.push(await get("/small.txt", { method: "HEAD" }));
  answers.push(await get("/one.bin", { headers: { range: "bytes=5-" } }));
  answers.push(await get("/one.bin", { method: "POST", body: "x".repeat(5000) }));
  answers.push(await get("/one.bin"));
  console.log(JSON.stringify(answers));
  agent.destroy();
})();
"""


def test_node(server, tree):
    names = ["small.txt", "empty.txt", "large.bin", "big.bin", "one.bin"]
    out = json.loads(tools.run("node", "-e", NODE_HTTP1, server.url(), *names))
    assert [a["status"] for a in out] == [200] * 5 + [200, 416, 405, 200]
    assert [a["length"] for a in out[:5]] == [len(tree.files[n]) if n in tree.files else BIG_LEN
                                             for n in names]
    assert all(a["complete"] for a in out)
    assert [a["reused"] for a in out] == [False] + [True] * (len(out) - 1)
    server.stop()
    assert server.stats["connections"]["accepted"] == 1


# ---- slowhttptest ----

SLOW_CONNECTIONS = 50
SLOW_TESTS = {  # what it does, and how long at most
    "headers": ["-H", "-i", 1, "-l", 60],
    "body": ["-B", "-i", 1, "-l", 60],
    # Small windows, a few bytes now and then, three requests in a row.
    "read": ["-X", "-w", 10, "-y", 20, "-n", 5, "-z", 32, "-k", 3, "-l", 100],
}


def anonymous_bytes(server):
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024


class TestSlowhttptest:
    @pytest.fixture
    def transport(self):
        return transports.BY_NAME["h2c"]  # the tool's TLS is of another age

    def test_it_holds_no_more_than_its_share(self, server, tree):
        tools.curl(server, "/big.bin", "-o", "/dev/null", "--http1.1")
        descriptors = server.descriptor_count()
        memory = anonymous_bytes(server)
        attacks = [subprocess.Popen(
            ["slowhttptest", "-c", str(SLOW_CONNECTIONS), "-r", str(SLOW_CONNECTIONS), "-p", "30",
             "-u", server.url("/big.bin"), *map(str, options)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for options in SLOW_TESTS.values()]
        try:
            most = 0
            while any(attack.poll() is None for attack in attacks):
                # Another client is served as if nothing were the matter.
                answer = tools.curl(server, "/large.bin", "--http1.1")
                assert answer.body == tree.files["large.bin"]
                most = max(most, anonymous_bytes(server) - memory)
                assert server.descriptor_count() <= descriptors + 4 * SLOW_CONNECTIONS
                time.sleep(0.2)
        finally:
            for attack in attacks:
                attack.kill()
                attack.wait(timeout=PATIENCE)
        # A connection in its head holds that; one that does not read, a send under way.
        assert most <= 3 * SLOW_CONNECTIONS * 64 * 1024
        assert server.descriptor_count() <= descriptors + SLOW_CONNECTIONS // 10
        server.stop()
        # All those who sent no head, no body, or did not read.
        assert server.stats["connections"]["limit_breaches"] >= 2 * SLOW_CONNECTIONS
