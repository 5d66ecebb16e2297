"""Runs DingTalk's own client, and prints what it was told; started by test_witnesses.py in its own environment."""

import asyncio
import json
import sys

import dingtalk_stream  # type: ignore[import-not-found]


class Listener(dingtalk_stream.ChatbotHandler):  # type: ignore[misc]
    async def process(self, callback):
        message = dingtalk_stream.ChatbotMessage.from_dict(callback.data)
        told = {"id": message.message_id, "text": message.text.content, "by": message.sender_staff_id}
        print(json.dumps(told | {"chat": message.conversation_id, "kind": message.conversation_type}), flush=True)
        return dingtalk_stream.AckMessage.STATUS_OK, "OK"


client = dingtalk_stream.DingTalkStreamClient(dingtalk_stream.Credential(sys.argv[1], sys.argv[2]))
client.register_callback_handler(dingtalk_stream.ChatbotMessage.TOPIC, Listener())
asyncio.run(client.start())
