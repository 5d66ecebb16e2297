"""The vendors' own clients on our test servers: witnesses that these servers speak the real protocols.

Each runs as a separate process in an environment of its own (scripts/witness), never beside our packages.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from sojourn.core.settings import Secret
from sojourn.platforms.feishu.frames import FeishuFrame, build_ping, decode_frame
from sojourn.platforms.request_checks import compute_hub_signature
from sojourn.platforms.sms.requests import compute_signature
from sojourn.platforms.wecom_app import callbacks
from sojourn.testing.platform_harness import PICTURE
from tests.servers import dingtalk, feishu, microsoft, qqbot, sms, teams, wecom, wecom_app, weixin, whatsapp

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
pytestmark = pytest.mark.matrix


def environment(name: str) -> Path:
    """Python of a vendor's environment. Loud where it cannot be made: a witness that is absent proves nothing."""
    subprocess.run([ROOT / "scripts" / "witness", name], check=True, cwd=ROOT)
    return ROOT / f".venv-{name}" / "bin" / "python"


@asynccontextmanager
async def witness(name: str, program: str, *words: str, **variables: str) -> AsyncIterator[Any]:
    """Gives a function that reads the next line the program prints."""
    python = await asyncio.to_thread(environment, name)
    process = await asyncio.create_subprocess_exec(
        python,
        HERE / program,
        *words,
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "NO_PROXY": "127.0.0.1", **variables},
    )

    async def read() -> Any:
        assert process.stdout is not None
        while True:  # the clients print logs as well
            line = await asyncio.wait_for(process.stdout.readline(), 120)  # one imports 10,000 files
            assert line, "the witness has ended"
            if line.startswith(b"{"):
                return json.loads(line)

    try:
        yield read
    finally:
        process.kill()
        await process.wait()


async def test_dingtalks_client_opens_hears_and_acknowledges():
    async with dingtalk.dingtalk_rig() as harness:
        server = harness.server
        words = (dingtalk.CLIENT, dingtalk.SECRET)
        async with witness("dingtalk", "dingtalk_client.py", *words, DINGTALK_OPENAPI_ENDPOINT=server.url) as read:
            await asyncio.wait_for(server.until_linked(), 30)
            assert server.opened[0]["subscriptions"] == [{"type": "CALLBACK", "topic": dingtalk.MESSAGE_TOPIC}]
            await server.push("SYSTEM", "ping", {"opaque": "o1"}, id="p1")
            id = await server.say(server.message(dingtalk.GROUP, dingtalk.ANN, "good morning"))
            told = await read()
            await asyncio.wait_for(server.changed.until(lambda: not server.waiting), 10)
    assert (told["id"], told["text"].strip(), told["by"]) == (id, "good morning", dingtalk.ANN.id)
    assert (told["chat"], told["kind"]) == (dingtalk.GROUP, "2")
    answers = {one["headers"]["messageId"]: one for one in server.answers}
    assert (answers["p1"]["code"], json.loads(answers["p1"]["data"])) == (200, {"opaque": "o1"})
    assert [one["code"] for key, one in answers.items() if key != "p1"] == [200]


async def test_feishus_client_connects_joins_parts_pings_and_acknowledges():
    async with feishu.feishu_rig() as harness:
        server = harness.server
        async with witness("feishu", "feishu_client.py", feishu.APP, feishu.SECRET, server.url) as read:
            await asyncio.wait_for(server.until_linked(), 60)
            place = harness.connect().home(feishu.GROUP)
            id = await server.say(server.message(place, feishu.ANN, "good morning"), parts=2)
            told = await read()
            await asyncio.wait_for(server.changed.until(lambda: bool(server.replies)), 10)
    assert (told["id"], told["by"], told["chat"]) == (id, feishu.ANN.id, feishu.GROUP)
    assert told["text"] == "@_user_1 good morning"
    assert (server.pings[0].headers, server.pings[0].service) == ({"type": "ping"}, 77)
    assert server.pings[0].encode() == build_ping(77).encode()
    [reply] = server.replies
    assert json.loads(reply.payload)["code"] == 200
    assert reply.headers["biz_rt"].isdecimal()


