"""Given context: the blocks that earlier messages of a session were sent with, and may be sent with again.

Providers cache the beginning of a request, so a message goes out as it did before. What was given is kept in the memory
of this process alone. Before each turn the blocks that may not be sent any more are dropped for good: facts and notes
that this turn would not be given, and quotes of sessions that were deleted or changed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.core.errors import NotFound
from sojourn.core.provenance import Origin
from sojourn.core.sessions import Recorded, SessionId
from sojourn.ports.app import HasStore
from sojourn.ports.context import ContextBlock, ContextRequest
from sojourn.ports.runtime import HistoryEntry
from sojourn.ports.store import Transaction

_MAX_SESSIONS = 64
_MAX_TOKENS = 16_000  # of one session; more is forgotten at once, so that the requests after it share a beginning
_CHECKED_KINDS = ("fact", "note")  # are sent again while this turn is given the same
_STAYING_KINDS = ("recall", "skill")
_Revisions = Mapping[SessionId, int]


@dataclass(frozen=True, slots=True)
class _Given:
    """A block that was sent, and the sessions that it quotes as they were then."""

    block: ContextBlock
    revisions: _Revisions

    def may_stay(self, request: ContextRequest, now: Sequence[ContextBlock], revisions: _Revisions) -> bool:
        """Whether it may be sent again with the message that had it."""
        block = self.block
        if {"*", block.kind, f"{block.kind}s"} & set(request.drop):
            return False
        if block.kind in _CHECKED_KINDS:
            return _words(block) in map(_words, now)
        return all(revisions.get(session) == revision for session, revision in self.revisions.items())


def _words(block: ContextBlock) -> tuple[str, str, str]:
    return block.kind, block.title, block.text


def select_new(blocks: Sequence[ContextBlock], history: Sequence[HistoryEntry]) -> tuple[ContextBlock, ...]:
    """Returns the blocks that no message of the history has."""
    known = {_words(block) for past in history for block in past.blocks}
    return tuple(block for block in blocks if _words(block) not in known)


class GivenContext:
    """What the messages of the latest sessions were sent with, by their numbers."""

    def __init__(self, app: HasStore) -> None:
        self._app = app
        self._sessions: OrderedDict[SessionId, dict[int, list[_Given]]] = OrderedDict()

    async def attach(
        self,
        history: Sequence[HistoryEntry],
        request: ContextRequest,
        now: Sequence[ContextBlock],
        stored: Iterable[Recorded],
    ) -> tuple[tuple[HistoryEntry, ...], set[Origin]]:
        """Returns the history with the blocks that may be sent again, and the origins of all blocks.

        now: what this turn is given. stored: the first log items of the turn, its message among them.
        """
        sent = await self._attach(history, request, now)
        message = next((one.seq for one in stored if getattr(one.item, "role", "") == "user"), 0)
        if message:
            await self._keep(request.session.id, message, select_new(now, sent))
        blocks = (*now, *(block for past in sent for block in past.blocks))
        return sent, {origin for block in blocks for origin in block.origins}

    async def _attach(
        self, history: Sequence[HistoryEntry], request: ContextRequest, now: Sequence[ContextBlock]
    ) -> tuple[HistoryEntry, ...]:
        given = self._sessions.get(request.session.id)
        if not given:
            return tuple(history)
        live = {past.seq for past in history}
        everything = [one for seq in live & given.keys() for one in given[seq]]
        revisions = await self._read_revisions(session for one in everything for session in one.revisions)
        if not self._app.settings["memory.recall"]:
            everything = [one for one in everything if one.block.kind != "recall"]
        staying = {id(one) for one in everything if one.may_stay(request, now, revisions)}
        for seq in list(given):
            given[seq] = [one for one in given[seq] if id(one) in staying]
        return tuple(replace(past, blocks=tuple(one.block for one in given.get(past.seq, ()))) for past in history)

    async def _keep(self, session: SessionId, message: int, new: Sequence[ContextBlock]) -> None:
        blocks = [one for one in new if one.kind in (*_CHECKED_KINDS, *_STAYING_KINDS)]
        if not blocks:
            return
        revisions = await self._read_revisions(quoted for one in blocks for quoted in one.sessions)
        given = self._sessions.setdefault(session, {})
        self._sessions.move_to_end(session)
        if sum(one.block.tokens for kept in given.values() for one in kept) > _MAX_TOKENS:
            given.clear()
        given[message] = [
            _Given(block, {quoted: revisions[quoted] for quoted in block.sessions})
            for block in blocks
            if revisions.keys() >= set(block.sessions)
        ]
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)

    async def _read_revisions(self, sessions: Iterable[SessionId]) -> _Revisions:
        """Returns the revisions of the sessions that are there."""
        wanted = set(sessions)

        def read(store: Transaction) -> dict[SessionId, int]:
            found: dict[SessionId, int] = {}
            for session in wanted:
                try:
                    found[session] = store.get(session).revision
                except NotFound:
                    continue
            return found

        return await self._app.store.snapshot(read) if wanted else {}
