"""Bindings in a dictionary, by place."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.core.errors import NotFound
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.gateway_store import Binding
from sojourn.stores.journal import BINDINGS, binding_from, bound_meanwhile
from sojourn.stores.memory.data import Data
from sojourn.stores.memory.waking import Waking
from sojourn.stores.records import json_text
from sojourn.text.escape import escape


def bind(
    data: Data,
    place: str,
    session: SessionId,
    principal: Principal,
    details: Mapping[str, Json] | None,
    expect: int | None,
) -> Binding:
    if data.session(session)["principal"] != principal:
        raise NotFound(f'There is no session "{session}".', hint="`sojourn sessions list` shows what there is.")
    bindings, now = data.tables["bindings"], data.clock()
    old = bindings.get((escape(place),))
    found = old["revision"] if old else 0
    if expect is not None and expect != found:
        raise bound_meanwhile(place, expect=expect, found=found)
    for key, row in bindings.items():
        if row["session_id"] == session and key != (escape(place),):
            bindings[key] = {
                **row,
                "session_id": None,
                "previous_session_id": session,
                "revision": row["revision"] + 1,
                "updated_at": now,
            }
    previous = None
    if old:
        displaced = old["session_id"] not in (None, session)
        previous = old["session_id"] if displaced else old["previous_session_id"]
    text = old["details"] if old and details is None else json_text(dict(details or {}), data.redact)
    bindings[(escape(place),)] = row = {
        "place": escape(place),
        "session_id": session,
        "previous_session_id": None if previous == session else previous,
        "principal": escape(principal),
        "details": text,
        "revision": found + 1,
        "updated_at": now,
    }
    data.touched.add(BINDINGS)
    return binding_from(row)


class MemoryBindings(Waking):
    """ports.journal.Bindings over a dictionary."""

    async def bind(
        self,
        place: str,
        session: SessionId,
        *,
        principal: Principal = OWNER,
        details: Mapping[str, Json] | None = None,
        expect: int | None = None,
    ) -> Binding:
        with self._writing() as data, data.whole():
            return bind(data, place, session, principal, details, expect)

    async def binding(self, place: str) -> Binding | None:
        row = self._data.tables["bindings"].get((escape(place),))
        return binding_from(row) if row else None

    async def bindings(
        self, *, session: SessionId | None = None, principal: Principal | None = None, prefix: str = ""
    ) -> list[Binding]:
        return [
            binding_from(row)
            for row in sorted(self._data.tables["bindings"].values(), key=lambda row: str(row["place"]))
            if (session is None or row["session_id"] == session)
            and row["place"].startswith(escape(prefix))
            and (principal is None or row["principal"] == escape(principal))
        ]

    async def unbind(self, place: str, *, expect: int | None = None) -> bool:
        with self._writing() as data:
            row = data.tables["bindings"].get((escape(place),))
            if row is None:
                return False
            if expect is not None and expect != row["revision"]:
                raise bound_meanwhile(place, expect=expect, found=row["revision"])
            del data.tables["bindings"][(escape(place),)]
            data.touched.add(BINDINGS)
            return True
