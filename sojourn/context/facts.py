"""Facts that a person asked to remember: list, add, edit, delete, search.

A fact is a record of kind `fact` under `<principal>/<8 hex>`; the `memory` tool, the command and the routes use the
same records.
"""

from __future__ import annotations

import os

from sojourn.context.bm25 import Bm25Index
from sojourn.context.query_expansion import expand_query
from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.app import HasStore
from sojourn.ports.libraries import Fact
from sojourn.ports.store import Record, RecordStore
from sojourn.text.redaction import redact

KIND = "fact"
MAX_FACT_CHARS = 2000
_PAGE_ROWS = 500


class FactRecords:
    """Fact library over the records of the store."""

    def __init__(self, kit: HasStore) -> None:
        self._kit = kit

    async def list_facts(self, *, text: str = "", principal: Principal = OWNER) -> list[Fact]:
        facts = Facts(self._kit.store, principal)
        return await (facts.search(text) if text.strip() else facts.all())

    async def add_fact(self, text: str, *, why: str = "", principal: Principal = OWNER) -> Fact:
        return await Facts(self._kit.store, principal).add(text, why=why)

    async def edit_fact(self, id: str, text: str, *, principal: Principal = OWNER) -> Fact:
        return await Facts(self._kit.store, principal).edit(id, text)

    async def delete_fact(self, id: str, *, principal: Principal = OWNER) -> Fact:
        return await Facts(self._kit.store, principal).delete(id)


class Facts:
    """The facts of one principal."""

    def __init__(self, records: RecordStore, principal: Principal) -> None:
        self._records, self._principal = records, principal

    async def all(self) -> list[Fact]:
        """Every fact, oldest first."""
        found: list[Record] = []
        after = ""
        while page := await self._records.list_records(
            KIND, principal=self._principal, prefix=f"{self._principal}/", after=after, limit=_PAGE_ROWS
        ):
            found += page
            after = page[-1].key
        return sorted(filter(None, map(_parse_fact, found)), key=lambda one: (one.created_at, one.id))

    async def get(self, id: str) -> Fact:
        record = await self._records.get_record(KIND, self._key(id))
        fact = _parse_fact(record) if record and record.principal == self._principal else None
        if fact is None:
            raise NotFound(f'There is no fact "{id}".', hint="`sojourn memory list` shows them with their ids.")
        return fact

    async def add(self, text: str, *, why: str = "", source_session: SessionId | None = None) -> Fact:
        """Adds a fact; returns the existing one if its text is the same."""
        said = clean_fact(text)
        for fact in await self.all():
            if fact.text.casefold() == said.casefold():
                return fact
        return await self._put(os.urandom(4).hex(), said, why, source_session, expect=0)

    async def edit(self, id: str, text: str, *, expect: int | None = None) -> Fact:
        old = await self.get(id)
        if expect is not None and old.revision != expect:
            raise Conflict(f'The fact "{id}" was changed meanwhile.', hint="Read it again, then edit it.")
        return await self._put(id, clean_fact(text), old.why, old.source_session, expect=old.revision)

    async def delete(self, id: str) -> Fact:
        old = await self.get(id)
        await self._records.delete_record(KIND, self._key(id))
        return old

    async def search(self, text: str) -> list[Fact]:
        """Returns the facts that share words with a text, best first."""
        facts = await self.all()
        index = Bm25Index([[(fact.text, 1), (fact.why, 0.5)] for fact in facts])
        scores = index.score(expand_query(text, index))
        return [facts[n] for n in sorted(range(len(facts)), key=lambda n: -scores[n]) if scores[n] > 0]

    def _key(self, id: str) -> str:
        return f"{self._principal}/{id}"

    async def _put(self, id: str, text: str, why: str, session: SessionId | None, *, expect: int) -> Fact:
        value = {"text": text, "why": why, "source_session": session}
        saved = await self._records.put_record(
            Record(kind=KIND, key=self._key(id), value=value, principal=self._principal), expect=expect
        )
        fact = _parse_fact(saved)
        assert fact is not None
        return fact


def clean_fact(text: str) -> str:
    """Returns the text of a fact on one line. BadInput when it is empty, too long or contains a secret."""
    said = " ".join(text.split())
    if not said:
        raise BadInput("There is nothing to remember in an empty text.", hint="Say the fact in a sentence.")
    if len(said) > MAX_FACT_CHARS:
        raise BadInput(
            f"This fact has {len(said)} characters.", hint=f"At most {MAX_FACT_CHARS}; longer texts belong into a note."
        )
    if redact(said) != said:
        raise BadInput("The fact holds a key or password.", hint="Secrets are not remembered; leave it out.")
    return said


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
