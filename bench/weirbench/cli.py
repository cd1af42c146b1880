"""Options, and the order of things."""

import argparse
import itertools
import json
import os
import pathlib
import re
import signal
import sys
import time
from dataclasses import dataclass, replace

from . import (details, environment, idle, instructions, measure, openloop, plots, process, profile,
               progress, report, servers, setup, syscalls)
from .site import Site
from .workloads import BACK_ENDS, DEFAULT, IDLE, OPEN_LOOP, SWEEP, WORKLOADS

BENCH = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = BENCH.parent

ROUNDS, SECONDS = 5, 0.4
MORE_ROUNDS = 3  # times those planned, at the most
SWEEP_ROUNDS, SWEEP_MOST_ROUNDS, SWEEP_SECONDS = 2, 4, 0.1
# Quick: enough to see where things stand, too short to be quoted.
QUICK_ROUNDS, QUICK_SECONDS, QUICK_CONNECTS = 2, 0.05, 100
QUICK_MOST_S = 175  # what would not be done by then is left out: it says "under three minutes"
QUICK = (r"^(h2c-(6b|1k|304|range|16k)-c10-m32|h2c-1k-c50-m1|h2-(1k|100k)-c10-m32"
         r"|h2-100m-c2-m2|h2-(full|resumed)|h1-1k-wrk-c50|open-h2-1k|idle-.*)$")


# What is measured in ways of its own, by the names that --only knows.
OTHERS = [f"idle-{name}" for name in IDLE] + [f"open-{protocol}-{body}" for protocol, body, *_ in OPEN_LOOP]


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="bench/run", description="Measure weir and its peers on this machine.",
        epilog="--list names the workloads; with --all, all of them.")
    add = parser.add_argument
    add("--weir", metavar="PATH", default=REPOSITORY / "build/release/weir",
        help="weir's binary (default: build/release/weir)")
    add("--weir-variant", metavar="NAME=ARGS", action="append", default=[],
        help="one more weir, with other arguments; a first word with a slash is another binary")
    add("--peer", metavar="NAME=PATH", action="append", default=[], help="another build of a peer")
    add("--servers", metavar="LIST", help="take part, comma separated: "
        + ", ".join(("weir",) + servers.PEERS) + " (default: all)")
    add("--back-ends", action="store_true",
        help="weir with epoll and with io_uring in every workload, not in those alone that say so")
    add("--only", metavar="REGEX", default="", help="workloads whose name matches")
    add("--rounds", type=int, metavar="N", help=f"default {ROUNDS}")
    add("--most-rounds", type=int, metavar="N",
        help="where those leave open whether a demand is met (default: three times as many)")
    add("--seconds", type=float, metavar="S", help=f"of load per run (default {SECONDS:g})")
    add("--quick", action="store_true",
        help="a bit of everything in under 3 minutes, not to be quoted")
    add("--sweep", action="store_true", help="small bodies over all numbers of connections and"
        " streams, CPU time alone, in short rounds")
    add("--all", action="store_true", help="every workload there is: hours")
    add("--stock", action="store_true", help="the peers' stock configurations everywhere")
    add("--server-core", type=int, metavar="N", help="default: the first that may be used")
    add("--client-core", type=int, metavar="N", help="default: the second")
    add("--nice", type=int, metavar="N", default=0,
        help="niceness of servers and clients; below 0 (root) keeps others off a shared machine")
    add("--out", metavar="DIR", type=pathlib.Path, help="default: bench/results/<date and time>")
    add("--profile", metavar="WORKLOAD", help="flame graphs of the servers instead of figures")
    add("--instructions", action="store_true",
        help="count instructions per request under valgrind, compare with bench/budget.json")
    add("--update", action="store_true", help="and write them to bench/budget.json")
    add("--list", action="store_true", help="name the workloads and end")
    add("--no-setup", action="store_true", help="install nothing")
    return parser.parse_args(argv)


