"""How many workers there are, where they run and what each of them listens on."""

import os
import pathlib

import pytest

from harness import tools
from harness.wire import Wire

CGROUPS = pathlib.Path("/sys/fs/cgroup")
pytestmark = pytest.mark.h2c_only(reason="threads know nothing of TLS")


def workers_of(server):
    """The threads that serve: neither the main one nor helpers of the kernel (io_uring)."""
    def is_helper(thread):
        return thread.joinpath("comm").read_text().startswith("iou-")

    tasks = pathlib.Path(f"/proc/{server.pid}/task").iterdir()
    return [int(task.name) for task in tasks if int(task.name) != server.pid
            and not is_helper(task)]


def worker_count(server):
    return len(workers_of(server))


def cpus_of_workers(server):
    """The set of CPUs that each worker may run on."""
    return [os.sched_getaffinity(thread) for thread in workers_of(server)]


def listening_sockets(server):
    """The inodes of the sockets that listen on the server's port."""
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = "0A"
    return {row[9] for row in rows
            if row[3] == listening and int(row[1].rpartition(":")[2], 16) == server.port}


@pytest.fixture
def one_cpu():
    """For as long as the test runs, what it starts may use one CPU alone."""
    before = os.sched_getaffinity(0)
    cpu = min(before)
    os.sched_setaffinity(0, {cpu})
    yield cpu
    os.sched_setaffinity(0, before)


def test_there_is_a_worker_for_each_cpu_that_it_may_run_on(start, tree):
    server = start(tree.root, workers=None)

    assert 1 <= worker_count(server) <= len(os.sched_getaffinity(0))


def test_affinity_bounds_the_workers(start, tree, one_cpu):
    server = start(tree.root, workers=None)

    assert worker_count(server) == 1
    assert cpus_of_workers(server) == [{one_cpu}]


def test_more_workers_than_cpus_are_made_if_asked_for(start, tree, one_cpu):
    server = start(tree.root, workers=3, pinned=True)

    assert cpus_of_workers(server) == [{one_cpu}] * 3


@pytest.fixture
def half_a_cpu():
    """A cgroup of the test alone that may use half of a CPU, in whichever hierarchy there is."""
    unified = (CGROUPS / "cgroup.controllers").exists()
    group = (CGROUPS if unified else CGROUPS / "cpu") / f"weir-test-{os.getpid()}"
    try:
        if unified:
            (CGROUPS / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir()
        limit = group / ("cpu.max" if unified else "cpu.cfs_quota_us")
        limit.write_text("50000 100000" if unified else "50000")
    except OSError:
        pytest.skip("no cgroup can be made here")
    yield group
    group.rmdir()


def test_the_quota_of_the_cgroup_bounds_the_workers(half_a_cpu, start, tree):
    server = start(tree.root, workers=None, cgroup=half_a_cpu)

    assert worker_count(server) == 1


def test_pinned_workers_have_a_cpu_each(start, tree):
    cpus = sorted(os.sched_getaffinity(0))
    server = start(tree.root, workers=2 * len(cpus), pinned=True)

    assert sorted(map(min, cpus_of_workers(server))) == sorted(cpus * 2)
    assert all(len(allowed) == 1 for allowed in cpus_of_workers(server))
    assert tools.h2load(server, "/one.bin", requests=200, clients=20).succeeded == 200


def test_workers_that_are_not_pinned_may_run_anywhere(start, tree):
    server = start(tree.root, workers=2)

    assert cpus_of_workers(server) == [os.sched_getaffinity(0)] * 2


@pytest.mark.parametrize("workers", [1, 4])
def test_each_worker_has_a_listening_socket_of_its_own(start, tree, workers):
    server = start(tree.root, workers=workers)

    assert len(listening_sockets(server)) == workers


def test_more_workers_than_the_machine_has_cpus_share_the_load(start, tree):
    server = start(tree.root, workers=16)
    held = [Wire.connect(server) for _ in range(64)]
    for wire in held:
        assert wire.get("/small.txt").body == tree.files["small.txt"]
    for wire in held:
        wire.close()
