"""What is remembered of a session between scans: how it looked, and what it added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_scanner import Contribution
from sojourn.ports.history import Moment, SessionFacts

FLAGS = {"port_conflict": "port_conflict_events"}  # fields that say yes or no about another field
UNTITLED = "Untitled"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The signals that show a changed session: new rows, rewinds, compaction. Its title is none of them."""

    updated_at: Moment
    message_count: int
    rows: int
    last_row: int
    rewinds: int

    @classmethod
    def of(cls, facts: SessionFacts) -> Fingerprint:
        return cls(facts.last_active, facts.active_rows, facts.rows, facts.last_row, facts.rewinds)


@dataclass(frozen=True, slots=True)
class Known:
    """A session that was read before."""

    fingerprint: Fingerprint
    contribution: Contribution


@dataclass(frozen=True, slots=True)
class Record:
    """A session of this scan and what it adds."""

    facts: SessionFacts
    contribution: Contribution


def session_row(book: RuleBook, record: Record, title: str) -> dict[str, Any]:
    """All fields of one session, as they are shown and compared."""
    facts, numbers = record.facts, dict(zip(book.fields, record.contribution.values, strict=True))
    return {
        "session_id": facts.id,
        "title": title,
        "started_at": facts.started_at,
        "last_active": facts.last_active,
        "source": facts.source,
        "model_names": [facts.model] if facts.model else [],
        "tool_names": list(record.contribution.tool_names),
        **numbers,
        **{flag: bool(numbers.get(of)) for flag, of in FLAGS.items()},
    }


def display_titles(facts: Iterable[SessionFacts], previews: Mapping[str, str]) -> dict[str, str]:
    """A title, else the opening words, else a word that says there is neither."""
    return {one.id: one.title or previews.get(one.id) or UNTITLED for one in facts}
