"""Facts that a person asked to remember: list, add, edit, delete, search, and the context source for them.

A fact is a record of kind `fact` under `<principal>/<8 hex>`; the `memory` tool, the command and the routes use the
same records.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from sojourn.context.bm25 import Bm25Index
from sojourn.context.budget import fit_blocks, to_memory_progress
from sojourn.context.query_expansion import expand_query
from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.core.events import Progress
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.app import HasStore
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.libraries import Fact
from sojourn.ports.store import Record
from sojourn.text.redaction import redact
from sojourn.text.token_count import estimate_tokens

KIND = "fact"
MAX_FACT_CHARS = 2000
_PAGE_ROWS = 500


class FactRecords:
    """Fact library over the records of the store."""

    def __init__(self, app: HasStore) -> None:
        self._app = app

    async def list_facts(self, *, text: str = "", principal: Principal = OWNER) -> list[Fact]:
        found: list[Record] = []
        while page := await self._app.store.list_records(
            KIND,
            principal=principal,
            prefix=_key(principal, ""),
            after=found[-1].key if found else "",
            limit=_PAGE_ROWS,
        ):
            found += page
        facts = sorted(filter(None, map(_parse_fact, found)), key=lambda one: (one.created_at, one.id))
        if not text.strip():
            return facts
        scores = _score_facts(facts, text)
        return [facts[n] for n in sorted(range(len(facts)), key=lambda n: -scores[n]) if scores[n] > 0]

    async def get_fact(self, id: str, *, principal: Principal = OWNER) -> Fact:
        record = await self._app.store.get_record(KIND, _key(principal, id))
        fact = _parse_fact(record) if record and record.principal == principal else None
        if fact is None:
            raise NotFound(f'There is no fact "{id}".', hint="`sojourn memory list` shows them with their ids.")
        return fact

    async def add_fact(
        self, text: str, *, why: str = "", principal: Principal = OWNER, source_session: SessionId | None = None
    ) -> Fact:
        sentence = clean_fact(text)
        for fact in await self.list_facts(principal=principal):
            if fact.text.casefold() == sentence.casefold():
                return fact
        value = {"text": sentence, "why": why, "source_session": source_session}
        return await self._save(principal, os.urandom(4).hex(), value, expect=0)

    async def edit_fact(self, id: str, text: str, *, principal: Principal = OWNER, expect: int | None = None) -> Fact:
        """Rewords a fact. `expect`: only if it still has that revision, else Conflict."""
        old = await self.get_fact(id, principal=principal)
        if expect is not None and old.revision != expect:
            raise Conflict(f'The fact "{id}" was changed meanwhile.', hint="Read it again, then edit it.")
        value = {"text": clean_fact(text), "why": old.why, "source_session": old.source_session}
        return await self._save(principal, id, value, expect=old.revision)

    async def delete_fact(self, id: str, *, principal: Principal = OWNER) -> Fact:
        old = await self.get_fact(id, principal=principal)
        await self._app.store.delete_record(KIND, _key(principal, id))
        return old

    async def _save(self, principal: Principal, id: str, value: dict[str, Json], *, expect: int) -> Fact:
        record = Record(kind=KIND, key=_key(principal, id), value=value, principal=principal)
        fact = _parse_fact(await self._app.store.put_record(record, expect=expect))
        assert fact is not None
        return fact


def _key(principal: Principal, id: str) -> str:
    return f"{principal}/{id}"


def clean_fact(text: str) -> str:
    """Returns the text of a fact on one line. BadInput when it is empty, too long or contains a secret."""
    sentence = " ".join(text.split())
    if not sentence:
        raise BadInput("An empty text is not a fact.", hint="Write the fact as a sentence.")
    if len(sentence) > MAX_FACT_CHARS:
        raise BadInput(
            f"This fact has {len(sentence)} characters.",
            hint=f"At most {MAX_FACT_CHARS}; put longer texts into a note.",
        )
    if redact(sentence) != sentence:
        raise BadInput("The fact contains a key or password.", hint="Sojourn does not remember secrets; leave it out.")
    return sentence


def _parse_fact(record: Record) -> Fact | None:
    value = record.value
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    session = value.get("source_session")
    return Fact(
        id=record.key.rpartition("/")[2],
        text=value["text"],
        why=str(value.get("why") or ""),
        source_session=SessionId(session) if isinstance(session, str) else None,
        revision=record.revision,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


class UserMemory:
    """Context source: all facts if they fit, otherwise those nearest to the request, with a note about the rest."""

    name = "facts"
    stage: Stage = "memory"

    def __init__(self, app: HasStore) -> None:
        self._app = app

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        principal = request.session.principal
        facts = await FactRecords(self._app).list_facts(principal=principal)
        if not facts:
            return ContextContribution()
        chosen, count = facts, len(facts)
        whole = _build_block(facts, principal, "everything you asked me to remember")
        if estimate_tokens(whole.render()) > request.budget:
            chosen = _choose_nearest(facts, request.said, request.budget, principal)
            reason = f"the {len(chosen)} of {count} facts that are nearest to the request"
            whole = _build_block(chosen, principal, reason)
        left = tuple(f"fact {fact.id}: {fact.text[:60]}" for fact in facts if fact not in chosen)
        note = (f"The memory is full: {len(left)} of {count} facts did not fit.", *left) if left else ()
        kept, _ = fit_blocks([whole] if chosen else [], request.budget)
        shown = tuple(_to_progress(fact, whole) for fact in chosen) if kept else ()
        return ContextContribution(blocks=tuple(kept), shown=shown, left_out=note)


def _render_fact(fact: Fact) -> str:
    return f"- {fact.text}" + (f" ({fact.why})" if fact.why else "")


def _build_block(facts: Sequence[Fact], principal: Principal, reason: str) -> ContextBlock:
    return ContextBlock(
        kind=KIND,
        title="What to remember",
        text="\n".join(map(_render_fact, facts)),
        origin=f"memory of {principal}",
        reason=reason,
    )


def _choose_nearest(facts: Sequence[Fact], request: str, budget: int, principal: Principal) -> list[Fact]:
    """Returns as many facts as fit: those with words of the request first, then the newest."""
    scores = _score_facts(facts, request)
    order = sorted(range(len(facts)), key=lambda n: (-scores[n], -facts[n].updated_at, n))
    heading = f"the {len(facts)} of {len(facts)} facts that are nearest to the request"
    room = budget - estimate_tokens(_build_block([], principal, heading).render())
    chosen: list[Fact] = []
    for number in order:
        cost = estimate_tokens(_render_fact(facts[number])) + 1  # and its line break
        if cost <= room:
            room -= cost
            chosen.append(facts[number])
    return chosen


def _score_facts(facts: Sequence[Fact], text: str) -> list[float]:
    index = Bm25Index([[(fact.text, 1), (fact.why, 0.5)] for fact in facts])
    return index.score(expand_query(text, index))


def _to_progress(fact: Fact, block: ContextBlock) -> Progress:
    origin = f"fact {fact.id}" + (f", said in {fact.source_session}" if fact.source_session else "")
    tokens = estimate_tokens(_render_fact(fact))
    return to_memory_progress(replace(block, title=fact.text[:80], origin=origin, tokens=tokens))
