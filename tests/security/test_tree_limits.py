"""Attacks on the limits: they hold for everything a command starts, and everything it starts ends with it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn.sandbox.policy import SandboxLimits
from tests.security.outside import policy_for, run, support_of

MECHANISMS = ["bubblewrap", "landlock"]
# Leaves its parent, its session, its group, its environment and its output: only its parentage is left to find it by.
DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for fd in range(3): os.close(fd)
os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", {mark!r}], {{}})
"""
BOMB = "import os, sys\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
THREADS = """
import threading, time
while True:
    try: threading.Thread(target=time.sleep, args=(300,)).start()
    except RuntimeError: time.sleep(0.01)
"""
EATER = """
import os, sys, time
for _ in range(24):
    if os.fork() == 0:
        kept = bytearray(os.urandom(1 << 20) * 64)
        time.sleep(300)
time.sleep(300)
"""
SHARED = """
import mmap, os, time
for _ in range(24):
    if os.fork() == 0:
        kept = mmap.mmap(-1, 64 << 20)
        kept.write(os.urandom(1 << 20) * 64)
        time.sleep(300)
time.sleep(300)
"""
WORKERS = """
import os, time
kept = os.urandom(1 << 20) * 96
for _ in range(12):
    if os.fork() == 0:
        time.sleep(1.5)
        os._exit(0)
for _ in range(12): os.wait()
print("DONE")
"""
DEAF = """
import signal, time
for number in (1, 2, 3, 15): signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(300)
"""
UNMAPPED = """
import os, time
for number in range(24):
    file = os.memfd_create("x") if {memfd} else os.open(f"/dev/shm/{{number}}", os.O_CREAT | os.O_RDWR)
    for _ in range(64): os.write(file, bytes(1 << 20))
print("TAKEN", flush=True)
time.sleep(300)
"""


def python(code: str, *arguments: str) -> str:
    return shlex.join([sys.executable, "-c", code, *arguments])


def with_limits(outside, folder: Path, **limits: Any):
    return replace(policy_for(outside, folder), limits=SandboxLimits(**limits))


