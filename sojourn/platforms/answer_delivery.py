"""Answer delivery: posts answers to programs that asked over HTTP, each to an address of its own, and signed."""

from __future__ import annotations

import json
import time
import uuid

from sojourn.core.errors import SendRefused
from sojourn.core.places import Place
from sojourn.core.settings import Secret
from sojourn.platforms.request_checks import compute_hub_signature
from sojourn.platforms.rest_client import RestClient
from sojourn.ports.platform import Sent


def sign(secret: Secret, body: bytes, now: float) -> dict[str, str]:
    """The headers that prove who sends a body, and when."""
    stamp = str(int(now))
    signature = compute_hub_signature(secret, stamp.encode() + b"." + body)
    return {"X-Sojourn-Timestamp": stamp, "X-Sojourn-Signature": signature}


class AnswerDelivery:
    """The addresses of a network's chats. `where` names the table of a chat's settings, with {} for its name."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._receivers: dict[str, tuple[RestClient, str, Secret] | None] = {}

    def add(self, chat: str, url: str, secret: Secret) -> None:
        """Answers in a chat go to `url`; nowhere if it is empty."""
        client = RestClient(f'The receiver of "{chat}"', url, key=f"the secret of the route {chat}") if url else None
        self._receivers[chat] = (client, url, secret) if client is not None else None

    async def post(self, place: Place, text: str, *, plain: bool, reply_to: str) -> Sent:
        """SendRefused, PlatformDown."""
        chat = place.chat
        if (found := self._receivers.get(chat)) is None:
            raise SendRefused(
                f'The route "{chat}" has no address to deliver answers to.',
                kind="forbidden" if chat in self._receivers else "not_found",
                hint=f"Set `deliver` under {self._where.format(chat)}.",
            )
        client, url, secret = found
        id = uuid.uuid4().hex
        message = {"id": id, "route": chat, "text": text, "format": "plain" if plain else "markdown"}
        body = json.dumps(message | {"reply_to": reply_to}, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", **sign(secret, body, time.time())}
        await client.request("POST", url, content=body, headers=headers)
        return Sent(place=place, id=id)

    async def close(self) -> None:
        for found in self._receivers.values():
            if found is not None:
                await found[0].close()
