"""Hostile input against a real server: schemathesis from the real OpenAPI document, and bytes no client would send."""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from bench.paced_runtime import NAME, install_plugin
from tests.e2e.http_server import PROGRAM, Serving

# What is a word, a tag or a revision is checked by us and not by the schema, so 400 is a right answer to a valid form.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "400", "401", "403", "404", "409", "410", "502"]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    """What is said there is answered by a voice that needs no model."""
    packages = install_plugin(tmp_path_factory.mktemp("packages"))
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    with Serving(home, PYTHONPATH=packages, SOJOURN_RUNTIME=NAME, SOJOURN_APPROVAL_SECONDS="1") as running:
        running.client.post("/api/sessions", json={"title": "fuzzed"}).raise_for_status()
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("examples", [10, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.timeout(0)
def test_every_answer_is_as_the_document_says(server: Serving, tmp_path: Path, examples: int) -> None:
    """Streams never end, plugins are others' work, and a stopped server answers nothing: these have their own tests.

    `forget` takes sessions away without being a DELETE, which one of the checks does not expect.
    """
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    command = [
        str(PROGRAM.with_name("schemathesis")),
        "--config-file",
        "schemathesis.toml",
        "run",
        f"{server.address}/openapi.json",
        "--header",
        f"Authorization: Bearer {server.token}",
        "--exclude-path-regex",
        r"/(events|changes)$|/api/plugins/.+/|/api/server/stop$",
        "--exclude-checks",
        "ensure_resource_availability",
        "--max-examples",
        str(examples),
        "--seed",
        "1",
        "--no-color",
        "--generation-database",
        "none",
        "--request-timeout",
        "120",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "HOME": str(tmp_path)}
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:] + server.log()
    assert "generated" in done.stdout


HOSTILE = [
    "sessions/%00",
    "sessions/%ed%a0%80",
    "sessions/%ff%fe",
    "sessions/..%2f..%2fetc%2fpasswd",
    "sessions/%F4%8F%BF%BF",
    "sessions/%ED%9F%BF",
    "sessions/'%20OR%201=1--",
    "sessions/%25",
    "sessions/" + "a" * 4000,
    "sessions?text=%00%ed%a0%80",
    "sessions?source=%00",
    "sessions?tag=%00",
    "sessions?tag=%25",
    "sessions?model=%ff",
    "sessions?limit=" + "9" * 400,
    "sessions?since=9999-12-31",
    "sessions?until=2026-02-30",
    "sessions?since=0001-01-01T00:00:00%2b23:59",
    "sessions?since=9999-12-31T23:59:59-23:59",
    "sessions?before=zz",
    "sessions?before=7ff8000000000000-00",
    "sessions?before=ffffffffffffffff-ff",
    "sessions?parent=%00",
    "search?q=%00a",
    "search?q=%22%22%22",
    "search?q=a*%20b*&before=0",
    "search?q=NEAR(a%20b)",
    "search?q=x&tool=%00",
    "search?q=x&role=%ed%a0%80",
    "search?q=x&session=%00",
    "search?q=" + "x%20" * 500,
    "sessions/x/messages?after=-1",
    f"sessions/fuzzed/messages?after={2**63 - 1}",
    "sessions/fuzzed/attachments/%00",
    "sessions/fuzzed/attachments/" + "0" * 64,
    "plugins/nobody/x",
    "sessions/fuzzed/export?format=exe",
    "resolve?words=%00",
    "resolve?words=" + "x" * 2000,
    "sessions/%00/usage",
    "sessions/fuzzed/turns/running",
    "sessions/fuzzed/turns/t_x/stop",
    "sessions/fuzzed/events?include=everything",
    "sessions/fuzzed/events?after=x",
]


@pytest.mark.parametrize("path", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_addresses_get_an_answer_and_never_a_failure(server: Serving, path: str) -> None:
    answer = raw(server, f"GET /api/{path} HTTP/1.1".encode())
    assert 200 <= answer[0] < 500, server.log()
    if answer[0] >= 400:
        assert json.loads(answer[1])["code"] in ("bad_input", "not_found", "no_route", "method_not_allowed")


CHAT, COMPLETE = "/api/chat/stream", "/v1/chat/completions"
SAY = '{"model": "default", "messages": [%s]}'
USER = '{"role": "user", "content": "x"}'
BODIES = [
    (CHAT, '{"message": "\\ud800"}'),
    (CHAT, '{"message": "\\u0000"}'),
    (CHAT, '{"message": "{"}'),
    (CHAT, '{"message": "x", "session_id": "\\u0000"}'),
    (CHAT, '{"message": "x", "cwd": "\\u0000"}'),
    (CHAT, '{"message": "x", "model": "\\ud800"}'),
    (CHAT, '{"message": "x", "runtime": "../x"}'),
    (CHAT, '{"message": "x", "template": "\\ud800"}'),
    (CHAT, "[" * 100_000),
    (CHAT, "{"),
    (CHAT, "\xff"),
    ("/api/sessions", '{"title": "\\ud800", "cwd": "\\u0000"}'),
    ("/api/sessions", '{"runtime": "nobody"}'),
    (COMPLETE, SAY % '{"role": "user", "content": "\\ud800"}'),
    (COMPLETE, SAY % '{"role": "user", "content": [{"text": 1}, {"type": "file"}]}'),
    (COMPLETE, SAY % ('{"role": "tool", "content": "x"},' + USER)),
    (COMPLETE, SAY % ('{"role": "assistant", "tool_calls": [{"function": {"name": ""}}]},' + USER)),
    (COMPLETE, (SAY % USER).replace("default", "default/\\u0000")),
    (COMPLETE, (SAY % USER).replace("}]}", '}], "stream": "perhaps"}')),
]


@pytest.mark.parametrize(("path", "body"), BODIES, ids=range(len(BODIES)))
def test_hostile_bodies_get_an_answer_and_never_a_failure_of_ours(server: Serving, path: str, body: str) -> None:
    answer = server.client.post(path, content=body.encode("latin-1"), headers={"Content-Type": "application/json"})
    assert answer.status_code < 500 or answer.json().get("code", answer.json().get("error")) != "internal", server.log()
    assert "Traceback" not in answer.text
    assert answer.status_code not in (500, 501, 503)


@pytest.mark.parametrize(
    "line", [b"GET /\xff\xfe HTTP/1.1", b"GET /\x00 HTTP/1.1", b"\x16\x03\x01\x02", b"GET / HTTP/9.9", b"G" * 70_000]
)
def test_bytes_that_are_no_request_do_not_hurt(server: Serving, line: bytes) -> None:
    status, _ = raw(server, line)
    assert status in (0, 200, 400, 401, 404, 414, 431, 501, 505)
    assert server.get("/healthz").status_code == 200


def raw(server: Serving, line: bytes) -> tuple[int, bytes]:
    """One request, byte by byte as given; (0, …) when there is no answer."""
    host, _, port = server.address.removeprefix("http://").partition(":")
    head = [
        line,
        f"Host: {host}:{port}".encode(),
        f"Authorization: Bearer {server.token}".encode(),
        b"Connection: close",
    ]
    with socket.create_connection((host, int(port)), timeout=20) as line_out:
        heard = b""
        try:
            line_out.sendall(b"\r\n".join(head) + b"\r\n\r\n")
            while piece := line_out.recv(65536):
                heard += piece
        except ConnectionError:
            pass
    top, _, body = heard.partition(b"\r\n\r\n")
    return (int(top.split(b" ")[1]) if top.startswith(b"HTTP/1.1 ") else 0), body