def test_feishus_protobuf_reads_and_writes_our_frames():
    python = environment("feishu")
    headers = {"type": "event", "message_id": "m", "biz_rt": "3"}
    ours = FeishuFrame(method=1, service=77, sequence=5, log=2**64 - 1, headers=headers, payload='{"ö":1}'.encode())
    for frame in (ours, build_ping(77)):
        done = subprocess.run(
            [python, HERE / "feishu_frames.py", frame.encode().hex()], check=True, capture_output=True, text=True
        )
        told = json.loads(done.stdout)
        assert told["numbers"] == [frame.sequence, frame.log, frame.service, frame.method]
        assert (told["headers"], told["payload"]) == (dict(frame.headers), frame.payload.decode())
        assert decode_frame(bytes.fromhex(told["written"])) == frame


async def test_wecoms_client_subscribes_hears_streams_and_pushes():
    async with wecom.wecom_rig() as harness:
        server = harness.server
        url = f"ws{server.url.removeprefix('http')}"
        async with witness("wecom", "wecom_client.py", wecom.BOT, wecom.SECRET, url) as read:
            await asyncio.wait_for(server.until_linked(), 30)
            place = harness.connect().home(wecom.ANN.id)
            id = await harness.write(place, "good morning", wecom.ANN)
            assert await read() == {"id": id, "text": "good morning", "by": wecom.ANN.id}
            assert await read() == {"done": True}
            posts = await harness.read_messages(place)
    assert server.frames[0]["body"] == {"bot_id": wecom.BOT, "secret": wecom.SECRET}
    assert [one.text for one in posts] == ["**whole**", "later"]
    assert server.streams == {"stream/s1": True}