def main(argv):
    options = parse(argv)
    try:
        chosen = [] if options.instructions else choose_workloads(options)
        taking_part = choose_servers(options)
        plan = make_plan(options)
    except ValueError as e:
        print(f"bench: {e}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join([w.name for w in chosen] + OTHERS))
        return 0
    load = prepare(options)
    if load is None:
        return 1
    if options.instructions:
        return instructions.run(pathlib.Path(options.weir), load, BENCH / "budget.json",
                                options.update, options.only)
    if not options.no_setup:
        taking_part = choose_servers(options)  # there may be more of them now
    out = options.out or BENCH / "results" / time.strftime("%Y-%m-%d-%H%M%S")
    out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what we started is stopped
    os.sched_setaffinity(0, {plan.client_core})  # we, too, keep off the server's core
    with Site(load) as site:
        site.write_certificate()
        site.write_files({w.body for w in chosen} | {"6b", "1k"})
        taking_part = [s.snapshot(site.prefix) for s in taking_part]
        if options.profile:
            return profile.run(chosen[0], taking_part, site, plan, out)
        taking_part = [s for s in taking_part if not (s.is_weir and s.only)
                       or s.accepts(site.prefix)]
        return run(chosen, taking_part, site, plan, out, options)


def prepare(options):
    """Everything that has to be there; gives the path of weir-load, None without one."""
    if not options.no_setup:
        setup.ensure_packages(BENCH / "packages.txt")
        setup.ensure_builds(REPOSITORY, ("release", "bench"))
    found = setup.find_load(pathlib.Path(options.weir), REPOSITORY)
    if found is None:
        print("bench: weir-load is not built: .ci/build release", file=sys.stderr)
    return found


def choose_workloads(options):
    pattern = options.profile or options.only
    try:
        wanted = re.compile(pattern or (QUICK if options.quick else ""))
    except re.error as e:
        raise ValueError(f"not a regular expression: {pattern} ({e})") from e
    match = wanted.fullmatch if options.profile else wanted.search
    others = [] if options.profile else OTHERS
    among = SWEEP if options.sweep else WORKLOADS if pattern or options.all else DEFAULT
    chosen = [w for w in among if match(w.name)]
    others = [] if options.sweep else others
    if not chosen and not any(map(match, others)):
        raise ValueError(f"no workload is named {pattern}; --list --all names them")
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
    variants = [servers.weir_variant(spec, options.weir) for spec in options.weir_variant]
    chosen = []
    if "weir" in names:
        chosen.append(servers.weir(options.weir))
        chosen += servers.weir_variants(options.weir, REPOSITORY / "build/bench/weir",
                                        BACK_ENDS if options.back_ends else ())
    chosen += variants
    peers = [n for n in servers.PEERS if n in names]
    chosen += [servers.peer(n, builds.get(n)) for n in peers]
    chosen += [servers.peer(n, builds.get(n), "stock", not options.stock) for n in peers
               if servers.has_stock(n)]
    return chosen


def make_plan(options):
    server_core, client_core = process.pick_cores()
    rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if options.quick else (ROUNDS, SECONDS)
    if options.sweep:
        rounds, seconds = SWEEP_ROUNDS, SWEEP_SECONDS
    rounds = rounds if options.rounds is None else options.rounds
    most = rounds * (1 if options.quick else MORE_ROUNDS)
    if options.sweep:
        most = max(rounds, SWEEP_MOST_ROUNDS)
    plan = measure.Plan(
        rounds=rounds,
        most_rounds=most if options.most_rounds is None else options.most_rounds,
        seconds=seconds if options.seconds is None else options.seconds,
        is_bare=options.sweep,
        connects=QUICK_CONNECTS if options.quick else None,
        server_core=server_core if options.server_core is None else options.server_core,
        client_core=client_core if options.client_core is None else options.client_core,
        niceness=options.nice, tracer=syscalls.tool())
    if not 1 <= plan.rounds <= plan.most_rounds or plan.seconds <= 0:
        raise ValueError("rounds and seconds must be positive, and the most rounds no fewer than the others")
    allowed = os.sched_getaffinity(0)
    if not {plan.server_core, plan.client_core} <= allowed:
        raise ValueError(f"cores must be among {sorted(allowed)}")
    return plan


def run(chosen, taking_part, site, plan, out, options):
    facts = {
        "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "quick": options.quick,
        "rounds": plan.rounds,
        "most_rounds": plan.most_rounds,
        "seconds": plan.seconds,
        "tracer": plan.tracer,
        "environment": environment.describe(site.prefix, plan, REPOSITORY),
        "servers": {s.name: s.version() or "missing" for s in taking_part},
    }
    results = report.Results(facts, chosen, [s.name for s in taking_part])
    stages = make_stages(results, chosen, taking_part, site, plan, options)
    total_s = sum(stage.estimate_s for stage in stages)
    show = progress.Progress(total_s)
    show.line(f"bench: {len(chosen)} workloads, {sum(s.binary is not None for s in taking_part)}"
              f" servers, {plan.rounds} rounds, about {progress.clock(total_s)};"
              f" results in {os.path.relpath(out)}")
    try:
        for number, stage in enumerate(stages, 1):
            if options.quick and show.elapsed_s() + stage.estimate_s > QUICK_MOST_S:
                results.left_out += stage.names
                continue
            show.heading(f"[{number}/{len(stages)}] {', '.join(stage.names)}")
            stage.work(show)
            for workload in (w for w in chosen if w.name in stage.names):
                for line in report.brief(results, workload):
                    show.line("    " + line)
            write_json(results, out)
    except KeyboardInterrupt:
        show.line("bench: interrupted; what was measured is kept")
        return 130
    finally:
        results.facts["elapsed_s"] = round(show.elapsed_s(), 1)
        results.facts["load_average_after"] = os.getloadavg()
        write(results, out)
        print("\n" + report.table(results))
    return 1 if results.errors() else 0


@dataclass(frozen=True)
class Stage:
    """What is measured in one go."""

    names: list
    estimate_s: float
    work: object  # called with the progress


def make_stages(results, chosen, taking_part, site, plan, options):
    able = [s for s in taking_part if s.binary]
    plain = sum(not s.only and not s.is_stock for s in able)
    open_plan = replace(plan, **openloop.shape(plan, options.quick))
    wanted = re.compile(options.only or (QUICK if options.quick else ""))

    def undecided(group, found):
        results.add(found)
        return results.undecided(group) | (results.unsteady(group) if options.sweep else set())

    def cells(group):
        return Stage([w.name for w in group],
                     sum(plan.estimate_s(w) for w in group for s in able
                         if s.takes_part(w) and s.why_not(w) is None),
                     lambda show: results.add(measure.measure(
                         group, taking_part, site, plan, show, lambda found: undecided(group, found))))

    def idles(name):
        return Stage([f"idle-{name}"], idle.SECONDS * plain,
                     lambda show: results.idle.extend(
                         idle.measure(name, taking_part, site, plan, show)))

    def rates(spec):
        return Stage([f"open-{spec[0]}-{spec[1]}"], openloop.estimate_s(plain, open_plan),
                     lambda show: results.open_loop.extend(
                         openloop.measure(spec, taking_part, site, open_plan, show)))

    stages = [cells(group) for group in groups(chosen)]
    if options.sweep:
        return stages
    others = [idles(name) for name in IDLE] + [rates(spec) for spec in OPEN_LOOP]
    return stages + [stage for stage in others if wanted.search(stage.names[0])]


def groups(chosen):
    """Workloads of one group, which take turns; all others by themselves."""
    keyed = itertools.groupby(chosen, key=lambda w: w.group or w.name)
    return [list(group) for _, group in keyed]


def write_json(results, out):
    (out / "results.json").write_text(json.dumps(results.to_json(), indent=1) + "\n")


def write(results, out):
    write_json(results, out)
    pictures = plots.all_plots(results)
    for name, text in pictures.items():
        (out / name).write_text(text)
    (out / "report.md").write_text(report.markdown(results, pictures))
    (out / "details.md").write_text(details.markdown(results))
    report.write_raw(results, out / "raw")
