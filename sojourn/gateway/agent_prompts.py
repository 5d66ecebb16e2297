"""Agent prompts: questions and notices of agents that others started, in the owner's home channel of every network.

They are turns of sessions of their own, which no chat drives. So the gateway follows those sessions, asks in every home
channel, and shows everywhere how it ended. The first answer wins; words count in private only, and only with the code
of the question.
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import BadInput, NotAllowed, NotFound, SojournError, StoreUnavailable
from sojourn.core.events import Done, Progress
from sojourn.core.messages import Message, extra_of, text_of
from sojourn.core.sessions import OWNER, Recorded, Session, SessionId, TurnId
from sojourn.gateway.approval_prompts import SETTLED, ApprovalPrompts
from sojourn.gateway.chat_commands import InboundCall
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.handoff_target import HandoffTarget
from sojourn.gateway.payloads import ReplyTarget
from sojourn.gateway.render import answers_text, parse_choice
from sojourn.ports.platform import PlatformAdapter
from sojourn.ports.service import Caller, Turn
from sojourn.ports.store import Record
from sojourn.ports.tool import Reply
from sojourn.turn_support.agent_questions import MARK_NOTICE, SURFACE

_KIND = "agent_prompt"  # a question that is open in a place
_RETRY_SECONDS = 1.0
_MAX_KNOWN = 10_000  # sessions of which is remembered whether agents ask in them
_CODE = re.compile("[0-9a-f]{4}")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Shown:
    """Where the question of one turn is shown."""

    targets: list[tuple[ReplyTarget, ApprovalPrompts]] = field(default_factory=list)
    records: list[str] = field(default_factory=list)


class AgentPrompts:
    """Carries what agents ask to the owner, and the owner's words back."""

    def __init__(self, context: GatewayContext) -> None:
        self._context, self._places = context, HandoffTarget(context)
        self._tasks: dict[SessionId, asyncio.Task[None]] = {}
        self._done: dict[SessionId, int] = {}  # up to where the log of a session was shown
        self._known: dict[SessionId, bool] = {}

    async def run(self) -> None:
        """Follows the sessions of agents until cancelled."""
        store = self._context.store
        try:
            after = await store.last_change()
            for session in await store.list_waiting():
                await self._look_at(session)
            async with aclosing(store.watch_changes(after=after)) as changes:
                async for change in changes:
                    if change.kind == "log":
                        await self._look_at(change.session)
        finally:
            await cancel_tasks(self._tasks.values())

    async def _look_at(self, id: SessionId) -> None:
        if id in self._tasks or not self._known.get(id, True):
            return
        try:
            session = await self._context.store.get(id)
        except (NotFound, StoreUnavailable):
            return
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        self._known[id] = session.source == SURFACE and session.principal == OWNER
        if self._known[id] and session.last_seq > self._done.get(id, 0):
            task = self._tasks[id] = asyncio.create_task(self._follow(session))
            task.add_done_callback(lambda _: self._tasks.pop(id, None))

    async def _follow(self, session: Session) -> None:
        """Shows the last turn of a session until it ends."""
        try:
            after = max(await self._find_beginning(session), self._done.get(session.id, 0))
            shown = _Shown()
            async with aclosing(self._context.service.watch(session.id, after=after)) as log:
                async for entry in log:
                    await self._show(session, entry, shown)
                    if isinstance(entry.item, Done):
                        self._done[session.id] = entry.seq
                        break
            for _, prompts in shown.targets:
                await prompts.close()
            await self._forget(shown)
        except SojournError as error:
            logger.warning("what an agent asks in %s cannot be shown: %s", session.id, error)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _find_beginning(self, session: Session) -> int:
        """The number before the first entry of the last turn."""
        first: Recorded | None = None
        async with aclosing(self._context.store.read(session.id, before=session.last_seq + 1)) as log:
            async for entry in log:
                if isinstance(entry.item, Done) and first is not None:
                    break
                first = entry
        return first.seq - 1 if first is not None else session.last_seq

    async def _show(self, session: Session, entry: Recorded, shown: _Shown) -> None:
        item = entry.item
        if isinstance(item, Message) and item.role == "assistant" and MARK_NOTICE.items() <= extra_of(item).items():
            for to in await self._list_targets(session):
                await self._context.enqueue_text(to, f"{entry.public_id}@{to.platform}:{to.account}", text_of(item))
        elif isinstance(item, Progress) and item.stage == "approval" and item.detail.get("status") == "asked":
            await self._ask(session, entry, item, shown)
        elif isinstance(item, Progress) and item.stage == "approval":
            await self._forget(shown)
            for _, prompts in shown.targets:
                await prompts.settle(item.detail)

    async def _ask(self, session: Session, entry: Recorded, item: Progress, shown: _Shown) -> None:
        turn = Turn(id=entry.turn or TurnId(""), session=session.id, after=entry.seq)
        for to in await self._list_targets(session):
            prompts = ApprovalPrompts(self._context, turn, to, Caller(surface=to.platform))
            key = f"{entry.public_id}@{to.platform}:{to.account}"
            view, drafts = await prompts.ask(key, item.detail, code=_find_code(str(item.detail["question"])))
            value = {"question": item.detail["question"], "choices": list(view.choices)}
            record = Record(kind=_KIND, key=f"{to.key}/{item.detail['question']}", value=value, session=session.id)
            await self._context.store.put_record(record)
            await self._context.store.put_outgoing(drafts)
            shown.targets.append((to, prompts))
            shown.records.append(record.key)

    async def _forget(self, shown: _Shown) -> None:
        for key in shown.records:
            await self._context.store.delete_record(_KIND, key)
        shown.records.clear()

    async def _list_targets(self, session: Session) -> list[ReplyTarget]:
        """The owner's home channel on each connection of this gateway."""
        found = list[ReplyTarget]()
        for (platform, account), connection in list(self._context.connections.items()):
            adapter = connection.adapter
            if not connection.is_ours or adapter.info.system:
                continue
            with suppress(BadInput, NotAllowed):  # no home channel, or its person is no longer the owner
                found.append(await self._build_target(session, platform, account, adapter))
        return found

    async def _build_target(
        self, session: Session, platform: str, account: str, adapter: PlatformAdapter
    ) -> ReplyTarget:
        home = await self._context.homes.find(adapter, OWNER)
        await self._places.require_same_person(home, session, adapter)
        key = await self._places.session_key(home.place, session, adapter)
        return ReplyTarget(platform=platform, account=account, key=key, place=home.place, session=session.id)

    # words
    async def answer(self, call: InboundCall) -> str | None:
        """The reply to words that answer a question; empty if none is needed, None if they do not answer one."""
        word, _, code = call.payload.text.strip().strip(".!").lower().partition(" ")
        meant, is_private = parse_choice(word), call.payload.place.kind == "dm"
        if meant is None or not _CODE.fullmatch(code) or not is_private or call.info.system:
            return None
        if not call.identity.is_owner:
            return None
        records = await self._context.store.list_records(_KIND, prefix=f"{call.item.place}/")
        opened = [one for one in records if _find_code(str(one.value["question"])) == code]
        if len(opened) != 1 or opened[0].session is None:
            return SETTLED
        [record], choice = opened, meant[0]
        if choice not in record.value["choices"]:
            return f"“{choice}” is not offered. {answers_text(record.value['choices'], for_owner=True, code=code)}"
        reply = Reply(choice=choice, by=call.by.name or call.by.surface)
        try:
            await self._context.service.answer(opened[0].session, str(record.value["question"]), reply, call.by)
        except NotFound:  # answered elsewhere, or left behind by a gateway that was killed
            await self._context.store.delete_record(_KIND, record.key)
            return SETTLED
        return ""


def _find_code(question: str) -> str:
    """The code of a question, which its answer in words repeats: what is said in passing answers nothing."""
    return question[-4:]
