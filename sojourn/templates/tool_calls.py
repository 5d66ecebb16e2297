"""Tool calls of a session, each paired with its answer from the raw rows.

An answer belongs to its call by `tool_call_id`, in whatever order answers come. Only where one of the two has no id
the next open call of that name is meant. Calls that were only examples are left out: they never happened here. So are
calls that an agent reported by their title alone: nobody can make them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic_core import from_json

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json, Message, text_of
from sojourn.ports.history import HasToolExchanges, History, RawExchange
from sojourn.text.template_examples import is_example, is_example_id


@dataclass(slots=True)
class Exchange:
    """One call and its answer, which is None when none came. `turn` counts the person's messages, from 1."""

    row: int
    turn: int
    id: str
    tool: str
    arguments: str  # JSON text, as the model wrote it
    answer: bytes | str | None = None  # as it is stored: most are never read as text
    effect: str | None = None
    extra: Mapping[str, Json] | None = None
    _parsed: Mapping[str, Json] | None = None

    @property
    def result(self) -> str | None:
        if isinstance(self.answer, bytes):
            self.answer = self.answer.decode("utf-8", "replace")
        return self.answer

    def parse_arguments(self) -> Mapping[str, Json]:
        """The arguments; what is no JSON object becomes an empty one."""
        if self._parsed is None:
            self._parsed = _parse_object(self.arguments) or {}
        return self._parsed


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message of the person, and its place among the calls."""

    turn: int
    before: int  # how many calls were made until then
    text: str


@dataclass(frozen=True, slots=True)
class ToolConversation:
    """The tool calls of a session, and what the person wrote."""

    exchanges: Sequence[Exchange]
    spoken: Sequence[Spoken]

    @property
    def request(self) -> str:
        """The person's first request."""
        return next((one.text for one in self.spoken if one.text.strip()), "")


def json_of(text: str | bytes) -> Json:
    """`json.loads` for a million small texts: pydantic's parser takes half as long. What it does not understand, such
    as half a character, is left to Python's."""
    try:
        found: Json = from_json(text, cache_strings="keys")  # the values are hardly ever the same
    except ValueError:
        found = json.loads(text if isinstance(text, str) else text.decode("utf-8", "replace"))
    return found


def is_title_only(arguments: str) -> bool:
    """Whether a call is known by its title alone: all that some agents report (`runtimes/reported_calls.py`)."""
    if '"title"' not in arguments[:12]:  # hardly any: most calls need no second look
        return False
    found = _parse_object(arguments)
    return found is not None and list(found) == ["title"]


def read_exchanges(history: History, sessions: Sequence[str]) -> Iterator[tuple[str, Sequence[RawExchange]]]:
    """Reads the rows of sessions, one session after the other. BadInput if the history does not pair calls."""
    if not isinstance(history, HasToolExchanges):
        raise BadInput("This history does not say which answer belongs to which call.", hint="Import it first.")
    return history.exchanges(sessions)


def build_conversation(rows: Sequence[RawExchange]) -> ToolConversation:
    """Builds the conversation of one session from its rows."""
    reading = _Reading()
    for row in rows:
        role, extra = row[1], row[8]
        if extra and b"ephemeral" in extra and is_example(Message(role=_text(role), extra=_text(extra))):
            continue
        if role == b"tool":
            reading.add_answer(row)
        elif role == b"user":
            words = _extract_text(row[2], row[3])
            reading.spoken.append(Spoken(len(reading.spoken) + 1, len(reading.exchanges), words))
        elif row[4]:
            reading.add_calls(row[0], row[4])
    return ToolConversation(reading.exchanges, reading.spoken)


class _Reading:
    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.spoken: list[Spoken] = []
        self._open: dict[str, Exchange] = {}  # calls with an id that wait for their answer
        self._nameless: dict[str, Exchange] = {}  # those without one, by their place

    def add_calls(self, row: int, raw: bytes) -> None:
        try:
            found = json_of(raw)
        except (ValueError, RecursionError):
            return
        turn = len(self.spoken) or 1
        for at, one in enumerate(found if isinstance(found, list) else ()):
            call = _to_exchange(row, turn, one)
            if call is None or is_example_id(call.id):
                continue
            if not is_title_only(call.arguments):  # its answer is still to find it, and no other
                self.exchanges.append(call)
            if call.id:
                self._open[call.id] = call
            else:
                self._nameless[f"{row}:{at}"] = call

    def add_answer(self, row: RawExchange) -> None:
        _, _, content, structured, _, tool, raw_id, effect, extra = row
        call_id = raw_id.decode("utf-8", "replace") if raw_id else ""
        call = self._open.pop(call_id, None) if call_id else None
        if call is None:
            if is_example_id(call_id):
                return
            call = self._next_open(_text(tool), by_id=not call_id)
            if call is None:
                return
        call.answer = content if content and not structured else _extract_text(content, structured)
        if effect:
            call.effect = _text(effect)
        if extra:
            call.extra = _parse_object(extra)

    def _next_open(self, tool: str, *, by_id: bool) -> Exchange | None:
        """The call meant by an answer whose id says nothing: the first open one of that name, or of any."""
        for waiting in (self._nameless, self._open) if by_id else (self._nameless,):
            meant = next((key for key, one in waiting.items() if not tool or one.tool == tool), None)
            if meant is not None:
                return waiting.pop(meant)
        return None


def _to_exchange(row: int, turn: int, raw: Json) -> Exchange | None:
    """One call of either stored shape; a call without a name is none."""
    if not isinstance(raw, dict):
        return None
    inner = raw.get("function")
    function: Mapping[str, Json] = inner if isinstance(inner, dict) else raw
    name = raw.get("name") or function.get("name")
    if not isinstance(name, str) or not name:
        return None
    given = function.get("arguments", raw.get("arguments", "{}"))
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    id = raw.get("id") or raw.get("call_id") or ""
    return Exchange(row, turn, id if isinstance(id, str) else str(id), name, text)


def _text(raw: bytes | None) -> str:
    return raw.decode("utf-8", "replace") if raw else ""


def _extract_text(content: bytes | None, structured: bool) -> str:
    if not structured:
        return _text(content)
    return text_of(Message(role="", content=_text(content), structured=True))


def _parse_object(raw: bytes | str) -> Mapping[str, Json] | None:
    try:
        found = json_of(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
