"""Service contract, libraries and exports: facts, skills, templates and transcripts, in every implementation alike.

Needs the fixture `home`: the folder in which the service finds skills (`skills/`) and templates
(`session-templates/`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn.core.errors import BadInput, NotFound
from sojourn.ports.libraries import Skill, SkillProblem
from sojourn.ports.service import Service
from sojourn.testing.service_steps import GUEST, ME, NOBODY, opened, talk

_SKILL = "---\nname: pruning\ndescription: Prunes roses.\n---\nCut above a bud."


def write_skill(home: Path, name: str, text: str) -> None:
    folder = home / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)


class ServiceLibrariesContract:
    """What chat commands ask besides sessions and turns."""

    async def test_a_question_is_answered_from_what_was_said(self, service: Service) -> None:
        session = await opened(service)
        await talk(service, session, "The ferry to the island is painted green.")
        answer = await service.ask("which colour did the ferry have?")
        assert answer.found
        assert "The ferry to the island is painted green." in {quote.text for quote in answer.quotes}
        assert {quote.session for quote in answer.quotes} == {session}
        assert not (await service.ask("which colour did the ferry have?", principal=GUEST.principal)).found
        nothing = await service.ask("who won the chess tournament in Reykjavik?")
        assert (nothing.found, nothing.quotes) == (False, ())

    async def test_a_fact_is_added_edited_found_and_deleted(self, service: Service) -> None:
        assert await service.list_facts() == []
        fact = await service.add_fact("I grow roses", why="the garden")
        assert (fact.text, fact.why) == ("I grow roses", "the garden")
        assert (await service.add_fact("i grow ROSES")).id == fact.id
        other = await service.add_fact("I live in Ghent")
        assert [one.id for one in await service.list_facts()] == [fact.id, other.id]
        assert [one.id for one in await service.list_facts(text="roses")] == [fact.id]
        assert (await service.edit_fact(fact.id, "I grow tulips")).text == "I grow tulips"
        assert (await service.delete_fact(fact.id)).text == "I grow tulips"
        assert [one.id for one in await service.list_facts()] == [other.id]

    async def test_facts_that_cannot_be(self, service: Service) -> None:
        with pytest.raises(BadInput):
            await service.add_fact("   ")
        for act in (service.edit_fact("00000000", "x"), service.delete_fact("00000000")):
            with pytest.raises(NotFound):
                await act

    async def test_everybody_has_facts_of_their_own(self, service: Service) -> None:
        mine = await service.add_fact("I grow roses")
        await service.add_fact("I am a guest", principal=GUEST.principal)
        assert [one.text for one in await service.list_facts()] == ["I grow roses"]
        assert [one.text for one in await service.list_facts(principal=GUEST.principal)] == ["I am a guest"]
        with pytest.raises(NotFound):
            await service.delete_fact(mine.id, principal=GUEST.principal)

    async def test_skills_are_listed_without_and_read_with_their_body(self, service: Service, home: Path) -> None:
        assert await service.list_skills() == []
        with pytest.raises(NotFound, match="pruning"):
            await service.get_skill("pruning")

    async def test_a_skill_that_cannot_be_used_says_why(self, service: Service, home: Path) -> None:
        write_skill(home, "pruning", _SKILL)
        write_skill(home, "torn", "no head")
        found = await service.list_skills()
        assert [(one.name, one.description, one.body) for one in found if isinstance(one, Skill)] == [
            ("pruning", "Prunes roses.", "")
        ]
        assert [Path(one.path).parent.name for one in found if isinstance(one, SkillProblem)] == ["torn"]
        assert (await service.get_skill("pruning")).body == "Cut above a bud."

    async def test_templates_are_listed_and_unreadable_ones_name_their_problem(
        self, service: Service, home: Path
    ) -> None:
        assert await service.list_templates() == []
        folder = home / "session-templates"
        folder.mkdir(parents=True, exist_ok=True)
        example = {"tool_name": "read_file", "arguments": {"path": "a"}, "result": "hello"}
        template = {"name": "reading", "task_type": "file", "examples": [example], "description": "Reads a file."}
        (folder / "reading.json").write_text(json.dumps(template))
        (folder / "torn.json").write_text("{")
        reading, torn = await service.list_templates()
        assert (reading.name, reading.kind, reading.description) == ("reading", "file", "Reads a file.")
        assert (reading.examples, reading.problem) == (1, "")
        assert torn.name == "torn"
        assert torn.problem

    async def test_a_session_is_exported_for_people_and_for_programs(self, service: Service) -> None:
        session = await opened(service, title="roses")
        await talk(service, session, "hello")
        await talk(service, session, "undone words")
        await service.undo(session, ME)
        text = await service.export(session)
        assert text.startswith("# roses\n")
        assert "hello" in text
        assert "undone words" not in text
        whole = json.loads(await service.export(session, "jsonl"))
        assert (whole["id"], whole["title"]) == (session, "roses")
        asked = [one["content"] for one in whole["messages"] if one["role"] == "user"]
        assert asked == ["hello", "undone words"]

    async def test_an_export_shows_no_session_of_others(self, service: Service) -> None:
        with pytest.raises(NotFound):
            await service.export(NOBODY)
        with pytest.raises(NotFound):
            await service.export(await opened(service), principal=GUEST.principal)
