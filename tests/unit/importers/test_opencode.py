"""opencode's own ways, one by one."""

import json
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.messages import Message, parts_of, text_of, tool_calls_of
from sojourn.importers.opencode.importer import OpencodeImporter
from sojourn.ports.importer import Transcript
from tests.contracts.histories import copy

V1 = """
CREATE TABLE session(id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT,
  revert TEXT, time_created INT, time_updated INT, time_archived INT);
CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INT, time_updated INT, data TEXT);
CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT, time_updated INT, data TEXT);
"""
V2 = """
CREATE TABLE session_v2(id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, fork_session_id TEXT, directory TEXT,
  title TEXT, version TEXT, revert TEXT, time_created INT, time_updated INT, time_archived INT);
CREATE TABLE session_message(id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INT, time_created INT,
  time_updated INT, data TEXT);
"""
DONE = {"created": 1_000_000_000_000, "completed": 1_000_000_000_500}


class Home:
    """A database in the making."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.db = path, sqlite3.connect(path)
        self.db.executescript(V1 + V2)
        self._number = 0

    def session(self, native: str = "ses_1", table: str = "session", **columns: Any) -> None:
        row = {
            "id": native,
            "directory": "/w",
            "title": "T",
            "time_created": 1_000_000_000_000,
            "time_updated": 1,
        } | columns
        self.db.execute(f"INSERT INTO {table}({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", [*row.values()])

    def first(self, own: str, data: dict[str, Any] | str, *shown: dict[str, Any], session: str = "ses_1") -> None:
        self._number += 1
        text = data if isinstance(data, str) else json.dumps(data)
        self.db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (own, session, self._number, self._number, text))
        for number, part in enumerate(shown):
            row = (f"{own}_{number}", own, session, 1, 1, json.dumps(part))
            self.db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)

    def second(self, own: str, kind: str, data: dict[str, Any], session: str = "ses_1", created: int = 1) -> None:
        self._number += 1
        row = (own, session, kind, self._number, created, created, json.dumps({"time": DONE} | data))
        self.db.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def read(self, native: str = "ses_1") -> Transcript:
        self.db.commit()
        with OpencodeImporter().open(self.path.parent) as reader:
            return reader.read(native)

    def listed(self) -> dict[str, tuple[str, str]]:
        self.db.commit()
        with OpencodeImporter().open(self.path.parent) as reader:
            return {one.native_id: (one.fingerprint, one.problem) for one in reader.sessions()}


@pytest.fixture
def home(tmp_path: Path) -> Any:
    made = Home(tmp_path / "opencode" / "opencode.db")
    yield made
    made.db.close()


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def tool(call: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": "bash", "callID": call, "state": {"status": status, "input": {"c": 1}, **state}}


USER, ASSISTANT = {"role": "user", "time": DONE}, {"role": "assistant", "time": DONE, "modelID": "m", "providerID": "p"}


def said(found: Transcript) -> list[tuple[str, str]]:
    return [(message.role, text_of(message)) for message in found.messages]


def test_what_opencode_added_to_a_prompt_is_told_apart(home: Home) -> None:
    home.session()
    home.first(
        "m1", USER, text("read this"), text("Called the Read tool", synthetic=True), {"type": "agent", "name": "x"}
    )
    home.first("m2", USER, text("Continue", synthetic=True))
    home.first("m3", USER, {"type": "subtask", "prompt": "review it"})
    found = home.read()
    assert [(one.native_id, *pair) for one, pair in zip(found.messages, said(found), strict=True)] == [
        ("m1", "user", "read this"),
        ("m1:added", "system", "Called the Read tool"),
        ("m2", "system", "Continue"),
        ("m3", "system", "review it"),
    ]
    assert [kind for kind, _ in found.records] == ["part:agent"]


def test_files_stay_parts_of_what_was_said(home: Home) -> None:
    home.session()
    home.first(
        "m1", USER, text("see"), {"type": "file", "mime": "image/png", "url": "data:…", "id": "p", "messageID": "m1"}
    )
    [message] = home.read().messages
    assert parts_of(message) == [text("see"), {"type": "file", "mime": "image/png", "url": "data:…"}]


def test_an_answer_of_several_steps_is_read_step_by_step(home: Home) -> None:
    home.session()
    steps = [
        {"type": "reasoning", "text": "hmm"},
        text("look"),
        tool("c1", output="a"),
        tool("c2", "error", error="no"),
    ]
    home.first("m1", ASSISTANT | {"finish": "stop"}, *steps, {"type": "step-finish"}, text("so"), tool("c3", "running"))
    found = home.read().messages
    assert [(one.native_id, one.role, text_of(one)) for one in found] == [
        ("m1", "assistant", "look"),
        ("m1:c1", "tool", "a"),
        ("m1:c2", "tool", "no"),
        ("m1#2", "assistant", "so"),
    ]
    assert [[call.id for call in tool_calls_of(one)] for one in found] == [["c1", "c2"], [], [], ["c3"]]
    assert (found[0].reasoning, found[1].tool_name, found[2].extra) == (
        "hmm",
        "bash",
        '{"error": "no", "is_error": true}',
    )


def test_an_answer_that_is_being_written_is_left_for_next_time(home: Home) -> None:
    now = int(time.time() * 1000)
    home.session(time_updated=now)
    home.first("m1", USER, text("go"))
    home.first("m2", ASSISTANT | {"time": {"created": now}}, text("half a sen"))
    found = home.read()
    assert said(found) == [("user", "go")]
    assert "m2 is unfinished" in found.warnings[0]
    working = home.listed()
    home.db.execute("UPDATE session SET time_updated = ?", (now - 3_600_000,))  # nobody came back to finish it
    assert said(home.read()) == [("user", "go"), ("assistant", "half a sen")]
    assert home.listed() != working


def test_a_failed_answer_leaves_its_reason(home: Home) -> None:
    home.session()
    home.first("m1", ASSISTANT | {"error": {"name": "APIError", "data": {"message": "no credit"}}})
    home.first("m2", ASSISTANT | {"error": {"name": "Aborted"}}, text("I was"))
    found = home.read().messages
    assert [(one.role, one.content, one.finish_reason) for one in found] == [
        ("system", "no credit", "error"),
        ("assistant", "I was", "error"),
    ]


def test_a_compaction_sums_up_what_was_before_it(home: Home) -> None:
    home.session()
    home.first("m1", USER, text("old"))
    home.first("m2", USER, {"type": "compaction", "auto": True})
    home.first("m3", ASSISTANT | {"summary": True, "parentID": "m2"}, text("so far"))
    home.first("m4", USER, text("new"))
    found = home.read().messages
    assert [(one.native_id, one.role, one.content, one.active, one.compacted) for one in found] == [
        ("m1", "user", "old", False, True),
        ("m2", "system", "so far", True, False),
        ("m4", "user", "new", True, False),
    ]


@pytest.mark.parametrize(
    ("revert", "live"), [({"messageID": "m2"}, 1), ({"messageID": "m2", "partID": "x"}, 2), (None, 3)]
)
def test_what_the_person_reverted_is_undone(home: Home, revert: Any, live: int) -> None:
    home.session(revert=json.dumps(revert) if revert else None)
    for own in ("m1", "m2", "m3"):
        home.first(own, USER, text(own))
    found = home.read().messages
    assert [one.active for one in found] == [True] * live + [False] * (3 - live)
    assert not any(one.compacted for one in found)


def test_rows_that_cannot_be_read_are_named_and_kept(home: Home) -> None:
    home.session()
    home.first("m1", USER, text("one"))
    home.first("m2", '{"role": "us')
    found = home.read()
    assert said(found) == [("user", "one")]
    assert list(found.records) == [("unreadable", '{"role": "us')]
    assert "message m2" in found.warnings[0]


def test_the_second_generation_is_preferred_and_what_came_after_it_is_added(home: Home) -> None:
    home.session(table="session_v2", title="Newer")
    home.session(title="Stale")
    home.second("m1", "user", {"text": "one"}, created=1)
    home.second("m2", "assistant", {"content": [text("ok")], "model": {"id": "m"}}, created=2)
    home.first("m1", USER, text("one"))
    home.first("m2", ASSISTANT, text("ok"))
    home.first("m9", USER, text("later"))
    found = home.read()
    assert found.fields["title"] == "Newer"
    assert said(found) == [("user", "one"), ("assistant", "ok"), ("user", "later")]


def test_a_history_that_moves_on_keeps_its_ids(home: Home) -> None:
    home.session()
    home.first("m1", USER, text("one"))
    home.first("m2", ASSISTANT, text("look"), tool("c1", output="a"), text("so"))
    home.first("m3", USER, {"type": "compaction"})
    home.first("m4", ASSISTANT | {"summary": True, "parentID": "m3"}, text("so far"))
    before = [one.native_id for one in home.read().messages]
    home.session(table="session_v2")
    called = {"type": "tool", "id": "c1", "name": "bash", "state": {"status": "completed", "content": [text("a")]}}
    home.second("m1", "user", {"text": "one"}, created=9)
    home.second("m2", "assistant", {"content": [text("look"), called, text("so")]}, created=9)
    home.second("m3", "compaction", {"status": "completed", "summary": "so far"}, created=9)
    assert [one.native_id for one in home.read().messages] == before == ["m1", "m2", "m2:c1", "m2#2", "m3"]


def test_rows_of_the_second_generation_say_whose_they_are(home: Home) -> None:
    home.session(table="session_v2", fork_session_id="ses_0", title=None)
    home.second("m0", "model-switched", {"model": {"id": "m"}})
    home.second("m1", "user", {"text": "see", "files": [{"uri": "a.png", "mime": "image/png"}]})
    home.second("m2", "synthetic", {"text": "continue"})
    home.second("m3", "shell", {"command": "ls", "output": "a\n"})
    home.second("m4", "compaction", {"status": "failed", "error": {}})
    home.second("m5", "assistant", {"content": [], "error": {"message": "no credit"}})
    home.second("m6", "from-the-future", {"x": 1})
    found = home.read()
    assert [(one.native_id, one.role) for one in found.messages] == [
        ("m1", "user"),
        ("m2", "system"),
        ("m3", "system"),
        ("m5", "system"),
    ]
    assert said(found)[2:] == [("system", "$ ls\na\n"), ("system", "no credit")]
    assert [kind for kind, _ in found.records] == ["model-switched", "compaction", "from-the-future"]
    assert (found.fields["parent_session_id"], found.fields["source"]) == ("ses_0", "opencode")


def test_a_placeholder_is_no_title(home: Home) -> None:
    home.session(title="New session - 2026-01-01T00:00:00.000Z")
    assert home.read().fields["title"] is None


def test_what_an_answer_cost_is_summed_up(home: Home) -> None:
    home.session(time_archived=5)
    tokens = {"input": 10, "output": 2, "reasoning": 1, "cache": {"read": 100, "write": 4}}
    for own in ("m1", "m2"):
        home.first(own, ASSISTANT | {"tokens": tokens, "cost": 0.25}, text("x"))
    fields = home.read().fields
    assert (fields["input_tokens"], fields["output_tokens"], fields["reasoning_tokens"]) == (20, 4, 2)
    assert (fields["cache_read_tokens"], fields["cache_write_tokens"], fields["estimated_cost_usd"]) == (200, 8, 0.5)
    assert (fields["model"], fields["billing_provider"], fields["archived"]) == ("m", "p", 1)


def test_the_tree_and_the_database_made_from_it_are_one_history(tmp_path: Path) -> None:
    copy("opencode", "1.1.65", tmp_path)
    alone = read_all(tmp_path)
    copy("opencode", "1.1.65-upgraded", tmp_path)
    both = read_all(tmp_path)
    assert both.keys() == alone.keys()
    for native, messages in alone.items():
        assert [(one.native_id, one.role, one.content) for one in both[native]] == [
            (one.native_id, one.role, one.content) for one in messages
        ]


def test_sessions_that_were_never_taken_over_are_read_from_the_tree(tmp_path: Path) -> None:
    copy("opencode", "1.1.65", tmp_path)
    copy("opencode", "1.2.27", tmp_path)
    assert len(read_all(tmp_path)) == 8


def read_all(user_home: Path) -> dict[str, list[Message]]:
    [found] = OpencodeImporter().find(user_home, {})
    with OpencodeImporter().open(found.home) as reader:
        return {one.native_id: list(reader.read(one.native_id).messages) for one in reader.sessions()}


def test_a_layout_that_opencode_has_to_convert_is_told(home: Home) -> None:
    home.session()
    old = home.path.parent / "project" / "w" / "storage" / "session" / "info" / "ses_old.json"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    assert "older than 0.6" in home.listed()["ses_old"][1]


def test_a_damaged_database_is_unreadable_not_empty(tmp_path: Path) -> None:
    place = tmp_path / ".local" / "share" / "opencode"
    place.mkdir(parents=True)
    (place / "opencode.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    [found] = OpencodeImporter().find(tmp_path, {})
    assert "opencode.db" in found.problem
    copy("opencode", "1.1.65", tmp_path)
    [found] = OpencodeImporter().find(tmp_path, {})
    assert (found.sessions, found.problem) == (5, "")  # the tree can be read; the database is told among the sessions


@pytest.mark.parametrize("given", ["", "opencode.db", "storage"])
def test_any_place_inside_can_be_given(home: Home, given: str) -> None:
    home.session()
    home.first("m1", USER, text("one"))
    home.db.commit()
    (home.path.parent / "storage").mkdir()
    found = OpencodeImporter().claims(home.path.parent / given)
    assert found is not None
    with OpencodeImporter().open(found.home) as reader:
        assert [one.native_id for one in reader.sessions()] == ["ses_1"]


def test_the_database_of_another_program_is_not_claimed(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE session(id TEXT, user TEXT)")
    db.close()
    assert OpencodeImporter().claims(tmp_path / "other.db") is None
    shutil.copy(tmp_path / "other.db", tmp_path / "opencode.db")
    assert OpencodeImporter().claims(tmp_path) is None
