"""Clean-up of asyncio tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


async def cancel_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until they have ended; their errors are ignored."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
