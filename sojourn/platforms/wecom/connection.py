"""WeCom connection: subscription, heartbeat, and requests that are answered under their own id."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any, Self

from websockets.asyncio.client import ClientConnection

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.platforms.json_values import parse_object, read_object, read_text, to_json
from sojourn.platforms.request_socket import RequestSocket, dial
from sojourn.platforms.result_codes import ResultCodes
from sojourn.platforms.wecom import SECRET_VARIABLE, WecomSettings

UNKNOWN_REQUEST_CODE, STREAM_OVER_CODE = 846605, 846608
_NOT_SUBSCRIBED_CODE = 846609
_REPLY_TIMEOUT_SECONDS = 10.0
_HEARTBEAT_SECONDS = 30.0
_CODES = ResultCodes(
    label="WeCom",
    key=SECRET_VARIABLE,
    code_field="errcode",
    message_field="errmsg",
    kinds={
        "rate_limited": (45009,),
        "bad_format": (40008, 40035),
        "too_long": (45002,),
        "forbidden": (48002, 60011, UNKNOWN_REQUEST_CODE, STREAM_OVER_CODE),
        "transient": (-1,),
    },
)


class WecomConnection(RequestSocket[dict[str, Any]]):
    """One connection; what is pushed is what people do. WeCom allows one for each bot."""

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__("WeCom", socket, reply_seconds=_REPLY_TIMEOUT_SECONDS)
        self.is_replaced = False  # another connection of this bot took over
        self._reply_lock = asyncio.Lock()  # WeCom takes answers to one message one after the other

    @classmethod
    async def open(cls, settings: WecomSettings) -> Self:
        """Connects and subscribes. PlatformDown, KeyRefused."""
        connection = cls(await dial("WeCom", settings.ws_url))
        try:
            body = {"bot_id": settings.bot_id, "secret": settings.secret.reveal()}
            await connection.request("aibot_subscribe", body)
        except (SendRefused, PlatformDown) as error:
            await connection.close()
            if isinstance(error, PlatformDown) or error.kind in ("rate_limited", "transient"):
                raise PlatformDown(str(error)) from error
            raise KeyRefused(f"WeCom refuses the bot. {error}", hint=f"Correct {SECRET_VARIABLE}.") from error
        connection.start_heart()
        return connection

    async def request(self, command: str, body: Mapping[str, Any] | None, *, reply_to: str = "") -> dict[str, Any]:
        """Sends a request, or the answer to a callback, and gives the body of what comes back. SendRefused."""
        id = reply_to or f"{command}_{uuid.uuid4().hex}"
        frame: dict[str, Any] = {"cmd": command, "headers": {"req_id": id}}
        frame |= {"body": dict(body)} if body is not None else {}
        async with self._reply_lock:
            document = await self.exchange(id, to_json(frame))
        if document.get("errcode") == _NOT_SUBSCRIBED_CODE:
            raise PlatformDown("WeCom has forgotten the subscription.")
        return read_object(_CODES.check(document), "body")

    def take(self, message: str | bytes) -> bool:
        frame = parse_object(message)
        event = read_object(read_object(frame, "body"), "event")
        if "errcode" in frame:
            self.resolve(read_text(read_object(frame, "headers"), "req_id"), frame)
        elif frame.get("cmd") == "aibot_event_callback" and event.get("eventtype") == "disconnected_event":
            self.is_replaced = True
            return False
        else:
            self.push(frame)
        return True

    async def beat(self) -> None:
        """A heartbeat has no body; without an answer the connection is dead."""
        await self.beat_every(_HEARTBEAT_SECONDS, lambda: self.request("ping", None))
