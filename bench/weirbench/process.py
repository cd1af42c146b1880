"""CPU time, memory and cores, as the kernel accounts them.

CPU time of a process is its CPU clock (nanoseconds, all threads, those that have ended too), not
the 10 ms ticks of /proc/PID/stat. Ticks remain for children that have ended and were waited for.
"""

import os
import time

TICK = 1 / os.sysconf("SC_CLK_TCK")
CPUCLOCK_SCHED = 2  # <linux/posix-timers.h>: the low bits of a clock that counts run time


def tree(pid):
    """`pid` and all its living descendants."""
    pids = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                for child in f.read().split():
                    pids += tree(int(child))
    except OSError:
        pass  # it ended while we looked
    return pids


def cpu_seconds(pids):
    """Run time of these processes and of their ended children."""
    return sum(_clock(pid) + _ended_children(pid) for pid in pids)


def _clock(pid):
    try:
        return time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED)
    except OSError:
        return 0.0


def _ended_children(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[13]) + int(fields[14])) * TICK  # cutime, cstime: fields 16 and 17


def settle(pids, quiet_s=0.02, most_s=1.0):
    """Wait until the processes have stopped working (connections being closed, for instance)."""
    end = time.monotonic() + most_s
    before = cpu_seconds(pids)
    while time.monotonic() < end:
        time.sleep(quiet_s)
        now = cpu_seconds(pids)
        if now - before < quiet_s * 0.01:
            return
        before = now


def reset_peak_memory(pids):
    for pid in pids:
        try:
            with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as f:
                f.write("5")
        except OSError:
            pass  # without the right to do so the peak is the one since the start


def memory_kib(pids):
    """(peak resident, anonymous now) summed; the first has mapped files and shared pages in it."""
    peak = anon = 0
    for pid in pids:
        status = _status(pid)
        peak += status.get("VmHWM", 0)
        anon += status.get("RssAnon", 0)
    return peak, anon


def _status(pid):
    found = {}
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            for line in f:
                name, _, value = line.partition(":")
                if value.endswith("kB\n"):
                    found[name] = int(value.split()[0])
    except OSError:
        pass
    return found


def core_busy_seconds(core):
    """Time a core was not idle, other guests of its host included (steal)."""
    with open("/proc/stat", encoding="ascii") as f:
        for line in f:
            name, *ticks = line.split()
            if name == f"cpu{core}":
                user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, ticks[:8])
                return (user + nice + system + irq + softirq + steal) * TICK
    raise ValueError(f"no core {core}")


def placed(core, niceness=0):
    """What to put before a command, so that it runs on this core at this niceness.

    Where the kernel schedules by session (autogroup), niceness counts inside a session only: the
    command gets one of its own, and that one gets the niceness.
    """
    pin = ["taskset", "-c", str(core)]
    if not niceness:
        return pin
    script = f"echo {niceness} 2>/dev/null >/proc/self/autogroup; exec nice -n {niceness} \"$@\""
    return ["setsid", *pin, "sh", "-c", script, "sh"]


def pick_cores():
    """(server's, client's): the first two that we may use; both the same where there is one."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[0], cores[1] if len(cores) > 1 else cores[0]
