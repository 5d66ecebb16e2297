"""Hostile requests to every network that receives requests: refused or ignored, nothing kept, nothing secret logged.

A network joins with a `ReceiverCase` in CASES.
"""

import asyncio
import hashlib
import hmac
import json
import logging
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import httpx2
import pytest

import sojourn.platforms
from sojourn.core.places import Place
from sojourn.core.settings import Secret
from sojourn.platforms.answer_delivery import sign as sign_webhook
from sojourn.platforms.replay_memory import KIND as REPLAY_KIND
from sojourn.platforms.reply_tickets import KIND as TICKET_KIND
from sojourn.testing.platform_harness import InboundListener
from sojourn.testing.platform_steps import listening
from tests.security.hostile_requests import MARK, HostileInput, ReceiverCase, list_inputs, with_signature
from tests.servers import (
    bluebubbles,
    feishu,
    feishu_webhook,
    microsoft,
    msgraph_webhook,
    qqbot,
    qqbot_webhook,
    sms,
    teams,
    webhook,
    wecom_app,
    whatsapp,
)
from tests.servers.request_sender import Request

_MIN_INPUTS = 30


def sign_for_webhook(_: Any, body: bytes, secret: str, at: float | None = None) -> Request:
    return "/webhook/deploys", body, sign_webhook(Secret(secret), body, time.time() if at is None else at)


def sign_for_sms(harness: Any, body: bytes, secret: str) -> Request:
    fields = {name: one[0] for name, one in parse_qs(body.decode(errors="replace"), keep_blank_values=True).items()}
    path, _, headers = harness.sign_form(fields, secret)
    return path, body, headers


def build_news(harness: Any, text: str) -> dict[str, Any]:
    """The Mac is asked for messages, so a hostile request has none to ask for."""
    if text != MARK:
        harness.server.add_row(f"iMessage;-;{bluebubbles.ANN.id}", bluebubbles.ANN.id, text)
    return {"type": "new-message", "data": {"guid": "1", "text": text, "handle": {"address": bluebubbles.ANN.id}}}


def sign_for_bluebubbles(_: Any, body: bytes, secret: str) -> Request:
    mark = hmac.new(secret.encode(), b"sojourn webhook", hashlib.sha256).hexdigest()
    return f"/bluebubbles/{mark}", body, {"Content-Type": "application/json"}


def build_qqbot_event(harness: Any, text: str) -> dict[str, Any]:
    kind, data = harness.server.message(f"c2c:{qqbot.ANN.id}", qqbot.ANN, text)
    return {"op": 0, "t": kind, "s": 1, "d": data, "id": "event"}


def build_feishu_event(harness: Any, text: str) -> dict[str, Any]:
    header = {"event_id": f"ev{time.time_ns()}", "event_type": "im.message.receive_v1", "app_id": feishu.APP}
    event = harness.server.message(Place(platform="feishu", chat=feishu.ANN.id), feishu.ANN, text)
    return {"schema": "2.0", "header": header | {"token": feishu_webhook.VERIFICATION_TOKEN}, "event": event}


