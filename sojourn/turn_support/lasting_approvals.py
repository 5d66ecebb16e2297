"""Approvals that last: what a person allowed for a session or always, found again, listed and revoked."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import replace

from sojourn.core.errors import NotAllowed, NotFound
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.service import Approval, Caller
from sojourn.ports.store import Record, RecordStore
from sojourn.ports.tool import Covers, Question, Reply
from sojourn.text.exact import hash_text, reveal
from sojourn.text.formatting import one_line, pluralize

KIND = "approval"
_NOTICE_KIND = "notice"  # what a migration leaves for the person; each is told once
_SUMMARY_CHARS = 200


class SavedApprovals:
    """The approvals that hold in one session. They are read from the store each time, so a revoked one is gone at once.

    Dangerous calls are asked about every time. `always` holds for the person who gave it.
    """

    def __init__(self, store: RecordStore, session: SessionId, principal: Principal = OWNER) -> None:
        self._store, self._session, self._principal = store, session, principal

    async def find(self, question: Question) -> Reply | None:
        """The earlier answer that holds for this question, if any."""
        if not question.tool or question.dangerous:
            return None
        kinds: tuple[Covers, ...] = ("tool", "exact")
        for choice, covers in itertools.product(("session", "always"), kinds):
            if record := await self._store.get_record(KIND, self._id(question, choice, covers)):
                return Reply(choice=choice, by=record.value["by"], why="allowed before", covers=covers)
        return None

    async def save(self, question: Question, reply: Reply) -> None:
        if not question.tool or question.dangerous or reply.choice not in ("session", "always"):
            return
        covers: Covers = reply.covers or ("tool" if reply.choice == "session" else "exact")
        value = {
            "choice": reply.choice,
            "tool": question.tool,
            "scope": question.scope,
            "covers": covers,
            "text": question.detail[:_SUMMARY_CHARS] if covers == "exact" else "",
            "by": reply.by,
        }
        record = Record(kind=KIND, key=self._id(question, reply.choice, covers), value=value, principal=self._principal)
        await self._store.put_record(replace(record, session=self._session) if reply.choice == "session" else record)

    def _id(self, question: Question, choice: str, covers: Covers) -> str:
        where = self._session if choice == "session" else self._principal
        what = hash_text(f"{question.text}\n{question.detail}") if covers == "exact" else ""  # all that was shown
        parts = (choice, where, question.tool, question.scope, covers, what)
        return "a_" + hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class ApprovalList:
    """ports.ApprovalService: all lasting approvals, for the owner."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    async def list_approvals(self, by: Caller) -> Sequence[Approval]:
        """The newest first. NotAllowed."""
        require_owner(by)
        found = [_to_approval(one) for one in await self._store.list_records(KIND)]
        return sorted(found, key=lambda one: -one.given_at)

    async def revoke_approval(self, id: str, by: Caller) -> Approval:
        """NotFound, NotAllowed."""
        require_owner(by)
        record = await self._store.get_record(KIND, id)
        if record is None or not await self._store.delete_record(KIND, id):
            raise NotFound(f'There is no approval "{id}".', hint="`sojourn approvals` lists them.")
        return _to_approval(record)

    async def take_notices(self, by: Caller) -> Sequence[str]:
        """What the owner has to be told once; a notice is returned once."""
        require_owner(by)
        taken = [
            record
            for record in await self._store.list_records(_NOTICE_KIND)
            if await self._store.delete_record(_NOTICE_KIND, record.key)
        ]
        return [str(one.value["text"]) if "text" in one.value else _describe_dropped(one.value) for one in taken]


def _describe_dropped(value: Json) -> str:
    return (
        f"Dropped at the upgrade: {pluralize(int(value['count']), 'lasting approval')} from before, given for "
        "whole tools without the exact text. You will be asked again; `sojourn approvals` lists what you allow."
    )


def describe_approval(one: Approval) -> str:
    """An approval in words: `always: terminal inside the sandbox, exactly “make test”`."""
    where = {"sandbox": "inside the sandbox", "network": "with the network", "outside": "outside the sandbox"}
    when = f"in session {one.session}" if one.session else "always"
    what = f"exactly “{one_line(reveal(one.text), 80)}”" if one.covers == "exact" else "every call"
    return f"{when}: {one.tool} {where[one.scope]}, {what}"


def require_owner(by: Caller) -> None:
    if by.principal != OWNER:
        raise NotAllowed("Only the owner may do this.", hint="Ask the person this installation belongs to.")


def _to_approval(record: Record) -> Approval:
    return Approval(
        id=record.key,
        **{name: record.value[name] for name in ("choice", "tool", "scope", "covers", "text", "by")},
        session=record.session,
        given_at=record.updated_at,
    )
