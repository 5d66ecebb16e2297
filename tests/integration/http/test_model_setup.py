"""From an empty home to the first answer of a model, over HTTP alone: no terminal, no restart. And theft of keys."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sojourn.app import App
from sojourn.config import follow
from sojourn.testing.model_script import Refuse, Say
from sojourn.testing.model_server import ModelServer
from tests.e2e.http_server import frames
from tests.integration.http.conftest import connect

MODELS, SETTINGS = "/api/plugins/models", "/api/plugins/dashboard/settings"
KEY = "pasted-by-a-person-0123456789"


@pytest.fixture
async def app(home: Path) -> AsyncIterator[App]:
    made = App(follow({"home": str(home), "model.detect": False}, {"HOME": str(home.parent)}))
    yield made
    await made.close()


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(app) as made:
        yield made


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    with ModelServer([Say("Hello from the model.")], models=["scripted-1", "scripted-2"]) as model:
        yield model


async def ask(client: httpx.AsyncClient, method: str, path: str, status: int = 200, **body: Any) -> Any:
    answer = await client.request(method, path, json=body or None)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def chat(client: httpx.AsyncClient, message: str, **more: Any) -> tuple[str, str, str]:
    """What was answered, by which runtime and model."""
    answer = await client.post("/api/chat/stream", json={"message": message, **more})
    told = [(one["event"], json.loads(one["data"])) for one in frames(iter(answer.text.split("\n"))) if "event" in one]
    about = next(data for event, data in told if event == "metadata")
    text = "".join(data["text"] for event, data in told if event == "chunk")
    return text, about["runtime"], about["model"]


async def connect_provider(client: httpx.AsyncClient, model: ModelServer, name: str = "openai") -> None:
    await ask(client, "PUT", f"{MODELS}/providers/{name}", key=KEY, base_url=model.url)


async def test_from_an_empty_home_to_the_first_answer_of_a_model(client, provider, home):
    _, runtime, _ = await chat(client, "hi")  # before: no model
    assert runtime == "offline"
    page = await ask(client, "GET", f"{MODELS}/providers")
    assert page["default"] is None
    assert {"openai", "anthropic", "ollama"} <= {one["name"] for one in page["providers"]}
    await connect_provider(client, provider)
    assert await ask(client, "GET", f"{MODELS}/providers/openai/models") == {"models": ["scripted-1", "scripted-2"]}
    tested = await ask(client, "POST", f"{MODELS}/providers/openai/test", model="scripted-2")
    assert (tested["ok"], tested["text"], tested["model"]) == (True, "Hello from the model.", "scripted-2")
    assert tested["seconds"] < 30
    assert tested["cost_usd"] is None  # not on the price list
    page = await ask(client, "PUT", f"{MODELS}/default", provider="openai", model="scripted-2")
    assert page["default"] == {"provider": "openai", "model": "scripted-2"}
    assert await chat(client, "hello") == ("Hello from the model.", "native", "")
    assert provider.asked[-1].body["model"] == "scripted-2"
    file = home / "config.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    runtimes = {one["name"]: one for one in await ask(client, "GET", "/api/runtimes")}
    assert (runtimes["native"]["ok"], runtimes["native"]["default"]) == (True, True)


async def test_a_session_chooses_a_model_of_another_provider(client, provider):
    await connect_provider(client, provider)
    await ask(client, "PUT", f"{MODELS}/default", provider="openai", model="scripted-1")
    with ModelServer([Say("The other one.")], models=["other-1"]) as other:
        await ask(client, "PUT", f"{MODELS}/providers/groq", key="another-key-9876", base_url=other.url)
        assert (await chat(client, "hello", model="groq:other-1"))[0] == "The other one."
        assert other.asked[0].headers["authorization"] == "Bearer another-key-9876"
    assert (await chat(client, "hello"))[0] == "Hello from the model."


async def test_a_key_is_never_told(client, provider):
    await connect_provider(client, provider)
    await ask(client, "PUT", f"{MODELS}/default", provider="openai", model="scripted-1")
    provider._scripts[:] = [[Refuse(401, f"Incorrect API key provided: {KEY}")]]
    failed = await client.post(f"{MODELS}/providers/openai/test", json={"model": "scripted-1"})
    assert failed.json()["ok"] is False
    assert failed.json()["code"]
    for path in (f"{MODELS}/providers", SETTINGS, "/api/runtimes", "/api/health", "/api/plugins", "/openapi.json"):
        assert KEY not in (await client.get(path)).text, path
    assert KEY not in failed.text


async def test_a_saved_key_does_not_go_to_another_address(client, provider, home):
    await connect_provider(client, provider)
    with ModelServer([Say("mine now")], models=["x"]) as thief:
        tried = await ask(client, "POST", f"{MODELS}/providers/openai/test", model="x", base_url=thief.url)
        assert tried["ok"] is True  # it answers, without a key
        await ask(client, "PUT", f"{MODELS}/providers/openai", base_url=thief.url)
        await ask(client, "GET", f"{MODELS}/providers/openai/models")
        await ask(client, "PUT", f"{MODELS}/default", provider="openai", model="x")
        await chat(client, "hello")
        assert len(thief.asked) >= 2
        for one in thief.asked:
            assert KEY not in str(dict(one.headers)) + str(one.body)
    assert KEY not in (home / "config.toml").read_text()


async def test_what_was_configured_by_hand_moves_to_its_own_provider(client, provider, home):
    with ModelServer([Say("old")], models=["old-1"]) as old:
        home.mkdir()
        (home / "config.toml").write_text(
            f'# mine\n[model]\nprovider = "mistral"\napi_key = "by-hand-000111222"\nbase_url = "{old.url}"\n'
        )
        await connect_provider(client, provider, "openai")
        await ask(client, "PUT", f"{MODELS}/default", provider="openai", model="scripted-1")
        await chat(client, "hello")
        assert "by-hand" not in str(dict(provider.asked[-1].headers))
        written = tomllib.loads((home / "config.toml").read_text())
        assert (home / "config.toml").read_text().startswith("# mine\n")
        assert "api_key" not in written["model"]
        assert written["plugins"]["models"]["providers"]["mistral"]["api_key"] == "by-hand-000111222"
        assert (await chat(client, "hello", model="mistral:old-1"))[0] == "old"


REFUSED: list[tuple[str, dict[str, Any], int]] = [
    ("openai", {}, 400),  # needs a key
    ("openai", {"key": "a\nb"}, 400),
    ("openai", {"key": KEY, "base_url": "file:///etc/passwd"}, 400),
    ("openai", {"key": KEY, "base_url": "http://user:pass@host/v1"}, 400),
    ("openai", {"key": KEY, "base_url": "http://["}, 400),
    ("nobody", {"key": KEY}, 400),
    ("..%2Fx", {"key": KEY}, 404),
    ("Open AI", {"key": KEY}, 422),
    ("openai", {"key": KEY, "model": "x"}, 422),
    ("openai", {"key": "k" * 2000}, 422),
]


async def test_what_cannot_be_kept_is_refused_and_changes_nothing(client, home):
    for name, body, status in REFUSED:
        answer = await client.put(f"{MODELS}/providers/{name}", json=body)
        assert answer.status_code == status, (name, body, answer.text)
        assert not (home / "config.toml").exists()


async def test_a_provider_can_be_taken_away_again(client, provider, home):
    await connect_provider(client, provider)
    await ask(client, "PUT", f"{MODELS}/default", provider="openai", model="scripted-1")
    page = await ask(client, "DELETE", f"{MODELS}/providers/openai")
    assert page["default"] is None
    assert not next(one for one in page["providers"] if one["name"] == "openai")["has_key"]
    assert KEY not in (home / "config.toml").read_text()
    assert (await chat(client, "hi"))[1] == "offline"


async def test_a_variable_that_beats_the_file_is_named(home, provider):
    app = App(follow({"home": str(home)}, {"HOME": str(home.parent), "SOJOURN_MODEL_PROVIDER": "ollama"}))
    try:
        async with connect(app) as client:
            await connect_provider(client, provider)
            refused = await client.put(f"{MODELS}/default", json={"provider": "openai", "model": "scripted-1"})
            assert refused.status_code == 400
            assert "SOJOURN_MODEL_PROVIDER" in refused.text
    finally:
        await app.close()


HOSTILE_LISTS: list[Any] = [
    {"data": 5},
    {"data": "x"},
    [1, None],
    {"data": [None, 7, {"id": None}]},
    "text",
    {"models": {}},
]


async def test_a_hostile_list_of_models_is_an_empty_one(client, provider):
    await connect_provider(client, provider)
    for answer in HOSTILE_LISTS:
        provider.answers["/v1/models"] = answer
        assert await ask(client, "GET", f"{MODELS}/providers/openai/models") == {"models": []}, answer


# every setting
async def test_a_setting_is_changed_at_once_and_reset(client, app, home):
    changed = await ask(client, "PUT", f"{SETTINGS}/memory.summary_tokens", value=9000)
    assert (changed["value"], changed["origin"], changed["is_live"], changed["minimum"]) == (9000, "file", True, 500)
    assert app.settings["memory.summary_tokens"] == 9000
    reset = await ask(client, "DELETE", f"{SETTINGS}/memory.summary_tokens")
    assert (reset["value"], reset["origin"]) == (6000, "default")
    assert (await ask(client, "PUT", f"{SETTINGS}/server.port", value=9999))["is_live"] is False
    secret = await ask(client, "PUT", f"{SETTINGS}/model.api_key", value=KEY)
    assert (secret["value"], secret["is_secret"]) == ("•••", True)
    assert stat.S_IMODE((home / "config.toml").stat().st_mode) == 0o600


async def test_every_setting_is_described(client):
    rows = await ask(client, "GET", SETTINGS)
    assert len(rows) > 50
    for one in rows:
        assert one["meaning"]
        assert one["kind"] in ("text", "path", "number", "decimal", "yes/no", "secret")
    choices = {one["name"]: one["choices"] for one in rows}
    assert choices["gateway.when_busy"] == ["queue", "interrupt", "steer"]


BAD_VALUES: list[tuple[str, Any, int]] = [
    ("memory.summary_tokens", 3, 400),
    ("memory.summary_tokens", "many", 400),
    ("memory.summary_tokens", True, 400),
    ("redact", "perhaps", 400),
    ("gateway.when_busy", "panic", 400),
    ("tools.approval", "sometimes", 400),
    ("tools.guest_tools", "no_such_tool", 400),
    ("agent.runtime", "no_such_runtime", 400),
    ("gateway.owners", "nonsense", 400),
    ("home", "/tmp", 404),
    ("no.such", 1, 404),
    ("redact", None, 422),
    ("redact", ["yes"], 422),
]


async def test_a_bad_value_is_refused_in_place(client, home):
    for name, value, status in BAD_VALUES:
        answer = await client.put(f"{SETTINGS}/{name}", json={"value": value})
        assert answer.status_code == status, (name, value, answer.text)
        assert not (home / "config.toml").exists()
