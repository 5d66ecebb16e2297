"""Work that did not last: a file put back, a patch turned round, a person who said "undo that"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sojourn.core.messages import Json
from sojourn.templates import shells, tool_names
from sojourn.templates.tool_calls import Conversation, Exchange

_SAID = re.compile(
    r"\A\s*(?:no,? |please |wait,? |stop,? )*"
    r"(?:undo|revert|roll (?:that|it|this)? ?back|take (?:that|it) back|put it back)\b"
    r"|(?<!n't )(?<!not )\b(?:undo|revert) (?:it|that|this|everything|(?:the|your|these|those)(?: last)? changes?)\b"
    r"|\A\s*(?:请)?(?:撤销|撤回|回滚|还原|恢复原样)|(?<![别要])(?:撤销|撤回|回滚|还原)(?:刚才|上一步|这|那|它|掉|一下)|改回(?:去|来|原样)",
    re.IGNORECASE,
)
_HINTS = ("undo", "revert", "back", "撤", "回", "还原", "恢复原样")  # one of them is in everything that `_SAID` finds
_INTO_A_FILE = re.compile(r"\bsed\s(?:-\S+\s+)*-\w*i|>\s*(?![&>\s]|/dev/null)")
_LONGEST = 200  # characters: longer words are a new request that happens to begin so
_WRITES = ("write_file", "patch")
_REMOVERS = ("delete_file", "remove_file", "undo_edit")
_TAKERS = frozenset((*_REMOVERS, "terminal"))


def undone(conversation: Conversation, worked: Sequence[bool]) -> set[int]:
    """Which exchanges were taken back later, by their place."""
    calls = conversation.exchanges
    kinds = [tool_names.kind(call.tool) for call in calls]
    written = {
        at: tool_names.path_of(calls[at].parsed()) for at, kind in enumerate(kinds) if kind in _WRITES and worked[at]
    }
    said = [one for one in conversation.spoken if len(one.text) <= _LONGEST and _takes_back(one.text)]
    if not written and not said:
        return set()
    found = _turned_round(calls, written)
    takers = [at for at, kind in enumerate(kinds) if kind in _TAKERS and worked[at]]
    put_back = [(at, name) for at in takers for name in _put_back(calls[at])]
    names = _names_of(written) if put_back else {}
    for at, name in put_back:
        meant = list(written) if name == "*" else names.get(name.removeprefix("./").rstrip("/"), ())
        found.update(one for one in meant if one < at)
    for spoken in said:
        meant = [at for at in range(spoken.before) if calls[at].turn == spoken.turn - 1 and worked[at]]
        found.update(at for at in meant if at in written or (kinds[at] == "terminal" and _changes(calls[at])))
    return found


def _takes_back(text: str) -> bool:
    """Whether somebody says so. Hardly anybody does: looking for the words first is many times faster."""
    folded = text.lower()
    return any(hint in folded for hint in _HINTS) and _SAID.search(text) is not None


def _changes(call: Exchange) -> bool:
    """Whether a command may have done something that can be taken back."""
    command = shells.command_of(tool_names.command_in(call.parsed()))
    return not shells.only_reads(command) or _INTO_A_FILE.search(command) is not None


def _turned_round(calls: Sequence[Exchange], written: Mapping[int, str]) -> set[int]:
    """Patches whose exact opposite came later."""
    found: set[int] = set()
    waiting: dict[tuple[Json, ...], int] = {}
    for at, path in written.items():
        given = tool_names.in_our_words(calls[at].parsed())
        old, new = str(given.get("old_string") or ""), str(given.get("new_string") or "")
        if old and new:
            if (before := waiting.pop((path, new, old), None)) is not None:
                found |= {before, at}
            waiting[path, old, new] = at
    return found


def _put_back(call: Exchange) -> list[str]:
    """The files and folders a call puts back or removes; `*` is everything."""
    if call.tool in _REMOVERS:
        return [tool_names.path_of(call.parsed())]
    given = call.arguments
    if not ("git" in given or "rm" in given or "trash" in given):
        return []
    found: list[str] = []
    for step in shells.steps(shells.command_of(tool_names.command_in(call.parsed()))):
        names = [word for word in step.words[1:] if not word.startswith("-")]
        if step.program == "git" and step.verb == "reset" and "--hard" in step.words:
            found.append("*")
        elif step.program == "git" and step.verb in ("checkout", "restore"):
            found += ["*" if name == "." else name for name in names[1:]]
        elif step.program in ("rm", "trash"):
            found += names
    return found


def _names_of(written: Mapping[int, str]) -> dict[str, list[int]]:
    """The writes by everything their file may be called: its path, a folder above it, the end of its path."""
    found: dict[str, list[int]] = {}
    for at, path in written.items():
        parts = path.removeprefix("./").split("/")
        above = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
        ends = {"/".join(parts[count:]) for count in range(len(parts))}
        for name in (above | ends) - {""}:
            found.setdefault(name, []).append(at)
    return found
