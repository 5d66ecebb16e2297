"""What a chat shows of a session: finished Markdown for good, tools as one line, questions, ends."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sojourn.chat_commands import find_command, parse_command
from sojourn.cli.chat.event_lines import EventRenderer, MarkdownStream
from sojourn.core.errors import BadInput
from sojourn.core.events import Chunk, Done, Failed, Metadata, Progress
from sojourn.core.messages import assistant, user
from sojourn.core.sessions import Recorded, SessionId, TurnId


def shown(*items, show=None):
    show = show or EventRenderer()
    out = io.StringIO()
    screen = Console(file=out, width=80, color_system=None)
    for seq, item in enumerate(items, 1):
        for line in show.render(Recorded(session=SessionId("s"), seq=seq, at=0.0, item=item, turn=TurnId("t_1"))):
            screen.print(line)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines() if line.strip())


BEGIN = Metadata("s", "t_1", "echo")


def test_a_block_is_finished_by_an_empty_line_and_code_by_its_fence():
    blocks = MarkdownStream()
    assert blocks.add("# Head\n\nSome te") == ["# Head"]
    assert blocks.tail == "Some te"
    assert blocks.add("xt\n\n```py\na\n\nb\n") == ["Some text"]
    assert blocks.tail.startswith("```py")
    assert blocks.add("```\nend") == ["```py\na\n\nb\n```"]
    assert blocks.flush() == ["end"]


@given(st.text(alphabet="ab`~ \n#", max_size=60), st.integers(1, 7))
def test_whatever_the_pieces_nothing_of_the_text_is_lost(text, size):
    whole, pieces = MarkdownStream(), MarkdownStream()
    first = whole.add(text) + whole.flush()
    second = [one for at in range(0, len(text), size) for one in pieces.add(text[at : at + size])] + pieces.flush()
    assert "".join("".join(first).split()) == "".join("".join(second).split()) == "".join(text.split())


def test_an_answer_is_shown_once_though_it_comes_as_chunks_and_as_a_message():
    told = shown(BEGIN, Chunk("Hello "), Chunk("there"), assistant("Hello there"), Done())
    assert told.count("Hello there") == 1


def test_a_budget_that_is_nearly_used_up_is_a_line_of_its_own():
    warning = Progress("running", {"status": "budget", "line": "This month has cost $8.00 of the $10.00 it may (80%)."})
    assert "\n! This month has cost $8.00" in shown(BEGIN, assistant("Hi"), warning, Done())


def test_memories_are_one_line_that_says_where_to_look_closer():
    facts = [Progress("memory", {"title": f"fact {n}", "reason": "near"}) for n in range(5)]
    told = shown(BEGIN, *facts, Progress("prepare", {"blocks": []}), assistant("Hi"), Done())
    [line] = [one for one in told.splitlines() if "memor" in one]
    assert line.startswith("◦ used 5 memories: fact 0, fact 1, fact 2 and 2 more")
    assert "`sojourn memory why s`" in told
    assert "used 1 memory: fact 0" in shown(BEGIN, facts[0], Chunk("Hi"))
    assert "memor" not in shown(BEGIN, Progress("prepare", {"blocks": []}), Chunk("Hi"))


def test_memories_are_named_again_only_when_they_are_others():
    fact, other = (Progress("memory", {"title": title, "reason": "near"}) for title in ("fact 1", "fact 2"))
    told = shown(BEGIN, fact, Chunk("A"), Done(), BEGIN, fact, Chunk("B"), Done(), BEGIN, other, Chunk("C"), Done())
    assert [line.split(" (")[0] for line in told.splitlines() if "memor" in line] == [
        "◦ used 1 memory: fact 1",
        "◦ used 1 memory: fact 2",
    ]


def test_an_answer_without_chunks_is_shown_from_its_message():
    assert "Only kept" in shown(BEGIN, assistant("Only kept"), Done())


def test_words_typed_here_are_not_repeated_and_those_of_others_are_shown():
    show = EventRenderer()
    show.typed_here.append("mine")
    told = shown(user("mine"), user("from the phone"), show=show)
    assert "mine" not in told
    assert "❯ from the phone" in told


def test_a_tool_is_one_line_with_its_time():
    call = {"call_id": "c1", "tool": "terminal", "preview": "ls -la"}
    told = shown(
        BEGIN,
        Progress("tool", {**call, "status": "started"}),
        Progress("tool", {**call, "status": "completed", "duration": 0.42}),
    )
    assert told == "▸ terminal ls -la ✓ 0.4 s"


def test_a_failed_tool_says_why():
    call = {"call_id": "c1", "tool": "read_file"}
    told = shown(BEGIN, Progress("tool", {**call, "status": "failed", "error": "no such file"}))
    assert "✗" in told
    assert "no such file" in told


def test_a_question_waits_until_it_is_settled():
    show = EventRenderer()
    asked = {"status": "asked", "question": "q1", "text": "Run rm?", "choices": ["once", "deny"], "dangerous": True}
    assert "⚠ Run rm?" in shown(BEGIN, Progress("approval", asked), show=show)
    assert show.question == asked
    shown(Progress("approval", {"status": "answered", "question": "q1", "choice": "deny", "by": "web"}), show=show)
    assert show.question is None


def test_an_answer_names_somebody_else_but_not_whoever_sits_here():
    def told(**answer):
        event = Progress("approval", {"status": "answered", "question": "q1", **answer})
        return shown(BEGIN, event, show=EventRenderer("chat on laptop"))

    assert told(choice="once", by="chat on laptop") == "◦ allowed once"
    assert told(choice="deny", by="the dashboard") == "◦ not allowed by the dashboard"
    assert told(choice="deny", by="", why="Nobody answered.") == "◦ not allowed: Nobody answered."


def test_another_runtime_than_before_is_said():
    told = shown(BEGIN, Done(), BEGIN, Done(), Metadata("s", "t_2", "offline"), Done())
    assert told == "◦ offline answers now, no longer echo"


def test_a_refusal_is_told_without_the_advice_for_the_model():
    refused = {"call_id": "1", "tool": "terminal", "status": "failed", "facts": {"error": "not_allowed"}}
    told = shown(BEGIN, Progress("tool", refused | {"error": "The person did not allow it. Do not try it again."}))
    assert told.endswith("The person did not allow it.")


def test_an_error_has_its_hint_and_the_turn_its_end():
    show = EventRenderer()
    told = shown(BEGIN, Chunk("Half"), Failed("key_refused", "No key.", "Set one."), Done("failed"), show=show)
    assert told.splitlines()[0] == "Half"
    assert "✗ No key.   (key_refused)" in told
    assert "Set one." in told
    assert "failed after" in told
    assert show.status is None


def test_used_tokens_add_up_over_turns():
    show = EventRenderer()
    for _ in range(2):
        shown(BEGIN, Done(usage={"input_tokens": 10, "cost_usd": 0.5}), show=show)
    assert show.usage == {"input_tokens": 20, "cost_usd": 1.0}


def test_nothing_a_model_says_moves_the_cursor():
    assert "\x1b" not in shown(BEGIN, Chunk("a\x1b[2Jb"), assistant("a\x1b[2Jb"), Done())


def test_a_template_that_is_used_is_named_with_the_reason():
    used = Progress("template", {"name": "deploy", "because": "it shares staging with your request"})
    assert "used template deploy because it shares staging with your request" in shown(BEGIN, used, Done())
    changed = {"mapped": ["Bash as terminal"], "left_out": ["browse (this session has no such tool)"]}
    told = shown(BEGIN, Progress("template", {"name": "x", "because": "you asked for it", **changed}), Done())
    assert "(Bash as terminal; without browse (this session has no such tool))" in " ".join(told.split())


@pytest.mark.parametrize(
    "stage", ["prepare", "queued", "running", "thinking", "task", "memory", "template", "unheard-of"]
)
def test_an_unknown_or_empty_stage_is_passed_over(stage):
    assert shown(BEGIN, Progress(stage), Done()) == ""


def test_a_line_is_a_command_or_something_said():
    assert parse_command("/title  My garden ") == ("title", "My garden")
    assert parse_command("hello /title") is None
    assert parse_command("//etc is a folder") is None


def test_a_command_is_found_by_its_beginning_and_a_wrong_one_says_what_was_meant():
    assert find_command("sess").name == "sessions"
    with pytest.raises(BadInput, match=r"Did you mean /stop, /status\?"):
        find_command("st")


def test_the_notice_of_a_hand_off_is_not_shown_as_the_persons_words():
    notice = replace(user("[Sojourn: handed over]"), extra='{"internal": true}')
    assert shown(notice).startswith("◦ [Sojourn: handed over]")
    assert "❯" in shown(user("my own words"))


def test_a_model_that_is_asked_again_is_not_called_another_turn():
    show = EventRenderer()
    shown(BEGIN, Progress("queued", {"reason": "the model answered 500", "attempt": 2}), show=show)
    assert show.status.text == "waiting: the model answered 500, attempt 2"
    shown(Progress("queued", {"queued": "t_2", "by": "phone"}), show=show)
    assert show.status.text == "waiting: another turn runs"


def test_words_that_a_turn_did_not_hear_are_said_to_be_kept():
    told = shown(BEGIN, Progress("running", {"steer": "also cats", "heard": False}), Done("cancelled"))
    assert "kept for your next message: also cats" in told


def test_words_that_are_said_to_be_kept_are_not_shown_twice():
    told = shown(BEGIN, Progress("running", {"steer": "also cats", "heard": False}), user("also cats"))
    assert told.count("also cats") == 1


def test_what_is_left_of_the_context_is_known_after_a_turn():
    show = EventRenderer()
    shown(BEGIN, Done(usage={"context_tokens": 2500, "context_window": 10_000}), show=show)
    assert show.context_left == 0.75


def test_words_typed_here_are_not_repeated_because_a_file_went_along():
    show = EventRenderer()
    show.typed_here.append("look at @a.md")
    assert shown(BEGIN, user("look at @a.md\n\n[attachment]"), Done(), show=show) == ""
