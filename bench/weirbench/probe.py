"""One answer, looked at closely, before a server is measured: status, version, length, every byte."""

import hashlib
import subprocess

from .clients import Wrong
from .workloads import PROTOCOLS

CURL = {
    "h2c": ["--http2-prior-knowledge"],
    "h2": ["--http2", "--insecure", "--tlsv1.3"],
    "h1": ["--http1.1"],
    "h1s": ["--http1.1", "--insecure", "--tlsv1.3"],
}
SUMMARY = "%{http_code} %{http_version} %{size_download}"


def check(workload, url, expected, prefix):
    """Raise Wrong unless `url` answers as every server of the run must; return its header fields.

    `expected` is (length, SHA-256) of the body.
    """
    size, sha256 = expected
    content = workload.content
    headers = prefix / "probe.headers"
    argv = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "60",
            *CURL[workload.protocol], "--dump-header", str(headers),
            "--write-out", f"%{{stderr}}{SUMMARY}", url]
    for field in content.fields:
        argv += ["--header", field]
    digest = hashlib.sha256()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as curl:
        while piece := curl.stdout.read(1 << 18):
            digest.update(piece)
        said = curl.stderr.read().decode(errors="replace").strip()
    if curl.returncode != 0:
        raise Wrong(f"curl {curl.returncode}: {said.splitlines()[0] if said else 'no words'}")
    wanted = f"{content.status} {PROTOCOLS[workload.protocol][1]} {size}"
    if said != wanted:
        raise Wrong(f"answered (status, version, length) {said} instead of {wanted}")
    if digest.hexdigest() != sha256:
        raise Wrong("wrong bytes in the body")
    fields = [line.strip() for line in headers.read_text(errors="replace").splitlines()[1:]
              if line.strip()]
    codings = [f.partition(":")[2].strip() for f in fields
               if f.lower().startswith("content-encoding:")]
    if codings != ([content.coding] if content.coding else []):
        raise Wrong(f"content coding {codings or 'none'}: another representation than its peers'")
    return fields
