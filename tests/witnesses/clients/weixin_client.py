"""Runs a client of Weixin's iLink that others wrote: polls, answers, sends a file; started by test_witnesses.py."""

import json
import sys
from pathlib import Path

from weixin_ilink.client import ILinkClient

server, token, picture = sys.argv[1:4]
client = ILinkClient(server, token, cdn_base_url=f"{server}/c2c")
[message] = client.poll()["msgs"]
told = {"id": message["message_id"], "text": client.extract_text(message), "by": message["from_user_id"]}
files = [client.download_media_item(one) for one in message["item_list"][1:]]
told["files"] = [one.hex() for one in files if one is not None]
client.send_typing(message["from_user_id"], message["context_token"])
client.send_text(message["from_user_id"], "good night", message["context_token"])
client.send_image(message["from_user_id"], Path(picture), message["context_token"], caption="a dot")
print(json.dumps(told | {"left": client.opts.long_poll_timeout > 0}), flush=True)
