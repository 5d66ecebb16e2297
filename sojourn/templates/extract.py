"""Extraction: the calls of a session that worked and were not undone later."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sojourn.core.messages import Json, Message, text_of, tool_calls_of
from sojourn.ports.history import History, RawExchange
from sojourn.templates import tool_names
from sojourn.templates.judge.shell_command import only_reads, parse_steps
from sojourn.templates.judge.verdict import Verdict, judge
from sojourn.templates.model import TaskType, ToolCallExample
from sojourn.templates.tool_calls import Exchange, ToolConversation, build_conversation, read_exchanges

MAX_EXAMPLES = 10  # calls of one session

UNDONE = Verdict(False, "it was undone later")
_UNDO_REQUEST = re.compile(
    r"\A\s*(?:no,? |please |wait,? |stop,? )*"
    r"(?:undo|revert|roll (?:that|it|this)? ?back|take (?:that|it) back|put it back)\b"
    r"|(?<!n't )(?<!not )\b(?:undo|revert) (?:it|that|this|everything|(?:the|your|these|those)(?: last)? changes?)\b"
    r"|\A\s*(?:请)?(?:撤销|撤回|回滚|还原|恢复原样)|(?<![别要])(?:撤销|撤回|回滚|还原)(?:刚才|上一步|这|那|它|掉|一下)|改回(?:去|来|原样)",
    re.IGNORECASE,
)
_WRITES_FILE = re.compile(r"\bsed\s(?:-\S+\s+)*-\w*i|>\s*(?![&>\s]|/dev/null)")
_MAX_REQUEST_CHARACTERS = 200  # a longer text is a new request that happens to begin so
_WRITE_KINDS = ("write_file", "patch")
_REMOVE_TOOLS = ("delete_file", "remove_file", "undo_edit")


def read_conversation(history: History, session: str) -> ToolConversation:
    rows: Sequence[RawExchange] = next((found for _, found in read_exchanges(history, [session])), ())
    return build_conversation(rows)


def judge_conversation(conversation: ToolConversation) -> list[Verdict]:
    """The verdict on each call: by its result, and then by whether it was undone later."""
    found = [judge_call(one) for one in conversation.exchanges]
    for at in find_reverted(conversation, [verdict.success for verdict in found]):
        found[at] = UNDONE
    return found


def judge_call(call: Exchange) -> Verdict:
    """Judges a call by its result alone."""
    return judge(call.tool, call.parse_arguments, call.result, extra=call.extra, effect=call.effect)


def judge_messages(messages: Sequence[Message]) -> list[tuple[str, bool]]:
    """The tool of each call in these messages, and whether the call worked, by its result alone."""
    found = {
        call.id: Exchange(0, 0, call.id, call.name, call.arguments) for one in messages for call in tool_calls_of(one)
    }
    for one in messages:
        if one.role == "tool" and one.tool_call_id in found:
            found[one.tool_call_id].answer = text_of(one)
            found[one.tool_call_id].effect = one.effect_disposition
    return [(call.tool, judge_call(call).success) for call in found.values()]


def select_examples(conversation: ToolConversation, most: int = MAX_EXAMPLES) -> list[ToolCallExample]:
    """The first `most` calls that worked."""
    judged = zip(conversation.exchanges, judge_conversation(conversation), strict=True)
    found = [to_example(call) for call, verdict in judged if verdict.success]
    return found[: max(most, 0)]


def to_example(call: Exchange) -> ToolCallExample:
    return ToolCallExample(call.tool, call.parse_arguments(), call.result or "")


def task_type_of(conversation: ToolConversation, *, turns: int | None = None) -> TaskType:
    """What the session is about, judged by all its calls or by those of its first turns."""
    return tool_names.classify(one.tool for one in conversation.exchanges if turns is None or one.turn <= turns)


def find_reverted(conversation: ToolConversation, worked: Sequence[bool]) -> set[int]:
    """The positions of the calls that were taken back. `worked` says of each call whether it succeeded."""
    calls = conversation.exchanges
    kinds = [tool_names.kind(call.tool) for call in calls]
    paths = {
        at: tool_names.path_of(calls[at].parse_arguments())
        for at, kind in enumerate(kinds)
        if kind in _WRITE_KINDS and worked[at]
    }
    requests = [
        one
        for one in conversation.spoken
        if len(one.text) <= _MAX_REQUEST_CHARACTERS and _UNDO_REQUEST.search(one.text)
    ]
    if not paths and not requests:
        return set()
    found = _find_reverse_patches(calls, paths)
    removed = [
        (at, name)
        for at, kind in enumerate(kinds)
        if worked[at] and kind in ("terminal", *_REMOVE_TOOLS)
        for name in _removed_paths(calls[at])
    ]
    aliases = _index_by_alias(paths) if removed else {}
    for at, name in removed:
        meant = list(paths) if name == "*" else aliases.get(name.removeprefix("./").rstrip("/"), ())
        found.update(one for one in meant if one < at)
    for request in requests:
        before = [at for at in range(request.before) if calls[at].turn == request.turn - 1 and worked[at]]
        found.update(at for at in before if at in paths or (kinds[at] == "terminal" and _changes_files(calls[at])))
    return found


def _changes_files(call: Exchange) -> bool:
    command = tool_names.command_of(call.parse_arguments())
    return not only_reads(command) or _WRITES_FILE.search(command) is not None


def _find_reverse_patches(calls: Sequence[Exchange], paths: Mapping[int, str]) -> set[int]:
    found: set[int] = set()
    applied: dict[tuple[Json, ...], int] = {}
    for at, path in paths.items():
        given = tool_names.in_our_words(calls[at].parse_arguments())
        old, new = str(given.get("old_string") or ""), str(given.get("new_string") or "")
        if old and new:
            if (before := applied.pop((path, new, old), None)) is not None:
                found |= {before, at}
            applied[path, old, new] = at
    return found


def _removed_paths(call: Exchange) -> list[str]:
    """The files and folders that a call restores or removes; `*` is everything."""
    if call.tool in _REMOVE_TOOLS:
        return [tool_names.path_of(call.parse_arguments())]
    if not any(word in call.arguments for word in ("git", "rm", "trash")):
        return []
    found: list[str] = []
    for step in parse_steps(tool_names.command_of(call.parse_arguments())):
        names = [word for word in step.words[1:] if not word.startswith("-")]
        if step.program == "git" and step.verb == "reset" and "--hard" in step.words:
            found.append("*")
        elif step.program == "git" and step.verb in ("checkout", "restore"):
            found += ["*" if name == "." else name for name in names[1:]]
        elif step.program in ("rm", "trash"):
            found += names
    return found


def _index_by_alias(paths: Mapping[int, str]) -> dict[str, list[int]]:
    """The writes by every name of their file: its path, a folder above it, the end of its path."""
    found: dict[str, list[int]] = {}
    for at, path in paths.items():
        parts = path.removeprefix("./").split("/")
        folders = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
        ends = {"/".join(parts[count:]) for count in range(len(parts))}
        for name in (folders | ends) - {""}:
            found.setdefault(name, []).append(at)
    return found
