"""Flame graphs of each server under one workload, from perf's samples of the CPU clock, and whose
work the samples are."""

import subprocess
import sys

from . import clients, flame, measure, probe, servers as servers_, split

FREQUENCY = 997  # Hz; kernels without high-resolution timers give their tick, 250 Hz for instance
SECONDS = 6.0
STACK_BYTES = 8192  # copied per sample: the packages have no frame pointers
BUFFER = "64M"  # those copies come faster than perf, which shares the client's core, can write


def run(workload, taking_part, site, plan, out):
    """Write <workload>.<server>.flame.svg and .folded, and over TLS <workload>.split.txt; 1 if no
    server could be sampled."""
    trouble = cannot_sample(site)
    if trouble:
        print(f"bench: perf cannot sample here: {trouble}", file=sys.stderr)
        return 1
    written, splits = 0, {}
    for server in taking_part:
        if server.only:
            continue
        why_not = server.why_not(workload)
        if why_not:
            print(f"{server.name:12} {why_not}")
            continue
        try:
            script = _sample(server, workload, site, plan)
        except (clients.Wrong, servers_.CannotStart, OSError) as e:
            print(f"{server.name:12} error: {e}")
            continue
        stacks = flame.fold(script)
        name = f"{workload.name}.{server.file_name}"
        title = f"{server.name} under {workload.name}"
        note = f"cpu-clock at {FREQUENCY} Hz; blue: kernel; hover for shares"
        (out / f"{name}.folded").write_text(flame.folded_text(stacks))
        (out / f"{name}.flame.svg").write_text(flame.draw(stacks, title, note))
        print(f"{server.name:12} {sum(stacks.values()):,} samples  {out / name}.flame.svg")
        if workload.tls and stacks:
            splits[server.name] = split.split(script)
        written += 1
    if splits:
        table = split.text(splits)
        (out / f"{workload.name}.split.txt").write_text(table + "\n")
        print(table)
    return 0 if written else 1


def cannot_sample(site):
    """Why perf does not work on this machine, or None."""
    try:
        done = subprocess.run(_record(site, ["--", "true"]), capture_output=True, text=True,
                              check=False, timeout=30)
    except FileNotFoundError:
        return "it is not installed (package linux-perf)"
    except subprocess.TimeoutExpired:
        return "it hangs"
    if done.returncode != 0:
        return " ".join(done.stderr.split()) or f"it fails with {done.returncode}"
    return None


def _record(site, rest):
    return ["perf", "record", "--quiet", "--no-buildid-cache", "--event", "cpu-clock",
            "--freq", str(FREQUENCY), "--output", str(site.prefix / "perf.data"),
            "--mmap-pages", BUFFER, "--call-graph", f"dwarf,{STACK_BYTES}", *rest]


def _sample(server, workload, site, plan):
    with server.start(site, workload, plan.server_place) as running:
        probe.check(workload, running.url, site.expected(workload.body), site.prefix)
        amount = measure.warm_up(running, workload, site, plan, SECONDS)
        group = server.recipe.group
        argv = clients.command(workload, running.port, amount, site, group)
        pids = ",".join(map(str, running.pids()))
        # With both a list of processes and a command, perf samples the first while the second runs.
        load = ["--pid", pids, "--", *plan.client_place, *argv]
        done = subprocess.run(_record(site, load), capture_output=True, text=True,
                              check=False, timeout=300)
        if done.returncode != 0:
            raise clients.Wrong(f"perf record: {done.stderr.strip()}")
        clients.PARSERS[workload.client](done.stdout, workload, amount, group)
    script = subprocess.run(
        ["perf", "script", "--input", str(site.prefix / "perf.data"), "--fields",
         "comm,ip,sym,dso"],
        capture_output=True, text=True, errors="replace", check=False, timeout=900)
    return script.stdout
