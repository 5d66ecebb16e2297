"""Reader threads. Passing a query to a thread and its result back costs more than most queries, so the threads are our
own, and results that are ready at the same moment share one wake-up of the event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from sojourn.stores.sqlite.writer import LoopMailbox, settle

_BATCH_SECONDS = 0.0005  # how long a result may wait for the next one
Work = Callable[[], Any]
Job = tuple[Work, asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class ReaderPool:
    """A pool of reader threads, started by the first query; a query after `close` starts them again."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()

    async def run(self, work: Work) -> Any:
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Any] = loop.create_future()
        if not self._threads:
            self._start()
        self._jobs.put((work, loop, result))
        return await result

    def _start(self) -> None:
        with self._starting:
            if not self._threads:
                self._threads = [
                    threading.Thread(target=self._run, name="sojourn-reader", daemon=True) for _ in range(self._count)
                ]
                for thread in self._threads:
                    thread.start()

    def _run(self) -> None:
        mailbox = LoopMailbox()
        while (job := self._jobs.get()) is not None:
            since = time.monotonic()
            while job is not None:
                self._run_job(job, mailbox)
                job = None
                if time.monotonic() - since < _BATCH_SECONDS and not self._jobs.empty():
                    try:
                        job = self._jobs.get_nowait()
                    except queue.Empty:
                        break
                    if job is None:
                        self._jobs.put(None)  # the sign to end: obeyed once the results are delivered
            mailbox.deliver()

    def _run_job(self, job: Job, mailbox: LoopMailbox) -> None:
        work, loop, future = job
        try:
            mailbox.send(loop, settle, future, work(), None)
        except BaseException as error:  # noqa: BLE001  the thread must survive; the caller gets the error
            mailbox.send(loop, settle, future, None, error)

    def close(self) -> None:
        with self._starting:
            threads, self._threads = self._threads, []
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            thread.join(timeout=30)
