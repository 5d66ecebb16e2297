"""Model test: one small request to a model, with the time it took and its price."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from sojourn.core.errors import RuntimeTimeout
from sojourn.core.messages import text_of
from sojourn.core.settings import Settings
from sojourn.lazy import Lazy
from sojourn.runtimes.models.model_server import list_chat_models
from sojourn.runtimes.models.selection import ModelChoice
from sojourn.runtimes.native.model_client import open_client
from sojourn.runtimes.native.translate import from_response
from sojourn.runtimes.native.usage import price_of

_TEST_SECONDS = 60.0
_INSTRUCTIONS, _REQUEST = "Answer with one short word.", "Say hello."
_MAX_ANSWER_TOKENS = 200  # a model that thinks first needs some
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTestResult:
    """What a model answered. The price is None when it is not known."""

    model: str
    text: str
    seconds: float
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


async def run_model_test(
    load: Callable[[Lazy[Any]], Any], choice: ModelChoice, settings: Settings, http: httpx2.AsyncClient
) -> ModelTestResult:
    """Asks once, without retries. Raises what a turn would."""
    if not choice.name:
        choice = replace(choice, name=(await list_chat_models(http, choice) or ("",))[0])
    once = replace(settings, values={**settings.values, "model.retries": 0})
    client = await asyncio.to_thread(open_client, load, choice, http, once, 0.0)
    begun = time.monotonic()
    try:
        async with asyncio.timeout(_TEST_SECONDS):
            response = await client.complete(_INSTRUCTIONS, _REQUEST, max_tokens=_MAX_ANSWER_TOKENS)
    except TimeoutError as error:
        raise RuntimeTimeout(
            f"{choice.provider.label} gave no answer within {_TEST_SECONDS:g} seconds.", hint="Try another model."
        ) from error
    return ModelTestResult(
        model=choice.name,
        text=text_of(from_response(response)).strip()[:_SHOWN_CHARS],
        seconds=round(time.monotonic() - begun, 3),
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        cost_usd=price_of(response),
    )
