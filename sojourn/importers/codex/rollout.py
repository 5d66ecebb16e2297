"""A rollout as a session.

A rollout tells everything twice: `response_item` is what the model was sent and answered, `event_msg` is
what was shown. Messages come from the first; the second tells what the person really typed (`user_message`,
from 0.147 `item_completed`), for Codex sends its own context in the person's name. Such context, the
developer's instructions, notices and summaries have the role `system`: nobody said them. A request that
failed leaves its reason as a `system` message too.

Messages are known by the number of their line, so the same file packed or grown gives the same ones.
A compaction sets everything before it to `compacted`, but for what its `replacement_history` repeats;
`thread_rolled_back` takes back the person's last turns. A fork of 0.166 holds only what is new in it and
points to the session it was made from.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sojourn.core.messages import Message, text_of
from sojourn.importers.codex import items
from sojourn.importers.jsonl import Line, LineFile
from sojourn.importers.transcript_builder import Talk, as_json, heading, mapping, nonempty, seconds, words
from sojourn.importers.usage import Spending, whole
from sojourn.ports.importer import Transcript

NAME = "codex"
_CONTEXT = re.compile(r"\s*(?:<([a-z_ ]+)>.*</\1>\s*$|# AGENTS\.md instructions)", re.DOTALL)
_CWD = re.compile(r"(?:<cwd>|Current working directory: )([^<\n]+)")
# Told again in another form: nothing is lost without them.
_REPEATED = {"token_count", "agent_message_delta", "agent_reasoning_delta", "agent_reasoning_section_break"}


def transcript(native: str, path: Path, *, name: str | None = None, archived: bool = False) -> Transcript:
    """The whole session. `name` is what the person called it."""
    file = LineFile(path)
    lines = list(file)
    talk = Talk()
    facts = _Facts(lines)
    for line in lines:
        kind, payload = _shape(line)
        if not _add(talk, facts, line, kind, payload):
            talk.keep(kind, line.text)
    prompt = next((text_of(message) for message in talk.messages if message.role == "user"), "")
    started = facts.started or (talk.messages[0].timestamp if talk.messages else 0.0)
    fields = facts.fields | facts.spending.fields()
    fields |= {"title": name or heading(prompt), "archived": int(archived), "started_at": started}
    return Transcript(
        native_id=native,
        fields=fields,
        messages=talk.messages,
        records=[*talk.records, *file.unreadable],
        warnings=(*file.warnings, *talk.warnings),
    )


def _shape(line: Line) -> tuple[str, dict[str, Any]]:
    """The kind of a line and what it holds; up to 0.31 items stood there bare, behind a bare head."""
    record = line.record
    if isinstance(record.get("payload"), dict):
        return str(record.get("type") or "unknown"), record["payload"]
    if "record_type" in record:
        return str(record["record_type"]), record
    if "type" in record:
        return "response_item", record
    return ("session_meta" if "id" in record else "unknown"), record


class _Facts:
    """What a rollout says about itself as a whole; what its items say, and what its events say was typed."""

    def __init__(self, lines: list[Line]) -> None:
        self.fields: dict[str, Any] = {"source": NAME}
        self.spending = Spending()
        self.started = 0.0
        self.said: set[str] = set()
        self.typed: set[str] = set()
        self.typed_last = self.said_last = 0  # the lines where each was told last
        self._total: Any = None
        for line in lines:
            kind, payload = _shape(line)
            if kind == "response_item":
                self.said |= items.pieces(payload) | items.pieces({"content": payload.get("summary")})
                self.said_last = line.number
            elif kind == "event_msg" and (typed := _typed(payload)):
                self.typed.add(typed)
                self.typed_last = line.number

    def head(self, head: dict[str, Any]) -> None:
        """The first `session_meta`: an old fork repeats the one of the session it was made from."""
        if "extra" in self.fields:
            return
        self.started = seconds(head.get("timestamp"))
        spawned = mapping(mapping(mapping(head.get("source")).get("subagent")).get("thread_spawn"))
        parent = head.get("parent_thread_id") or spawned.get("parent_thread_id") or head.get("forked_from_id")
        git, base = mapping(head.get("git")), mapping(head.get("base_instructions"))
        self.fields |= {
            "source": "subagent" if "subagent" in mapping(head.get("source")) else NAME,
            "parent_session_id": nonempty(parent),
            "cwd": nonempty(head.get("cwd")),
            "git_branch": nonempty(git.get("branch")),
            "billing_provider": nonempty(head.get("model_provider")),
            "system_prompt": nonempty(base.get("text")) or nonempty(head.get("instructions")),
        }
        known = ("id", "session_id", "timestamp", "cwd", "base_instructions", "instructions")
        self.fields["extra"] = as_json({key: value for key, value in head.items() if key not in known and value})

    def spend(self, payload: dict[str, Any]) -> None:
        """Counts an answer once: the running total is told again and again, and begins anew with each start."""
        info = mapping(payload.get("info"))
        total, last = info.get("total_token_usage"), mapping(info.get("last_token_usage"))
        if not total or total == self._total:
            return
        self._total = total
        cached = whole(last.get("cached_input_tokens"))
        self.spending.add(
            self.fields.get("model") or "",
            provider=self.fields.get("billing_provider") or "",
            input_tokens=whole(last.get("input_tokens")) - cached,
            cache_read_tokens=cached,
            cache_write_tokens=last.get("cache_write_input_tokens"),
            output_tokens=last.get("output_tokens"),
            reasoning_tokens=last.get("reasoning_output_tokens"),
        )


def _shown(event: dict[str, Any]) -> str:
    """The words of an event that shows some: the person's, the model's, or its thought."""
    item = mapping(event.get("item"))
    thought = item.get("summary_text")
    shown = words(item.get("content")) or "\n".join(map(str, thought if isinstance(thought, list) else ()))
    return (shown or nonempty(event.get("message")) or nonempty(event.get("text")) or "").strip()


def _typed(event: dict[str, Any]) -> str:
    """The words of an event that says the person typed them."""
    is_typed = event.get("type") == "user_message" or mapping(event.get("item")).get("type") == "UserMessage"
    return _shown(event) if is_typed else ""


def _add(talk: Talk, facts: _Facts, line: Line, kind: str, payload: dict[str, Any]) -> bool:
    """Takes in one line; False when it is no message and has to be kept as it stands."""
    native, moment = str(line.number), seconds(line.record.get("timestamp")) or facts.started
    if kind == "session_meta":
        facts.head(payload)
        return False
    if kind == "turn_context":
        facts.fields["model"] = nonempty(payload.get("model")) or facts.fields.get("model")
        facts.fields["cwd"] = facts.fields.get("cwd") or nonempty(payload.get("cwd"))
        return False
    if kind == "response_item":
        if mapping(line.record.get("metadata")).get("compaction_output"):
            return False  # the summary, which `compacted` tells again
        author = _author(payload, facts, line.number)
        if author == "system" and not facts.fields.get("cwd") and (hit := _CWD.search(items.said_in(payload))):
            facts.fields["cwd"] = hit[1].strip()
        return items.add(talk, payload, native, moment, author=author)
    if kind == "compacted":
        return _compacted(talk, payload, native, moment)
    if kind == "event_msg":
        return _event(talk, facts, payload, native, moment)
    return kind == "state"  # a mark without content


def _author(item: dict[str, Any], facts: _Facts, number: int) -> str:
    """Whose words an item of the role `user` are. Where nothing tells, a text wrapped in a tag is Codex' own."""
    if item.get("role") != "user":
        return ""
    if kinds := items.kinds(item):
        return "user" if any(kind.startswith("user.") for kind in kinds) else "system"
    if items.pieces(item) & facts.typed or any(mapping(one).get("type") == "input_image" for one in _parts(item)):
        return "user"
    is_open = not facts.typed or number > facts.typed_last  # no event yet: it may still come
    return "user" if is_open and not _CONTEXT.match(items.said_in(item)) else "system"


