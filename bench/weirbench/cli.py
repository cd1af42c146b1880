"""Options, and the order of things."""

import argparse
import json
import os
import pathlib
import re
import signal
import sys
import time

from . import environment, measure, plots, process, profile, progress, report, servers, setup
from .site import Site
from .workloads import WORKLOADS

BENCH = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = BENCH.parent

# Quick: enough to see where things stand, too short to be quoted.
ROUNDS, SECONDS = 5, 2.0
QUICK_ROUNDS, QUICK_SECONDS, QUICK_CONNECTS = 3, 0.15, 300


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="bench/run", description="Measure weir and its peers on this machine.",
        epilog="Workloads: " + ", ".join(w.name for w in WORKLOADS))
    add = parser.add_argument
    add("--weir", metavar="PATH", default=REPOSITORY / "build/release/weir",
        help="weir's binary (default: build/release/weir)")
    add("--weir-variant", metavar="NAME=ARGS", action="append", default=[],
        help="one more weir, with other arguments; a first word with a slash is another binary")
    add("--peer", metavar="NAME=PATH", action="append", default=[], help="another build of a peer")
    add("--servers", metavar="LIST", help="take part, comma separated: "
        + ", ".join(("weir",) + servers.PEERS) + " (default: all)")
    add("--only", metavar="REGEX", default="", help="workloads whose name matches")
    add("--rounds", type=int, metavar="N", help=f"default {ROUNDS}")
    add("--seconds", type=float, metavar="S", help=f"of load per run (default {SECONDS:g})")
    add("--quick", action="store_true", help="everything in under 3 minutes, not to be quoted")
    add("--server-core", type=int, metavar="N", help="default: the first that may be used")
    add("--client-core", type=int, metavar="N", help="default: the second")
    add("--nice", type=int, metavar="N", default=0,
        help="niceness of servers and clients; below 0 (root) keeps others off a shared machine")
    add("--out", metavar="DIR", type=pathlib.Path, help="default: bench/results/<date and time>")
    add("--profile", metavar="WORKLOAD", help="flame graphs of the servers instead of figures")
    add("--list", action="store_true", help="name the workloads and end")
    add("--no-setup", action="store_true", help="install nothing")
    return parser.parse_args(argv)


def main(argv):
    options = parse(argv)
    try:
        chosen = choose_workloads(options.profile or options.only, exact=bool(options.profile))
        taking_part = choose_servers(options)
        plan = make_plan(options)
    except ValueError as e:
        print(f"bench: {e}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(w.name for w in chosen))
        return 0
    if not options.no_setup:
        setup.ensure_packages(BENCH / "packages.txt")
        taking_part = choose_servers(options)
    out = options.out or BENCH / "results" / time.strftime("%Y-%m-%d-%H%M%S")
    out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what we started is stopped
    os.sched_setaffinity(0, {plan.client_core})  # we, too, keep off the server's core
    with Site() as site:
        site.write_certificate()
        site.write_files(w.file for w in chosen)
        taking_part = [s.snapshot(site.prefix) for s in taking_part]
        if options.profile:
            return profile.run(chosen[0], taking_part, site, plan, out)
        return run(chosen, taking_part, site, plan, out, options.quick)


def choose_workloads(pattern, exact=False):
    try:
        wanted = re.compile(pattern)
    except re.error as e:
        raise ValueError(f"not a regular expression: {pattern} ({e})") from e
    match = wanted.fullmatch if exact else wanted.search
    chosen = [w for w in WORKLOADS if match(w.name)]
    if not chosen:
        raise ValueError(f"no workload is named {pattern}; --list names them")
    return chosen


def choose_servers(options):
    known = ("weir",) + servers.PEERS
    names = options.servers.split(",") if options.servers else list(known)
    unknown = set(names) - set(known)
    if unknown:
        raise ValueError(f"no such server: {', '.join(sorted(unknown))}")
    builds = dict(spec.split("=", 1) for spec in options.peer if "=" in spec)
    if len(builds) != len(options.peer) or set(builds) - set(servers.PEERS):
        raise ValueError("--peer takes NAME=PATH with the name of a peer")
    chosen = [servers.weir(options.weir) if n == "weir" else servers.peer(n, builds.get(n))
              for n in known if n in names]
    variants = [servers.weir_variant(spec, options.weir) for spec in options.weir_variant]
    first = 1 if "weir" in names else 0  # variants stand beside weir
    return chosen[:first] + variants + chosen[first:]


def make_plan(options):
    server_core, client_core = process.pick_cores()
    plan = measure.Plan(
        rounds=options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS),
        seconds=options.seconds or (QUICK_SECONDS if options.quick else SECONDS),
        connects=QUICK_CONNECTS if options.quick else None,
        server_core=server_core if options.server_core is None else options.server_core,
        client_core=client_core if options.client_core is None else options.client_core,
        niceness=options.nice)
    if plan.rounds < 1 or plan.seconds <= 0:
        raise ValueError("rounds and seconds must be positive")
    allowed = os.sched_getaffinity(0)
    if not {plan.server_core, plan.client_core} <= allowed:
        raise ValueError(f"cores must be among {sorted(allowed)}")
    return plan


def run(chosen, taking_part, site, plan, out, quick):
    facts = {
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "quick": quick,
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "environment": environment.describe(site.prefix, plan, REPOSITORY),
        "servers": {s.name: s.version() or "missing" for s in taking_part},
    }
    total_s = sum(plan.estimate_s(w) * sum(s.why_not(w.protocol) is None for s in taking_part)
                  for w in chosen)
    show = progress.Progress(total_s)
    show.line(f"bench: {len(chosen)} workloads, {len(taking_part)} servers, {plan.rounds} rounds,"
              f" about {progress.clock(total_s)}; results in {os.path.relpath(out)}")
    results = report.Results(facts, chosen, [s.name for s in taking_part])
    try:
        for number, workload in enumerate(chosen, 1):
            show.heading(f"[{number}/{len(chosen)}] {workload.name}")
            results.add(measure.measure(workload, taking_part, site, plan, show))
            for line in report.brief(results, workload):
                show.line("    " + line)
            write(results, out)
    except KeyboardInterrupt:
        show.line("bench: interrupted; what was measured is kept")
        return 130
    finally:
        results.facts["elapsed_s"] = round(show.elapsed_s(), 1)
        results.facts["load_average_after"] = os.getloadavg()
        write(results, out)
        print("\n" + report.table(results))
    return 1 if any(c.state == "error" for c in results.cells.values()) else 0


def write(results, out):
    (out / "results.json").write_text(json.dumps(results.to_json(), indent=1) + "\n")
    (out / "report.md").write_text(report.markdown(results))
    for name, text in plots.all_plots(results).items():
        (out / name).write_text(text)
    report.write_raw(results, out / "raw")
