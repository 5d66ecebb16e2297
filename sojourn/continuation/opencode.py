"""opencode: a file in the form of `opencode export`, which `opencode import` reads into its database."""

from __future__ import annotations

import json
import secrets
import string
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sojourn.continuation.conversation import Entry, PastCall, PastConversation
from sojourn.continuation.native_session import NativeSession
from sojourn.core.settings import Settings

_VERSION = "1.18.0"  # the oldest that reads such files
_NO_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_BITS = (1 << 48) - 1


def build_session(conversation: PastConversation, settings: Settings) -> NativeSession:
    data = Path(settings.places.get("XDG_DATA_HOME") or settings.user_home / ".local" / "share") / "opencode"
    document = _Document(conversation, _find_model(settings))
    file = settings.home / "continuations" / f"{document.native}.json"
    return NativeSession(
        native_id=document.native,
        home=data,
        folder=conversation.folder,
        files={file: json.dumps(document.build(), ensure_ascii=False)},
        load=("opencode", "import", str(file)),
    )


def _find_model(settings: Settings) -> tuple[str, str]:
    """The provider and model a person uses in opencode: a session names one, and it must exist there."""
    config = Path(settings.places.get("XDG_CONFIG_HOME") or settings.user_home / ".config") / "opencode"
    with suppress(OSError, ValueError, AttributeError):
        provider, _, model = json.loads((config / "opencode.json").read_text("utf-8")).get("model", "").partition("/")
        if model:
            return provider, model
    with suppress(OSError, ValueError, LookupError, TypeError):
        state = settings.user_home / ".local" / "state" / "opencode" / "model.json"
        recent = json.loads(state.read_text("utf-8"))["recent"][0]
        return str(recent["providerID"]), str(recent["modelID"])
    return "opencode", "big-pickle"  # what it offers to everybody


class _Document:
    """Builds the file. The ids of opencode rise with time, and order messages and parts."""

    def __init__(self, conversation: PastConversation, model: tuple[str, str]) -> None:
        self._conversation, self._model = conversation, model
        self._last = 0
        self._start = int(conversation.started_at * 1000)
        self.native = self._make_id("ses", self._start, is_falling=True)
        self._prompt = ""

    def build(self) -> dict[str, Any]:
        ends = max((int(entry.at * 1000) for entry in self._conversation.entries), default=self._start)
        info = {
            "id": self.native,
            "slug": f"sojourn-{self.native[-6:].lower()}",
            "projectID": "global",
            "directory": self._conversation.folder,
            "title": self._conversation.title or "Continued from Sojourn",
            "version": _VERSION,
            "time": {"created": self._start, "updated": ends},
        }
        return {"info": info, "messages": [self._build_message(entry) for entry in self._conversation.entries]}

    def _build_message(self, entry: Entry) -> dict[str, Any]:
        at, (provider, model) = int(entry.at * 1000), self._model
        own = self._make_id("msg", at)
        info: dict[str, Any] = {"id": own, "sessionID": self.native, "agent": "build"}
        if entry.is_user:
            self._prompt = own
            info |= {"role": "user", "time": {"created": at}, "model": {"providerID": provider, "modelID": model}}
        else:
            folder = self._conversation.folder
            info |= {
                "role": "assistant",
                "parentID": self._prompt,
                "mode": "build",
                "path": {"cwd": folder, "root": folder},
                "cost": 0,
                "tokens": _NO_TOKENS,
                "providerID": provider,
                "modelID": model,
                "time": {"created": at, "completed": at},
                "finish": "tool-calls" if entry.calls else "stop",
            }
        shared = {"sessionID": self.native, "messageID": own}
        return {"info": info, "parts": [{"id": self._make_id("prt", at), **shared, **part} for part in _parts(entry)]}

    def _make_id(self, kind: str, milliseconds: int, *, is_falling: bool = False) -> str:
        self._last = max(self._last + 1, milliseconds << 12)
        number = ~self._last & _BITS if is_falling else self._last & _BITS
        return f"{kind}_{number:012x}{''.join(secrets.choice(_DIGITS) for _ in range(14))}"


def _parts(entry: Entry) -> Iterator[dict[str, Any]]:
    time = {"start": int(entry.at * 1000), "end": int(entry.at * 1000)}
    if entry.thought:
        yield {"type": "reasoning", "text": entry.thought, "time": time}
    if entry.text:
        yield {"type": "text", "text": entry.text} | ({} if entry.is_user else {"time": time})
    for call in entry.calls:
        yield {"type": "tool", "tool": call.name, "callID": call.id, "state": _to_state(call, time)}


def _to_state(call: PastCall, time: dict[str, int]) -> dict[str, Any]:
    if call.is_error:
        return {"status": "error", "input": call.arguments, "error": call.result, "metadata": {}, "time": time}
    state = {"status": "completed", "input": call.arguments, "output": call.result}
    return {**state, "title": call.name, "metadata": {}, "time": time}
