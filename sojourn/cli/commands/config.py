"""`sojourn config`: the effective settings, and where each value comes from."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli.command_table import PRINT_SETTINGS
from sojourn.cli.commands.plugin_fields import PREFIX, PluginField, find_plugin_field
from sojourn.cli.commands.plugins import install_after_question
from sojourn.cli.context import CommandContext, emit, with_context
from sojourn.cli.options import JsonGroup
from sojourn.core.errors import BadInput
from sojourn.core.settings import Settings
from sojourn.optional_packages import list_missing_packages
from sojourn.server_file import read_server_file
from sojourn.settings.changes import check_key, check_names, to_plain_value
from sojourn.settings.config_file import FILE_NAME, change_file, remove_value, set_value
from sojourn.settings.table import NEED_RESTART, SETTINGS, SETTINGS_BY_NAME, Setting

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


_RESTART = " The running server takes it over when it is started again: `sojourn server restart`."
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class SettingParam(click.ParamType[str]):
    """The name of a setting."""

    name = "key"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        context = ctx.find_object(CommandContext) if ctx else None
        if context is not None and str(value).startswith(PREFIX):
            return find_plugin_field(context.plugins.all(), str(value)).name
        if value not in SETTINGS_BY_NAME or value == "home":
            known = sorted(set(SETTINGS_BY_NAME) - {"home"})
            near = get_close_matches(str(value), known, 3)
            hint = f"Did you mean {' or '.join(near)}?" if near else "`sojourn config` lists them."
            raise BadInput(f"There is no setting `{value}` in config.toml.", hint=hint)
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
@click.argument("value", required=False)
@with_context
def change(context: CommandContext, key: str, value: str | None) -> None:
    """Write a setting into config.toml; everything else in the file stays as it is.

    Without VALUE it is asked for, or read from standard input: so a key stays out of the history of your shell.
    plugins.NAME.FIELD is a setting of a plugin, such as plugins.acp.command.

    A running server follows at once; for the few settings that it reads only at its start, this says so.
    """
    if value is None:
        value = _read_value(context, key)
    if key.startswith(PREFIX):
        new: Any = _find_field(context, key).parse(value, context.settings)
    else:
        check_names(context.app, key, value)
        check_key(context.settings, key, value)
        new = _parse_value(SETTINGS_BY_NAME[key], value)
    file = config_file_of(context)
    change_file(
        file.parent, lambda document: set_value(document, key, new), lambda: context.read_settings(context.flags)
    )
    settings = context.read_settings(context.flags)
    now = _describe(context, key, settings)
    note = "" if now["origin"] == "file" else f" The {now['origin']} overrides it for now."
    if key in NEED_RESTART and read_server_file(settings.home):
        note += _RESTART
    context.say(f"{key} is {now['value']} in {file}.{note}", now)
    if key == "model.provider" or (key == "telemetry.endpoint" and now["value"]):
        _offer_packages(context, str(now["value"]) if key == "model.provider" else "telemetry")


@config.command("get")
@click.argument("key", type=SettingParam())
@with_context
def get(context: CommandContext, key: str) -> None:
    """Print the value of a setting, and nothing else. A secret is dots."""
    row = _describe(context, key, context.settings)
    if context.json:
        emit(row)
    else:
        click.echo(str(row["value"]))


@config.command("unset")
@click.argument("key", type=SettingParam())
@with_context
def unset(context: CommandContext, key: str) -> None:
    """Take a setting out of config.toml; its default counts again."""
    file = config_file_of(context)
    if not key.startswith(PREFIX):
        check_key(context.settings, key, str(SETTINGS_BY_NAME[key].default))
    change_file(file.parent, lambda document: remove_value(document, key), lambda: context.read_settings(context.flags))
    settings = context.read_settings(context.flags)
    now = _describe(context, key, settings)
    note = _RESTART if key in NEED_RESTART and read_server_file(settings.home) else ""
    context.say(f"{key} is {now['value'] or 'empty'} ({now['origin']}).{note}", now)


def _find_field(context: CommandContext, key: str) -> PluginField:
    return find_plugin_field(context.plugins.all(), key)


def _describe(context: CommandContext, key: str, settings: Settings) -> dict[str, Any]:
    if key.startswith(PREFIX):
        return _find_field(context, key).describe(settings)
    return next(one for one in list_settings(settings) if one["name"] == key)


def _offer_packages(context: CommandContext, part: str) -> None:
    """Installs what a provider of models, or telemetry, needs and is not there, if the person says yes."""
    packages = list_missing_packages(part.lower())
    if not packages or context.json:
        return
    click.echo(f"{part} needs packages that are not installed: {', '.join(packages)}.", err=True)
    if not context.is_interactive:
        click.echo(f"  Install them: sojourn plugins install {part.lower()}", err=True)
        return
    install_after_question(context, packages, yes=False)
    context.say("They are installed.")


def _read_value(context: CommandContext, key: str) -> str:
    if context.is_interactive:
        of_plugin = _find_field(context, key) if key.startswith(PREFIX) else None
        is_secret = of_plugin.is_secret if of_plugin else SETTINGS_BY_NAME[key].kind == "secret"
        return str(click.prompt(key, hide_input=is_secret))
    value = sys.stdin.readline().strip()
    if not value:
        raise BadInput(f"There is no value for {key}.", hint=f"sojourn config set {key} VALUE")
    return value


def _parse_value(setting: Setting, value: str) -> str | int | bool:
    word = value.strip().lower()
    if setting.kind == "yes/no" and word in _YES + _NO:
        return word in _YES
    return int(word) if setting.kind == "number" and word.isdecimal() else value
