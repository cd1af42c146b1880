"""What a connection costs that does nothing: memory of the server's own, per connection.

Two thousand connections have asked for a small file, or for many at once, each as soon as it was open and
few at a time, and stay open. Counted is anonymous resident memory, of all processes of the server, before and after; what
the kernel holds for a socket is the same for all and not in it.
"""

import contextlib
import subprocess

from . import clients, probe, process, servers as servers_
from .workloads import IDLE, IDLE_CONNECTIONS, shaped

SECONDS = 3  # planned for a server


def measure(name, servers, site, plan, progress):
    """[{name, server, bytes, state, reason}] of one of IDLE"""
    protocol, requests = IDLE[name]
    workload = shaped(protocol, "6b", IDLE_CONNECTIONS, requests)
    found = []
    for server in servers:
        if server.only or server.is_stock:
            continue
        progress.now(f"idle {name}  {server.name}")
        row = {"name": name, "server": server.name, "connections": IDLE_CONNECTIONS,
               "bytes": None, "state": server.why_not(workload) or "ok", "reason": ""}
        if row["state"] == "ok":
            try:
                row["bytes"] = _bytes_per_connection(server, workload, site, plan)
            except (clients.Wrong, servers_.CannotStart, OSError) as e:
                row |= {"state": "error", "reason": str(e)}
        found.append(row)
        progress.worked(SECONDS)
    return found


def _bytes_per_connection(server, workload, site, plan):
    with server.start(site, workload, plan.server_place) as running:
        probe.check(workload, running.url, site.expected(workload.body), site.prefix)
        clients.check_bytes(running, workload, site, plan.client_place, 20)
        process.settle(running.pids())
        _, before = process.memory_kib(running.pids())
        argv = clients.load_command(workload, running.port, site, server.recipe.group,
                                    (f"--connections={IDLE_CONNECTIONS}", "--hold",
                                     f"--per-connection={workload.streams}",
                                     f"--streams={workload.streams}"))
        with _held([*plan.client_place, *argv]):
            process.settle(running.pids())
            _, after = process.memory_kib(running.pids())
    return (after - before) * 1024 / IDLE_CONNECTIONS


@contextlib.contextmanager
def _held(argv):
    """The client with its connections open for as long as the block lasts."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as client:
        said = client.stderr.readline()
        if said.strip() != f"holding {IDLE_CONNECTIONS}":
            client.kill()
            raise clients.Wrong(f"weir-load: {said}{client.stdout.read()}".strip())
        yield
        client.stdin.close()
        clients.read_load(client.stdout.read())
