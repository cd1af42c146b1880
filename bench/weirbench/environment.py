"""What the figures were measured on: without it they mean nothing to anyone else."""

import os
import pathlib
import platform
import subprocess


def describe(site_prefix, plan, repository):
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "system": _os_name(),
        "hypervisor": "hypervisor" in _cpu_flags(),
        "server_core": plan.server_core,
        "client_core": plan.client_core,
        "niceness": plan.niceness,
        "siblings": _siblings(plan.server_core, plan.client_core),
        "governor": _read(f"/sys/devices/system/cpu/cpu{plan.server_core}/cpufreq/scaling_governor"),
        "loopback_mtu": _read("/sys/class/net/lo/mtu"),
        "load_average": os.getloadavg(),
        "files_on": _filesystem(site_prefix),
        "revision": _said(["git", "-C", str(repository), "describe", "--always", "--dirty"]),
        "clients": {
            "h2load": _said(["h2load", "--version"]),
            "wrk": _said(["wrk", "--version"]),
            "openssl": _said(["openssl", "version"]),
        },
    }


def _read(path):
    try:
        return pathlib.Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def _said(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = (done.stdout or done.stderr).strip()
    return said.splitlines()[0] if said else None


def _cpuinfo(name):
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _cpu_model():
    return _cpuinfo("model name") or platform.processor() or "unknown"


def _cpu_flags():
    return _cpuinfo("flags").split()


def _os_name():
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _siblings(server_core, client_core):
    """True where the two cores are threads of one: then each slows the other."""
    shared = _read(f"/sys/devices/system/cpu/cpu{server_core}/topology/thread_siblings_list")
    return server_core != client_core and client_core in _core_list(shared or "")


def _core_list(text):
    cores = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cores |= set(range(int(first), int(last or first) + 1))
    return cores


def _filesystem(path):
    best = ("", "unknown")
    for line in (_read("/proc/self/mounts") or "").splitlines():
        _, mount, kind, *_ = line.split()
        if str(path).startswith(mount) and len(mount) > len(best[0]):
            best = (mount, kind)
    return best[1]
