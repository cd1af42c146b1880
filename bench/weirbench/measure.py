"""Warm-up and interleaved rounds of a group of workloads, usually one, over all servers.

All servers are up at once and pinned to one core; only the one whose turn it is has work. Round by
round each gets its turn (A B C A B C ...), so whatever drifts on this machine hits all alike.
"""

import array
import contextlib
import math
import time
from dataclasses import asdict, dataclass, field, replace

from . import clients, probe, process, renewals, servers as servers_, stats, syscalls, tap, workloads

TRIAL_S = 0.1  # a calibrating run must last that long to be believed
STARTUP_S = 0.8  # planned per server and workload: start, probe, tap
BARE_STARTUP_S = 0.3  # where nothing is tapped
CONNECT_S = 1.5e-3  # a handshake
TAP_REQUESTS = 2000
TAP_BYTES = 64 << 20
TAP_CONNECTS = 50
CHECKED = 20  # answers compared byte for byte before each round
CHECKED_BYTES = 4 << 20  # but no more than that, and one at least
LONG_BODY = 1 << 20
FEW = 100
EXTRA_S = 0.15  # planned for a run's surroundings: the check, the wait until all is quiet


@dataclass(frozen=True)
class Plan:
    rounds: int
    most_rounds: int  # where these leave open whether a demand is met
    seconds: float  # of load per run
    connects: int | None  # most connections of a handshake run; None: as the workload says
    server_core: int
    client_core: int
    niceness: int = 0
    tracer: str | None = None  # what counts system calls: perf, strace or nothing
    is_bare: bool = False  # CPU time and rates alone

    @property
    def server_place(self):
        return process.placed(self.server_core, self.niceness)

    @property
    def client_place(self):
        return process.placed(self.client_core, self.niceness)

    def estimate_s(self, workload):
        """Seconds one server takes in this workload."""
        run = self.seconds
        if self.is_bare:
            connecting = workload.connections * (CONNECT_S if workload.tls else CONNECT_S / 10)
            return BARE_STARTUP_S + (self.rounds + 1) * (run + connecting + EXTRA_S)
        if workload.connects:
            run = self.amount_of_connects(workload) * 1e-3
        behind = run * 2.1  # latencies, system calls
        if workload.client == "wrk":
            run = max(1, round(run))
        return STARTUP_S + run / 2 + self.rounds * (run + EXTRA_S) + behind

    def amount_of_connects(self, workload):
        return min(workload.connects, self.connects or workload.connects)


@dataclass
class Sample:
    """One run: what the client and the kernel said."""

    round: int
    requests: int
    seconds: float
    server_cpu_s: float
    client_cpu_s: float
    client_share: float  # of the client's core
    server_share: float  # of the server's core
    others_share: float  # of the server's core: anyone else on it, and time stolen by the host
    peak_rss_kib: int
    anon_rss_kib: int
    data_bytes: int | None
    frame_bytes: int | None
    header_bytes: int | None
    renewed: int = 0  # connections that the server closed, and the client opened others in silence

    @property
    def cpu_us(self):
        return self.server_cpu_s / self.requests * 1e6

    @property
    def rate(self):
        return self.requests / self.seconds


@dataclass
class Cell:
    """A workload on a server."""

    workload: str
    server: str
    state: str = "ok"  # ok, missing, not offered, error
    reason: str = ""
    samples: list = field(default_factory=list)
    amount: int = 0  # requests (wrk: seconds) of each run
    odd_group: str = ""  # of the key exchange, where it is not the one that all should use
    latency_us: dict = field(default_factory=dict)  # p50, p90, p99, p99.9 of a logged run
    syscalls: float | None = None  # per request
    wire_in: float | None = None  # bytes to the client per response, TLS included
    wire_out: float | None = None
    fields: list = field(default_factory=list)  # the header of the probe's response
    server_command: list = field(default_factory=list)
    client_command: list = field(default_factory=list)
    config: str = ""
    outputs: list = field(default_factory=list)  # what the client printed, run by run

    def fail(self, reason):
        """A wrong answer is an error: whatever was measured before it is withdrawn."""
        self.state, self.reason, self.samples = "error", str(reason), []

    @property
    def ok(self):
        return self.state == "ok" and bool(self.samples)

    def summary(self, name):
        return stats.summarise(getattr(s, name) for s in self.samples)

    @property
    def cpu_by_round(self):
        return {s.round: s.cpu_us for s in self.samples}

    @property
    def client_bound(self):
        return stats.client_bound(self.summary("server_share").median,
                                  self.summary("client_share").median)

    @property
    def renewed(self):
        return sum(s.renewed for s in self.samples)

    @property
    def noisy(self):
        return stats.noisy(self.summary("cpu_us").spread, self.summary("others_share").median)

    def to_json(self):
        out = asdict(self)
        out.pop("outputs")
        out.pop("config")
        for sample, source in zip(out["samples"], self.samples):
            sample |= {"cpu_us": source.cpu_us, "rate": source.rate}
        if self.ok:
            names = ("cpu_us", "rate", "server_share", "client_share", "others_share",
                     "peak_rss_kib", "anon_rss_kib")
            out["summary"] = {name: asdict(self.summary(name)) for name in names}
            out["client_bound"] = self.client_bound
            out["noisy"] = self.noisy
            out["renewed"] = self.renewed
        return out


