"""The rolling summary of a long conversation."""

import pytest

from sojourn.context.summary import (
    RECENT_MESSAGES,
    REFRESH_AFTER_MESSAGES,
    ConversationSummary,
    extract_summary,
    split_sentences,
)
from sojourn.core.errors import RuntimeUnreachable
from sojourn.core.messages import Message
from sojourn.ports.runtime import RuntimeStatus
from sojourn.text.token_count import estimate_tokens
from tests.unit.context.worlds import lease_of, log_of, request, told

LINES = [f"line {n}: the harbour bridge needs {n} new bolts and some patience." for n in range(20)]


class Scribe:
    """A runtime that can answer a plain question, or cannot."""

    name, label, takes_tool_history = "scribe", "Scribe", False

    def __init__(self, *, ok=True, fails=False):
        self.ok, self.fails, self.read = ok, fails, []

    async def ready(self):
        return RuntimeStatus(ok=self.ok)

    async def complete(self, instructions, text, *, most_tokens=400):
        self.read.append(text)
        if self.fails:
            raise RuntimeUnreachable("gone")
        return "They talked about a bridge."

    async def close(self):
        pass


async def summarised(kit, *, runtime=""):
    session = await told(kit, *LINES)
    source = ConversationSummary(kit)
    await source.after(await request(kit, session, "and now?", runtime=runtime), [], "completed")
    return session, source


async def test_a_short_conversation_gets_none(make_kit):
    kit = make_kit()
    session, source = await summarised(kit)
    assert await kit.store.get_record("summary", session.id) is None
    assert (await source.contribute(await request(kit, session, "and now?"))).blocks == ()


async def test_a_long_one_is_summarised_without_any_model(make_kit):
    kit = make_kit(memory_summary_tokens=200)
    session, source = await summarised(kit)
    (block,) = (await source.contribute(await request(kit, session, "and now?"))).blocks
    assert "Asked so far:" in block.text
    assert "bridge" in block.text
    assert (
        block.origin == f"the first {len(LINES) - RECENT_MESSAGES} messages of session {session.id}, its main sentences"
    )


async def test_a_runtime_that_is_ready_writes_it_and_goes_on_from_there(make_kit):
    scribe = Scribe()
    kit = make_kit(memory_summary_tokens=200, runtimes=[scribe])
    session, source = await summarised(kit, runtime="scribe")
    await told(kit, *LINES[:REFRESH_AFTER_MESSAGES], session=session)
    await source.after(await request(kit, session, "more", runtime="scribe"), [], "completed")
    assert "Summary so far:\nThey talked about a bridge." in scribe.read[1]
    (block,) = (await source.contribute(await request(kit, session, "and now?"))).blocks
    assert block.text == "They talked about a bridge."


@pytest.mark.parametrize("scribe", [Scribe(ok=False), Scribe(fails=True)])
async def test_without_a_ready_runtime_the_main_sentences_do(make_kit, scribe):
    kit = make_kit(memory_summary_tokens=200, runtimes=[scribe])
    session, _ = await summarised(kit, runtime="scribe")
    assert (await kit.store.get_record("summary", session.id)).value["by"] == "extract"


async def test_a_model_is_not_asked_where_the_person_said_no(make_kit):
    scribe = Scribe()
    kit = make_kit(memory_summary_tokens=200, memory_model_summaries=False, runtimes=[scribe])
    await summarised(kit, runtime="scribe")
    assert scribe.read == []


async def test_what_was_undone_does_not_come_back_through_the_summary(make_kit):
    kit = make_kit(memory_summary_tokens=200)
    session, source = await summarised(kit)
    lease = await lease_of(kit, session)
    second = (await log_of(kit, session))[1].seq
    await kit.store.set_flags(lease, [second], active=False, compacted=False)
    assert (await source.contribute(await request(kit, session, "and now?"))).blocks == ()


async def test_it_goes_with_its_session(make_kit):
    kit = make_kit(memory_summary_tokens=200)
    session, _ = await summarised(kit)
    await kit.store.delete(session.id)
    assert await kit.store.get_record("summary", session.id) is None


async def test_a_turn_that_failed_teaches_nothing(make_kit):
    kit = make_kit(memory_summary_tokens=200)
    session = await told(kit, *LINES)
    await ConversationSummary(kit).after(await request(kit, session, "x"), [], "failed")
    assert await kit.store.get_record("summary", session.id) is None


@pytest.mark.parametrize("most", [30, 120, 500])
def test_an_extract_keeps_within_its_length(most):
    assert estimate_tokens(extract_summary([Message(role="user", content=line) for line in LINES], most)) <= most


def test_code_is_no_sentence():
    assert split_sentences("Open the valve first.\n```\nclose the lid\n```\nThen check the pressure!") == [
        "Open the valve first.",
        "Then check the pressure!",
    ]
