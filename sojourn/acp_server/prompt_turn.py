"""A prompt of the editor as a turn: it is said, its events become updates, its end becomes the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing

from sojourn.acp_server.permission_requests import ask_editor
from sojourn.acp_server.updates import TurnUpdates
from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.events import Done, Failed, Progress
from sojourn.core.messages import Json
from sojourn.core.sessions import Recorded, SessionId
from sojourn.jsonrpc import INTERNAL_ERROR, JsonRpcConnection, Params, RpcError
from sojourn.ports.service import Caller, Service, Turn, TurnRequest

_STOP_REASONS = {"completed": "end_turn", "cancelled": "cancelled"}
SendUpdate = Callable[[SessionId, Params], None]


class PromptTurn:
    """The turn of one prompt. Closing the connection ends the watching, not the turn."""

    def __init__(self, rpc: JsonRpcConnection, service: Service, by: Caller, send: SendUpdate) -> None:
        self._rpc, self._service, self._by, self._send = rpc, service, by, send
        self._updates = TurnUpdates()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._failed: Failed | None = None
        self._turn: Turn | None = None
        self._session: SessionId | None = None
        self._is_cancelled = False

    async def cancel(self) -> None:
        """Stops the turn, also one that is only about to begin."""
        self._is_cancelled = True
        if self._session is not None and self._turn is not None:
            await self._service.stop(self._session, self._by, turn=self._turn.id)

    async def run(self, session: SessionId, request: TurnRequest) -> Params:
        """Returns the answer to `session/prompt`. RpcError with the reason of a failed turn."""
        self._session, self._turn = session, (turn := await self._service.say(session, request, self._by))
        if self._is_cancelled:
            await self.cancel()
        try:
            async with aclosing(self._service.watch(session, after=turn.after)) as log:
                async for recorded in log:
                    if recorded.turn == turn.id and (done := self._handle(recorded)):
                        return self._finish(done)
        finally:
            await cancel_tasks(self._asking.values())
        raise RpcError(INTERNAL_ERROR, "The session was deleted while its turn ran")

    def _handle(self, recorded: Recorded) -> Done | None:
        item = recorded.item
        if isinstance(item, Failed):
            self._failed = item
        elif isinstance(item, Progress) and item.stage == "approval":
            self._handle_question(recorded.session, item.detail)
        else:
            for update in self._updates.map_event(recorded):
                self._send(recorded.session, update)
        return item if isinstance(item, Done) else None

    def _handle_question(self, session: SessionId, detail: Mapping[str, Json]) -> None:
        question = str(detail.get("question"))
        if detail.get("status") == "asked":
            asking = ask_editor(self._rpc, self._service, session, detail, self._by, self._updates.open_calls)
            self._asking[question] = asyncio.create_task(asking)
        elif asked := self._asking.pop(question, None):
            asked.cancel()  # it was answered elsewhere, or is over

    def _finish(self, done: Done) -> Params:
        if done.status not in _STOP_REASONS:
            failed = self._failed or Failed("interrupted", "The turn did not come to its end.", "Ask again.")
            raise RpcError(INTERNAL_ERROR, f"{failed.message} {failed.hint}".strip())
        answer: Params = {"stopReason": _STOP_REASONS[done.status]}
        received, sent = done.usage.get("input_tokens"), done.usage.get("output_tokens")
        if isinstance(received, int) and isinstance(sent, int):
            answer["usage"] = {"inputTokens": received, "outputTokens": sent, "totalTokens": received + sent}
        return answer
