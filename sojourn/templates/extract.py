"""Extraction: the calls of a session that worked and were not undone later."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.ports.history import History, RawExchange
from sojourn.templates import tool_names
from sojourn.templates.judge.verdict import Verdict, judge
from sojourn.templates.model import TaskType, ToolCallExample
from sojourn.templates.reverted import find_reverted
from sojourn.templates.tool_calls import Exchange, ToolConversation, build_conversation, read_exchanges

MAX_EXAMPLES = 10  # calls of one session

UNDONE = Verdict(False, "it was undone later")


def read_conversation(history: History, session: str) -> ToolConversation:
    """The conversation of one session."""
    rows: Sequence[RawExchange] = next((found for _, found in read_exchanges(history, [session])), ())
    return build_conversation(rows)


def judge_conversation(talk: ToolConversation) -> list[Verdict]:
    """The verdict on each call: by its result, and then by whether it was undone later."""
    found = [judge_call(one) for one in talk.exchanges]
    for at in find_reverted(talk, [verdict.success for verdict in found]):
        found[at] = UNDONE
    return found


def judge_call(call: Exchange) -> Verdict:
    """By its result alone."""
    return judge(call.tool, call.parse_arguments, call.result, extra=call.extra, effect=call.effect)


def select_examples(talk: ToolConversation, most: int = MAX_EXAMPLES) -> list[ToolCallExample]:
    """The first `most` calls that worked."""
    judged = zip(talk.exchanges, judge_conversation(talk), strict=True)
    found = [to_example(call) for call, verdict in judged if verdict.success]
    return found[: max(most, 0)]


def to_example(call: Exchange) -> ToolCallExample:
    """A call that worked, as an example."""
    return ToolCallExample(call.tool, call.parse_arguments(), call.result or "")


def task_type_of(talk: ToolConversation, *, turns: int | None = None) -> TaskType:
    """What the session is about, judged by all its calls or by those of its first turns."""
    return tool_names.classify(one.tool for one in talk.exchanges if turns is None or one.turn <= turns)
