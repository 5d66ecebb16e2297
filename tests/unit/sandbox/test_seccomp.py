"""The filter as a program: a small interpreter of classic BPF runs it on system calls."""

import errno
import struct

import pytest

from sojourn.sandbox.seccomp import build_filter, system_calls

ALLOWED = "allowed"
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def decide(machine, number, *arguments, network=False, architecture=None):
    code = list(struct.iter_unpack("=HBBI", build_filter(machine, network=network)))
    values = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=iIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *values)
    at = accumulator = 0
    while True:
        instruction, when_true, when_false, operand = code[at]
        at += 1
        if instruction == 0x20:
            accumulator = struct.unpack_from("=I", data, operand)[0]
        elif instruction == 0x06:
            return ALLOWED if operand == 0x7FFF0000 else errno.errorcode[operand & 0xFFFF]
        else:
            holds = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}
            at += when_true if holds[instruction] else when_false


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request):
    return request.param


@pytest.mark.parametrize("name", ["mount", "unshare", "setns", "bpf", "keyctl", "reboot", "open_by_handle_at"])
def test_what_changes_the_machine_is_refused(machine, name):
    assert decide(machine, system_calls(machine)[name]) == "EPERM"


@pytest.mark.parametrize("name", ["io_uring_setup", "clone3"])
def test_what_programs_can_do_without_seems_to_be_missing(machine, name):
    assert decide(machine, system_calls(machine)[name]) == "ENOSYS"


@pytest.mark.parametrize(
    ("family", "without", "with_network"),
    [
        (1, "EPERM", "EPERM"),  # UNIX
        (2, "EPERM", ALLOWED),
        (10, "EPERM", ALLOWED),
        (16, "EPERM", ALLOWED),  # netlink
        (17, "EPERM", "EPERM"),  # packets
    ],
)
def test_sockets_by_their_family(machine, family, without, with_network):
    number = system_calls(machine)["socket"]
    assert decide(machine, number, family) == without
    assert decide(machine, number, family, network=True) == with_network


def test_a_new_process_is_allowed_and_a_new_namespace_is_not(machine):
    number = system_calls(machine)["clone"]
    assert decide(machine, number, 0x11) == ALLOWED
    for flag in (0x10000000, 0x40000000, 0x20000000, 0x00020000, 0x08000000, 0x04000000, 0x02000000):
        assert decide(machine, number, flag | 0x11) == "EPERM"


def test_nothing_is_typed_into_a_terminal(machine):
    number = system_calls(machine)["ioctl"]
    assert decide(machine, number, 0, 0x5412) == "EPERM"
    assert decide(machine, number, 0, 0x5413) == ALLOWED


def test_limits_of_other_programs_stay(machine):
    number = system_calls(machine)["prlimit64"]
    assert decide(machine, number, 0, 7) == ALLOWED
    assert decide(machine, number, 4321, 7) == "EPERM"


def test_other_interfaces_of_the_kernel_are_closed():
    assert decide("x86_64", 0, architecture=0x40000003) == "EPERM"  # 32-bit programs
    assert decide("x86_64", 0x40000000 + 41, 2, network=True) == "EPERM"  # x32


@pytest.mark.parametrize("number", [0, 1, 2, 3, 57, 59, 60, 231, 257, 262])
def test_everyday_calls_are_allowed(number):
    assert decide("x86_64", number) == ALLOWED
