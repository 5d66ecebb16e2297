"""Accounts that several people share are nobody: what is written under them is not heard."""

import pytest
from telegram import Bot, Message

from sojourn.core.sessions import Principal, Session, SessionId
from sojourn.platforms.telegram.messages import to_inbound
from sojourn.testing.app import make_settings
from sojourn.turn_support.workspace_folders import find_workspace

CHAT = {"id": -100, "type": "supergroup", "title": "garden"}


@pytest.mark.parametrize("sender_chat", [{"id": -200, "type": "channel", "title": "news"}, CHAT])
async def test_channel_or_hidden_admin_on_telegram_is_not_heard(sender_chat):
    service = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
    raw = {"message_id": 1, "date": 1, "chat": CHAT, "from": service, "text": "hello"}
    bot = Bot("123456:not-a-real-token")
    bot._bot_user = None
    message = Message.de_json(raw | {"sender_chat": sender_chat}, bot)
    assert await to_inbound(message, bot) is None


def test_no_two_guests_share_a_folder(home):
    settings = make_settings(home)
    names = ["guest:a.b", "guest:a_b", "guest:a@b", "guest:a+b", "guest:a-b", "guest:a_b~12"]
    roots = [find_workspace(Session(id=SessionId("s"), principal=Principal(one)), "", settings) for one in names]
    assert len(set(roots)) == len(names)
    assert all(root.parent == home / "workspace" / "guests" for root in roots)
