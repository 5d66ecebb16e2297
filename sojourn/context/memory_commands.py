"""`sojourn memory`: lists and edits facts, and shows which context a turn was given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

import click

from sojourn.context.context_log import TurnContext, read_context_log
from sojourn.context.facts import FactRecords
from sojourn.context.recall import Memory, choose_memories, encode_memories, to_memory
from sojourn.context.recall_rank import MAX_RANKED, rank_memories
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER
from sojourn.ports.app import HasStore, PluginContext
from sojourn.ports.cli import CliContext
from sojourn.ports.libraries import Fact
from sojourn.text.rank import RankedQuery

as_json = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def memory(context: click.Context, as_json: bool) -> None:
    """The facts that are remembered, and why something was recalled."""
    if context.invoked_subcommand is None:
        context.invoke(list_facts, as_json=as_json)


@memory.command("list")
@as_json
@click.pass_obj
def list_facts(given: CliContext, as_json: bool) -> None:
    """List every fact, oldest first."""
    facts: list[Fact] = given.run(lambda app: FactRecords(app).list_facts())
    _print_facts(facts, as_json or given.json, "Nothing is remembered yet. Add a fact with `sojourn memory add TEXT`.")


@memory.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--why", default="", metavar="REASON", help="Why it is worth remembering.")
@as_json
@click.pass_obj
def add(given: CliContext, text: tuple[str, ...], why: str, as_json: bool) -> None:
    """Remember a fact."""
    fact: Fact = given.run(lambda app: FactRecords(app).add_fact(" ".join(text), why=why))
    _print_fact(f"Remembered as {fact.id}: {fact.text}", fact, as_json or given.json)


@memory.command()
@click.argument("id", metavar="FACT")
@click.argument("text", nargs=-1, required=True)
@as_json
@click.pass_obj
def edit(given: CliContext, id: str, text: tuple[str, ...], as_json: bool) -> None:
    """Reword a fact. FACT is its id, or words that only it has."""
    fact: Fact = given.run(lambda app: FactRecords(app).edit_fact(id, " ".join(text)))
    _print_fact(f"{fact.id} is now: {fact.text}", fact, as_json or given.json)


@memory.command()
@click.argument("id", metavar="FACT")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
@click.pass_obj
def delete(given: CliContext, id: str, yes: bool, as_json: bool) -> None:
    """Forget a fact. FACT is its id, or words that only it has."""
    found: Fact = given.run(lambda app: FactRecords(app).get_fact(id))
    given.confirm(f"Forget “{found.text}”?", yes=yes)
    fact: Fact = given.run(lambda app: FactRecords(app).delete_fact(found.id))
    _print_fact(f"Forgotten: {fact.text}", fact, as_json or given.json)


@memory.command()
@click.argument("text", nargs=-1, required=True)
@as_json
@click.pass_obj
def search(given: CliContext, text: tuple[str, ...], as_json: bool) -> None:
    """Find facts that share words with a text."""
    facts: list[Fact] = given.run(lambda app: FactRecords(app).list_facts(text=" ".join(text)))
    _print_facts(facts, as_json or given.json, "No fact has these words.")


@memory.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--budget", type=click.IntRange(min=1), default=2000, show_default=True, help="At most so many tokens.")
@click.option("--limit", type=click.IntRange(min=1), help="Instead: so many ranked messages, fitting or not.")
@as_json
@click.pass_obj
def recall(given: CliContext, text: tuple[str, ...], budget: int, limit: int | None, as_json: bool) -> None:
    """What a runtime would be told of past sessions about a request, best first."""
    said = " ".join(text)

    async def rank(app: PluginContext) -> list[Memory]:
        hits = await rank_memories(app, said, limit=limit or MAX_RANKED, wait=True)
        if limit is None:
            return choose_memories(said, hits, budget)
        query = RankedQuery(said, is_question=True)
        return [to_memory(query, hit) for hit in hits]

    found: list[Memory] = given.run(rank)
    if as_json or given.json:
        click.echo(json.dumps(encode_memories(found), ensure_ascii=False, indent=1))
        return
    if not found:
        click.echo("Nothing that was said fits well enough.")
    for one in found:
        click.secho(
            f"{one.hit.title or one.hit.session}, {one.hit.session}:{one.hit.seq} ({one.hit.score:.2f})", bold=True
        )
        click.echo(f"  {one.hit.role}: {one.text}")
        click.secho(f"  {one.reason}", dim=True)


@memory.command()
@click.argument("session")
@click.option("--turn", default="last", show_default=True, metavar="ID", help="A turn's id, or `all`.")
@as_json
@click.pass_obj
def why(given: CliContext, session: str, turn: str, as_json: bool) -> None:
    """What context the runtime got in a turn, and why."""

    async def read(app: HasStore) -> list[TurnContext]:
        found = await app.store.resolve(session, principal=OWNER)
        return await read_context_log(app.store, found.id, "" if turn == "all" else turn)

    turns: list[TurnContext] = given.run(read)
    if as_json or given.json:
        click.echo(json.dumps([asdict(one) for one in turns], ensure_ascii=False, indent=1))
        return
    if not any(one.pieces or one.left_out for one in turns):
        click.echo("The runtime got no context there.")
    for one in turns:
        click.secho(one.turn, bold=True)
        for piece in one.pieces:
            click.echo(f"  {piece.get('kind')}: {piece.get('title')} ({piece.get('tokens')} tokens)")
            click.secho(f"    from {piece.get('origin')}; {piece.get('reason')}", dim=True)
        for left in one.left_out:
            click.secho(f"  left out: {left}", dim=True)


def fact_to_json(fact: Fact) -> dict[str, Json]:
    """Returns a fact as JSON; times in ISO 8601."""
    return {**asdict(fact), "created_at": _to_iso(fact.created_at), "updated_at": _to_iso(fact.updated_at)}


def _to_iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _print_facts(facts: Sequence[Fact], as_json: bool, nothing: str) -> None:
    if as_json:
        click.echo(json.dumps([fact_to_json(fact) for fact in facts], ensure_ascii=False, indent=1))
    elif not facts:
        click.echo(nothing)
    else:
        for fact in facts:
            click.echo(f"{click.style(fact.id, fg='cyan')}  {fact.text}" + (f"  ({fact.why})" if fact.why else ""))


def _print_fact(sentence: str, fact: Fact, as_json: bool) -> None:
    click.echo(json.dumps(fact_to_json(fact), ensure_ascii=False) if as_json else sentence)