def forge_xml(harness: Any, good: bytes) -> dict[str, Request]:
    """Encrypted and signed, and still not a message."""
    fields = wecom_app.to_xml(harness.server.build_fields(wecom_app.ANN, MARK)).decode()
    plain = {
        "an entity inside": f'<!DOCTYPE x [<!ENTITY a "b">]>{fields}',
        "broken XML inside": fields[:-3],
        "JSON inside": '{"Content": "x"}',
        "nothing inside": "",
        "deep XML inside": "<a>" * 50_000,
    }
    requests = {name: wecom_app.wrap(wecom_app.encrypt(one.encode())) for name, one in plain.items()}
    requests["another company inside"] = wecom_app.wrap(wecom_app.encrypt(fields.encode(), "wx-another"))
    requests["not encrypted"] = wecom_app.wrap("QUJD" * 32)
    stranger = harness.server.build_fields(wecom_app.ANN, MARK, FromUserName="no member")
    requests["somebody who is no member"] = wecom_app.wrap(wecom_app.encrypt(wecom_app.to_xml(stranger)))
    signed = {name: wecom_app.sign_request(body) for name, body in requests.items()}
    path, _, headers = wecom_app.sign_request(good)
    other = wecom_app.wrap(wecom_app.encrypt(fields.encode()))
    return signed | {"another body": (path, other, headers), "half a body": (path, good[: len(good) // 2], headers)}


def forge_times(_: Any, body: bytes) -> dict[str, Request]:
    secret, name = webhook.SECRET.reveal(), "X-Sojourn-Timestamp"
    path, _, headers = sign_for_webhook(None, body, secret)
    good = dict(headers)
    return {
        "an old time": sign_for_webhook(None, body, secret, time.time() - 400),
        "a time to come": sign_for_webhook(None, body, secret, time.time() + 400),
        "another time": (path, body, good | {name: str(int(time.time()) - 1)}),
        "no time": (path, body, {key: one for key, one in good.items() if key != name}),
        "a time in words": (path, body, good | {name: "now"}),
        "a long time": (path, body, good | {name: "9" * 400}),
        "another kind of signature": (path, body, whatsapp.sign_request(body, secret)[2]),
    }


CASES = [
    ReceiverCase(
        name="webhook",
        rig=webhook.HookHarness,
        signature="X-Sojourn-Signature",
        document=lambda _, text: {"id": str(time.time_ns()), "text": text},
        sign=sign_for_webhook,
        secrets=(webhook.SECRET.reveal(),),
        more=forge_times,
        takes_any_body=True,
    ),
    ReceiverCase(
        name="whatsapp",
        rig=whatsapp.whatsapp_rig,
        signature="X-Hub-Signature-256",
        document=lambda harness, text: whatsapp.build_notification(
            whatsapp.build_message(whatsapp.ANN, text, harness.server.new_id())
        ),
        sign=lambda _, body, secret: whatsapp.sign_request(body, secret),
        secrets=(whatsapp.APP_SECRET, whatsapp.TOKEN, whatsapp.VERIFY_TOKEN),
        vital=(
            "entry",
            "entry.0.changes",
            "entry.0.changes.0.field",
            "entry.0.changes.0.value",
            "entry.0.changes.0.value.metadata",
            "entry.0.changes.0.value.metadata.phone_number_id",
            "entry.0.changes.0.value.messages",
            *(f"entry.0.changes.0.value.messages.0.{one}" for one in ("id", "from", "timestamp", "type", "text")),
            "entry.0.changes.0.value.messages.0.text.body",
        ),
        max_body_bytes=3 * 1024 * 1024,
    ),
    ReceiverCase(
        name="sms",
        rig=sms.sms_rig,
        signature="X-Twilio-Signature",
        document=lambda harness, text: sms.build_form(sms.ANN, text, harness.server.new_sid()),
        encode=lambda form: urlencode({name: str(value) for name, value in form.items()}).encode(),
        sign=sign_for_sms,
        secrets=(sms.TOKEN,),
        vital=("MessageSid", "From", "To", "AccountSid"),
    ),
    ReceiverCase(
        name="msgraph_webhook",
        rig=msgraph_webhook.msgraph_rig,
        signature=".value.0.clientState",
        document=lambda harness, text: harness.server.build_message(text),
        sign=msgraph_webhook.sign_request,
        secrets=(msgraph_webhook.STATE, microsoft.CLIENT_SECRET, msgraph_webhook.ANSWER_SECRET),
        vital=(
            "value",
            "value.0",
            "value.0.subscriptionId",
            "value.0.changeType",
            "validationTokens",
            "validationTokens.0",
            *(f"value.0.encryptedContent.{one}" for one in ("data", "dataKey", "dataSignature")),
        ),
        max_body_bytes=4 * 1024 * 1024,
        covers_body=False,
    ),
    ReceiverCase(
        name="teams",
        rig=teams.teams_rig,
        signature="Authorization",
        document=lambda harness, text: harness.server.build_activity(teams.DM, teams.ANN, text),
        sign=teams.sign_request,
        secrets=(microsoft.CLIENT_SECRET,),
        vital=(
            *("type", "id", "serviceUrl", "channelId", "from", "from.id", "conversation", "conversation.id"),
            *("conversation.conversationType", "text"),
        ),
        covers_body=False,
    ),
    ReceiverCase(
        name="bluebubbles",
        rig=bluebubbles.bluebubbles_rig,
        signature="/",
        document=build_news,
        sign=sign_for_bluebubbles,
        secrets=(bluebubbles.PASSWORD,),
        takes_any_body=True,
        covers_body=False,
    ),
    ReceiverCase(
        name="qqbot",
        rig=qqbot_webhook.qqbot_webhook_rig,
        signature="X-Signature-Ed25519",
        document=build_qqbot_event,
        sign=lambda _, body, secret: qqbot_webhook.sign_request(body, secret),
        secrets=(qqbot.SECRET,),
        vital=("op", "t", "d", "d.id", "d.author", "d.author.user_openid"),
    ),
    ReceiverCase(
        name="feishu",
        rig=feishu_webhook.feishu_webhook_rig,
        signature="X-Lark-Signature",
        document=build_feishu_event,
        encode=feishu_webhook.encrypt_event,
        sign=lambda _, body, secret: feishu_webhook.sign_request(body, secret),
        secrets=(feishu_webhook.ENCRYPT_KEY, feishu_webhook.VERIFICATION_TOKEN, feishu.SECRET),
        vital=(
            *(f"header.{one}" for one in ("app_id", "event_type", "token")),
            *(f"event.sender.{one}" for one in ("sender_type", "sender_id", "sender_id.open_id")),
            *(f"event.message.{one}" for one in ("chat_type", "message_type", "content")),
        ),
    ),
    ReceiverCase(
        name="wecom_app",
        rig=wecom_app.wecom_app_rig,
        signature="?msg_signature",
        document=lambda harness, text: harness.server.build_fields(wecom_app.ANN, text),
        encode=lambda fields: wecom_app.wrap(wecom_app.encrypt(wecom_app.to_xml(fields))),
        sign=lambda _, body, secret: wecom_app.sign_request(body, secret),
        secrets=(wecom_app.TOKEN, wecom_app.AES_KEY, wecom_app.SECRET),
        vital=("ToUserName", "MsgType", "AgentID"),
        more=forge_xml,
        covers_body=False,  # only the encrypted part
    ),
]


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request):
    return request.param


async def post(http: httpx2.AsyncClient, hostile: HostileInput) -> int:
    path, body, headers = hostile.request
    encoded = {name.encode(): value.encode() for name, value in headers.items()}
    try:
        reply = await http.request(hostile.method, path, content=body, headers=encoded)
    except httpx2.TransportError:
        return 0  # closed on us
    return reply.status_code


async def read_kept(store: Any) -> list[Any]:
    kinds = (REPLAY_KIND, TICKET_KIND, "whatsapp_person", "sms_opt_out")
    return [one for kind in kinds for one in await store.list_records(kind)]


def test_every_network_that_receives_requests_is_tried():
    folder = Path(sojourn.platforms.__file__).parent
    receivers = {one.parent.name for one in folder.glob("*/*.py") if "HttpReceiver" in one.read_text()}
    assert {case.name for case in CASES} == receivers


class Diary:
    """Hears and stores everything, and writes down which request brought it."""

    def __init__(self, ear: InboundListener) -> None:
        self._ear, self.heard = ear, list[str]()

    async def keep(self) -> None:
        while True:
            self.heard.append((await self._ear.hear()).text)

    async def until(self, count: int) -> None:
        """Until so many are heard and stored; some networks are answered before."""
        async with asyncio.timeout(10):
            while len(self.heard) < count:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)


async def test_hostile_requests_bring_nothing(case, caplog):
    caplog.set_level(logging.DEBUG)
    async with case.rig() as harness:
        adapter = harness.connect()
        async with listening(harness, adapter) as ear:
            diary = Diary(ear)
            keeping = asyncio.create_task(diary.keep())
            first = HostileInput("repeated", "POST", case.build(harness, "an ordinary message"))
            assert await post(harness.http, first) in (200, 202, 204)
            await diary.until(1)
            kept, heard = await read_kept(harness.kit.store), diary.heard.copy()
            inputs, brought = [*list_inputs(case, harness), first], dict[str, Any]()
            for one in inputs:
                status = await post(harness.http, one)
                if status >= 500 or diary.heard != heard or await read_kept(harness.kit.store) != kept:
                    brought[one.name] = status, diary.heard[len(heard) :]
                    kept, heard = await read_kept(harness.kit.store), diary.heard.copy()
            last = HostileInput("ordinary", "POST", case.build(harness, "still there"))
            assert await post(harness.http, last) in (200, 202, 204)
            await diary.until(2)
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        await adapter.close()
    assert brought == {}
    assert diary.heard == ["an ordinary message", "still there"]
    assert len({one.name for one in inputs}) >= _MIN_INPUTS
    logged = [one for one in caplog.records if one.name.startswith(("sojourn", "uvicorn", "asyncio"))]
    text = "\n".join(one.getMessage() + str(one.exc_info or "") for one in logged)
    assert not [one for one in (*case.secrets, MARK) if one in text]


async def test_who_is_refused_learns_nothing_about_what_exists(case):
    async with case.rig() as harness:
        adapter = harness.connect()
        async with listening(harness, adapter):
            path, body, _ = with_signature(case, case.build(harness), None)
            answers = [await harness.http.post(one, content=body) for one in (path, "/nobody", "/nobody/x")]
        await adapter.close()
    assert {(one.status_code, one.content) for one in answers} == {(401, answers[0].content)}
    assert json.loads(answers[0].content) == {"error": "no such route, or not signed as it demands"}
