"""What an agent of another make is told, in words: the prepared context, the conversation so far, the new request.

Such an agent takes text and its own tools, not ours. So tool calls and their results are retold inside the
assistant's text, in full: nothing of the transcript is lost on the way, only its form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sojourn.core.attachments import Attachment, attachments_of
from sojourn.core.errors import NotAllowed
from sojourn.core.messages import Message, parts_of, text_of, tool_calls_of
from sojourn.core.sessions import OWNER
from sojourn.core.tasks import TaskGraph
from sojourn.ports.context import ContextBlock
from sojourn.ports.runtime import HistoryEntry, TurnInput

MOST_INLINED = 200_000  # characters of one attached text; more is cut, and said to be
_TEXTS = ("json", "xml", "yaml", "toml", "javascript", "x-sh", "x-python", "sql", "csv")


@dataclass(frozen=True, slots=True)
class Told:
    """One entry of a conversation as plain text."""

    role: Literal["user", "assistant"]
    text: str


def must_be_allowed(turn: TurnInput, *, guests: bool, agent: str, plugin: str) -> None:
    """Such an agent has tools of its own that write and run; a guest gets none of those unless configured."""
    if turn.workspace.principal != OWNER and not guests:
        raise NotAllowed(
            f"{agent} works with its own tools, which guests may not use.",
            hint=f"Choose another runtime, or set `guests = true` under [plugins.{plugin}].",
        )


def context_text(
    blocks: Sequence[ContextBlock], examples: Sequence[Message] = (), graph: TaskGraph | None = None
) -> str:
    """The prepared context, each part with where it comes from and why it is there; "" when there is none."""
    told = [_block(block) for block in blocks]
    if graph is not None and graph.tasks and not any(block.kind == "tasks" for block in blocks):
        told.append(_graph(graph))
    if examples:
        told.append(
            "## How similar work was done before\nExamples only: none of this happened in this conversation.\n\n"
            + "\n\n".join(f"{one.role}: {one.text}" for one in conversation(examples))
        )
    if not told:
        return ""
    return "# Prepared for this request\nEach part says where it comes from and why it is here.\n\n" + "\n\n".join(told)


def _block(block: ContextBlock) -> str:
    return f"## {block.title} ({block.kind})\nFrom: {block.origin}\nWhy: {block.reason}\n\n{block.text}"


def _graph(graph: TaskGraph) -> str:
    lines = [f"- {task.id} [{task.state}] {task.title}{_needs(task.needs)}" for task in graph.tasks]
    together = "Independent tasks may be done together." if graph.parallel else "One after the other."
    return "\n".join(["## Tasks (tasks)", f"{together} {graph.because}".strip(), "", *lines])


def _needs(needs: tuple[str, ...]) -> str:
    return f" (after {', '.join(needs)})" if needs else ""


def conversation(messages: Iterable[Message]) -> list[Told]:
    """The messages as turns of user and assistant text; what follows in the same role is joined."""
    told: list[Told] = []
    for message in messages:
        text = _retold(message)
        if not text:
            continue
        role: Literal["user", "assistant"] = "assistant" if message.role in ("assistant", "tool") else "user"
        if told and told[-1].role == role:
            told[-1] = Told(role, f"{told[-1].text}\n\n{text}")
        else:
            told.append(Told(role, text))
    return told


def transcript(history: Sequence[HistoryEntry]) -> list[Told]:
    return conversation(past.message for past in history)


def _retold(message: Message) -> str:
    if message.role == "tool":
        return f"[result of {message.tool_name or 'a tool'}]\n{text_of(message)}"
    said = _with_names(message)
    if message.role == "system":
        return f"[note]\n{said}" if said else ""
    asked = [f"[used {call.name} with {call.arguments}]" for call in tool_calls_of(message)]
    return "\n".join(filter(None, [said, *asked]))


def _with_names(message: Message) -> str:
    """The words, and the names of what was attached to them."""
    attached = attachments_of(message)
    if not attached:
        return text_of(message)
    words = [part for part in parts_of(message) if not (isinstance(part, dict) and part.get("type") == "attachment")]
    text = "\n".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in words)
    return "\n".join(filter(None, [text, *map(_named, attached)]))


def _named(one: Attachment) -> str:
    return f"[attached: {one.name or 'a file'}, {one.media_type}, {one.size} bytes]"


def is_text(one: Attachment) -> bool:
    kind, _, form = one.media_type.partition(";")[0].partition("/")
    return kind == "text" or form in _TEXTS or form.endswith(("+json", "+xml"))


async def request_text(turn: TurnInput, *, shown: Sequence[Attachment] = ()) -> str:
    """What was said, with attached texts in it and the others named, except those `shown` in another way."""
    told = [turn.said]
    for one in turn.attachments:
        if one in shown:
            continue
        told.append(await _inlined(turn, one) if is_text(one) else _named(one))
    return "\n\n".join(filter(None, told))


async def _inlined(turn: TurnInput, one: Attachment) -> str:
    try:
        text = (await turn.read_attachment(one)).decode("utf-8")
    except UnicodeDecodeError:
        return _named(one)
    cut = f"\n[cut: {len(text)} characters in all]" if len(text) > MOST_INLINED else ""
    return (
        f"[attached: {one.name or 'a text'}, {one.media_type}]\n{text[:MOST_INLINED]}{cut}\n[end of the attached text]"
    )
