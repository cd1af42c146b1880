"""A file system whose reads wait for the test: FUSE, spoken with the kernel as linux/fuse.h has it.

    disk.hold("a.bin")     reads of it are not answered from here on
    disk.wait_for("a.bin") until one has come
    disk.release("a.bin")  they are answered, those that wait included

The server under test is another process; its system calls are answered by a thread of this one.
"""

import collections
import ctypes
import errno
import os
import stat
import struct
import threading
import time

MS_NOSUID_NODEV = 2 | 4
MNT_DETACH = 2
PATIENCE = 60  # seconds
MAX_WRITE = 65536
BUFFER_LEN = MAX_WRITE + 4096

HEADER_IN = struct.Struct("<IIQQIIIHH")
HEADER_OUT = struct.Struct("<IiQ")
ATTR = struct.Struct("<QQQQQQIIIIIIIIII")
ENTRY = struct.Struct("<QQQQII")
DIRENT = struct.Struct("<QQII")
READ_IN = struct.Struct("<QQIIQII")

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, DESTROY = 25, 26, 27, 28, 29, 36, 38
BATCH_FORGET = 42
ROOT = 1
FOPEN_KEEP_CACHE = 2
PARALLEL_DIROPS = 1 << 18  # else a name that waits locks its directory

_libc = ctypes.CDLL(None, use_errno=True)


