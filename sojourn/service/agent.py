"""AgentService: prepares the input of a runtime, always in this order.

conversation, message and files → memory → skill shortlist → template → task graph → runtime request context.
"""

from __future__ import annotations

from functools import partial

from sojourn.core.attachments import Attachment
from sojourn.core.events import Progress
from sojourn.core.progress import ToolDetail
from sojourn.core.provenance import Provenance
from sojourn.core.sessions import OWNER, SessionId
from sojourn.core.settings import Settings
from sojourn.ports.app import HasStore
from sojourn.ports.context import ContextRequest
from sojourn.ports.runtime import HasOwnTools, Runtime, TurnInput
from sojourn.ports.tool import Question, Reply
from sojourn.service.turn_controls import TurnControls
from sojourn.service.turn_start import BegunTurn
from sojourn.service.turn_writer import TurnWriter
from sojourn.text.host_names import find_hosts
from sojourn.text.message_origins import add_messages
from sojourn.turn_support.context_gatherer import ContextGatherer
from sojourn.turn_support.conversation_history import read_past
from sojourn.turn_support.cost_limits import CostBook
from sojourn.turn_support.permission_modes import require_enforced
from sojourn.turn_support.plugin_cache import PluginCache
from sojourn.turn_support.workspace_folders import find_workspace

_MAX_CONTEXT_CHARS = 8_000  # of a message, for context sources: a longer one would keep them busy


class AgentService:
    """Prepares turns."""

    def __init__(self, app: HasStore, plugins: PluginCache, costs: CostBook) -> None:
        self._app, self._plugins, self._costs = app, plugins, costs
        self.context = ContextGatherer(app, plugins)

    async def prepare(
        self, begun: BegunTurn, writer: TurnWriter, runtime: Runtime, controls: TurnControls
    ) -> tuple[TurnInput, ContextRequest]:
        """The input of the runtime, and the request that context sources saw."""
        record, session = begun.record, begun.session
        if (past := begun.past) is None:
            read = partial(read_past, session=session, costs=self._costs, upto=record.after)
            past = await self._app.store.snapshot(read)
        require_enforced(past.mode, runtime)
        tools = tuple(tool for tool in await self._plugins.tools() if tool.for_whom(session.principal))
        request = ContextRequest(
            session=session,
            said=record.said.text[:_MAX_CONTEXT_CHARS],
            history=tuple(one.message for one in past.history),
            runtime=runtime.name,
            tools=() if isinstance(runtime, HasOwnTools) else tuple(tool.name for tool in tools),
            drop=record.said.drop,
            template=record.said.template,
            permissions=past.mode,
        )
        given = await self.context.gather(request, writer, takes_examples=runtime.takes_tool_history)
        provenance = record.said.provenance or Provenance(foreign=session.principal != OWNER)
        provenance = add_messages(provenance, [*past.earlier, record.message], {one.name: one.origins for one in tools})
        history, origins = await self.context.given.attach(past.history, request, given.blocks, begun.stored)
        workspace = TurnWorkspace(begun, writer, controls, provenance.add_origins(origins), self._app.settings)
        turn = TurnInput(
            session=session,
            turn=record.id,
            said=record.said.text,
            internal=record.said.internal,
            attachments=record.said.attachments,
            history=history,
            blocks=given.blocks,
            examples=given.examples,
            graph=given.graph,
            tools=tools,
            workspace=workspace,
            model=record.model,
            state=dict(past.states.get(record.runtime, {})),
            read_attachment=partial(self._read_attachment, session=session.id),
            ask=controls.ask,
            steered=workspace.take_steering,
            may_spend=partial(past.budget, record.id),
        )
        return turn, request

    async def _read_attachment(self, attachment: Attachment, session: SessionId) -> bytes:
        return (await self._app.store.get_blob(session, attachment.hash))[0]


class TurnWorkspace:
    """ports.Workspace of one turn: where its tools work, for whom, and how they ask."""

    def __init__(
        self, begun: BegunTurn, writer: TurnWriter, controls: TurnControls, provenance: Provenance, settings: Settings
    ) -> None:
        self.root = find_workspace(begun.session, begun.record.said.cwd, settings)
        self.session, self.turn, self.principal = begun.session.id, begun.record.id, begun.session.principal
        self.seconds, self.most = float(settings["tools.seconds"]), int(settings["tools.most"])
        self.provenance, self._writer, self._controls = provenance, writer, controls
        self._is_full = False

    async def ask(self, question: Question) -> Reply:
        return await self._controls.ask(question)

    def take_steering(self) -> tuple[str, ...]:
        """Takes what the person sent meanwhile; it may name hosts."""
        texts = self._controls.steered()
        self.provenance = self.provenance.add_hosts(host for text in texts for host in find_hosts(text))
        return texts

    def tell(self, line: str) -> None:
        """Shows a line of tool output. Drops lines while the writer is behind: they are not part of the result."""
        if not self._is_full or not self._writer.is_behind:
            self._is_full = not self._writer.enqueue(Progress("tool", ToolDetail(line=line)))
