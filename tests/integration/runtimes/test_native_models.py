"""Which model is talked to: from the settings, or found on this machine; what it can take, and whether it is there."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from sojourn.core.errors import BadConfig
from sojourn.plugins import Registry
from sojourn.runtimes.models.local_model import find_local_model
from sojourn.runtimes.models.model_server import OLLAMA_DEFAULT_TOKENS, probe_context_window
from sojourn.runtimes.models.selection import PROVIDERS, ModelChoice, choice_for_request, choice_from_settings
from sojourn.runtimes.native.runtime import NativeRuntimeAdapter
from sojourn.testing.model_script import Refuse, Say
from sojourn.testing.model_server import ModelServer
from sojourn.testing.turn_runner import make_turn_input, run_turn
from tests.integration.runtimes.native_runtime import native, settings


@pytest.fixture
def ollama() -> Iterator[ModelServer]:
    with ModelServer(models=["nomic-embed-text", "llama3:8b"]) as model:
        yield model


def port(model: ModelServer) -> int:
    return int(model.origin.rpartition(":")[2])


def local(model: ModelServer, provider: str = "ollama") -> ModelChoice:
    return ModelChoice(provider=PROVIDERS[provider], base_url=model.url, name="llama3:8b")


# choosing
def test_nothing_set_is_no_choice():
    assert choice_from_settings(settings()) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model__provider": "openai"}, "needs a key"),
        ({"model__provider": "nobody"}, "not a known provider"),
        ({"model__api_key": "k"}, "no provider is named"),
        ({"model__base_url": "localhost:80"}, "not an address"),
    ],
)
def test_a_mistake_says_what_is_missing(given: dict[str, Any], words: str):
    with pytest.raises(BadConfig, match=words) as caught:
        choice_from_settings(settings(**given))
    assert caught.value.hint


def test_an_address_needs_neither_provider_nor_key():
    choice = choice_from_settings(settings(model__base_url="http://127.0.0.1:9/v1/", model__name="m"))
    assert choice is not None
    assert (choice.base_url, choice.provider.name, choice.is_local) == ("http://127.0.0.1:9/v1", "compatible", True)


def test_a_request_may_name_another_model_but_not_another_persons_key():
    mine = choice_from_settings(settings(model__provider="openai", model__api_key="k", model__name="gpt-5"))
    assert choice_for_request(mine, "") == mine
    assert str(getattr(choice_for_request(mine, "gpt-5-mini"), "name", "")) == "gpt-5-mini"
    assert str(getattr(choice_for_request(mine, "ollama:llama3:8b"), "name", "")) == "llama3:8b"
    with pytest.raises(BadConfig, match="needs a key of Anthropic"):
        choice_for_request(mine, "anthropic:claude-sonnet-5")


def test_the_key_does_not_show():
    mine = choice_from_settings(settings(model__provider="openai", model__api_key="k-secret", model__name="gpt-5"))
    assert "k-secret" not in f"{mine!r} {mine}"


# finding
async def test_a_local_server_is_found_and_used(ollama: ModelServer):
    ollama.play([Say("Hi.")])
    runtime = NativeRuntimeAdapter(settings(model__detect=True), Registry().load, usual=((port(ollama), "ollama"),))
    ready = await runtime.ready()
    assert (ready.ok, ready.models) == (True, ("llama3:8b",))
    assert "llama3:8b (Ollama at http://127.0.0.1:" in ready.detail
    shown = await run_turn(runtime, make_turn_input("Hello."))
    assert shown.answers == ["Hi."]
    assert ollama.asked[0].body["model"] == "llama3:8b"
    await runtime.close()


async def test_nothing_is_looked_for_when_that_is_switched_off(ollama: ModelServer):
    assert await find_local_model(settings(model__detect=False), ((port(ollama), "ollama"),)) is None


async def test_other_programs_on_such_a_port_are_left_alone():
    with ModelServer() as other:
        other.answers["/v1/models"] = {"hello": "world"}
        assert await find_local_model(settings(model__detect=True), ((port(other), "vllm"),)) is None
        other.answers["/v1/models"] = {"data": [{"id": "offline", "owned_by": "sojourn"}]}
        assert await find_local_model(settings(model__detect=True), ((port(other), "vllm"),)) is None


async def test_a_server_is_known_by_what_it_says_not_by_its_port(ollama: ModelServer):
    ollama.answers["/v1/models"] = {"data": [{"id": "m", "owned_by": "vllm"}]}
    found = await find_local_model(settings(model__detect=True), ((port(ollama), "llamacpp"),))
    assert found is not None
    assert found.provider.name == "vllm"


async def test_without_any_model_it_says_what_to_do():
    runtime = NativeRuntimeAdapter(settings(), Registry().load, usual=())
    ready = await runtime.ready()
    assert (ready.ok, "Ollama" in ready.hint) == (False, True)
    shown = await run_turn(runtime, make_turn_input("Hello."))
    assert isinstance(shown.error, BadConfig)


async def test_a_refused_key_is_found_out_before_the_first_turn():
    with ModelServer() as model:
        model.statuses["/v1/models"] = 401
        runtime = NativeRuntimeAdapter(
            settings(model__base_url=model.url, model__name="m", model__api_key="bad"), Registry().load
        )
        ready = await runtime.ready()
        await runtime.close()
    assert not ready.ok
    assert "key" in ready.detail


async def test_a_model_that_is_not_there_is_named():
    async with native([Refuse(404, "model 'x' not found")], model__name="x") as (runtime, _):
        shown = await run_turn(runtime, make_turn_input("Hello."))
    assert shown.error is not None
    assert "x at http://127.0.0.1:" in str(shown.error)


# windows
async def window(choice: ModelChoice) -> int | None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await probe_context_window(client, choice)


async def test_ollama_says_with_how_much_it_runs_the_model(ollama: ModelServer):
    ollama.answers["/api/ps"] = {"models": [{"name": "llama3:8b", "context_length": 16384}]}
    assert await window(local(ollama)) == 16384


async def test_ollama_says_what_the_model_is_set_to(ollama: ModelServer):
    ollama.answers["/api/show"] = {"parameters": "stop x\nnum_ctx                        8192"}
    assert await window(local(ollama)) == 8192


async def test_ollama_is_not_trusted_to_use_all_a_model_could(ollama: ModelServer):
    ollama.answers["/api/show"] = {"model_info": {"llama.context_length": 131072}}
    assert await window(local(ollama)) == OLLAMA_DEFAULT_TOKENS


async def test_llama_cpp_says_it_in_its_props(ollama: ModelServer):
    ollama.answers["/props"] = {"default_generation_settings": {"n_ctx": 12288}}
    assert await window(local(ollama, "llamacpp")) == 12288


async def test_vllm_says_it_in_its_list(ollama: ModelServer):
    ollama.answers["/v1/models"] = {"data": [{"id": "llama3:8b", "max_model_len": 20480}]}
    assert await window(local(ollama, "vllm")) == 20480


async def test_nobody_says_anything(ollama: ModelServer):
    assert await window(local(ollama, "vllm")) is None


async def test_a_known_model_has_a_price_and_a_window():
    with ModelServer([Say("Hi.")]) as model:
        given = settings(
            model__provider="anthropic", model__base_url=model.origin, model__api_key="k", model__name="claude-sonnet-5"
        )
        runtime = NativeRuntimeAdapter(given, Registry().load)
        usage = (await run_turn(runtime, make_turn_input("Hello."))).done[0].usage
        await runtime.close()
    assert usage["cost_usd"] > 0
    assert usage["context_window"] >= 200_000
