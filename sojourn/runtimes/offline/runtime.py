"""offline: a runtime that needs no API key and no network.

Rules recognise requests and carry them out with tools. Other text gets help, and what past sessions say about it. The
small model of this machine answers only who chose it: it is often wrong.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from sojourn.core.events import Done
from sojourn.core.messages import Message, is_internal, text_of
from sojourn.core.settings import Settings
from sojourn.lazy import Lazy
from sojourn.ports.app import PluginAccess
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, TurnInput
from sojourn.runtimes.models.local_model import USUAL_PORTS, find_local_model
from sojourn.runtimes.offline.actions import OfflineActions
from sojourn.runtimes.offline.intents import is_chinese, parse_intent, topic_words
from sojourn.runtimes.offline.small_model import TokenUsage, find_model_file, write_answer
from sojourn.runtimes.offline.turn_output import OfflineOutput, render_reply

if TYPE_CHECKING:
    from sojourn.runtimes.offline.engine import LlamaEngine

ENGINE: Lazy[type[LlamaEngine]] = Lazy("sojourn.runtimes.offline.engine:LlamaEngine")  # its library is an extra
RULES = "rules"  # the model name for no model at all
_MAX_QUOTE_CHARS = 280


class OfflineRuntime:
    """The default without an API key. `load` imports a lazy part."""

    name = "offline"
    label = "Offline helper"
    takes_tool_history = False

    def __init__(
        self, settings: Settings, load: Callable[[Lazy[Any]], Any], *, usual: Sequence[tuple[int, str]] = USUAL_PORTS
    ) -> None:
        self._settings, self._load, self._usual = settings, load, usual
        self._file = find_model_file(settings)
        self._model: LlamaEngine | None = None

    async def _render_offer(self, chinese: bool) -> str:
        choice = await find_local_model(self._settings, self._usual)
        return render_reply("offer", chinese, server=choice.provider.label, model=choice.name) if choice else ""

    async def ready(self) -> RuntimeStatus:
        choice = await find_local_model(self._settings, self._usual)
        hint = "" if self._file else "Ask “how do I use a better model?” to connect one."
        if choice is not None:
            hint = f"{choice.provider.label} is running here with {choice.name}: use the runtime `native` for it."
        if self._file is None:
            return RuntimeStatus(ok=True, detail="rules only, no language model", hint=hint, models=(RULES,))
        detail = (
            "rules, no language model" if self._file.is_optional else f"rules, and {self._file.label} for free text"
        )
        return RuntimeStatus(ok=True, detail=detail, hint=hint, models=(RULES, self._file.label))

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        output, used = OfflineOutput(turn), list[TokenUsage]()
        async with aclosing(output.stream(self._answer(output, used))) as items:
            async for item in items:
                yield item
        usage = {
            "model": self._file.label if used and self._file else RULES,
            "requests": len(used),
            "input_tokens": sum(one.input_tokens for one in used),
            "output_tokens": sum(one.output_tokens for one in used),
            "cost_usd": None,
        }
        yield Done(usage=usage)

    async def _answer(self, output: OfflineOutput, used: list[TokenUsage]) -> None:
        if output.turn.internal:
            output.write(render_greeting(output.turn) + "\n")
            return
        intent, actions = parse_intent(output.turn.said), OfflineActions(output)
        if intent.kind == "free":
            await self._answer_free_text(output, actions, intent.text, used)
        elif not await actions.do(intent):
            model = render_reply("model", output.chinese, label=self._file.label) if self._file else ""
            output.reply(intent.kind, model=model, offer=await self._render_offer(output.chinese))

    async def _answer_free_text(
        self, output: OfflineOutput, actions: OfflineActions, text: str, used: list[TokenUsage]
    ) -> None:
        """Searches past sessions for the words and offers help; asks the small model, which knows English only, if it
        was chosen."""
        model = self._open_model(output.turn)
        if model is not None and self._file is not None and _is_latin(text):
            label = render_reply("label", output.chinese, label=self._file.label)
            if usage := await write_answer(output, model, label):
                used.append(usage)
            else:
                output.reply("model_quiet")
            return
        output.reply("not_this_language" if model else "not_understood")
        words = [word for word in topic_words(text) if len(word) > 2 or output.chinese][:6]
        if output.has_tool("session_search") and (mentions := await actions.search_sessions(words, max_queries=2)):
            actions.write_mentions("but_found", " ".join(words), mentions)
        if offer := await self._render_offer(output.chinese):
            output.write(f"{offer.strip()}\n")
        output.reply("try_help")

    def _open_model(self, turn: TurnInput) -> LlamaEngine | None:
        if self._file is None or turn.model == RULES or (self._file.is_optional and turn.model != self._file.label):
            return None
        if self._model is None:
            engine: type[LlamaEngine] = self._load(ENGINE)
            self._model = engine(self._file)
        return self._model

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()
            self._model = None


def _is_latin(text: str) -> bool:
    """True when the text is mostly ASCII letters; quotes, dashes and an é do not matter."""
    letters = [char for char in text if char.isalpha()]
    return sum(char.isascii() for char in letters) > 0.8 * len(letters)


def render_greeting(turn: TurnInput) -> str:
    """Renders the greeting after a hand-off: the session's title and its last exchange.

    The hand-off's announcement is not a request: the greeting neither quotes nor answers it.
    """
    messages = [past.message for past in reversed(turn.history) if text_of(past.message).strip()]
    request = next((_quote(one) for one in messages if one.role == "user" and not is_internal(one)), "")
    answer = next((_quote(one) for one in messages if one.role == "assistant"), "")
    chinese = is_chinese(request or turn.session.title or "")
    last = render_reply("arrived_asked", chinese, words=request) if request else ""
    last += render_reply("arrived_answered", chinese, words=answer) if answer else ""
    title = turn.session.title or render_reply("untitled", chinese)
    return render_reply("arrived", chinese, title=title, last=last or render_reply("arrived_nothing", chinese)).strip()


def _quote(message: Message) -> str:
    line = " ".join(text_of(message).split())
    return line if len(line) <= _MAX_QUOTE_CHARS else line[:_MAX_QUOTE_CHARS].rstrip() + " …"


def make(app: PluginAccess) -> OfflineRuntime:
    """Builds the runtime from the settings."""
    return OfflineRuntime(app.settings, app.load)
