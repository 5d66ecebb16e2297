"""A browser as the server sees it, without one: cookie, page key and the headers that a page of ours sends."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import httpx

from tests.e2e.http_server import Serving

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"


class BrowserClient:
    """Follows a one-time link of a server; `cookie` and `page_key` are the two halves it got."""

    def __init__(self, server: Serving, host: str = "sojourn.localhost") -> None:
        self.server = server
        self.netloc = f"{host}:{urlsplit(server.address).port}"
        path = server.client.post("/api/links").json()["path"]
        answer = self.send("GET", path, {"User-Agent": CHROME})
        assert answer.status_code == 200, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        found = re.search(r'"sojourn.page-key", "([^"]+)"', answer.text)
        self.page_key = found[1] if found else ""

    def send(self, method: str, path: str, headers: dict[str, str] | None = None, **given: object) -> httpx.Response:
        """A request with these headers alone."""
        all_headers = {"Host": self.netloc, **(headers or {})}
        with httpx.Client(base_url=self.server.address, trust_env=False, timeout=30) as client:
            return client.request(method, path, headers=all_headers, **given)  # type: ignore[arg-type]

    @property
    def headers(self) -> dict[str, str]:
        """What a page of ours sends."""
        return {
            "Host": self.netloc,
            "Cookie": self.cookie,
            "Sojourn-Page-Key": self.page_key,
            "Origin": f"http://{self.netloc}",
            "Sec-Fetch-Site": "same-origin",
        }

    def ask(self, method: str, path: str, **given: object) -> httpx.Response:
        return self.send(method, path, self.headers, **given)
