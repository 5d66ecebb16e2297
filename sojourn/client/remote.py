"""RemoteService: `ports.service.Service` over HTTP and server-sent events."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from sojourn.chat_command_table import CommandOutput
from sojourn.client.transport import RECONNECT_SECONDS, FindServer, HttpTransport
from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput, NotFound
from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.sessions import OWNER, Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.libraries import Fact, Skill, SkillProblem, TemplateInfo
from sojourn.ports.service import Approval, Caller, ExportFormat, RuntimeInfo, Turn, TurnRequest
from sojourn.ports.store import Listing, Log, PendingQuestion, SearchHit, SearchQuery
from sojourn.ports.tool import Reply
from sojourn.server_file import Server
from sojourn.text.cited_answer import Answer
from sojourn.text.codec import decode_recorded, decode_value, encode_value, make_cursor

T = TypeVar("T")
_ARCHIVED = {True: "yes", False: "no", None: "any"}
_PAGE_ROWS, _PAGE_HITS = 1000, 200  # the most one request may ask for
_SETTABLE = ("title", "tags", "pinned", "archived", "model", "cwd")
_HANDOFF = ("handoff_state", "handoff_platform", "handoff_error")


class RemoteService:
    """The service of a server. Turns run there, and continue when this is closed."""

    def __init__(self, server: Server, again: FindServer | None = None, *, patience: float = RECONNECT_SECONDS) -> None:
        self._transport = HttpTransport(server, again, patience=patience)

    async def close(self) -> None:
        await self._transport.close()

    async def _ask_for(self, kind: type[T], method: str, path: str, who: Caller | Principal = OWNER, **given: Any) -> T:
        """The answer as a dataclass."""
        return decode_value(kind, await self._transport.ask(method, path, who, **given))

    # turns
    async def open(
        self,
        by: Caller,
        *,
        title: str | None = None,
        model: str | None = None,
        runtime: str = "",
        cwd: str = "",
        parent: SessionId | None = None,
    ) -> Session:
        wanted = {
            "title": title,
            "model": model,
            "runtime": runtime,
            "cwd": cwd or None,
            "parent": parent,
            "source": by.surface,
        }
        return await self._ask_for(Session, "POST", "/api/sessions", by, json=wanted)

    async def say(
        self, session: SessionId, said: TurnRequest, by: Caller, *, when_busy: Literal["refuse", "wait"] = "refuse"
    ) -> Turn:
        """Sends an idempotency key, so that repeating it after a broken connection starts no second turn."""
        body = {
            "message": said.text,
            "runtime": said.runtime,
            "model": said.model,
            "template": said.template,
            "drop": said.drop,
            "internal": said.internal,
            "cwd": said.cwd,
            "attended": said.attended,
            "allow": said.allow,
            "when_busy": when_busy,
            "attachments": [{"hash": one.hash, "name": one.name} for one in said.attachments],
        }
        key, path = quote(said.key) or uuid.uuid4().hex, _session_path(session, "turns")
        endless = when_busy == "wait"
        found = await self._transport.ask(
            "POST", path, by, safe=True, endless=endless, headers={"Idempotency-Key": key}, json=body
        )
        return Turn(id=TurnId(found["turn_id"]), session=SessionId(found["session_id"]), after=found["after"])

    async def stop(self, session: SessionId, by: Caller, *, turn: TurnId | None = None) -> bool:
        path = _session_path(session, "turns", turn or "running", "stop")
        return bool((await self._transport.ask("POST", path, by, safe=True))["stopped"])

    async def answer(self, session: SessionId, question: str, reply: Reply, by: Caller) -> None:
        path = _session_path(session, "turns", "running", "approval")
        body = {"question": question, "choice": reply.choice, "why": reply.why, "covers": reply.covers}
        await self._transport.ask("POST", path, by, json=body)

    async def get_question(self, session: SessionId, question: str, by: Caller) -> PendingQuestion:
        return await self._ask_for(PendingQuestion, "GET", _session_path(session, "questions", question), by)

    async def list_approvals(self, by: Caller) -> Sequence[Approval]:
        found = await self._transport.ask("GET", "/api/approvals", by)
        return [decode_value(Approval, one) for one in found["approvals"]]

    async def revoke_approval(self, id: str, by: Caller) -> Approval:
        return await self._ask_for(Approval, "DELETE", f"/api/approvals/{quote(id, safe='')}", by)

    async def take_notices(self, by: Caller) -> Sequence[str]:
        return [str(one) for one in (await self._transport.ask("POST", "/api/notices", by))["notices"]]

    async def run_plugin_command(self, name: str, arguments: str, session: SessionId, by: Caller) -> CommandOutput:
        path, body = _session_path(session, "commands"), {"line": f"/{name} {arguments}".strip()}
        found = await self._transport.ask("POST", path, by, json=body)
        rows = tuple(tuple(row) for row in found["rows"])
        return CommandOutput(lines=tuple(found["lines"]), rows=rows, choices=found["choices"])

    async def steer(self, session: SessionId, text: str, by: Caller) -> None:
        await self._transport.ask("POST", _session_path(session, "steer"), by, json={"text": text})

    async def take_over(self, session: SessionId, by: Caller) -> Session:
        return await self._ask_for(Session, "POST", _session_path(session, "take"), by, safe=True)

    async def undo(self, session: SessionId, by: Caller) -> int:
        return int((await self._transport.ask("POST", _session_path(session, "undo"), by))["hidden"])

    async def attach(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> Attachment:
        path, headers = _session_path(session, "attachments"), {"Content-Type": media_type}
        return await self._ask_for(
            Attachment, "POST", path, safe=True, headers=headers, params={"name": name}, content=data
        )

    async def watch(self, session: SessionId, *, after: int = 0, principal: Principal = OWNER) -> Log:
        """Continues where it was when the connection breaks; ends when the session is deleted."""
        path = _session_path(session, "events")
        async with aclosing(self._transport.follow(path, principal, after=after)) as frames:
            async for frame in frames:
                yield decode_recorded(frame.event, int(frame.id), frame.json())  # type: ignore[arg-type]

    async def running(self, session: SessionId) -> TurnId | None:
        found = (await self._transport.ask("GET", _session_path(session, "turns", "running")))["turn_id"]
        return TurnId(found) if found else None

    async def runtimes(self) -> Sequence[RuntimeInfo]:
        return [decode_value(RuntimeInfo, one) for one in await self._transport.ask("GET", "/api/runtimes")]

    # sessions
    async def get(self, session: SessionId, *, principal: Principal = OWNER) -> Session:
        return await self._ask_for(Session, "GET", _session_path(session), principal)

    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session:
        if not words.strip():
            raise NotFound(f'There is no session "{words}".', hint="`sojourn sessions list` shows what there is.")
        return await self._ask_for(Session, "GET", "/api/resolve", principal, params={"words": words})

    async def find(self, listing: Listing) -> list[Session]:
        params: dict[str, Any] = {
            "text": listing.text,
            "source": listing.sources,
            "tag": listing.tags,
            "program": listing.programs,
            "project": listing.projects,
            "model": (*listing.models, *((listing.model,) if listing.model else ())),
            "tool": listing.tools,
            "trashed": listing.trashed or None,
            "subagents": None if listing.subagents else "false",
            "parent": listing.parent,
            "since": _to_iso_date(listing.since),
            "until": _to_iso_date(listing.until),
            "archived": _ARCHIVED[listing.archived],
            "pinned": listing.pinned,
        }
        before = make_cursor(*listing.before) if listing.before else None
        rows = self._rows("sessions", params, before, listing.principal, listing.limit, _PAGE_ROWS)
        return [decode_value(Session, one) async for one in rows]

    async def search(self, search: SearchQuery) -> list[SearchHit]:
        params: dict[str, Any] = {
            "q": search.text,
            "role": search.roles,
            "source": search.sources,
            "tag": search.tags,
            "program": search.programs,
            "project": search.projects,
            "model": (*search.models, *((search.model,) if search.model else ())),
            "archived": _ARCHIVED[search.archived],
            "tool": search.tool,
            "since": _to_iso_date(search.since),
            "until": _to_iso_date(search.until),
            "session": search.session,
            "order": search.order,
        }
        if not search.text.strip() and not search.tool:
            raise BadInput(
                f"There is no word to look for in {search.text!r}.", hint="Give at least one letter or digit."
            )
        rows = self._rows("hits", params, search.before, search.principal, search.limit, _PAGE_HITS)
        return [decode_value(SearchHit, one) async for one in rows]

    async def _rows(
        self,
        kind: Literal["sessions", "hits"],
        params: dict[str, Any],
        before: object,
        asker: Principal,
        left: int,
        most: int,
    ) -> AsyncIterator[Any]:
        """Page by page, until there are enough or no more."""
        path = {"sessions": "/api/sessions", "hits": "/api/search"}[kind]
        while left > 0:
            wanted = _drop_empty({**params, "limit": min(left, most), "before": before})
            page = await self._transport.ask("GET", path, asker, params=wanted)
            for one in page[kind]:
                yield one
            left, before = left - len(page[kind]), page["next"]
            if before is None:
                return

    async def messages(self, session: SessionId, *, principal: Principal = OWNER) -> Sequence[Recorded]:
        found: list[Recorded] = []
        after: int | None = 0
        while after is not None:
            params = {"after": after, "limit": _PAGE_ROWS, "include": "undone,summarised"}
            page = await self._transport.ask("GET", _session_path(session, "messages"), principal, params=params)
            found += [decode_recorded("message", seq, raw) for seq, raw in page["messages"]]
            after = page["next"]
        return found

    async def change(self, old: Session, new: Session) -> Session:
        if any(getattr(old, name) != getattr(new, name) for name in _HANDOFF):
            raise BadInput("A hand-off cannot be changed over HTTP.", hint="Use `hand_off` or `cancel_handoff`.")
        wanted = {name: encode_value(getattr(new, name)) for name in _SETTABLE}
        wanted |= {"revision": old.revision, "trashed": new.trashed_at is not None}
        return await self._ask_for(Session, "PATCH", _session_path(old.id), old.principal, json=wanted)

    async def branch(self, session: SessionId, at: int, by: Caller) -> Session:
        return await self._ask_for(Session, "POST", _session_path(session, "branch"), by, json={"at": at})

    async def export(
        self, session: SessionId, format: ExportFormat = "markdown", *, principal: Principal = OWNER
    ) -> str:
        path, params = _session_path(session, "export"), {"format": format}
        return (await self._transport.request("GET", path, principal, params=params)).text

    # hand-offs
    async def hand_off(
        self, session: SessionId, platform: str, *, by: Caller, target: str = "", wait: bool = False
    ) -> Handoff:
        path = _plugin_path("gateway", "sessions", session, "handoff")
        to = f"{platform}:{target}" if target else platform
        if not to:
            raise BadInput("Hand it off to where?", hint="Name a platform: local, telegram, discord … or cli.")
        body = {"to": to, "surface": by.surface, "wait": wait}
        return await self._ask_for(Handoff, "POST", path, by, json=body)

    async def follow_handoff(self, handoff: Handoff) -> AsyncGenerator[Handoff, None]:
        """Reconnects when the connection breaks; yields a state once."""
        path, state = _plugin_path("gateway", "handoffs", handoff.id, "events"), ""
        async with aclosing(self._transport.follow(path)) as frames:
            async for frame in frames:
                handoff = decode_value(Handoff, frame.json())  # type: ignore[arg-type]
                if handoff.state != state:
                    state = handoff.state
                    yield handoff
                if not handoff.is_live:
                    return

    async def get_handoff(self, id: HandoffId) -> Handoff:
        return await self._ask_for(Handoff, "GET", _plugin_path("gateway", "handoffs", id))

    async def cancel_handoff(self, id: HandoffId) -> Handoff:
        return await self._ask_for(Handoff, "DELETE", _plugin_path("gateway", "handoffs", id))

    # libraries
    async def list_facts(self, *, text: str = "", principal: Principal = OWNER) -> Sequence[Fact]:
        params = _drop_empty({"text": text})
        found = await self._transport.ask("GET", _plugin_path("memory", "facts"), principal, params=params)
        return [_to_fact(one) for one in found]

    async def ask(self, question: str, *, principal: Principal = OWNER) -> Answer:
        body = {"question": question}
        return decode_value(Answer, await self._transport.ask("POST", "/api/ask", principal, safe=True, json=body))

    async def add_fact(self, text: str, *, why: str = "", principal: Principal = OWNER) -> Fact:
        path, body = _plugin_path("memory", "facts"), {"text": text, "why": why}
        return _to_fact(await self._transport.ask("POST", path, principal, safe=True, json=body))

    async def edit_fact(self, id: str, text: str, *, principal: Principal = OWNER) -> Fact:
        path = _plugin_path("memory", "facts", id)
        return _to_fact(await self._transport.ask("PATCH", path, principal, json={"text": text}))

    async def delete_fact(self, id: str, *, principal: Principal = OWNER) -> Fact:
        return _to_fact(await self._transport.ask("DELETE", _plugin_path("memory", "facts", id), principal))

    async def list_skills(self) -> Sequence[Skill | SkillProblem]:
        return [_to_skill(one) for one in await self._transport.ask("GET", _plugin_path("skills", "skills"))]

    async def get_skill(self, name: str) -> Skill:
        found = _to_skill(await self._transport.ask("GET", _plugin_path("skills", "skills", name)))
        assert isinstance(found, Skill)
        return found

    async def list_templates(self) -> Sequence[TemplateInfo]:
        found = await self._transport.ask("GET", _plugin_path("templates", "templates"))
        usable = [
            TemplateInfo(
                name=one["name"],
                kind=one["task_type"],
                description=one["description"],
                examples=len(one["examples"]),
                usage_count=one["usage_count"],
            )
            for one in found["templates"]
        ]
        return [*usable, *(TemplateInfo(name=one["name"], problem=one["problem"]) for one in found["unreadable"])]


def _session_path(session: str, *rest: str) -> str:
    return "/".join(["/api/sessions", quote(session, safe=""), *(quote(one, safe="") for one in rest)])


def _plugin_path(name: str, *rest: str) -> str:
    """The path of a route that a plugin brings."""
    return "/".join([f"/api/plugins/{name}", *(quote(one, safe="") for one in rest)])


def _to_fact(raw: dict[str, Any]) -> Fact:
    times = {name: datetime.fromisoformat(raw[name]).timestamp() for name in ("created_at", "updated_at")}
    return Fact(**{**raw, **times})


def _to_skill(raw: dict[str, Any]) -> Skill | SkillProblem:
    if raw["problem"]:
        return SkillProblem(path=raw["path"], why=raw["problem"])
    return Skill(name=raw["name"], description=raw["description"], body=raw.get("body", ""), path=raw["path"])


def _drop_empty(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value not in (None, "", ())}


def _to_iso_date(stamp: float | None) -> str | None:
    return None if stamp is None else datetime.fromtimestamp(stamp, UTC).isoformat()