def measure(workloads, servers, site, plan, progress, undecided=lambda cells: set()):
    """
    One Cell for each workload and server, in order; none is left out, whatever goes wrong.

    After the planned rounds `undecided` says of which (workload's name, server's name) more are wanted.
    """
    cells, turns = [], []
    with contextlib.ExitStack() as stack:
        for workload in workloads:
            for server in servers:
                if not server.takes_part(workload):
                    continue
                cell = Cell(workload.name, server.name)
                cells.append(cell)
                running = _start(cell, server, workload, site, plan, stack)
                if running:
                    turns.append(Turn(workload, cell, running))
                elif cell.state == "error":
                    progress.worked(plan.estimate_s(workload))
        for turn in turns:
            progress.now(f"{turn.workload.name}  {turn.cell.server}  warm-up")
            with _errors_end(turn.cell):
                _prepare(turn.cell, turn.running, turn.workload, site, plan)
        for number in range(plan.most_rounds):
            for turn in _due(turns, number, plan, cells, undecided):
                progress.now(f"{turn.workload.name}  {turn.cell.server}"
                             f"  round {number + 1}/{max(plan.rounds, number + 1)}")
                if turn.cell.state == "ok":
                    with _errors_end(turn.cell):
                        _round(turn.cell, turn.running, turn.workload, site, plan, number)
                if number < plan.rounds:
                    progress.worked(plan.estimate_s(turn.workload) / (plan.rounds + 1))
        for turn in turns:
            progress.now(f"{turn.workload.name}  {turn.cell.server}  latencies, system calls")
            if turn.cell.state == "ok" and not plan.is_bare:
                with _errors_end(turn.cell):
                    _latencies(turn, site, plan)
                    _system_calls(turn, site, plan)
            progress.worked(plan.estimate_s(turn.workload) / (plan.rounds + 1))
    return cells


@dataclass(frozen=True)
class Turn:
    workload: object
    cell: Cell
    running: object


def _due(turns, number, plan, cells, undecided):
    """Who takes part in that round: all in the planned ones, then those of whom more is to be known."""
    if number < plan.rounds:
        return turns
    wanted = undecided(cells)
    return [turn for turn in turns if (turn.workload.name, turn.cell.server) in wanted]


@contextlib.contextmanager
def _errors_end(cell):
    try:
        yield
    except (clients.Wrong, servers_.CannotStart, OSError) as e:
        cell.fail(e)


def _start(cell, server, workload, site, plan, stack):
    why_not = server.why_not(workload)
    if why_not:
        cell.state = why_not
        cell.reason = f"no program {server.wanted}" if why_not == "missing" else ""
        return None
    with _errors_end(cell):
        running = stack.enter_context(server.start(site, workload, plan.server_place))
        cell.server_command, cell.config = running.command, running.config
        if workload.tls and server.recipe.group != clients.GROUP:
            cell.odd_group = server.recipe.group
        return running
    return None


def _prepare(cell, running, workload, site, plan):
    """Right answer, bytes on the wire, amount of work per run, warm-up."""
    cell.fields = probe.check(workload, running.url, site.expected(workload.body), site.prefix)
    paths = len(workload.content.paths)
    if 1 < paths <= CHECKED:
        clients.check_bytes(running, workload, site, plan.client_place, paths)
    if not plan.is_bare:
        _tap(cell, running, workload, site, plan)
    cell.amount = warm_up(running, workload, site, plan, plan.seconds)


