"""Builds the first request of a turn: instructions, prepared context, examples, history and the new message."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import BinaryContent, ModelMessage, UserContent

from sojourn.core.attachments import Attachment, attachments_of, user_message
from sojourn.core.messages import Message, parts_of, text_of
from sojourn.core.sessions import OWNER
from sojourn.ports.context import ContextBlock
from sojourn.ports.runtime import TurnInput
from sojourn.runtimes.models.selection import ModelChoice
from sojourn.runtimes.native.translate import repair_messages, to_model
from sojourn.runtimes.prompt_text import (
    describe_attachment,
    inline_text,
    is_imported,
    is_text,
    quote_imported,
    render_context,
    text_without_attachments,
    to_text_messages,
)
from sojourn.turn_support.given_context import select_new

EXAMPLES_FOLLOW = (
    "[Examples of how tools were used in earlier work follow. None of this happened in this conversation.]"
)
_FULL_ATTACHMENTS = 3  # newest messages whose attachments are sent whole; older ones are named
_MAX_ATTACHMENT_BYTES = 20_000_000


def build_instructions(turn: TurnInput) -> str:
    """Returns the system prompt. It stays the same through a session, so that providers can cache it."""
    lines = [
        "You are the agent of Sojourn, which keeps a person's sessions on their own machine.",
        "Answer in the language you are spoken to. Be brief and concrete; use Markdown where it helps.",
        f"This conversation began on {_format_day(turn.session.started_at)}.",
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


def _format_day(at: float) -> str:
    return time.strftime("%A, %d %B %Y", time.localtime(at or time.time()))


def _date_note(today: str, told: str) -> str:
    """Says which day it is where a message is the first of another day: it is sent again with the same note."""
    return "" if today == told else f"[Today is {today}.]"


async def build_opening(
    turn: TurnInput, choice: ModelChoice, *, summary: str = "", notes: Sequence[str] = ()
) -> list[ModelMessage]:
    """Returns the whole request as it stands before the first answer of the model.

    What is prepared for this turn follows the new message, and stays with it in the requests after it: each begins with
    the one before, so that providers can cache it.
    """
    history, told = _sent_history(turn)
    system = [
        build_instructions(turn),
        render_context(_summary_block(summary)),
        *(text_of(message) for message in history if message.role == "system" and not is_imported(message)),
    ]
    leading = Message(role="system", content="\n\n".join(filter(None, system)))
    opening = _merge_system([leading, *_example_messages(turn, choice)], choice)
    talk = [*_history_messages(turn, history), user_message(turn.said, turn.attachments)]
    files = {len(opening) + at: found for at, found in (await _load_files(turn, talk)).items()}
    *before, said = [*opening, *map(_strip_attachments, talk)]
    context = render_context(select_new(turn.blocks, turn.history), (), turn.graph)
    prepared = filter(None, [said.content, _date_note(_format_day(time.time()), told), context, *notes])
    return to_model([*before, replace(said, content="\n\n".join(prepared))], files)


def _sent_history(turn: TurnInput) -> tuple[list[Message], str]:
    """Returns the messages of the history as they were sent, with days and blocks, and the day that was told last."""
    messages, told = list[Message](), _format_day(turn.session.started_at)
    for past in turn.history:
        message, note = past.message, ""
        if message.role == "user" and message.content and message.timestamp and not is_imported(message):
            today = _format_day(message.timestamp)
            note, told = _date_note(today, told), today
        given = "\n\n".join(filter(None, [note, render_context(past.blocks)]))
        messages.append(_add_text(message, given) if given else message)
    return messages, told


def _add_text(message: Message, text: str) -> Message:
    if not message.structured:
        return replace(message, content=f"{text_of(message)}\n\n{text}")
    parts = [*parts_of(message), {"type": "text", "text": f"\n{text}"}]
    return replace(message, content=json.dumps(parts, ensure_ascii=False))


def _history_messages(turn: TurnInput, history: Sequence[Message]) -> list[Message]:
    """Returns the conversation so far. Without tools some providers refuse tool messages: they become text."""
    shown = (quote_imported(one) if one.role == "system" and is_imported(one) else one for one in history)
    talk = [message for message in shown if message.role != "system" and (message.role != "user" or message.content)]
    if turn.tools or not any(message.role == "tool" or message.tool_calls for message in talk):
        return repair_messages(talk)
    return to_text_messages(talk)


def _summary_block(text: str) -> list[ContextBlock]:
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


def _example_messages(turn: TurnInput, choice: ModelChoice) -> list[Message]:
    """Returns the examples; a marked user line comes first where a provider demands that a user begins."""
    given = repair_messages(turn.examples) if turn.tools else []  # without tools an example of their use is useless
    leading = [message for message in given if message.role == "system"]
    rest = [message for message in given if message.role != "system"]
    if rest and rest[0].role != "user" and choice.provider.protocol != "openai":
        rest.insert(0, Message(role="user", content=EXAMPLES_FOLLOW))
    return [*leading, *rest]


def _merge_system(opening: Sequence[Message], choice: ModelChoice) -> list[Message]:
    """Merges the system messages for local models: their chat templates often accept one only."""
    if not choice.is_local:
        return list(opening)
    system = "\n\n".join(message.content or "" for message in opening if message.role == "system")
    return [Message(role="system", content=system), *(message for message in opening if message.role != "system")]


# attachments
async def _load_files(turn: TurnInput, talk: Sequence[Message]) -> dict[int, list[UserContent]]:
    """Returns attachments by the index of their message: the newest ones whole, older ones by name."""
    with_files = [at for at, message in enumerate(talk) if message.role == "user" and attachments_of(message)]
    contents: dict[int, list[UserContent]] = {}
    for at in with_files:
        fresh = at in with_files[-_FULL_ATTACHMENTS:]
        contents[at] = [
            await _load_file(turn, one) if fresh else describe_attachment(one) for one in attachments_of(talk[at])
        ]
    return contents


async def _load_file(turn: TurnInput, one: Attachment) -> UserContent:
    if is_text(one):
        return await inline_text(turn, one)
    shown = one.media_type.startswith("image/") or one.media_type == "application/pdf"
    if not shown or one.size > _MAX_ATTACHMENT_BYTES:
        return describe_attachment(one)
    return BinaryContent(data=await turn.read_attachment(one), media_type=one.media_type)


def _strip_attachments(message: Message) -> Message:
    if not attachments_of(message):
        return message
    return replace(message, content=text_without_attachments(message), structured=False)
