"""What an editor can choose in a session: the permission mode, and the runtime that answers."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.chat_command_table import run_plugin_command
from sojourn.core.errors import BadInput, SojournError
from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId
from sojourn.jsonrpc import Params
from sojourn.ports.service import Caller, RuntimeInfo, Service
from sojourn.turn_support.permission_modes import MODES

MODE, RUNTIME = "mode", "runtime"  # ids of the options


class SessionOptions:
    """The options of one session. The mode is the session's; the runtime is that of this editor's next prompts."""

    def __init__(self, service: Service, session: SessionId, by: Caller) -> None:
        self._service, self._session, self._by = service, session, by
        self.runtime = ""

    async def find_mode(self) -> str:
        try:
            found = await run_plugin_command(self._service, "permissions", "", self._session, self._by)
        except SojournError:  # a session without one, such as a guest's
            return "ask"
        return found.choices["permissions"]

    async def set_mode(self, mode: str) -> None:
        """BadInput for an unknown one; a mode is named in full."""
        if mode not in MODES:
            raise BadInput(f'There is no permission mode "{mode}".', hint=f"There are: {', '.join(MODES)}.")
        await run_plugin_command(self._service, "permissions", mode, self._session, self._by)

    async def set_option(self, option: str, value: Json) -> None:
        if option == MODE:
            await self.set_mode(str(value))
        elif option == RUNTIME:
            found = await self._service.runtimes()
            if value not in [one.name for one in found]:
                offered = ", ".join(one.name for one in found if one.offered)
                raise BadInput(f'There is no runtime "{value}".', hint=f"There are: {offered}.")
            self.runtime = str(value)
        else:
            raise BadInput(f'There is no option "{option}".', hint=f"There are: {MODE}, {RUNTIME}.")

    async def describe(self) -> Params:
        """Modes and options as answers to `session/new`, `session/load` and `session/resume` contain them."""
        mode, runtimes = await self.find_mode(), await self._service.runtimes()
        modes = [{"id": one, "name": _to_name(one), "description": words} for one, words in MODES.items()]
        return {
            "modes": {"currentModeId": mode, "availableModes": modes},
            "configOptions": self._list_options(mode, runtimes),
        }

    async def list_options(self) -> list[Json]:
        return self._list_options(await self.find_mode(), await self._service.runtimes())

    def _list_options(self, mode: str, runtimes: Sequence[RuntimeInfo]) -> list[Json]:
        default = next((one.name for one in runtimes if one.default), runtimes[0].name if runtimes else "")
        return [
            {
                "id": MODE,
                "name": "Permissions",
                "category": "mode",
                "type": "select",
                "currentValue": mode,
                "options": [
                    {"value": one, "name": _to_name(one), "description": words} for one, words in MODES.items()
                ],
            },
            {
                "id": RUNTIME,
                "name": "Runtime",
                "type": "select",
                "currentValue": self.runtime or default,
                "options": [
                    {"value": one.name, "name": one.label, "description": one.detail if one.ok else one.hint}
                    for one in runtimes
                    if one.offered or one.name == self.runtime
                ],
            },
        ]


def _to_name(mode: str) -> str:
    return mode.replace("-", " ").capitalize()
