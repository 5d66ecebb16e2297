"""One transaction as the service sees it: reads and writes that are committed together, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sojourn.core.sessions import Recorded, Session, SessionId
from sojourn.stores.sql import leases, log, questions, records, session_changes, sessions
from sojourn.stores.sql.db import Db

T = TypeVar("T")
P = ParamSpec("P")
_PAGE_ITEMS = 500  # log items in one read


def _method(work: Callable[Concatenate[Db, P], T]) -> Callable[Concatenate[SqlTransaction, P], T]:
    """Makes a function of a `Db` a method of the transaction."""

    @wraps(work)
    def method(self: SqlTransaction, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return work(self._db, *args, **kwargs)

    return method


class SqlTransaction:
    """ports.Transaction over a `Db`."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def create(self, **values: Any) -> Session:
        return sessions.create_session(self._db, **values)

    get = _method(sessions.get_session)
    change = _method(session_changes.change_session)
    set_title = _method(session_changes.set_title)
    get_blob = _method(sessions.get_blob)
    set_driver = _method(leases.set_driver)
    lease = _method(leases.acquire_lease)
    renew = _method(leases.renew_lease)
    send_control = _method(leases.send_control)
    append = _method(log.append)
    set_flags = _method(log.set_flags)
    put_question = _method(questions.put_question)
    put_record = _method(records.put_record)
    delete_record = _method(records.delete_record)
    get_record = _method(records.get_record)
    list_records = _method(records.list_records)

    def read(self, session: SessionId, *, after: int = 0, messages_only: bool = False) -> Iterator[Recorded]:
        while items := log.read_page(self._db, session, after, messages_only, _PAGE_ITEMS):
            yield from items
            after = items[-1].seq
            if len(items) < _PAGE_ITEMS:
                return
