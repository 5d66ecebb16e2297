"""Connection proof: every new connection asks the server to prove itself before anything else is sent on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2

from sojourn.server_file import PROOF_PATH, ProofFailed, Server, check_proof, make_nonce

_TIMEOUT_SECONDS = 10.0
_MAX_ANSWER_BYTES = 8192


class ConnectionProof:
    """A `trace` extension of httpx2: it is called with the open connection, before the first request is written."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.is_pending = False  # while it is, nothing but the question was sent

    async def check(self, event: str, info: Mapping[str, Any]) -> None:
        if event != "connection.connect_tcp.complete":
            return
        stream, self.is_pending = info["return_value"], True
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._exchange(stream)
            self.is_pending = False
        except (OSError, ValueError, TimeoutError) as error:
            await stream.aclose()
            raise httpx2.ConnectError(str(error) or "no proof came in time") from error
        except BaseException:
            await stream.aclose()
            raise

    async def _exchange(self, stream: Any) -> None:
        peer, nonce = stream.get_extra_info("server_addr"), make_nonce()
        host = self._server.address.partition("://")[2]
        await stream.write(f"GET {PROOF_PATH}?nonce={nonce} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head, _, body = (await _read_until(stream, b"", lambda read: b"\r\n\r\n" in read)).partition(b"\r\n\r\n")
        size = _find_content_length(head)
        body = await _read_until(stream, body, lambda read: len(read) >= size)
        check_proof(body, self._server.token, nonce, peer)


async def _read_until(stream: Any, read: bytes, is_complete: Any) -> bytes:
    while not is_complete(read):
        part = await stream.read(_MAX_ANSWER_BYTES)
        if not part or len(read) > _MAX_ANSWER_BYTES:
            raise ProofFailed("the program there did not prove that it is your server")
        read += part
    return read


def _find_content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    raise ProofFailed("the program there did not prove that it is your server")
