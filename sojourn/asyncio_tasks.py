"""Clean-up of asyncio tasks and generators."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger(__name__)


async def cancel_task(task: asyncio.Task[Any] | None) -> None:
    """Cancels a task and waits until it has ended; raises the error it ended with, if it had one."""
    if task is not None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def run_beside(work: Coroutine[Any, Any, Any]) -> AsyncIterator[None]:
    """Runs `work` beside the block, and cancels it at the end of the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        await cancel_task(task)


async def cancel_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until they have ended; their errors are ignored."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def cancel_tasks_within(seconds: float, tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits for them; abandons those that do not end in time."""
    for task in tasks:
        task.cancel()
    _, deaf = await asyncio.wait(tasks, timeout=seconds)
    for task in deaf:
        logger.warning("%r does not stop", task)
    for task in set(tasks) - deaf:
        if not task.cancelled():
            task.exception()  # marks it as retrieved: it was reported before


@asynccontextmanager
async def close_within(seconds: float, yielded: AsyncGenerator[T, None]) -> AsyncIterator[AsyncGenerator[T, None]]:
    """Closes a generator at the end; abandons one that does not close in time."""
    try:
        yield yielded
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await yielded.aclose()
