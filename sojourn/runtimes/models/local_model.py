"""Local model: the first one that a server on this machine offers. An HTTP client is loaded if a usual port is open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sojourn.core.settings import Settings
from sojourn.lazy import Lazy
from sojourn.runtimes.models.selection import ModelChoice

if TYPE_CHECKING:
    from sojourn.runtimes.models.local_servers import LocalServer, find_local_servers

    _find_servers: Callable[..., Awaitable[list[LocalServer]]] = find_local_servers

FIND_SERVERS: Lazy[Callable[..., Awaitable[list[LocalServer]]]] = Lazy(
    "sojourn.runtimes.models.local_servers:find_local_servers"
)
USUAL_PORTS: tuple[tuple[int, str], ...] = ((11434, "ollama"), (1234, "lmstudio"), (8080, "llamacpp"), (8000, "vllm"))
_CONNECT_SECONDS = 0.4


async def find_local_model(settings: Settings, ports: Sequence[tuple[int, str]] = USUAL_PORTS) -> ModelChoice | None:
    """Returns a chat model of the first server that answers within a second; None if `model.detect` is off.

    ports: the ports to ask, all at once, each with the provider that usually has it
    """
    if not settings["model.detect"]:
        return None
    is_open = await asyncio.gather(*(_is_open(port) for port, _ in ports))
    open_ports = [one for one, answers in zip(ports, is_open, strict=True) if answers]
    for found in await FIND_SERVERS.load()(open_ports) if open_ports else ():
        return ModelChoice(provider=found.provider, base_url=found.base_url, name=found.models[0])
    return None


async def _is_open(port: int) -> bool:
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        return True
    return False
