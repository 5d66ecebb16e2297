"""server.json: private, whole, and gone with its server only."""

import json
import os
import socket
import stat
from dataclasses import replace

import pytest

from sojourn import config, server_file
from sojourn.core.errors import BadConfig, BadInput, Conflict, NotAllowed
from sojourn.core.settings import Secret, Settings
from sojourn.http import server
from sojourn.server_file import Server

SAID = Server(address="http://127.0.0.1:1", token="t", pid=os.getpid(), started_at="now", version="0")


def test_what_is_written_is_private_and_can_be_read_back(home):
    server_file.write_server_file(home, SAID)
    file = home / "server.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(json.loads(file.read_text())) == set(Server.__dataclass_fields__)
    assert server_file.read_server_file(home) == SAID
    assert [one.name for one in home.iterdir()] == ["server.json"]


def test_only_its_own_server_takes_it_back(home):
    server_file.write_server_file(home, SAID)
    server_file.remove_server_file(home, replace(SAID, started_at="earlier"))
    assert server_file.read_server_file(home) == SAID
    server_file.remove_server_file(home, SAID)
    assert server_file.read_server_file(home) is None
    server_file.remove_server_file(home, SAID)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 3}', "\udcff"])
def test_what_cannot_be_read_is_as_good_as_nothing(home, text):
    home.mkdir()
    (home / "server.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert server_file.read_server_file(home) is None


def test_a_dead_server_does_not_serve():
    assert not server_file.is_serving(replace(SAID, pid=2**22 + 1))
    assert not server_file.is_serving(SAID)  # the process lives, but nobody listens there
    assert not server_file.is_serving(replace(SAID, address="what?"))


def settings(home, **values):
    return config.load({"home": str(home), **values}, {"HOME": str(home.parent)})


def test_a_token_is_made_once_when_none_is_set(home):
    first, own, warning = server._token(settings(home), "127.0.0.1")
    assert len(first) >= 43
    assert (own, warning) == (False, "")
    assert first == server._token(settings(home), "127.0.0.1")[0]
    assert server._token(settings(home, **{"server.token": "mine"}), "127.0.0.1") == ("mine", True, "")
    long = "m" * server.MIN_OPEN_TOKEN_CHARS
    assert server._token(settings(home, **{"server.token": long}), "0.0.0.0") == (long, True, "")


def test_a_short_token_is_refused_where_others_can_try_it(home):
    with pytest.raises(NotAllowed, match="19 characters"):
        server._token(settings(home, **{"server.token": "m" * 19}), "0.0.0.0")


def test_a_home_that_cannot_keep_a_token_gets_one_for_a_while(home):
    home.write_text("not a folder")
    inside = Settings(
        values={"home": home / "x", "server.token": Secret("")}, origins={}, user_home=home, places={}, plugins={}
    )
    token, own, warning = server._token(inside, "127.0.0.1")
    assert (len(token) >= 43, own) == (True, False)
    assert "Not a directory" in warning


def test_without_a_token_of_your_own_nobody_else_can_reach_it(home):
    for host in ("0.0.0.0", "::", "192.0.2.1", "box.lan"):
        with pytest.raises(NotAllowed) as refused:
            server._token(settings(home), host)
        assert "SOJOURN_TOKEN" in refused.value.hint


@pytest.mark.parametrize("token", ["two words", "zwölf", "a\nb"])
def test_a_token_no_header_can_carry_is_refused(home, token):
    with pytest.raises(BadConfig):
        server._token(settings(home, **{"server.token": token}), "127.0.0.1")


def test_a_taken_port_is_said_to_be_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Conflict, match="taken") as refused:
        server._listen("127.0.0.1", taken.getsockname()[1])
    assert "--port 0" in refused.value.hint


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "256.1.1.1"])
def test_an_address_that_is_not_ours_is_said_to_be(host):
    with pytest.raises(BadInput):
        server._listen(host, 0)


def test_the_address_is_one_that_clients_here_can_use():
    with server._listen("0.0.0.0", 0) as listening:
        port = listening.getsockname()[1]
        assert server._address("0.0.0.0", listening) == f"http://127.0.0.1:{port}"
        assert server._address("::1", listening) == f"http://[::1]:{port}"


def test_a_home_that_cannot_be_written_to_is_no_reason_not_to_serve(home):
    home.write_text("not a folder")
    inside = Settings(values={"home": home / "x"}, origins={}, user_home=home, places={}, plugins={})
    assert "Not a directory" in server._announce(inside, SAID, own_token=False, link="").warning
