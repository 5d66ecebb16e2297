"""A network is signed in to by a QR code: in a terminal, and in steps that a browser asks for."""

import asyncio
import os
import pty
import tomllib

from segno import make_qr

from sojourn.text.qr_code import render_code
from tests.e2e.http_server import PROGRAM
from tests.e2e.test_gateway_setup import serving
from tests.servers.weixin import ACCOUNT, ANN, TOKEN, weixin_rig

CONFIRMED = {"status": "confirmed", "bot_token": TOKEN, "ilink_bot_id": ACCOUNT, "ilink_user_id": ANN.id}


def read_kept(home):
    """The settings in the home, which only its owner can read."""
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600
    return tomllib.loads((home / "config.toml").read_text())["plugins"]["weixin"]


async def test_a_code_is_shown_in_the_terminal_and_what_it_gives_is_kept(home):
    async with weixin_rig() as rig:
        rig.server.statuses = [{"status": "need_verifycode"}, {"status": "scaned"}, CONFIRMED]
        controller, terminal = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *(PROGRAM, "--home", home, "gateway", "add", "weixin", "--no-pairing"),
            *("--set", f"base_url={rig.server.url}", "--set", f"cdn_url={rig.server.url}/c2c"),
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)
        shown = await asyncio.to_thread(read_until, controller, b"Type them in.")
        os.write(controller, b"4711\n")
        shown += await asyncio.to_thread(read_until, controller, b"is set up")
        assert await asyncio.wait_for(process.wait(), 60) == 0
        os.close(controller)
        assert rig.server.asked[1]["verify_code"] == "4711"
    text = shown.decode()
    assert "https://weixin.qq.com/x/1" in text
    assert text.count("█") > 50
    assert TOKEN not in text
    kept = read_kept(home)
    assert (kept["token"], kept["account_id"], kept["owner_id"]) == (TOKEN, ACCOUNT, ANN.id)


def read_until(controller, words):
    shown = b""
    while words not in shown:
        shown += os.read(controller, 4096)
    return shown


async def test_a_browser_goes_through_the_same_steps(home):
    async with weixin_rig() as rig, serving(home) as server:

        async def call(path, **body):
            address = f"/api/plugins/gateway/networks/{path}"
            return await asyncio.to_thread(lambda: server.client.post(address, json=body, timeout=60))

        rig.server.statuses = [{"status": "need_verifycode"}, {"status": "scaned"}, CONFIRMED]
        addresses = {"base_url": rig.server.url, "cdn_url": f"{rig.server.url}/c2c"}
        abandoned = (await call("weixin/sign-in", settings=addresses)).json()
        first = (await call("weixin/sign-in", settings=addresses)).json()
        assert (first["scan"], first["is_done"]) == ("https://weixin.qq.com/x/2", False)
        assert first["picture"].startswith("data:image/svg+xml")
        steps = [first]
        while not steps[-1]["is_done"]:
            answer = "4711" if steps[-1]["has_question"] else ""
            steps.append((await call(f"weixin/sign-in/{first['id']}", answer=answer)).json())
        assert [one["has_question"] for one in steps] == [False, True, False, False]
        assert TOKEN not in str(steps)
        assert read_kept(home)["token"] == TOKEN
        await asyncio.wait_for(rig.server.changed.until(lambda: bool(rig.server.lines)), 20)
        for id in (abandoned["id"], first["id"], "x"):
            assert (await call(f"weixin/sign-in/{id}")).status_code == 404
        assert (await call("telegram/sign-in", settings={})).status_code == 400


def test_the_code_in_the_terminal_is_the_code():
    text = "https://weixin.qq.com/x/abcdefghijkl"
    cells = {"█": (0, 0), "▀": (0, 1), "▄": (1, 0), " ": (1, 1)}
    shown = [[cells[one] for one in line[8:-4]] for line in render_code(text).splitlines()]
    rows = [[pair[half] for pair in row] for row in shown for half in (0, 1)]
    expected = [[int(cell) for cell in row] for row in make_qr(text, error="l").matrix_iter(border=2)]
    assert rows[: len(expected)] == expected
