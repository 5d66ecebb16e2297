"""Effectiveness: the outcomes of sessions that had a template, compared with those that had none."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from statistics import mean
from typing import TYPE_CHECKING, Any

from sojourn.core.messages import Json, Message, text_of
from sojourn.lazy import Lazy
from sojourn.templates.model import TaskType
from sojourn.templates.tool_names import classify
from sojourn.text.template_examples import is_example
from sojourn.text.token_count import estimate_tokens

if TYPE_CHECKING:
    from sojourn.templates.extract import judge_messages

    _judge_messages: Callable[[Sequence[Message]], list[tuple[str, bool]]] = judge_messages

# The judge's patterns take a tenth of a second: only a turn with tool calls loads them.
JUDGE_MESSAGES: Lazy[Callable[[Sequence[Message]], list[tuple[str, bool]]]] = Lazy(
    "sojourn.templates.extract:judge_messages"
)
ENOUGH = 5  # sessions on each side before there is a verdict
WORSE = 0.1  # by how much a share may fall before that counts


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutcome:
    """The outcome of one session. `status` is that of its last turn; `tokens` is the estimated size of its texts."""

    session: str
    templates: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()  # those the person did not want
    turns: int = 0
    tokens: int = 0
    calls: int = 0
    failed: int = 0
    status: str = ""
    tools: Mapping[str, int] = field(default_factory=dict)
    at: float = 0.0

    @property
    def task_type(self) -> TaskType:
        return classify(name for name, count in self.tools.items() for _ in range(count))

    @property
    def ended_well(self) -> bool:
        """The last turn was finished, and most of its tool calls worked."""
        return self.status == "completed" and 2 * self.failed <= self.calls

    def after(self, messages: Sequence[Message], status: str) -> SessionOutcome:
        """The outcome with one more turn."""
        real = [one for one in messages if not is_example(one)]
        done = JUDGE_MESSAGES.load()(real) if any(one.tool_calls for one in real) else []
        return replace(
            self,
            turns=self.turns + 1,
            tokens=self.tokens + sum(estimate_tokens(text_of(one)) for one in real),
            calls=self.calls + len(done),
            failed=self.failed + sum(not worked for _, worked in done),
            status=status,
            tools=dict(Counter(self.tools) + Counter(tool for tool, _ in done)),
            at=time.time(),
        )

    def to_dict(self) -> dict[str, Json]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> SessionOutcome:
        """Reads the JSON form. Keys that are not known are ignored."""
        found = data if isinstance(data, Mapping) else {}
        known = {one.name: found[one.name] for one in fields(cls) if one.name in found}
        lists = {name: tuple(known.get(name, ())) for name in ("templates", "dropped")}
        return cls(**{"session": "", **known, **lists})


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The mean figures of several sessions."""

    sessions: int = 0
    success: float = 0.0
    turns: float = 0.0
    tokens: float = 0.0

    @classmethod
    def of(cls, outcomes: Sequence[SessionOutcome]) -> Group:
        done = [one for one in outcomes if one.turns]
        if not done:
            return cls()
        return cls(
            sessions=len(done),
            success=round(mean(one.ended_well for one in done), 3),
            turns=round(mean(one.turns for one in done), 2),
            tokens=round(mean(one.tokens for one in done)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Sessions with a template beside those of the same type without any."""

    name: str
    task_type: TaskType
    with_it: Group
    without: Group
    dropped: int = 0

    @property
    def verdict(self) -> str:
        ours, theirs = self.with_it, self.without
        if ours.sessions + self.dropped >= ENOUGH and 2 * self.dropped >= ours.sessions + self.dropped:
            return "retire: it is mostly dropped"
        if ours.sessions < ENOUGH or theirs.sessions < ENOUGH:
            return "too early to say"
        if ours.success < theirs.success - WORSE:
            return "retire: sessions with it succeed less often"
        if ours.success <= theirs.success and ours.turns >= theirs.turns and ours.tokens >= theirs.tokens:
            return "retire: sessions with it are not better, shorter or cheaper"
        return "it pays"

    @property
    def retires(self) -> bool:
        return self.verdict.startswith("retire")

    def to_dict(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "task_type": self.task_type.value,
            "with": asdict(self.with_it),
            "without": asdict(self.without),
            "dropped": self.dropped,
            "verdict": self.verdict,
            "retire": self.retires,
        }


def compare_outcomes(names: Mapping[str, TaskType], outcomes: Sequence[SessionOutcome]) -> list[Comparison]:
    """Compares the sessions of each template with those of its type that had none."""
    without: dict[TaskType, list[SessionOutcome]] = {kind: [] for kind in TaskType}
    for one in outcomes:
        if not one.templates and not one.dropped:
            without[one.task_type].append(one)
    made = []
    for name, kind in names.items():
        ours = [one for one in outcomes if name in one.templates]
        dropped = sum(name in one.dropped for one in outcomes)
        beside = Group.of(without[kind])
        made.append(Comparison(name=name, task_type=kind, with_it=Group.of(ours), without=beside, dropped=dropped))
    return made
