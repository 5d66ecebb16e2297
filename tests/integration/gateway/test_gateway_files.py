"""A file from the agent to the chat: a real runtime calls a real tool, asks with a button, and the file is sent."""

import asyncio
from contextlib import asynccontextmanager

from sojourn import config
from sojourn.app import App
from sojourn.gateway.host import Gateway
from sojourn.testing.fake_platform import FakeNetwork, FakePlatform
from sojourn.testing.model_script import Call, Say
from tests.integration.runtimes.native_runtime import openai


@asynccontextmanager
async def chatting(*scripts):
    """A fake network on which the native runtime answers, with a scripted model behind it."""
    with openai() as (model, where):
        model.play(*scripts)
        quick = {"model.detect": False, "agent.titles": False, "agent.runtime": "native", "gateway.owners": "fake:42"}
        kit = App(config.load(quick | {name.replace("__", "."): value for name, value in where.items()}))
        network = FakeNetwork()
        running = asyncio.create_task(Gateway(kit, [FakePlatform(network)]).run())
        try:
            async with asyncio.timeout(60):
                yield network
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await kit.close()


async def until(found):
    while not (value := found()):
        await asyncio.sleep(0.02)
    return value


async def test_the_agent_asks_with_a_button_and_sends_a_file(home, tmp_path):
    picture = tmp_path / "herbs.png"
    picture.write_bytes(b"\x89PNG picture")
    async with chatting([Call("send_file", {"path": str(picture)})], [Say("Here it is.")]) as network:
        network.say("42", "show me the herbs")
        [asked] = await until(lambda: [one for one in network.read_messages("42") if one.buttons])
        network.press(asked, "Allow once")
        await until(lambda: "Here it is." in network.texts("42"))
        [file] = [file for one in network.read_messages("42") for file in one.files]
    assert (file.name, file.media_type, file.data) == ("herbs.png", "image/png", b"\x89PNG picture")
    assert "→ Allow once (Ann)" in network.texts("42")[0]
