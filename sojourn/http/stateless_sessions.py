"""Stateless sessions: finds the session whose transcript a `/v1` client sends, continues it, or branches.

A client of these protocols sends the whole conversation each time. Under a hash of everything that it has seen, our
answers included, a record names the session; the hash covers the token and the person too. A session that has moved on
since, or two with the same transcript, are not continued: a new session begins with what was sent.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sojourn.core.errors import Conflict, NotDriving, NotFound, SessionBusy, TitleTaken
from sojourn.core.messages import Message
from sojourn.core.sessions import Recorded, Session, SessionId
from sojourn.http.prompt_messages import CallPrompt, TranscriptHash
from sojourn.ports.service import Caller, Service, Turn, TurnRequest
from sojourn.ports.store import Record, Store
from sojourn.text.formatting import one_line
from sojourn.text.redaction import redact

KIND = "v1_transcript"
_MAX_TITLE_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedCompletion:
    """A turn that a call has started, and the hash of what the client has seen before the answer."""

    turn: Turn
    seen: TranscriptHash


@dataclass(frozen=True, slots=True, kw_only=True)
class StatelessSessions:
    """Starts turns for calls that carry their whole conversation. `scope` is the token that they came with."""

    service: Service
    store: Store
    caller: Caller
    scope: str

    async def start(
        self, prompt: CallPrompt, request: TurnRequest, *, session: SessionId | None = None, branch: bool = False
    ) -> StartedCompletion:
        """Starts the turn in `session`, in the one whose transcript this is, or in a new one (`branch`: always)."""
        seen = TranscriptHash(f"{self.scope}\n{self.caller.principal}")
        for one in prompt.earlier:
            seen.add(one)
        found = session or (await self._find(seen.value) if prompt.earlier and not branch else None)
        turn: Turn | None = None
        if found is not None:
            try:
                turn = await self._say(found, prompt, request)
            except (SessionBusy, NotDriving):
                if session is not None:
                    raise
        if turn is None:
            turn = await self._say(await self._open(prompt, request), prompt, request)
        return StartedCompletion(turn=turn, seen=seen.add(prompt.last))

    async def save(self, started: StartedCompletion, answer: str) -> None:
        """Notes under which transcript the session goes on, now that the client has the answer."""
        key, session = started.seen.add_answer(answer).value, started.turn.session
        with suppress(NotFound):  # the session was deleted meanwhile
            mark = _mark(await self.service.messages(session, principal=self.caller.principal))
            known = await self.store.get_record(KIND, key)
            others = [] if known is None else [one for one in known.value["sessions"] if one["id"] != session]
            value: dict[str, Any] = {"sessions": [*others, {"id": session, "mark": mark}][-2:]}
            await self.store.put_record(
                Record(kind=KIND, key=key, value=value, principal=self.caller.principal, session=session)
            )

    async def _find(self, key: str) -> SessionId | None:
        """The one session with this transcript that has not moved on."""
        known = await self.store.get_record(KIND, key)
        if known is None or len(known.value["sessions"]) != 1:
            return None
        found = known.value["sessions"][0]
        try:
            messages = await self.service.messages(SessionId(found["id"]), principal=self.caller.principal)
        except NotFound:
            return None
        return SessionId(found["id"]) if _mark(messages) == found["mark"] else None

    async def _say(self, session: SessionId, prompt: CallPrompt, request: TurnRequest) -> Turn:
        files = [
            await self.service.attach(session, one.data, media_type=one.media_type, name=one.name)
            for one in prompt.last.files
        ]
        return await self.service.say(session, replace(request, attachments=tuple(files)), self.caller)

    async def _open(self, prompt: CallPrompt, request: TurnRequest) -> SessionId:
        """A new session with what was said before. It has a title at once, so that no model is asked for one."""
        opened = await self._create(prompt, request)
        if prompt.earlier:
            lease = await self.store.lease(opened.id, holder=self.caller.holder, surface=self.caller.surface)
            await self.store.append(lease, [one.message for one in prompt.earlier])
            await self.store.renew(lease, 0)
        return opened.id

    async def _create(self, prompt: CallPrompt, request: TurnRequest) -> Session:
        first = next((one for one in (*prompt.earlier, prompt.last) if one.message.role == "user"), prompt.last)
        title = one_line(redact(first.text).strip(" #>*-`\t\n"), _MAX_TITLE_CHARS) or "A file"
        now = datetime.now(UTC)
        for wanted in (title, f"{title} ({now:%Y-%m-%d %H:%M})", f"{title} ({now:%Y-%m-%d %H:%M:%S.%f})"):
            try:
                return await self.service.open(
                    self.caller, title=wanted, model=request.model or None, runtime=request.runtime
                )
            except TitleTaken:
                continue
        raise Conflict("No title is free for this session.", hint="Send the call again.")


def _mark(messages: list[Recorded] | Any) -> list[int]:
    """What changes when a session goes on or something in it is undone: the last number, and how many count."""
    active = [one for one in messages if isinstance(one.item, Message) and one.item.active]
    return [max((one.seq for one in messages), default=0), len(active)]
