"""Row codec: converts messages, sessions and other values to column values and back.

Messages have functions of their own, which are fast. `encode_fields` and `decode_row` serve all small values.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from sojourn.core.errors import BadInput
from sojourn.core.events import Done
from sojourn.core.messages import Json, Message, text_of, tool_calls_of
from sojourn.core.sessions import DETAIL_FIELDS, Principal, Session, SessionId
from sojourn.text.codec import field_names
from sojourn.text.escape import escape, unescape
from sojourn.text.message_redaction import TEXT_FIELDS
from sojourn.text.query import Clause, matches_terms, matches_text
from sojourn.text.redaction import INLINE_CHARS, Identifier, Redactor
from sojourn.text.tokenizer import clip_indexed_text, extract_all_terms, extract_derived_terms, extract_terms, tool_term

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

_FIELDS = tuple(field.name for field in fields(Message))
_FLAGS = ("structured", "observed", "active", "compacted")

_values = attrgetter(*_FIELDS)
_TEXT_POSITIONS = tuple(at for at, name in enumerate(_FIELDS) if name in TEXT_FIELDS)
_FLAG_POSITIONS = tuple(at for at, name in enumerate(_FIELDS) if name in _FLAGS)
_NAME_POSITIONS = _FIELDS.index("role"), _FIELDS.index("native_id")
_ESCAPED_POSITIONS = (*_TEXT_POSITIONS, *_NAME_POSITIONS)
_TIME = _FIELDS.index("timestamp")

# The columns of `messages` that hold a Message, in the order stores write them.
MESSAGE_COLUMNS = _FIELDS
# The columns of `sessions` that hold a Session, in the order stores read them.
_LAST = ("tags", "preview", "last_active")
SESSION_COLUMNS = (*(field.name for field in fields(Session) if field.name not in (*_LAST, "details")), *_LAST)
# Columns that only Sojourn writes; importers fill the others.
_COUNTERS = ("last_seq", "revision", "driver_fence", "message_count", "tool_call_count")
_STATE = ("program", "trashed_at", "branched_from", "copied")
_OURS = ("id", "principal", "driver", "preview", *_STATE, *_COUNTERS)
FOREIGN_COLUMNS = tuple(name for name in (*SESSION_COLUMNS, *DETAIL_FIELDS) if name not in _OURS)
# Cost so far. It grows at the source of an imported session, and each import updates it.
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
FIGURE_COLUMNS = (*_TOKENS, "api_call_count", "estimated_cost_usd", "actual_cost_usd", "cost_status", "cost_source")
# Columns of `sessions` that sum the usage of turns, with the key in `Done.usage`.
_USAGE_KEYS = {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "estimated_cost_usd": "cost_usd"}
_FLAGS_AND_COUNTS = ("pinned", "archived", "expiry_finalized", "compression_fallback_streak", "rewind_count")
_INTEGERS = frozenset((*_COUNTERS, *_TOKENS, "api_call_count", "copied", *_FLAGS_AND_COUNTS))
_TIMES = (
    "started_at",
    "last_active",
    "ended_at",
    "first_seen",
    "last_seen",
    "compression_failure_cooldown_until",
    "trashed_at",
)
_REALS = frozenset((*_TIMES, "estimated_cost_usd", "actual_cost_usd"))
# Fields of small values whose column has another name.
_COLUMN_OF = {
    "session": "session_id",
    "previous": "previous_session_id",
    "turn": "turn_id",
    "until": "lease_until",
    "by": "requested_by",
}
_MAX_TOOL_NAMES, _MAX_NAME_CHARS = 500, 200  # names of a session, characters of a name
_PLAIN_NAME = re.compile("[a-z_]{1,30}")
_MARK = f"aside-{secrets.token_hex(16)}-"
_JSON_FIELDS = ("value", "payload", "details", "health")
_FLAG_FIELDS = ("possible_duplicate",)
_ID_COLUMNS = ("id", "principal", "user_id", "session_key", "chat_id", "thread_id", "source_id", "parent_session_id")
_REDACTED_FIELDS = ("note", "error")  # the other texts are names, which are compared character by character


def to_stored_text(text: str | None, redact: Redactor) -> str | None:
    """Redacts secrets and escapes the characters that a database refuses."""
    return None if text is None else escape(redact(text))


def coerce_column(name: str, value: Any, redact: Redactor) -> Any:
    """Converts a value to the type of its `sessions` column; other types become JSON text.

    Raises BadInput if a number column is given something else.
    """
    if value is None:
        return None
    if name in _INTEGERS or name in _REALS:
        try:
            return int(value) if name in _INTEGERS else float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInput(f"{name} cannot be {value!r}.", hint="Pass a number.") from error
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return escape(text if name in _ID_COLUMNS else redact(text))


def coerce_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the importable columns of a transcript, without the values that do not fit their column."""
    fitting: dict[str, Any] = {}
    for name in FOREIGN_COLUMNS:
        try:
            coerce_column(name, fields.get(name), str)
        except BadInput:
            continue
        fitting[name] = fields.get(name)
    return fitting


