"""Verifies recurring sequences: reads their newest runs again and suggests those that worked and lasted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from sojourn.ports.history import History
from sojourn.templates import tool_names
from sojourn.templates.create import REQUEST_CHARS
from sojourn.templates.extract import judge_conversation, read_conversation, to_example
from sojourn.templates.model import SessionTemplate, ToolCallExample, default_description
from sojourn.templates.parameters import generalise_runs
from sojourn.templates.sanitize import Cleaner
from sojourn.templates.sequence_mining import MAX_SUGGESTIONS, MIN_SESSIONS, StepSequence, find_recurring
from sojourn.templates.session_shape import Digest
from sojourn.templates.suggestions import Suggestion
from sojourn.templates.tool_calls import Exchange

RUNS = 5  # how many runs are looked at to see what varies
EVIDENCE = 10  # how many runs are judged and named as evidence
TRIED = 3 * EVIDENCE  # how many are read for that at the most


def find_suggestions(
    history: History,
    digests: Mapping[str, Digest],
    newest: Sequence[str],
    *,
    cleaner: Cleaner | None = None,
    decided: Mapping[str, float] | None = None,
) -> list[Suggestion]:
    """The best shapes of a history as suggestions. `newest` are its sessions, newest first; `decided` shapes a person
    has already spoken about make room for others until so many sessions hold them."""
    clean = cleaner or Cleaner()
    needed = decided or {}
    shapes = find_recurring(digests, most=2 * MAX_SUGGESTIONS + len(needed))  # some will not hold
    open_ones = (shape for shape in shapes if shape.sessions >= needed.get(shape.words, 0))
    order = {session: place for place, session in enumerate(newest)}
    proof = _Proof(history, order)
    found = (_make_suggestion(proof, shape, clean) for shape in open_ones)
    return list(islice((made for made in found if made is not None), MAX_SUGGESTIONS))


class _Proof:
    """Runs of shapes, read again and judged. Good shapes stand in the same sessions: none is read twice."""

    def __init__(self, history: History, order: Mapping[str, int]) -> None:
        self._order = order
        self._conversation = cache(partial(read_conversation, history))
        self._verdicts = cache(lambda session: judge_conversation(self._conversation(session)))

    def find_runs(self, shape: StepSequence) -> tuple[list[_Run], int]:
        """The runs that prove a shape, and how many sessions may hold it; no runs if they do not prove it."""
        newest = sorted(shape.runs, key=lambda session: self._order.get(session, len(self._order)))
        runs: list[_Run] = []
        seen: set[Hashable] = set()
        tried = failed = 0
        for session in newest[:TRIED]:
            if len(runs) == EVIDENCE:
                break
            tried += 1
            conversation, places = self._conversation(session), shape.runs[session]
            if not places or places[-1] >= len(conversation.exchanges):
                continue  # it changed while we looked
            run = _Run(session, conversation.request, [conversation.exchanges[at] for at in places])
            if (own := _identify(run)) in seen:
                continue  # the same run again, in a branch or a copy of its session: that proves nothing more
            seen.add(own)
            if all(self._verdicts(session)[at].success for at in places):
                runs.append(run)
            else:
                failed += 1
        sessions = shape.sessions - (tried - len(runs))
        is_proven = min(len(runs), sessions) >= MIN_SESSIONS and failed <= len(runs)
        return (runs, sessions) if is_proven else ([], 0)


class _Run(NamedTuple):
    session: str
    request: str
    calls: Sequence[Exchange]


def _make_suggestion(proof: _Proof, shape: StepSequence, clean: Cleaner) -> Suggestion | None:
    runs, sessions = proof.find_runs(shape)
    if not runs:
        return None
    cleaned = [[clean.example(to_example(one)) for one in run.calls] for run in runs[:RUNS]]
    requests = [clean.text(run.request[:REQUEST_CHARS]) for run in runs[:RUNS]]
    evidence = tuple((run.session, run.calls[0].row) for run in runs)
    id = hashlib.blake2b(shape.words.encode(), digest_size=4).hexdigest()
    examples = generalise_runs(_unify_tools(cleaned))
    template = SessionTemplate(
        name=f"{_to_slug(shape.steps)}-{id[:4]}",
        task_type=tool_names.classify(one.tool_name for one in examples),
        examples=examples,
        source_session_id=evidence[0][0],
        description=f"{default_description(len(examples))}, seen in {sessions} sessions: {shape.words}"[:300],
    )
    return Suggestion(
        id=id,
        shape=shape.words,
        sessions=sessions,
        evidence=evidence,
        template=template,
        requests=tuple(dict.fromkeys(filter(None, requests))),
        score=shape.score,
    )


def _identify(run: _Run) -> Hashable:
    """What tells a run from a copy of it. Calls have ids of their own; where they have none, no two are the same."""
    if not all(one.id for one in run.calls):
        return object()
    return run.request, *((one.id, one.arguments, one.result) for one in run.calls)


def _unify_tools(runs: Sequence[list[ToolCallExample]]) -> list[list[ToolCallExample]]:
    """Runs of several programs in the words of the first."""

    def like(one: ToolCallExample, tool: str) -> ToolCallExample:
        return replace(one, tool_name=tool, arguments=tool_names.rename_arguments(one.arguments, one.tool_name, tool))

    names = [one.tool_name for one in runs[0]]
    return [[like(one, tool) for one, tool in zip(run, names, strict=True)] for run in runs if len(run) == len(names)]


def _to_slug(steps: Sequence[str]) -> str:
    words = re.findall(r"[a-z0-9]+", " ".join(steps).lower())
    return "-".join(dict.fromkeys(words))[:40].strip("-") or "steps"
