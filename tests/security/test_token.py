"""The access token: made once, private, rotated at once, and slow to guess without locking the owner out."""

import json
import os
import stat
import subprocess
import time

import httpx
import pytest

from tests.e2e.http_server import PROGRAM, Serving, start


def run(home, *args, **env):
    done = subprocess.run(
        [PROGRAM, "--home", home, *args], capture_output=True, text=True, timeout=60, env={**os.environ, **env}
    )
    return done.returncode, done.stdout + done.stderr


def test_the_token_survives_a_restart_and_only_its_owner_can_read_it(home):
    with Serving(home) as first:
        token = first.token
    assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600
    with Serving(home) as second:
        assert second.token == token
    assert run(home, "token", "show") == (0, f"{token}\n")
    assert [one.name for one in home.iterdir() if one.name.startswith(".token")] == []


def test_a_token_file_that_others_can_read_is_closed_again(home):
    run(home, "token", "show")
    (home / "token").chmod(0o644)
    run(home, "token", "show")
    assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600


def test_a_token_is_rotated_without_a_server_too(home):
    old = run(home, "token", "show")[1].strip()
    code, said = run(home, "token", "rotate")
    assert (code, said[0]) == (0, "✓")
    new = run(home, "token", "show")[1].strip()
    assert new not in (old, said)
    with Serving(home) as server:
        assert server.token == new


def test_a_broken_token_file_is_said_to_be_broken_and_mended_by_rotating(home):
    home.mkdir(mode=0o700)
    for broken in ("", "short", "two words and more than twenty letters"):
        (home / "token").write_text(broken)
        code, said = run(home, "token", "show")
        assert code == 2
        assert "holds no token" in said
        assert "sojourn token rotate" in said
        assert (home / "token").read_text() == broken  # it is not replaced behind anybody's back
    assert run(home, "token", "rotate")[0] == 0
    assert run(home, "token", "show")[0] == 0


def test_a_link_is_not_followed_to_the_token_of_somebody_else(home, tmp_path):
    home.mkdir(mode=0o700)
    (tmp_path / "else").write_text("a" * 43)
    (home / "token").symlink_to(tmp_path / "else")
    assert run(home, "token", "show")[0] == 2


@pytest.mark.parametrize("env", [{"SOJOURN_TOKEN": "one-that-i-have-chosen"}, {}])
def test_a_token_of_your_own_is_not_rotated(home, env):
    run(home, "token", "show")
    with Serving(home, SOJOURN_TOKEN="one-that-i-have-chosen") as server:
        code, said = run(home, "token", "rotate", **env)
        assert code == 4
        assert "you set yourself" in said
        assert server.get("/api/sessions").status_code == 200
        assert run(home, "token", "show", **env)[1].strip() == "one-that-i-have-chosen"


def test_a_short_token_is_refused_where_other_machines_can_try_it(home):
    process = start("--home", str(home), "serve", "--host", "0.0.0.0", "--port", "0", env={"SOJOURN_TOKEN": "n" * 19})
    out, said = process.communicate(timeout=30)
    assert process.returncode == 8
    assert "19 characters" in said
    assert "ready" not in out
    assert "n" * 19 not in said


def test_wrong_guesses_slow_down_and_the_owner_still_comes_in(home):
    with Serving(home) as server:

        def guess(token):
            began = time.monotonic()
            status = httpx.get(
                f"{server.address}/api/sessions", headers={"Authorization": f"Bearer {token}"}, trust_env=False
            ).status_code
            return status, time.monotonic() - began

        for number in range(16):
            assert guess(f"guess-{number}")[0] == 401
        assert guess("one more")[1] > 1.5
        assert (
            httpx.post(
                f"{server.address}/enter",
                json={"token": "and one"},
                headers={"Origin": server.address},
                trust_env=False,
            ).elapsed.total_seconds()
            > 1.5
        )
        status, seconds = guess(server.token)  # slow, so that nobody learns from the time, but never refused
        assert status == 200
        assert seconds > 1.5
        elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(transport=elsewhere, base_url=server.address, headers=server.client.headers) as owner:
            assert owner.get("/api/sessions").status_code == 200
        assert httpx.get(f"{server.address}/healthz", trust_env=False).status_code == 200
        assert server.log() == ""


def test_the_ready_line_and_server_json_keep_the_address_for_programs(home):
    with Serving(home) as server:
        assert server.address.startswith("http://127.0.0.1:")
        assert json.loads((home / "server.json").read_text())["address"] == server.address
        answer = httpx.get(f"{server.address}/", trust_env=False)
        assert answer.status_code == 200  # a program is never sent elsewhere
