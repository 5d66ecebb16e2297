"""SQLite and PostgreSQL give the same answers to random sequences of steps."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sojourn.core.errors import SojournError
from sojourn.core.events import Chunk
from sojourn.core.handoff import Handoff
from sojourn.core.messages import Message, assistant, user
from sojourn.core.sessions import Lease, Principal, SessionId
from sojourn.ports.gateway_store import OutgoingDraft
from sojourn.ports.store import Listing, Record, SearchHit, SearchQuery, Store
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.store_steps import call_message, collect, make_transcript, tool_message

# Few words, so that they meet again: cases, identifiers, scripts without spaces, secrets, odd characters.
WORDS = [
    "garden",
    "Garden",
    "gardens",
    "red",
    "house",
    "get_user",
    "getUser",
    "getUserName",
    "HTTPServer",
    "http",
    "user",
    "数据",
    "数据库",
    "据",
    "错误信息",
    "東京",
    "ラーメン",
    "用Python写",
    "café",
    "Straße",
    "İstanbul",
    "2",
    "v2",
    "a_b",
    "x" * 70,
    "nul\0",
    "\ud800",
    "\x1a0000",
    "%",
    "_",
    "'",
    '"',
    "*",
    "AND",
    "sk-abcdefghij1234567890",
    "password=hunter2222",
]
words = st.sampled_from(WORDS)
texts = st.lists(words, min_size=0, max_size=6).map(" ".join)
queries = st.one_of(
    texts, words.map(lambda word: word + "*"), texts.map(lambda text: f'"{text}"'), st.text("数据库a_ ", max_size=5)
)
numbers = st.sampled_from([1, 1, 1, 2, 0, 3])
seqs = st.lists(st.integers(1, 5), min_size=1, max_size=4)
flags = st.sampled_from([(True, False), (False, True), (False, False)])
titles = st.one_of(st.none(), texts, st.sampled_from(["Garden", "garden", "Garden #2"]))
items = st.one_of(
    texts.map(user),
    texts.map(assistant),
    texts.map(Chunk),
    texts.map(lambda text: call_message("get_user", text)),
    texts.map(lambda text: tool_message("terminal", text)),
    texts.map(lambda text: replace(user(text), timestamp=float(len(text)))),
)
keys = st.sampled_from(["a", "A", "a%", "ab", "nul\0", "日本", "\ud800"])
tags = st.lists(st.sampled_from(["work", "Work", "w%rk", "日本", "no good"]), max_size=2).map(tuple)
steps = st.one_of(
    st.tuples(st.just("create"), numbers, titles, st.sampled_from(["cli", "web", "subagent"]), numbers),
    st.tuples(st.just("append"), numbers, st.lists(items, max_size=4)),
    st.tuples(st.just("flags"), numbers, seqs, flags),
    st.tuples(st.just("change"), numbers, titles, tags, st.booleans(), st.booleans()),
    st.tuples(st.just("end"), numbers, words),
    st.tuples(st.just("set_driver"), numbers, st.sampled_from(["cli", "web"])),
    st.tuples(st.just("ingest"), numbers, st.lists(items, max_size=3), titles, numbers),
    st.tuples(st.just("put"), keys, texts, st.one_of(st.none(), numbers), st.sampled_from([None, 0, 1, 2])),
    st.tuples(st.just("drop"), keys, st.sampled_from([None, 1, 2])),
    st.tuples(st.just("records"), words.map(lambda word: word[:2]), keys, st.integers(0, 3)),
    st.tuples(st.just("hand"), numbers, st.sampled_from(["cli", "web"]), st.sampled_from([60, 60, -1])),
    st.tuples(st.just("claim"), st.sampled_from([60, -1])),
    st.tuples(st.just("carry"), st.sampled_from(["thread_ready", "bound", "bound", "turn_done", "delivered"])),
    st.tuples(st.just("close"), st.sampled_from(["complete", "fail", "cancel", "expire"])),
    st.tuples(st.just("arrive"), numbers, keys, texts),
    st.tuples(st.just("work"), numbers, st.sampled_from([60, -1]), st.sampled_from(["done", "failed", "later", "no"])),
    st.tuples(st.just("reply"), st.lists(keys, min_size=1, max_size=3), numbers),
    st.tuples(st.just("send"), numbers, st.sampled_from([60, -1]), st.sampled_from(["sent", "failed", "later", "no"])),
    st.tuples(st.just("bind"), numbers, numbers, st.sampled_from([None, 0, 1, 2])),
    st.tuples(st.just("delete"), numbers),
    st.tuples(st.just("forget"), numbers),
    st.tuples(st.just("index")),
    st.tuples(st.just("search"), queries, st.sampled_from(["", "terminal", "get_user"]), st.integers(1, 5)),
    st.tuples(st.just("rank"), queries, st.integers(1, 5)),
    st.tuples(st.just("find"), queries, tags, st.sampled_from([None, True, False])),
    st.tuples(st.just("resolve"), st.one_of(words, titles.map(str), st.sampled_from(["s", "s1", "no"]))),
    st.tuples(st.just("read"), numbers, st.integers(0, 6), st.booleans()),
)


# Something to begin with, so that most steps find a session.
BEGINNING = [
    ("create", 1, "Garden", "cli", 1),
    ("create", 2, None, "subagent", 1),
    ("append", 1, [user("red garden 数据库"), Chunk("getUser"), assistant("getUser Straße"), user("x" * 70)]),
]


# And what is looked at in the end, so that every difference shows.
ENDING = [
    *(("search", query, "", 9) for query in ("garden*", "user", "数据", "x*")),
    *(("rank", query, 9) for query in ("gardens", "user garden", "数据")),
    *(("read", number, 0, False) for number in range(4)),
    ("find", "", (), None),
    ("records", "", "", 9),
]

MOMENTS = ("claimed_at", "bound_at", "finished_at")


@dataclass
class Hand:
    """Does the same steps to one store as others do to theirs, and tells what it was told."""

    store: Store
    run: int  # the stores are used again and again: each run has ids and a person of its own
    leases: dict[SessionId, Lease] = field(default_factory=dict)
    handoff: Handoff | None = None

    @property
    def person(self) -> Principal:
        return Principal(f"person{self.run}")

    def session(self, number: int) -> SessionId:
        return SessionId(f"s{number}.{self.run}")

    async def tell(self, step: tuple[Any, ...]) -> Any:
        try:
            return await getattr(self, step[0])(*step[1:])
        except SojournError as error:
            return type(error).__name__

    async def create(self, number: int, title: str | None, source: str, parent: int) -> Any:
        above = self.session(parent) if parent != number else None
        made = await self.store.create(
            id=self.session(number), title=title, source=source, parent=above, principal=self.person
        )
        return plain(made)

    async def lease(self, session: SessionId) -> Lease:
        kept = await self.store.get(session)
        lease = self.leases.get(session)
        if lease is None or lease.driver_fence != kept.driver_fence:
            surface = kept.driver or "cli"
            self.leases[session] = await self.store.lease(session, holder="me", surface=surface, seconds=0.0)
        return self.leases[session]

    async def append(self, number: int, some: list[Any]) -> Any:
        lease = await self.lease(self.session(number))
        return [(kept.seq, unclocked(kept.item)) for kept in await self.store.append(lease, some)]

    async def flags(self, number: int, some: list[int], pair: tuple[bool, bool]) -> Any:
        lease, (active, compacted) = await self.lease(self.session(number)), pair
        return await self.store.set_flags(lease, some, active=active, compacted=compacted)

    async def change(self, number: int, title: str | None, tags: tuple[str, ...], pin: bool, archive: bool) -> Any:
        old = await self.store.get(self.session(number))
        return plain(await self.store.change(old, replace(old, title=title, tags=tags, pinned=pin, archived=archive)))

    async def end(self, number: int, reason: str) -> Any:
        return plain(await self.store.end(await self.lease(self.session(number)), reason))

    async def set_driver(self, number: int, surface: str) -> Any:
        return plain(await self.store.set_driver(self.session(number), surface))

    async def ingest(self, number: int, some: list[Any], title: str | None, mark: int) -> Any:
        messages = [item for item in some if isinstance(item, Message)]
        one = make_transcript(self.session(number), *messages, title=title, records=[("x", "y")] * mark)
        [done] = await self.store.ingest("hermes", f"/{self.run}", [(str(mark), one)], principal=self.person)
        return done

    async def put(self, key: str, text: str, number: int | None, expect: int | None) -> Any:
        session = self.session(number) if number is not None else None
        record = Record(kind=f"k{self.run}", key=key, value={text: text}, principal=self.person, session=session)
        return replace(await self.store.put_record(record, expect=expect), created_at=0.0, updated_at=0.0)

    async def drop(self, key: str, expect: int | None) -> Any:
        return await self.store.delete_record(f"k{self.run}", key, expect=expect)

    async def records(self, prefix: str, after: str, limit: int) -> Any:
        kind = f"k{self.run}"
        some = await self.store.list_records(kind, principal=self.person, prefix=prefix, limit=limit)
        some += await self.store.list_records(kind, principal=self.person, after=after)
        return [replace(one, created_at=0.0, updated_at=0.0) for one in some]

    def handed(self, handoff: Any) -> Any:
        self.handoff = handoff or self.handoff
        still = {"id": "", "until": 0.0, "deadline": 0.0, "created_at": 0.0}
        times = {name: float(getattr(handoff, name, None) is not None) for name in MOMENTS}
        return handoff and replace(handoff, **still, **times)

    async def hand(self, number: int, surface: str, seconds: float) -> Any:
        platform = f"chat{self.run}"
        return self.handed(
            await self.store.request_handoff(self.session(number), platform, surface=surface, seconds=seconds)
        )

    async def claim(self, seconds: float) -> Any:
        return self.handed(await self.store.claim_handoff("me", platforms=[f"chat{self.run}"], seconds=seconds))

    async def carry(self, step: Any) -> Any:
        return self.handed(await self.store.advance_handoff(self.handoff, step)) if self.handoff else None

    async def close(self, how: str) -> Any:
        if not self.handoff:
            return None
        if how == "complete":
            return self.handed(await self.store.complete_handoff(self.handoff))
        if how == "fail":
            return self.handed(await self.store.fail_handoff(self.handoff, "broken", "It broke."))
        as_: Any = "cancelled" if how == "cancel" else "expired"
        return self.handed(await self.store.cancel_handoff(self.handoff.id, as_=as_))

    @property
    def line(self) -> tuple[str, str]:
        return f"chat{self.run}", "bot"

    async def arrive(self, place: int, key: str, text: str) -> Any:
        return moved(await self.store.add_incoming(*self.line, key, place=self.place(place), payload={"text": text}))

    def place(self, number: int) -> str:
        return f"chat{self.run}:{number}"

    async def work(self, limit: int, seconds: float, how: Any) -> Any:
        taken = await self.store.claim_incoming("me", lines=[self.line], limit=limit, seconds=seconds)
        ended = list[Any]()
        for item in taken:
            if how == "later":
                ended.append(moved(await self.store.release_incoming(item, seconds=0)))
            elif how != "no":
                ended.append(moved(await self.store.finish_incoming(item, how)))
        return [*map(moved, taken), ended]

    async def reply(self, some: list[str], number: int) -> Any:
        drafts = [
            OutgoingDraft(
                key=f"{key} {self.run}",
                platform=self.line[0],
                account=self.line[1],
                place=self.place(number),
                payload=key,
                session=self.session(number),
            )
            for key in some
        ]
        return [moved(one) for one in await self.store.put_outgoing(drafts)]

    async def send(self, limit: int, seconds: float, how: Any) -> Any:
        taken = await self.store.claim_outgoing("me", lines=[self.line], limit=limit, seconds=seconds)
        ended = list[Any]()
        for item in taken:
            if how == "later":
                ended.append(moved(await self.store.release_outgoing(item, seconds=0)))
            elif how != "no":
                ended.append(moved(await self.store.finish_outgoing(item, how)))
        return [*map(moved, taken), ended]

    async def bind(self, place: int, number: int, expect: int | None) -> Any:
        session = self.session(number)
        bound = await self.store.bind(self.place(place), session, principal=self.person, expect=expect)
        found = await self.store.bindings(principal=self.person)
        return [replace(one, updated_at=0.0) for one in (bound, *found)]

    async def delete(self, number: int) -> Any:
        rows = (await self.store.delete(self.session(number))).rows
        self.leases.pop(self.session(number), None)
        return {table: count for table, count in rows.items() if table != "controls"}

    async def forget(self, number: int) -> Any:
        self.leases.pop(self.session(number), None)
        return (await self.store.forget(self.session(number))).rows["sessions"]

    async def index(self) -> None:
        await self.store.index()

    async def rank(self, text: str, limit: int) -> Any:
        """The scores depend on how many rows there ever were, which only one of the stores counts without gaps."""
        asked = SearchQuery(text=text, principal=self.person, limit=limit, order="relevance")
        found = await self.store.search(asked)
        return [replace(hit, score=0.0, timestamp=0.0) for hit in found]

    async def search(self, text: str, tool: str, limit: int) -> Any:
        found: list[SearchHit] = []
        while len(found) < 50:
            before = found[-1].at if found else None
            asked = SearchQuery(text=text, tool=tool, principal=self.person, limit=limit, before=before)
            if not (page := await self.store.search(asked)):
                break
            found += page
        times = {hit.session: 0 for hit in found}
        return [replace(hit, at=0, timestamp=times[hit.session]) for hit in found]

    async def find(self, text: str, tags: tuple[str, ...], archived: bool | None) -> Any:
        listing = Listing(principal=self.person, text=text, tags=tags, archived=archived)
        return [plain(session) for session in await self.store.find(listing)]

    async def resolve(self, text: str) -> Any:
        return plain(await self.store.resolve(text, principal=self.person))

    async def read(self, number: int, after: int, messages_only: bool) -> Any:
        kept = await collect(self.store.read(self.session(number), after=after, messages_only=messages_only))
        return [(one.seq, unclocked(one.item)) for one in kept]


def moved(item: Any) -> Any:
    """A row of the journal without its number and the moments it tells."""
    if item is None:
        return None
    moments = ("received_at", "created_at", "sent_at", "finished_at", "until", "next_try_at")
    still = {name: float(bool(getattr(item, name))) for name in moments if hasattr(item, name)}
    return replace(item, id=0, **still)


def plain(session: Any) -> Any:
    """A session without the moments at which it was told."""
    still = {key: value for key, value in session.details.items() if key != "title_terms"}
    ended = session.ended_at is not None
    return replace(session, started_at=0.0, last_active=0.0, ended_at=float(ended), details=still)


def unclocked(item: Any) -> Any:
    return (
        replace(item, timestamp=item.timestamp if item.timestamp < 1e6 else 0.0) if isinstance(item, Message) else item
    )


@dataclass
class Pair:
    """Both stores, and a loop to ask them in."""

    ask: Callable[[Any], Any]
    stores: dict[str, Store]
    run: Iterator[int] = field(default_factory=itertools.count)

    async def same(self, sequence: list[tuple[Any, ...]]) -> None:
        run = next(self.run)
        hands = {name: Hand(store, run) for name, store in self.stores.items()}
        for step in sequence:
            told = {name: await hand.tell(step) for name, hand in hands.items()}
            for name, answer in told.items():
                assert answer == told["sqlite"], (name, step)
        for hand in hands.values():
            assert (await hand.store.verify()).clean or run % 20


@pytest.fixture
def pair(databases: Callable[[], str], home: Path) -> Iterator[Pair]:
    stores: dict[str, Store] = {"sqlite": SqliteStore(home / "state.db"), "postgres": PostgresStore(databases())}
    with asyncio.Runner() as runner:
        yield Pair(runner.run, stores)
        for store in stores.values():
            runner.run(store.close())


@pytest.mark.postgres
@pytest.mark.parametrize("examples", [100, pytest.param(3000, marks=pytest.mark.soak)])
def test_random_sequences_of_steps_have_the_same_answers_everywhere(pair, examples):
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(steps, min_size=5, max_size=20))
    def check(sequence):
        pair.ask(pair.same([*BEGINNING, *sequence, *ENDING]))

    check()


TEXTS = [f"{a} {b} {c}" for a, b, c in itertools.product(WORDS[:12:2], WORDS[11:20:2], WORDS[20:28:3])]


@pytest.mark.postgres
@pytest.mark.parametrize("indexed", [False, True])
def test_the_same_hits_on_every_engine(pair, indexed):
    hands = [Hand(store, 0) for store in pair.stores.values()]
    for hand in hands:
        pair.ask(hand.create(1, "Garden get_user 数据库", "cli", 1))
        pair.ask(hand.append(1, [user(text) for text in TEXTS]))
        if indexed:
            pair.ask(hand.index())
    for query in (
        *WORDS,
        *(f'"{a} {b}"' for a, b in itertools.product(WORDS[:12:2], WORDS[11:20:2])),
        "g*",
        "数*",
        "u* h*",
    ):
        sqlite, postgres = (pair.ask(hand.tell(("search", query, "", 20))) for hand in hands)
        assert sqlite == postgres, query
