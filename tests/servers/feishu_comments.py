"""Comments in documents: the server of `feishu` with a document, and its harness."""

import html
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from sojourn.core.places import Sender
from sojourn.core.settings import Secret
from sojourn.platforms.feishu import FeishuSettings
from sojourn.platforms.feishu.adapter import Feishu
from tests.servers.adapter_context import With
from tests.servers.feishu import APP, BOT, SECRET, FeishuHarness, FeishuServer
from tests.servers.platform_server import wired

DOCUMENT = "doxcnGarden"


class FeishuCommentServer(FeishuServer):
    """As documented: comments are read in batches, replied to, and replies changed."""

    def __init__(self) -> None:
        super().__init__()
        self.comments: dict[str, dict[str, Any]] = {}
        self.answers: dict[str, list[tuple[str, str]]] = {}  # of ours: the id and the text
        self.new_comments: list[str] = []
        self.hidden = 0  # how often a comment is not readable yet
        self.refusal: dict[str, Any] | None = None  # of whoever wants to read comments
        self.allows_replies = True

    def app(self) -> web.Application:
        app, files = super().app(), "/open-apis/drive/v1/files/{token}"
        app.add_routes(
            [
                web.post(f"{files}/comments/batch_query", self._read_comments),
                web.post(f"{files}/comments/{{id}}/replies", self._reply),
                web.put(f"{files}/comments/{{id}}/replies/{{reply}}", self._change_reply),
                web.post(f"{files}/new_comments", self._comment),
            ]
        )
        return app

    async def _read_comments(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        assert request.query["file_type"] == "docx"
        if self.hidden:
            self.hidden -= 1
            return web.json_response({"code": 0, "data": {"items": []}})
        if self.refusal is not None:
            return web.json_response(self.refusal)
        ids = (await request.json())["comment_ids"]
        return web.json_response({"code": 0, "data": {"items": [self.comments[one] for one in ids]}})

    def _read_text(self, body: Any) -> str:
        [element] = body["content"]["elements"]
        text = str(element["text_run"]["text"])
        assert "<" not in text
        return html.unescape(text)

    async def _reply(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        if not self.allows_replies:
            return web.json_response({"code": 1069302, "msg": "not allowed"}, status=400)
        id, replies = f"r{next(self._numbers)}", self.answers.setdefault(request.match_info["id"], [])
        replies.append((id, self._read_text(await request.json())))
        return web.json_response({"code": 0, "data": {"reply_id": id}})

    async def _change_reply(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        replies, id = self.answers[request.match_info["id"]], request.match_info["reply"]
        text = self._read_text(await request.json())
        self.answers[request.match_info["id"]] = [(one, text if one == id else old) for one, old in replies]
        return web.json_response({"code": 0, "data": {}})

    async def _comment(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        [element] = (await request.json())["reply_elements"]
        self.new_comments.append(element["text"])
        return web.json_response({"code": 0, "data": {"comment_id": f"c{next(self._numbers)}"}})

    async def comment(self, by: Sender, text: str, *, document: str = DOCUMENT, quote: str = "", **more: Any) -> str:
        """Somebody comments, and mentions the app."""
        id, reply = f"c{next(self._numbers)}", f"r{next(self._numbers)}"
        elements = [{"type": "person", "person": {"user_id": BOT}}, {"type": "text_run", "text_run": {"text": text}}]
        answer = {"reply_id": reply, "user_id": by.id, "content": {"elements": elements}}
        self.comments[id] = {"comment_id": id, "quote": quote, "reply_list": {"replies": [answer]}}
        notice = {
            "file_token": document,
            "file_type": "docx",
            "from_user_id": {"open_id": by.id},
            "to_user_id": {"open_id": BOT},
            "notice_type": "add_comment",
            **more,
        }
        event = {"comment_id": id, "reply_id": reply, "is_mentioned": True, "notice_meta": notice}
        await self.push_event("drive.notice.comment_add_v1", event)
        return id


class FeishuCommentHarness(FeishuHarness):
    server: FeishuCommentServer

    def connect(self, secret: str = SECRET, comments: tuple[str, ...] = (f"docx:{DOCUMENT}",)) -> Feishu:
        settings = FeishuSettings(app_id=APP, app_secret=Secret(secret), base_url=self.server.url, comments=comments)
        return Feishu(With(self.kit, settings))


@asynccontextmanager
async def feishu_comment_rig() -> AsyncIterator[FeishuCommentHarness]:
    async with wired(FeishuCommentServer()) as server:
        harness = FeishuCommentHarness(server)
        yield harness
        await harness.kit.close()
