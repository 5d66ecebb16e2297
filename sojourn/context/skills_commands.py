"""`sojourn skills`: lists the skills, shows one, and ranks them for a request."""

from __future__ import annotations

import json

import click

from sojourn.context.memory_commands import as_json
from sojourn.context.skills import RankedSkill, SkillIndex
from sojourn.core.messages import Json
from sojourn.ports.cli import CliContext
from sojourn.ports.libraries import Skill, SkillProblem
from sojourn.skill_files import skill_folders

MAX_RANKED = 10  # skills


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def skills(context: click.Context, as_json: bool) -> None:
    """The skills there are, and which ones a request would bring up."""
    if context.invoked_subcommand is None:
        context.invoke(list_skills, as_json=as_json)


@skills.command("list")
@as_json
@click.pass_obj
def list_skills(given: CliContext, as_json: bool) -> None:
    """Every skill, and every SKILL.md that cannot be used."""
    entries, folders = given.app.shared(SkillIndex).list_all(), skill_folders(given.app.settings)
    if as_json or given.json:
        click.echo(json.dumps([skill_to_json(one) for one in entries], ensure_ascii=False, indent=1))
        return
    if not entries:
        click.echo(f"There are no skills in {', '.join(map(str, folders))}.")
        click.echo("A skill is a folder there with a SKILL.md; the setting skills.folders names more folders.")
    for one in entries:
        if isinstance(one, Skill):
            click.echo(f"{click.style(one.name, fg='cyan')}  {one.description}")
        else:
            click.secho(f"✗ {one.path}: {one.why}", fg="red")


@skills.command()
@click.argument("name")
@as_json
@click.pass_obj
def view(given: CliContext, name: str, as_json: bool) -> None:
    """One skill in full."""
    one = given.app.shared(SkillIndex).get(name)
    if as_json or given.json:
        click.echo(json.dumps({**skill_to_json(one), "body": one.body}, ensure_ascii=False, indent=1))
        return
    click.secho(one.name, bold=True)
    click.echo(f"{one.description}\n")
    click.echo(one.body)
    click.secho(f"\n{one.path}", dim=True)


@skills.command()
@click.argument("request", nargs=-1, required=True)
@as_json
@click.pass_obj
def why(given: CliContext, request: tuple[str, ...], as_json: bool) -> None:
    """Which skills a request would bring up, best first, and why."""
    app = given.app
    ranked = app.shared(SkillIndex).rank(" ".join(request), wait=True)[:MAX_RANKED]
    most = int(app.settings["skills.shortlist"])
    if as_json or given.json:
        click.echo(json.dumps([ranking_to_json(one) for one in ranked], ensure_ascii=False, indent=1))
        return
    if not ranked:
        click.echo("No skill fits that request.")
    for place, one in enumerate(ranked, 1):
        mark = click.style("●", fg="green") if place <= most else click.style("·", dim=True)
        click.echo(f"{mark} {place:2} {one.skill.name}  {click.style(one.reason, dim=True)}")


def skill_to_json(one: Skill | SkillProblem) -> dict[str, Json]:
    if isinstance(one, Skill):
        return {"name": one.name, "description": one.description, "path": one.path, "problem": ""}
    return {"name": "", "description": "", "path": one.path, "problem": one.why}


def ranking_to_json(one: RankedSkill) -> dict[str, Json]:
    return {
        "name": one.skill.name,
        "description": one.skill.description,
        "score": round(one.score, 3),
        "nearness": round(one.nearness, 3),
        "words": list(one.shared),
        "reason": one.reason,
    }
