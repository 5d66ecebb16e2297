"""The supervisor of child processes."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from sojourn.processes.supervisor import OutputBuffer, Watch, find_tree, start

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def test_output_and_exit_code_are_captured():
    child = await start(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert await child.wait(10)
    assert (child.output.text(), child.process.returncode) == ("out\nerr\n", 3)
    assert await child.end() == 0


async def test_streams_carry_lines_both_ways():
    child = await start(["sh", "-c", "echo noise >&2; cat"], connect="streams")
    child.writer.write(b"hello\n")
    assert await asyncio.wait_for(child.reader.readline(), 10) == b"hello\n"
    child.writer.close()
    assert await child.wait(10)
    assert child.output.text() == "noise\n"
    await child.end()


async def test_a_process_that_left_the_session_is_ended_too():
    child = await start(["sh", "-c", "setsid sleep 300 & echo $!; wait"])
    while not child.output.total:
        await asyncio.sleep(0.01)
    await child.end()
    assert not is_alive(int(child.output.text().split()[0]))


async def test_a_process_that_ignores_sigterm_is_killed():
    child = await start(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"])
    while not child.output.total:
        await asyncio.sleep(0.01)
    started = time.monotonic()
    await child.end(grace_seconds=0.1)
    assert not child.is_running
    assert time.monotonic() - started < 5


async def test_a_watched_process_ends_when_its_supervisor_is_killed(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir()
    code = (
        "import asyncio, os, pathlib, signal\nfrom sojourn.processes.supervisor import Watch, start\n"
        "async def main():\n"
        f"    watch = Watch(folder=pathlib.Path({str(folder)!r}))\n"
        "    child = await start(['sh', '-c', 'echo $$; exec sleep 300'], watch=watch)\n"
        "    while not child.output.total: await asyncio.sleep(0.01)\n"
        "    print(child.output.text(), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    supervisor = await start([sys.executable, "-c", code], env={**os.environ})
    assert await supervisor.wait(30)
    pid = int(supervisor.output.text().split()[0])
    until = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < until:
        await asyncio.sleep(0.05)
    assert not is_alive(pid)
    while folder.exists() and time.monotonic() < until:
        await asyncio.sleep(0.05)
    assert not folder.exists()
    await supervisor.end()


@pytest.mark.parametrize("watch", [None, Watch()])
async def test_a_program_that_does_not_exist_is_an_error(watch):
    with pytest.raises(FileNotFoundError):
        await start(["no-such-program-here"], watch=watch)


async def test_cancelling_the_end_does_not_leave_processes():
    child = await start(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"])
    while not child.output.total:
        await asyncio.sleep(0.01)
    ending = asyncio.create_task(child.end(grace_seconds=0.3))
    await asyncio.sleep(0.05)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert find_tree(child.pid, "unused", 0) == []


def test_long_output_keeps_its_beginning_and_end():
    buffer = OutputBuffer(4, 4)
    for byte in b"abcdefghijklmnop":
        buffer.add(bytes([byte]))
    assert buffer.text() == "abcd\n[… 8 bytes were not kept …]\nmnop"
