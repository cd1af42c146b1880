"""Connections that a server closed, as the kernel remembers them.

Over HTTP/1.1 h2load opens others in silence; over HTTP/2 it reports an error, and wrk's are counted.

Whoever closes first keeps the address pair for a minute (TIME_WAIT). Pairs with the server's port at
the near end are connections that the server gave up, not the client, whatever else goes on here.
"""

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
CLOSED_FIRST = {"04", "05", "06", "0B"}  # FIN_WAIT1, FIN_WAIT2, TIME_WAIT, CLOSING


def closed_by(port):
    """Address pairs of the connections which the server on `port` closed in the last minute."""
    found = set()
    for table in TABLES:
        try:
            with open(table, encoding="ascii") as f:
                next(f)
                for line in f:
                    _, near, far, state, *_ = line.split()
                    if state in CLOSED_FIRST and int(near.rpartition(":")[2], 16) == port:
                        found.add((near, far))
        except OSError:
            pass  # a kernel without IPv6
    return found
