"""The page that explains how to add a runtime: its example keeps the contract and answers a turn."""

from sojourn.core.messages import Message
from sojourn.testing.service_steps import opened, talk
from tests.docs.examples import example_app, run_contract

PAGE = "add-a-runtime.md"


def test_the_example_keeps_the_contract(tmp_path):
    run_contract(PAGE, tmp_path)


async def test_the_example_answers_a_turn(tmp_path, monkeypatch):
    monkeypatch.setenv("SOJOURN_PROGRAM_COMMAND", "tr a-z A-Z")
    async with example_app(PAGE, tmp_path, agent__runtime="program") as app:
        assert "program" in app.runtime_names()
        kept = await talk(app.service, await opened(app.service), "hello")
        texts = [one.item.content for one in kept if isinstance(one.item, Message) and one.item.role == "assistant"]
        assert texts == ["HELLO"]
