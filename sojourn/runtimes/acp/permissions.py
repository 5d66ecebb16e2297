"""An agent asks for permission with options of its own; the person answers in our words."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence

from sojourn.core.errors import SojournError
from sojourn.core.messages import Json
from sojourn.core.plain import plain
from sojourn.ports.runtime import TurnInput
from sojourn.ports.tool import Question
from sojourn.runtimes.acp.jsonrpc import Params

CANCELLED: Params = {"outcome": {"outcome": "cancelled"}}
_ORDER = ("once", "session", "always", "deny")


class Permissions:
    """The questions of one turn. When the turn is over, those still open are answered with "cancelled".
    `unanswered` hears of a question to which nobody said anything in time."""

    def __init__(
        self, turn: TurnInput, agent: str, seconds: float, unanswered: Callable[[dict[str, Json]], None]
    ) -> None:
        self._turn, self._agent, self._seconds, self._unanswered = turn, agent, seconds, unanswered
        self._numbers = itertools.count(1)
        self._over = asyncio.Event()
        self.kept: list[dict[str, Json]] = []

    async def ask(self, params: Params) -> Json:
        options = choices_of(params.get("options"))
        question = _question(params, options, f"{self._turn.turn}-{next(self._numbers)}", self._agent)
        kept: dict[str, Json] = {"question": question.id, "detail": question.detail, "choice": "deny", "why": ""}
        self.kept.append(kept)
        asking = asyncio.ensure_future(self._turn.ask(question))
        over = asyncio.create_task(self._over.wait())
        await asyncio.wait({asking, over}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if self._over.is_set():
            asking.cancel()
            kept.update(choice="", why="The turn was over first.")
            return CANCELLED
        if not asking.done():
            asking.cancel()
            kept["why"] = f"Nobody answered within {self._seconds:g} seconds."
            self._unanswered(kept)
        else:
            try:
                kept.update(choice=asking.result().choice, why=asking.result().why)
            except SojournError as error:
                kept["why"] = str(error)
        chosen = options.get(str(kept["choice"])) or options.get("deny")
        return {"outcome": {"outcome": "selected", "optionId": chosen}} if chosen else CANCELLED

    def end(self) -> None:
        self._over.set()


def choices_of(options: Json) -> dict[str, str]:
    """Our words for the options, each with its option's id. Of two that mean the same to us the first counts."""
    found: dict[str, str] = {}
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict) and isinstance(option.get("optionId"), str):
            found.setdefault(_word(option), option["optionId"])
    if "never" in found:
        found.setdefault("deny", found["never"])
    return {word: found[word] for word in _ORDER if word in found}


def _word(option: Params) -> str:
    kind, words = str(option.get("kind")), f"{option.get('optionId')} {option.get('name')}".lower()
    if kind == "allow_once":
        return "once"
    if kind == "allow_always":
        return "session" if "session" in words else "always"
    return "deny" if kind == "reject_once" else "never"


def _question(params: Params, options: dict[str, str], name: str, agent: str) -> Question:
    call = params.get("toolCall")
    told: Params = call if isinstance(call, dict) else {}
    title = plain(str(told.get("title") or "something"))
    raw = told.get("rawInput")
    command = raw.get("command") or raw.get("path") if isinstance(raw, dict) else None
    choices: Sequence[str] = [*options, *(["deny"] if "deny" not in options else [])]
    return Question(
        id=name,
        text=f"{agent} wants to do this: {title}",
        tool=str(told.get("kind") or "other"),
        detail=plain(str(command or title)),
        choices=tuple(choices),
        dangerous=True,
    )
