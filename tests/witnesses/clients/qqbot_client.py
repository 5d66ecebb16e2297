"""Runs QQ's own client: connects, is told of a message, answers it and sends a button; started by test_witnesses.py."""

import json
import sys

import aiohttp
import botpy
from botpy.http import Route

app, secret, server = sys.argv[1:4]
Route.SCHEME, Route.DOMAIN = server.split("://")
_post = aiohttp.ClientSession.post


def post(self, url, **options):
    """The address of the token is written into the client."""
    return _post(self, str(url).replace("https://bots.qq.com", server), **options)


aiohttp.ClientSession.post = post  # type: ignore[method-assign]


class Bot(botpy.Client):  # type: ignore[misc]
    async def on_c2c_message_create(self, message):
        told = {"id": message.id, "text": message.content, "by": message.author.user_openid}
        sent = await message.reply(content="good night", msg_seq=2)
        print(json.dumps(told | {"sent": sent["id"]}), flush=True)


bot = Bot(intents=botpy.Intents(public_messages=True), bot_log=None, ext_handlers=False)
bot.run(appid=app, secret=secret)
