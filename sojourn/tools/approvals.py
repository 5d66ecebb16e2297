"""What may be done without asking: the setting `tools.approval`. Whoever answers `Workspace.ask` remembers what was
allowed for the session or for good; what is dangerous is asked every time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sojourn.core.errors import BadConfig, NotAllowed
from sojourn.ports.app import HasSettings
from sojourn.ports.tool import Question, Tool, Workspace

Word = Literal["ask", "always", "deny"]
WORDS: Mapping[str, Word] = {"ask": "ask", "always": "always", "deny": "deny"}


@dataclass(frozen=True, slots=True)
class Policy:
    """The setting, read: a word for all tools, and other words for some."""

    usual: Word = "ask"
    special: Mapping[str, Word] = field(default_factory=dict)

    def of(self, tool: str) -> Word:
        return self.special.get(tool, self.usual)


def read_policy(raw: str) -> Policy:
    """`ask`, or `ask, terminal=deny, write_file=always`. BadConfig."""
    usual: Word = "ask"
    special: dict[str, Word] = {}
    for one in filter(None, (part.strip() for part in raw.split(","))):
        name, given, word = one.rpartition("=")
        meant = WORDS.get(word.strip().lower())
        if meant is None or (given and not name.strip()):
            raise BadConfig(
                f"tools.approval has {one!r}, which is none of ask, always, deny.",
                hint='Example: "ask, terminal=deny, write_file=always".',
            )
        if given:
            special[name.strip()] = meant
        else:
            usual = meant
    return Policy(usual, special)


class Approvals:
    """Decides whether a call may go on."""

    def __init__(self, kit: HasSettings) -> None:
        self.policy = read_policy(str(kit.settings["tools.approval"]))

    async def allow(self, tool: Tool, question: Question | None, at: Workspace) -> None:
        """Returns when the call may go on; NotAllowed says why it may not, in words for the model."""
        word = self.policy.of(tool.name)
        if word == "deny" and (question is not None or tool.effect != "reads" or tool.name in self.policy.special):
            raise NotAllowed(
                f"The person's settings do not allow {tool.name}.", hint="Do without it, or say what you would do."
            )
        if question is None or (word == "always" and not question.dangerous):
            return
        choices = ("once", "deny") if question.dangerous else ("once", "session", "always", "deny")
        reply = await at.ask(replace(question, id=f"q_{os.urandom(8).hex()}", tool=tool.name, choices=choices))
        if reply.choice not in choices or not reply.allowed:
            raise NotAllowed(
                f"The person did not allow it{': ' + reply.why if reply.why else '.'}",
                hint="Do not try it another way; ask what they would like instead.",
            )
