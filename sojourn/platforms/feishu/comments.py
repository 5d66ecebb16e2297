"""Comments in Feishu's documents: each thread of comments is a place, and an answer is a reply there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sojourn.core.errors import BadConfig, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.feishu import NAME
from sojourn.platforms.feishu.api import FeishuApi
from sojourn.platforms.json_values import read_object, read_objects, read_text
from sojourn.platforms.markdown import escape_html, render_plain
from sojourn.platforms.refusals import raise_if_passing
from sojourn.platforms.result_codes import read_refused_code
from sojourn.ports.platform import Inbound, Sent

EVENT = "drive.notice.comment_add_v1"
MAX_CHARS = 4000
_NO_REPLIES_CODE = 1069302  # a comment on the whole document
_KINDS = frozenset({"doc", "docx", "sheet", "bitable", "slides", "file"})
_ID = re.compile(r"[A-Za-z0-9_-]{1,120}")
_OPEN_ID = re.compile(r"ou_[A-Za-z0-9_-]{1,120}")
_NOTICES = frozenset({"add_comment", "add_reply"})
_READ_TRIES, _READ_PAUSE_SECONDS = 3, 0.5  # a comment may not be readable yet when its event comes


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentComment:
    """A comment that somebody has addressed to the app."""

    kind: str  # of the document
    document: str
    comment: str
    reply: str
    person: str
    event: str

    @property
    def place(self) -> Place:
        chat = f"doc:{self.kind}:{self.document}"
        return Place(platform=NAME, chat=chat, kind="thread", thread=self.comment, parent=chat)


def parse_documents(names: Sequence[str]) -> frozenset[str]:
    """The documents whose comments are answered: `docx:TOKEN`, or `*` for all. BadConfig."""
    documents = frozenset(one.strip() for one in names)
    for one in documents:
        kind, _, token = one.partition(":")
        if one != "*" and (kind not in _KINDS or not _ID.fullmatch(token)):
            hint = "Write docx: and the part of the document's address behind /docx/, or * for all."
            raise BadConfig(f"[plugins.feishu] comments: {one!r} is no document.", hint=hint)
    return documents


def is_document(place: Place) -> bool:
    return place.chat.startswith("doc:")


def to_comment(document: Mapping[str, Any], bot: str, documents: frozenset[str]) -> DocumentComment | None:
    """Reads an event; None unless somebody else has addressed the app, in a document whose comments are answered."""
    header, event = read_object(document, "header"), read_object(document, "event")
    notice = read_object(event, "notice_meta")
    person = read_text(read_object(notice, "from_user_id"), "open_id")
    to = read_text(read_object(notice, "to_user_id"), "open_id")
    found = DocumentComment(
        kind=read_text(notice, "file_type"),
        document=read_text(notice, "file_token"),
        comment=read_text(event, "comment_id"),
        reply=read_text(event, "reply_id"),
        person=person,
        event=read_text(header, "event_id"),
    )
    is_wanted = bool({"*", f"{found.kind}:{found.document}"} & documents)
    is_addressed = event.get("is_mentioned") is True or to == bot
    is_foreign = person != bot and _OPEN_ID.fullmatch(person) is not None and to in ("", bot)
    ids = (found.document, found.comment, found.event, found.reply or "x")
    is_whole = all(_ID.fullmatch(one) for one in ids) and found.kind in _KINDS
    is_new = read_text(notice, "notice_type") in _NOTICES
    return found if is_wanted and is_addressed and is_foreign and is_whole and is_new else None


class DocumentComments:
    """Reads and writes comments for one app."""

    def __init__(self, api: FeishuApi) -> None:
        self._api = api

    async def read(self, comment: DocumentComment) -> Inbound | None:
        """The words of a comment, with what it is about. None if they cannot be read."""
        for _ in range(_READ_TRIES):
            try:
                text, quoted = await self._read_text(comment)
            except SendRefused as error:
                raise_if_passing(error, f"a comment in {comment.place.chat}")
                return None
            if text:
                break
            await asyncio.sleep(_READ_PAUSE_SECONDS)
        if not text:
            return None
        about = f"> {quoted}\n\n" if quoted else ""
        sender = Sender(id=comment.person)
        return Inbound(id=f"comment/{comment.event}", place=comment.place, sender=sender, text=f"{about}{text}")

    async def _read_text(self, comment: DocumentComment) -> tuple[str, str]:
        path = f"/open-apis/drive/v1/files/{quote(comment.document, safe='')}/comments/batch_query"
        query = {"file_type": comment.kind, "user_id_type": "open_id"}
        page = await self._api.call("POST", path, params=query, json={"comment_ids": [comment.comment]})
        item = next(iter(read_objects(read_object(page, "data"), "items")), {})
        replies = read_objects(read_object(item, "reply_list"), "replies")
        wanted = (
            [one for one in replies if read_text(one, "reply_id") == comment.reply] if comment.reply else replies[:1]
        )
        elements = [one for reply in wanted for one in read_objects(read_object(reply, "content"), "elements")]
        words = [read_text(read_object(one, "text_run"), "text") or _read_link(one) for one in elements]
        return "".join(words).strip(), " ".join(read_text(item, "quote").split())[:500]

    async def send(self, place: Place, text: str, *, plain: bool) -> Sent:
        """Replies to a comment; where there can be no reply, with a comment of its own."""
        path, kind = _build_path(place), place.chat.split(":")[1]
        shown = escape_html(text if plain else render_plain(text))
        body = {"content": {"elements": [{"type": "text_run", "text_run": {"text": shown}}]}}
        try:
            page = await self._api.call("POST", f"{path}/replies", params={"file_type": kind}, json=body)
        except SendRefused as error:
            if read_refused_code(error) != _NO_REPLIES_CODE:
                raise
            whole = {"file_type": kind, "reply_elements": [{"type": "text", "text": shown}]}
            page = await self._api.call("POST", f"{path.rpartition('/comments/')[0]}/new_comments", json=whole)
        data = read_object(page, "data")
        id = read_text(data, "reply_id") or read_text(data, "comment_id")
        if not id:
            raise SendRefused("Feishu answers without a comment.", kind="unknown")
        return Sent(place=place, id=f"comment/{id}")

    async def edit(self, sent: Sent, text: str, *, plain: bool) -> None:
        shown = escape_html(text if plain else render_plain(text))
        body = {"content": {"elements": [{"type": "text_run", "text_run": {"text": shown}}]}}
        path = f"{_build_path(sent.place)}/replies/{quote(sent.id.removeprefix('comment/'), safe='')}"
        await self._api.call("PUT", path, params={"file_type": sent.place.chat.split(":")[1]}, json=body)


def _read_link(element: Mapping[str, Any]) -> str:
    return read_text(read_object(element, "docs_link"), "url")


def _build_path(place: Place) -> str:
    document = place.chat.split(":")[2]
    return f"/open-apis/drive/v1/files/{quote(document, safe='')}/comments/{quote(place.thread or '', safe='')}"
