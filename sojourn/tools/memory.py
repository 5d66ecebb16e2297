"""The tool `memory`: durable facts about the person and their work, theirs to see and change.

A fact is a record of kind `fact` under `<principal>/<8 hex digits>`: `{"text", "why", "source_session"}`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.messages import Json
from sojourn.ports.app import HasStore
from sojourn.ports.store import Record
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.text.redaction import redact
from sojourn.tool_schema import tool

KIND = "fact"
MAX_FACT_CHARS = 2000
MAX_FACTS = 500  # records of one person


def memory_tool(app: HasStore) -> Tool:
    @tool(effect="writes", asks=_ask_about_foreign, origins=())
    async def memory(
        at: Workspace, action: Literal["list", "add", "edit", "delete"], text: str = "", id: str = "", why: str = ""
    ) -> ToolResult:
        """Durable facts about the person, kept for all later sessions. Add what they ask you to remember or what
        will matter again; never secrets.

        action: list all facts, add one, edit one, delete one
        text: for add and edit: the fact, in one or two sentences
        id: for edit and delete: the fact's id
        why: for add: why it is worth keeping
        """
        if action == "list":
            return await _list_facts(app, at)
        if action == "add":
            return await _add_fact(app, at, _clean(text), why)
        old = await app.store.get_record(KIND, f"{at.principal}/{id}")
        if old is None or old.principal != at.principal:
            raise NotFound(f'There is no fact "{id}".', hint="action=list shows them with their ids.")
        if action == "delete":
            await app.store.delete_record(KIND, old.key, expect=old.revision)
            return ToolResult(text=f"Forgot: {old.value['text']}", facts={"id": id})
        value = {**old.value, "text": _clean(text)}
        await app.store.put_record(replace(old, value=value), expect=old.revision)
        return ToolResult(text=f"Fact {id} is now: {value['text']}", facts={"id": id})

    return memory


def _ask_about_foreign(at: Workspace, arguments: Mapping[str, Json]) -> Question | None:
    """Facts are a list that the person sees and edits, so nothing is asked as long as only they have spoken."""
    action = str(arguments["action"])
    if action == "list" or not at.provenance.foreign:
        return None
    acts = {"add": "Remember this for all later sessions?", "edit": "Change what is remembered?"}
    lines = [f"{key}: {arguments[key]}" for key in ("id", "text", "why") if arguments.get(key)]
    return Question(
        id="",
        text=f"{acts.get(action, 'Forget this?')} This conversation has read text that you did not write.",
        detail="\n".join(lines),
        dangerous=True,
    )


def _clean(text: str) -> str:
    fact = " ".join(text.split())
    if not fact or len(fact) > MAX_FACT_CHARS:
        raise BadInput(f"The fact has {len(fact)} characters.", hint=f"Give 1 to {MAX_FACT_CHARS}.")
    if redact(fact) != fact:
        raise BadInput("The fact holds a key or password.", hint="Secrets are not remembered; leave it out.")
    return fact


async def _read_facts(app: HasStore, at: Workspace) -> list[Record]:
    found = await app.store.list_records(KIND, principal=at.principal, prefix=f"{at.principal}/", limit=MAX_FACTS + 1)
    return sorted(found, key=lambda one: (one.created_at, one.key))


async def _list_facts(app: HasStore, at: Workspace) -> ToolResult:
    found = await _read_facts(app, at)
    lines = [f"{one.key.rpartition('/')[2]}: {one.value['text']}" for one in found]
    return ToolResult(text="\n".join(lines) or "Nothing is remembered yet.", facts={"count": len(lines)})


async def _add_fact(app: HasStore, at: Workspace, fact: str, why: str) -> ToolResult:
    known = await _read_facts(app, at)
    for one in known:
        if str(one.value["text"]).casefold() == fact.casefold():
            return ToolResult(text="That is remembered already.", facts={"id": one.key.rpartition("/")[2]})
    if len(known) >= MAX_FACTS:
        raise BadInput(
            f"{MAX_FACTS} facts are remembered; there is no room.", hint="Delete one that no longer matters."
        )
    id = os.urandom(4).hex()
    value = {"text": fact, "why": " ".join(why.split())[:MAX_FACT_CHARS], "source_session": at.session}
    await app.store.put_record(
        Record(kind=KIND, key=f"{at.principal}/{id}", value=value, principal=at.principal), expect=0
    )
    return ToolResult(text=f"Remembered as {id}: {fact}", facts={"id": id})
