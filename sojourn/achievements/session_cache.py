"""The session cache: what earlier scans counted, as one document and a journal of later results.

Each finished session is appended to the journal, so that a killed scan resumes where it was. When the journal has grown
large in relation to the document, both are merged into a new document. Numbers that are 0 are left out. The document
is JSON with one session per line, so that loading it never blocks other threads for long.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sojourn.achievements.document_store import DocumentStore
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_scanner import Contribution
from sojourn.ports.history import Moment, SessionFacts


class Fingerprint(NamedTuple):
    """The values that change when the messages of a session do: new rows, rewinds, compaction."""

    updated_at: Moment
    message_count: int
    rows: int
    last_row: int
    rewinds: int

    @classmethod
    def of(cls, facts: SessionFacts) -> Fingerprint:
        return cls(facts.last_active, facts.active_rows, facts.rows, facts.last_row, facts.rewinds)


@dataclass(frozen=True, slots=True)
class CachedSession:
    """The result of counting a session, and its fingerprint at that time."""

    fingerprint: Fingerprint
    contribution: Contribution


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """A session of this scan and its numbers."""

    facts: SessionFacts
    contribution: Contribution


logger = logging.getLogger(__name__)
NAME = "scan_checkpoint.json"
JOURNAL = "scan_journal.jsonl"
SCHEMA_VERSION = 2
_HEADER_END = b', "sessions": {'
_END = b"}}\n"
_LARGE_BYTES = 1 << 18  # a smaller document is cheap to rewrite, though not with every message


class SessionCache:
    """The counted sessions in memory and in their documents. Used by one scan at a time."""

    def __init__(self, documents: DocumentStore, book: RuleBook) -> None:
        self._documents, self._book = documents, book
        self.sessions: dict[str, CachedSession] = {}
        self._versions: tuple[object, object] | None = None
        self._document_bytes = 0
        self._journal_bytes = 0
        self._is_torn = False  # whether the journal ends in the middle of a line
        self._lines: dict[str, bytes] = {}  # encoded entries of this scan, reused for the document

    def load(self) -> None:
        """Reads the documents, unless this object wrote them last."""
        if self._versions is not None and self._versions == self._stored_versions():
            return
        self.sessions, self._document_bytes, self._journal_bytes, self._is_torn = {}, 0, 0, False
        document = self._documents.read(NAME, lambda raw: raw.endswith(_END))
        if document is not None and self._read_lines(document.split(b"\n")[:-2], is_document=True):
            self._document_bytes = len(document)
        journal = self._documents.read(JOURNAL, lambda raw: True)
        if journal is not None and self._read_lines(journal.split(b"\n")[:-1], is_document=False):
            self._journal_bytes, self._is_torn = len(journal), not journal.endswith(b"\n")
        self._versions = self._stored_versions()

    def clear(self) -> None:
        """Removes everything: all sessions will be counted again."""
        self.sessions, self._document_bytes, self._journal_bytes = {}, 0, 0
        self._documents.remove(NAME)
        self._documents.remove(JOURNAL)
        self._versions = self._stored_versions()

    def remove(self, session: str) -> bool:
        """Removes one session from document and journal; returns whether it was there."""
        self.load()
        if self.sessions.pop(session, None) is None:
            return False
        self._rewrite(0)
        return True

    def add(self, fresh: Mapping[str, CachedSession]) -> None:
        """Appends finished sessions to the journal."""
        self.sessions.update(fresh)
        pairs = {session: self._encode_entry(session, known) for session, known in fresh.items()}
        self._lines.update(pairs)
        lines = b"".join(b"{" + pair + b"}\n" for pair in pairs.values())
        if self._journal_bytes == 0:
            self._documents.remove(JOURNAL)  # it may have been written with other rules
            lines = json.dumps(self._build_header()).encode() + b"\n" + lines
        self._documents.append(JOURNAL, b"\n" + lines if self._is_torn else lines)
        self._journal_bytes, self._is_torn = self._journal_bytes + len(lines), False
        self._versions = self._stored_versions()

    def compact(self, keep: Collection[object], generated_at: int) -> None:
        """Removes sessions not in `keep`, and rewrites the document if the journal has grown large."""
        gone = [session for session in self.sessions if session not in keep] if len(self.sessions) != len(keep) else []
        for session in gone:
            del self.sessions[session]
        size, journal_size = self._document_bytes, self._journal_bytes
        is_journal_small = journal_size * 8 < max(size, _LARGE_BYTES) if size else not journal_size
        try:
            if not is_journal_small or (gone and size <= _LARGE_BYTES):
                self._rewrite(generated_at)
        finally:
            self._lines = {}

    def _rewrite(self, generated_at: int) -> None:
        data = self._encode_document(generated_at)
        self._documents.write(NAME, data)
        self._documents.remove(JOURNAL)
        self._document_bytes, self._journal_bytes, self._is_torn = len(data), 0, False
        self._versions = self._stored_versions()

    # -- encoding --------------------------------------------------------------

    def _stored_versions(self) -> tuple[object, object]:
        return self._documents.version(NAME), self._documents.version(JOURNAL)

    def _build_header(self) -> dict[str, Any]:
        return {"schema_version": SCHEMA_VERSION, "rules_version": self._book.digest}

    def _encode_document(self, generated_at: int) -> bytes:
        header = json.dumps(self._build_header() | {"generated_at": generated_at}).encode()
        made = self._lines
        pairs = b",\n".join(
            made.get(session) or self._encode_entry(session, known) for session, known in self.sessions.items()
        )
        return header.removesuffix(b"}") + _HEADER_END + b"\n" + pairs + b"\n" + _END

    def _read_lines(self, lines: list[bytes], *, is_document: bool) -> bool:
        """Adds the sessions of a document or journal, if the same rules counted them."""
        try:
            header = json.loads(lines[0] + b"}}" if is_document else lines[0])
            if not self._build_header().items() <= header.items():
                return False
        except (IndexError, ValueError, AttributeError):
            return False
        for line in lines[1:]:
            try:
                pair = json.loads(b"{" + line.removesuffix(b",") + b"}" if is_document else line)
                self.sessions.update({session: self._decode_entry(entry) for session, entry in pair.items()})
            except (ValueError, KeyError, TypeError, AttributeError):
                logger.warning("a damaged line in the record of earlier scans was skipped")
        return True

    def _encode_entry(self, session: str, known: CachedSession) -> bytes:
        mark, added = known.fingerprint, known.contribution
        metrics = {key: value for key, value in zip(self._book.fields, added.values, strict=True) if value}
        contribution: dict[str, Any] = {"metrics": metrics, "tool_names": added.tool_names}
        if added.problems:
            contribution["problems"] = added.problems
        entry = {"fingerprint": mark._asdict(), "contribution": contribution}
        return f"{json.dumps(session)}:{json.dumps(entry, separators=(',', ':'))}".encode()

    def _decode_entry(self, entry: Mapping[str, Any]) -> CachedSession:
        mark, added = entry["fingerprint"], entry["contribution"]
        values = tuple(int(added["metrics"].get(key, 0)) for key in self._book.fields)
        contribution = Contribution(values, tuple(added["tool_names"]), added.get("problems", 0))
        return CachedSession(Fingerprint(**mark), contribution)