def message_row(message: Message, redact: Redactor, *, now: float) -> tuple[Any, ...]:
    """Returns the values of MESSAGE_COLUMNS, redacted and escaped. `now` replaces a missing timestamp."""
    row = list(_values(message))
    for at in _TEXT_POSITIONS:
        if row[at] is not None:
            row[at] = escape(redact(row[at]))
    for at in _FLAG_POSITIONS:
        row[at] = int(row[at])
    for at in _NAME_POSITIONS:  # never redacted: a name is not a secret
        if row[at] is not None:
            row[at] = escape(row[at])
    row[_TIME] = float(row[_TIME]) or now
    return tuple(row)


def message_from_row(row: Mapping[str, Any]) -> Message:
    """Decodes the message of a `messages` row."""
    return message_from_values([row[name] for name in _FIELDS])


def message_from_values(row_values: Iterable[Any]) -> Message:
    """Decodes the message of values in the order of MESSAGE_COLUMNS."""
    values: list[Any] = list(row_values)
    for at in _ESCAPED_POSITIONS:
        if isinstance(values[at], str):
            values[at] = unescape(values[at])
    for at in _FLAG_POSITIONS:
        values[at] = bool(values[at])
    return Message(**dict(zip(_FIELDS, values, strict=True)))


def session_from(row: Mapping[str, Any], details: Mapping[str, Any] | None = None) -> Session:
    """Decodes the session of a `sessions` row; `details` are its DETAIL_FIELDS, if they were selected."""
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


def preview_line(message: Message) -> str:
    """Truncates the text of a message to one line of 80 characters, for lists."""
    words = " ".join(text_of(message)[:400].split())
    return words if len(words) <= 80 else words[:79] + "…"


def preview_of(messages: Iterable[Message], redact: Redactor) -> str:
    """Returns the preview of the first user message with text; redacted before it is truncated."""
    for message in messages:
        if message.role != "user" or not message.content:
            continue
        if words := preview_line(replace(message, content=redact(message.content[:INLINE_CHARS]))):
            return escape(words)
    return ""


def searchable_text(message: Message) -> str:
    """Returns the text that a search matches: the message text and its tool calls, each truncated."""
    text = clip_indexed_text(text_of(message), tool_output=message.role == "tool")
    tool_calls = (f"{call.name} {call.arguments}" for call in tool_calls_of(message))
    return "\n".join([text, *(clip_indexed_text(call, tool_output=True) for call in tool_calls)])


def index_terms(message: Message) -> set[str]:
    """Returns the search terms of a message: its words, and one term for each tool."""
    return extract_terms(searchable_text(message)) | _tool_terms(message)


def derived_terms(message: Message) -> set[str]:
    """Returns the terms of the stems and pairs of words of a message."""
    return extract_derived_terms(searchable_text(message))


def all_terms(message: Message) -> set[str]:
    """Returns `index_terms` and `derived_terms` together."""
    return extract_all_terms(searchable_text(message)) | _tool_terms(message)


def _tool_terms(message: Message) -> set[str]:
    names = [call.name for call in tool_calls_of(message)] + ([message.tool_name] if message.tool_name else [])
    return {tool_term(name) for name in names}


def matches_query(message: Message, clauses: tuple[Clause, ...], tool: str) -> bool:
    """Decides without an index whether a message matches a query."""
    message_terms = index_terms(message)
    if tool and tool_term(tool) not in message_terms:
        return False
    return matches_terms(clauses, message_terms) and matches_text(clauses, searchable_text(message))


def title_terms(title: str | None) -> str | None:
    """Joins the terms of a title with spaces around each, so that LIKE can match whole terms."""
    return f" {' '.join(sorted(extract_terms(title)))} " if title else None


def sum_usage(items: Iterable[object]) -> dict[str, float]:
    """Sums the usage of the turns that end among these items, by column of `sessions`."""
    totals: dict[str, float] = {}
    for done in (item for item in items if isinstance(item, Done)):
        for column, key in _USAGE_KEYS.items():
            amount = done.usage.get(key)
            if isinstance(amount, (int, float)) and not isinstance(amount, bool) and 0 < amount < 1e15:
                totals[column] = totals.get(column, 0) + (amount if column == "estimated_cost_usd" else int(amount))
    return totals


def add_tool_names(known: str, messages: Iterable[Message]) -> str:
    """Returns the names of the tools that a session calls, separated by commas, with those of more messages added."""
    names = dict.fromkeys(known.split(",") if known else ())
    for message in messages:
        for name in list_tool_names(message):
            if len(names) < _MAX_TOOL_NAMES:
                names[escape(name[:_MAX_NAME_CHARS].replace(",", " "))] = None
    return ",".join(names)


