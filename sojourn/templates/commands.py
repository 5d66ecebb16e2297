"""`sojourn templates`: what worked before, kept, suggested, measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.messages import Json
from sojourn.ports.cli import CliContext
from sojourn.templates import cli_view
from sojourn.templates.extract import MAX_EXAMPLES
from sojourn.templates.library import LibraryContents, StoredTemplate
from sojourn.templates.model import SessionTemplate, TaskType, task_type
from sojourn.templates.service import TemplateChanges, TemplateService
from sojourn.templates.suggestions import Suggestion

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def _json(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.obj.json = True


def _shared(function: F) -> F:
    return click.option("--json", is_flag=True, expose_value=False, callback=_json, help="Print JSON, for scripts.")(
        function
    )


_types = click.Choice([one.value for one in TaskType])
_type = click.option("--type", "kind", type=_types, help="The type of task.")
_home = click.option(
    "--home", type=click.Path(path_type=Path), metavar="PATH", help="A Hermes home to read instead of our own store."
)
_name = click.argument("name", metavar="NAME")


class _InOrder(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of the file, which is the order of use


@click.group(cls=_InOrder, invoke_without_command=True)
@_shared
@click.pass_context
def templates(context: click.Context) -> None:
    """Calls that worked before, ready for the next session."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@templates.command("list")
@_type
@_shared
@click.pass_obj
def list_(given: CliContext, kind: str | None) -> None:
    """The templates there are, newest first."""
    contents = _ask(given, lambda service: service.library.all())
    if kind is not None:
        meant = task_type(kind)
        contents = LibraryContents(
            [one for one in contents.kept if one.template.task_type is meant], contents.unreadable
        )
    if given.json:
        broken = [{"name": one.name, "problem": one.problem} for one in contents.unreadable]
        _emit({"templates": [one.template.to_dict() for one in contents.kept], "unreadable": broken})
        return
    cli_view.show_list(_console(given), contents, kind)
    cli_view.warn_unreadable(Console(stderr=True), contents)


@templates.command()
@click.argument("session", metavar="SESSION_ID")
@click.option("--name", metavar="NAME", help="Default: type, end of the session's id, time.")
@_type
@click.option("--max-examples", default=MAX_EXAMPLES, show_default=True, type=click.IntRange(1, 1000))
@_home
@_shared
@click.pass_obj
def create(
    given: CliContext, session: str, name: str | None, kind: str | None, max_examples: int, home: Path | None
) -> None:
    """Make a template of what worked in a session."""
    kept = _ask(given, lambda service: service.create(session, name=name, kind=kind, most=max_examples, home=home))
    template = kept.template
    told = f'"{template.name}" has {len(template.examples)} examples ({template.task_type.value}).'
    _say(given, told, template.to_dict())


@templates.command()
@_name
@_shared
@click.pass_obj
def show(given: CliContext, name: str) -> None:
    """A template, or a suggestion by its id, with everything in it."""
    kept = _ask(given, lambda service: _found(service, name))
    if given.json:
        _emit(
            {**kept.template.to_dict(), "about": kept.about.to_dict()}
            if isinstance(kept, StoredTemplate)
            else kept.to_dict()
        )
    elif isinstance(kept, StoredTemplate):
        cli_view.show_template(_console(given), kept)
    else:
        cli_view.show_suggestions(_console(given), [kept], None)
        cli_view.show_examples(_console(given), kept.template.examples)


async def _found(service: TemplateService, name: str) -> StoredTemplate | Suggestion:
    try:
        return await service.library.get(name)
    except NotFound as absent:
        try:
            return await service.inbox.get(name)
        except NotFound:
            raise absent from None


@templates.command()
@_name
@_shared
@click.pass_obj
def delete(given: CliContext, name: str) -> None:
    """Delete a template."""
    _ask(given, lambda service: service.delete(name))
    _say(given, f'"{name}" is deleted.', {"deleted": name})


@templates.command()
@_home
@click.option("--inbox", is_flag=True, help="Only show what waits; do not look for more.")
@_shared
@click.pass_obj
def suggest(given: CliContext, home: Path | None, inbox: bool) -> None:
    """Look through the whole history for what comes back, and show what waits for a decision."""

    async def work(service: TemplateService) -> tuple[Any, list[Suggestion]]:
        if inbox:
            return None, await service.inbox.waiting()
        with cli_view.show_progress(quiet=given.json or not sys.stderr.isatty()) as progress:
            found = await service.suggest(home, progress)
        return found, await service.inbox.waiting()

    found, waiting = _ask(given, work)
    if given.json:
        mined = {"sessions": len(found.facts), "read": found.read, "damaged": list(found.damaged)} if found else None
        _emit({"mined": mined, "suggestions": [one.to_dict() for one in waiting]})
        return
    cli_view.show_suggestions(_console(given), waiting, found)
    for session in found.damaged if found else ():
        Console(stderr=True).print(f"! session {session} is damaged and was left out", style="yellow", markup=False)


