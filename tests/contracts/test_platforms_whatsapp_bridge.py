"""whatsapp_bridge: our Node program and adapter, with a stand-in for the library that speaks to WhatsApp."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.errors import BadConfig, BadInput, KeyRefused, MissingPackage
from sojourn.core.places import Place
from sojourn.platforms.whatsapp_bridge import RISK, WhatsappBridgeSettings
from sojourn.platforms.whatsapp_bridge.adapter import WhatsappBridge
from sojourn.platforms.whatsapp_bridge.sign_in import sign_in
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.adapter_context import AdapterKit
from tests.servers.whatsapp_bridge import OUR_LID, BridgeHarness


@pytest.fixture
async def harness() -> AsyncIterator[BridgeHarness]:
    async with BridgeHarness() as harness:
        yield harness


@pytest.fixture
async def adapter(harness: BridgeHarness) -> AsyncIterator[WhatsappBridge]:
    made = harness.connect()
    yield made
    await made.close()


class TestWhatsappBridge(PlatformContract):
    pass


def at(chat: str) -> Place:
    return Place(platform="whatsapp_bridge", chat=chat)


async def test_of_a_personal_account_only_the_chat_with_oneself_is_read(harness: BridgeHarness):
    ann = harness.people[0]
    linked = harness.connect(linked=True)
    async with listening(harness, linked) as ear:
        await harness.write(at(ann.id), "hi, it's Ann", ann)
        await harness.write(at(ann.id), "hi Ann", ann, from_me=True)  # from the person's phone
        await harness.write(at(OUR_LID), "note to self", ann, from_me=True)
        heard = await ear.hear()
        assert (heard.text, heard.place.chat, linked.info.owner) == ("note to self", OUR_LID, OUR_LID)
        await linked.send(heard.place, "noted")
        await ear.hears_nothing()
    await linked.close()


async def test_what_is_not_understood_does_not_stop_the_line(harness: BridgeHarness, adapter: WhatsappBridge):
    async with listening(harness, adapter) as ear:
        nonsense: list[dict[str, Any]] = [
            {"key": {}},
            {"key": {"remoteJid": "1@lid", "id": "x"}, "message": {"conversation": {}}},
        ]
        for message in nonsense:
            await harness._tell({"message": message})
        await harness._tell({"message": {"key": {"remoteJid": "1@lid"}, "message": {"imageMessage": None}}, "noise": 1})
        await harness.write(at("1001@lid"), "still there?", harness.people[0])
        texts = [(await ear.hear()).text]
        while texts[-1] != "still there?":
            texts.append((await ear.hear()).text)
    assert len(texts) <= 3


async def test_a_device_that_was_signed_out_says_so(harness: BridgeHarness, adapter: WhatsappBridge):
    messages = adapter.listen()
    waiting = asyncio.ensure_future(anext(messages))
    await harness.until_listening()
    await harness.sign_out()
    with pytest.raises(KeyRefused, match="signed this device out"):
        await waiting
    await messages.aclose()


async def test_the_program_has_none_of_our_secrets_and_ends_with_us(
    harness: BridgeHarness, adapter: WhatsappBridge, monkeypatch
):
    monkeypatch.setenv("SOJOURN_TELEGRAM_TOKEN", "700:secret")
    async with listening(harness, adapter):
        child = adapter._bridge._child
        assert child is not None
        pids = child._tree()
        environments = [Path(f"/proc/{pid}/environ").read_bytes() for pid in pids]
        assert len(pids) >= 2
        assert not any(b"700:secret" in one for one in environments)
    assert child._tree() == []


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"accept_risk": False}, BadConfig, "closes accounts"),
        ({"node": "no-such-node"}, MissingPackage, "Node"),
        ({"folder": Path("/nowhere")}, MissingPackage, "Baileys"),
    ],
)
async def test_what_is_missing_is_said(harness: BridgeHarness, given, error, words):
    settings = {"accept_risk": True, "folder": harness._folder / "signed-in", "node": harness._node} | given
    kit = AdapterKit(WhatsappBridgeSettings(**settings))
    with pytest.raises(error, match=words):
        await WhatsappBridge(kit).identify()
    await kit.close()


async def test_a_sign_in_warns_first_and_shows_a_code(harness: BridgeHarness):
    steps = sign_in({"folder": str(harness._folder / "new"), "node": harness._node})
    assert RISK in (await anext(steps)).text
    step = await steps.asend("yes")
    assert (step.scan, step.settings) == ("2@not,a,real,code", None)
    await steps.aclose()


async def test_a_sign_in_ends_without_a_yes(harness: BridgeHarness):
    steps = sign_in({"folder": str(harness._folder / "signed-in")})
    await anext(steps)
    with pytest.raises(BadInput):
        await steps.asend("maybe")


async def test_a_sign_in_ends_with_what_is_kept(harness: BridgeHarness):
    folder = str(harness._folder / "signed-in")
    steps = sign_in({})
    await anext(steps)
    assert (await steps.asend("YES")).has_question
    step = await steps.asend(folder)
    assert step.settings == {"accept_risk": "yes", "folder": folder}
    await steps.aclose()
