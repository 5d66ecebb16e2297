"""terminal, process and execute_code with real processes: nothing is left behind, whatever happens."""

import asyncio
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.text.shell import parse_script
from tests.integration.tools.tool_workspace import call, open_kit, room_in

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")


@pytest.fixture
async def kit(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-children-1234567890")
    monkeypatch.setenv("HARMLESS_EXTRA", "seen")
    async with open_kit(**{"tools.environment": "HARMLESS_EXTRA"}) as made:
        yield made


@pytest.fixture
async def room(kit, tmp_path):
    return await room_in(kit, tmp_path)


def alive(pid: int, room=None) -> bool:
    """Whether a process lives. With a room: one that has this number inside the room's sandbox."""
    if room is None:
        return _state(Path(f"/proc/{pid}")) not in ("", "Z", "X")
    return any(_is_inside(one, pid, room.root) for one in Path("/proc").iterdir() if one.name.isdigit())


def _state(process: Path) -> str:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _is_inside(process: Path, number: int, root: Path) -> bool:
    try:
        numbers = re.findall(r"^NSpid:.*?(\d+)$", (process / "status").read_text(), re.MULTILINE)
        return numbers == [str(number)] and (process / "cwd").readlink() == root and _state(process) not in "ZX"
    except OSError:
        return False


def open_descriptors() -> int:
    """How many descriptors are open, without the store's: it opens readers as it needs them."""
    count = 0
    for one in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing's own
            count += "state.db" not in str(one.readlink())
    return count


async def pids_in(file: Path, count: int = 1) -> list[int]:
    """The process numbers a command wrote, once they are there."""
    async with asyncio.timeout(10):
        while not file.exists() or len(file.read_text().split()) < count:
            await asyncio.sleep(0.01)
    return [int(one) for one in file.read_text().split()]


async def test_output_and_exit_code_are_told(kit, room):
    told = await call(kit, room, "terminal", command="echo out; echo err >&2; exit 3")
    assert told.text == "out\nerr\n[exit code 3]"
    assert not told.ok
    assert told.facts["exit_code"] == 3
    assert told.facts["cwd"] == str(room.root)
    assert told.facts["bytes"] == 8


async def test_command_that_says_nothing_is_said_to(kit, room):
    assert (await call(kit, room, "terminal", command="true")).text == "[no output, exit code 0]"


async def test_it_starts_in_the_folder_it_is_told(kit, room):
    (room.root / "sub").mkdir()
    assert (await call(kit, room, "terminal", command="pwd", cwd="sub")).text == str(room.root / "sub")
    assert not (await call(kit, room, "terminal", command="pwd", cwd="../..")).ok


async def test_children_do_not_see_our_secrets(kit, room):
    told = await call(kit, room, "terminal", command="env")
    assert "sk-not-for-children" not in told.text
    assert "OPENAI" not in told.text
    assert "HARMLESS_EXTRA=seen" in told.text
    assert "PATH=" in told.text


async def test_there_is_no_input_to_wait_for(kit, room):
    told = await call(kit, room, "terminal", command="cat; read x; echo done")
    assert "done" in told.text


async def test_ten_megabytes_are_cut_and_kept(kit, room):
    told = await call(kit, room, "terminal", command="yes 0123456789abcde | head -c 10485760; echo; echo the end")
    assert told.facts["exit_code"] == 0
    assert told.facts["bytes"] == 10_485_760 + 9
    assert len(told.text) <= room.most
    assert told.text.endswith("the end")
    kept = Path(told.facts["kept_at"])
    assert kept.stat().st_size > 10_400_000


async def test_endless_output_stays_within_memory_and_time(kit, room):
    room.seconds = 1
    told = await call(kit, room, "terminal", command="yes")
    assert not told.ok
    assert "stopped after 1 seconds" in told.text
    assert "bytes were not kept" in Path(told.facts["kept_at"]).read_text()


async def test_time_limit_ends_the_whole_group(kit, room):
    room.seconds = 0.5
    command = "sleep 300 & echo $! > pids; sleep 301 & echo $! >> pids; wait"
    told = await call(kit, room, "terminal", command=command)
    assert told.facts["timed_out"] is True
    assert [pid for pid in await pids_in(room.root / "pids", 2) if alive(pid, room)] == []


async def test_command_that_ignores_sigterm_is_killed(kit, room):
    room.seconds = 0.3
    started = time.monotonic()
    told = await call(kit, room, "terminal", command="trap '' TERM INT HUP; echo $$ > pids; while :; do sleep 1; done")
    assert told.facts["timed_out"] is True
    assert time.monotonic() - started < 30
    assert not alive((await pids_in(room.root / "pids"))[0], room)


async def test_cancelling_leaves_nothing_behind(kit, room):
    command = "echo $$ > pids; sleep 300 & echo $! >> pids; wait"
    running = asyncio.create_task(call(kit, room, "terminal", command=command))
    pids = await pids_in(room.root / "pids", 2)
    assert all(alive(pid, room) for pid in pids)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [pid for pid in pids if alive(pid, room)] == []


async def test_cancelling_twice_leaves_nothing_behind(kit, room):
    command = "trap '' TERM; echo $$ > pids; while :; do sleep 0.1; done"
    running = asyncio.create_task(call(kit, room, "terminal", command=command))
    pids = await pids_in(room.root / "pids")
    running.cancel()
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(pids[0], room)


async def test_daemon_that_leaves_its_group_is_ended_too(kit, room):
    command = "setsid nohup sh -c 'echo $$ > pids; sleep 300' > /dev/null 2>&1 & sleep 0.3; echo started"
    told = await call(kit, room, "terminal", command=command)
    assert "started" in told.text
    assert not alive((await pids_in(room.root / "pids"))[0], room)


async def test_background_job_does_not_hold_the_call(kit, room):
    started = time.monotonic()
    told = await call(kit, room, "terminal", command="sleep 300 & echo $! > pids; echo done")
    assert time.monotonic() - started < 30
    assert told.ok
    assert not alive((await pids_in(room.root / "pids"))[0], room)


async def test_watchers_are_told_a_line_now_and_then(kit, room):
    await call(kit, room, "terminal", command="echo first; sleep 0.6; echo second")
    assert room.lines == ["first", "second"]


async def test_hundred_calls_leave_no_descriptor_open(kit, room):
    room.answers = ["once"]
    await asyncio.gather(*(call(kit, room, "terminal", command="true") for _ in range(3)))
    before = open_descriptors()
    for _ in range(30):
        await asyncio.gather(*(call(kit, room, "terminal", command="echo x") for _ in range(3)))
    async with asyncio.timeout(20):  # the last ones are closed when the event loop hears of their ends
        while open_descriptors() > before + 1:
            await asyncio.sleep(0.05)


async def test_unknown_shell_command_is_a_result_not_a_crash(kit, room):
    told = await call(kit, room, "terminal", command="no-such-program-here")
    assert told.facts["exit_code"] == 127


@pytest.mark.parametrize(
    "line",
    [
        r"a 'b c' \"d e\" f\ g",
        r"r''m \"-r\"f \\/x",
        "x$IFS'y z'${IFS}w",
        "{a,b}c{1,2} {x} {,y}",
        r"$'\x72\155 \'q' $\"s\"",
        "$X \"$X\" '$X' ${X}y",
        "$(echo hi there)end `echo yo`",
        "\"$(echo 'a  b')\"",
        "$1a$@b$*",
        "${Q:-d e}f",
        "a#b c #d",
        "a=b =c",
        r"'a\b' \"a\b\" a\\b \"\$X\"",
        "a\\\nb c",
        '"multi\nline" x',
    ],
)
def test_line_is_read_as_bash_reads_it(line):
    script = "X='p q'; f() { printf '%s\\0' \"$@\"; }; f " + line
    bash = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, check=True, text=True)
    ours = next(one for one in parse_script(f"X='p q'; f {line}").commands if one.words[:1] == ["f"])
    assert ours.words[1:] == bash.stdout.split("\0")[:-1]


