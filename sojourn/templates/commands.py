"""`sojourn templates`: lists, creates, suggests, edits and compares templates."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.ports.cli import CliContext
from sojourn.templates import cli_view
from sojourn.templates.extract import MAX_EXAMPLES
from sojourn.templates.files import read_json
from sojourn.templates.library import StoredTemplate
from sojourn.templates.miner import MiningResult
from sojourn.templates.model import SessionTemplate, TaskType
from sojourn.templates.service import TemplateChanges, TemplateService
from sojourn.templates.suggestions import Suggestion
from sojourn.text.trimmed_file import trim_unless_terminal

T = TypeVar("T")


def _set_json(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.obj.json = True


_json = click.Option(["--json"], is_flag=True, expose_value=False, callback=_set_json, help="Print JSON, for scripts.")
_types = click.Choice([one.value for one in TaskType])
_type = click.option("--type", "kind", type=_types, help="The type of task.")
_home = click.option(
    "--home", type=click.Path(path_type=Path), metavar="PATH", help="A Hermes home to read instead of our own store."
)
_name = click.argument("name", metavar="NAME")


class _JsonGroup(click.Group):
    """A group whose commands all have `--json`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of the file, which is the order of use

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        cmd.params.append(_json)
        super().add_command(cmd, name)


@click.group(cls=_JsonGroup, invoke_without_command=True, params=[_json])
@click.pass_context
def templates(context: click.Context) -> None:
    """Calls that worked before, ready for the next session."""
    if context.invoked_subcommand is None and context.obj.json:
        context.invoke(list_)
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())


@templates.command("list")
@_type
@click.pass_obj
def list_(given: CliContext, kind: str | None) -> None:
    """List the templates, newest first."""
    contents = _run(given, lambda service: service.library.all())
    stored = contents.of_type(kind)
    if given.json:
        unreadable = [{"name": one.name, "problem": one.problem} for one in contents.unreadable]
        _print_json({"templates": [one.template.to_dict() for one in stored], "unreadable": unreadable})
        return
    cli_view.show_list(_console(given), stored, kind)
    cli_view.warn_unreadable(Console(stderr=True), contents.unreadable)


@templates.command()
@click.argument("session", metavar="SESSION_ID")
@click.option("--name", metavar="NAME", help="Default: type, end of the session's id, time.")
@_type
@click.option("--max-examples", default=MAX_EXAMPLES, show_default=True, type=click.IntRange(1, 1000))
@_home
@click.pass_obj
def create(
    given: CliContext, session: str, name: str | None, kind: str | None, max_examples: int, home: Path | None
) -> None:
    """Make a template of what worked in a session."""
    stored = _run(given, lambda service: service.create(session, name=name, kind=kind, most=max_examples, home=home))
    template = stored.template
    message = f'"{template.name}" has {len(template.examples)} examples ({template.task_type.value}).'
    _print_done(given, message, template.to_dict())


@templates.command()
@_name
@click.pass_obj
def show(given: CliContext, name: str) -> None:
    """Show a template, or a suggestion by its id, in full."""
    found = _run(given, lambda service: service.get(name))
    if given.json:
        _print_json(found.to_dict())
    elif isinstance(found, StoredTemplate):
        cli_view.show_template(_console(given), found)
    else:
        cli_view.show_suggestions(_console(given), [found], None)
        cli_view.show_examples(_console(given), found.template.examples)


@templates.command()
@_name
@click.pass_obj
def delete(given: CliContext, name: str) -> None:
    """Delete a template."""
    _run(given, lambda service: service.delete(name))
    _print_done(given, f'"{name}" is deleted.', {"deleted": name})


@templates.command()
@_home
@click.option("--inbox", is_flag=True, help="Only list what waits; do not search for more.")
@click.pass_obj
def suggest(given: CliContext, home: Path | None, inbox: bool) -> None:
    """Search the whole history for recurring steps, and list the suggestions to decide on."""

    async def work(service: TemplateService) -> tuple[MiningResult | None, list[Suggestion]]:
        found = None
        if not inbox:
            with cli_view.show_progress(quiet=given.json or not sys.stderr.isatty()) as progress:
                found = await service.suggest(home, progress)
        return found, await service.inbox.waiting()

    found, waiting = _run(given, work)
    if given.json:
        mined = found.to_dict() if found else None
        _print_json({"mined": mined, "suggestions": [one.to_dict() for one in waiting]})
        return
    cli_view.show_suggestions(_console(given), waiting, found)
    for session in found.damaged if found else ():
        Console(stderr=True).print(f"! session {session} is damaged and was left out", style="yellow", markup=False)


