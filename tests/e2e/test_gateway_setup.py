"""A network is set up beside a running server, which serves it at once, without a restart."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
from contextlib import asynccontextmanager

import pytest

from tests.e2e.http_server import PROGRAM, Serving
from tests.e2e.test_cli_terminal import Person
from tests.servers.ntfy import TOKEN as NTFY_TOKEN
from tests.servers.ntfy import NtfyHarness
from tests.servers.telegram import ANN, NAME, TOKEN, telegram_rig


@pytest.fixture
async def rig():
    async with telegram_rig() as harness:
        yield harness


@asynccontextmanager
async def serving(home):
    """A server that is started and stopped while the rig, in this loop, goes on."""
    server = await asyncio.to_thread(Serving, home)
    try:
        yield server
    finally:
        await asyncio.to_thread(server.stop)
        server.__exit__(None, None, None)


async def run(home, *args):
    """The program's exit code and what it printed; the rig goes on meanwhile."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "--home", home, *args, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out.decode(), err.decode()


async def until(condition, seconds=20):
    async with asyncio.timeout(seconds):
        while not (found := await condition()):
            await asyncio.sleep(0.05)
    return found


async def test_a_network_is_added_used_and_removed_while_the_server_runs(home, rig):
    async with serving(home) as server:
        settings = ("--set", f"token={TOKEN}", "--set", f"base_url={rig.server.url}")
        code, out, err = await run(home, "gateway", "add", "telegram", *settings)
        assert (code, err) == (0, "")
        assert f"https://t.me/{NAME}" in out
        assert TOKEN not in out + err
        assert (home / "config.toml").stat().st_mode & 0o777 == 0o600
        await asyncio.wait_for(rig.until_listening(), 20)
        await rig.server.say(501, None, ANN, text="hello")

        async def answered():
            return [one for one in rig.server.posts.get((501, None), []) if one.by != ANN.id]

        [answer] = await until(answered)
        assert "sojourn gateway pair" in answer.text
        code, out, err = await run(home, "gateway", "test", "telegram", "--to", "501")
        assert (code, err) == (0, "")
        assert "test message" in rig.server.posts[501, None][-1].text
        listed = json.loads((await run(home, "gateway", "list", "--json"))[1])
        assert [one["is_configured"] for one in listed if one["name"] == "telegram"] == [True]
        assert TOKEN not in json.dumps(listed)
        assert (await run(home, "gateway", "remove", "telegram"))[0] == 0
        assert "telegram" not in (home / "config.toml").read_text()

        async def is_gone():
            status = await asyncio.to_thread(lambda: server.get("/api/plugins/gateway/status").json())
            return all("telegram" not in one["lines"] for one in status["gateways"])

        await until(is_gone)


async def test_a_refused_token_is_not_kept(home, rig):
    settings = ("--set", "token=700100:wrong", "--set", f"base_url={rig.server.url}")
    code, _, err = await run(home, "gateway", "add", "telegram", *settings)
    assert code not in (0, 1)
    assert "refuses the token" in err.lower() or "token" in err.lower()
    assert not (home / "config.toml").exists()


async def test_the_api_offers_the_same_steps(home, rig):
    async with serving(home) as server:

        def call(method, path, **given):
            return server.client.request(method, f"/api/plugins/gateway/networks{path}", **given)

        listed = await asyncio.to_thread(call, "GET", "")
        [telegram] = [one for one in listed.json() if one["name"] == "telegram"]
        [token] = [one for one in telegram["fields"] if one["is_required"]]
        assert (token["name"], token["is_secret"], "@BotFather" in token["where"]) == ("token", True, True)
        good = {"settings": {"token": TOKEN, "base_url": rig.server.url}}
        wrong = {"settings": {"token": "700100:wrong", "base_url": rig.server.url}}
        assert (await asyncio.to_thread(call, "PUT", "/telegram", json=wrong)).status_code >= 400
        checked = await asyncio.to_thread(call, "POST", "/telegram/check", json=good)
        assert checked.json()["profile"]["address"].endswith(NAME)
        assert not (home / "config.toml").exists()
        assert (await asyncio.to_thread(call, "PUT", "/telegram", json=good)).status_code == 200
        await asyncio.wait_for(rig.until_listening(), 20)
        assert TOKEN not in (await asyncio.to_thread(call, "GET", "")).text
        unknown = await asyncio.to_thread(call, "PUT", "/telegram", json={"settings": {"tokn": "x"}})
        assert (unknown.status_code, "tokn" in unknown.text) == (400, True)
        assert (await asyncio.to_thread(call, "DELETE", "/telegram")).status_code == 204


async def pair(rig, code):
    """Ann opens the bot by the link that was shown."""
    await rig.server.say(501, None, ANN, text=f"/start {code}")

    async def answered():
        return [one for one in rig.server.posts.get((501, None), []) if "You are paired" in one.text]

    await until(answered)


