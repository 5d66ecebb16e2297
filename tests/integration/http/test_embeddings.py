"""`/v1/embeddings` answers with the configured embedder, in OpenAI's form."""

import base64
import struct
from math import sqrt

import httpx
import pytest

from sojourn import config
from sojourn.app import App
from sojourn.http.app import make_app
from tests.integration.http.conftest import BEARER, TOKEN


@pytest.fixture
async def world(home):
    """Asks an application with an embedder for vectors."""
    made = []

    def connect(embedder, headers=BEARER):
        app = App(config.load({"home": str(home), "memory.embedder": embedder}))
        transport = httpx.ASGITransport(make_app(app, token=TOKEN))
        client = httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)
        made.append((app, client))
        return client

    yield connect
    for app, client in made:
        await client.aclose()
        await app.close()


def similarity(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_texts_become_vectors_in_their_order(world):
    client = world("packaged")
    asked = {"model": "any", "input": ["a cat sat there", "a kitten was sitting", "quarterly tax report"]}
    answer = (await client.post("/v1/embeddings", json=asked)).json()
    cat, kitten, tax = (one["embedding"] for one in answer["data"])
    assert [one["index"] for one in answer["data"]] == [0, 1, 2]
    assert sqrt(similarity(cat, cat)) == pytest.approx(1, abs=1e-3)
    assert similarity(cat, kitten) > similarity(cat, tax)
    assert answer["model"].startswith("wordllama")
    assert answer["usage"]["total_tokens"] > 0
    coded = await client.post("/v1/embeddings", json={**asked, "input": asked["input"][0], "encoding_format": "base64"})
    (one,) = coded.json()["data"]
    assert struct.unpack(f"<{len(cat)}f", base64.b64decode(one["embedding"])) == pytest.approx(cat, abs=1e-6)


async def test_what_cannot_be_embedded_is_refused(world):
    client = world("none")
    answer = await client.post("/v1/embeddings", json={"input": "text"})
    assert answer.status_code == 501
    assert "memory.embedder" in answer.text
    for wrong in ({"input": []}, {"input": ""}, {"input": "x" * 300_000}, {"input": ["x" * 150_000] * 2}, {}):
        assert (await client.post("/v1/embeddings", json=wrong)).status_code in (400, 422), str(wrong)[:60]


async def test_nobody_embeds_without_the_token(world):
    answer = await world("none", headers={}).post("/v1/embeddings", json={"input": "text"})
    assert answer.status_code == 401
