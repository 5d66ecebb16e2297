"""`sojourn sessions search`: by words, and by the file, tool or error that sessions had to do with."""

from __future__ import annotations

import time

import click

from sojourn.cli import json_output
from sojourn.cli.command_table import PRINT_HITS, PRINT_USES
from sojourn.cli.context import CommandContext, with_app
from sojourn.cli.options import SESSION, JsonCommand, since_option, source_option, until_option
from sojourn.cli.session_uses import find_error_uses, find_file_uses, find_tool_uses
from sojourn.core.errors import BadInput
from sojourn.ports.app import AppContext
from sojourn.ports.store import SearchOrder, SearchQuery
from sojourn.word_corrections import find_corrections


@click.command(cls=JsonCommand)
@click.argument("words", nargs=-1)
@click.option("--role", "roles", multiple=True, metavar="ROLE", help="Only user, assistant, tool …; may be repeated.")
@source_option
@click.option("--tool", default="", metavar="NAME", help="Only what calls, or answers for, this tool.")
@click.option("--file", default="", metavar="PATH", help="Sessions whose tools had to do with a file.")
@click.option("--error", default="", metavar="TEXT", help="Sessions that met an error, and what came of it.")
@since_option
@until_option
@click.option("--session", type=SESSION, metavar="SESSION", help="Only in this session.")
@click.option(
    "--order",
    type=click.Choice(["relevance", "newest"]),
    default="relevance",
    show_default=True,
    help="The best first, or the newest with every word as it is written.",
)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many hits.")
@with_app
async def search(
    context: CommandContext,
    app: AppContext,
    words: tuple[str, ...],
    roles: tuple[str, ...],
    sources: tuple[str, ...],
    tool: str,
    file: str,
    error: str,
    since: float | None,
    until: float | None,
    session: str | None,
    order: SearchOrder,
    limit: int,
) -> None:
    """Search in everything that was said, and in titles.

    Ask in your own words: what has most of them, in any form, comes first. '"Two words"' in quotes must stand one
    after the other; conf* is a beginning; get_user also finds getUser.

    Without words, --file, --tool and --error list the sessions that touched a file, used a tool, or met an error.
    """
    if sum(map(bool, (words, file, error))) > 1 or not (words or file or error or tool):
        raise BadInput("Give words, or --file, --error or --tool.", hint="sojourn sessions search --file src/app.py")
    within = (await app.store.resolve(session)).id if session else None
    query = SearchQuery(
        text=words[0] if len(words) == 1 and order == "relevance" else " ".join(map(_restore_quotes, words)),
        session=within,
        roles=roles,
        sources=sources,
        tool=tool,
        since=since,
        until=until,
        order=order,
        limit=limit + 1,
    )
    if not words:
        find = find_file_uses if file else find_error_uses if error else find_tool_uses
        uses = await find(app.store, query, file or error, limit)
        context.show([one.to_json() for one in uses], PRINT_USES, uses, now=time.time())
        return
    found = await app.store.search(query)
    hits = found[:limit]
    values = [json_output.encode_hit(one) for one in hits]
    meant = {} if context.json or len(found) > limit else await find_corrections(app.store.search, query)
    context.show(values, PRINT_HITS, hits, now=time.time(), more=len(found) > limit, meant=meant)


def _restore_quotes(word: str) -> str:
    """Puts back the quotes of a phrase, which the shell has removed."""
    return f'"{word}"' if any(c.isspace() for c in word.strip()) and '"' not in word else word
