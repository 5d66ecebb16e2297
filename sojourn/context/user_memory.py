"""User memory: the context source for the facts of the session's principal."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.context.bm25 import Bm25Index
from sojourn.context.budget import fit_blocks, render_block, to_memory_progress
from sojourn.context.facts import KIND, Facts
from sojourn.context.query_expansion import expand_query
from sojourn.core.events import Progress
from sojourn.core.sessions import Principal
from sojourn.ports.app import HasStore
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.libraries import Fact
from sojourn.text.token_count import estimate_tokens


class UserMemory:
    """Context source: all facts if they fit, otherwise those nearest to the request, with a note about the rest."""

    name = "facts"
    stage: Stage = "memory"

    def __init__(self, kit: HasStore) -> None:
        self._kit = kit

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        principal = request.session.principal
        facts = await Facts(self._kit.store, principal).all()
        if not facts:
            return ContextContribution()
        chosen, count = facts, len(facts)
        whole = _build_block(facts, principal, "everything you asked me to remember")
        if estimate_tokens(render_block(whole)) > request.budget:
            chosen = _choose_nearest(facts, request.said, request.budget, principal)
            reason = f"the {len(chosen)} of {count} facts that are nearest to the request"
            whole = _build_block(chosen, principal, reason)
        left = tuple(_describe(fact) for fact in facts if fact not in chosen)
        note = (f"The memory is full: {len(left)} of {count} facts did not fit.", *left) if left else ()
        kept, _ = fit_blocks([whole] if chosen else [], request.budget)
        shown = tuple(_to_progress(fact, whole) for fact in chosen) if kept else ()
        return ContextContribution(blocks=tuple(kept), shown=shown, left_out=note)


def make(kit: HasStore) -> UserMemory:
    return UserMemory(kit)


def _render_fact(fact: Fact) -> str:
    return f"- {fact.text}" + (f" ({fact.why})" if fact.why else "")


def _build_block(facts: Sequence[Fact], principal: Principal, reason: str) -> ContextBlock:
    return ContextBlock(
        kind=KIND,
        title="What to remember",
        text="\n".join(map(_render_fact, facts)),
        origin=f"memory of {principal}",
        reason=reason,
    )


def _choose_nearest(facts: Sequence[Fact], said: str, budget: int, principal: Principal) -> list[Fact]:
    """Returns as many facts as fit: those with words of the request first, then the newest."""
    index = Bm25Index([[(fact.text, 1), (fact.why, 0.5)] for fact in facts])
    scores = index.score(expand_query(said, index))
    order = sorted(range(len(facts)), key=lambda n: (-scores[n], -facts[n].updated_at, n))
    heading = f"the {len(facts)} of {len(facts)} facts that are nearest to the request"
    room = budget - estimate_tokens(render_block(_build_block([], principal, heading)))
    chosen: list[Fact] = []
    for number in order:
        cost = estimate_tokens(_render_fact(facts[number])) + 1  # and its line break
        if cost <= room:
            room -= cost
            chosen.append(facts[number])
    return chosen


def _to_progress(fact: Fact, block: ContextBlock) -> Progress:
    origin = f"fact {fact.id}" + (f", said in {fact.source_session}" if fact.source_session else "")
    one = ContextBlock(
        kind=KIND,
        title=fact.text[:80],
        text=fact.text,
        origin=origin,
        reason=block.reason,
        tokens=estimate_tokens(_render_fact(fact)),
    )
    return to_memory_progress(one)


def _describe(fact: Fact) -> str:
    return f"fact {fact.id}: {fact.text[:60]}"
