"""The calls of a session that are worth showing again: they worked, and what they did lasted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.core.errors import BadInput
from sojourn.ports.history import HasToolExchanges, History, RawExchange
from sojourn.templates import tool_names
from sojourn.templates.judge.verdict import Verdict, judge
from sojourn.templates.model import TaskType, ToolCallExample
from sojourn.templates.reverted import find_reverted
from sojourn.templates.tool_calls import Exchange, ToolConversation, build_conversation

MAX_EXAMPLES = 10  # calls of one session

UNDONE = Verdict(False, "it was undone later")


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call with its verdict."""

    exchange: Exchange
    verdict: Verdict


def read_conversation(history: History, session: str) -> ToolConversation:
    """The conversation of one session."""
    if not isinstance(history, HasToolExchanges):
        raise BadInput("This history does not tell which answer belongs to which call.", hint="Import it first.")
    rows: Sequence[RawExchange] = next((found for _, found in history.exchanges([session])), ())
    return build_conversation(rows)


def judge_calls(talk: ToolConversation) -> list[JudgedCall]:
    """Every call with its verdict, in order."""
    return [JudgedCall(one, verdict) for one, verdict in zip(talk.exchanges, judge_conversation(talk), strict=True)]


def judge_conversation(talk: ToolConversation) -> list[Verdict]:
    """The verdicts alone: each result is judged, then what was undone later is taken back."""
    found = [judge_call(one) for one in talk.exchanges]
    for at in find_reverted(talk, [verdict.success for verdict in found]):
        found[at] = UNDONE
    return found


def judge_call(call: Exchange) -> Verdict:
    """By its result alone."""
    return judge(call.tool, call.parse_arguments, call.result, extra=call.extra, effect=call.effect)


def select_examples(talk: ToolConversation, most: int = MAX_EXAMPLES) -> list[ToolCallExample]:
    """The first `most` calls that worked."""
    found = [
        ToolCallExample(one.exchange.tool, one.exchange.parse_arguments(), one.exchange.result or "", True)
        for one in judge_calls(talk)
        if one.verdict.success
    ]
    return found[: max(most, 0)]


def task_type_of(talk: ToolConversation, *, turns: int | None = None) -> TaskType:
    """What the session is about, judged by all its calls or by those of its first turns."""
    return tool_names.classify(one.tool for one in talk.exchanges if turns is None or one.turn <= turns)
