"""Discord's payloads: ids, users, channels, errors, and the fields of requests."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

from aiohttp import web

from sojourn.core.places import Sender
from sojourn.ports.platform import Button, File

TOKEN = "NzAw.harness.SecretOfTheBot"  # begins with the bot's id, 700, as tokens do
BOT, GUILD, DM, GARDEN, VOICE, FORUM, SHELF = 700, 800, 900, 801, 802, 803, 804
ANN, BEN = Sender(id="501", name="Ann"), Sender(id="502", name="Ben")
TEXT, PRIVATE, SPOKEN, CATEGORY, PUBLIC_THREAD, FORUM_KIND = 0, 1, 2, 4, 11, 15


def user(id: int | str, name: str, *, bot: bool = False) -> dict[str, Any]:
    return {"id": str(id), "username": name, "discriminator": "0", "avatar": None, "global_name": name, "bot": bot}


US = user(BOT, "sojourn", bot=True)


def channel(id: int, kind: int, name: str, **more: Any) -> dict[str, Any]:
    told = {"id": str(id), "type": kind, "guild_id": str(GUILD), "name": name, "position": 0, "nsfw": False}
    return told | {"permission_overwrites": [], "parent_id": None} | more


class Refused(Exception):
    def __init__(self, status: int, code: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.headers = status, more.pop("headers", {})
        self.body = {"code": code, "message": message} | more


def ids() -> Iterator[int]:
    """They tell the time."""
    for n in count():
        yield (int(time.time() * 1000 - 1_420_070_400_000) << 22) + n


def buttons_in(rows: list[dict[str, Any]]) -> tuple[Button, ...]:
    return tuple(Button(label=one["label"], value=one["custom_id"]) for row in rows for one in row["components"])


def now() -> str:
    return datetime.now(UTC).isoformat()


def seen(content: str) -> str:
    """As people see it: a backslash before a mark hides itself."""
    return re.sub(r"\\([^A-Za-z0-9\s])", r"\1", content)


async def carried(request: web.Request) -> tuple[dict[str, Any], list[File]]:
    if not request.content_type.startswith("multipart/"):
        return (await request.json() if request.can_read_body else {}), []
    form = await request.post()
    files = [
        File(name=one.filename, media_type=one.content_type, data=one.file.read())
        for key, one in form.items()
        if key.startswith("files[") and isinstance(one, web.FileField)
    ]
    return {"content": ""} | json.loads(str(form["payload_json"])), files