class SlowDisk:
    """One directory of files, which are bytes in memory.  The name of the directory itself is ""."""

    def __init__(self, mount_point, files, changed_s=1_700_000_000):
        self.path = mount_point
        self._lock = threading.Condition()
        self._names = list(files)
        self._contents = dict(files)
        self._times = {name: changed_s * 1_000_000_000 + i for i, name in enumerate(files)}
        self._held = {}  # what is held: the requests that wait
        self._begins = {}  # name: from which offset on its reads are held
        self._asked = collections.Counter()  # by name: questions of every kind so far
        self._errors = {}  # name: the errno that its reads end with, and from which offset on
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if _libc.mount(b"slow", str(mount_point).encode(), b"fuse", MS_NOSUID_NODEV,
                       options.encode()) != 0:
            error = ctypes.get_errno()
            os.close(self._fd)
            raise OSError(error, os.strerror(error))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    # ---- what the test does with it ----

    @property
    def names(self):
        return self._names

    def hold(self, name, what=READ):
        with self._lock:
            self._held[name, what] = []

    def hold_from(self, name, offset):
        """The same of reads that go beyond an offset."""
        with self._lock:
            self._begins[name] = offset
            self._held[name, READ] = []

    def wait_for(self, name, what=READ):
        deadline = time.monotonic() + PATIENCE
        with self._lock:
            while not self._held[name, what]:
                assert self._lock.wait(deadline - time.monotonic()), f"{name} was not asked for"

    def asked(self, name):
        """How often anything about the file was asked so far."""
        with self._lock:
            return self._asked[name]

    def release(self, name, what=READ):
        with self._lock:
            waiting = self._held.pop((name, what))
        for request in waiting:
            self._answer(*request)

    def release_all(self):
        with self._lock:
            held = list(self._held)
        for name, what in held:
            self.release(name, what)

    def fail(self, name, error=errno.EIO, offset=0):
        """Reads of it end with that errno from that offset on; 0: no more."""
        with self._lock:
            self._errors[name] = (error, offset)

    def replace(self, name, content):
        with self._lock:
            self._contents[name] = content
            self._times[name] += 1_000_000_000

    def close(self):
        """Whatever still waits fails, and so the server gets on."""
        _libc.umount2(str(self.path).encode(), MNT_DETACH)
        with self._lock:
            held = [request for requests in self._held.values() for request in requests]
            self._held.clear()
        for unique, *_ in held:
            self._reply(unique, error=errno.EIO)
        self._thread.join(PATIENCE)
        os.close(self._fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- the file system ----

    def _serve(self):
        while True:
            try:
                message = os.read(self._fd, BUFFER_LEN)
            except OSError as e:
                if e.errno == errno.ENOENT:
                    continue  # that request was interrupted
                return  # unmounted
            _, opcode, unique, node, *_ = HEADER_IN.unpack_from(message)
            body = message[HEADER_IN.size:]
            if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            if opcode == DESTROY:
                return
            self._take(unique, opcode, node, body)

    def _take(self, unique, opcode, node, body):
        """Answer, or keep for later."""
        if opcode == LOOKUP:
            name = body.rstrip(b"\0").decode()
        else:
            name = self._names[node - ROOT - 1] if node > ROOT else ""
        with self._lock:
            self._asked[name] += 1
            if (name, opcode) in self._held and self._reaches(opcode, name, body):
                self._held[name, opcode].append((unique, opcode, node, name, body))
                self._lock.notify_all()
                return
        self._answer(unique, opcode, node, name, body)

    def _reaches(self, opcode, name, body):
        if opcode != READ:
            return True
        _, offset, size, *_ = READ_IN.unpack_from(body)
        return offset + size > self._begins.get(name, 0)

    def _answer(self, unique, opcode, node, name, body):
        if opcode == INIT:
            self._reply(unique, struct.pack("<IIIIHHIIHH", 7, 31, 131072, PARALLEL_DIROPS, 16, 12,
                                            MAX_WRITE, 1, 0, 0) + bytes(32))
        elif opcode == LOOKUP:
            self._reply_to_lookup(unique, name)
        elif opcode == GETATTR:
            self._reply(unique, struct.pack("<QII", 0, 0, 0) + self._attributes(node))
        elif opcode in (OPEN, OPENDIR):
            self._reply(unique, struct.pack("<QII", 0, FOPEN_KEEP_CACHE, 0))
        elif opcode == READ:
            self._reply_to_read(unique, name, body)
        elif opcode == READDIR:
            self._reply_to_readdir(unique, body)
        elif opcode in (RELEASE, RELEASEDIR, FLUSH):
            self._reply(unique)
        elif opcode == STATFS:
            self._reply(unique, bytes(80))
        else:
            self._reply(unique, error=errno.ENOSYS)

    def _reply_to_lookup(self, unique, name):
        if name not in self._contents:
            self._reply(unique, error=errno.ENOENT)
            return
        node = self._names.index(name) + ROOT + 1
        self._reply(unique, ENTRY.pack(node, 0, 0, 0, 0, 0) + self._attributes(node))

    def _reply_to_read(self, unique, name, body):
        _, offset, size, *_ = READ_IN.unpack_from(body)
        with self._lock:
            error, begin = self._errors.get(name, (0, 0))
            content = self._contents[name]
        if error and offset + size > begin:
            self._reply(unique, error=error)
        else:
            self._reply(unique, content[offset:offset + size])

    def _reply_to_readdir(self, unique, body):
        _, offset, size, *_ = READ_IN.unpack_from(body)
        with self._lock:
            error, _ = self._errors.get("", (0, 0))
        if error:
            self._reply(unique, error=error)
            return
        entries = b""
        for i, name in list(enumerate(self._names))[offset:]:
            text = name.encode()
            entry = DIRENT.pack(ROOT + 1 + i, i + 1, len(text), stat.S_IFREG >> 12) + text
            entry += bytes(-len(entry) % 8)
            if len(entries) + len(entry) > size:
                break
            entries += entry
        self._reply(unique, entries)

    def _attributes(self, node):
        if node == ROOT:
            return ATTR.pack(ROOT, 0, 0, 0, 0, 0, 0, 0, 0, stat.S_IFDIR | 0o755, 2, 0, 0, 0, 4096, 0)
        name = self._names[node - ROOT - 1]
        with self._lock:
            size, changed_ns = len(self._contents[name]), self._times[name]
        seconds, rest = divmod(changed_ns, 1_000_000_000)
        return ATTR.pack(node, size, (size + 511) // 512, seconds, seconds, seconds, rest, rest,
                         rest, stat.S_IFREG | 0o644, 1, 0, 0, 0, 4096, 0)

    def _reply(self, unique, payload=b"", error=0):
        try:
            os.write(self._fd, HEADER_OUT.pack(HEADER_OUT.size + len(payload), -error, unique) +
                     payload)
        except OSError as e:
            if e.errno not in (errno.ENOENT, errno.EPERM, errno.ENODEV):
                raise  # else whoever asked is gone, or the mount is
