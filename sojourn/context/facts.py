"""Facts that a person asked to remember: list, add, edit, delete, search, and the context source for them.

A fact is a record of kind `fact` under `<principal>/<8 hex>`; the `memory` tool, the command and the routes use the
same records.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sojourn.context.ask import ask_history
from sojourn.context.bm25 import Bm25Index
from sojourn.context.budget import fit_blocks, to_memory_progress
from sojourn.context.query_expansion import expand_query
from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.core.events import Progress
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.app import AgentContext, HasStore
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.libraries import Fact
from sojourn.ports.store import Record
from sojourn.text.cited_answer import Answer
from sojourn.text.redaction import redact
from sojourn.text.token_count import estimate_tokens

KIND = "fact"
MAX_FACT_CHARS = 2000
_PAGE_ROWS = 500
_COST_MARGIN = 2  # all facts together may count less than one by one, but not so much less


@dataclass(frozen=True)
class KnownFacts:
    """The facts of a person as of a stamp, oldest first."""

    stamp: str
    facts: list[Fact]

    @cached_property
    def index(self) -> Bm25Index:
        return Bm25Index([[(fact.text, 1), (fact.why, 0.5)] for fact in self.facts])

    @cached_property
    def costs(self) -> list[int]:
        """The tokens of each fact, with its line break."""
        return [estimate_tokens(_render_fact(fact)) + 1 for fact in self.facts]

    @cached_property
    def texts(self) -> dict[str, Fact]:
        """The facts by their casefolded text."""
        return {fact.text.casefold(): fact for fact in reversed(self.facts)}


class FactCache:
    """The facts of each person, read again when one of them has changed: `app.shared(FactCache)`."""

    def __init__(self, app: HasStore) -> None:
        self._app = app
        self._known: dict[Principal, KnownFacts] = {}

    async def load(self, principal: Principal) -> KnownFacts:
        stamp = await self._app.store.stamp_records(KIND, principal)
        known = self._known.get(principal)
        if known is None or known.stamp != stamp:
            known = self._known[principal] = KnownFacts(stamp, await self._read(principal))
        return known

    async def add(self, principal: Principal, known: KnownFacts, fact: Fact) -> None:
        """Adds a new fact to what is known, unless somebody else has changed something since."""
        stamp = await self._app.store.stamp_records(KIND, principal)
        if int(stamp.split()[0]) == len(known.facts) + 1 and self._known.get(principal) is known:
            known.texts.setdefault(fact.text.casefold(), fact)
            grown = self._known[principal] = KnownFacts(stamp, [*known.facts, fact])
            grown.__dict__["texts"] = known.texts

    async def _read(self, principal: Principal) -> list[Fact]:
        found: list[Record] = []
        while page := await self._app.store.list_records(
            KIND,
            principal=principal,
            prefix=_key(principal, ""),
            after=found[-1].key if found else "",
            limit=_PAGE_ROWS,
        ):
            found += page
        return sorted(filter(None, map(_parse_fact, found)), key=lambda one: (one.created_at, one.id))


class FactRecords:
    """Fact library over the records of the store."""

    def __init__(self, app: AgentContext) -> None:
        self._app = app

    async def list_facts(self, *, text: str = "", principal: Principal = OWNER) -> list[Fact]:
        known = await self._app.shared(FactCache).load(principal)
        if not text.strip():
            return list(known.facts)
        scores = known.index.score(expand_query(text, known.index))
        return [known.facts[n] for n in sorted(range(len(scores)), key=lambda n: -scores[n]) if scores[n] > 0]

    async def get_fact(self, id: str, *, principal: Principal = OWNER) -> Fact:
        """The fact with an id, or the only one whose id begins so or that has these words. NotFound, BadInput."""
        record = await self._app.store.get_record(KIND, _key(principal, id))
        if record and record.principal == principal and (fact := _parse_fact(record)):
            return fact
        words = " ".join(id.split()).casefold()
        facts = (await self._app.shared(FactCache).load(principal)).facts if len(words) > 2 else ()
        found = [one for one in facts if one.id.startswith(words) or words in one.text.casefold()]
        if not found:
            raise NotFound(f'There is no fact "{id}".', hint="`sojourn memory list` shows them with their ids.")
        if len(found) > 1:
            several = "; ".join(f"{one.id} {one.text}" for one in found[:3])
            raise BadInput(f'Several facts have "{id}" in them.', hint=f"Name one by its id: {several}")
        return found[0]

    async def add_fact(
        self, text: str, *, why: str = "", principal: Principal = OWNER, source_session: SessionId | None = None
    ) -> Fact:
        sentence = clean_fact(text)
        known = await self._app.shared(FactCache).load(principal)
        if (same := known.texts.get(sentence.casefold())) is not None:
            return same
        value = {"text": sentence, "why": why, "source_session": source_session}
        fact = await self._save(principal, os.urandom(4).hex(), value, expect=0)
        await self._app.shared(FactCache).add(principal, known, fact)
        return fact

    async def edit_fact(self, id: str, text: str, *, principal: Principal = OWNER, expect: int | None = None) -> Fact:
        """Rewords a fact. `expect`: only if it still has that revision, else Conflict."""
        old = await self.get_fact(id, principal=principal)
        if expect is not None and old.revision != expect:
            raise Conflict(f'The fact "{id}" was changed meanwhile.', hint="Read it again, then edit it.")
        value = {"text": clean_fact(text), "why": old.why, "source_session": old.source_session}
        return await self._save(principal, old.id, value, expect=old.revision)

    async def delete_fact(self, id: str, *, principal: Principal = OWNER) -> Fact:
        old = await self.get_fact(id, principal=principal)
        await self._app.store.delete_record(KIND, _key(principal, old.id))
        return old

    async def ask(self, question: str, *, principal: Principal = OWNER) -> Answer:
        return await ask_history(self._app, question, principal=principal)

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

    def __init__(self, app: AgentContext) -> None:
        self._app = app

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        principal = request.session.principal
        known = await self._app.shared(FactCache).load(principal)
        facts = known.facts
        if not facts:
            return ContextContribution()
        chosen, count = facts, len(facts)
        may_fit = sum(known.costs) <= _COST_MARGIN * request.budget
        whole = _build_block(facts if may_fit else [], principal, "everything you asked me to remember")
        if not may_fit or estimate_tokens(whole.render()) > request.budget:
            chosen = _choose_nearest(known, request.said, request.budget, principal)
            reason = f"the {len(chosen)} of {count} facts that are nearest to the request"
            whole = _build_block(chosen, principal, reason)
        told = {fact.id for fact in chosen}
        left = tuple(f"fact {fact.id}: {fact.text[:60]}" for fact in facts if fact.id not in told)
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


def _choose_nearest(known: KnownFacts, request: str, budget: int, principal: Principal) -> list[Fact]:
    """Returns as many facts as fit: those with words of the request first, then the newest."""
    facts, scores = known.facts, known.index.score(expand_query(request, known.index))
    order = sorted(range(len(facts)), key=lambda n: (-scores[n], -facts[n].updated_at, n))
    heading = f"the {len(facts)} of {len(facts)} facts that are nearest to the request"
    room = budget - estimate_tokens(_build_block([], principal, heading).render())
    chosen: list[Fact] = []
    for number in order:
        if known.costs[number] <= room:
            room -= known.costs[number]
            chosen.append(facts[number])
    return chosen


def _to_progress(fact: Fact, block: ContextBlock) -> Progress:
    origin = f"fact {fact.id}" + (f", said in {fact.source_session}" if fact.source_session else "")
    tokens = estimate_tokens(_render_fact(fact))
    return to_memory_progress(replace(block, title=fact.text[:80], origin=origin, tokens=tokens))
