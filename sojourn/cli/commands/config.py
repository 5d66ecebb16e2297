"""`sojourn config`: the effective settings, and where each value comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import tomlkit
from tomlkit.exceptions import TOMLKitError

from sojourn.cli.command_table import PRINT_SETTINGS
from sojourn.cli.context import CommandContext, emit, with_context
from sojourn.cli.options import JsonGroup
from sojourn.core.errors import BadConfig, BadInput, SojournError
from sojourn.core.settings import Secret, Settings
from sojourn.ports.plugin import parts_by_name
from sojourn.server_file import read_server_file
from sojourn.setting_formats import parse_policy, split_list
from sojourn.settings_table import NEED_RESTART, SETTINGS, SETTINGS_BY_NAME, Setting

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sojourn.ports.app import AppContext

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
            "value": to_json_value(settings[one.name]),
            "origin": settings.origins[one.name],
            "variable": one.variable,
            "meaning": one.meaning,
        }
        for one in SETTINGS
    ]


def to_json_value(value: Any) -> Any:
    """A setting as a JSON value; a secret stays masked, an empty one is an empty string."""
    if isinstance(value, Secret):
        return str(value) if value else ""
    return str(value) if isinstance(value, Path) else value


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
    return context.settings.home / "config.toml"


@config.command("set")
@click.argument("key", type=SettingParam())
@click.argument("value")
@with_context
def change(context: CommandContext, key: str, value: str) -> None:
    """Write a setting into config.toml; everything else in the file stays as it is.

    A running server follows at once; for the few settings that it reads only at its start, this says so.
    """
    _check_names(context.app, key, value)
    file = config_file_of(context)
    before = file.read_text("utf-8") if file.exists() else None
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write_private(file, set_key(before or "", SETTINGS_BY_NAME[key], value))
    try:
        settings = context.read_settings(context.flags)
    except SojournError:
        if before is None:
            file.unlink()
        else:
            _write_private(file, before)
        raise
    now = {"name": key, "value": to_json_value(settings[key]), "origin": settings.origins[key]}
    note = "" if now["origin"] == "file" else f" The {now['origin']} overrides it for now."
    if key in NEED_RESTART and read_server_file(settings.home):
        note += " The running server takes it over when it is started again: `sojourn stop`, then `sojourn serve`."
    context.say(f"{key} is {now['value']} in {file}.{note}", now)


def _check_names(app: AppContext, key: str, value: str) -> None:
    """BadInput if a list of tools or networks, or the runtime, has a name that nothing bears: it would do nothing."""
    if key in ("tools.approval", "tools.guest_tools"):
        names = parse_policy(value) if key == "tools.approval" else split_list(value)
        known = [tool.name for tool in app.tools()] if any(names) else []
        unknown = [one for one in names if one and one not in known and not one.startswith("mcp_")]
    elif key == "gateway.platforms":
        known = sorted({name for plugin in app.plugins() for name in parts_by_name(plugin.platforms)})
        unknown = [one for one in split_list(value) if one not in known]
    elif key == "agent.runtime":
        known = list(app.runtime_names())
        unknown = [one for one in [value.strip()] if one and one not in known]
    else:
        return
    if unknown:
        raise BadInput(
            f"{key}: there is no {unknown[0]!r}, so nothing was changed.", hint=f"There are: {', '.join(known)}."
        )


def _write_private(file: Path, text: str) -> None:
    """Replaces the file atomically; only its owner may read it, because it may hold secrets."""
    part = file.with_name(f".{file.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    part.write_text(text, "utf-8")
    part.replace(file)


def set_key(text: str, setting: Setting, value: str) -> str:
    """Sets a key in TOML text and keeps its comments. BadConfig if the text is not TOML or the key is a table."""
    *tables, key = setting.name.split(".")
    try:
        document = tomlkit.parse(text)
        table: tomlkit.TOMLDocument | tomlkit.items.Table = document
        for name in tables:
            if name not in table:
                table[name] = tomlkit.table()
            table = table[name]
        old = table.get(key)
        table[key] = new = tomlkit.item(_parse_value(setting, value))
        if isinstance(old, tomlkit.items.Item):
            new.trivia.comment_ws, new.trivia.comment = old.trivia.comment_ws, old.trivia.comment
        changed = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError, ValueError) as error:
        raise BadConfig(
            f"config.toml cannot be changed without breaking it: {error}.",
            hint=f"Set {setting.name} there by hand: `sojourn config path`.",
        ) from error
    return changed if changed.endswith("\n") else changed + "\n"


def _parse_value(setting: Setting, value: str) -> str | int | bool:
    word = value.strip().lower()
    if setting.kind == "yes/no" and word in _YES + _NO:
        return word in _YES
    return int(word) if setting.kind == "number" and word.isdecimal() else value
