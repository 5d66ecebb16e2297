"""`sojourn acp`: Sojourn as an agent on standard input and output."""

from __future__ import annotations

import os
import platform

import click

from sojourn.acp_server.server import AcpServer
from sojourn.acp_server.stdio import StdioStreams
from sojourn.core.errors import BadInput
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.ports.service import Caller
from sojourn.turn_support.workspace_folders import make_workspace

SURFACE = "acp"


@click.command()
@click.option("--server", metavar="URL", help="Use a server on another machine; SOJOURN_TOKEN is its token.")
@click.option("--in-process", is_flag=True, help="Run turns in this process instead of in a server.")
@click.pass_obj
def acp(given: CliContext, server: str | None, in_process: bool) -> None:
    """Be an agent for Zed and other editors.

    Speaks the Agent Client Protocol on standard input and output; the editor starts it so. Your sessions are listed
    there and go on there; turns outlive the editor.
    """
    if given.is_interactive:
        raise BadInput(
            "`sojourn acp` is started by an editor, not at a terminal.",
            hint="docs/how-to/editors.md says how to set one up; `sojourn chat` talks to an agent here.",
        )

    async def serve(app: AppContext) -> None:
        service = await app.connect(in_process=in_process, server=server or "")
        streams = StdioStreams()
        by = Caller(surface=SURFACE, holder=f"editor on {platform.node() or 'this machine'} (pid {os.getpid()})")
        try:
            await AcpServer(service, streams, by, workspace=make_workspace(app.settings)).run()
        finally:
            await streams.close()
            if not in_process:
                await service.close()

    given.run(serve)
