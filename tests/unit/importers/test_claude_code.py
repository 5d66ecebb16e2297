"""Claude Code's own ways, one by one."""

import json
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.messages import Message, parts_of, tool_calls_of
from sojourn.importers.claude_code.importer import ClaudeCodeImporter
from sojourn.ports.importer import SessionEntry, Transcript

SESSION = "11111111-1111-4111-8111-111111111111"


def record(uuid: str, role: str, content: Any, **more: Any) -> dict[str, Any]:
    moment = "2026-01-01T00:00:00.500Z"
    return {"type": role, "uuid": uuid, "sessionId": SESSION, "timestamp": moment, "cwd": "/w"} | {
        "message": {"role": role, "content": content},
        **more,
    }


def answer(uuid: str, *blocks: dict[str, Any], id: str = "m1", model: str = "claude-x", **usage: Any) -> dict[str, Any]:
    made = record(uuid, "assistant", list(blocks))
    made["message"] |= {"id": id, "model": model, "usage": usage}
    return made


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    return folder


def write(project: Path, *records: dict[str, Any] | str, name: str = SESSION) -> None:
    lines = [one if isinstance(one, str) else json.dumps(one, separators=(",", ":")) for one in records]
    path = project / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))


def read(project: Path, native: str = SESSION) -> Transcript:
    with ClaudeCodeImporter().open(project.parent.parent) as reader:
        return reader.read(native)


def listed(project: Path) -> list[SessionEntry]:
    with ClaudeCodeImporter().open(project.parent.parent) as reader:
        return list(reader.sessions())


def said(found: Transcript) -> list[tuple[str, str | None]]:
    return [(message.role, message.content) for message in found.messages]


@pytest.mark.parametrize(
    "nobody",
    [
        record("b", "user", "a reminder", isMeta=True),
        record("b", "user", "summed up", isCompactSummary=True),
        record("b", "user", "a notice", origin={"kind": "task-notification"}),
        record("b", "user", "a notice", promptSource="system"),
        record("b", "user", "<system-reminder>\nnew\n</system-reminder>"),
        record("b", "user", "<local-command-stdout>done</local-command-stdout>"),
        record("b", "user", "<command-name>/clear</command-name>\n<command-args></command-args>"),
        record("b", "user", "<bash-input>ls</bash-input>"),
        record("b", "user", [text("[Request interrupted by user for tool use]")]),
        record("b", "user", "for the helper", isSidechain=True, version="2.1.0"),
        answer("b", text("API Error: 500"), model="<synthetic>"),
    ],
)
def test_what_nobody_said_is_not_put_into_a_mouth(project: Path, nobody: dict[str, Any]) -> None:
    write(project, record("a", "user", "hello", version="2.1.0"), nobody)
    assert [message.role for message in read(project).messages] == ["user", "system"]


@pytest.mark.parametrize(
    "typed",
    [
        "<div>is HTML that I paste</div>",
        "<command-message>review</command-message>\n<command-name>/review</command-name>"
        "\n<command-args>the parser</command-args>",
        [text("words")],
        [{"type": "image", "source": {"type": "base64", "data": "…"}}, text("what is this?")],
    ],
)
def test_what_the_person_typed_stays_theirs(project: Path, typed: Any) -> None:
    write(project, record("a", "user", typed, origin={"kind": "human"}))
    [message] = read(project).messages
    assert message.role == "user"


def test_words_typed_while_a_turn_ran_are_found_among_the_attachments(project: Path) -> None:
    queued = {"type": "attachment", "uuid": "b", "attachment": {"type": "queued_command", "prompt": "and hurry"}}
    notice = {"type": "queued_command", "prompt": "done", "commandMode": "task-notification"}
    write(project, record("a", "user", "go"), queued, queued | {"uuid": "c", "attachment": notice})
    assert said(read(project)) == [("user", "go"), ("user", "and hurry"), ("system", "done")]


def test_a_record_of_several_becomes_several_messages(project: Path) -> None:
    blocks = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [text("two")], "is_error": True},
        text("<ide_opened_file>a.py</ide_opened_file>"),
        text("now fix it"),
        {"type": "image", "source": {}},
    ]
    calling = answer("a", *({"type": "tool_use", "id": one, "name": "Read", "input": {}} for one in ("t1", "t2")))
    write(project, calling, record("b", "user", blocks, toolUseResult={"stdout": "one"}))
    first, *rest = read(project).messages
    assert [call.id for call in tool_calls_of(first)] == ["t1", "t2"]
    assert [(m.native_id, m.role, m.tool_call_id, m.tool_name) for m in rest] == [
        ("b", "tool", "t1", "Read"),
        ("b#2", "tool", "t2", "Read"),
        ("b#3", "system", None, None),
        ("b#4", "user", None, None),
    ]
    assert rest[0].extra == '{"toolUseResult": {"stdout": "one"}}'
    assert rest[1].extra == '{"is_error": true}'
    assert [part["type"] for part in parts_of(rest[3])] == ["text", "image"]


