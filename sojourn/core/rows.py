"""Between values and rows: the one write path, and the one way back.

Every store keeps the same columns and goes through `message_row`, so that redaction, the escape
of `core.text` and the searchable text are the same everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.events import Done
from sojourn.core.messages import Message, text_of, tool_calls_of
from sojourn.core.sessions import Principal, Session, SessionId
from sojourn.text.escape import escape, unescape
from sojourn.text.query import Clause, matches_terms, matches_text
from sojourn.text.redaction import Redactor
from sojourn.text.tokenizer import clip_indexed_text, extract_terms, tool_term

_FIELDS = tuple(field.name for field in fields(Message))
_FLAGS = ("structured", "observed", "active", "compacted")
# What may hold a secret. An id of the program it came from is told apart by every character, so it stays as it is.
_TEXTS = frozenset(_FIELDS) - {"role", "native_id", "timestamp", "token_count", *_FLAGS}

_values = attrgetter(*_FIELDS)
_TEXT_PLACES = tuple(at for at, name in enumerate(_FIELDS) if name in _TEXTS)
_FLAG_PLACES = tuple(at for at, name in enumerate(_FIELDS) if name in _FLAGS)
_NAME_PLACES = _FIELDS.index("role"), _FIELDS.index("native_id")
_ESCAPED_PLACES = (*_TEXT_PLACES, *_NAME_PLACES)
_TIME = _FIELDS.index("timestamp")

# The columns of `messages` that hold a Message, in the order stores write them.
MESSAGE_COLUMNS = _FIELDS
# Those of `sessions` that come back as a Session, in the order stores read them.
_LATER = ("tags", "preview", "last_active")
SESSION_COLUMNS = (*(f.name for f in fields(Session) if f.name not in (*_LATER, "details")), *_LATER)
# The rest of the row: what importers and hand-offs know. Same names and meanings as in Hermes.
DETAIL_COLUMNS = (
    "user_id",
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "display_name",
    "origin_json",
    "expiry_finalized",
    "model_config",
    "system_prompt",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "git_branch",
    "git_repo_root",
    "billing_provider",
    "billing_base_url",
    "billing_mode",
    "actual_cost_usd",
    "cost_status",
    "cost_source",
    "pricing_version",
    "api_call_count",
    "compression_failure_cooldown_until",
    "compression_failure_error",
    "compression_fallback_streak",
    "profile_name",
    "rewind_count",
    "source_home",
    "source_id",
    "extra",
)
# Those an importer fills; the others are ours alone.
_OURS = (
    "id",
    "principal",
    "last_seq",
    "revision",
    "driver",
    "driver_fence",
    "preview",
    "message_count",
    "tool_call_count",
)
FOREIGN_COLUMNS = tuple(name for name in (*SESSION_COLUMNS, *DETAIL_COLUMNS) if name not in _OURS)
# What a session has cost so far: it grows where the session came from, and an import follows it.
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
FIGURE_COLUMNS = (*_TOKENS, "api_call_count", "estimated_cost_usd", "actual_cost_usd", "cost_status", "cost_source")
_SPENT = (("input_tokens", "input_tokens"), ("output_tokens", "output_tokens"), ("estimated_cost_usd", "cost_usd"))
_WHOLES = frozenset(_TOKENS) | {
    "pinned",
    "archived",
    "message_count",
    "tool_call_count",
    "last_seq",
    "revision",
    "driver_fence",
    "expiry_finalized",
    "api_call_count",
    "compression_fallback_streak",
    "rewind_count",
}
_REALS = frozenset(
    (
        "started_at",
        "last_active",
        "ended_at",
        "estimated_cost_usd",
        "actual_cost_usd",
        "compression_failure_cooldown_until",
        "first_seen",
        "last_seen",
    )
)


def safe(text: str | None, redact: Redactor) -> str | None:
    """A text as it may be written: secrets blacked out, characters a database refuses escaped."""
    return None if text is None else escape(redact(text))


def column(name: str, value: Any, redact: Redactor) -> Any:
    """A value of a session's row, in the type of its column; what is neither text nor number is kept as JSON."""
    if value is None:
        return None
    if name in _WHOLES or name in _REALS:
        try:
            return int(value) if name in _WHOLES else float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInput(f"{name} cannot be {value!r}.", hint="A number is needed.") from error
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if name in ("id", "principal") else escape(redact(text))


