"""`sojourn completion`: the script for a shell; and the completion of sessions, runtimes and import sources."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from sojourn.cli.context import CommandContext, emit, with_context
from sojourn.cli.options import JsonCommand
from sojourn.core.errors import SojournError
from sojourn.core.sessions import Session
from sojourn.ports.app import AppContext
from sojourn.ports.store import Listing
from sojourn.text.formatting import one_line
from sojourn.turn_support.runtime_readiness import EXAMPLE_RUNTIMES

_MAX_SESSIONS = 2000

# A title has spaces and bash inserts a completion as it is, so it is quoted unless the person has begun a quote.
_PLAIN = "COMPREPLY+=($value)"
_QUOTED = """case ${COMP_WORDS[COMP_CWORD]} in
                [\\"\\']*) COMPREPLY+=("$value") ;;
                *) COMPREPLY+=("$(printf %q "$value")") ;;
            esac"""


@click.command(cls=JsonCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_context
def completion(context: CommandContext, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash   eval "$(sojourn completion bash)"   in ~/.bashrc
    zsh    eval "$(sojourn completion zsh)"    in ~/.zshrc, after compinit
    fish   sojourn completion fish | source    in ~/.config/fish/config.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root().command
    completer = kind(root, {}, "sojourn", "_SOJOURN_COMPLETE")
    script = (completer.source_template % completer.source_vars()).replace(_PLAIN, _QUOTED)
    if context.json:
        emit({"shell": shell, "script": script})
    else:
        click.echo(script)


def complete_sessions(context: CommandContext, incomplete: str) -> list[CompletionItem]:
    """Sessions whose id or title starts with the text; none if the store cannot be read."""

    async def newest(app: AppContext) -> list[Session]:
        return await app.store.find(Listing(archived=None, limit=_MAX_SESSIONS))

    try:
        found = context.run(newest)
    except SojournError:
        return []
    return [*_match_titles(found, incomplete), *_match_ids(found, incomplete)]


def _match_titles(found: list[Session], incomplete: str) -> list[CompletionItem]:
    if not incomplete:
        return []
    start = incomplete.casefold()
    return [
        CompletionItem(one.title, help=one.id) for one in found if one.title and one.title.casefold().startswith(start)
    ]


def _match_ids(found: list[Session], incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(one.id, help=one_line(one.title or one.preview, 60))
        for one in found
        if one.id.startswith(incomplete)
    ]


def complete_runtimes(context: CommandContext, incomplete: str) -> list[CompletionItem]:
    names = (one for one in context.app.runtime_names() if one not in EXAMPLE_RUNTIMES)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_sources(context: CommandContext, incomplete: str) -> list[CompletionItem]:
    """The names of import sources; if none matches, the shell completes file names."""
    names = [make().name for plugin in context.plugins.with_sources() for make in plugin.sources]
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