# execute_code


async def test_python_runs_in_the_workspace(kit, room):
    told = await call(kit, room, "execute_code", code="import os; print(os.getcwd(), 6 * 7)")
    assert told.text == f"{room.root} 42"


async def test_python_error_is_told_with_its_line(kit, room):
    told = await call(kit, room, "execute_code", code="x = 1\nx / 0")
    assert not told.ok
    assert "ZeroDivisionError" in told.text
    assert "line 2" in told.text


async def test_python_cannot_take_all_memory(kit, room):
    told = await call(kit, room, "execute_code", code="x = bytearray(8 << 30)\nprint('had it')")
    assert "MemoryError" in told.text


async def test_python_that_never_ends_is_stopped(kit, room):
    told = await call(kit, room, "execute_code", code="while True: pass", timeout=1)
    assert not told.ok
    assert told.facts["timed_out"] is True


async def test_python_sees_no_secret(kit, room):
    told = await call(kit, room, "execute_code", code="import os; print(sorted(os.environ))")
    assert "OPENAI_API_KEY" not in told.text


async def test_python_with_quotes_and_braces_in_its_path_runs(kit, tmp_path):
    odd = tmp_path / "o'd {d}"
    odd.mkdir()
    room = await room_in(kit, odd)
    assert (await call(kit, room, "execute_code", code="print(1)")).text == "1"


