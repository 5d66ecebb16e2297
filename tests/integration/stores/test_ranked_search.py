"""Search by relevance in a session that is longer than what is ranked."""

from sojourn.core.messages import user
from sojourn.ports.store import SearchQuery
from sojourn.stores.sql import ranked_search
from sojourn.stores.sqlite.store import SqliteStore


async def test_a_rare_word_of_a_long_session_is_found_however_old_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(ranked_search, "_LIST_ROWS", 20)
    store = SqliteStore(tmp_path / "state.db")
    session = await store.create()
    lease = await store.lease(session.id, holder="a test", surface="cli")
    await store.append(lease, [user("the heron stood there"), *(user(f"message {number}") for number in range(60))])
    for text in ("heron", "heron stood"):
        query = SearchQuery(text=text, session=session.id, order="relevance")
        assert [hit.seq for hit in await store.search(query)] == [1]
    await store.close()
