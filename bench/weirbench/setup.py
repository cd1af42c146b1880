"""Install the Debian packages that this machine lacks; build what is measured and what measures."""

import os
import pathlib
import subprocess
import sys

POLICY = pathlib.Path("/usr/sbin/policy-rc.d")


def read_packages(path):
    lines = (line.partition("#")[0].strip() for line in pathlib.Path(path).read_text().splitlines())
    return [line for line in lines if line]


def ensure_packages(path):
    """Install what is missing if we may. What stays missing is marked in the report, not an error."""
    missing = [p for p in read_packages(path) if not _installed(p)]
    if not missing:
        return
    if os.geteuid() != 0:
        print(f"bench: not installed: {' '.join(missing)}"
              f" (as root: apt-get install {' '.join(missing)})", file=sys.stderr)
        return
    print(f"bench: installing {' '.join(missing)}", file=sys.stderr)
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with _no_services():
        _apt(["apt-get", "update", "-qq"], env)
        _apt(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], env)


def ensure_builds(repository, presets):
    """Builds of these presets that are up to date, where the tools for it are there."""
    if os.geteuid() == 0:
        subprocess.run([repository / ".ci/install", "build"], stdout=subprocess.DEVNULL,
                       check=False)
    for preset in presets:
        done = subprocess.run([repository / ".ci/build", preset], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            print(f"bench: {preset} cannot be built: {done.stdout[-500:]}{done.stderr[-500:]}",
                  file=sys.stderr)


def find_load(weir, repository):
    """weir-load beside weir, or in one of the builds."""
    places = [weir.parent, *(repository / "build" / p for p in ("release", "bench", "debug"))]
    return next((p / "weir-load" for p in places if os.access(p / "weir-load", os.X_OK)), None)


def _installed(package):
    try:
        out = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package],
                             capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return True  # no Debian: what is there will be found by its name, or marked
    return out.stdout == "installed"


def version_of(package):
    """The installed version of a Debian package, or none."""
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                              capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return done.stdout if done.returncode == 0 and done.stdout else "none"


def _apt(command, env):
    done = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        print(f"bench: {' '.join(command[:2])} failed; going on without", file=sys.stderr)


class _no_services:
    """Debian starts a server when it is installed, unless this file forbids it."""

    def __enter__(self):
        self.ours = not POLICY.exists()
        if self.ours:
            POLICY.write_text("#!/bin/sh\nexit 101\n")
            POLICY.chmod(0o755)

    def __exit__(self, *_):
        if self.ours:
            POLICY.unlink(missing_ok=True)
