"""Limits of an HTTP server against floods and slow clients: connections, size and time of headers, silent bodies.

A server of ours is configured with `limited_config()`. When all places are taken, the connection that has waited
longest for its client gives way; one that is being answered never does.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from sojourn.log_limits import RepeatFilter

try:
    import resource as _resource
except ImportError:  # Windows
    _resource = None  # type: ignore[assignment]
resource: Any = _resource

HEAD_SECONDS = 10.0  # a connection may be without a complete request this long
BODY_SECONDS = 30.0  # a body may be silent this long
MAX_HEAD_BYTES = 65_536  # all headers of a request together
MAX_HEADERS = 100  # lines
MAX_CONNECTIONS = 1000  # sockets
_FILES_SHARE = 0.5  # of the files this process may open; the rest is for the store, tools and platforms
_BACKLOG = 128  # connections accepted at a time: more could use up the files before any is refused
_LOGGERS = ("uvicorn.error", "asyncio", "sojourn.http.problems", "sojourn.http.sse")


def limited_config() -> dict[str, Any]:
    """The arguments for `uvicorn.Config` that set these limits. Also limits what the attacked parts log."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(one, RepeatFilter) for one in logger.filters):
            logger.addFilter(RepeatFilter())
    return {"http": LimitedProtocol, "backlog": _BACKLOG}


def max_connections() -> int:
    """How many connections may be open at once."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource is not None else -1
    return MAX_CONNECTIONS if soft < 0 else max(1, min(MAX_CONNECTIONS, int(soft * _FILES_SHARE)))


class HeadTooLarge(Exception):
    """The headers of a request are larger than a server takes."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection. It is *waiting* while its client owes us something: headers, or the rest of a body."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._max_connections = max_connections()
        self._head_bytes = 0
        self._is_head_too_large = False
        self._waiting_since = self._last_data = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _has_request(self) -> bool:
        """Whether the headers of a request have come, and it is not answered yet."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    @property
    def is_answering(self) -> bool:
        """Whether a request is complete and its answer is not."""
        return self._has_request and not self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) >= self._max_connections and not self._make_room():
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEAD_SECONDS, self._check_time)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _make_room(self) -> bool:
        """Ends the connection that has waited longest for its client; False when every one is being answered."""
        others = [cast("LimitedProtocol", one) for one in self.connections]
        waiting = [one for one in others if not one.is_answering]
        if not waiting:
            return False
        oldest = min(waiting, key=lambda one: one._waiting_since)
        self.connections.discard(oldest)  # at once: the next connection must not choose it again
        oldest.transport.abort()
        return True

    def _check_time(self) -> None:
        now = time.monotonic()
        if self.is_answering:
            until = now + HEAD_SECONDS
        elif self._has_request:
            until = self._last_data + BODY_SECONDS
        else:
            until = self._waiting_since + HEAD_SECONDS
        if until <= now:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(until - now, self._check_time)

    def data_received(self, data: bytes) -> None:
        self._last_data = time.monotonic()
        self._head_bytes += len(data)
        super().data_received(data)
        if not self._has_request and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse_head()

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADERS:
            self._is_head_too_large = True
            raise HeadTooLarge  # the parser stops, and answers by `send_400_response`
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        self._head_bytes, self._waiting_since = 0, time.monotonic()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        if self._is_head_too_large:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def _refuse_head(self) -> None:
        text = f"The headers are too large: at most {MAX_HEADERS} and {MAX_HEAD_BYTES} bytes.".encode()
        head = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
        self.transport.write(head + b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(text), text))
        self.transport.close()
