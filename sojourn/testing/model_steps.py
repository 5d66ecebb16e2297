"""What a scripted model does, as data: one script for each request, each a list of steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Say:
    """Visible text, streamed in pieces of `size` characters (0: word by word), `pause` seconds between them."""

    text: str
    pause: float = 0.0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning, which nobody should mistake for the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. Several in one script are parallel calls. `arguments` as text is sent as it stands."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @property
    def as_text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


@dataclass(frozen=True, slots=True)
class Wait:
    """Silence, but the line stays open."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """Silence for ever: until the caller goes away or the server stops."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """An error instead of an answer. Only as the first step."""

    status: int
    message: str = "scripted failure"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Break:
    """The line is cut, without a goodbye."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """Bytes that no protocol knows, in the middle of the stream (or as the whole body). Empty: broken JSON."""

    raw: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the model counts as used; else words are counted."""

    input_tokens: int
    output_tokens: int


Step: TypeAlias = Say | Think | Call | Wait | Hang | Refuse | Break | Garbage | Spent


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request that reached the model, for tests of what is on the wire."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    raw: bytes = b""  # the body as it came
    gone: Event = field(default_factory=Event, compare=False)  # set when the caller closed before the end
    over: Event = field(default_factory=Event, compare=False)  # set when the server is through with it

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation; Google's `contents` are given the names the others use."""
        if "contents" not in self.body:
            return list(self.body.get("messages", []))
        roles = {"model": "assistant"}
        return [
            {"role": roles.get(one.get("role"), one.get("role")), "content": one.get("parts")}
            for one in self.body["contents"]
        ]

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def tools(self) -> list[str]:
        """The names of the tools the model was told about."""
        given = self.body.get("tools") or []
        found = [one for tool in given for one in tool.get("functionDeclarations") or [tool.get("function", tool)]]
        return [str(tool.get("name", "")) for tool in found]

    def roles(self) -> list[str]:
        return [str(message.get("role")) for message in self.messages]

    def text(self, role: str = "") -> str:
        """All text of that role (of every role, without one), system text of every protocol included."""
        leading = self.body.get("system") or (self.body.get("systemInstruction") or {}).get("parts")
        system = [words(leading)] if role in ("", "system") else []
        return "\n".join(
            [*system, *(words(one.get("content")) for one in self.messages if role in ("", str(one.get("role"))))]
        )

    def last_said(self) -> str:
        """What the person said last."""
        said = [one for one in self.messages if one.get("role") == "user" and words(one.get("content"))]
        return words(said[-1].get("content")) if said else ""


Script: TypeAlias = Sequence[Step] | Callable[[Asked], Sequence[Step]]


def words(content: Any) -> str:
    """The text of a message's content in any protocol."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = (part.get("text") or words(part.get("content")) for part in content if isinstance(part, dict))
    return "\n".join(text for text in texts if text)


def pieces(step: Say) -> list[str]:
    """The text as it is streamed."""
    if step.size:
        return [step.text[at : at + step.size] for at in range(0, len(step.text), step.size)]
    parts = step.text.split(" ")
    return [part + " " for part in parts[:-1]] + parts[-1:]
