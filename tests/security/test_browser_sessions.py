"""Browser sessions, attacked over HTTP: half a session is nothing, and one that ended has ended on the server."""

import subprocess
import threading
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.browser_client import BrowserClient
from tests.e2e.http_server import PROGRAM, Serving


@pytest.fixture
def server(home):
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as running:
        yield running


def run(server, *args):
    done = subprocess.run([PROGRAM, "--home", server.home, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_cookie_that_another_local_server_received_is_not_enough(server):
    browser = BrowserClient(server)
    assert browser.ask("GET", "/api/sessions").status_code == 200
    stolen = {"Cookie": browser.cookie, "Origin": f"http://{browser.netloc}"}
    for headers in (stolen, {**stolen, "Sojourn-Page-Key": "x"}, {**stolen, "Sec-Fetch-Site": "same-origin"}):
        assert browser.send("GET", "/api/sessions", headers).status_code == 401
        assert browser.send("POST", "/api/sessions", headers, json={}).status_code == 401
        assert browser.send("GET", "/api/changes", headers).status_code == 401
    page_key_alone = {"Sojourn-Page-Key": browser.page_key, "Origin": f"http://{browser.netloc}"}
    assert browser.send("GET", "/api/sessions", page_key_alone).status_code == 401


def test_a_session_is_bound_to_the_origin_it_was_made_for(server):
    browser = BrowserClient(server)
    for host in (urlsplit(server.address).netloc, "sojourn.localhost", "sojourn.localhost:1"):
        assert browser.send("GET", "/api/sessions", {**browser.headers, "Host": host}).status_code == 401


def test_signing_out_ends_the_session_on_the_server(server):
    browser = BrowserClient(server)
    assert browser.ask("POST", "/api/leave").status_code == 204
    assert browser.ask("GET", "/api/sessions").status_code == 401


def test_a_session_survives_a_restart_and_a_sign_out_does_too(home):
    with Serving(home) as first:
        port = str(urlsplit(first.address).port)
        stays, leaves = BrowserClient(first), BrowserClient(first)
        leaves.ask("POST", "/api/leave")
    with Serving(home, "--port", port):
        assert stays.ask("GET", "/api/sessions").status_code == 200
        assert leaves.ask("GET", "/api/sessions").status_code == 401


def test_the_home_holds_neither_half_of_a_session(server):
    browser = BrowserClient(server)
    assert browser.ask("GET", "/api/sessions").status_code == 200
    halves = [browser.cookie.partition("=")[2].encode(), browser.page_key.encode()]
    assert all(len(half) > 30 for half in halves)
    for file in server.home.rglob("*"):
        if file.is_file():
            kept = file.read_bytes()
            assert not any(half in kept for half in halves), file


class Stream:
    """An open live stream, and whether it has ended."""

    def __init__(self, server, headers, path="/api/changes"):
        self._path = path
        self.ended, self._open = threading.Event(), threading.Event()
        self._server, self._headers = server, headers
        threading.Thread(target=self._read, daemon=True).start()
        assert self._open.wait(10)

    def _read(self):
        with (
            httpx.Client(base_url=self._server.address, trust_env=False, timeout=60) as client,
            client.stream("GET", self._path, headers=self._headers) as answer,
        ):
            if answer.status_code == 200:
                self._open.set()
            for _ in answer.iter_bytes():
                pass
            self.ended.set()


def test_a_browser_is_listed_and_revoked_and_its_stream_ends(server):
    victim, owner = BrowserClient(server), BrowserClient(server)
    listed = owner.ask("GET", "/api/browsers").json()
    assert [one["browser"] for one in listed] == ["Chrome on Linux"] * 2
    assert sorted(one["current"] for one in listed) == [False, True]
    assert all(one["since"] and one["last_seen"] and one["until"] and one["address"] == "127.0.0.1" for one in listed)
    stream, other = Stream(server, victim.headers), Stream(server, owner.headers)
    id = next(one["id"] for one in listed if not one["current"])
    assert owner.ask("DELETE", f"/api/browsers/{id}").status_code == 204
    assert stream.ended.wait(20)
    assert victim.ask("GET", "/api/sessions").status_code == 401
    assert owner.ask("GET", "/api/sessions").status_code == 200
    assert not other.ended.is_set()
    assert owner.ask("DELETE", f"/api/browsers/{id}").status_code == 404


def test_the_command_line_lists_and_revokes_in_a_running_server(server):
    victim, owner = BrowserClient(server), BrowserClient(server)
    stream = Stream(server, victim.headers)
    id = next(one["id"] for one in victim.ask("GET", "/api/browsers").json() if one["current"])
    assert id in run(server, "browsers")
    run(server, "browsers", "sign-out", id)
    assert victim.ask("GET", "/api/sessions").status_code == 401
    assert stream.ended.wait(20)
    assert owner.ask("GET", "/api/sessions").status_code == 200
    run(server, "browsers", "sign-out", "--all")
    assert owner.ask("GET", "/api/sessions").status_code == 401
    assert "No browser is signed in" in run(server, "browsers")


def test_rotating_the_token_ends_everything_that_came_in_with_the_old_one(server):
    browser = BrowserClient(server)
    link = server.client.post("/api/links").json()["path"]
    by_cookie, by_token = Stream(server, browser.headers), Stream(server, {"Authorization": f"Bearer {server.token}"})
    in_a_room = Stream(server, browser.headers, "/api/plugins/local/rooms/%23garden/events")
    run(server, "token", "rotate")
    assert browser.ask("GET", "/api/sessions").status_code == 401  # in force when the command has ended
    assert server.get("/api/sessions").status_code == 401
    assert browser.send("GET", link).status_code == 403
    assert by_cookie.ended.wait(20)
    assert by_token.ended.wait(20)
    assert in_a_room.ended.wait(20)
    assert server.log() == ""
    new = run(server, "token", "show").strip()
    assert new != server.token
    headers = {"Authorization": f"Bearer {new}"}
    assert httpx.get(f"{server.address}/api/browsers", headers=headers, trust_env=False).json() == []
    assert httpx.get(f"{server.address}/api/sessions", headers=headers, trust_env=False).status_code == 200
