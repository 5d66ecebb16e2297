"""Access tokens: fetched once, renewed early, tried again once."""

import asyncio

import pytest

from sojourn.core.errors import KeyRefused
from sojourn.platforms.expiring_token import ExpiringToken, TokenExpired


class Source:
    def __init__(self, seconds: float = 7200) -> None:
        self.fetched, self.seconds = 0, seconds

    async def fetch(self) -> tuple[str, float]:
        self.fetched += 1
        await asyncio.sleep(0)
        return f"t{self.fetched}", self.seconds


def a_token(source: Source) -> ExpiringToken:
    return ExpiringToken(source.fetch, to_key_refused=lambda: KeyRefused("The network refuses it.", hint="Correct it."))


async def test_many_who_wait_get_one_token():
    source = Source()
    token = a_token(source)
    assert await asyncio.gather(*(token.get() for _ in range(5))) == ["t1"] * 5
    assert source.fetched == 1


async def test_it_is_renewed_a_minute_before_its_end(monkeypatch):
    source, now = Source(), 1000.0
    monkeypatch.setattr("sojourn.platforms.expiring_token.time.monotonic", lambda: now)
    token = a_token(source)
    assert await token.get() == "t1"
    now += 7139
    assert await token.get() == "t1"
    now += 2
    assert await token.get() == "t2"


async def test_a_refused_token_is_renewed_and_the_request_made_once_more():
    source, seen = Source(), list[str]()

    async def request(token: str) -> str:
        seen.append(token)
        if len(seen) == 1:
            raise TokenExpired
        return "done"

    assert await a_token(source).use(request) == "done"
    assert seen == ["t1", "t2"]


async def test_a_fresh_token_that_is_refused_is_a_wrong_key():
    source = Source()

    async def request(token: str) -> str:
        raise TokenExpired

    with pytest.raises(KeyRefused):
        await a_token(source).use(request)
    assert source.fetched == 2


async def test_a_refused_secret_is_said_at_once():
    async def fetch() -> tuple[str, float]:
        raise KeyRefused("The network refuses the secret.", hint="Correct it.")

    token = ExpiringToken(fetch, to_key_refused=lambda: KeyRefused("another"))
    with pytest.raises(KeyRefused, match="the secret"):
        await token.get()
