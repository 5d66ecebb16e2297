"""session_search, memory, todo, skills: what the agent knows."""

import json

import pytest

from sojourn.core.messages import assistant, user
from sojourn.core.sessions import Principal
from tests.integration.tools.tool_workspace import Room

SKILL = "---\nname: {0}\ndescription: How to {0}.\n---\nDo {0} step by step.\n"


async def talk(kit, *texts, title=None, principal=None):
    session = await kit.store.create(title=title, **({"principal": principal} if principal else {}))
    lease = await kit.store.lease(session.id, holder="test", surface="cli")
    items = [user(text) if n % 2 == 0 else assistant(text) for n, text in enumerate(texts)]
    await kit.store.append(lease, items)
    await kit.store.renew(lease, 0)
    return session


async def test_earlier_session_is_found_with_title_day_and_place(kit, use):
    session = await talk(kit, "how do I prune the roses", "in March", title="Garden")
    told = await use("session_search", query="roses")
    assert '"Garden"' in told.text
    assert f"[{session.id} number 1]" in told.text
    assert told.facts == {"found": 1, "sessions": 1, "duration": told.facts["duration"]}


async def test_part_of_a_session_is_shown_around_a_number(kit, use):
    session = await talk(kit, *(f"message {n}" for n in range(40)), title="Long")
    told = await use("session_search", session=session.id, around=20)
    assert "message 19" in told.text
    assert "message 5\n" not in told.text
    assert "messages 14 to 26 of 40" in told.text
    beginning = await use("session_search", session="Long")
    assert "message 0" in beginning.text


async def test_sessions_of_others_are_not_found(kit, use, guest):
    session = await talk(kit, "the safe is behind the picture", title="Secret")
    assert "Nothing was said" in (await use("session_search", at=guest, query="safe")).text
    assert not (await use("session_search", at=guest, session=session.id)).ok
    assert not (await use("session_search", at=guest, session="Secret")).ok


async def test_search_without_words_is_explained(use):
    told = await use("session_search", query="  ")
    assert not told.ok
    assert "Give a query" in told.text


async def test_facts_are_added_listed_changed_and_deleted(kit, use, room):
    told = await use("memory", action="add", text="Likes  tea\nwithout milk", why="said so")
    id = told.facts["id"]
    record = await kit.store.get_record("fact", f"owner/{id}")
    assert record.value == {"text": "Likes tea without milk", "why": "said so", "source_session": room.session}
    assert f"{id}: Likes tea" in (await use("memory", action="list")).text
    assert "already" in (await use("memory", action="add", text="likes tea without milk")).text
    await use("memory", action="edit", id=id, text="Likes coffee")
    assert (await use("memory", action="list")).text == f"{id}: Likes coffee"
    await use("memory", action="delete", id=id)
    assert (await use("memory", action="list")).text == "Nothing is remembered yet."
    assert room.asked == []


@pytest.mark.parametrize(
    "given",
    [
        {"action": "add", "text": ""},
        {"action": "add", "text": "x" * 3000},
        {"action": "add", "text": "my password: hunter2hunter2"},
        {"action": "edit", "id": "nothing", "text": "x"},
        {"action": "delete", "id": "../x"},
        {"action": "dance"},
    ],
    ids=lambda given: json.dumps(given)[:40],
)
async def test_wrong_use_of_memory_is_explained(use, given):
    assert not (await use("memory", **given)).ok


@pytest.mark.parametrize("settings", [{"tools.guest_tools": "memory"}], indirect=True)
async def test_facts_are_each_persons_own(use, guest):
    id = (await use("memory", action="add", text="The safe is behind the picture")).facts["id"]
    assert "Nothing" in (await use("memory", at=guest, action="list")).text
    assert not (await use("memory", at=guest, action="delete", id=id)).ok


async def test_todo_list_is_kept_per_session(kit, use, room, tmp_path):
    items = [{"text": "dig", "state": "done"}, {"text": "plant"}]
    told = await use("todo", items=items)
    assert told.text == "[x] dig\n[ ] plant"
    assert (await use("todo")).text == told.text
    other = Room(root=tmp_path, session=(await kit.store.create()).id)
    assert (await use("todo", at=other)).text == "The list is empty."
    await kit.store.delete(room.session)
    assert await kit.store.get_record("todo", room.session) is None


@pytest.mark.parametrize("items", ["dig", [{"text": ""}], [{"state": "open"}], [{"text": "x", "state": "later"}], [3]])
async def test_wrong_todo_is_explained(use, items):
    assert not (await use("todo", items=items)).ok


@pytest.fixture
def skills(kit):
    folder = kit.settings.home / "skills"
    for name in ("weeding", "writing/letters"):
        place = folder / name
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(SKILL.format(name.rpartition("/")[2]))
    (folder / "weeding" / "references").mkdir()
    (folder / "weeding" / "references" / "tools.md").write_text("A hoe.")
    (folder / "broken").mkdir()
    (folder / "broken" / "SKILL.md").write_text("no head")
    return folder


async def test_skills_are_listed_and_broken_ones_reported(use, skills):
    told = await use("skills_list")
    assert "- letters: How to letters." in told.text
    assert "- weeding: How to weeding." in told.text
    assert "Not usable:" in told.text
    assert "broken/SKILL.md" in told.text
    assert told.facts["skills"] == 2
    assert "weeding" not in (await use("skills_list", about="letters")).text.split("Not usable")[0]


async def test_skill_is_shown_with_its_files(use, skills, room):
    told = await use("skill_view", name="weeding")
    assert "Do weeding step by step." in told.text
    assert "- references/tools.md" in told.text
    assert "A hoe." in (await use("skill_view", name="weeding", file="references/tools.md")).text
    assert room.asked == []


@pytest.mark.parametrize("file", ["../../config.toml", "/etc/hostname", "../writing/letters/SKILL.md"])
async def test_skill_view_stays_in_the_skill(use, skills, kit, file):
    (kit.settings.home / "config.toml").write_text("# secret")
    told = await use("skill_view", name="weeding", file=file)
    assert not told.ok
    assert "secret" not in told.text


async def test_unknown_skill_is_said_to_be(use, skills):
    assert "no skill" in (await use("skill_view", name="cooking")).text


async def test_link_in_a_skill_does_not_lead_out(use, skills, tmp_path):
    (tmp_path / "secret.txt").write_text("far")
    (skills / "weeding" / "link.txt").symlink_to(tmp_path / "secret.txt")
    assert not (await use("skill_view", name="weeding", file="link.txt")).ok


def test_guest_is_another_principal(guest):
    assert guest.principal == Principal("guest:ann")
