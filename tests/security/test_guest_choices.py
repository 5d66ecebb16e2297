"""A guest chooses no model: the owner pays for what a guest asks."""

from sojourn.core.sessions import Principal
from sojourn.ports.store import Record
from sojourn.testing.fake_platform import BEN
from tests.integration.gateway.test_commands import told
from tests.integration.gateway.worlds import world

GUEST = Principal("guest:fake-43")


async def test_a_guest_in_a_chat_neither_sees_nor_chooses_models(home, store):
    async with world(home, store, gateway_guests="fake:43") as at:
        await at.start()
        for words in ("/model scripted-1", "/model", "/mod openrouter:o3-pro"):
            answer = await told(at, words, by=BEN, chat="43")
            assert "Only the owner may use /model" in answer
            assert "scripted-1" not in answer
        before = len(at.network.texts("43"))
        await told(at, "/help", by=BEN, chat="43")
        await at.quiet()  # it takes several messages
        assert "/model" not in " ".join(at.network.texts("43")[before:])
        await told(at, "hello", by=BEN, chat="43")
        assert at.runtime.seen[-1].model == ""


async def test_what_a_guest_chose_before_is_not_used(home, store):
    async with world(home, store, gateway_guests="fake:43") as at:
        await at.start()
        await told(at, "/template none", by=BEN, chat="43")
        (kept,) = await store.list_records("gateway_choice")
        await store.put_record(
            Record(kind=kept.kind, key=kept.key, value={**kept.value, "model": "dear-1"}, principal=GUEST)
        )
        await told(at, "hello", by=BEN, chat="43")
        assert at.runtime.seen[-1].model == ""
