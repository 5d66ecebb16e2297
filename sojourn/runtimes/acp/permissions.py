"""Maps an agent's permission requests to approval questions, and the answers to the agent's options."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable

from sojourn.core.errors import SojournError
from sojourn.core.messages import Json
from sojourn.jsonrpc import Params, as_object, list_objects
from sojourn.ports.runtime import TurnInput
from sojourn.ports.tool import Question
from sojourn.text.ansi import strip_control

CHOICES = ("once", "deny")  # an agent runs outside our sandbox: it is asked about every time
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
        chosen = options.get(str(answer["choice"])) if answer["choice"] in question.choices else None
        chosen = chosen or options.get("deny")
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
    title = str(call.get("title") or "something")
    return Question(
        id=name,
        text=f"{agent} asks to do this, outside our sandbox: {strip_control(title)}",
        tool=str(call.get("kind") or "other"),
        detail=_exact_text(as_object(call.get("rawInput"))) or title,
        choices=tuple(one for one in CHOICES if one in options or one == "deny"),
        dangerous=True,
        scope="outside",
    )


def _exact_text(arguments: Params) -> str:
    """All that the agent says about a call: the command line alone, or every argument."""
    command = arguments.get("command")
    if isinstance(command, str) and set(arguments) <= {"command", "description"}:
        return command
    return json.dumps(arguments, ensure_ascii=False, indent=1) if arguments else ""
