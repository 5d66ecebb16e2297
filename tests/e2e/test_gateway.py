"""`sojourn gateway` and its API, as a person uses them: the real program, the rooms of `local`, the runtime `echo`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

SOJOURN = str(Path(sys.executable).with_name("sojourn"))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("SOJOURN_RUNTIME", "echo")
    monkeypatch.setenv("SOJOURN_TITLES", "no")


def sojourn(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SOJOURN, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90)


@contextmanager
def started(*args: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([SOJOURN, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("ready ")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
        process.stdout.close()


class Api:
    def __init__(self, home: Path) -> None:
        said = json.loads((home / "server.json").read_text())
        self.line = httpx2.Client(
            base_url=said["address"] + "/api/plugins",
            headers={"Authorization": f"Bearer {said['token']}"},
            timeout=30,
            trust_env=False,
        )

    def say(self, room: str, text: str, **more: Any) -> dict[str, Any]:
        sent = self.line.post(f"/local/rooms/{room}/messages", json={"text": text, **more})
        assert sent.status_code == 201, sent.text
        return dict(sent.json())

    def answers(self, room: str, count: int) -> list[str]:
        until = time.monotonic() + 20
        ours: list[str] = []
        while len(ours) < count and time.monotonic() < until:
            found = self.line.get(f"/local/rooms/{room}/messages").json()["messages"]
            ours = [one["text"] for one in found if one["ours"]]
            time.sleep(0.02)
        assert len(ours) >= count, ours
        return ours


@pytest.fixture
def api(home):
    with started("serve", "--port", "0"):
        made = Api(home)
        yield made
        made.line.close()


def test_a_room_answers_and_shows_it_live(api):
    api.say("home", "hello there")
    with api.line.stream("GET", "/local/rooms/home/events") as live:
        frames = iter(live.iter_lines())
        seen: list[str] = []
        while len(seen) < 2:
            line = next(frames)
            if line.startswith("data: "):
                seen.append(json.loads(line[6:])["text"])
    assert seen == ["hello there", "hello there"]
    assert api.line.get("/local/rooms").json() == {"rooms": ["home"]}


def test_a_stranger_gets_a_code_and_is_let_in(api):
    api.say("ben", "let me in", sender="ben", name="Ben")
    [code] = re.findall(r"pair ([A-Z2-9]{8})", api.answers("ben", 1)[0])
    assert "ben" in sojourn("gateway", "pair").stdout.lower()
    assert api.line.get("/gateway/people").json()["waiting"][0]["name"] == "Ben"
    wrong = sojourn("gateway", "pair", "AAAAAAAA")
    assert (wrong.returncode, "Nobody is waiting" in wrong.stderr) == (3, True)
    paired = sojourn("gateway", "pair", code, "--name", "ben", "--json")
    assert json.loads(paired.stdout)["principal"] == "guest:ben"
    api.say("ben", "hello again", sender="ben", name="Ben")
    assert api.answers("ben", 2)[1] == "hello again"
    assert "hello again" not in sojourn("sessions", "list").stdout
    assert "was removed" in sojourn("gateway", "pair", "--remove", "local:ben").stdout


def test_status_tells_progress(api):
    api.say("home", "hello there")
    api.answers("home", 1)
    line = api.line.get("/gateway/status").json()["lines"][0]
    assert (line["platform"], line["waiting"], line["failed"]) == ("local", 0, 0)
    assert line["last_received"]
    assert "✓ local: up" in sojourn("gateway", "status").stdout
    assert json.loads(sojourn("gateway", "status", "--json").stdout)["gateways"][0]["lines"]["local"]["state"] == "up"


def test_the_web_hands_over_and_takes_back(api):
    api.say("home", "a story")
    api.answers("home", 1)
    [session] = json.loads(sojourn("sessions", "list", "--json").stdout)
    asked = api.line.post(f"/gateway/sessions/{session['id']}/handoff", json={"to": "web"})
    assert asked.status_code == 202, asked.text
    done = api.line.get(f"/gateway/handoffs/{asked.json()['id']}", params={"wait": True}).json()
    assert (done["state"], done["from_surface"], done["surface"]) == ("completed", "local", "web")
    back = api.line.post(f"/gateway/sessions/{session['id']}/handoff", json={"to": "local:#garden"}).json()
    done = api.line.get(f"/gateway/handoffs/{back['id']}", params={"wait": True}).json()
    assert (done["state"], done["place"]) == ("completed", f"local:thread:#garden:{done['thread_id']}")
    assert len(api.line.get(f"/gateway/sessions/{session['id']}/handoffs").json()) == 2


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/gateway/sessions/nobody/handoff", {"to": "local"}, 404),
        ("/gateway/people", {"code": "WRONGONE"}, 404),
        ("/local/rooms/%20/messages", {"text": "x"}, 400),
        ("/local/rooms/home/messages", {"text": "x", "thread": "t99"}, 404),
        ("/local/rooms/home/messages", {"text": ""}, 422),
    ],
)
def test_bad_requests_are_told_what_is_wrong(api, path, body, status):
    answer = api.line.post(path, json=body)
    assert answer.status_code in (status, 400 if status == 422 else status), answer.text
    assert answer.json()["title"]


def test_a_gateway_alone_serves_what_a_server_without_one_takes_in(home):
    with started("serve", "--port", "0", "--no-gateway"):
        api = Api(home)
        api.say("home", "is anybody there?")
        assert "No gateway is running" in sojourn("gateway", "status").stdout
        with started("gateway", "run"):
            assert api.answers("home", 1) == ["is anybody there?"]
        api.line.close()


def test_a_platform_that_nobody_brings_is_refused():
    done = sojourn("gateway", "run", "--platforms", "pigeons")
    assert done.returncode == 3
    assert "pigeons" in done.stderr
