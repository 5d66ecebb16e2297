"""Threads that read. Handing a question to a thread and its answer back costs more than most questions: so the threads
are our own, and answers that are ready at the same moment wake the asker's loop together."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from sojourn.stores.sqlite.writer import Post

_TOGETHER = 0.0005  # seconds an answer may wait for the next one
Work = Callable[[Any], Any]
Job = tuple[Work, asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Readers:
    """Started by the first question. After `close` the next question starts them again."""

    def __init__(self, read: Callable[[Work], Any], count: int) -> None:
        self._read, self._count = read, count
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()

    async def ask(self, work: Work) -> Any:
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[Any] = loop.create_future()
        if not self._threads:
            self._start()
        self._jobs.put((work, loop, waiting))
        return await waiting

    def _start(self) -> None:
        with self._starting:
            if not self._threads:
                self._threads = [
                    threading.Thread(target=self._run, name="sojourn-reader", daemon=True) for _ in range(self._count)
                ]
                for thread in self._threads:
                    thread.start()

    def _run(self) -> None:
        post = Post()
        while (job := self._jobs.get()) is not None:
            since = time.monotonic()
            while job is not None:
                self._answer(job, post)
                job = None
                if time.monotonic() - since < _TOGETHER and not self._jobs.empty():
                    try:
                        job = self._jobs.get_nowait()
                    except queue.Empty:
                        break
                    if job is None:
                        self._jobs.put(None)  # we are to end: after the answers are delivered
            post.deliver()

    def _answer(self, job: Job, post: Post) -> None:
        work, loop, waiting = job
        try:
            post.send(loop, _settle, waiting, self._read(work), None)
        except BaseException as error:  # noqa: BLE001  the thread must live; the error goes to who asked
            post.send(loop, _settle, waiting, None, error)

    def close(self) -> None:
        with self._starting:
            threads, self._threads = self._threads, []
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            thread.join(timeout=30)


def _settle(waiting: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if waiting.done():
        return  # whoever asked has gone away
    if error is not None:
        waiting.set_exception(error)
    else:
        waiting.set_result(result)
