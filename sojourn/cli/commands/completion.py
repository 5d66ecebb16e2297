"""`sojourn completion`: the shell script that completes commands and sessions."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from sojourn.cli.context import CommandContext, emit, with_context
from sojourn.cli.options import JsonCommand

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
