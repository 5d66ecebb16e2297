"""`sojourn approvals`: what was allowed for longer than once; list and revoke it."""

from __future__ import annotations

import click

from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import JsonGroup
from sojourn.core.errors import BadInput
from sojourn.ports.app import AppContext
from sojourn.ports.service import Approval, Caller
from sojourn.text.codec import encode_value
from sojourn.text.formatting import format_time, pluralize, printable
from sojourn.turn_support.lasting_approvals import ApprovalList, describe_approval

_OWNER = Caller(surface="cli")


@click.group(cls=JsonGroup, invoke_without_command=True)
@click.pass_context
def approvals(context: click.Context) -> None:
    """What you allowed for longer than once; list or revoke it."""
    if context.invoked_subcommand is None:
        context.invoke(list_approvals)


@approvals.command("list")
@with_app
async def list_approvals(context: CommandContext, app: AppContext) -> None:
    """List what was allowed for a session or always, newest first."""
    known = ApprovalList(app.store)
    found, notices = await known.list_approvals(_OWNER), await known.take_notices(_OWNER)
    for line in notices:
        click.echo(f"! {line}", err=True)
    if context.json:
        return emit([encode_value(one) for one in found])
    for one in found:
        click.echo(f"{one.id}  {printable(describe_approval(one))}  {format_time(one.given_at)}, {printable(one.by)}")
    if not found:
        click.echo("Nothing is allowed for longer than once.")


@approvals.command("revoke")
@click.argument("ids", metavar="ID...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Revoke all of them.")
@with_app
async def revoke(context: CommandContext, app: AppContext, ids: tuple[str, ...], everything: bool) -> None:
    """Revoke approvals. You are asked again from now on, in running turns too."""
    if bool(ids) == everything:
        raise BadInput("Which approvals?", hint="Name their ids, which `sojourn approvals` lists, or use --all.")
    known = ApprovalList(app.store)
    revoked: list[Approval] = []
    for id in ids or [one.id for one in await known.list_approvals(_OWNER)]:
        revoked.append(await known.revoke_approval(id, _OWNER))
    if context.json:
        return emit([encode_value(one) for one in revoked])
    for one in revoked:
        click.echo(f"✓ Revoked: {printable(describe_approval(one))}")
    if not revoked:
        click.echo(f"{pluralize(0, 'approval')} revoked: there were none.")