def find_marked(mark: str) -> list[int]:
    """The processes, anywhere, whose command line has a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid() and mark in (entry / "cmdline").read_text():
                found.append(int(entry.name))
        except (OSError, UnicodeDecodeError):
            continue
    return found


@pytest.fixture
def mark():
    made = f"attack-{os.urandom(6).hex()}"
    yield made
    for pid in find_marked(made):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("code", [BOMB, THREADS], ids=["processes", "threads"])
async def test_a_fork_bomb_is_ended(mechanism, code, outside, folder, mark):
    policy = with_limits(outside, folder, processes=64, seconds=20)
    text, left = await run(python(code, mark), policy, support_of(mechanism), seconds=60)
    assert left == 0
    assert find_marked(mark) == []
    assert "was ended" in text, text[-500:]


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_fork_bomb_in_the_shell_is_ended(mechanism, outside, folder, mark):
    policy = with_limits(outside, folder, processes=64, seconds=20)
    line = f"exec -a {mark} bash -c 'b() {{ b | b & }}; b; wait; sleep 300'"
    _, left = await run(line, policy, support_of(mechanism), seconds=60)
    assert left == 0
    assert find_marked(mark) == []


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("code", [EATER, SHARED], ids=["own", "shared"])
async def test_memory_split_over_many_processes_is_limited(mechanism, code, outside, folder, mark):
    policy = with_limits(outside, folder, memory_mib=512)
    started = time.monotonic()
    text, left = await run(python(code, mark), policy, support_of(mechanism), seconds=60)
    assert "memory" in text, text[-500:]
    assert time.monotonic() - started < 55
    assert (left, find_marked(mark)) == (0, [])


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("memfd", [True, False], ids=["memfd", "shm"])
async def test_memory_that_no_process_maps_cannot_be_taken(mechanism, memfd, outside, folder, mark):
    policy = with_limits(outside, folder, memory_mib=512)
    text, _ = await run(python(UNMAPPED.format(memfd=memfd), mark), policy, support_of(mechanism), seconds=20)
    assert "TAKEN" not in text


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_processes_that_share_memory_are_not_counted_twice(mechanism, outside, folder):
    """A build forks many workers from one large parent."""
    policy = with_limits(outside, folder, memory_mib=512)
    text, _ = await run(python(WORKERS), policy, support_of(mechanism), seconds=60)
    assert "DONE" in text, text


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "line",
    [
        "truncate -s 100G big",
        "dd if=/dev/zero of=big bs=1M count=100000",
        "fallocate -l 100G big",
        "yes | head -c 100G > big",
        "dd if=/dev/zero of=big bs=1 count=1 seek=100G",
        "for n in 1 2 3; do (head -c 100G /dev/zero > big) & done; wait",
    ],
)
async def test_no_file_grows_beyond_the_limit(mechanism, line, outside, folder):
    policy = with_limits(outside, folder, file_mib=8)
    await run(line, policy, support_of(mechanism), seconds=60)
    big = folder / "workspace" / "big"
    assert not big.exists() or big.stat().st_size <= 8 << 20


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_daemon_without_any_trace_of_its_origin_ends_with_the_command(mechanism, outside, folder, mark):
    policy = policy_for(outside, folder)
    line = f"{python(DAEMON.format(mark=mark))}; {python(DAEMON.format(mark=mark))}; sleep 0.3; echo over"
    text, left = await run(line, policy, support_of(mechanism), seconds=30)
    assert "over" in text
    assert (left, find_marked(mark)) == (0, [])


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_process_that_ignores_every_request_to_end_is_ended(mechanism, outside, folder, mark):
    line = f"trap '' TERM HUP INT; {python(DEAF, mark)} & {python(DAEMON.format(mark=mark))}; wait"
    text, left = await run(line, policy_for(outside, folder), support_of(mechanism), seconds=2)
    assert "ready" in text
    assert (left, find_marked(mark)) == (0, [])


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_time_holds_for_the_tree_though_the_supervisor_does_nothing(mechanism, outside, folder, mark):
    policy = with_limits(outside, folder, seconds=2)
    line = f"trap '' TERM; {python(DAEMON.format(mark=mark))}; {python('import time; time.sleep(300)', mark)}"
    text, _ = await run(line, policy, support_of(mechanism), seconds=60)
    assert "was ended" in text
    assert find_marked(mark) == []


@pytest.mark.parametrize("watched", [True, False], ids=["watched", "alone"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_nothing_stays_when_the_supervisor_is_killed(mechanism, watched, outside, folder, mark):
    support_of(mechanism)
    server = f"""
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from sojourn.processes.supervisor import Watch, start
from sojourn.sandbox.enforcement import confine, find_support
from sojourn.sandbox.policy import build_policy
async def main():
    base = Path({str(folder)!r})
    for name in ("workspace", "temporary"): (base / name).mkdir(exist_ok=True)
    policy = build_policy(base / "workspace", base / "temporary", sojourn_home=base / "home", user_home=base)
    argv = confine(["/bin/bash", "-c", {f"{python(DAEMON.format(mark=mark))}; sleep 300"!r}], policy,
                   replace(find_support(), mechanism={mechanism!r}))
    await start(argv, cwd=base / "workspace", watch=Watch() if {watched} else None)
    await asyncio.sleep(1.5)
    print("ready", flush=True)
    await asyncio.sleep(300)
asyncio.run(main())
"""
    running = subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stdout.readline() == b"ready\n"
    assert find_marked(mark), "the daemon was not started"
    running.kill()
    running.wait()
    running.stdout.close()
    until = time.monotonic() + 20
    while find_marked(mark) and time.monotonic() < until:
        time.sleep(0.1)
    assert find_marked(mark) == []
