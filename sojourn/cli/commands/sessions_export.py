"""`sojourn sessions export`: to a file, a folder or standard output."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import SESSION, JsonCommand
from sojourn.core.errors import BadInput
from sojourn.core.sessions import Recorded, Session
from sojourn.ports.app import AppContext
from sojourn.ports.store import Listing, SessionStore, Store
from sojourn.text.export import make_file_name
from sojourn.text.formatting import pluralize
from sojourn.text.jsonl_export import encode_session, list_files, render_file
from sojourn.text.renderers import RENDERERS

_PAGE_SESSIONS = 500


@click.command(cls=JsonCommand)
@click.argument("session", type=SESSION, nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every session, archived ones too.")
@click.option(
    "--format",
    "kind",
    type=click.Choice([*RENDERERS]),
    default="jsonl",
    show_default=True,
    help="JSON lines for programs, Markdown for people, HTML to share.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file, or a folder that gets one file for each session.",
)
@click.option("--files", is_flag=True, help="JSON lines: also the files of messages, so that nothing is missing.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@with_app
async def export(
    context: CommandContext,
    app: AppContext,
    session: tuple[str, ...],
    every: bool,
    kind: str,
    output: Path | None,
    files: bool,
    force: bool,
) -> None:
    """Write sessions out, as JSON lines, Markdown or HTML.

    Without --output it goes to standard output. JSON lines hold one session each, with its messages;
    `sojourn import FILE` brings them in on another machine.
    """
    if bool(session) == every:
        raise BadInput("Say which sessions, or --all.", hint="`sojourn sessions export --all --output history.jsonl`")
    if files and (kind != "jsonl" or context.json):
        raise BadInput("--files goes with JSON lines only.", hint="Leave out --json, and use --format jsonl.")
    chosen = _list_all(app.store) if every else _find_sessions(app.store, session)
    render = _choose_renderer(app.store, kind, files=files)
    if context.json and output is None:
        return emit([encode_session(one, rows) async for one, rows in chosen])
    if output is None:
        async for one, rows in chosen:
            async for text in render(one, rows):
                click.echo(text, nl=False)
        return None
    done = await _write_files(chosen, kind, output, render, force=force)
    context.say(f"{pluralize(done, 'session')} written to {output}.", {"sessions": done, "output": str(output)})


Render = Callable[[Session, Sequence[Recorded]], AsyncIterator[str]]
Chosen = AsyncIterator[tuple[Session, list[Recorded]]]


async def _read_messages(store: SessionStore, session: Session) -> list[Recorded]:
    return [row async for row in store.read(session.id, messages_only=True)]


def _choose_renderer(store: Store, kind: str, *, files: bool) -> Render:
    async def render(session: Session, rows: Sequence[Recorded]) -> AsyncIterator[str]:
        for text in RENDERERS[kind](session, rows):
            yield text
        for one in list_files(rows) if files else ():
            yield render_file(session, one, *await store.get_blob(session.id, one.hash))

    return render


async def _find_sessions(store: SessionStore, names: Sequence[str]) -> Chosen:
    found = [await store.resolve(words) for words in names]  # resolves every name before anything is written
    for one in found:
        yield one, await _read_messages(store, one)


async def _list_all(store: SessionStore) -> Chosen:
    before: tuple[float, str] | None = None
    while page := await store.find(Listing(archived=None, limit=_PAGE_SESSIONS, before=before)):
        for one in page:
            yield await store.get(one.id), await _read_messages(store, one)
        before = (page[-1].last_active, page[-1].id)


async def _write_files(chosen: Chosen, kind: str, output: Path, render: Render, *, force: bool) -> int:
    """Writes one file, or one per session into a folder. Each file is written atomically."""
    done = 0
    if output.is_dir():
        async for one, rows in chosen:
            with _open_atomic(output / make_file_name(one, kind), force=force) as file:
                file.writelines([text async for text in render(one, rows)])
            done += 1
        return done
    with _open_atomic(output, force=force) as file:
        async for one, rows in chosen:
            file.writelines([text async for text in render(one, rows)])
            done += 1
    return done


@contextmanager
def _open_atomic(target: Path, *, force: bool) -> Iterator[TextIO]:
    """Opens a temporary file, which is renamed to the target at the end; only its owner can read it."""
    if target.exists() and not force:
        raise BadInput(f"{target} already exists.", hint="Choose another name, or use --force.")
    part = target.with_name(f".{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}.", hint="Choose another place.") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)  # it is still there after a failure