def list_tool_names(message: Message) -> list[str]:
    """Returns the names of the tools that a message calls or answers for."""
    if not message.tool_calls and not message.tool_name:
        return []
    return [name for name in (*(call.name for call in tool_calls_of(message)), message.tool_name) if name]


def count_tool_calls(message: Message) -> int:
    """Counts the tool calls of a message the way Hermes counts them."""
    if not message.tool_calls:
        return 0
    try:
        found = json.loads(message.tool_calls)
    except (ValueError, RecursionError):
        return 0
    return len(found) if isinstance(found, list) else 0


def encode_json(value: Json, redact: Redactor) -> str:
    """Encodes a JSON document for a text column. Raises BadInput if the value is not JSON."""
    try:
        text = _dump(value)  # nearly always there is nothing to redact, and so no identifier to tell apart
        is_clean = not holds_text(value) or (len(text) <= INLINE_CHARS and redact(text) == text)
        return escape(text if is_clean else _encode_json(value, redact))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(
            f"The value is not JSON: {error}.", hint="Use texts, numbers, lists and dictionaries."
        ) from error


def holds_text(value: Json) -> bool:
    """Whether a JSON document has a text in which a secret could be, besides plain names of fields."""
    if isinstance(value, Mapping):
        return any(not _PLAIN_NAME.fullmatch(str(key)) or holds_text(one) for key, one in value.items())
    return any(map(holds_text, value)) if isinstance(value, (list, tuple)) else isinstance(value, str) and value != ""


def _encode_json(value: Json, redact: Redactor) -> str:
    """Identifiers are stored as they are; everything between them is redacted as one text, with its field names."""
    if isinstance(value, Identifier) or not isinstance(value, (str, dict, list, tuple)):
        return _dump(value)
    if not _holds_identifier(value):
        return _redact_json(value, redact)
    if not isinstance(value, dict):
        return f"[{', '.join(_encode_json(one, redact) for one in value)}]"
    others = {key: one for key, one in value.items() if not isinstance(key, Identifier) and not _holds_identifier(one)}
    parts = [
        f"{_encode_key(key, redact)}: {_encode_json(one, redact)}" for key, one in value.items() if key not in others
    ]
    return f"{{{', '.join([*parts, *([_redact_json(others, redact)[1:-1]] if others else [])])}}}"


def _encode_key(key: Any, redact: Redactor) -> str:
    return _dump(key) if isinstance(key, Identifier) else redact(_dump({key: 0})[1:-4])


def _holds_identifier(value: Json) -> bool:
    if isinstance(value, dict):
        return any(isinstance(key, Identifier) or _holds_identifier(one) for key, one in value.items())
    return any(map(_holds_identifier, value)) if isinstance(value, list) else isinstance(value, Identifier)


def _redact_json(value: Json, redact: Redactor) -> str:
    """Encodes and redacts a document without identifiers."""
    aside: list[str] = []
    text = redact(_dump(_set_aside(value, aside)))
    for number, one in enumerate(aside):
        text = text.replace(f'"{_MARK}{number}"', _dump(redact(one)))
    return text


def _set_aside(value: Json, aside: list[str]) -> Json:
    """Puts marks in the place of long texts: they are redacted one by one, most of them for the second time."""
    if isinstance(value, str) and len(value) > INLINE_CHARS:
        aside.append(value)
        return f"{_MARK}{len(aside) - 1}"
    if isinstance(value, dict):
        return {_set_aside(name, aside): _set_aside(one, aside) for name, one in value.items()}
    return [_set_aside(one, aside) for one in value] if isinstance(value, list) else value


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def decode_json(text: str) -> Json:
    """Decodes a JSON document from a text column."""
    return json.loads(unescape(text))


def encode_fields(values: Mapping[str, Any], redact: Redactor) -> dict[str, Any]:
    """Encodes fields of a small value (a record, a hand-off …) as column values, by column name."""
    columns: dict[str, Any] = {}
    for name, value in values.items():
        if name in _JSON_FIELDS:
            value = encode_json(value, redact)
        elif isinstance(value, str):
            value = escape(redact(value) if name in _REDACTED_FIELDS else value)
        columns[_COLUMN_OF.get(name, name)] = value
    return columns


def encode_value(value: DataclassInstance, redact: Redactor) -> dict[str, Any]:
    """Encodes all fields of a small value as column values, by column name."""
    return encode_fields({name: getattr(value, name) for name in field_names(type(value)) or ()}, redact)


def decode_row(kind: type[T], row: Mapping[str, Any]) -> T:
    """Decodes a small value from its row: the reverse of `encode_value`."""
    values: dict[str, Any] = {}
    for name in field_names(kind) or ():
        value = row[_COLUMN_OF.get(name, name)]
        if name in _JSON_FIELDS:
            value = decode_json(value)
        elif name in _FLAG_FIELDS:
            value = bool(value)
        elif isinstance(value, str):
            value = unescape(value)
        values[name] = value
    return kind(**values)
