"""Writes each command's --help into docs/reference/cli.md: `python scripts/cli_help.py`.

In the page a block opens with ```text and a line `$ sojourn … --help`; what follows it is replaced.
tests/docs/test_cli_help.py fails while the page and the program disagree.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from sojourn.cli.context import CommandContext
from sojourn.cli.main import sojourn
from sojourn.plugins import Registry

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"
WIDTH = 88
_BLOCK = re.compile(r"^```text\n\$ (sojourn[^\n]*?) --help\n.*?^```\n", re.MULTILINE | re.DOTALL)


def _refuse(flags: object) -> object:
    raise AssertionError("help needs neither settings nor a store")


def contexts() -> Iterator[click.Context]:
    """Every command that is not hidden, as its words on the command line. Built-in plugins included."""
    given = CommandContext(build=_refuse, read_settings=_refuse, plugins=Registry(third_party=list))  # type: ignore[arg-type]
    root = click.Context(sojourn, info_name="sojourn", obj=given, terminal_width=WIDTH, **sojourn.context_settings)
    yield from _below(root)


def _below(ctx: click.Context) -> Iterator[click.Context]:
    yield ctx
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            if command is not None and not command.hidden:
                yield from _below(click.Context(command, info_name=name, parent=ctx))


def blocks() -> dict[str, str]:
    """The help of every command, by the words that ask for it."""
    return {ctx.command_path: f"```text\n$ {ctx.command_path} --help\n{ctx.get_help()}\n```\n" for ctx in contexts()}


def refreshed(text: str) -> str:
    """The page with every block as it should be."""
    made = blocks()
    return _BLOCK.sub(lambda hit: made.get(hit[1], hit[0]), text)


def shown(text: str) -> list[str]:
    """The commands the page has a block for."""
    return [hit[1] for hit in _BLOCK.finditer(text)]


def main() -> int:
    before = PAGE.read_text("utf-8")
    after = refreshed(before)
    PAGE.write_text(after, "utf-8")
    missing = sorted(set(blocks()) - set(shown(after)))
    for command in missing:
        print(f"not in the page yet: {command}")
    print("changed" if after != before else "nothing to change")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
