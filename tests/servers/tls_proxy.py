"""A process that speaks TLS in front of a server of this machine: `with TlsProxy(folder, name) as proxy`.

It prints its port, then reads the port to pass everything on to.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import subprocess
import sys
from pathlib import Path
from types import TracebackType


class TlsProxy:
    """Runs until the block ends, with a certificate that nobody else trusts."""

    def __init__(self, folder: Path, name: str) -> None:
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        about = ["-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        made = ["-keyout", str(key), "-out", str(certificate)]
        subprocess.run(["openssl", "req", "-x509", *curve, *about, *made], check=True, capture_output=True)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(certificate), str(key)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        self.port = int(self._process.stdout.readline())

    def pass_on_to(self, port: int) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{port}\n")
        self._process.stdin.flush()

    def __enter__(self) -> TlsProxy:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def _serve(certificate: str, key: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    upstream = asyncio.get_running_loop().create_future()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", await upstream)
        await asyncio.gather(_copy(reader, back), _copy(there, writer))

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    upstream.set_result(int(await asyncio.to_thread(sys.stdin.readline)))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
