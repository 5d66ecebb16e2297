"""Runs pywa, a client of WhatsApp's Cloud API: reads a signed notification, and sends; started by test_witnesses.py."""

import asyncio
import json
import sys
from typing import Any

from pywa_async import WhatsApp
from pywa_async.types import Button

number, token, secret, server, call = *sys.argv[1:5], json.loads(sys.argv[5])


async def run() -> None:
    client = WhatsApp(phone_id=number, token=token, app_secret=secret, verify_token="v", server=None, api_version=24.0)
    client.api._session.base_url = server + client.api._session.base_url.path
    told: dict[str, Any] = {}

    @client.on_message
    async def note(_, message) -> None:
        told["message"] = [message.id, message.text, message.from_user.wa_id]

    body = call["body"].encode()
    told["valid"] = await client.webhook_update_validator(body, call["signature"]) is None
    told["forged"] = await client.webhook_update_validator(body, "sha256=" + "0" * 64) is None
    await client.webhook_update_handler(body)
    while "message" not in told:
        await asyncio.sleep(0.05)
    sent = await client.send_message(call["to"], "from *pywa*", reply_to_message_id=call["reply_to"])
    told["sent"] = sent.id
    await client.send_message(call["to"], "May I?", buttons=[Button("Yes", "q:0"), Button("No", "q:1")])
    await client.send_reaction(call["to"], "👍", sent.id)
    await client.mark_message_as_read(call["reply_to"])
    media = await client.upload_media(b"bytes", mime_type="image/png", filename="dot.png")
    told["media"] = media.id
    print(json.dumps(told), flush=True)


asyncio.run(run())