def fitting(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What an importer may fill, as far as it fits: a date that is no date is left out."""
    kept: dict[str, Any] = {}
    for name in FOREIGN_COLUMNS:
        try:
            column(name, fields.get(name), str)
        except BadInput:
            continue
        kept[name] = fields.get(name)
    return kept


def message_row(message: Message, redact: Redactor, *, now: float) -> tuple[Any, ...]:
    """The values of MESSAGE_COLUMNS, ready to be written."""
    row = list(_values(message))
    for at in _TEXT_PLACES:
        if row[at] is not None:
            row[at] = escape(redact(row[at]))
    for at in _FLAG_PLACES:
        row[at] = int(row[at])
    for at in _NAME_PLACES:  # a name is not a secret, whatever it looks like
        if row[at] is not None:
            row[at] = escape(row[at])
    row[_TIME] = float(row[_TIME]) or now
    return tuple(row)


def message_from(row: Mapping[str, Any]) -> Message:
    """The message a row holds."""
    return message_of([row[name] for name in _FIELDS])


def message_of(written: Iterable[Any]) -> Message:
    """The message that comes of the values of MESSAGE_COLUMNS when they are read again."""
    values: list[Any] = list(written)
    for at in _ESCAPED_PLACES:
        if isinstance(values[at], str):
            values[at] = unescape(values[at])
    for at in _FLAG_PLACES:
        values[at] = bool(values[at])
    return Message(**dict(zip(_FIELDS, values, strict=True)))


def session_from(row: Mapping[str, Any], details: Mapping[str, Any] | None = None) -> Session:
    """The session a row holds."""
    values: dict[str, Any] = {
        name: unescape(row[name]) if isinstance(row[name], str) else row[name] for name in SESSION_COLUMNS
    }
    values["id"], values["principal"] = SessionId(values["id"]), Principal(values["principal"])
    values["tags"] = tuple(values["tags"].split(",")) if values["tags"] else ()
    values["pinned"], values["archived"] = bool(values["pinned"]), bool(values["archived"])
    values["preview"] = values["preview"] or ""
    values["last_active"] = values["last_active"] or values["started_at"]
    if details is not None:
        values["details"] = {key: unescape(v) if isinstance(v, str) else v for key, v in details.items()}
    return Session(**values)


def preview(message: Message) -> str:
    """The opening words of a message, for lists."""
    words = " ".join(text_of(message)[:400].split())
    return words if len(words) <= 80 else words[:79] + "…"


def opening(messages: Iterable[Message], redact: Redactor) -> str:
    """The opening words of the first thing a person said, as they may be kept: blacked out first, cut then."""
    for message in messages:
        if message.role != "user" or not message.content:
            continue
        if words := preview(replace(message, content=redact(message.content))):
            return escape(words)
    return ""


def searchable(message: Message) -> str:
    """The text a message is found by: what was said, and what its tool calls asked."""
    said = clip_indexed_text(text_of(message), tool_output=message.role == "tool")
    asked = (f"{call.name} {call.arguments}" for call in tool_calls_of(message))
    return "\n".join([said, *(clip_indexed_text(one, tool_output=True) for one in asked)])


def index_terms(message: Message) -> set[str]:
    """Everything a message is found under: its words, and its tools as terms of their own."""
    names = [call.name for call in tool_calls_of(message)] + ([message.tool_name] if message.tool_name else [])
    return extract_terms(searchable(message)) | {tool_term(name) for name in names}


def is_hit(message: Message, clauses: tuple[Clause, ...], tool: str) -> bool:
    """Whether a message answers, decided without an index."""
    found = index_terms(message)
    if tool and tool_term(tool) not in found:
        return False
    return matches_terms(clauses, found) and matches_text(clauses, searchable(message))


def title_terms(title: str | None) -> str | None:
    """A title's terms between spaces, so that plain SQL can look for whole ones."""
    return f" {' '.join(sorted(extract_terms(title)))} " if title else None


def spent(items: Iterable[object]) -> dict[str, float]:
    """What the turns that end among these items add to the figures of their session, by column."""
    found: dict[str, float] = {}
    for done in (item for item in items if isinstance(item, Done)):
        for column, key in _SPENT:
            amount = done.usage.get(key)
            if isinstance(amount, (int, float)) and not isinstance(amount, bool) and 0 < amount < 1e15:
                found[column] = found.get(column, 0) + (amount if column == "estimated_cost_usd" else int(amount))
    return found


def call_count(message: Message) -> int:
    """How many tool calls the row asks for, counted as Hermes counts them."""
    if not message.tool_calls:
        return 0
    try:
        found = json.loads(message.tool_calls)
    except (ValueError, RecursionError):
        return 0
    return len(found) if isinstance(found, list) else 0
