"""A process that the kernel refuses a system call, as sandboxes do."""

import ctypes
import platform
import struct

OPENAT2 = 437  # on every architecture, as are these three
IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER = 425, 426, 427
ACCEPT4 = {"x86_64": 288}.get(platform.machine(), 242)
INOTIFY_INIT1 = {"x86_64": 294}.get(platform.machine(), 26)
INOTIFY_ADD_WATCH = {"x86_64": 254}.get(platform.machine(), 27)

PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ALLOW = 0x7fff0000
SECCOMP_RET_ERRNO = 0x00050000
LOAD_WORD = 0x20  # BPF_LD | BPF_W | BPF_ABS
JUMP_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
RETURN = 0x06  # BPF_RET | BPF_K


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse(call, error):
    """From here on the system call of this number fails with the errno `error` (seccomp(2))."""
    instructions = [(LOAD_WORD, 0, 0, 0),  # the number is the first field of seccomp_data
                    (JUMP_IF_EQUAL, 0, 1, call),
                    (RETURN, 0, 0, SECCOMP_RET_ERRNO | error),
                    (RETURN, 0, 0, SECCOMP_RET_ALLOW)]
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    program = _Program(len(instructions), code)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                      (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)):
        if prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