@templates.command()
@click.argument("suggestion", metavar="ID")
@click.option("--name", metavar="NAME", help="The name of the template.")
@click.pass_obj
def approve(given: CliContext, suggestion: str, name: str | None) -> None:
    """Make a template of a suggestion."""
    stored = _run(given, lambda service: service.inbox.approve(suggestion, name=name))
    _print_done(given, f'"{stored.template.name}" is a template now.', stored.template.to_dict())


@templates.command()
@click.argument("suggestion", metavar="ID")
@click.option("--never", is_flag=True, help="Never suggest it again.")
@click.pass_obj
def reject(given: CliContext, suggestion: str, never: bool) -> None:
    """Reject a suggestion. It comes back when its evidence has doubled, unless --never."""
    gone = _run(given, lambda service: service.inbox.reject(suggestion, never=never))
    later = "will never be suggested again" if never else "is rejected"
    _print_done(given, f"{gone.id} {later}.", {"id": gone.id, "state": gone.state})


@templates.command()
@_name
@click.option("--name", "new_name", metavar="NAME", help="Another name.")
@_type
@click.option("--description", metavar="TEXT", help="What it is for; relevance looks at these words too.")
@click.option("--drop", multiple=True, type=click.IntRange(1), metavar="NUMBER", help="Leave an example out.")
@click.pass_obj
def edit(
    given: CliContext, name: str, new_name: str | None, kind: str | None, description: str | None, drop: tuple[int, ...]
) -> None:
    """Change a template, or a suggestion by its id. Without options: in your editor."""
    changes = TemplateChanges(name=new_name, kind=kind, description=description, drop=drop)
    if changes == TemplateChanges():
        changes = TemplateChanges(whole=_open_editor(_run(given, lambda service: service.get(name)).template))
    edited = _run(given, lambda service: service.edit(name, changes))
    template = edited if isinstance(edited, SessionTemplate) else edited.template
    _print_done(given, f'"{template.name}" is changed.', template.to_dict())


def _open_editor(template: SessionTemplate) -> Json:
    if not sys.stdin.isatty():
        raise BadInput(
            "No change was given, and there is no terminal for an editor.", hint="Use the options in --help."
        )
    text = click.edit(json.dumps(template.to_dict(), indent=2, ensure_ascii=False), extension=".json")
    if text is None:
        raise BadInput("Nothing was changed.", hint="Save the file in your editor to change the template.")
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"That is not valid JSON: {error}.", hint="Nothing was changed; edit it again.") from error


@templates.command()
@click.pass_obj
def stats(given: CliContext) -> None:
    """Compare sessions that had a template with those of its type that had none."""
    compared = _run(given, lambda service: service.stats())
    if given.json:
        _print_json([one.to_dict() for one in compared])
    else:
        cli_view.show_stats(_console(given), compared)


@templates.command()
@_name
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.pass_obj
def export(given: CliContext, name: str, file: Path | None) -> None:
    """Write a template as JSON to a file, or to the screen."""
    stored = _run(given, lambda service: service.library.get(name))
    text = json.dumps(stored.template.to_dict(), indent=2, ensure_ascii=False)
    if file is None:
        click.echo(text)
        return
    try:
        file.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}.", hint="Choose another place.") from error
    _print_done(given, f"The template is written to {file}.", {"file": str(file)})


@templates.command("import")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--replace", "replaces", is_flag=True, help="Replace templates of the same name.")
@click.pass_obj
def import_(given: CliContext, files: tuple[Path, ...], replaces: bool) -> None:
    """Import templates from JSON files."""
    values = [read_json(file) for file in files]

    async def work(service: TemplateService) -> list[str]:
        return [(await service.import_template(value, replaces=replaces)).name for value in values]

    names = _run(given, work)
    _print_done(given, f"Imported: {', '.join(names)}.", {"templates": names})


def _run(given: CliContext, work: Callable[[TemplateService], Coroutine[Any, Any, T]]) -> T:
    return given.run(lambda app: work(TemplateService(app)))


def _console(given: CliContext) -> Console:
    return Console(file=trim_unless_terminal(sys.stdout), no_color=given.no_color or None)


def _print_json(value: Json) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def _print_done(given: CliContext, sentence: str, value: Json) -> None:
    if given.json:
        _print_json(value)
    else:
        click.echo(f"{click.style('✓', fg='green')} {sentence}", color=False if given.no_color else None)
