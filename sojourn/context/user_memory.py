"""User memory: the facts of the session's person, put before the runtime."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.context.expansion import asked
from sojourn.context.facts import KIND, Facts
from sojourn.context.packing import pack, told, written
from sojourn.context.ranking import Index
from sojourn.core.events import Progress
from sojourn.core.sessions import Principal
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.kit import Kit
from sojourn.ports.libraries import Fact
from sojourn.text.token_count import estimate_tokens


class UserMemory:
    """All facts while they fit, else the nearest ones, and then it says that the memory is full."""

    name = "facts"
    stage: Stage = "memory"

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        principal = request.session.principal
        facts = await Facts(self._kit.store, principal).all()
        if not facts:
            return ContextContribution()
        chosen, count = facts, len(facts)
        whole = _block(facts, principal, "everything you asked me to remember")
        if estimate_tokens(written(whole)) > request.budget:
            chosen = _nearest(facts, request.said, request.budget, principal)
            reason = f"the {len(chosen)} of {count} facts that are nearest to the request"
            whole = _block(chosen, principal, reason)
        left = tuple(_left(fact) for fact in facts if fact not in chosen)
        note = (f"The memory is full: {len(left)} of {count} facts did not fit.", *left) if left else ()
        kept, _ = pack([whole] if chosen else [], request.budget)
        shown = tuple(_shown(fact, whole) for fact in chosen) if kept else ()
        return ContextContribution(blocks=tuple(kept), shown=shown, left_out=note)


def make(kit: Kit) -> UserMemory:
    return UserMemory(kit)


def _line(fact: Fact) -> str:
    return f"- {fact.text}" + (f" ({fact.why})" if fact.why else "")


def _block(facts: Sequence[Fact], principal: Principal, reason: str) -> ContextBlock:
    return ContextBlock(
        kind=KIND,
        title="What to remember",
        text="\n".join(map(_line, facts)),
        origin=f"memory of {principal}",
        reason=reason,
    )


def _nearest(facts: Sequence[Fact], said: str, budget: int, principal: Principal) -> list[Fact]:
    """The facts with words of the request first, then the newest, as many as fit."""
    index = Index([[(fact.text, 1), (fact.why, 0.5)] for fact in facts])
    scores = index.scores(asked(said, index))
    order = sorted(range(len(facts)), key=lambda n: (-scores[n], -facts[n].updated_at, n))
    heading = f"the {len(facts)} of {len(facts)} facts that are nearest to the request"
    room = budget - estimate_tokens(written(_block([], principal, heading)))
    chosen: list[Fact] = []
    for number in order:
        cost = estimate_tokens(_line(facts[number])) + 1  # and its line break
        if cost <= room:
            room -= cost
            chosen.append(facts[number])
    return chosen


def _shown(fact: Fact, block: ContextBlock) -> Progress:
    origin = f"fact {fact.id}" + (f", said in {fact.source_session}" if fact.source_session else "")
    one = ContextBlock(
        kind=KIND,
        title=fact.text[:80],
        text=fact.text,
        origin=origin,
        reason=block.reason,
        tokens=estimate_tokens(_line(fact)),
    )
    return told(one)


def _left(fact: Fact) -> str:
    return f"fact {fact.id}: {fact.text[:60]}"
