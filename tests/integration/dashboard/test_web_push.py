"""Web Push: an empty, signed message to the servers of browser makers alone, when a session begins to wait."""

import asyncio
import base64
import json
import stat
import time

import httpx
import httpx2
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from fastapi import FastAPI

from sojourn.app import App
from sojourn.config import load
from sojourn.core.errors import BadInput
from sojourn.dashboard.push_routes import add_push_routes
from sojourn.dashboard.web_push import PushNotifier, check_endpoint
from sojourn.http import problems

CHROME = "https://fcm.googleapis.com/fcm/send/abc:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx"
FIREFOX = "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABh"


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class PushServers:
    """What browser makers' servers do with a message: check its signature, take it or say that nobody is there."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, bytes]] = []
        self.gone: set[str] = set()

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        scheme, _, rest = request.headers["Authorization"].partition(" ")
        fields = dict(one.strip().split("=", 1) for one in rest.split(","))
        signed, _, signature = fields["t"].rpartition(".")
        raw = decode(signature)
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(fields["k"]))
        pair = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        key.verify(pair, signed.encode(), ec.ECDSA(hashes.SHA256()))  # raises
        claims = json.loads(decode(signed.partition(".")[2]))
        assert (scheme, claims["aud"]) == ("vapid", f"https://{request.url.host}")
        assert time.time() < claims["exp"] <= time.time() + 86_400
        assert claims["sub"].startswith("https://")
        assert int(request.headers["TTL"]) > 0
        if str(request.url) in self.gone:
            return httpx2.Response(410)
        self.taken.append((str(request.url), await request.aread()))
        return httpx2.Response(201)


@pytest.fixture
async def kit(home):
    made = App(load({"home": str(home)}, {"HOME": str(home.parent)}))
    yield made
    await made.close()


@pytest.fixture
def servers():
    return PushServers()


@pytest.fixture
async def notifier(kit, servers):
    made = PushNotifier(kit, httpx2.AsyncClient(transport=httpx2.MockTransport(servers.answer)))
    yield made
    await made.close()


async def test_who_agreed_gets_an_empty_signed_message_and_who_left_is_forgotten(kit, notifier, servers, home):
    notifier.add(CHROME)
    notifier.add(FIREFOX)
    servers.gone.add(FIREFOX)
    await notifier.notify()
    assert servers.taken == [(CHROME, b"")]
    assert PushNotifier(kit).list_endpoints() == [CHROME]  # as another process reads it
    for name in ("push-key.pem", "push-browsers.json"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
    assert (await PushNotifier(kit).get_key()).public == (await notifier.get_key()).public


async def test_a_question_that_waits_is_told_once(kit, notifier, servers, monkeypatch):
    notifier.add(CHROME)
    waiting: list[str] = []

    async def list_waiting() -> list[str]:
        return list(waiting)

    monkeypatch.setattr(kit.store, "list_waiting", list_waiting)
    task = asyncio.create_task(notifier.watch())
    await asyncio.sleep(0.3)  # it looks what waits already
    try:
        for step, expected in ((["s1"], 1), (["s1"], 1), ([], 1), (["s2"], 2)):
            waiting[:] = step
            await kit.store.create(source="cli", title=f"{len(servers.taken)} {step} {time.monotonic()}")
            async with asyncio.timeout(10):
                while len(servers.taken) < expected:
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.3)
            assert len(servers.taken) == expected
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_without_a_browser_to_tell_the_store_is_left_alone(kit, notifier, monkeypatch):
    asked: list[str] = []
    for name in ("list_waiting", "last_change", "changes"):
        monkeypatch.setattr(kit.store, name, lambda *_, name=name, **__: asked.append(name))
    task = asyncio.create_task(notifier.watch())
    await asyncio.sleep(0.1)
    await kit.store.create(source="cli")
    await asyncio.sleep(0.2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert asked == []


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://fcm.googleapis.com/x",
        "https://fcm.googleapis.com:8443/x",
        "https://fcm.googleapis.com@evil.example/x",
        "https://user@fcm.googleapis.com/x",
        "https://evilfcm.googleapis.com/x",
        "https://fcm.googleapis.com.evil.example/x",
        "https://evil.example/fcm.googleapis.com",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/x",
        "https://localhost/x",
        "https://[bad/x",
        "file:///etc/passwd",
        "https:///fcm.googleapis.com",
        "https://fcm.googleapis.com\\@evil.example/x",
    ],
)
async def test_no_other_address_is_ever_kept(notifier, endpoint):
    with pytest.raises(BadInput):
        check_endpoint(endpoint)
    with pytest.raises(BadInput):
        notifier.add(endpoint)
    assert notifier.list_endpoints() == []


async def test_over_http(notifier):
    app, api = FastAPI(), problems.install
    api(app)
    add_push_routes(app.router, notifier)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        state = (await client.get("/push")).json()
        assert (len(decode(state["key"])), state["browsers"]) == (65, 0)
        assert "fcm.googleapis.com" in state["servers"]
        assert (await client.put("/push", json={"endpoint": CHROME})).status_code == 204
        assert (await client.put("/push", json={"endpoint": "https://evil.example/x"})).status_code == 400
        assert (await client.get("/push")).json()["browsers"] == 1
        assert (await client.request("DELETE", "/push", json={"endpoint": CHROME})).status_code == 204
        assert (await client.get("/push")).json()["browsers"] == 0
