"""No log holds a secret, whoever writes it, and no log grows without a limit."""

import json
import os
import stat
import subprocess
import sys

import pytest

KEY = "sk-proj-" + "Ab1" * 12
PROGRAM = """
import logging, sys, threading
from pathlib import Path
from sojourn.root_logger import set_up_root_logger
set_up_root_logger(lambda: Path(sys.argv[1]))
logging.basicConfig(level=logging.DEBUG, filename=sys.argv[1] + "/theirs.log")   # what a library may do
{body}
"""
BODIES = {
    "a message": "logging.getLogger('httpx').warning('GET https://x.example/?key=%s', KEY)",
    "an argument": "logging.getLogger('discord').error('%r', {'token': KEY})",
    "a traceback": """
try:
    raise ValueError('bad key ' + KEY)
except ValueError:
    logging.getLogger('aiohttp').exception('failed')
""",
    "a thread": """
def fail():
    raise RuntimeError('key ' + KEY)
thread = threading.Thread(target=fail)
thread.start()
thread.join()
""",
    "nobody caught it": "raise RuntimeError('key ' + KEY)",
    "an asyncio task": """
import asyncio
async def fail():
    raise RuntimeError(KEY)
async def main():
    asyncio.create_task(fail())
    await asyncio.sleep(0.01)
asyncio.run(main())
""",
}


def run(home, body):
    code = PROGRAM.format(body=f"KEY = {KEY!r}\n{body}")
    return subprocess.run(
        [sys.executable, "-c", code, str(home)], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_secret_that_any_library_logs_is_in_no_log(tmp_path, body):
    ran = run(tmp_path, body)
    files = {file: file.read_text() for file in tmp_path.rglob("*") if file.is_file()}
    written = ran.stdout + ran.stderr + json.dumps(list(files.values()))
    assert "Ab1Ab1" not in written
    assert "theirs.log" not in {file.name for file in files}
    assert len(written) > 20
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_log_keeps_to_its_size(tmp_path):
    ran = run(tmp_path, "for n in range(4000): logging.warning('x' * 1000)")
    assert ran.returncode == 0
    sizes = [file.stat().st_size for file in (tmp_path / "logs").iterdir()]
    assert len(sizes) == 2
    assert max(sizes) < 1_000_000 + 30_000


def test_a_huge_entry_is_cut(tmp_path):
    run(tmp_path, "logging.warning('x' * 5_000_000)")
    assert (tmp_path / "logs" / "sojourn.log").stat().st_size < 25_000


def test_a_log_that_was_readable_for_others_is_closed(tmp_path):
    log = tmp_path / "logs" / "sojourn.log"
    log.parent.mkdir()
    log.touch(0o644)
    run(tmp_path, "logging.warning('hello')")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "hello" in log.read_text()


def test_libraries_are_quiet_below_a_warning(tmp_path):
    ran = run(tmp_path, "logging.getLogger('httpx').info('GET /'); logging.getLogger('sojourn.x').info('ours')")
    assert "GET /" not in (tmp_path / "logs" / "sojourn.log").read_text() + ran.stderr
    assert "ours" in (tmp_path / "logs" / "sojourn.log").read_text()


def test_a_bug_of_ours_is_reported_without_the_secret(tmp_path):
    code = (
        "import sys; from sojourn import launch, config\n"
        f"def fail(flags): raise RuntimeError('key {KEY}')\n"
        "class Broken:\n    load = staticmethod(lambda: fail)\n"
        "launch.BUILD = Broken\n"
        "sys.exit(launch.run(['sessions', 'list']))"
    )
    env = {**os.environ, "SOJOURN_HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, env=env)
    assert ran.returncode == 70, ran.stderr
    logs = "".join(file.read_text() for file in (tmp_path / "logs").iterdir())
    assert "[redacted:api-key]" in logs
    assert "Ab1Ab1" not in logs + ran.stdout + ran.stderr
