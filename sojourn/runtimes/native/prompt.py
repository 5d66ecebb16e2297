"""What a model is told: who it is, the prepared context, examples, the conversation, and what was said now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import BinaryContent, ModelMessage, UserContent

from sojourn.core.attachments import Attachment, attachments_of
from sojourn.core.attachments import user_message as said_message
from sojourn.core.messages import Message, parts_of, text_of
from sojourn.core.sessions import OWNER
from sojourn.core.tasks import TaskGraph
from sojourn.ports.context import ContextBlock
from sojourn.ports.runtime import TurnInput
from sojourn.runtimes.models.choice import Choice
from sojourn.runtimes.native.translate import mended, to_model
from sojourn.runtimes.telling import MOST_INLINED, context_text, conversation, is_text

EXAMPLES_FOLLOW = (
    "[Examples of how tools were used in earlier work follow. None of this happened in this conversation.]"
)
_RECENT = 3  # messages of the past whose pictures are shown again
_MOST_BYTES = 20_000_000


def instructions(turn: TurnInput) -> str:
    """Who the model is here. The same for a whole day, so that providers can keep it."""
    today = time.strftime("%A, %d %B %Y")
    lines = [
        "You are the agent of Sojourn, which keeps a person's sessions on their own machine.",
        "Answer in the language you are spoken to. Be brief and concrete; use Markdown where it helps.",
        f"Today is {today}.",
    ]
    if turn.tools:
        lines += [
            f"You work in the folder {turn.workspace.root}. Use the tools to find out and to act instead of guessing;"
            " call several at once when they do not depend on each other.",
            "Before something is written or run the person may be asked. A refusal is an answer: do not try to get"
            " around it. Say plainly what you did, and what did not work.",
        ]
    else:
        lines.append("You have no tools in this conversation. Say so if something would need them.")
    if turn.workspace.principal != OWNER:
        lines.append("You speak with a guest, not with the owner of this machine.")
    return "\n".join(lines)


async def opening(
    turn: TurnInput, choice: Choice, history: Sequence[Message], *, summary: str = "", notes: Sequence[str] = ()
) -> list[ModelMessage]:
    """The whole request before the model has said anything."""
    system = [
        instructions(turn),
        context_text([*turn.blocks, *_summary(summary)], (), _told(turn.graph)),
        *notes,
        *(text_of(message) for message in history if message.role == "system"),
    ]
    leading = Message(role="system", content="\n\n".join(filter(None, system)))
    begun = _joined([leading, *_examples(turn, choice)], choice)
    talk = [*_talk(turn, history), said_message(turn.said, turn.attachments)]
    files = {len(begun) + at: found for at, found in (await _files(turn, talk)).items()}
    return to_model([*begun, *map(_without_files, talk)], files)


def _talk(turn: TurnInput, history: Sequence[Message]) -> list[Message]:
    """The conversation so far. Without tools some providers refuse calls and results: then they are retold."""
    talk = [message for message in history if message.role != "system"]
    if turn.tools or not any(message.role == "tool" or message.tool_calls for message in talk):
        return mended(talk)
    return [Message(role=one.role, content=one.text) for one in conversation(talk)]


def _summary(text: str) -> list[ContextBlock]:
    if not text:
        return []
    return [
        ContextBlock(
            kind="summary",
            title="Earlier in this conversation",
            text=text,
            origin="this session",
            reason="the conversation is longer than the model can take at once",
        )
    ]


def _told(graph: TaskGraph | None) -> TaskGraph | None:
    return graph if graph is not None and graph.tasks else None


def _examples(turn: TurnInput, choice: Choice) -> list[Message]:
    """Right after the system messages; where a person has to speak first, a marked line does."""
    given = mended(turn.examples) if turn.tools else []  # what nobody can do needs no example
    leading = [message for message in given if message.role == "system"]
    rest = [message for message in given if message.role != "system"]
    if rest and rest[0].role != "user" and choice.provider.protocol != "openai":
        rest.insert(0, Message(role="user", content=EXAMPLES_FOLLOW))
    return [*leading, *rest]


def _joined(begun: Sequence[Message], choice: Choice) -> list[Message]:
    """Templates of local models often take one system message only."""
    if not choice.is_local:
        return list(begun)
    system = "\n\n".join(message.content or "" for message in begun if message.role == "system")
    return [Message(role="system", content=system), *(message for message in begun if message.role != "system")]


# attachments
async def _files(turn: TurnInput, talk: Sequence[Message]) -> dict[int, list[UserContent]]:
    """What was attached, by the place of its message: the newest ones as they are, older ones by name."""
    with_files = [at for at, message in enumerate(talk) if message.role == "user" and attachments_of(message)]
    made: dict[int, list[UserContent]] = {}
    for at in with_files:
        fresh = at in with_files[-_RECENT:]
        made[at] = [await _file(turn, one) if fresh else named(one) for one in attachments_of(talk[at])]
    return made


async def _file(turn: TurnInput, one: Attachment) -> UserContent:
    if is_text(one):
        text = (await turn.read_attachment(one)).decode("utf-8", "replace")
        cut = f"\n[cut: {len(text)} characters in all]" if len(text) > MOST_INLINED else ""
        return f"[attached: {one.name or 'a text'}]\n{text[:MOST_INLINED]}{cut}\n[end of the attached text]"
    shown = one.media_type.startswith("image/") or one.media_type == "application/pdf"
    if not shown or one.size > _MOST_BYTES:
        return named(one)
    return BinaryContent(data=await turn.read_attachment(one), media_type=one.media_type)


def named(one: Attachment) -> str:
    """An attachment that is not shown: the model knows at least that it is there."""
    return f"[attached, not shown: {one.name or 'a file'}, {one.media_type}, {one.size} bytes]"


def _without_files(message: Message) -> Message:
    if not attachments_of(message):
        return message
    words = [part for part in parts_of(message) if not (isinstance(part, dict) and part.get("type") == "attachment")]
    text = "\n".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in words)
    return replace(message, content=text, structured=False)
