"""Downloads of files whose address stands in a message: from the vendor's hosts only.

A credential is sent only where one is given, and then to the hosts named for it alone, also after a redirect.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import replace

import httpx2

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.ports.platform import File, Inbound

MAX_FILE_BYTES = 50 * 1024 * 1024  # of what is taken from a network, unless it allows less
_MAX_REDIRECTS = 3  # hops
_MAX_FILES = 20  # of one message
_SIGNATURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"%PDF": "application/pdf"}
_UNKNOWN_TYPE = "application/octet-stream"


class VendorDownloads:
    """Downloads over https from `hosts` and the hosts below them, and from `origin`, the address of the API itself:
    SendRefused if it is none.

    authorization: a header that `origin` and exactly `authorized_hosts` receive
    """

    def __init__(
        self,
        label: str,
        hosts: Sequence[str],
        *,
        origin: str,
        max_bytes: int = MAX_FILE_BYTES,
        authorization: str = "",
        authorized_hosts: Sequence[str] = (),
    ) -> None:
        self._label, self._hosts, self._max_bytes = label, tuple(hosts), max_bytes
        self._authorization, self._authorized_hosts = authorization, frozenset(authorized_hosts)
        self._origin = _build_origin(_parse_address(origin))
        self._client: httpx2.AsyncClient | None = None

    @property
    def _http(self) -> httpx2.AsyncClient:
        """Made on first use: loading the certificates is slow."""
        if self._client is None:
            self._client = httpx2.AsyncClient(timeout=httpx2.Timeout(30.0, connect=10.0), follow_redirects=False)
        return self._client

    async def fetch(self, url: str, *, name: str = "", media_type: str = "") -> File:
        """Downloads a file. SendRefused if the address is another's, or the file is too large."""
        data, served_type = await self.fetch_bytes(url)
        guessed = guess_media_type(data) or mimetypes.guess_type(name)[0]
        return File(name=name or "file", media_type=media_type or guessed or served_type, data=data)

    async def fetch_bytes(self, url: str) -> tuple[bytes, str]:
        """The bytes and their media type. SendRefused, PlatformDown."""
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                address = self.check(url)
                async with self._http.stream("GET", address, headers=self._build_headers(address)) as reply:
                    if reply.is_redirect:
                        url = str(reply.url.join(reply.headers.get("location", "")))
                        continue
                    if not reply.is_success:
                        raise SendRefused(f"{self._label} says: {reply.status_code}.", kind="not_found")
                    served_type = reply.headers.get("content-type", "").partition(";")[0].strip()
                    return await self._read(reply), served_type or _UNKNOWN_TYPE
        except (httpx2.TransportError, httpx2.StreamError, httpx2.DecodingError) as error:
            raise PlatformDown(f"{self._label} does not send a file: {type(error).__name__}.") from error
        raise SendRefused("The address leads from one place to another.", kind="forbidden")

    def check(self, url: str) -> httpx2.URL:
        """The address, if it is the vendor's. SendRefused."""
        address = _parse_address(url)
        is_vendor = any(address.host == host or address.host.endswith(f".{host}") for host in self._hosts)
        is_plain = address.port is None and not address.userinfo
        if _build_origin(address) == self._origin or (address.scheme == "https" and is_vendor and is_plain):
            return address
        raise SendRefused(f"The file is not on a server of {self._label}.", kind="forbidden")

    def _build_headers(self, address: httpx2.URL) -> dict[str, str]:
        is_trusted = _build_origin(address) == self._origin or address.host in self._authorized_hosts
        return {"Authorization": self._authorization} if self._authorization and is_trusted else {}

    async def _read(self, reply: httpx2.Response) -> bytes:
        data = bytearray()
        async for piece in reply.aiter_bytes():
            data += piece
            if len(data) > self._max_bytes:
                raise SendRefused(f"The file has more than {self._max_bytes // 1024 // 1024} MB.", kind="too_long")
        return bytes(data)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


async def fetch_once(downloads: VendorDownloads, url: str, name: str) -> File:
    """One file, from downloads that are needed for nothing else. SendRefused, PlatformDown."""
    try:
        return await downloads.fetch(url, name=name)
    finally:
        await downloads.close()


def check_size(num_bytes: object) -> None:
    """SendRefused if a file is larger than is taken, as its network describes it."""
    if isinstance(num_bytes, int) and num_bytes > MAX_FILE_BYTES:
        raise SendRefused(f"The file has more than {MAX_FILE_BYTES // 1024 // 1024} MB.", kind="too_long")


def guess_media_type(data: bytes) -> str:
    """The media type by the first bytes, where a network names none or a wrong one; empty if they say nothing."""
    return next((kind for signature, kind in _SIGNATURES.items() if data.startswith(signature)), "")


async def attach_files(
    inbound: Inbound, fetches: Iterable[Awaitable[File | None]], names: Sequence[str] = ()
) -> Inbound | None:
    """A message with its files, fetched one after the other, and a line for each that could not be downloaded: to try
    again would block the next messages. None if it then has neither text nor a file.

    fetches: give a file, or None for what is none; a generator, so that each begins when it is its turn
    names: of the files, where a message has them
    """
    files, lines = list(inbound.files), [inbound.text] if inbound.text else []
    for n, fetch in enumerate(fetches):
        try:
            files += [file] if (file := await fetch) is not None else []
        except (SendRefused, PlatformDown, KeyRefused, ValueError) as error:  # the last: an address or key that is none
            lines.append(f"[{names[n] if n < len(names) else 'A file'} could not be downloaded: {error}]")
        if len(files) + len(lines) > _MAX_FILES:
            break
    return replace(inbound, text="\n".join(lines), files=tuple(files)) if lines or files else None


def _parse_address(url: str) -> httpx2.URL:
    """SendRefused."""
    try:
        return httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError) as error:
        raise SendRefused("The file has no readable address.", kind="bad_format") from error


def _build_origin(address: httpx2.URL) -> tuple[str, str, int | None]:
    return address.scheme, address.host, address.port