async def test_the_owner_is_paired_by_a_link_at_the_terminal_without_any_server(home, rig):
    settings = ("--set", f"token={TOKEN}", "--set", f"base_url={rig.server.url}")
    person = Person("--home", str(home), "gateway", "add", "telegram", *settings)
    await asyncio.to_thread(person.sees, "Waiting")
    [code] = re.findall(rf"https://t\.me/{NAME}\?start=(\w+)", person.seen)
    assert "▄▄▄▄▄" in person.seen  # its QR code
    await pair(rig, code)
    await asyncio.to_thread(person.sees, "You are paired")
    assert await asyncio.to_thread(person.leaves) == 0
    code, out, err = await run(home, "gateway", "test", "telegram")
    assert (code, err, "sent to Ann" in out) == (0, "", True)


async def test_a_token_that_is_refused_at_the_terminal_is_asked_for_again(home, rig):
    address = f"base_url={rig.server.url}"
    person = Person("--home", str(home), "gateway", "add", "telegram", "--set", address, "--no-pairing")
    await asyncio.to_thread(person.sees, "Bot token")
    person.types("700100:wrong\n")
    await asyncio.to_thread(person.sees, "Try again")
    person.seen = person.seen.partition("Try again")[2]
    await asyncio.to_thread(person.sees, "Bot token")  # what is typed before the prompt is thrown away
    person.types(f"{TOKEN}\n")
    await asyncio.to_thread(person.sees, "is set up")
    assert await asyncio.to_thread(person.leaves) == 0
    assert (home / "config.toml").exists()


async def test_a_wrong_address_is_asked_for_again_and_the_rest_is_remembered(home):
    async with NtfyHarness() as topic:
        person = Person("--home", str(home), "gateway", "add", "ntfy", "--set", f"token={NTFY_TOKEN}", "--no-pairing")
        for question, answer in {
            "Topic": "garden",
            "[https://ntfy.sh]": "http://127.0.0.1:9",  # not required, but asked for
            "[garden]": "",
            "[http://127.0.0.1:9]": topic.url,
        }.items():
            await asyncio.to_thread(person.sees, question)
            person.types(f"{answer}\n")
        await asyncio.to_thread(person.sees, "ntfy is set up: garden")
        assert await asyncio.to_thread(person.leaves) == 0
        assert f'server = "{topic.url}"' in (home / "config.toml").read_text()


async def test_the_api_pairs_tests_and_shows_the_line(home, rig):
    async with serving(home) as server:

        async def call(method, path, **given):
            asked = lambda: server.client.request(method, f"/api/plugins/gateway{path}", **given)  # noqa: E731
            return (await asyncio.to_thread(asked)).raise_for_status().json()

        good = {"settings": {"token": TOKEN, "base_url": rig.server.url}}
        added = await call("PUT", "/networks/telegram", json=good)
        assert added["profile"]["start_link"] == f"https://t.me/{NAME}?start={{code}}"
        await asyncio.wait_for(rig.until_listening(), 20)
        assert await call("POST", "/networks/telegram/packages") == {"installed": []}
        invitation = await call("POST", "/networks/telegram/invitation")
        assert invitation["link"] == f"https://t.me/{NAME}?start={invitation['code']}"
        assert invitation["picture"].startswith("data:image/svg")
        await pair(rig, invitation["code"])
        [paired] = (await call("GET", "/people"))["paired"]
        assert (paired["platform"], paired["sender"], paired["principal"]) == ("telegram", "501", "owner")
        assert (await call("POST", "/networks/telegram/test"))["sent_to"] == "Ann"
        rows = await call("GET", "/outbox")
        assert "test message" in rows[0]["text"]  # the gateway sent it, over its own connection

        async def is_up():
            [telegram] = [one for one in await call("GET", "/networks") if one["name"] == "telegram"]
            return telegram["line"] and telegram["line"]["state"] == "up"

        await until(is_up)
        assert "✓ telegram" in (await run(home, "gateway", "list"))[1]


def test_a_secret_that_is_typed_is_not_shown(home):
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "--home", home, "gateway", "add", "telegram", "--set", "base_url=http://127.0.0.1:9"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    while b"Bot token" not in shown:
        shown += os.read(controller, 4096)
    os.write(controller, TOKEN.encode() + b"\n")
    while b"Try again" not in shown:  # nobody answers at that address
        shown += os.read(controller, 4096)
    process.send_signal(signal.SIGINT)
    process.wait(60)
    try:
        while piece := os.read(controller, 4096):
            shown += piece
    except OSError:  # the terminal is closed
        pass
    os.close(controller)
    assert b"@BotFather" in shown
    assert TOKEN.encode() not in shown
    assert process.returncode != 0
