"""Finding a server, and its problems as our errors."""

import json

import httpx2
import pytest

from sojourn.client.launch import find_server
from sojourn.client.transport import error_from_response, identity_headers
from sojourn.core.errors import NotFound, ServerUnreachable, SessionBusy, SojournError
from sojourn.core.sessions import Principal
from sojourn.ports.service import Caller
from sojourn.server_file import Server, read_server_file

SAID = {"address": "http://127.0.0.1:1", "token": "t", "pid": 2**22 + 1, "version": "1"}


def answer(status, content):
    return httpx2.Response(status, content=content, request=httpx2.Request("GET", "http://127.0.0.1:1/x"))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", json.dumps({**SAID, "pid": "x"})])
async def test_what_is_no_announcement_is_none(home, text):
    home.mkdir()
    assert read_server_file(home) is None
    (home / "server.json").write_text(text)
    assert read_server_file(home) is None
    assert await find_server(home) is None


async def test_a_server_that_is_dead_is_not_found(home):
    home.mkdir()
    (home / "server.json").write_text(json.dumps(SAID))
    assert read_server_file(home) == Server(address="http://127.0.0.1:1", token="t", pid=2**22 + 1, version="1")
    assert await find_server(home) is None


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "no address", "http://[x"])
async def test_a_process_that_is_no_server_is_not_found(home, address):
    home.mkdir()
    (home / "server.json").write_text(json.dumps({**SAID, "address": address, "pid": 1}))
    assert await find_server(home) is None


def test_a_problem_is_the_error_that_was_raised():
    told = {
        "code": "session_busy",
        "detail": "Busy.",
        "hint": "Wait.",
        "about": {"session": "s", "holder": "h", "surface": "cli", "since": 1.5},
    }
    error = error_from_response(answer(409, json.dumps(told)))
    assert isinstance(error, SessionBusy)
    assert (str(error), error.hint, error.holder, error.surface, error.since) == ("Busy.", "Wait.", "h", "cli", 1.5)
    assert type(error_from_response(answer(404, '{"code": "not_found", "detail": "x"}'))) is NotFound
    assert type(error_from_response(answer(418, '{"code": "from_the_future", "detail": "x"}'))) is SojournError


@pytest.mark.parametrize("content", [b"<html>", b"[]", b"{}", b"null", b"\xff"])
def test_an_answer_that_is_not_ours_is_told_as_such(content):
    error = error_from_response(answer(502, content))
    assert isinstance(error, ServerUnreachable)
    assert "502" in str(error)


def test_who_speaks_travels_as_headers_of_plain_letters():
    assert identity_headers(Principal("gästin")) == {"Sojourn-Principal": "g%C3%A4stin"}
    by = Caller(surface="cli", principal=Principal("gästin"), holder="chat on küche (pid 1)")
    assert identity_headers(by) == {
        "Sojourn-Surface": "cli",
        "Sojourn-Principal": "g%C3%A4stin",
        "Sojourn-Holder": "chat%20on%20k%C3%BCche%20%28pid%201%29",
    }