@templates.command()
@click.argument("suggestion", metavar="ID")
@click.option("--name", metavar="NAME", help="The name of the template.")
@_shared
@click.pass_obj
def approve(given: CliContext, suggestion: str, name: str | None) -> None:
    """Make a template of a suggestion."""
    kept = _ask(given, lambda service: service.inbox.approve(suggestion, name=name))
    _say(given, f'"{kept.template.name}" is a template now.', kept.template.to_dict())


@templates.command()
@click.argument("suggestion", metavar="ID")
@click.option("--never", is_flag=True, help="Never ask about it again.")
@_shared
@click.pass_obj
def reject(given: CliContext, suggestion: str, never: bool) -> None:
    """Turn a suggestion down. It comes back when its evidence has doubled, unless --never."""
    gone = _ask(given, lambda service: service.inbox.reject(suggestion, never=never))
    later = "will never be asked about again" if never else "is turned down"
    _say(given, f"{gone.id} {later}.", {"id": gone.id, "state": gone.state})


@templates.command()
@_name
@click.option("--name", "new_name", metavar="NAME", help="Another name.")
@_type
@click.option("--description", metavar="TEXT", help="What it is for; relevance looks at these words too.")
@click.option("--drop", multiple=True, type=click.IntRange(1), metavar="NUMBER", help="Leave an example out.")
@_shared
@click.pass_obj
def edit(
    given: CliContext, name: str, new_name: str | None, kind: str | None, description: str | None, drop: tuple[int, ...]
) -> None:
    """Change a template, or a suggestion by its id. Without options: in your editor."""
    changes = TemplateChanges(name=new_name, kind=kind, description=description, drop=drop)
    if changes == TemplateChanges():
        changes = TemplateChanges(whole=_in_editor(_ask(given, lambda service: _found(service, name)).template))
    made = _ask(given, lambda service: service.edit(name, changes))
    template = made if isinstance(made, SessionTemplate) else made.template
    _say(given, f'"{template.name}" is changed.', template.to_dict())


def _in_editor(template: SessionTemplate) -> Json:
    if not sys.stdin.isatty():
        raise BadInput("Nothing was said to change, and nobody is here to edit.", hint="See the options in --help.")
    text = click.edit(json.dumps(template.to_dict(), indent=2, ensure_ascii=False), extension=".json")
    if text is None:
        raise BadInput("Nothing was changed.", hint="Save the file in your editor to change the template.")
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"That is not valid JSON: {error}.", hint="Nothing was changed; edit it again.") from error


@templates.command()
@_shared
@click.pass_obj
def stats(given: CliContext) -> None:
    """Does it help? Sessions with each template beside those of its type without."""
    compared = _ask(given, lambda service: service.stats())
    if given.json:
        _emit([one.to_dict() for one in compared])
    else:
        cli_view.show_stats(_console(given), compared)


@templates.command()
@_name
@click.argument("file", type=click.Path(path_type=Path), required=False)
@_shared
@click.pass_obj
def export(given: CliContext, name: str, file: Path | None) -> None:
    """Write a template as JSON to a file, or to the screen."""
    kept = _ask(given, lambda service: service.library.get(name))
    text = json.dumps(kept.template.to_dict(), indent=2, ensure_ascii=False)
    if file is None:
        click.echo(text)
        return
    try:
        file.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}.", hint="Choose another place.") from error
    _say(given, f"{file} holds it.", {"file": str(file)})


@templates.command("import")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--replace", "replaces", is_flag=True, help="Also where a template of that name is there.")
@_shared
@click.pass_obj
def import_(given: CliContext, files: tuple[Path, ...], replaces: bool) -> None:
    """Take in templates from JSON files."""
    given_ones = [_json_of(file) for file in files]

    async def work(service: TemplateService) -> list[str]:
        return [(await service.take_in(one, replaces=replaces)).name for one in given_ones]

    names = _ask(given, work)
    _say(given, f"Taken in: {', '.join(names)}.", {"templates": names})


def _json_of(file: Path) -> Json:
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.", hint="Give a template's JSON file.") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file} is not valid JSON: {error}.", hint="Give a template's JSON file.") from error


# -- parts ---------------------------------------------------------------------


def _ask(given: CliContext, work: Callable[[TemplateService], Coroutine[Any, Any, T]]) -> T:
    return given.run(lambda app: work(TemplateService(app)))


def _console(given: CliContext) -> Console:
    return Console(no_color=given.no_color or None)


def _emit(value: Json) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def _say(given: CliContext, sentence: str, value: Json) -> None:
    if given.json:
        _emit(value)
    else:
        click.echo(f"{click.style('✓', fg='green')} {sentence}", color=False if given.no_color else None)
