"""mattermost: channels, private chats and threads, over its websocket and REST API v4.

The server does not remember what we have heard. We keep the time of the last post and the posts around it, and ask
for what came since when we connect again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from sojourn.core.errors import BadInput, PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.cursor import CursorStore, ReceivedCursor
from sojourn.platforms.emoji_names import emoji_name
from sojourn.platforms.json_socket import open_socket
from sojourn.platforms.mattermost import NAME, MattermostSettings
from sojourn.platforms.rest_client import RestClient
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import File, Inbound, PlatformInfo, Sent

_API = "/api/v4"
_MAX_CHARS = 16_383
_OVERLAP_MS = 5_000  # milliseconds: posts of several channels may be told out of order
_MEMBERSHIP_EVENTS = ("user_added", "group_added", "direct_added", "channel_created")
_KINDS: Mapping[str, PlaceKind] = {"D": "dm", "G": "group", "O": "channel", "P": "channel"}


class Mattermost:
    """One bot account on one server."""

    info = PlatformInfo(name=NAME, label="Mattermost", max_chars=_MAX_CHARS, prefix="!")

    def __init__(self, kit: PluginContext) -> None:
        settings: MattermostSettings = kit.configured(NAME)
        self._url, self._token = settings.url.rstrip("/"), settings.token.reveal()
        self.account = f"{self._url}#{hashlib.sha256(self._token.encode()).hexdigest()[:12]}"
        headers = {"Authorization": f"Bearer {self._token}"}
        self._http = RestClient("Mattermost", self._url, key="SOJOURN_MATTERMOST_TOKEN", headers=headers)
        self._cursor = CursorStore(kit.store, NAME, self.account)
        self._kinds: dict[str, PlaceKind] = {}  # of channels
        self._names: dict[str, str] = {}  # of people
        self._ours: dict[str, bool] = {}  # threads, and whether they speak to us

    # hearing
    async def listen(self) -> AsyncGenerator[Inbound, None]:
        me = await self._get("/users/me")
        async with open_socket("Mattermost", f"{self._url}{_API}/websocket") as socket:
            await socket.send({"seq": 1, "action": "authentication_challenge", "data": {"token": self._token}})
            while (said := await socket.receive()).get("event") != "hello":
                if said.get("status") == "FAIL":
                    raise self._http.to_key_refused()
            heard, waiting = await self._fetch_missed()
            while True:
                for post in waiting:
                    if heard.contains(post["id"]) or not self._is_for_us(post, me):
                        continue
                    yield await self._to_inbound(post, me)
                    heard = await self._cursor.save_cursor(heard.advance(post["id"], int(post["create_at"])))
                said = await socket.receive()
                if said.get("event") in _MEMBERSHIP_EVENTS:
                    await self._learn(said)
                waiting = self._posted(said)

    async def _learn(self, said: Mapping[str, Any]) -> None:
        """What kind of channel it is that we have come to: its id does not tell."""
        told = {**(said.get("broadcast") or {}), **(said.get("data") or {})}
        if channel := told.get("channel_id"):
            about = await self._get(f"/channels/{channel}")
            self._kinds[about["id"]] = _KINDS.get(about["type"], "channel")

    async def _fetch_missed(self) -> tuple[ReceivedCursor, list[dict[str, Any]]]:
        """How far we had heard, and what came since then."""
        heard, channels = await self._cursor.load_cursor(), await self._get("/users/me/channels")
        for one in channels:
            self._kinds[one["id"]] = _KINDS.get(one["type"], "channel")
        newest = max((int(one["last_post_at"]) for one in channels), default=0)
        if heard is None:  # what was said before we came is not for us
            return await self._cursor.start(newest + 1), []
        since, found = heard.since(_OVERLAP_MS), list[dict[str, Any]]()
        for one in channels:
            if int(one["last_post_at"]) >= since:
                told = await self._get(f"/channels/{one['id']}/posts", params={"since": since})
                found += [post for post in told["posts"].values() if int(post["create_at"]) >= since]
        return heard, sorted(found, key=lambda post: (post["create_at"], post["id"]))

    def _posted(self, said: Mapping[str, Any]) -> list[dict[str, Any]]:
        if said.get("event") != "posted":
            return []
        post = json.loads(said["data"]["post"])
        self._kinds[post["channel_id"]] = _KINDS.get(said["data"].get("channel_type", ""), "channel")
        self._names[post["user_id"]] = str(said["data"].get("sender_name", "")).lstrip("@")
        return [post]

    def _is_for_us(self, post: Mapping[str, Any], me: Mapping[str, Any]) -> bool:
        """Not what we, other bots or the system say."""
        marks = post.get("props") or {}
        robot = any(str(marks.get(one, "")).lower() == "true" for one in ("from_bot", "from_webhook"))
        return not (post["user_id"] == me["id"] or robot or post.get("type") or post.get("delete_at"))

    async def _to_inbound(self, post: Mapping[str, Any], me: Mapping[str, Any]) -> Inbound:
        place = self._place(post["channel_id"], post.get("root_id") or None)
        spoken_to = self._kinds.get(post["channel_id"]) == "dm" or _mentions_us(post, me)
        if not spoken_to and place.thread:
            spoken_to = await self._is_ours(place.thread, me)
        text, files = post["message"], list[File]()
        for id in post.get("file_ids") or ():
            try:
                files.append(await self._file(id))
            except SendRefused as error:  # said instead of lost; asking for ever would keep us from the rest
                text = f"{text}\n[A file cannot be read: {error}]".strip()
        return Inbound(
            id=post["id"],
            place=place,
            text=text,
            files=tuple(files),
            mentioned=spoken_to,
            sender=Sender(id=post["user_id"], name=await self._name(post["user_id"])),
            at=int(post["create_at"]) / 1000,
        )

    async def _is_ours(self, root: str, me: Mapping[str, Any]) -> bool:
        """Whether a thread was begun by us, or with our name."""
        if root not in self._ours:
            try:
                first = (await self._http.request("GET", f"{_API}/posts/{root}")).json()
            except SendRefused:  # deleted, perhaps
                return False
            self._ours[root] = first["user_id"] == me["id"] or _mentions_us(first, me)
        return self._ours[root]

    async def _name(self, user: str) -> str:
        if not self._names.get(user):
            self._names[user] = str((await self._get(f"/users/{user}"))["username"])
        return self._names[user]

    async def _file(self, id: str) -> File:
        about = (await self._http.request("GET", f"{_API}/files/{id}/info")).json()
        got = await self._http.request("GET", f"{_API}/files/{id}")
        return File(name=about["name"], media_type=about["mime_type"], data=got.content)

    async def _get(self, path: str, **given: Any) -> Any:
        """What is refused here keeps us from listening."""
        try:
            return (await self._http.request("GET", _API + path, **given)).json()
        except SendRefused as error:
            raise PlatformDown(str(error)) from error

    # sending
    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self._post(place, text)

    async def _post(self, place: Place, text: str, files: tuple[str, ...] = ()) -> Sent:
        _check_length(text)
        said = {"channel_id": place.chat, "message": text, "root_id": place.thread or "", "file_ids": files}
        reply = await self._http.request("POST", f"{_API}/posts", json=said)
        return Sent(place=place, id=reply.json()["id"])

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        _check_length(text)
        await self._http.request("PUT", f"{_API}/posts/{sent.id}/patch", json={"message": text})

    async def typing(self, place: Place) -> None:
        said = {"channel_id": place.chat, "parent_id": place.thread or ""}
        await self._http.request("POST", f"{_API}/users/me/typing", json=said)

    async def react(self, sent: Sent, sign: str) -> None:
        said = {"user_id": (await self._get("/users/me"))["id"], "post_id": sent.id, "emoji_name": emoji_name(sign)}
        await self._http.request("POST", f"{_API}/reactions", json=said)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        kept = await self._http.request(
            "POST",
            f"{_API}/files",
            data={"channel_id": place.chat},
            files={"files": (file.name, file.data, file.media_type)},
        )
        return await self._post(place, caption, (kept.json()["file_infos"][0]["id"],))

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        if parent.thread:
            raise ThreadsUnsupported("A thread has no threads of its own.", hint="Name the channel.")
        root = await self._post(parent, name)
        return self._place(parent.chat, root.id)

    # places
    def _place(self, channel: str, thread: str | None = None) -> Place:
        if thread:
            return Place(platform=NAME, chat=channel, kind="thread", thread=thread, parent=channel)
        return Place(platform=NAME, chat=channel, kind=self._kinds.get(channel, "dm"))

    def home(self, chat: str) -> Place:
        """A channel by its id. One we have not heard of yet counts as private: homes mostly are."""
        if not re.fullmatch(r"[a-z0-9]{26}", chat):
            raise BadInput(
                f'"{chat}" is not the id of a channel.', hint="It has 26 letters and digits; see View Info there."
            )
        return self._place(chat)

    async def close(self) -> None:
        await self._http.close()


def _mentions_us(post: Mapping[str, Any], me: Mapping[str, Any]) -> bool:
    return re.search(rf"@{re.escape(me['username'])}(?![\w.-]*\w)", post["message"], re.IGNORECASE) is not None


def _check_length(text: str) -> None:
    if len(text) > _MAX_CHARS:
        raise SendRefused(f"{len(text):,} characters are too many for one message.", kind="too_long")
