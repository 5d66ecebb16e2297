"""A native runtime with a scripted model behind it, for the tests beside this file."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from sojourn import config
from sojourn.core.settings import Settings
from sojourn.plugins import Registry
from sojourn.runtimes.native.runtime import NativeRuntimeAdapter
from sojourn.testing.model_server import ModelServer


def settings(**given: Any) -> Settings:
    """Little patience, and no look at what else runs on this machine; `model__name=…` sets model.name."""
    quick = {"model.timeout_seconds": 5.0, "model.retries": 2, "model.detect": False}
    return config.load({**quick, **{name.replace("__", "."): value for name, value in given.items()}})


@contextmanager
def openai() -> Iterator[tuple[ModelServer, dict[str, Any]]]:
    with ModelServer() as model:
        yield model, {"model__base_url": model.url, "model__name": "scripted-1"}


@contextmanager
def anthropic() -> Iterator[tuple[ModelServer, dict[str, Any]]]:
    with ModelServer() as model:
        yield (
            model,
            {
                "model__provider": "anthropic",
                "model__base_url": model.origin,
                "model__api_key": "k-1234567890",
                "model__name": "claude-sonnet-5",
            },
        )


@asynccontextmanager
async def native(*scripts: Any, **given: Any) -> AsyncIterator[tuple[NativeRuntimeAdapter, ModelServer]]:
    """`async with native([Say("hi")]) as (runtime, model)`: an OpenAI-compatible server that plays the scripts."""
    with openai() as (model, where):
        runtime = NativeRuntimeAdapter(settings(**{**where, **given}), Registry().load, first_wait=0.01)
        model.play(*scripts)
        try:
            yield runtime, model
        finally:
            await runtime.close()