# process


async def test_background_process_is_started_polled_and_killed(kit, room):
    started = await call(kit, room, "process", action="start", command="echo ready; sleep 300")
    assert "ready" in started.text
    assert started.facts["running"] is True
    name, pid = started.facts["id"], started.facts["pid"]
    listed = await call(kit, room, "process", action="list")
    assert f"{name}  running" in listed.text
    ended = await call(kit, room, "process", action="kill", id=name)
    assert ended.facts["running"] is False
    assert not alive(pid)


async def test_process_takes_input(kit, room):
    started = await call(kit, room, "process", action="start", command="while read x; do echo got $x; done")
    told = await call(kit, room, "process", action="write", id=started.facts["id"], text="one\n")
    assert "got one" in told.text
    quiet = await call(kit, room, "process", action="poll", id=started.facts["id"])
    assert "no new output" in quiet.text


async def test_poll_waits_for_the_end(kit, room):
    started = await call(kit, room, "process", action="start", command="sleep 0.8; echo over; exit 4")
    told = await call(kit, room, "process", action="poll", id=started.facts["id"], wait=8)
    if "over" not in told.text:
        told = await call(kit, room, "process", action="poll", id=started.facts["id"], wait=8)
    last = await call(kit, room, "process", action="poll", id=started.facts["id"], wait=2)
    assert last.facts["exit_code"] == 4


async def test_processes_of_another_session_cannot_be_reached(kit, room, tmp_path):
    started = await call(kit, room, "process", action="start", command="sleep 300")
    other = await room_in(kit, tmp_path)
    told = await call(kit, other, "process", action="kill", id=started.facts["id"])
    assert not told.ok
    assert alive(started.facts["pid"])


async def test_too_many_processes_are_refused(kit, room):
    for _ in range(8):
        assert (await call(kit, room, "process", action="start", command="sleep 300")).ok
    told = await call(kit, room, "process", action="start", command="sleep 300")
    assert not told.ok
    assert "8 processes" in told.text


@pytest.mark.parametrize(("access", "choices"), [("sandbox", 4), ("network", 3), ("outside", 2)])
async def test_input_for_a_process_is_asked_with_the_access_it_has(kit, room, access, choices):
    started = await call(kit, room, "process", action="start", command="cat", access=access)
    room.answers = ["deny"]
    told = await call(kit, room, "process", action="write", id=started.facts["id"], text="rm -rf ~\n")
    assert not told.ok
    assert room.asked[-1].scope == access
    assert len(room.asked[-1].choices) == choices
    assert "deletes folders" in room.asked[-1].text


async def test_closing_the_kit_ends_all_processes(tmp_path):
    async with open_kit() as kit:
        room = await room_in(kit, tmp_path)
        command = "trap '' TERM; sleep 300 & echo $! > pids; wait; sleep 300"
        started = await call(kit, room, "process", action="start", command=command)
        pids = await pids_in(room.root / "pids")
        assert alive(pids[0], room)
    assert not alive(started.facts["pid"])
    assert not alive(pids[0], room)


async def test_processes_end_when_we_are_killed(tmp_path):
    """kill -9 leaves us no time to tidy up; each process is watched from beside."""
    script = (
        "import asyncio, sys, pathlib\n"
        "from tests.integration.tools.tool_workspace import call, open_kit, room_in\n"
        "async def main():\n"
        "    async with open_kit() as kit:\n"
        "        room = await room_in(kit, pathlib.Path(sys.argv[1]))\n"
        "        await call(kit, room, 'process', action='start', command='echo $$ > pids; sleep 300')\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    us = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=Path(__file__).parents[3])
    try:
        room = SimpleNamespace(root=tmp_path / "work")
        pids = await pids_in(room.root / "pids")
        assert alive(pids[0], room)
    finally:
        us.send_signal(signal.SIGKILL)
        us.wait()
    async with asyncio.timeout(10):
        while alive(pids[0], room):
            await asyncio.sleep(0.05)
