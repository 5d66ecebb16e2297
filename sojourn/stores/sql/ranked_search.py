"""Search by relevance: the index gives the rows of each word, `text.rank` scores the texts of the most promising.

The rows of a word are limited, newest first, so that the work does not grow with the store; how common a word is
follows from how far back its newest rows reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from operator import neg
from typing import Any

from sojourn.core.messages import Message
from sojourn.ports.store import SearchHit, SearchQuery
from sojourn.stores.sql.db import Db, Row, fetch_number, placeholders
from sojourn.stores.sql.rows import matches_query, searchable_text
from sojourn.stores.sql.search import (
    MessageIndex,
    TermConditions,
    hit_from,
    message_conditions,
    search_newest,
    search_titles,
    to_conditions,
)
from sojourn.text.escape import escape, unescape
from sojourn.text.query import Snippet, build_snippet, matches_text, parse_query
from sojourn.text.rank import Candidate, RankedQuery

_LIST_ROWS, _RECALL_LIST_ROWS = 2000, 1000  # of one word
_PAGE_ROWS, _SINGLE_WORD_ROWS = 100, 50  # candidates that are ranked among each other; of a search for one word
_RECALL_ROWS = 200
_CENTRES = 50  # best candidates whose neighbours are read
_MIN_CONTEXT_WORDS = 3  # shorter requests are ranked without neighbours and sessions
_COLUMNS = "m.id, m.session_id, m.seq, m.role, m.content, m.structured, m.tool_calls, m.tool_name, m.timestamp"
_SELECT = f"SELECT {_COLUMNS}, m.native_id, s.title, s.source FROM messages m CROSS JOIN sessions s"
_SPOKEN = "(n.active = 1 OR n.compacted = 1) AND n.content <> ''"
_NEAR = (
    "(SELECT n.id FROM messages n WHERE n.session_id = v.s AND n.seq {sign} v.q AND {spoken} "
    "ORDER BY n.seq {order} LIMIT 1 OFFSET {skip})"
)


def search_messages(db: Db, query: SearchQuery, index: MessageIndex) -> list[SearchHit]:
    """Returns up to `limit` hits among titles and messages, in the order that the query asks for."""
    if query.order == "newest" or not query.text.strip():
        return search_newest(db, query, index)
    return _RankedSearch(db, query, index).run()


@dataclass(slots=True)
class _Found:
    """A row that was read, and what it is ranked by."""

    row: Row
    message: Message
    candidate: Candidate


class _RankedSearch:
    """One search by relevance."""

    def __init__(self, db: Db, query: SearchQuery, index: MessageIndex) -> None:
        self._db, self._query, self._index = db, query, index
        self._is_recall = query.recall_in is not None
        self._ranked = RankedQuery(query.text, is_question=self._is_recall)
        self._most = _RECALL_LIST_ROWS if self._is_recall else _LIST_ROWS  # rows of one word
        self._is_capped = False
        self._skip = query.before or 0
        self._where = message_conditions(query)
        if self._is_recall:
            self._where.add_filters(("(m.session_id <> ? OR m.active = 0)", query.recall_in))

    def run(self) -> list[SearchHit]:
        wanted = self._skip + self._query.limit
        if self._is_recall:
            return list(islice(self._rank(), self._skip, wanted))
        hits = self._find_titles(wanted)
        hits += islice(self._rank(), max(0, wanted - len(hits)))
        if len(hits) < wanted and self._is_capped:
            known = {(hit.session, hit.seq) for hit in hits}
            newest = search_newest(self._db, replace(self._query, before=None, limit=wanted + len(known)), self._index)
            hits += [hit for hit in newest if (hit.session, hit.seq) not in known]
        numbered = (replace(hit, at=number) for number, hit in enumerate(hits[:wanted], 1))
        return list(islice(numbered, self._skip, None))

    def _find_titles(self, wanted: int) -> list[SearchHit]:
        asked = replace(self._query, before=None, limit=wanted)
        return [replace(hit, score=2.0) for hit in search_titles(self._db, asked, parse_query(asked.text))]

    def _rank(self) -> Iterator[SearchHit]:
        """Yields hits page by page: the pages by the words that rows have, the hits of a page by score."""
        direct = self._read_unindexed()
        weights = self._weigh_rows(direct)
        order = [-id for _, id in sorted(zip(map(neg, weights.values()), map(neg, weights), strict=True))]
        by_id = {found.candidate.id: found for found in direct} if self._query.session else {}
        size = _RECALL_ROWS if self._is_recall else _PAGE_ROWS if len(self._ranked.words) > 1 else _SINGLE_WORD_ROWS
        for start in range(0, len(order), size):
            ids = order[start : start + size]
            page = [by_id[id] for id in ids if id in by_id]
            page += self._read_rows([id for id in ids if id not in by_id])
            page = self._score(page)
            page.sort(key=lambda one: (-one.candidate.score, -one.candidate.id))
            yield from map(self._to_hit, page)
            if self._is_recall:
                return

    # candidates
    def _weigh_rows(self, direct: Sequence[_Found]) -> dict[int, float]:
        """Returns the rows that have words of the query, each with the rarity of these words."""
        words, base = self._ranked.words, to_conditions(self._ranked.required, self._query.tool, self._index)
        if self._query.session:
            lists: list[list[int]] = [[] for _ in words]
        else:
            most = self._most if len(words) > 1 else max(_PAGE_ROWS, self._skip + self._query.limit) + _PAGE_ROWS
            lists = self._list_rows(base, most)
            self._is_capped = any(len(ids) >= most for ids in lists)
            if words and not direct and not any(lists):
                return {}
        last = fetch_number(self._db, "SELECT max(id) AS n FROM messages")
        having = [
            _estimate_count(ids, last, self._most) + sum(found.candidate.counts[number] > 0 for found in direct)
            for number, ids in enumerate(lists)
        ]
        self._ranked.set_frequencies(having, last)
        weights: dict[int, float] = {}
        for rarity, ids in zip(self._ranked.rarities, lists, strict=True):
            for id in ids:
                weights[id] = weights.get(id, 0.0) + rarity
        self._add_common(weights, base, [number for number, ids in enumerate(lists) if len(ids) >= self._most])
        if not words and not self._query.session:
            most = self._skip + self._query.limit + _PAGE_ROWS
            weights = dict.fromkeys(self._index.find_ids([base], most)[0], 1.0)
            self._is_capped = True
        for found in direct:
            counts = zip(self._ranked.rarities, found.candidate.counts, strict=True)
            if (weight := sum(rarity for rarity, count in counts if count)) or not words:
                weights[found.candidate.id] = weight
        return weights

    def _list_rows(self, base: TermConditions, most: int) -> list[list[int]]:
        """Returns the newest rows of each word. All rows that are possible at all have the words of a phrase."""
        words, demanded = self._ranked.words, set[str]()
        for clause in self._ranked.required:
            demanded.update(() if clause.prefix else clause.phrase)
        if not demanded:
            return self._index.find_ids([[*base, word.terms] for word in words], most)
        (possible,) = self._index.find_ids([base], most)
        others = [word for word in words if possible and word.term not in demanded]
        found = iter(self._index.find_ids([[*base, word.terms] for word in others], most))
        return [next(found) if word in others else possible for word in words]

    def _add_common(self, weights: dict[int, float], base: TermConditions, common: Sequence[int]) -> None:
        """Adds rows, however old, that have two of the rarest words whose newest rows alone were looked at."""
        rarities = self._ranked.rarities
        rarest = sorted(common, key=lambda number: -rarities[number])[:3]
        pairs = list(combinations(rarest, 2))
        searches = [[*base, *(self._ranked.words[number].terms for number in pair)] for pair in pairs]
        most = _RECALL_ROWS if self._is_recall else self._most  # a recall ranks no more than its first page
        for pair, ids in zip(pairs, self._index.find_ids(searches, most), strict=True):
            weight = sum(rarities[number] for number in pair)
            for id in ids:
                if weights.get(id, 0.0) < weight:
                    weights[id] = weight

    def _read_unindexed(self) -> list[_Found]:
        """Reads the rows that are searched without the index: those that wait for it, or all of one session."""
        if self._query.session:
            found = self._fetch("m.session_id = ?", [self._query.session], f" ORDER BY m.seq DESC LIMIT {_LIST_ROWS}")
            self._is_capped = len(found) >= _LIST_ROWS
        elif self._index.indexed_to is not None:
            sql, params = f"{_SELECT} WHERE s.id = m.session_id AND m.id > ?", list[Any]([self._index.indexed_to])
            if self._is_recall:  # the request itself waits for the index, and has each of its words
                sql = f"{sql} AND (m.session_id <> ? OR m.active = 0)"
                params.append(escape(self._query.recall_in or ""))
            rows = self._db.fetch_all(sql, params)
            found = [_to_found(row) for row in rows if self._may_have_words(row)]
        else:
            return []
        required, tool = self._ranked.required, self._query.tool
        if required or tool:
            found = [one for one in found if matches_query(one.message, required, tool)]
        for one in found:
            one.candidate.counts = self._ranked.count(one.candidate.text)[0]
        return found

    def _may_have_words(self, row: Row) -> bool:
        """Whether a row is worth reading word by word. JSON may write a letter in another way, so it always is."""
        is_plain = not row["structured"] and not row["tool_calls"]
        return not (is_plain and self._ranked.words) or self._ranked.may_occur_in(row["content"] or "")

    def _read_rows(self, ids: Sequence[int]) -> list[_Found]:
        found = self._fetch(f"m.id IN ({placeholders(ids)})", ids) if ids else []
        check = tuple(clause for clause in self._ranked.required if clause.needs_check)
        return [one for one in found if matches_text(check, one.candidate.text)] if check else found

    def _fetch(self, where: str, params: Sequence[object], suffix: str = "") -> list[_Found]:
        sql = f"{_SELECT} WHERE s.id = m.session_id AND {where} AND {self._where}{suffix}"
        return [_to_found(row) for row in self._db.fetch_all(sql, [*params, *self._where.params])]

    # scores
    def _score(self, page: list[_Found]) -> list[_Found]:
        """Scores the rows of a page; returns them, for recall with their neighbours."""
        self._ranked.score_alone([one.candidate for one in page])
        if not self._is_recall and len(self._ranked.words) < _MIN_CONTEXT_WORDS:
            for one in page:
                one.candidate.score += one.candidate.has_all * sum(self._ranked.rarities)
            return page
        page = self._add_neighbours(page)
        titles = {one.candidate.session: unescape(one.row["title"] or "") for one in page}
        self._ranked.score_together([one.candidate for one in page], titles)
        return page if self._is_recall else [one for one in page if one.candidate.own > 0]

    def _add_neighbours(self, page: list[_Found]) -> list[_Found]:
        centres = sorted(page, key=lambda one: -one.candidate.own)[:_CENTRES]
        if not centres:
            return page
        spots = [value for one in centres for value in (one.candidate.session, one.candidate.seq)]
        values = ", ".join(["(CAST(? AS TEXT), CAST(? AS BIGINT))"] * len(centres))
        near = (
            _NEAR.format(sign=sign, order=order, skip=skip, spoken=_SPOKEN)
            for sign, order in (("<", "DESC"), (">", "ASC"))
            for skip in (0, 1)
        )
        columns = ", ".join(f"{one} AS n{number}" for number, one in enumerate(near))
        rows = self._db.fetch_all(f"WITH v(s, q) AS (VALUES {values}) SELECT {columns} FROM v", spots)
        known = {one.candidate.id for one in page}
        ids = {row[name] for row in rows for name in ("n0", "n1", "n2", "n3")} - {None}
        others = (
            self._fetch(f"m.id IN ({placeholders(sorted(ids - known))})", sorted(ids - known)) if ids - known else []
        )
        self._ranked.score_alone([one.candidate for one in others])
        return [*page, *others]

    def _to_hit(self, one: _Found) -> SearchHit:
        text = one.candidate.text
        if self._is_recall:
            snippet = Snippet("")  # the whole text is given
        elif self._ranked.required:
            snippet = build_snippet(parse_query(self._query.text), text)
        else:
            snippet = self._ranked.build_snippet(text)
        return hit_from(
            one.row,
            one.message,
            snippet,
            score=round(one.candidate.score, 4),
            text=text if self._is_recall else "",
            imported=one.row["native_id"] is not None,
        )


def _estimate_count(ids: Sequence[int], last: int, most: int) -> float:
    """Estimates how many rows have a word, if these are the newest ones that have it."""
    if len(ids) < most:
        return len(ids)
    return len(ids) * last / max(1, last - min(ids))


def _to_found(row: Row) -> _Found:
    message = Message(
        role=unescape(row["role"]),
        content=unescape(row["content"]) if row["content"] else row["content"],
        structured=bool(row["structured"]),
        tool_calls=unescape(row["tool_calls"]) if row["tool_calls"] else row["tool_calls"],
        tool_name=unescape(row["tool_name"]) if row["tool_name"] else row["tool_name"],
        timestamp=row["timestamp"],
    )
    text = searchable_text(message)
    return _Found(row, message, Candidate(row["id"], row["session_id"], row["seq"], message.role, text))
