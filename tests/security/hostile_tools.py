"""A misled model beside normal use: it fetches hostile pages and runs hostile commands, until the time is up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sojourn.testing.model_script import Call, ModelRequest, Say, Step

PAGES = (
    "<div>" * 200_000,
    "<a <b" * 150_000,
    "<table><tr>" * 60_000,
    "&" * 700_000,
    "<!--" * 200_000,
    "<p " + "a='" * 200_000,
    "<script>" + "</scrip" * 100_000,
    "<li>password=" * 50_000,
)
COMMANDS = (
    "echo " + "$(" * 20_000,
    "a=" * 20_000,
    "cat <<X\n" * 5_000,
    "yes | head -c 3000000",
    "yes password= | head -c 2000000",
    "for i in $(seq 400); do sleep 30 & done; wait",
    "(setsid sleep 60 &) ; head -c 2000000 /dev/zero | tr '\\0' 'k'",
    "python3 -c 'x = b\"a\" * 10**9; print(len(x))'",
    "{a,b}{c,d}" * 400,
)


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = PAGES[int(self.path.strip("/")) % len(PAGES)].encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def serve_pages() -> Iterator[str]:
    """The address of the hostile pages: `/0`, `/1` and so on."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def call_tools(asked: ModelRequest) -> list[Step]:
    """Does what the last message says: `fetch ADDRESS` or `run NUMBER`; ends the turn after the tool's result."""
    last = asked.messages[-1]
    words = str(last.get("content", "")).split()
    if last["role"] != "user" or not asked.tools or len(words) < 2:
        return [Say("Done.")]
    if words[-2] == "fetch":
        return [Call("web_fetch", {"url": words[-1]})]
    return [Call("terminal", {"command": COMMANDS[int(words[-1]) % len(COMMANDS)]})]