def _parts(item: dict[str, Any]) -> list[Any]:
    parts = item.get("content")
    return parts if isinstance(parts, list) else []


def _compacted(talk: Talk, payload: dict[str, Any], native: str, moment: float) -> bool:
    kept = payload.get("replacement_history")
    each = kept if isinstance(kept, list) else ()
    repeated = {(items.role_of(one), items.said_in(one)) for one in each if isinstance(one, dict)}
    talk.summarised(lambda message: (message.role, text_of(message)) in repeated)
    if summary := nonempty(payload.get("message")):
        talk.add(Message(role="system", native_id=native, timestamp=moment, content=summary))
    return not kept and bool(summary)


def _event(talk: Talk, facts: _Facts, event: dict[str, Any], native: str, moment: float) -> bool:
    kind = str(event.get("type"))
    if kind == "token_count":
        facts.spend(event)
    elif kind == "thread_rolled_back":
        _roll_back(talk, facts, whole(event.get("num_turns")))
    elif (typed := _typed(event)) and typed not in facts.said and int(native) < facts.said_last:
        talk.add(Message(role="user", native_id=native, timestamp=moment, content=typed))  # never sent to the model
        return True
    failure = event if kind in ("error", "stream_error") else mapping(event.get("error"))
    if why := nonempty(failure.get("message")):
        talk.add(Message(role="system", native_id=native, timestamp=moment, content=why, finish_reason="error"))
        return False
    return kind in _REPEATED or _shown(event) in facts.said


def _roll_back(talk: Talk, facts: _Facts, turns: int) -> None:
    prompts = [at for at, message in enumerate(talk.messages) if message.role == "user" and message.active]
    if turns and prompts:
        talk.undone(prompts[-min(turns, len(prompts))])
        facts.fields["rewind_count"] = facts.fields.get("rewind_count", 0) + 1
