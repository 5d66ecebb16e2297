"""Yuanbao connection: sign-in, heartbeat, requests that are answered under their own id, and what is pushed."""

from __future__ import annotations

import asyncio
import uuid
from itertools import count
from typing import Self

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.platforms.expiring_token import TokenExpired
from sojourn.platforms.protobuf import MessageFields, encode_values
from sojourn.platforms.request_socket import RequestSocket, dial
from sojourn.platforms.result_codes import ResultCodes
from sojourn.platforms.yuanbao import SECRET_VARIABLE
from sojourn.platforms.yuanbao.api import CLIENT_KIND, CLIENT_SYSTEM, CLIENT_VERSION, YuanbaoApi
from sojourn.platforms.yuanbao.frames import PUSH, REQUEST, RESPONSE, YuanbaoFrame, decode_frame

_ACCESS_MODULE = "conn_access"
_MESSAGE_MODULE = "yuanbao_openclaw_proxy"
_TOKEN_CODES = frozenset({40100, 41103, 41104, 41108})
_KEY_CODES = frozenset({41105, 41106, 41107, 41109, 41110})  # not registered, forbidden, version refused …
_BOUND_CODE, _OTHER_DEVICE_CODE = 41101, 41102
_FINAL_CLOSE_CODES = frozenset({4012, 4013, 4014, 4018, 4019, 4021})  # banned, deleted, or another connection
_REPLY_SECONDS = 30.0
_FIRST_BEAT_SECONDS, _MIN_BEAT_SECONDS, _MAX_BEAT_SECONDS = 5.0, 1.0, 300.0
_MAX_MISSED_BEATS = 2  # heartbeats without an answer
_CODES = ResultCodes(
    label="Yuanbao",
    key=SECRET_VARIABLE,
    code_field="code",
    message_field="message",
    kinds={
        "bad_format": (40011,),
        "forbidden": (41106,),
        "not_found": (20002, 1652513),  # the second: a group that is gone
        "rate_limited": (51002,),
        "transient": (50400, 50503, 90001, 90003),
    },
)


class YuanbaoConnection(RequestSocket[YuanbaoFrame]):
    """One connection."""

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__("Yuanbao", socket, reply_seconds=_REPLY_SECONDS)
        self._replacement: KeyRefused | None = None
        self._numbers = count(1)

    @classmethod
    async def open(cls, url: str, api: YuanbaoApi) -> Self:
        """Connects and signs in. PlatformDown, KeyRefused, SendRefused."""

        async def bind(token: str) -> Self:
            connection = cls(await dial("Yuanbao", url))
            try:
                await connection._bind(api, token)
            except (PlatformDown, KeyRefused, SendRefused, TokenExpired):
                await connection.close()
                raise
            connection.start_heart()
            return connection

        return await api.token.use(bind)

    async def _bind(self, api: YuanbaoApi, token: str) -> None:
        person = encode_values({1: api.bot_id, 2: api.source, 3: token})
        device = encode_values({1: CLIENT_VERSION, 2: CLIENT_SYSTEM, 10: CLIENT_KIND, 24: CLIENT_VERSION})
        body = encode_values({1: "ybBot", 2: [person], 3: [device]})
        reply = await self._call(_ACCESS_MODULE, "auth-bind", body)
        result = _parse(reply.data)
        code = reply.status or result.get_number(1)
        if code in _TOKEN_CODES:
            raise TokenExpired
        if code in _KEY_CODES:
            hint = f"See the bot's page in Yuanbao; correct {SECRET_VARIABLE} if it is another one."
            raise KeyRefused(f"Yuanbao does not let the bot connect ({code}).", hint=hint)
        if code == _OTHER_DEVICE_CODE:
            raise _build_replacement("")
        if code not in (0, _BOUND_CODE):
            raise PlatformDown(f"Yuanbao says: {code} {result.get_text(2)[:200]}.")

    async def request(self, command: str, body: bytes) -> None:
        """Makes a request about messages. SendRefused, PlatformDown."""
        reply = await self._call(_MESSAGE_MODULE, command, body)
        result = _parse(reply.data)
        code = reply.status or result.get_number(1)
        if code in _TOKEN_CODES:
            await self._socket.close()
            raise PlatformDown("Yuanbao has forgotten who is connected.")
        _CODES.check({"code": code, "message": result.get_text(2)})

    async def _call(self, module: str, command: str, body: bytes) -> YuanbaoFrame:
        id, number = uuid.uuid4().hex, next(self._numbers)
        frame = YuanbaoFrame(type=REQUEST, command=command, sequence=number, id=id, module=module, data=body)
        return await self.exchange(id, frame.encode())

    async def acknowledge(self, frame: YuanbaoFrame) -> None:
        """Says that a push is stored. PlatformDown."""
        if frame.needs_acknowledgement:
            try:
                await self._socket.send(frame.to_acknowledgement(next(self._numbers)).encode())
            except ConnectionClosed as error:
                raise PlatformDown("The connection to Yuanbao was lost.") from error

    def take(self, message: str | bytes) -> bool:
        try:
            frame = decode_frame(message if isinstance(message, bytes) else message.encode())
            if frame.type == PUSH and frame.command == "kickout":
                self._replacement = _build_replacement(MessageFields(frame.data).get_text(2)[:200])
                return False
        except ValueError:
            return True
        if frame.type == RESPONSE:
            self.resolve(frame.id, frame)
        elif frame.type == PUSH:
            self.push(frame)
        return True

    def explain_end(self) -> PlatformDown | KeyRefused:
        """Why the connection has ended."""
        if self._socket.close_code in _FINAL_CLOSE_CODES:
            hint = "See the bot's page in Yuanbao, and whether another program uses the bot."
            return KeyRefused(f"Yuanbao has shut the bot out ({self._socket.close_code}).", hint=hint)
        return self._replacement or PlatformDown("The connection to Yuanbao was lost.")

    async def beat(self) -> None:
        """The answer says when the next one is due."""
        seconds, missed = _FIRST_BEAT_SECONDS, 0
        while missed < _MAX_MISSED_BEATS and self.is_open:
            await asyncio.sleep(seconds)
            try:
                async with asyncio.timeout(max(seconds, _MIN_BEAT_SECONDS)):
                    reply = await self._call(_ACCESS_MODULE, "ping", b"")
                missed, interval = 0, _parse(reply.data).get_number(1)
                seconds = min(max(interval - 1, _MIN_BEAT_SECONDS), _MAX_BEAT_SECONDS) if interval else seconds
            except (PlatformDown, SendRefused, TimeoutError):
                missed += 1


def _parse(data: bytes) -> MessageFields:
    try:
        return MessageFields(data)
    except ValueError as error:
        raise SendRefused("Yuanbao answers without a result.", kind="unknown") from error


def _build_replacement(reason: str) -> KeyRefused:
    hint = "Stop the other one, then start this gateway again: Yuanbao allows one connection for each bot."
    return KeyRefused(f"Another program has taken over this bot. {reason}".strip(), hint=hint)
