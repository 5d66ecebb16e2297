"""seccomp: a filter of system calls that a process puts on itself and its children, for good.

It closes what Landlock does not cover: sockets, namespaces and the kernel's own settings.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2  # option numbers of prctl
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # instructions of classic BPF
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000  # verdicts; _ERRNO is combined with an error number
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in struct seccomp_data
_X32_BIT = 0x40000000  # numbers of the x32 interface begin here
_NEW_NAMESPACE_FLAGS = 0x7E020080  # of clone: every CLONE_NEW… flag
_TYPE_INTO_TERMINAL = 0x5412  # TIOCSTI, an ioctl
_AF_INET, _AF_INET6, _AF_NETLINK = 2, 10, 16  # families of sockets
_SELF = 0  # as a process number; the limits of any other program of this user could be lowered until it fails
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Each line: the name, its number on x86_64, its number on aarch64 (- where there is none).
_NUMBERS_TEXT = """
acct 163 89 | add_key 248 217 | adjtimex 159 171 | bpf 321 280 | chroot 161 51 | clock_adjtime 305 266
clock_settime 227 112 | clone3 435 435 | delete_module 176 106 | finit_module 313 273 | fsconfig 431 431
fsmount 432 432 | fsopen 430 430 | fspick 433 433 | init_module 175 105 | io_uring_enter 426 426
io_uring_register 427 427 | io_uring_setup 425 425 | ioperm 173 - | iopl 172 - | kexec_file_load 320 294
kexec_load 246 104 | keyctl 250 219 | mount 165 40 | mount_setattr 442 442 | move_mount 429 429
open_by_handle_at 304 265 | open_tree 428 428 | perf_event_open 298 241 | pivot_root 155 41 | quotactl 179 60
quotactl_fd 443 443 | reboot 169 142 | request_key 249 218 | setdomainname 171 162 | sethostname 170 161
setns 308 268 | settimeofday 164 170 | swapoff 168 225 | swapon 167 224 | syslog 103 116 | umount2 166 39
unshare 272 97 | userfaultfd 323 282 | vhangup 153 58
memfd_create 319 279 | memfd_secret 447 447 | shmget 29 194 | msgget 68 186 | semget 64 190
socket 41 198 | clone 56 220 | ioctl 16 29 | prlimit64 302 261
"""
# Programs do without these. A memfd is memory that no process has mapped, so it could not be counted.
_MISSING = ("clone3", "io_uring_enter", "io_uring_register", "io_uring_setup", "memfd_create", "memfd_secret")
_SHARED_MEMORY = ("shmget", "msgget", "semget")  # outlive their processes, unless their namespace ends with these
_BY_ARGUMENT = ("socket", "clone", "ioctl", "prlimit64")

_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def supports_seccomp() -> bool:
    return sys.platform == "linux" and os.uname().machine in _AUDIT


def install_filter(*, network: bool, shared_memory: bool = False) -> bool:
    """Installs the filter on this thread and everything it starts; returns whether it is in force.

    network: IPv4 and IPv6 sockets may be made. UNIX sockets never: Landlock cannot say which ones are outside
    shared_memory: System V shared memory, queues and semaphores may be made
    """
    if not supports_seccomp():
        return False
    code = build_filter(os.uname().machine, network=network, shared_memory=shared_memory)
    program = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return bool(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(header), 0, 0) == 0)


def build_filter(machine: str, *, network: bool, shared_memory: bool = False) -> bytes:
    """The filter as the kernel takes it. Every refusal is an error number, so that programs can report it."""
    numbers = system_calls(machine)
    refused, missing = _refuse(errno.EPERM), _refuse(errno.ENOSYS)
    code: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT[machine]),
        refused,
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, _X32_BIT), refused]
    for name, number in numbers.items():
        if name not in _BY_ARGUMENT and not (shared_memory and name in _SHARED_MEMORY):
            code += [(_EQUAL, 0, 1, number), missing if name in _MISSING else refused]
    families = (_AF_INET, _AF_INET6, _AF_NETLINK) if network else ()
    code += _when(numbers["socket"], _FIRST, [(_EQUAL, len(families) - at, 0, one) for at, one in enumerate(families)])
    code += _when(numbers["clone"], _FIRST, [(_ANY_BIT, 0, 1, _NEW_NAMESPACE_FLAGS)])
    code += _when(numbers["ioctl"], _SECOND, [(_EQUAL, 0, 1, _TYPE_INTO_TERMINAL)])
    code += _when(numbers["prlimit64"], _FIRST, [(_EQUAL, 1, 0, _SELF)])
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *one) for one in code)


def system_calls(machine: str) -> dict[str, int]:
    """The filtered system calls and their numbers on a machine."""
    column = 1 if machine == "x86_64" else 2
    rows = (entry.split() for line in _NUMBERS_TEXT.splitlines() for entry in line.split("|"))
    return {row[0]: int(row[column]) for row in rows if row and row[column] != "-"}


def _refuse(number: int) -> _Instruction:
    return _RETURN, 0, 0, _ERRNO | number


def _when(number: int, argument: int, tests: list[_Instruction]) -> list[_Instruction]:
    """Refuses one call, unless a test jumps over the refusal; loads the number again afterwards."""
    body = [(_LOAD, 0, 0, argument), *tests, _refuse(errno.EPERM), (_LOAD, 0, 0, _NUMBER)]
    return [(_EQUAL, 0, len(body), number), *body]