def test_thoughts_are_kept_apart_from_words(project: Path) -> None:
    thought = {"type": "thinking", "thinking": "hmm", "signature": "s"}
    write(project, answer("a", thought, text("well"), {"type": "redacted_thinking", "data": "x"}))
    [message] = read(project).messages
    assert (message.content, message.reasoning) == ("well", "hmm")
    assert message.reasoning_details == json.dumps([thought, {"type": "redacted_thinking", "data": "x"}])


def test_blocks_we_do_not_know_stay_in_their_place(project: Path) -> None:
    write(project, answer("a", text("look"), {"type": "server_tool_use", "id": "s", "name": "web_search"}))
    [message] = read(project).messages
    assert message.structured
    assert [part["type"] for part in parts_of(message)] == ["text", "server_tool_use"]


def test_records_written_again_by_a_second_compaction_count_once(project: Path) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "Compacted", "timestamp": ""}
    old = record("a", "user", "old")
    write(project, old, boundary | {"uuid": "b1"}, old, record("c", "user", "new"), boundary | {"uuid": "b2"}, old)
    found = read(project).messages
    assert [(m.content, m.active, m.compacted) for m in found] == [
        ("old", False, True),
        ("Compacted", False, True),
        ("new", False, True),
        ("Compacted", True, False),
    ]


@pytest.mark.parametrize(
    "kept", [{"preservedMessages": {"allUuids": ["b", "c"]}}, {"preservedSegment": {"headUuid": "b", "tailUuid": "c"}}]
)
def test_what_a_compaction_preserved_stays_live(project: Path, kept: dict[str, Any]) -> None:
    boundary = {"type": "system", "uuid": "d", "subtype": "compact_boundary", "content": "C", "compactMetadata": kept}
    write(project, *(record(one, "user", one) for one in "abc"), boundary)
    assert [message.active for message in read(project).messages] == [False, True, True, True]


def test_parents_that_lead_nowhere_leave_the_order_of_the_file(project: Path) -> None:
    write(project, *(record(one, "user", one, parentUuid="nowhere") for one in "cab"))
    found = read(project).messages
    assert [message.content for message in found] == ["c", "a", "b"]
    assert all(message.extra == '{"parentUuid": "nowhere"}' for message in found)


def test_the_parent_is_kept_only_where_the_order_does_not_say_it(project: Path) -> None:
    write(project, record("a", "user", "x"), record("b", "user", "y", parentUuid="a"))
    assert [message.extra for message in read(project).messages] == [None, None]


def test_kinds_we_do_not_know_are_kept_as_they_stand(project: Path) -> None:
    strange = '{"type":"from-the-future",  "x": 1}'
    repeated = {"type": "api-request-blob", "message": {"role": "user", "content": "hello"}}
    write(project, record("a", "user", "hello"), strange, repeated)
    found = read(project)
    assert said(found) == [("user", "hello")]
    assert list(found.records) == [("from-the-future", strange)]


def test_broken_lines_do_not_hide_the_others(project: Path) -> None:
    write(project, record("a", "user", "one"), '{"torn', record("b", "user", "two"))
    found = read(project)
    assert said(found) == [("user", "one"), ("user", "two")]
    assert list(found.records) == [("unreadable", '{"torn')]
    assert "line 2" in found.warnings[0]


def test_a_name_given_by_the_person_beats_every_other(project: Path) -> None:
    names = [{"type": "ai-title", "aiTitle": "Made up"}, {"type": "custom-title", "customTitle": "Older"}]
    write(project, record("a", "user", "x"), names[0])
    assert read(project).fields["title"] == "Made up"
    write(project, record("a", "user", "x"), names[1], names[1] | {"customTitle": "Mine"}, names[0])
    assert read(project).fields["title"] == "Mine"
    before = listed(project)
    (project / SESSION).mkdir()
    (project / SESSION / "custom-title.json").write_text('{"customTitle": "Renamed"}')
    assert read(project).fields["title"] == "Renamed"
    assert listed(project) != before


def test_a_title_may_stand_in_the_file_of_another_session(project: Path) -> None:
    write(project, record("a", "user", "x"))
    write(project, {"type": "summary", "summary": "About x", "leafUuid": "a"}, record("z", "user", "y"), name="other")
    write(project, {"type": "summary", "summary": "About x", "leafUuid": "a"}, name="only-titles")
    assert read(project).fields["title"] == "About x"
    assert read(project, "other").fields["title"] is None
    assert [one.native_id for one in listed(project)] == [SESSION, "other"]


