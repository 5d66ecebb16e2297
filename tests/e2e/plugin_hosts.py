"""A real server with dashboard plugins of others in its home, and the words to turn them on."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.http_server import Serving
from tests.e2e.plugin_folders import programs

LISTING = "/api/plugins/dashboard/plugins"


class Host:
    """A server with plugins in its home, and the words to turn them on."""

    def __init__(self, server):
        self.server, self.client, self.home = server, server.client, server.home

    def listed(self, name):
        return next(one for one in self.client.get(LISTING).json() if one["name"] == name)

    def enable(self, name):
        needs = [need["name"] for need in self.listed(name)["needs"]]
        answer = self.client.post(f"{LISTING}/{name}/enable", json={"needs": needs})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def disable(self, name):
        return self.client.post(f"{LISTING}/{name}/disable")

    def get(self, name, path):
        return self.client.get(f"/api/plugins/{name}/{path}")

    def stands(self):
        """Quick, whatever a plugin is doing."""
        began = time.monotonic()
        assert self.client.get("/healthz").status_code == 200
        assert self.client.get("/api/sessions").status_code == 200
        return time.monotonic() - began < 8


@contextmanager
def hosting(home: Path, **env: str) -> Iterator[Host]:
    """A server for a while; no program of a plugin is left when it has ended."""
    with Serving(home, **env) as server:
        yield Host(server)
    assert programs(home) == []


def raw(server, path):
    """What is answered to a path that is sent as it is, below the client library, which would tidy it up."""
    host, _, port = server.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as line:
        head = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", f"Authorization: Bearer {server.token}"]
        line.sendall("\r\n".join([*head, "Connection: close", "", ""]).encode("latin-1"))
        return b"".join(iter(lambda: line.recv(65536), b""))
