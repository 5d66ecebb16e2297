"""Codex' own ways, one by one."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.messages import parts_of, text_of, tool_calls_of
from sojourn.importers.codex.importer import CodexImporter
from sojourn.importers.codex.rollout import read_rollout
from sojourn.ports.importer import Transcript

ID = "01a1e2c9-3931-7240-a050-de6cc6a1d57d"
NAME = f"rollout-2026-01-01T00-00-00-{ID}.jsonl"


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00.500Z", "type": kind, "payload": payload}


def item(type: str, **more: Any) -> dict[str, Any]:
    return line("response_item", type=type, **more)


def message(role: str, *texts: str, kinds: list[str] | None = None) -> dict[str, Any]:
    content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text} for text in texts]
    passed = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}} if kinds else {}
    return item("message", role=role, content=content, **passed)


def typed(text: str) -> dict[str, Any]:
    return line("event_msg", type="user_message", message=text)


def completed(text: str) -> dict[str, Any]:
    shown = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
    return line("event_msg", type="item_completed", item=shown)


HEAD = line(
    "session_meta", id=ID, timestamp="2026-01-01T00:00:00Z", cwd="/w", cli_version="0.1", git={"branch": "main"}
)


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def read(tmp_path: Path, *records: dict[str, Any]) -> Transcript:
    return read_rollout(ID, write(tmp_path / NAME, HEAD, *records))


def said(found: Transcript) -> list[tuple[str, str]]:
    return [(one.role, text_of(one)) for one in found.messages]


@pytest.mark.parametrize("event", [typed, completed])
def test_events_tell_what_the_person_typed(tmp_path: Path, event: Any) -> None:
    context = [message("developer", "Obey."), message("user", "<environment_context>…</environment_context>")]
    found = read(
        tmp_path, *context, message("user", "notes that Codex added"), message("user", "hello"), event("hello")
    )
    assert [role for role, _ in said(found)] == ["system", "system", "system", "user"]
    assert found.fields["title"] == "hello"


def test_newer_items_say_themselves_what_was_typed(tmp_path: Path) -> None:
    found = read(
        tmp_path, message("user", "a notice", kinds=["x.y"]), message("user", "<b>hi</b>", kinds=["user.text"])
    )
    assert said(found) == [("system", "a notice"), ("user", "<b>hi</b>")]


def test_without_events_only_what_is_wrapped_in_a_tag_is_codex_own(tmp_path: Path) -> None:
    wrapped = [
        "<user_instructions>x</user_instructions>",
        "# AGENTS.md instructions for /w\n…",
        "<turn_aborted>\n</turn_aborted>",
    ]
    found = read(tmp_path, *(message("user", text) for text in (*wrapped, "<html> is a tag", "hello")))
    assert [role for role, _ in said(found)] == ["system"] * 3 + ["user"] * 2


def test_a_prompt_whose_event_has_not_been_written_yet_is_the_persons(tmp_path: Path) -> None:
    found = read(tmp_path, message("user", "one"), typed("one"), message("user", "two"))
    assert said(found) == [("user", "one"), ("user", "two")]


def test_words_that_were_never_sent_are_not_lost(tmp_path: Path) -> None:
    found = read(tmp_path, typed("a question"), message("assistant", "an answer"), typed("an answer"))
    assert said(found) == [("user", "a question"), ("assistant", "an answer")]


def test_pictures_are_the_persons_and_stay_parts(tmp_path: Path) -> None:
    content = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
    ]
    found = read(tmp_path, item("message", role="user", content=content), typed("something else"))
    assert [one.role for one in found.messages] == ["user"]
    assert parts_of(found.messages[0]) == content


@pytest.mark.parametrize(
    ("asked", "name", "arguments"),
    [
        (item("function_call", name="shell", arguments='{"a": 1}', call_id="c"), "shell", '{"a": 1}'),
        (item("custom_tool_call", name="patch", input="*** Begin", call_id="c"), "patch", '{"input": "*** Begin"}'),
        (item("local_shell_call", action={"command": ["ls"]}, call_id="c"), "local_shell", '{"command": ["ls"]}'),
        (item("web_search_call", action={"query": "x"}, id="c"), "web_search", '{"query": "x"}'),
        (item("brand_new_call", call_id="c"), "brand_new", "{}"),
    ],
)
def test_calls_of_every_kind_are_calls(tmp_path: Path, asked: dict[str, Any], name: str, arguments: str) -> None:
    kind = asked["payload"]["type"]
    found = read(tmp_path, asked, item(f"{kind}_output", call_id="c", output="done"))
    first, second = found.messages
    assert [(call.id, call.name, call.arguments) for call in tool_calls_of(first)] == [("c", name, arguments)]
    assert (second.role, second.tool_call_id, second.tool_name, second.content) == ("tool", "c", name, "done")


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("text", "text"),
        ({"content": "text", "success": True}, "text"),
        ([{"type": "input_text", "text": "text"}], "text"),
        ({"some": "data"}, '{"some": "data"}'),
        (None, "null"),
    ],
)
def test_outputs_of_every_form_are_read(tmp_path: Path, output: Any, shown: str) -> None:
    call = item("function_call", name="x", arguments="{}", call_id="c")
    assert read(tmp_path, call, item("function_call_output", call_id="c", output=output)).messages[1].content == shown


def test_thoughts_are_read_and_locked_ones_kept(tmp_path: Path) -> None:
    open_one = {"summary": [{"type": "summary_text", "text": "hmm"}], "encrypted_content": "xyz"}
    found = read(tmp_path, item("reasoning", **open_one), item("reasoning", summary=[], encrypted_content="xyz"))
    [thought] = found.messages
    assert (thought.role, thought.reasoning, thought.content) == ("assistant", "hmm", None)
    assert json.loads(thought.codex_reasoning_items or "") == [{"type": "reasoning", **open_one}]
    assert [kind for kind, _ in found.records] == ["session_meta", "response_item"]


def test_a_compaction_leaves_live_what_it_repeats(tmp_path: Path) -> None:
    old = [message("user", "one"), typed("one"), message("assistant", "long answer")]
    summary = item("message", role="assistant", content=[{"type": "output_text", "text": "so far"}])
    summary["metadata"] = {"compaction_output": True}
    kept = [
        old[0]["payload"],
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "so far"}]},
    ]
    found = read(tmp_path, *old, summary, line("compacted", message="so far", replacement_history=kept))
    assert [(one.content, one.active, one.compacted) for one in found.messages] == [
        ("one", True, False),
        ("long answer", False, True),
        ("so far", True, False),
    ]
    assert [one.role for one in found.messages] == ["user", "assistant", "system"]


def test_what_the_person_rolled_back_is_undone(tmp_path: Path) -> None:
    turns = [
        one
        for text in ("one", "two", "three")
        for one in (message("user", text), typed(text), message("assistant", "ok"))
    ]
    found = read(tmp_path, *turns, line("event_msg", type="thread_rolled_back", num_turns=2), message("user", "four"))
    assert [one.active for one in found.messages] == [True, True, False, False, False, False, True]
    assert not any(one.compacted for one in found.messages)
    assert found.fields["rewind_count"] == 1


def test_a_failed_request_leaves_its_reason(tmp_path: Path) -> None:
    failed = line("event_msg", type="task_complete", error={"message": "no credit"}, last_agent_message=None)
    found = read(tmp_path, message("user", "go"), typed("go"), failed, line("event_msg", type="error", message="bad"))
    assert said(found) == [("user", "go"), ("system", "no credit"), ("system", "bad")]


def test_tokens_are_counted_once_though_told_often(tmp_path: Path) -> None:
    def told(total: int, last: int) -> dict[str, Any]:
        usage = {"input_tokens": last, "cached_input_tokens": last // 2, "output_tokens": 1}
        return line(
            "event_msg", type="token_count", info={"total_token_usage": {"t": total}, "last_token_usage": usage}
        )

    model = line("turn_context", model="gpt-x", cwd="/elsewhere")
    empty = line("event_msg", type="token_count", info=None)
    found = read(tmp_path, model, empty, told(10, 10), told(10, 10), told(30, 20), told(8, 8))  # a restart counts anew
    assert (found.fields["input_tokens"], found.fields["cache_read_tokens"]) == (19, 19)
    assert (found.fields["output_tokens"], found.fields["api_call_count"]) == (3, 3)
    assert (found.fields["model"], found.fields["cwd"], found.fields["git_branch"]) == ("gpt-x", "/w", "main")


def test_kinds_we_do_not_know_are_kept_and_repetitions_are_not(tmp_path: Path) -> None:
    strange = [line("world_state", full=True), line("event_msg", type="from_the_future"), item("ghost_snapshot")]
    repeated = [line("event_msg", type="agent_message", message="ok"), typed("go")]
    found = read(tmp_path, message("user", "go"), message("assistant", "ok"), *repeated, *strange)
    assert [kind for kind, _ in found.records] == ["session_meta", "world_state", "event_msg", "response_item"]
    assert [json.loads(text) for _, text in found.records][1:] == strange


def test_ids_of_messages_do_not_change_when_the_file_grows_or_is_packed(tmp_path: Path) -> None:
    records = [HEAD, message("user", "one"), typed("one"), message("assistant", "ok")]
    path = write(tmp_path / NAME, *records)
    short = read_rollout(ID, path).messages
    more = read_rollout(ID, write(path, *records, message("user", "two"), typed("two"))).messages
    assert [one.native_id for one in more] == ["2", "4", "5"]
    assert more[:2] == short
    packed = path.with_name(NAME + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_rollout(ID, packed).messages == more


def sessions(home: Path) -> dict[str, tuple[str, str]]:
    with CodexImporter().open(home) as reader:
        return {one.native_id: (one.fingerprint, one.problem) for one in reader.sessions()}


def test_a_name_counts_as_a_change_and_the_last_one_counts(tmp_path: Path) -> None:
    write(tmp_path / "sessions/2026/01/01" / NAME, HEAD, message("user", "hello"))
    before = sessions(tmp_path)
    write(tmp_path / "session_index.jsonl", {"id": ID, "thread_name": "old"}, {"id": ID, "thread_name": "Mine"})
    assert sessions(tmp_path) != before
    with CodexImporter().open(tmp_path) as reader:
        assert reader.read(ID).fields["title"] == "Mine"


def test_of_a_session_and_its_packed_copy_only_one_is_listed(tmp_path: Path) -> None:
    write(tmp_path / "sessions/2026/01/01" / NAME, HEAD, message("user", "hello"))
    (tmp_path / "sessions/2026/01/01" / (NAME + ".zst")).write_bytes(b"\x28\xb5\x2f\xfd")
    write(tmp_path / "archived_sessions" / NAME, HEAD)
    assert [problem for _, problem in sessions(tmp_path).values()] == [""]


def test_a_session_in_a_format_we_cannot_read_is_told(tmp_path: Path) -> None:
    place = tmp_path / "sessions" / "2026" / "01" / "01"
    place.mkdir(parents=True)
    (place / (NAME + ".zst")).write_bytes(b"\x28\xb5\x2f\xfd")
    (place / "rollout-2025-04-01-abc.json").write_text("{}")
    problems = [problem for _, problem in sessions(tmp_path).values()]
    assert any("older than 0.2" in one for one in problems)
    assert CodexImporter().find(tmp_path, {"CODEX_HOME": str(tmp_path)})[0].sessions == 2


@pytest.mark.parametrize("given", [".", "sessions", "archived_sessions", f"sessions/{NAME}"])
def test_any_place_inside_can_be_given(tmp_path: Path, given: str) -> None:
    write(tmp_path / "sessions" / NAME, HEAD, message("user", "hello"))
    (tmp_path / "archived_sessions").mkdir()
    found = CodexImporter().claims(tmp_path / given)
    assert found is not None
    with CodexImporter().open(found.home) as reader:
        assert [reader.read(one.native_id).native_id for one in reader.sessions()] == [ID]


def test_long_first_prompts_make_short_titles(tmp_path: Path) -> None:
    found = read(tmp_path, message("user", "\n  Please " + "very " * 40 + "much\nand more"))
    title = found.fields["title"]
    assert title.startswith("Please very very")
    assert len(title) <= 81
    assert title.endswith("very…")


@pytest.mark.parametrize(
    "prompt",
    [
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nMend the fence\n",
        "<recommended_plugins>\nmany\n</recommended_plugins>\n\nMend the fence",
        "<environment_context>\nx\n</environment_context><user_instructions>y</user_instructions>\nMend the fence",
    ],
    ids=["an editor", "plugins", "several"],
)
def test_a_title_is_what_the_person_asked_for_and_the_text_stays(tmp_path: Path, prompt: str) -> None:
    found = read(tmp_path, message("user", prompt), typed(prompt))
    assert found.fields["title"] == "Mend the fence"
    assert any(prompt.strip() in text_of(one) for one in found.messages)


def test_text_that_a_plugin_puts_before_a_prompt_is_not_its_title(tmp_path: Path) -> None:
    added = (
        '<plugin-context name="notes" version="2">\nUse them.\n</plugin-context>\n<ide_selection>x</ide_selection>\n'
    )
    found = read(tmp_path, message("user", added + "Mend the roof"), typed(added + "Mend the roof"))
    assert found.fields["title"] == "Mend the roof"
