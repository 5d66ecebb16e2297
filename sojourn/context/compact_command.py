"""`/compact`: summarises a conversation now, up to its last request. The transcript keeps everything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from sojourn.chat_command_table import CommandOutput
from sojourn.context.summary import ConversationSummary, Summary
from sojourn.core.errors import BadInput, Conflict
from sojourn.core.events import Metadata, Progress, Yielded
from sojourn.core.messages import Message, text_of
from sojourn.core.progress import CompactionDetail
from sojourn.core.sessions import Recorded, Session, SessionId
from sojourn.ports.app import AgentContext
from sojourn.ports.context import ContextRequest
from sojourn.ports.runtime import HasOwnTools
from sojourn.ports.service import Caller
from sojourn.ports.store import Transaction
from sojourn.text.formatting import pluralize
from sojourn.text.token_count import estimate_tokens

_MESSAGES_AT_ONCE = 15  # that fit into one request to a model
_FEWEST_MESSAGES = 2


async def run_compact(app: AgentContext, session: SessionId, arguments: str, by: Caller) -> CommandOutput:
    """Replaces everything before the last request by a summary. BadInput, SessionBusy, NotDriving, Conflict."""
    found = await app.store.get(session)
    kept = [one async for one in app.store.read(session)]
    runtime = next((one.item.runtime for one in reversed(kept) if isinstance(one.item, Metadata)), "")
    if runtime and isinstance(app.runtime(runtime), HasOwnTools):
        raise BadInput(
            f"{runtime} keeps the conversation itself.", hint="It makes room by its own rules; nothing was changed."
        )
    messages = [one for one in kept if isinstance(one.item, Message)]
    older = _list_older([one for one in messages if isinstance(one.item, Message) and one.item.active])
    if len(older) < _FEWEST_MESSAGES:
        raise BadInput("There is nothing to summarise yet.", hint="The last request and its answer always stay.")
    texts = [one.item for one in older if isinstance(one.item, Message)]
    summary = await _summarise(ConversationSummary(app), found, runtime, texts)
    redacted = await app.store.redact([_to_message(summary, older)])
    last = messages[-1].seq
    await app.store.transact(partial(_replace, session=session, by=by, older=older, summary=redacted, last=last))
    before, after = sum(estimate_tokens(text_of(one)) for one in texts), estimate_tokens(summary.text)
    how = "its main sentences were taken" if summary.by == "extract" else f"written by {summary.by}"
    return CommandOutput(
        lines=(
            f"Summarised {pluralize(len(older), 'message')}: about {before:,} tokens became {after:,} ({how}).",
            "Your last request and its answer stay as they are. The transcript keeps everything.",
        )
    )


def _list_older(live: Sequence[Recorded]) -> list[Recorded]:
    """The live messages before the last request; earlier summaries stand for what is older."""
    requests = [one.seq for one in live if isinstance(one.item, Message) and one.item.role == "user"]
    last = requests[-1] if requests else 0
    return [one for one in live if one.seq < last or _is_summary(one)]


def _is_summary(one: Recorded) -> bool:
    item = one.item
    return isinstance(item, Message) and item.native_id is None and '"summary_of"' in (item.extra or "")


async def _summarise(source: ConversationSummary, session: Session, runtime: str, older: Sequence[Message]) -> Summary:
    """The summary of all messages, which a model reads piece by piece."""
    request = ContextRequest(session=session, said="", history=tuple(older), runtime=runtime)
    summary: Summary | None = None
    for end in range(_MESSAGES_AT_ONCE, len(older) + _MESSAGES_AT_ONCE, _MESSAGES_AT_ONCE):
        summary = await source.build(request, older[:end], summary)
        if summary.by == "extract":
            return await source.build(request, older, None) if end < len(older) else summary
    assert summary is not None
    return summary


def _to_message(summary: Summary, older: Sequence[Recorded]) -> Message:
    numbers = [one.seq for one in older]
    return Message(role="system", content=summary.text, extra=json.dumps({"summary_of": [min(numbers), max(numbers)]}))


def _replace(
    store: Transaction, session: SessionId, by: Caller, older: Sequence[Recorded], summary: Sequence[Yielded], last: int
) -> None:
    lease = store.lease(session, holder=by.holder or by.surface, surface=by.surface)
    if any(one.seq > last for one in store.read(session, messages_only=True)):
        raise Conflict("Something was said meanwhile; nothing was summarised.", hint="Say /compact again.")
    numbers = [one.seq for one in older]
    (kept,) = store.append(lease, summary)
    store.set_flags(lease, numbers, active=False, compacted=True)
    shown: CompactionDetail = {
        "status": "kept",
        "messages": len(numbers),
        "from": min(numbers),
        "to": max(numbers),
        "summary": kept.seq,
    }
    store.append(lease, [Progress("compaction", shown)])
    store.renew(lease, 0)
