"""Runs Feishu's own client, and prints what it was told; started by test_witnesses.py in its own environment."""

import json
import sys

import lark_oapi as lark  # type: ignore[import-not-found]


def tell(data):
    message, sender = data.event.message, data.event.sender
    told = {"id": message.message_id, "text": json.loads(message.content)["text"], "by": sender.sender_id.open_id}
    print(json.dumps(told | {"chat": message.chat_id, "kind": message.chat_type}), flush=True)


handler = lark.EventDispatcherHandler.builder("", "").register_p2_im_message_receive_v1(tell).build()
lark.ws.Client(sys.argv[1], sys.argv[2], event_handler=handler, domain=sys.argv[3]).start()
