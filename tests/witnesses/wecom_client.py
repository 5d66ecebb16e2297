"""Runs WeCom's own client, and prints what it was told; started by test_witnesses.py in its own environment."""

import asyncio
import json
import sys

import aibot.ws  # type: ignore[import-not-found]
from aibot import WSClient, WSClientOptions

aibot.ws._SSL_CONTEXT = None  # it hands one even to ws://


async def run() -> None:
    client = WSClient(WSClientOptions(bot_id=sys.argv[1], secret=sys.argv[2], ws_url=sys.argv[3]))

    async def tell(frame):
        body = frame["body"]
        print(
            json.dumps({"id": body["msgid"], "text": body["text"]["content"], "by": body["from"]["userid"]}), flush=True
        )
        await client.reply_stream(frame, "s1", "half …", finish=False)
        await client.reply_stream(frame, "s1", "**whole**", finish=True)
        await client.send_message("ann", {"msgtype": "markdown", "chat_type": 1, "markdown": {"content": "later"}})
        print(json.dumps({"done": True}), flush=True)

    client.on("message.text", tell)
    await client.connect()
    await asyncio.sleep(60)


asyncio.run(run())
