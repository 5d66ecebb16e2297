"""OpenHands CLI: `~/.openhands/conversations/<id>/`, with `base_state.json` and a JSON file for each event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.history_importer import (
    FileImporter,
    StoredSession,
    inspect_file,
    read_document,
    read_side_document,
)
from sojourn.importers.message_pieces import MessagePieces, sort_blocks
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_parts,
    as_text,
    make_title,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "openhands"
_STATE = "base_state.json"
_QUIET = ("SystemPromptEvent", "ConversationStateUpdateEvent", "PauseEvent", "TokenEvent", "LLMCompletionLogEvent")
_FAILED = ("AgentErrorEvent", "UserRejectObservation")
_FOLDERS = ("working_dir", "cwd", "path", "root")


class OpenHandsImporter(FileImporter):
    """Imports conversations of the OpenHands CLI."""

    name, label = NAME, "OpenHands"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        own = environment.get("OPENHANDS_CONVERSATIONS_DIR")
        home = Path(environment.get("OPENHANDS_PERSISTENCE_DIR") or user_home / ".openhands")
        return [Path(own) if own else home / "conversations"]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.name == _STATE and home.with_name("events").is_dir() else []
        else:
            root = home / "conversations" if (home / "conversations").is_dir() else home
            found = [path for path in sorted(root.glob(f"*/{_STATE}")) if path.with_name("events").is_dir()]
            found += [path for path in (home / _STATE,) if path.is_file() and path.with_name("events").is_dir()]
        for path in found:
            events = sorted(path.with_name("events").glob("*.json"))
            one = inspect_file(path.parent.name, path, *events[-1:])
            sizes = sum(event.stat().st_size for event in events)
            first = as_text(read_side_document(events[0]).get("timestamp")) if events else ""
            yield replace(
                one,
                fingerprint=f"{one.fingerprint}:{len(events)}:{sizes}",
                began=to_seconds(first) or one.began,
                size=one.size + sizes,
            )

    def read_session(self, one: StoredSession) -> Transcript:
        state = as_mapping(read_document(one.path))
        builder = TranscriptBuilder(one.began)
        for path in sorted(one.path.with_name("events").glob("*.json")):
            try:
                event = as_mapping(read_document(path))
            except SourceUnreadable as error:
                builder.warnings.append(str(error))
                continue
            _add_event(builder, path.stem, event)
        workspace = as_mapping(state.get("workspace"))
        model = as_text(as_mapping(as_mapping(state.get("agent")).get("llm")).get("model"))
        _add_usage(builder, as_mapping(state.get("stats")), model or "")
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        fields = {
            "source": NAME,
            "title": as_text(state.get("title")) or make_title(next(prompts, "")),
            "cwd": next(filter(None, (as_text(workspace.get(name)) for name in _FOLDERS)), None),
            "model": model,
            "started_at": one.began,
        }
        about = {key: value for key, value in state.items() if key not in ("agent", "secret_registry")}
        builder.add_record("base_state", to_json(about))
        return builder.build(one.native_id, fields)


def _add_event(builder: TranscriptBuilder, name: str, event: dict[str, Any]) -> None:
    kind, own = str(event.get("kind") or ""), as_text(event.get("id")) or name
    when, pieces, role = to_seconds(event.get("timestamp")), MessagePieces(), "system"
    if kind == "MessageEvent":
        said = as_mapping(event.get("llm_message"))
        pieces = sort_blocks(_list_shown(said.get("content")))
        _add_thoughts(pieces, said)
        is_person = event.get("source") == "user" and said.get("role") == "user"
        role = "user" if is_person else "assistant" if said.get("role") == "assistant" else "system"
    elif kind == "ActionEvent":
        role, call = "assistant", as_mapping(event.get("tool_call"))
        pieces = sort_blocks(_list_shown(event.get("thought")))
        _add_thoughts(pieces, event)
        arguments = as_text(call.get("arguments")) or as_mapping(event.get("action"))
        tool = as_text(event.get("tool_name")) or call.get("name")
        pieces.add_call(event.get("tool_call_id") or call.get("id"), tool, arguments)
    elif kind == "ObservationEvent":
        seen = as_mapping(event.get("observation"))
        content = seen.get("content", seen.get("output", seen.get("detail")))
        output = _list_shown(content) if isinstance(content, str | list) else seen
        pieces.add_output(event.get("tool_call_id"), output, is_error=seen.get("is_error") is True)
    elif kind in _FAILED:
        why = as_text(event.get("error")) or as_text(event.get("rejection_reason")) or kind
        pieces.add_output(event.get("tool_call_id"), why, is_error=True)
    elif kind in ("Condensation", "CondensationSummaryEvent"):
        builder.mark_compacted()
        pieces.add_text(event.get("summary"))
    elif kind not in _QUIET and not kind.startswith("Condensation"):
        builder.add_unknown(kind or "event", to_json(event))
        return
    if not pieces.add_to(builder, role, own, when) or kind.startswith("Condensation"):
        builder.add_record(kind, to_json(event))


def _list_shown(content: Any) -> list[dict[str, Any]]:
    """The blocks of a content, without the marks of caches that each of them carries."""
    blocks = [as_mapping(one) for one in as_parts(content)]
    return [{key: value for key, value in one.items() if key != "cache_prompt"} for one in blocks]


def _add_thoughts(pieces: MessagePieces, said: dict[str, Any]) -> None:
    for block in map(as_mapping, as_list(said.get("thinking_blocks"))):
        pieces.add_thought(block.get("thinking"))
    if not pieces.thoughts:
        pieces.add_thought(said.get("reasoning_content"))


def _add_usage(builder: TranscriptBuilder, stats: dict[str, Any], model: str) -> None:
    """The sums of each purpose that a model served."""
    for metrics in map(as_mapping, as_mapping(stats.get("usage_to_metrics")).values()):
        tokens, cost = as_mapping(metrics.get("accumulated_token_usage")), metrics.get("accumulated_cost")
        cached = tokens.get("cache_read_tokens")
        used = tokens.get("prompt_tokens")
        if tokens:
            builder.usage.add(
                as_text(metrics.get("model_name")) or model,
                cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
                input_tokens=used - cached if isinstance(used, int) and isinstance(cached, int) else used,
                output_tokens=tokens.get("completion_tokens"),
                cache_read_tokens=cached,
                cache_write_tokens=tokens.get("cache_write_tokens"),
                reasoning_tokens=tokens.get("reasoning_tokens"),
            )


plugin = Plugin(name=NAME, summary="Imports the history of OpenHands.", sources=[OpenHandsImporter])
