"""`sojourn config`: the effective settings, and where each value comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli.command_table import PRINT_SETTINGS
from sojourn.cli.commands.plugins import install_after_question
from sojourn.cli.context import CommandContext, emit, with_context
from sojourn.cli.options import JsonGroup
from sojourn.core.errors import BadInput
from sojourn.core.settings import Settings
from sojourn.optional_packages import list_missing_packages
from sojourn.server_file import read_server_file
from sojourn.settings.changes import check_names, to_plain_value
from sojourn.settings.config_file import FILE_NAME, change_file, set_value
from sojourn.settings.table import NEED_RESTART, SETTINGS, SETTINGS_BY_NAME, Setting

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class SettingParam(click.ParamType[str]):
    """The name of a setting."""

    name = "key"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in SETTINGS_BY_NAME or value == "home":
            known = ", ".join(sorted(set(SETTINGS_BY_NAME) - {"home"}))
            raise BadInput(f"There is no setting `{value}` in config.toml.", hint=f"Settings are: {known}.")
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return click.Choice(sorted(set(SETTINGS_BY_NAME) - {"home"})).shell_complete(ctx, param, incomplete)


@click.group(cls=JsonGroup, invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Every setting, its value and where it came from.

    Flags beat the environment, the environment beats config.toml, and that beats the default.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@config.command("show", hidden=True)
@with_context
def show(context: CommandContext) -> None:
    """What `sojourn config` prints."""
    context.show(list_settings(context.settings), PRINT_SETTINGS, context.settings)


def list_settings(settings: Settings) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "value": to_plain_value(settings[one.name]),
            "origin": settings.origins[one.name],
            "variable": one.variable,
            "meaning": one.meaning,
        }
        for one in SETTINGS
    ]


@config.command("path")
@with_context
def path(context: CommandContext) -> None:
    """Where config.toml is, or would be."""
    file = config_file_of(context)
    if context.json:
        emit({"path": str(file), "exists": file.exists()})
    else:
        click.echo(str(file))


def config_file_of(context: CommandContext) -> Path:
    return context.settings.home / FILE_NAME


@config.command("set")
@click.argument("key", type=SettingParam())
@click.argument("value")
@with_context
def change(context: CommandContext, key: str, value: str) -> None:
    """Write a setting into config.toml; everything else in the file stays as it is.

    A running server follows at once; for the few settings that it reads only at its start, this says so.
    """
    check_names(context.app, key, value)
    file, new = config_file_of(context), _parse_value(SETTINGS_BY_NAME[key], value)
    change_file(
        file.parent, lambda document: set_value(document, key, new), lambda: context.read_settings(context.flags)
    )
    settings = context.read_settings(context.flags)
    now = {"name": key, "value": to_plain_value(settings[key]), "origin": settings.origins[key]}
    note = "" if now["origin"] == "file" else f" The {now['origin']} overrides it for now."
    if key in NEED_RESTART and read_server_file(settings.home):
        note += " The running server takes it over when it is started again: `sojourn stop`, then `sojourn serve`."
    context.say(f"{key} is {now['value']} in {file}.{note}", now)
    if key == "model.provider":
        _offer_packages(context, str(now["value"]))


def _offer_packages(context: CommandContext, provider: str) -> None:
    """Installs what a provider of models needs and is not there, if the person says yes."""
    packages = list_missing_packages(provider.lower())
    if not packages or context.json:
        return
    click.echo(f"{provider} needs packages that are not installed: {', '.join(packages)}.", err=True)
    if not context.is_interactive:
        click.echo(f"  Install them: sojourn plugins install {provider.lower()}", err=True)
        return
    install_after_question(context, packages, yes=False)
    context.say("They are installed.")


def _parse_value(setting: Setting, value: str) -> str | int | bool:
    word = value.strip().lower()
    if setting.kind == "yes/no" and word in _YES + _NO:
        return word in _YES
    return int(word) if setting.kind == "number" and word.isdecimal() else value