def _tap(cell, running, workload, site, plan):
    if workload.client == "wrk":  # whose runs have no fixed number of requests; the answers are the same
        workload = replace(workload, client="load")
    if workload.connects:
        amount = TAP_CONNECTS
    elif workload.size >= LONG_BODY:
        workload = replace(workload, connections=1, streams=1)
        amount = 1
    else:
        amount = max(1, min(TAP_REQUESTS, TAP_BYTES // max(workload.size, 1)))
        if len(workload.content.paths) != workloads.MANY:  # whose files are all alike
            amount = _round_up(amount, workload)
    with tap.Tap(running.port) as counter:
        clients.run(running, workload, amount, site, plan.client_place, 60, port=counter.port)
    cell.wire_in = counter.to_client / amount
    cell.wire_out = counter.to_server / amount


def _round_up(amount, workload):
    if workload.connects:
        return max(workload.connections if workload.resume else 1, round(amount))
    step = workload.step
    return max(1, math.ceil(amount / step)) * step


def warm_up(running, workload, site, plan, seconds):
    """How much work lasts `seconds` here, half of which has then been done."""
    amount = _calibrate(running, workload, site, plan, seconds)
    warm = amount if workload.client == "wrk" else _round_up(amount / 2, workload)
    _run(running, workload, warm, site, plan)
    return amount


def _calibrate(running, workload, site, plan, seconds):
    if workload.connects:
        return plan.amount_of_connects(workload)
    if workload.client == "wrk":
        return max(1, round(seconds))
    amount = _round_up(1, workload)
    while True:
        took = _run(running, workload, amount, site, plan).outcome.seconds
        if took >= min(TRIAL_S, seconds):
            return _round_up(amount * seconds / took, workload)
        grow = min(20.0, 1.5 * TRIAL_S / max(took, 1e-4))
        amount = _round_up(amount * max(grow, 2.0), workload)


def _run(running, workload, amount, site, plan, **more):
    timeout_s = 60 + 20 * plan.seconds
    finished = clients.run(running, workload, amount, site, plan.client_place, timeout_s, **more)
    if not running.alive():
        raise clients.Wrong(f"the server ended: {running.last_words()}")
    return finished


def _round(cell, running, workload, site, plan, number):
    checked = max(1, min(CHECKED, CHECKED_BYTES // max(workload.size, 1)))
    clients.check_bytes(running, workload, site, plan.client_place, checked)
    pids = running.pids()
    process.settle(pids)
    process.reset_peak_memory(pids)
    closed = renewals.closed_by(running.port)
    at = {}

    def begins():
        at.update(busy=process.core_busy_seconds(plan.server_core),
                  cpu=process.cpu_seconds(pids), start=time.monotonic())

    begins()  # and again, if the client can tell when it has connected
    finished = _run(running, workload, cell.amount, site, plan, begins=begins)
    busy, cpu, start = at["busy"], at["cpu"], at["start"]
    client_s = time.monotonic() - start
    process.settle(pids)
    cpu = process.cpu_seconds(pids) - cpu
    whole_s = time.monotonic() - start
    busy = process.core_busy_seconds(plan.server_core) - busy
    if running.pids() != pids:
        raise clients.Wrong("processes of the server came or went during a run")
    peak, anon = process.memory_kib(pids)
    is_silent = workload.client == "h2load" and workload.protocol in ("h1", "h1s")
    renewed = len(renewals.closed_by(running.port) - closed) if is_silent else 0
    outcome = finished.outcome
    cell.client_command = finished.command
    cell.outputs.append(finished.output)
    cell.samples.append(Sample(
        round=number, requests=outcome.requests, seconds=outcome.seconds,
        server_cpu_s=cpu, client_cpu_s=finished.cpu_seconds,
        client_share=min(finished.cpu_seconds / client_s, 1.0),
        server_share=min(cpu / outcome.seconds, 1.0),
        others_share=max(busy - cpu, 0.0) / whole_s,
        peak_rss_kib=peak, anon_rss_kib=anon,
        data_bytes=outcome.data_bytes, frame_bytes=outcome.frame_bytes,
        header_bytes=outcome.header_bytes, renewed=renewed))


def _latencies(turn, site, plan):
    """From the log of every request, of a client that writes one: h2load where the rounds had wrk."""
    workload, cell = turn.workload, turn.cell
    if workload.connects:
        return  # the log would hold requests, and these are about handshakes
    amount = cell.amount
    if amount < FEW and workload.client != "wrk":
        return  # their percentiles would be those of nothing
    if workload.client == "wrk":
        workload = replace(workload, client="h2load")
        amount = _round_up(cell.summary("rate").median * plan.seconds, workload)
    log = site.prefix / "latency.log"
    log.unlink(missing_ok=True)
    _run(turn.running, workload, amount, site, plan, log=log)
    logged = read_log(log, workload.client)
    if len(logged) != amount:
        raise clients.Wrong(f"{len(logged)} latencies of {amount} requests were logged")
    cell.latency_us = stats.percentiles(logged)


def read_log(path, client):
    """Microseconds, one value for each request."""
    if client == "load":
        values = array.array("Q", path.read_bytes())
        return [ns / 1000 for ns in values]
    return [int(line.rpartition(b"\t")[2]) for line in path.read_bytes().splitlines()]


def _system_calls(turn, site, plan):
    """Per request: what a run costs beyond one of a third of its length, so without connecting."""
    if plan.tracer is None:
        return
    workload, cell = turn.workload, turn.cell
    if workload.connects or workload.size >= LONG_BODY:  # connecting is the work, or nothing beside it
        calls, finished = _traced(turn, cell.amount, site, plan)
        cell.syscalls = calls / finished.outcome.requests
        return
    if workload.client == "wrk":
        workload = replace(workload, client="load")
        turn = replace(turn, workload=workload)
        amount = cell.summary("rate").median * plan.seconds
    else:
        amount = cell.amount
    short = _round_up(amount / 4, workload)
    less, _ = _traced(turn, short, site, plan)
    more, _ = _traced(turn, 3 * short, site, plan)
    cell.syscalls = max(more - less, 0) / (2 * short)


def _traced(turn, amount, site, plan):
    return syscalls.count(
        plan.tracer, turn.running.pids(), site.prefix,
        lambda under: _run(turn.running, turn.workload, amount, site, plan, under=under))
