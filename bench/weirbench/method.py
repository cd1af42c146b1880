"""How the figures came about and what they do not say: a section of every report."""

GOOD_SECONDS = 2.0  # of a round; shorter ones are marked


def section(facts):
    counted = {"perf": "perf's tracepoint raw_syscalls:sys_enter", "strace": "strace -c"}
    calls = counted.get(facts.get("tracer"))
    lines = (
        "**Whose limit.** The figure that counts is server CPU time per request, which does not depend"
        " on how fast the client is. Where the client was the limit, `c`, the rate is a lower bound.",
        "**Same bytes.** Each server's answer is fetched once by curl: status, version, length, SHA-256"
        " and content coding must be the demanded ones. Before each round some answers are compared byte"
        " for byte by weir-load, and in each run h2load's statuses and the sum of the bodies must be"
        " exact (wrk: no error, bytes to match; weir-load: every byte of every answer).",
        "**Percentiles** are those of full logs, one line per request: h2load's --log-file or weir-load's;"
        " for wrk's workloads h2load makes the logged run. wrk's and h2load's own summaries and times to"
        " the first byte are not used. No mean is shown as anything else.",
        "**Stalls.** Closed loops hide them; latencies of these are shown as what they are. The runs at a"
        " constant rate count from the time a request was due, and say how late the client itself was.",
        "**In flight.** Throughput comes from full queues, so what is in flight is part of a workload's"
        " name; c50-m1 and the constant rates say what one request costs and waits.",
        "**Flow control.** h2load's window is 2^30: it never holds a server back. There is no delay and"
        " no loss on loopback. These figures say nothing about slow networks.",
        "**Renewal, logging.** Tuned configurations (in `raw/`, templates in `bench/peers`) never renew"
        " connections (`r` where the kernel saw a server do so) and log nothing; what Debian's stock configurations cost, logs included, is in the"
        " table of stock configurations.",
        "**Caches.** nginx keeps descriptors and looks again after an hour, h2o and nghttpd keep"
        " descriptors, lighttpd keeps stat results, weir keeps maps and is told of changes. `many` asks for"
        " 100,000 files in random order, more than any of these caches holds. The page cache is warm."
        " lighttpd holds a descriptor of each file that it has served of late, and answers 403 when it has"
        " no more: an error in `many`.",
        "**TLS** is checked in every run: 1.3, TLS_AES_128_GCM_SHA256, X25519; the certificate is ECDSA"
        " P-256, kTLS is off. nghttpd has no X25519 and takes P-256 (`p`). Handshakes are workloads of"
        " their own, full ones and resumed ones; all other connections are long-lived.",
        f"**Rounds** of {facts['seconds']:g} s, {facts['rounds']} to {facts['most_rounds']} of them,"
        " interleaved over the servers"
        " after a warm-up; medians, smallest and largest beside them; `~` marks what is noisy. Client and"
        " server have a core each, of one machine. Runs are a fixed number of requests; wrk's are timed.",
        "**Workers.** One each, on one core. nginx's stock configuration has as many as there are cores;"
        " they are on the same one here.",
        "**Memory.** Peak RSS has shared and mapped pages in it (a server that maps its files is charged"
        " for the page cache); the anonymous part stands beside it, and idle connections have a table.",
        "**Cut-off.** h2load and weir-load run a number of requests to the end: started is done, or the"
        " cell is an error. wrk leaves at most 50 requests (800 pipelined ones) uncounted.",
        "Bytes on the wire are payloads of TCP, counted in a separate run through a relay.",
        f"System calls are counted in a separate run by {calls}." if calls else
        "System calls are not counted here: neither perf nor strace may.",
    )
    return ["## How, and what these figures do not say", ""] + [f"- {line}" for line in lines] + [""]
