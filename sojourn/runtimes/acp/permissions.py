"""Maps an agent's permission requests to approval questions, and the answers to the agent's options."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence

from sojourn.core.errors import SojournError
from sojourn.core.messages import Json
from sojourn.ports.runtime import TurnInput
from sojourn.ports.tool import Question
from sojourn.runtimes.acp.jsonrpc import Params, as_object, list_objects
from sojourn.text.ansi import strip_control

CANCELLED: Params = {"outcome": {"outcome": "cancelled"}}
_ORDER = ("once", "session", "always", "deny")


class Permissions:
    """The permission requests of one turn. `cancel_open` answers open ones with "cancelled" when the turn ends.

    on_unanswered: called for a question that nobody answered in time
    """

    def __init__(
        self, turn: TurnInput, agent: str, seconds: float, on_unanswered: Callable[[dict[str, Json]], None]
    ) -> None:
        self._turn, self._agent, self._seconds, self._on_unanswered = turn, agent, seconds, on_unanswered
        self._numbers = itertools.count(1)
        self._over = asyncio.Event()
        self.answers: list[dict[str, Json]] = []

    async def ask(self, params: Params) -> Json:
        options = map_options(params.get("options"))
        question = _to_question(params, options, f"{self._turn.turn}-{next(self._numbers)}", self._agent)
        answer: dict[str, Json] = {"question": question.id, "detail": question.detail, "choice": "deny", "why": ""}
        self.answers.append(answer)
        asking = asyncio.ensure_future(self._turn.ask(question))
        over = asyncio.create_task(self._over.wait())
        await asyncio.wait({asking, over}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if self._over.is_set():
            asking.cancel()
            answer.update(choice="", why="The turn was over first.")
            return CANCELLED
        if not asking.done():
            asking.cancel()
            answer["why"] = f"Nobody answered within {self._seconds:g} seconds."
            self._on_unanswered(answer)
        else:
            try:
                answer.update(choice=asking.result().choice, why=asking.result().why)
            except SojournError as error:
                answer["why"] = str(error)
        chosen = options.get(str(answer["choice"])) or options.get("deny")
        return {"outcome": {"outcome": "selected", "optionId": chosen}} if chosen else CANCELLED

    def cancel_open(self) -> None:
        self._over.set()


def map_options(options: Json) -> dict[str, str]:
    """Maps our choices to the ids of the agent's options; of two options for one choice the first wins."""
    found: dict[str, str] = {}
    for option in list_objects(options):
        if isinstance(option.get("optionId"), str):
            found.setdefault(_choice_of(option), option["optionId"])
    if "never" in found:
        found.setdefault("deny", found["never"])
    return {word: found[word] for word in _ORDER if word in found}


def _choice_of(option: Params) -> str:
    kind, words = str(option.get("kind")), f"{option.get('optionId')} {option.get('name')}".lower()
    if kind == "allow_once":
        return "once"
    if kind == "allow_always":
        return "session" if "session" in words else "always"
    return "deny" if kind == "reject_once" else "never"


def _to_question(params: Params, options: dict[str, str], name: str, agent: str) -> Question:
    call = as_object(params.get("toolCall"))
    title = strip_control(str(call.get("title") or "something"))
    arguments = as_object(call.get("rawInput"))
    command = arguments.get("command") or arguments.get("path")
    choices: Sequence[str] = [*options, *(["deny"] if "deny" not in options else [])]
    return Question(
        id=name,
        text=f"{agent} asks to do this: {title}",
        tool=str(call.get("kind") or "other"),
        detail=strip_control(str(command or title)),
        choices=tuple(choices),
        dangerous=True,
    )
