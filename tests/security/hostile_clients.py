"""Hostile clients and work beside normal use of a real server, and what `/healthz` says meanwhile."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.e2e.http_server import Serving

HOSTILE_TEXTS = (
    " " * 200_000 + "x",
    "a@" * 100_000,
    "key=" * 50_000,
    "password=" * 20_000,
    "-----BEGIN PRIVATE KEY-----" * 8_000,
    "run `" + "$(" * 50_000,
    "x each of y, and then " * 9_000,
)


@dataclass
class Watch:
    """What was measured while the server was attacked."""

    waits: list[float] = field(default_factory=list)  # seconds of each `/healthz`
    unhealthy: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)  # what was said, and the session that the server stored it in
    attacks: Counter[str] = field(default_factory=Counter)  # how often each attack was carried through
    errors: list[str] = field(default_factory=list)
    resident_kb: list[int] = field(default_factory=list)
    disk_bytes: list[int] = field(default_factory=list)  # of the database
    log_bytes: list[int] = field(default_factory=list)  # of its write-ahead log
    other_bytes: list[int] = field(default_factory=list)  # of everything else in the home: logs, records of processes
    kept_counts: list[int] = field(default_factory=list)  # sessions of normal use, at the same moments

    def quantile(self, share: float) -> float:
        ordered = sorted(self.waits)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    def measure_home(self, home: Path) -> None:
        """Notes how much the home takes, and how many sessions are in it on purpose."""
        sizes: Counter[str] = Counter()
        for one in home.rglob("*"):
            with suppress(OSError):
                if one.is_file() and not one.name.endswith("-shm"):
                    name = one.name if one.name in ("state.db", "state.db-wal") else "other"
                    sizes[name] += one.stat().st_size
        self.disk_bytes.append(sizes["state.db"])
        self.log_bytes.append(sizes["state.db-wal"])
        self.other_bytes.append(sizes["other"])
        self.kept_counts.append(len(self.kept))


def make_hostile_history(user_home: Path) -> None:
    """A history of Claude Code whose sessions are long lines, odd records and a FIFO."""
    folder = user_home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "fifo.jsonl")
    for number, text in enumerate(HOSTILE_TEXTS):
        record = {
            "type": "user",
            "sessionId": f"s{number}",
            "uuid": f"u{number}",
            "timestamp": "2026-01-02T03:04:05.000Z",
            "message": {"role": "user", "content": text * 5},
        }
        (folder / f"s{number}.jsonl").write_text(json.dumps(record) + "\n")


def run_attack(server: Serving, watch: Watch, seconds: float, pages: str) -> None:
    """Attacks from several threads until the time is up; the caller's thread asks `/healthz`. `pages`: where hostile
    pages are, for a model that plays `hostile_tools.call_tools`."""
    until = time.monotonic() + seconds
    jobs: list[Callable[[], None]] = [
        lambda: _flood(server),
        lambda: _send_garbage(server),
        lambda: _say_hostile(server, watch),
        lambda: _use_normally(server, watch),
        lambda: _use_tools(server, watch, f"fetch {pages}/{random.randrange(100)}"),
        lambda: _use_tools(server, watch, f"run {random.randrange(100)}"),
        lambda: _follow(server),
        lambda: _import_again(server),
    ]
    threads = [threading.Thread(target=_repeat, args=(job, until, watch), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    _watch_health(server, watch, until)
    for thread in threads:
        thread.join(timeout=30)


def _repeat(job: Callable[[], None], until: float, watch: Watch) -> None:
    while time.monotonic() < until:
        try:
            job()
        except (httpx.HTTPError, OSError):
            time.sleep(0.05)  # a client that was refused comes back
        except (AssertionError, KeyError, ValueError) as error:
            watch.errors.append(f"{type(error).__name__}: {error}"[:300])
            time.sleep(0.1)


def _connect(server: Serving) -> socket.socket:
    url = urlsplit(server.address)
    return socket.create_connection((url.hostname, url.port), timeout=5)


def _flood(server: Serving) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(_connect(server)).send(b"GET /healthz HTTP/1.1\r\nHost: ")
        time.sleep(0.2)


def _send_garbage(server: Serving) -> None:
    with _connect(server) as connection, suppress(OSError):
        connection.sendall(random.randbytes(random.randrange(1, 100_000)))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(4096)
    time.sleep(0.02)


def find_kept(server: Serving, watch: Watch) -> set[str]:
    """What was said in normal use and is still there, word for word."""
    found = set()
    for said, session in watch.kept.items():
        answer = server.get(f"/api/sessions/{session}/messages")
        if answer.status_code == 200 and any(one["content"] == said for one in answer.json()["messages"]):
            found.add(said)
    return found


def _client(server: Serving) -> httpx.Client:
    headers = {"Authorization": f"Bearer {server.token}"}
    return httpx.Client(base_url=server.address, headers=headers, timeout=60, trust_env=False)


def _say(client: httpx.Client, **body: str) -> tuple[str, bool]:
    """Says something in a new session; returns the session, and whether the turn was carried through."""
    with client.stream("POST", "/api/chat/stream", json=body) as answer:
        text = answer.read().decode()
        assert answer.status_code == 200, f"{answer.status_code} {text[:200]}"
        return answer.headers["Sojourn-Session"], "event: done" in text


def _say_hostile(server: Serving, watch: Watch) -> None:
    """A hostile message is kept like any other, so its sender deletes it again: what is left over would show."""
    with _client(server) as client:
        session, _ = _say(client, message=random.choice(HOSTILE_TEXTS), runtime="echo")
        client.delete(f"/api/sessions/{session}").raise_for_status()
    watch.attacks["message"] += 1
    time.sleep(0.2)


def _use_tools(server: Serving, watch: Watch, wanted: str) -> None:
    with _client(server) as client:
        session, is_done = _say(client, message=wanted, runtime="native")
        client.delete(f"/api/sessions/{session}").raise_for_status()
    watch.attacks[wanted.split()[0]] += is_done
    time.sleep(0.2)


def _use_normally(server: Serving, watch: Watch) -> None:
    said = f"Note {random.randbytes(8).hex()}: the meeting is at ten."
    with _client(server) as client:
        session, is_done = _say(client, message=said, runtime="echo")
        if is_done:
            watch.kept[said] = session
        client.get("/api/sessions", params={"limit": 20})
        client.get("/api/search", params={"q": "meeting"})
    time.sleep(0.1)


def _follow(server: Serving) -> None:
    with _client(server) as client, client.stream("GET", "/api/changes") as stream:
        for _, _ in zip(range(3), stream.iter_raw(), strict=False):
            pass


def _import_again(server: Serving) -> None:
    with _client(server) as client:
        for found in client.get("/api/sources").json():
            if found["source"] == "claude-code":
                client.post("/api/plugins/dashboard/import", json={"source": "claude-code", "home": found["home"]})
    time.sleep(1)


def _watch_health(server: Serving, watch: Watch, until: float) -> None:
    with _client(server) as client:
        while time.monotonic() < until:
            began = time.monotonic()
            try:
                answer = client.get("/healthz")
            except httpx.HTTPError as error:
                watch.unhealthy.append(type(error).__name__)
                continue
            watch.waits.append(time.monotonic() - began)
            if answer.status_code != 200:
                watch.unhealthy.append(answer.text[:200])
            watch.resident_kb.append(_resident_kb(server.process.pid))
            if len(watch.waits) % 10 == 1:
                watch.measure_home(server.home)
            time.sleep(0.02)


def _resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
