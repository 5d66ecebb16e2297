"""Titles from the first request, and better ones."""

import pytest

from sojourn.core.errors import RuntimeFailed
from sojourn.testing.scripted_runtime import ScriptedRuntime
from sojourn.testing.service_steps import opened, talk
from sojourn.turn_support.session_titles import title_from_request


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Plan the garden.", "Plan the garden"),
        ("\n\n# Plan   the garden\nsecond line", "Plan the garden"),
        ("one two three four five six seven eight nine", "one two three four five six seven eight…"),
        ("x" * 200, "x" * 59 + "…"),
        ("", ""),
        ("***", ""),
    ],
)
def test_the_opening_words_make_a_title(said, title):
    assert title_from_request(said) == title


class Namer(ScriptedRuntime):
    """Finds titles."""

    def __init__(self, answer) -> None:
        super().__init__()
        self.answer = answer

    async def complete(self, instructions, text, *, most_tokens=400):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ('"Tomato beds"\n', "Tomato beds"),
        ("", "plan the garden"),
        ("x" * 300, "plan the garden"),
        (RuntimeFailed("No."), "plan the garden"),
    ],
)
async def test_a_runtime_that_can_finds_a_better_title(serve, answer, title):
    service = serve(runtimes=[Namer(answer)])
    session = await opened(service)
    await talk(service, session, "plan the garden")
    await service.settle()
    assert (await service.get(session)).title == title


async def test_no_better_title_is_looked_for_when_the_person_does_not_want_one(serve):
    service = serve(runtimes=[Namer("Better")], agent_titles=False)
    session = await opened(service)
    await talk(service, session, "plan the garden")
    await service.settle()
    assert (await service.get(session)).title == "plan the garden"
