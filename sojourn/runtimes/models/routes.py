"""Models over HTTP, under `/api/plugins/models/`: providers, their models, a test, the default. No key is ever told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import httpx2
from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from sojourn.core.errors import SojournError
from sojourn.lazy import Lazy
from sojourn.optional_packages import install_packages
from sojourn.ports.app import AppContext
from sojourn.runtimes.models import provider_setup as setup
from sojourn.runtimes.models.local_servers import find_local_servers
from sojourn.runtimes.models.model_server import list_chat_models
from sojourn.text.redaction import redact

if TYPE_CHECKING:  # loads the agent library
    from sojourn.runtimes.native.model_test import ModelTestResult, run_model_test

    _check: Callable[..., Awaitable[ModelTestResult]] = run_model_test

RUN_TEST: Lazy[Callable[..., Awaitable[ModelTestResult]]] = Lazy("sojourn.runtimes.native.model_test:run_model_test")
Name = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9_-]{0,49}$", description="A provider: openai, ollama …")]
Key = Annotated[str | None, Field(default=None, max_length=1000, description="The API key; left out: the saved one.")]
Address = Annotated[
    str | None, Field(default=None, max_length=1000, description="Up to and including /v1; left out: the usual one.")
]
ModelName = Annotated[str, Field(default="", max_length=200)]
_REFUSED: dict[int | str, dict[str, Any]] = {400: {"description": "It is refused; `detail` says why."}}
_UNREACHABLE: dict[int | str, dict[str, Any]] = {502: {"description": "The provider does not answer, or refuses."}}


class ProviderSchema(BaseModel):
    """A provider of models."""

    model_config = ConfigDict(from_attributes=True)
    name: str
    label: str
    base_url: str
    needs_key: bool
    has_key: bool
    is_saved: bool
    is_default: bool
    missing_packages: list[str] = Field(description="What its models need and is not installed.")


class InstalledPackages(BaseModel):
    """What was installed."""

    installed: list[str]


class DefaultModel(BaseModel):
    """The model that answers when nobody names one."""

    provider: str
    model: str = Field(description="Empty: the first one that the provider lists.")


class ProviderPage(BaseModel):
    """All providers, and the default."""

    providers: list[ProviderSchema]
    default: DefaultModel | None


class LocalServerSchema(BaseModel):
    """A model server that answers on this machine."""

    provider: str
    label: str
    base_url: str
    models: list[str]


class ModelList(BaseModel):
    """The chat models of a provider, in its order."""

    models: list[str]


class ProviderBody(BaseModel):
    """How to reach a provider."""

    model_config = ConfigDict(extra="forbid")
    key: Key
    base_url: Address


class ModelTestBody(ProviderBody):
    """What to try: with `key` or `base_url` nothing saved is used, and nothing is saved."""

    model: ModelName


class DefaultBody(BaseModel):
    """A model to answer from now on."""

    model_config = ConfigDict(extra="forbid")
    provider: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,49}$")
    model: ModelName


class ModelTestAnswer(BaseModel):
    """How a test went: the answer with its time and price, or why there is none."""

    ok: bool
    model: str = ""
    text: str = ""
    seconds: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = Field(default=None, description="null: the price is not known.")
    code: str = ""
    detail: str = ""
    hint: str = ""


def router(app: AppContext) -> APIRouter:
    """The routes for the owner's pages and programs."""
    api = APIRouter()
    _add_provider_routes(api, app)
    _add_trial_routes(api, app)

    @api.put("/default", summary="Choose the model that answers", responses=_REFUSED)
    async def choose(body: DefaultBody) -> ProviderPage:
        """In force at once, for new sessions and for those that named none."""
        await asyncio.to_thread(setup.set_default, app.settings, body.provider, body.model)
        return _describe(app)

    @api.delete("/default", summary="Take the default model away", responses=_REFUSED)
    async def clear() -> ProviderPage:
        await asyncio.to_thread(setup.clear_default, app.settings)
        return _describe(app)

    return api


def _add_provider_routes(api: APIRouter, app: AppContext) -> None:
    @api.get("/providers", summary="Providers of models, and the default")
    async def providers() -> ProviderPage:
        return _describe(app)

    @api.get("/local", summary="Model servers that answer on this machine")
    async def local() -> list[LocalServerSchema]:
        """Asks the usual ports of Ollama, LM Studio, llama.cpp and vLLM; takes a second at most."""
        return [
            LocalServerSchema(
                provider=one.provider.name, label=one.provider.label, base_url=one.base_url, models=list(one.models)
            )
            for one in await find_local_servers()
        ]

    @api.put("/providers/{name}", summary="Keep the key and the address of a provider", responses=_REFUSED)
    async def save(name: Name, body: ProviderBody) -> ProviderPage:
        """They are kept in config.toml, which only its owner can read. Another address needs the key again."""
        await asyncio.to_thread(setup.save_provider, app.settings, name, body.key, body.base_url)
        return _describe(app)

    @api.post("/providers/{name}/packages", summary="Install what a provider needs", responses=_UNREACHABLE)
    async def install(name: Name) -> InstalledPackages:
        """Installs its `missing_packages` into the environment of the server. Ask the person first."""
        found = next((one for one in setup.list_providers(app.settings) if one.name == name), None)
        packages = list(found.missing_packages) if found else []
        if packages:
            await install_packages(packages)
        return InstalledPackages(installed=packages)

    @api.delete("/providers/{name}", summary="Forget the key and the address of a provider")
    async def remove(name: Name) -> ProviderPage:
        await asyncio.to_thread(setup.remove_provider, app.settings, name)
        return _describe(app)


def _add_trial_routes(api: APIRouter, app: AppContext) -> None:
    @api.get("/providers/{name}/models", summary="The models of a provider", responses=_REFUSED | _UNREACHABLE)
    async def models(name: Name) -> ModelList:
        choice = setup.make_candidate(app.settings, name, "", None, None)
        async with _open_http(app) as http:
            return ModelList(models=list(await list_chat_models(http, choice)))

    @api.post("/providers/{name}/test", summary="Ask a model one small thing", responses=_REFUSED)
    async def test(name: Name, body: ModelTestBody) -> ModelTestAnswer:
        """Takes as long as the model does, a minute at most, and costs what it costs."""
        choice = setup.make_candidate(app.settings, name, body.model, body.key, body.base_url)
        run: Callable[..., Awaitable[ModelTestResult]] = await asyncio.to_thread(app.load, RUN_TEST)
        try:
            async with _open_http(app) as http:
                found = await run(app.load, choice, app.settings, http)
        except SojournError as error:
            return ModelTestAnswer(ok=False, code=error.code, detail=redact(str(error)), hint=error.hint)
        return ModelTestAnswer(
            ok=True,
            model=found.model,
            text=redact(found.text),
            seconds=found.seconds,
            input_tokens=found.input_tokens,
            output_tokens=found.output_tokens,
            cost_usd=found.cost_usd,
        )


def _describe(app: AppContext) -> ProviderPage:
    default = setup.find_default(app.settings)
    return ProviderPage(
        providers=[ProviderSchema.model_validate(one) for one in setup.list_providers(app.settings)],
        default=DefaultModel(provider=default.provider.name, model=default.name) if default else None,
    )


@asynccontextmanager
async def _open_http(app: AppContext) -> AsyncIterator[httpx2.AsyncClient]:
    silence = float(app.settings["model.timeout_seconds"])
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(silence, connect=min(10.0, silence))) as http:
        yield http
