"""offline: a runtime that needs no API key and no network.

Rules recognise requests and carry them out with tools. Other text goes to the small model of this machine; without
that model it is searched for in past sessions, and the answer says so.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from sojourn.core.events import Done
from sojourn.core.settings import Settings
from sojourn.lazy import Lazy
from sojourn.ports.app import PluginAccess
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, TurnInput
from sojourn.runtimes.models.local_servers import USUAL_PORTS, LocalServer, chat_models, find_local_servers
from sojourn.runtimes.offline.actions import OfflineActions
from sojourn.runtimes.offline.free_text import TextModel, TokenUsage, write_answer
from sojourn.runtimes.offline.greeting import render_greeting
from sojourn.runtimes.offline.intents import Intent, parse_intent
from sojourn.runtimes.offline.model_file import ModelFile, find_model_file
from sojourn.runtimes.offline.search_results import topic_words
from sojourn.runtimes.offline.turn_output import TurnOutput, render_reply

if TYPE_CHECKING:
    from sojourn.runtimes.offline.engine import LlamaEngine

ENGINE: Lazy[type[LlamaEngine]] = Lazy("sojourn.runtimes.offline.engine:LlamaEngine")  # its library is an extra
RULES = "rules"  # the model name that turns the small model off
_DETECTION_TTL_SECONDS = 60.0


class OfflineRuntime:
    """The default without an API key. `load` imports a lazy part."""

    name = "offline"
    label = "Offline helper"
    takes_tool_history = False

    def __init__(
        self, settings: Settings, load: Callable[[Lazy[Any]], Any], *, usual: Sequence[tuple[int, str]] = USUAL_PORTS
    ) -> None:
        self._settings, self._load, self._usual = settings, load, usual
        self._file: ModelFile | None = find_model_file(settings)
        self._model: TextModel | None = None
        self._detected: tuple[float, LocalServer | None] | None = None

    async def _detect_server(self) -> LocalServer | None:
        """Returns a model server on this machine, if one answers."""
        now = time.monotonic()
        if self._detected is None or now - self._detected[0] > _DETECTION_TTL_SECONDS:
            found = [one for one in await find_local_servers(self._settings, self._usual) if one.first_choice()]
            self._detected = (now, found[0] if found else None)
        return self._detected[1]

    async def _render_offer(self, chinese: bool) -> str:
        server = await self._detect_server()
        if server is None:
            return ""
        return render_reply("offer", chinese, server=server.provider.label, model=chat_models(server.models)[0])

    async def ready(self) -> RuntimeStatus:
        server = await self._detect_server()
        hint = ""
        if server is not None:
            name = chat_models(server.models)[0]
            hint = f"{server.provider.label} is running here with {name}: use the runtime `native` for it."
        elif self._file is None:
            hint = "For free text install the small model, or start Ollama: see docs/how-to/models.md."
        if self._file is None:
            return RuntimeStatus(ok=True, detail="rules only, no language model", hint=hint, models=(RULES,))
        detail = f"rules, and {self._file.label} for free text"
        return RuntimeStatus(ok=True, detail=detail, hint=hint, models=(self._file.label, RULES))

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        output, used = TurnOutput(turn), list[TokenUsage]()
        async with aclosing(output.stream(self._answer(output, used))) as items:
            async for item in items:
                yield item
        yield Done(
            usage={
                "model": self._file.label if used and self._file else RULES,
                "requests": len(used),
                "input_tokens": sum(one.input_tokens for one in used),
                "output_tokens": sum(one.output_tokens for one in used),
                "cost_usd": None,
            }
        )

    async def _answer(self, output: TurnOutput, used: list[TokenUsage]) -> None:
        if output.turn.internal:
            output.write(render_greeting(output.turn) + "\n")
            return
        intent, actions = parse_intent(output.turn.said), OfflineActions(output)
        if actions.can_do(intent):
            await actions.do(intent)
        elif intent.kind == "free":
            await self._answer_free_text(output, actions, intent, used)
        else:
            label = self._file.label if self._file else ""
            model = render_reply("model", output.chinese, label=label) if label else ""
            output.reply(intent.kind, model=model, offer=await self._render_offer(output.chinese))

    async def _answer_free_text(
        self, output: TurnOutput, actions: OfflineActions, intent: Intent, used: list[TokenUsage]
    ) -> None:
        """The small model knows English only: a question in another language is not given to it."""
        is_latin, can_search = _is_latin(intent.text), output.has_tool("session_search")
        if is_latin and " " not in intent.text and can_search:
            await actions.do(Intent(kind="recall", text=intent.text))  # a single word is a topic, not a question
            output.reply("try_help")
            return
        model = self._open_model(output.turn)
        if is_latin and model is not None and self._file is not None:
            label = render_reply("label", output.chinese, label=self._file.label)
            if (usage := await write_answer(output, model, label)) is None:
                output.reply("model_quiet")
            else:
                used.append(usage)
            return
        output.reply("not_this_language" if model else "not_understood")
        words = [word for word in topic_words(intent.text) if len(word) > 2 or output.chinese][:6]
        if words and can_search and (found := await actions.search_sessions(words, max_queries=2)):
            actions.write_hits("but_found", " ".join(words), found)
        if offer := await self._render_offer(output.chinese):
            output.write(f"{offer.strip()}\n")
        output.reply("try_help")

    def _open_model(self, turn: TurnInput) -> TextModel | None:
        if self._file is None or turn.model == RULES:
            return None
        if self._model is None:
            build: Callable[[ModelFile], TextModel] = self._load(ENGINE)
            self._model = build(self._file)
        return self._model

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()
            self._model = None


def _is_latin(text: str) -> bool:
    """True when the text is mostly ASCII letters; quotes, dashes and an é do not matter."""
    letters = [char for char in text if char.isalpha()]
    return sum(char.isascii() for char in letters) > 0.8 * len(letters)


def make(kit: PluginAccess) -> OfflineRuntime:
    """Builds the runtime from the settings."""
    return OfflineRuntime(kit.settings, kit.load)
