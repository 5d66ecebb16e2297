"""`sojourn sessions show`."""

from __future__ import annotations

from collections import deque

import click

from sojourn.cli.command_table import PRINT_TRANSCRIPT
from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import JsonCommand, session_argument
from sojourn.core.attachments import OBSERVATION
from sojourn.core.messages import Json, Message
from sojourn.core.sessions import Recorded
from sojourn.ports.app import AppContext
from sojourn.text.export import export_to_json, list_attachments, message_to_json
from sojourn.text.formatting import dump_json, printable
from sojourn.text.transcript import fold_messages, is_undone


@click.command(cls=JsonCommand)
@session_argument()
@click.option("--full", is_flag=True, help="Unfold tool calls; show reasoning.")
@click.option("--all", "every", is_flag=True, help="Also what was undone.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N messages.")
@click.option("--raw", is_flag=True, help="One line of JSON for each message.")
@click.option("--attachments", is_flag=True, help="List files and what runtimes observed, instead of the messages.")
@with_app
async def show(
    context: CommandContext,
    app: AppContext,
    session: str,
    full: bool,
    every: bool,
    last: int | None,
    raw: bool,
    attachments: bool,
) -> None:
    """Read a session."""
    one = await app.store.resolve(session)
    rows: deque[Recorded] = deque(maxlen=last)
    hidden = 0
    async for row in app.store.read(one.id, messages_only=True):
        if not every and isinstance(row.item, Message) and is_undone(row.item):
            hidden += 1
        else:
            rows.append(row)
    if attachments:
        records = await app.store.list_records(OBSERVATION, session=one.id)
        found = list_attachments(rows, [(record.created_at, record.value) for record in records])
        _show_attachments(context, found, raw=raw)
    elif raw:
        for row in rows:
            click.echo(dump_json(message_to_json(row)))
    elif context.json:
        emit(export_to_json(one, [message_to_json(row) for row in rows]))
    else:
        context.render(PRINT_TRANSCRIPT, one, fold_messages(rows), full=full, hidden=hidden)


def _show_attachments(context: CommandContext, found: list[dict[str, Json]], *, raw: bool) -> None:
    if raw:
        lines = [dump_json(one) for one in found]
    elif context.json:
        emit({"attachments": found})
        return
    else:
        lines = [printable(line) for one in found for line in _describe(one)] or ["This session has no attachments."]
    for line in lines:
        click.echo(line)


def _describe(one: dict[str, Json]) -> list[str]:
    if one["type"] == "file":
        name = one["name"] or one["hash"][:12]
        note = ", holds secrets" if one["holds_secrets"] else ""
        return [f"{name}  {one['media_type']}, {one['size']:,} bytes, message {one['message_id']}{note}"]
    data = [f"    {name}: {text if isinstance(text, str) else dump_json(text)}" for name, text in one["data"].items()]
    return [f"[{one['runtime']}] {one['kind']}, turn {one['turn']}", *data]
