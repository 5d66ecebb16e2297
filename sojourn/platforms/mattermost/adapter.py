"""Mattermost adapter: channels, private chats and threads, over its WebSocket and REST API v4.

The server does not track what we have read. A cursor holds the time of the last post and the ids around it, and newer
posts are fetched after a reconnect.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any

from sojourn.core.errors import BadInput, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.cursor import CursorStore, ReceivedCursor
from sojourn.platforms.downloads import attach_files, check_size
from sojourn.platforms.emoji_names import emoji_name
from sojourn.platforms.json_socket import open_socket
from sojourn.platforms.mattermost import NAME, MattermostSettings
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.rest_client import RestClient
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

_API = "/api/v4"
_OVERLAP_MS = 5_000  # posts of several channels may come out of order
_MEMBERSHIP_EVENTS = ("user_added", "group_added", "direct_added", "channel_created")
_KINDS: Mapping[str, PlaceKind] = {"D": "dm", "G": "group", "O": "channel", "P": "channel"}


class Mattermost:
    """One bot account on one server."""

    info = PlatformInfo(name=NAME, label="Mattermost", max_chars=16_383, prefix="!")

    def __init__(self, app: PluginContext) -> None:
        settings: MattermostSettings = app.configured(NAME)
        self._url, self._token = settings.url.rstrip("/"), settings.token.reveal()
        self.account = f"{self._url}#{hashlib.sha256(self._token.encode()).hexdigest()[:12]}"
        self._http = RestClient("Mattermost", self._url, key="SOJOURN_MATTERMOST_TOKEN", token=self._token)
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._kinds: dict[str, PlaceKind] = {}  # of channels
        self._names: dict[str, str] = {}  # of people
        self._own_threads: dict[str, bool] = {}  # thread → whether it is addressed to us

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            me = await self._get("/users/me")
            return BotProfile(name=str(me.get("nickname") or me["username"]), address=f"@{me['username']}")

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with refusals_as_outage(), open_socket("Mattermost", f"{self._url}{_API}/websocket") as socket:
            me = await self._get("/users/me")
            await socket.send({"seq": 1, "action": "authentication_challenge", "data": {"token": self._token}})
            while (event := await socket.receive()).get("event") != "hello":
                if event.get("status") == "FAIL":
                    raise self._http.to_key_refused()
            cursor, posts = await self._fetch_missed()
            while True:
                for post in posts:
                    if cursor.contains(post["id"]) or not self._is_for_us(post, me):
                        continue
                    yield await self._to_inbound(post, me)
                    cursor = await self._cursors.save_cursor(cursor.advance(post["id"], int(post["create_at"])))
                event = await socket.receive()
                if event.get("event") in _MEMBERSHIP_EVENTS:
                    await self._update_kind(event)
                posts = self._read_posts(event)

    async def _update_kind(self, event: Mapping[str, Any]) -> None:
        """Fetches the kind of a channel that we joined."""
        page = {**(event.get("broadcast") or {}), **(event.get("data") or {})}
        if channel := page.get("channel_id"):
            with suppress(SendRefused):  # somebody has removed us again
                info = await self._get(f"/channels/{channel}")
                self._kinds[info["id"]] = _KINDS.get(info["type"], "channel")

    async def _fetch_missed(self) -> tuple[ReceivedCursor, list[dict[str, Any]]]:
        """The cursor, and the posts since then."""
        cursor, channels = await self._cursors.load_cursor(), await self._get("/users/me/channels")
        for one in channels:
            self._kinds[one["id"]] = _KINDS.get(one["type"], "channel")
        newest = max((int(one["last_post_at"]) for one in channels), default=0)
        if cursor is None:  # earlier posts are ignored
            return await self._cursors.start(newest + 1), []
        since, missed = cursor.since(_OVERLAP_MS), list[dict[str, Any]]()
        for one in channels:
            if int(one["last_post_at"]) >= since:
                page = await self._get(f"/channels/{one['id']}/posts", params={"since": since})
                missed += [post for post in page["posts"].values() if int(post["create_at"]) >= since]
        return cursor, sorted(missed, key=lambda post: (post["create_at"], post["id"]))

    def _read_posts(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        if event.get("event") != "posted":
            return []
        post = json.loads(event["data"]["post"])
        self._kinds[post["channel_id"]] = _KINDS.get(event["data"].get("channel_type", ""), "channel")
        self._names[post["user_id"]] = str(event["data"].get("sender_name", "")).lstrip("@")
        return [post]

    def _is_for_us(self, post: Mapping[str, Any], me: Mapping[str, Any]) -> bool:
        """Whether a person wrote it: not we, another bot or the system."""
        marks = post.get("props") or {}
        is_bot = any(str(marks.get(one, "")).lower() == "true" for one in ("from_bot", "from_webhook"))
        return not (post["user_id"] == me["id"] or is_bot or post.get("type") or post.get("delete_at"))

    async def _to_inbound(self, post: Mapping[str, Any], me: Mapping[str, Any]) -> Inbound:
        place = self._place(post["channel_id"], post.get("root_id") or None)
        is_addressed = self._kinds.get(post["channel_id"]) == "dm" or _mentions_us(post, me)
        if not is_addressed and place.thread:
            is_addressed = await self._is_ours(place.thread, me)
        inbound = Inbound(
            id=post["id"],
            place=place,
            text=post["message"],
            mentioned=is_addressed,
            named=_mentions_us(post, me),
            sender=Sender(id=post["user_id"], name=await self._find_name(post["user_id"])),
            at=int(post["create_at"]) / 1000,
        )
        return await attach_files(inbound, (self._fetch_file(id) for id in post.get("file_ids") or ())) or inbound

    async def _is_ours(self, root: str, me: Mapping[str, Any]) -> bool:
        """Whether we started a thread, or its first post mentions us."""
        if root not in self._own_threads:
            try:
                first = await self._get(f"/posts/{root}")
            except SendRefused:  # deleted, perhaps
                return False
            self._own_threads[root] = first["user_id"] == me["id"] or _mentions_us(first, me)
        return self._own_threads[root]

    async def _find_name(self, user: str) -> str:
        if not self._names.get(user):
            self._names[user] = str((await self._get(f"/users/{user}"))["username"])
        return self._names[user]

    async def _fetch_file(self, id: str) -> File:
        info = await self._get(f"/files/{id}/info")
        check_size(info.get("size"))
        response = await self._http.request("GET", f"{_API}/files/{id}")
        return File(name=info["name"], media_type=info["mime_type"], data=response.content)

    async def _get(self, path: str, **given: Any) -> Any:
        return (await self._http.request("GET", _API + path, **given)).json()

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self._post(place, text)

    async def _post(self, place: Place, text: str, files: tuple[str, ...] = ()) -> Sent:
        check_length(text, self.info)
        body = {"channel_id": place.chat, "message": text, "root_id": place.thread or "", "file_ids": files}
        reply = await self._http.request("POST", f"{_API}/posts", json=body)
        return Sent(place=place, id=reply.json()["id"])

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        check_length(text, self.info)
        await self._http.request("PUT", f"{_API}/posts/{sent.id}/patch", json={"message": text})

    async def typing(self, place: Place) -> None:
        body = {"channel_id": place.chat, "parent_id": place.thread or ""}
        await self._http.request("POST", f"{_API}/users/me/typing", json=body)

    async def react(self, sent: Sent, sign: str) -> None:
        body = {"user_id": (await self._get("/users/me"))["id"], "post_id": sent.id, "emoji_name": emoji_name(sign)}
        await self._http.request("POST", f"{_API}/reactions", json=body)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        upload = await self._http.request(
            "POST",
            f"{_API}/files",
            data={"channel_id": place.chat},
            files={"files": (file.name, file.data, file.media_type)},
        )
        return await self._post(place, caption, (upload.json()["file_infos"][0]["id"],))

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        if parent.thread:
            raise ThreadsUnsupported("A thread has no threads of its own.", hint="Name the channel.")
        root = await self._post(parent, name)
        return self._place(parent.chat, root.id)

    def _place(self, channel: str, thread: str | None = None) -> Place:
        if thread:
            return Place(platform=NAME, chat=channel, kind="thread", thread=thread, parent=channel)
        return Place(platform=NAME, chat=channel, kind=self._kinds.get(channel, "dm"))

    def home(self, chat: str) -> Place:
        """A channel by its id. An unknown one counts as private, as most home channels are."""
        if not re.fullmatch(r"[a-z0-9]{26}", chat):
            hint = "It has 26 letters and digits; see View Info there."
            raise BadInput(f'"{chat}" is not the id of a channel.', hint=hint)
        return self._place(chat)

    async def close(self) -> None:
        await self._http.close()


def _mentions_us(post: Mapping[str, Any], me: Mapping[str, Any]) -> bool:
    return re.search(rf"@{re.escape(me['username'])}(?![\w.-]*\w)", post["message"], re.IGNORECASE) is not None
