"""The shape of a session: which kinds of steps came one after the other, without what varies from run to run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern

from sojourn.ports.history import RawExchange, SessionFacts
from sojourn.templates import tool_names
from sojourn.templates.judge.shell_command import parse_steps
from sojourn.templates.tool_calls import Exchange, build_conversation

VERSION = "7"  # grows when shapes change: then everything is read again
_VERB = re.compile(r"[a-z][a-z-]{1,15}")
_FAILURE_SIGN = re.compile(
    rb'"(?:exit_code|exitCode|returncode)": ?-?[1-9]|"(?:success|ok)": ?false|"is_?[eE]rror": ?true'
    rb'|"errors?": ?(?:"[^"]|\[[^\]]|\{)|"status(?:_code)?": ?[45]\d\d|\A\W{0,3}(?:[Ee]rror|ERROR|Traceback)'
    rb"|\AHTTP/?[\d.]* [45]\d\d|[Ee]xit(?:ed with)? (?:code|status):? ?[1-9]|<returncode>[1-9]"
)
_HEAD_BYTES, _TAIL_BYTES = 300, 200  # of an answer
_SUFFIX = re.compile(r"\.([A-Za-z0-9]{1,8})$")


@dataclass(frozen=True, slots=True)
class Digest:
    """What mining needs to know of a session: the steps that declare no failure, and the place of each among its
    calls. The same step again and again is one step."""

    steps: tuple[str, ...]
    places: tuple[int, ...]

    def select(self, worked: Sequence[bool]) -> Digest:
        """The steps whose calls worked. `worked` says it of every call of the session."""
        return _join_repeats(
            (step, at) for step, at in zip(self.steps, self.places, strict=True) if at < len(worked) and worked[at]
        )


def digest_session(rows: Sequence[RawExchange]) -> Digest:
    calls = build_conversation(rows).exchanges
    return _join_repeats((intern(to_step(call)), at) for at, call in enumerate(calls) if not declares_failure(call))


def _join_repeats(found: Iterable[tuple[str, int]]) -> Digest:
    steps: list[str] = []
    places: list[int] = []
    for step, place in found:
        if not steps or steps[-1] != step:
            steps.append(step)
            places.append(place)
    return Digest(tuple(steps), tuple(places))


def declares_failure(call: Exchange) -> bool:
    """Whether a call says by a sign at either end of its answer that it failed: a flag, an exit code, an error field.

    A first look for mining, which counts hundreds of thousands of calls. What is suggested is judged (`verify.py`).
    """
    answer, extra = call.answer, call.extra or {}
    if answer is None or call.effect == "unknown" or extra.get("is_error") is True or extra.get("ok") is False:
        return True
    raw = answer if isinstance(answer, bytes) else answer.encode("utf-8", "replace")
    return bool(_FAILURE_SIGN.search(raw[:_HEAD_BYTES]) or _FAILURE_SIGN.search(raw[-_TAIL_BYTES:]))


def to_step(exchange: Exchange) -> str:
    """The kind of step a call is: `terminal git status`, `read_file .py`, `web_search`."""
    kind = tool_names.kind(exchange.tool)
    if kind == "terminal":
        command = tool_names.command_of(exchange.parse_arguments())
        return f"{kind} {to_skeleton(command)}".rstrip()
    if kind in ("read_file", "write_file", "patch"):
        path = tool_names.path_of(exchange.parse_arguments())
        suffix = _SUFFIX.search(path)
        return f"{kind} .{suffix[1].lower()}" if suffix else kind
    return kind


@lru_cache(maxsize=4096)
def to_skeleton(command: str) -> str:
    """The program and its verb, without what varies from run to run."""
    steps = parse_steps(command)
    if not steps:
        return ""
    step = next((one for one in steps if one.program not in ("cd", "echo", "export", "source", "set")), steps[0])
    return f"{step.program} {step.verb if _VERB.fullmatch(step.verb) else ''}".strip()


def fingerprint(facts: SessionFacts) -> str:
    """Changes when the session's live rows may have."""
    return json.dumps([VERSION, facts.rows, facts.active_rows, facts.last_row, facts.rewinds])
