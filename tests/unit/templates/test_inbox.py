"""Suggestions wait; what a person decided stays decided."""

from dataclasses import replace

import pytest

from sojourn.core.errors import Conflict, NotFound
from sojourn.templates.effectiveness import SessionOutcome
from sojourn.templates.erase import forget_in
from sojourn.templates.file_library import FolderLibrary
from sojourn.templates.library import About, StoredTemplate
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
from sojourn.templates.suggestions import Suggestion, SuggestionInbox

EXAMPLES = [ToolCallExample("terminal", {"command": "ls"}, "a")]


def idea(id="aaaa1111", shape="a → b", sessions=4, evidence=(("s1", 3), ("s2", 0))):
    template = SessionTemplate("idea", TaskType.TERMINAL, list(EXAMPLES), source_session_id="s1")
    return Suggestion(
        id=id, shape=shape, sessions=sessions, evidence=evidence, template=template, requests=("list it",), score=2.5
    )


@pytest.fixture
def library(tmp_path):
    return FolderLibrary(tmp_path)


@pytest.fixture
def inbox(library):
    return SuggestionInbox(library)


async def test_a_suggestion_is_kept_whole_and_found_by_the_beginning_of_its_id(inbox):
    await inbox.fill([idea()])
    assert (await inbox.get("aaaa")).to_dict() == idea().to_dict() | {
        "template": (await inbox.get("aaaa")).template.to_dict()
    }
    with pytest.raises(NotFound):
        await inbox.get("a")


async def test_mining_again_replaces_what_waited(inbox):
    await inbox.fill([idea(), idea("bbbb2222", "c → d")])
    await inbox.fill([idea("bbbb2222", "c → d", sessions=9)])
    assert [(one.id, one.sessions) for one in await inbox.waiting()] == [("bbbb2222", 9)]


async def test_what_waits_from_another_history_stays(inbox):
    await inbox.fill([idea()])
    await inbox.fill([idea("bbbb2222", "c → d")], home="/their/home")
    assert {one.id: one.home for one in await inbox.waiting()} == {"aaaa1111": "", "bbbb2222": "/their/home"}
    await inbox.fill([], home="/their/home")
    assert [one.id for one in await inbox.waiting()] == ["aaaa1111"]


async def test_mining_again_leaves_an_edit_as_it_is_and_only_adds_evidence(inbox):
    await inbox.fill([idea(), idea("bbbb2222", "c → d")])
    mine = replace(idea().template, name="mine", description="my own words")
    for id in ("aaaa1111", "bbbb2222"):
        await inbox.put(replace(await inbox.get(id), template=mine, edited=True))
    await inbox.fill([idea(sessions=9)])
    assert [(one.id, one.sessions, one.template.name) for one in await inbox.waiting()] == [
        ("aaaa1111", 9, "mine"),
        ("bbbb2222", 4, "mine"),
    ]


async def test_one_is_approved_once(inbox):
    await inbox.fill([idea()])
    await inbox.approve("aaaa1111", name="mine")
    with pytest.raises(Conflict, match='already a template "mine"'):
        await inbox.approve("aaaa1111", name="again")


async def test_an_approved_one_becomes_a_template_and_is_not_suggested_again(inbox, library):
    await inbox.fill([idea()])
    kept = await inbox.approve("aaaa1111", name="mine")
    assert kept.template.name == "mine"
    assert (await library.get("mine")).about == About(requests=("list it",), sessions=("s1", "s2"), shape="a → b")
    await inbox.fill([idea(sessions=99)])
    assert await inbox.waiting() == []
    await library.note("suggestion", "aaaa1111", None)
    await inbox.fill([idea()])  # the template itself is known by its shape, too
    assert await inbox.waiting() == []


async def test_a_rejected_one_comes_back_when_its_evidence_has_doubled(inbox):
    await inbox.fill([idea(sessions=4)])
    await inbox.reject("aaaa1111")
    await inbox.fill([idea(sessions=7)])
    assert await inbox.waiting() == []
    await inbox.fill([idea(sessions=8)])
    assert [one.sessions for one in await inbox.waiting()] == [8]


async def test_never_means_never(inbox):
    await inbox.fill([idea()])
    await inbox.reject("aaaa1111", never=True)
    await inbox.fill([idea(sessions=1000)])
    assert await inbox.waiting() == []


async def test_a_note_that_cannot_be_read_hides_no_other(inbox, library):
    await inbox.fill([idea()])
    await library.note("suggestion", "broken", {"id": 3})
    await library.note("suggestion", "worse", [1])
    assert [one.id for one in await inbox.waiting()] == ["aaaa1111"]


async def test_forgetting_a_session_takes_everything_that_came_from_it(inbox, library):
    made = SessionTemplate("made", TaskType.CODE, list(EXAMPLES), source_session_id="s1")
    other = replace(made, name="other", source_session_id="s9")
    await library.save(StoredTemplate(made, About(requests=("secret wish",), sessions=("s1",))))
    await library.save(StoredTemplate(other, About(requests=("secret wish",), sessions=("s9", "s1"))))
    await inbox.fill([idea()])
    await library.note("outcome", "s1", SessionOutcome(session="s1", turns=1).to_dict())
    changed = await forget_in(library, "s1")
    assert changed == ["template made", "template other", "suggestion aaaa1111", "what became of it with templates"]
    left = b"".join(file.read_bytes() for file in library.folder.rglob("*") if file.is_file())
    assert b"s1" not in left
    assert b"secret wish" not in left
    assert await forget_in(library, "s1") == []
