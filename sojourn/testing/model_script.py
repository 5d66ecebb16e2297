"""Scripts of the model server: a script is a list of steps and answers one request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Say:
    """Streams text in pieces of `size` characters (0: word by word), with `pause` seconds between them."""

    text: str
    pause: float = 0.0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Think:
    """Streams reasoning, which is not part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """Calls a tool. Several in one script are parallel calls. `arguments` as a str are sent unchanged."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @property
    def as_text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


@dataclass(frozen=True, slots=True)
class Wait:
    """Sends nothing for some seconds; the connection stays open."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """Sends nothing until the caller disconnects or the server stops."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answers with an HTTP error. Only as the first step."""

    status: int
    message: str = "scripted failure"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Break:
    """Drops the connection."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """Sends text that no protocol allows, within the stream or as the whole body. Empty: broken JSON."""

    raw: str = ""


@dataclass(frozen=True, slots=True)
class ReportUsage:
    """Sets the token counts of the answer; without it, words are counted."""

    input_tokens: int
    output_tokens: int


Step: TypeAlias = Say | Think | Call | Wait | Hang | Refuse | Break | Garbage | ReportUsage


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """A request that reached the model server."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    raw: bytes = b""  # the body
    gone: Event = field(default_factory=Event, compare=False)  # set when the caller disconnected before the end
    over: Event = field(default_factory=Event, compare=False)  # set when the server has finished it

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation, with Google's `contents` in the form of the others."""
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
        """The names of the tools in the request."""
        given = self.body.get("tools") or []
        found = [one for tool in given for one in tool.get("functionDeclarations") or [tool.get("function", tool)]]
        return [str(tool.get("name", "")) for tool in found]

    def roles(self) -> list[str]:
        return [str(message.get("role")) for message in self.messages]

    def text(self, role: str = "") -> str:
        """Returns all text of a role, or of every role; includes the system text of every protocol."""
        leading = self.body.get("system") or (self.body.get("systemInstruction") or {}).get("parts")
        system = [content_text(leading)] if role in ("", "system") else []
        return "\n".join(
            [
                *system,
                *(content_text(one.get("content")) for one in self.messages if role in ("", str(one.get("role")))),
            ]
        )

    def last_user_text(self) -> str:
        """Returns the last user message."""
        said = [one for one in self.messages if one.get("role") == "user" and content_text(one.get("content"))]
        return content_text(said[-1].get("content")) if said else ""


Script: TypeAlias = Sequence[Step] | Callable[[ModelRequest], Sequence[Step]]


def content_text(content: Any) -> str:
    """Returns the text of a message's content in any protocol."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = (part.get("text") or content_text(part.get("content")) for part in content if isinstance(part, dict))
    return "\n".join(text for text in texts if text)


def split_text(step: Say) -> list[str]:
    """Splits a text into the pieces in which it is streamed."""
    if step.size:
        return [step.text[at : at + step.size] for at in range(0, len(step.text), step.size)]
    parts = step.text.split(" ")
    return [part + " " for part in parts[:-1]] + parts[-1:]