async def test_microsofts_client_checks_our_requests_and_answers_on_our_server():
    async with teams.teams_rig() as harness:
        server = harness.server
        python = await asyncio.to_thread(environment, "teams")
        activity = server.build_activity(teams.CHANNEL, teams.ANN, "good morning")
        words = (server.url, microsoft.CLIENT, microsoft.CLIENT_SECRET, microsoft.TENANT)

        async def run(token: str) -> Any:
            process = await asyncio.create_subprocess_exec(
                *(python, HERE / "teams_client.py", *words, f"Bearer {token}"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sys.stderr,
            )
            out, _ = await asyncio.wait_for(process.communicate(json.dumps(activity).encode()), 60)
            return json.loads(out)

        told, conversation = await run(server.build_token()), activity["conversation"]["id"]
        assert await run(server.build_token(microsoft.OTHER_KEY)) == {"refused": "InvalidSignatureError"}
        assert await run(server.build_token(aud="33333333")) == {"refused": "PermissionError"}
        assert await run(server.build_token(serviceurl="https://evil.example")) == {"refused": "PermissionError"}
    assert (told["is_known"], told["by"], told["chat"]) == (True, teams.ANN.id, conversation)
    [posted] = server.posts[conversation]
    assert (posted.id, posted.text) == (told["sent"], "good night, Ann")


async def test_twilios_package_accepts_our_signature_and_its_server():
    async with sms.sms_rig() as harness:
        server, url = harness.server, "https://bot.example.org/sms"
        sid = server.new_sid()
        server.list_as_received(sid, sms.ANN, "good morning")
        form = sms.build_form(sms.ANN, "hello", server.new_sid())
        mark = compute_signature(Secret(sms.TOKEN), url, {name: [value] for name, value in form.items()})
        call = {"url": url, "fields": form, "signature": mark, "to": sms.ANN.id, "from": sms.OURS}
        server.refused_words = "to be refused"
        words = (sms.ACCOUNT, sms.TOKEN, server.url, json.dumps(call))
        async with witness("twilio", "clients/twilio_client.py", *words) as read:
            told = await read()
    assert (told["valid"], told["refused"]) == (True, 21610)
    assert told["listed"] == [[sid, "good morning", "inbound"]]
    assert server.posts[sms.ANN.id][0].id == told["sid"]


async def test_a_client_of_whatsapp_reads_our_requests_and_uses_our_server():
    async with whatsapp.whatsapp_rig() as harness:
        server, id = harness.server, harness.server.new_id()
        body = json.dumps(whatsapp.build_notification(whatsapp.build_message(whatsapp.ANN, "good morning", id)))
        mark = compute_hub_signature(Secret(whatsapp.APP_SECRET), body.encode())
        call = {"body": body, "signature": mark, "to": whatsapp.ANN.id, "reply_to": id}
        words = (whatsapp.NUMBER, whatsapp.TOKEN, whatsapp.APP_SECRET, server.url, json.dumps(call))
        async with witness("whatsapp", "clients/whatsapp_client.py", *words) as read:
            told = await read()
    assert (told["valid"], told["forged"]) == (True, False)
    assert told["message"] == [id, "good morning", whatsapp.ANN.id]
    text, question = server.posts[whatsapp.ANN.id]
    assert (text.id, text.text, text.reactions) == (told["sent"], "from *pywa*", ("👍",))
    assert [(one.label, one.value) for one in question.buttons] == [("Yes", "q:0"), ("No", "q:1")]
    assert (server.read, server.uploads[told["media"]].data) == ([id], b"bytes")


async def test_qqs_client_identifies_hears_and_answers():
    async with qqbot.qqbot_rig() as harness:
        server = harness.server
        async with witness("qqbot", "clients/qqbot_client.py", qqbot.APP, qqbot.SECRET, server.url) as read:
            await asyncio.wait_for(server.until_linked(), 30)
            place = harness.connect().home(f"c2c:{qqbot.ANN.id}")
            id = await harness.write(place, "good morning", qqbot.ANN)
            told = await read()
    assert (told["id"], told["text"], told["by"]) == (id, "good morning", qqbot.ANN.id)
    [posted], [body] = server.posts[place.chat], server.bodies
    assert (posted.id, posted.text) == (told["sent"], "good night")
    assert (body["msg_id"], body["msg_seq"]) == (id, 2)
    assert server.signed_in[0]["op"] == 2


async def test_a_client_of_weixin_polls_answers_and_reads_our_files(tmp_path):
    picture = tmp_path / PICTURE.name
    picture.write_bytes(PICTURE.data)
    async with weixin.weixin_rig() as harness:
        server, place = harness.server, harness.connect().home(weixin.ANN.id)
        id = await harness.write(place, "good morning", weixin.ANN, files=[PICTURE])
        words = (server.url, weixin.TOKEN, str(picture))
        async with witness("weixin", "clients/weixin_client.py", *words) as read:
            told = await read()
    assert (str(told["id"]), told["text"], told["by"]) == (id, "good morning", weixin.ANN.id)
    assert told["files"] == [PICTURE.data.hex()]
    text, caption, sent = server.posts[weixin.ANN.id]
    assert (text.text, caption.text, sent.files[0].data) == ("good night", "a dot", PICTURE.data)
    assert server.typing == [(weixin.ANN.id, 1)]


async def test_a_client_of_wecom_reads_our_callbacks_and_we_read_its():
    async with wecom_app.wecom_app_rig() as harness:
        fields = harness.server.build_fields(wecom_app.ANN, "good <morning>")
    body = wecom_app.wrap(wecom_app.encrypt(wecom_app.to_xml(fields)))
    signed = parse_qs(wecom_app.sign_request(body)[0].partition("?")[2])
    echo = wecom_app.encrypt(b"1616140317555161061")
    check = {name: one[0] for name, one in parse_qs(wecom_app.sign_query(echo, echostr=echo)).items()}
    message = {name: one[0] for name, one in signed.items()} | {"body": body.decode()}
    plain = wecom_app.to_xml(fields).decode()
    words = (wecom_app.TOKEN, wecom_app.AES_KEY, wecom_app.CORP)
    call = json.dumps({"check": check, "message": message, "plain": plain})
    async with witness("wechatpy", "clients/wechatpy_client.py", *words, call) as read:
        told = await read()
    assert (told["echo"], told["id"], told["text"]) == ("1616140317555161061", int(fields["MsgId"]), "good <morning>")
    assert (told["by"], told["to"], told["agent"]) == (wecom_app.ANN.id, wecom_app.CORP, wecom_app.AGENT)
    keys = callbacks.CallbackKeys(
        token=wecom_app.TOKEN, aes_key=callbacks.parse_aes_key(wecom_app.AES_KEY), receiver=wecom_app.CORP
    )
    made = dict(re.findall(r"<(Encrypt|MsgSignature|TimeStamp|Nonce)>(?:<!\[CDATA\[)?([^<\]]+)", told["made"]))
    query = {"msg_signature": made["MsgSignature"], "timestamp": made["TimeStamp"], "nonce": made["Nonce"]}
    assert callbacks.open_callback(keys, query, made["Encrypt"]) == plain