def test_only_the_last_block_of_an_answer_has_its_whole_usage(project: Path) -> None:
    write(
        project,
        answer("a", text("x"), input_tokens=10, output_tokens=5),
        answer("b", text("y"), input_tokens=10, output_tokens=195),
        answer("c", text("z"), id="m2", input_tokens=1, output_tokens=2),
    )
    fields = read(project).fields
    assert (fields["input_tokens"], fields["output_tokens"], fields["api_call_count"]) == (11, 197, 2)


def test_usage_is_counted_once_for_each_answer(project: Path) -> None:
    usage: dict[str, Any] = {
        "input_tokens": 10,
        "output_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 5,
    }
    write(
        project,
        answer("a", text("x"), **usage),
        answer("b", text("y"), **usage),
        answer("c", text("z"), id="m2", **usage),
    )
    fields = read(project).fields
    assert (fields["model"], fields["api_call_count"]) == ("claude-x", 2)
    assert (fields["input_tokens"], fields["output_tokens"]) == (20, 6)
    assert (fields["cache_read_tokens"], fields["cache_write_tokens"]) == (200, 10)
    assert [(row["model"], row["input_tokens"]) for row in fields["usage"]] == [("claude-x", 20)]


def test_helpers_are_children_wherever_a_version_put_them(project: Path) -> None:
    helping = record("h", "user", "count", isSidechain=True, agentId="a1")
    write(project, record("a", "user", "go", version="2.1.9"))
    write(project, helping, name=f"{SESSION}/subagents/agent-a1")
    write(project, helping, name="agent-b2")
    write(project, record("w", "user", "Warmup", isSidechain=True), name="agent-c3")
    (project / "empty.jsonl").touch()
    assert [one.native_id for one in listed(project)] == [SESSION, "agent-a1", "agent-b2"]
    for native in ("agent-a1", "agent-b2"):
        found = read(project, native)
        assert (found.fields["source"], found.fields["parent_session_id"]) == ("subagent", SESSION)
        assert said(found) == [("user", "count")]


def test_a_helper_inside_the_file_of_its_session_is_a_child_too(project: Path) -> None:
    inside = record("h", "user", "count", isSidechain=True, version="1.0.9")
    write(project, record("a", "user", "go", version="1.0.9", isSidechain=False), inside, {"type": "mode", "mode": "x"})
    assert [one.native_id for one in listed(project)] == [SESSION, f"{SESSION}.sidechain"]
    assert said(read(project)) == [("user", "go")]
    child = read(project, f"{SESSION}.sidechain")
    assert said(child) == [("user", "count")]
    assert (child.fields["parent_session_id"], list(child.records)) == (SESSION, [])


def test_two_files_of_one_name_both_come(project: Path) -> None:
    write(project, record("a", "user", "x"))
    write(project.parent / "-v", record("b", "user", "y"))
    assert sorted(one.native_id for one in listed(project)) == [SESSION, f"{SESSION}.w"]


@pytest.mark.parametrize(
    "given", [".claude", ".claude/projects", ".claude/projects/-w", f".claude/projects/-w/{SESSION}.jsonl"]
)
def test_any_place_inside_can_be_given(project: Path, tmp_path: Path, given: str) -> None:
    write(project, record("a", "user", "x"))
    found = ClaudeCodeImporter().claims(tmp_path / given)
    assert found is not None
    with ClaudeCodeImporter().open(found.home) as reader:
        assert [reader.read(one.native_id).messages[0].content for one in reader.sessions()] == ["x"]


def test_the_environment_says_where_to_look(project: Path, tmp_path: Path) -> None:
    write(project, record("a", "user", "x"))
    [found] = ClaudeCodeImporter().find(tmp_path / "elsewhere", {"CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")})
    assert found.home == tmp_path / ".claude"
    assert ClaudeCodeImporter().find(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / "nowhere")}) == []


def test_a_folder_in_place_of_a_file_is_told(project: Path) -> None:
    write(project, record("a", "user", "x"))
    (project / "strange.jsonl").mkdir()
    problems = {one.native_id: one.problem for one in listed(project)}
    assert "strange.jsonl" in problems["strange"]
    assert problems[SESSION] == ""
    assert said(read(project)) == [("user", "x")]


def test_content_of_any_form_is_survived(project: Path) -> None:
    forms: list[Any] = [None, 7, {}, [], ["bare"], [None], [{"type": "tool_result"}], [{"type": "tool_use"}], [[]]]
    write(project, *(record(f"u{n}", role, form) for n, form in enumerate(forms) for role in ("user",)))
    write(project, *(record(f"a{n}", "assistant", form) for n, form in enumerate(forms)), name="b")
    for native in (SESSION, "b"):
        found = read(project, native)
        assert all(isinstance(message, Message) for message in found.messages)
        assert len(found.messages) + len(found.records) >= len(forms)
