"""`sojourn serve` as a person runs it: ready, found, refused, stopped; and a store that breaks and heals."""

import json
import os
import signal
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest

import sojourn
from tests.e2e.http_server import PROGRAM, Serving, start


@pytest.fixture
def server(home: Path):
    with Serving(home) as running:
        yield running


def fails(home: Path, *args: str, **env: str) -> tuple[int, str]:
    process = start("--home", str(home), "serve", *args, env=env)
    _, said = process.communicate(timeout=30)
    return process.returncode, said


def test_it_says_where_it_is_and_leaves_a_private_note(server: Serving) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    assert server.token_line == f"token {server.token}"
    file = server.home / "server.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert server.announced["address"] == server.address
    assert server.announced["pid"] == server.process.pid
    assert server.announced["version"] == sojourn.__version__
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700


def test_the_token_is_not_printed_into_the_journal(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "journal"
    with log.open("w") as file:
        at = os.fstat(file.fileno())
        env = os.environ | {"JOURNAL_STREAM": f"{at.st_dev}:{at.st_ino}", "SOJOURN_PORT": "0"}
        process = subprocess.Popen([str(PROGRAM), "--home", str(home), "serve"], stdout=file, stderr=file, env=env)
    try:
        deadline = time.monotonic() + 30
        while "ready http" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert log.read_text().startswith("ready http://127.0.0.1:")
        assert (home / "token").read_text().strip() not in log.read_text()
    finally:
        process.terminate()
        process.wait(30)
    assert "token" not in log.read_text()


def test_health_is_open_and_all_else_needs_the_token(server: Serving) -> None:
    health = httpx.get(f"{server.address}/healthz", trust_env=False)
    assert (health.status_code, health.json()["state"]) == (200, "healthy")
    assert httpx.get(f"{server.address}/api/sessions", trust_env=False).status_code == 401
    assert server.get("/api/sessions").json() == {"sessions": [], "next": None, "total": None}
    assert {one["name"] for one in server.get("/api/plugins").json()} >= {"sqlite", "http"}
    assert isinstance(server.get("/api/sources").json(), list)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_within_two_seconds_although_streams_are_open(home: Path, sig: signal.Signals) -> None:
    with Serving(home) as server:
        session = server.client.post("/api/sessions", json={"title": "open"}).json()["id"]
        ends: list[str] = []

        def follow(path: str) -> None:
            with server.client.stream("GET", path) as answer:
                begun.release()
                ends.append("".join(answer.iter_text()))

        begun = threading.Semaphore(0)
        paths = (f"/api/sessions/{session}/events", "/api/changes", "/api/changes?after=0")
        followers = [threading.Thread(target=follow, args=(path,)) for path in paths]
        for follower in followers:
            follower.start()
        for _ in followers:
            assert begun.acquire(timeout=10)
        code, took, said = server.stop(sig)
        for follower in followers:
            follower.join(10)
        assert (code, said) == (0, "")
        assert took < 8  # not the ten seconds a follower would be waited for
        assert len(ends) == 3  # each ended as an answer ends, not as a broken line
        assert not (home / "server.json").exists()


def test_a_second_server_is_told_where_the_first_one_is(server: Serving) -> None:
    code, said = fails(server.home, "--port", "0")
    assert code == 4
    assert server.address in said
    assert server.get("/api/sessions").status_code == 200
    assert (server.home / "server.json").exists()


def test_what_a_killed_server_left_behind_is_replaced(home: Path) -> None:
    with Serving(home) as first:
        first.process.kill()
        first.process.communicate()
        assert (home / "server.json").exists()
    with Serving(home) as second:
        assert second.announced["pid"] != first.announced["pid"]
        assert second.get("/api/sessions").status_code == 200


def test_it_leaves_a_note_that_is_no_longer_its_own(home: Path) -> None:
    with Serving(home) as server:
        note = json.dumps({**server.announced, "pid": 1})
        (home / "server.json").write_text(note)
        server.stop()
        assert (home / "server.json").read_text() == note


def test_a_taken_port_is_a_clear_error(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = fails(home, "--port", str(taken.getsockname()[1]))
    assert code == 4
    assert "taken" in said
    assert "--port 0" in said
    assert "Traceback" not in said
    assert not (home / "server.json").exists()


@pytest.mark.parametrize("args", [("--port", "70000"), ("--port", "x"), ("--host", "no.such.host.invalid")])
def test_a_wrong_flag_is_a_clear_error(home: Path, args: tuple[str, ...]) -> None:
    code, said = fails(home, *args, SOJOURN_TOKEN="set-and-long-enough-for-others")
    assert code == 2
    assert said.startswith("✗ ")
    assert "Traceback" not in said


def test_it_is_not_opened_to_others_without_a_token_of_your_own(home: Path) -> None:
    code, said = fails(home, "--host", "0.0.0.0", "--port", "0")
    assert code == 8
    assert "SOJOURN_TOKEN" in said
    with Serving(home, "--host", "0.0.0.0", SOJOURN_TOKEN="my-own-token-that-is-long") as server:
        assert server.address.startswith("http://127.0.0.1:")
        assert server.token == "my-own-token-that-is-long"
        assert "my-own-token-that-is-long" not in server.token_line
        assert server.get("/api/sessions").status_code == 200


def test_settings_decide_and_flags_decide_more(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('[server]\nport = 1\ntoken = "from-the-file"\n')
    with Serving(home) as server:
        assert server.token == "from-the-file"


def test_what_is_ready_can_be_had_as_json(home: Path) -> None:
    process = start("--home", str(home), "serve", "--port", "0", "--json")
    assert process.stdout
    told = json.loads(process.stdout.readline())
    assert told.keys() == {"address", "token", "pid", "started_at", "version"}
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_damaged_database_is_told_and_the_server_outlives_it(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "state.db").write_bytes(os.urandom(8192))
    with Serving(home) as server:
        health = server.get("/healthz")
        assert (health.status_code, health.json()["code"]) == (503, "store_corrupt")
        assert "sojourn store restore" in health.json()["hint"]
        problem = server.get("/api/sessions")
        assert (problem.status_code, problem.json()["code"]) == (503, "store_corrupt")
        assert problem.headers["content-type"] == "application/problem+json"
        (home / "state.db").unlink()
        assert server.get("/healthz").status_code == 200
        assert server.get("/api/sessions").json() == {"sessions": [], "next": None, "total": None}


def test_requests_do_not_wait_for_each_others_packets(server: Serving) -> None:
    """A socket that does not say it is TCP makes each answer wait 40 ms."""
    times = []
    for _ in range(30):
        began = time.perf_counter()
        assert server.get("/healthz").status_code == 200
        times.append(time.perf_counter() - began)
    assert sorted(times)[len(times) // 4] < 0.03


def test_listing_commands_does_not_load_the_web_framework(home: Path) -> None:
    code = (
        "import sys; from sojourn.plugins import Registry; r = Registry(); r.commands(); r.command('serve');"
        "print([name for name in ('fastapi', 'uvicorn', 'starlette') if name in sys.modules])"
    )
    found = subprocess.run([PROGRAM.with_name("python"), "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
