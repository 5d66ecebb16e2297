"""The page that explains how to add a platform: its adapter keeps the contract, and a gateway serves it."""

import asyncio

from sojourn.gateway.connections import list_configured
from sojourn.gateway.host import Gateway
from tests.docs.examples import example_app, run_contract

PAGE = "add-a-platform.md"


def test_the_example_keeps_the_contract(tmp_path):
    run_contract(PAGE, tmp_path)


async def test_a_gateway_serves_the_example(tmp_path, monkeypatch):
    letters = tmp_path / "letters"
    for folder in ("in", "out"):
        (letters / folder).mkdir(parents=True)
    monkeypatch.setenv("SOJOURN_FOLDER_PATH", str(letters))
    async with example_app(PAGE, tmp_path, gateway__owners="folder:ann", agent__runtime="echo") as app:
        assert list_configured(app) == ["local", "folder"]
        running = asyncio.create_task(Gateway(app).run())
        (letters / "in" / "ann-1.txt").write_text("the roses bloom", "utf-8")
        answer = letters / "out" / "ann-1.txt"
        async with asyncio.timeout(30):
            while not (answer.exists() and answer.read_text()):
                await asyncio.sleep(0.05)
        assert answer.read_text() == "the roses bloom"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
