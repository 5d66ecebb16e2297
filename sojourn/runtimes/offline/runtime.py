"""offline: works with no key and no network, and says what it is.

Rules recognise what they can and use the tools for it. What fits no rule goes to the very small model of this
machine, where there is one; where there is none, past sessions are searched for it, and that is said.
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
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, SaveState, TurnInput
from sojourn.runtimes.models.local import USUAL, LocalServer, detect, for_chat
from sojourn.runtimes.offline.acting import Acting
from sojourn.runtimes.offline.arriving import where_things_stand
from sojourn.runtimes.offline.replies import say
from sojourn.runtimes.offline.small_talk import Speaks, Used, answer
from sojourn.runtimes.offline.sources import topic
from sojourn.runtimes.offline.stage import Stage
from sojourn.runtimes.offline.trail import trail_from
from sojourn.runtimes.offline.weights import Weights, find_weights
from sojourn.runtimes.offline.wishes import Wish, is_chinese, wish

if TYPE_CHECKING:
    from sojourn.runtimes.offline.engine import Engine

ENGINE: Lazy[type[Engine]] = Lazy("sojourn.runtimes.offline.engine:Engine")  # its library is an extra
RULES = "rules"  # the model to name when the small one shall keep quiet
_FRESH = 60.0  # seconds for which a look at this machine's ports is believed


class Offline:
    """The default without a key. `load` gives what a dotted name stands for: the engine is an extra."""

    name = "offline"
    label = "Offline helper"
    takes_tool_history = False

    def __init__(
        self, settings: Settings, load: Callable[[Lazy[Any]], Any], *, usual: Sequence[tuple[int, str]] = USUAL
    ) -> None:
        self._settings, self._load, self._usual = settings, load, usual
        self._weights: Weights | None = find_weights(settings)
        self._model: Speaks | None = None
        self._seen: tuple[float, LocalServer | None] | None = None

    # what there is
    async def _server(self) -> LocalServer | None:
        """A real model server on this machine, if one answers."""
        now = time.monotonic()
        if self._seen is None or now - self._seen[0] > _FRESH:
            found = [server for server in await detect(self._settings, self._usual) if server.choice()]
            self._seen = (now, found[0] if found else None)
        return self._seen[1]

    async def _offer(self, chinese: bool) -> str:
        server = await self._server()
        if server is None:
            return ""
        return say("offer", chinese, server=server.provider.label, model=for_chat(server.models)[0])

    async def ready(self) -> RuntimeStatus:
        server = await self._server()
        halves = f"rules, and {self._weights.label} for free text" if self._weights else "rules only, no language model"
        hint = ""
        if server is not None:
            name = for_chat(server.models)[0]
            hint = f"{server.provider.label} is running here with {name}: use the runtime `native` for it."
        elif self._weights is None:
            hint = "For free text install the small model, or start Ollama: see docs/how-to/models.md."
        models = (self._weights.label, RULES) if self._weights else (RULES,)
        return RuntimeStatus(ok=True, detail=halves, hint=hint, models=models)

    # a turn
    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        stage, used = Stage(turn), list[Used]()
        acting = Acting(stage, trail_from(turn.state), is_chinese(turn.said))
        async with aclosing(stage.play(self._act(acting, used))) as items:
            async for item in items:
                yield item
        yield SaveState(acting.trail.as_state())
        yield Done(usage=self._usage(used))

    def _usage(self, used: Sequence[Used]) -> dict[str, str | int | None]:
        return {
            "model": self._weights.label if used and self._weights else RULES,
            "requests": len(used),
            "input_tokens": sum(one.input_tokens for one in used),
            "output_tokens": sum(one.output_tokens for one in used),
            "cost_usd": None,
        }

    async def _act(self, acting: Acting, used: list[Used]) -> None:
        turn, chinese = acting.stage.turn, is_chinese(acting.stage.turn.said)
        if turn.internal:
            acting.stage.say(where_things_stand(turn) + "\n")
            return
        wanted = wish(turn.said)
        if wanted.kind == "again":
            await acting.again()
        elif wanted.kind == "more":
            await acting.more()
        elif wanted.kind == "nth":
            await acting.pick(wanted.number)
        elif acting.can(wanted):
            await acting.do(wanted)
        elif wanted.kind == "free":
            await self._free(acting, wanted, used)
        else:
            acting.stage.say(await self._about(wanted.kind, chinese) + "\n")

    async def _about(self, kind: str, chinese: bool) -> str:
        """What it says about itself, and small politeness."""
        label = self._weights.label if self._weights else ""
        return say(
            kind,
            chinese,
            offer=await self._offer(chinese) if kind in ("greet", "who", "help", "setup", "agent") else "",
            model=say("model", chinese, label=label) if label else "",
            model_long=say("model_long" if label else "no_model_long", chinese, label=label),
            free=say("free_with" if label else "free_without", chinese, label=label),
        )

    async def _free(self, acting: Acting, wanted: Wish, used: list[Used]) -> None:
        """The small model speaks English only; whoever speaks something else is told so, not given nonsense."""
        chinese, stage = is_chinese(wanted.text), acting.stage
        if _latin(wanted.text) and len(wanted.text.split()) < 2 and stage.has("session_search"):
            await acting.do(Wish(kind="recall", text=wanted.text))  # one word is no question, but may be a topic
            acting.say("try_help")
            return
        model = self._speaker(stage.turn) if _latin(wanted.text) else None
        if model is not None and self._weights is not None:
            spent = await answer(stage, model, say("label", chinese, label=self._weights.label))
            if spent is None:
                acting.say("model_quiet")
            else:
                used.append(spent)
            return
        acting.say("not_this_language" if self._speaker(stage.turn) else "not_understood")
        words = [word for word in topic(wanted.text) if len(word) > 2 or chinese][:6]
        found = await acting.look_up(words, tries=2) if words and stage.has("session_search") else []
        if found:
            acting.listed_hits("but_found", " ".join(words), found)
        if offer := await self._offer(chinese):
            stage.say(f"{offer.strip()}\n")
        acting.say("try_help")

    def _speaker(self, turn: TurnInput) -> Speaks | None:
        if self._weights is None or turn.model == RULES:
            return None
        if self._model is None:
            make: Callable[[Weights], Speaks] = self._load(ENGINE)
            self._model = make(self._weights)
        return self._model

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()
            self._model = None


def _latin(text: str) -> bool:
    """Whether this is mostly written in our letters: quotes, dashes and an é are no foreign language."""
    letters = [char for char in text if char.isalpha()]
    return sum(char.isascii() for char in letters) > 0.8 * len(letters)


def make(kit: PluginAccess) -> Offline:
    return Offline(kit.settings, kit.load)
