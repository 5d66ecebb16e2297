"""Reads callbacks of WeCom with a client that others wrote, and makes one; started by test_witnesses.py."""

import json
import sys

from wechatpy.enterprise import parse_message
from wechatpy.enterprise.crypto import WeChatCrypto

token, key, corp, call = *sys.argv[1:4], json.loads(sys.argv[4])
crypto = WeChatCrypto(token, key, corp)
echo = crypto.check_signature(*(call["check"][one] for one in ("msg_signature", "timestamp", "nonce", "echostr")))
given = call["message"]
message = parse_message(
    crypto.decrypt_message(given["body"], given["msg_signature"], given["timestamp"], given["nonce"])
)
told = {"echo": echo.decode() if isinstance(echo, bytes) else echo, "id": message.id, "text": message.content}
told |= {"by": message.source, "to": message.target, "agent": message.agent}
print(json.dumps(told | {"made": crypto.encrypt_message(call["plain"], "n0nce", "1700000000")}), flush=True)
