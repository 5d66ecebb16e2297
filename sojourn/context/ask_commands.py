"""`sojourn ask`: a question to everything that was said."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from sojourn.context.ask import ask_history
from sojourn.ports.cli import CliContext
from sojourn.text.cited_answer import Answer


@click.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--quotes", is_flag=True, help="Only quote; no model words the answer.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def ask(given: CliContext, question: tuple[str, ...], quotes: bool, as_json: bool) -> None:
    """Ask everything that was said; the answer stands on quotes."""
    words = " ".join(question)
    answer: Answer = given.run(lambda app: ask_history(app, words, runtime="") if quotes else ask_history(app, words))
    if as_json or given.json:
        click.echo(json.dumps(asdict(answer), ensure_ascii=False, indent=1))
        return
    click.secho(answer.text, bold=True)
    for number, one in enumerate(answer.quotes, 1):
        click.echo(f"\n[{number}] {one.role}: {one.text}")
        click.secho(f"    {one.title or 'an untitled session'}, {one.day}, {one.session}:{one.seq}", dim=True)
