"""Files over XMPP: uploads to the account's server (XEP-0363), and downloads from hosts that we know."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from sojourn.core.errors import SendRefused
from sojourn.platforms.downloads import VendorDownloads, fetch_once
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.xmpp import XmppSettings
from sojourn.platforms.xmpp.connection import XmppConnection
from sojourn.platforms.xmpp.stanzas import Element, build
from sojourn.ports.platform import File

_UPLOAD = "urn:xmpp:http:upload:0"
_DISCO = "http://jabber.org/protocol/disco"
_MAX_SERVICES = 30  # of a server, asked for uploads
_HEADERS = ("authorization", "cookie", "expires")  # those that a server may ask us to send


async def find_upload_service(connection: XmppConnection, server: str) -> str:
    """The address that takes files. SendRefused."""
    items = await connection.request("get", build(f"{{{_DISCO}#items}}query"), to=server)
    for item in (server, *[one.get("jid", "") for one in items][:_MAX_SERVICES]):
        try:
            about = await connection.request("get", build(f"{{{_DISCO}#info}}query"), to=item)
        except SendRefused:
            continue
        if any(one.get("var") == _UPLOAD for one in about.findall(f"{{{_DISCO}#info}}feature")):
            return item
    raise SendRefused(f"{server} takes no files.", kind="forbidden", hint="It needs HTTP File Upload (XEP-0363).")


async def upload(connection: XmppConnection, service: str, file: File, *, tls: bool) -> str:
    """Stores a file on the server; returns its link. SendRefused, PlatformDown."""
    about = {"filename": file.name, "size": str(len(file.data)), "content-type": file.media_type}
    slot = await connection.request("get", build(f"{{{_UPLOAD}}}request", **about), to=service)
    put, get = slot.find(f"{{{_UPLOAD}}}put"), slot.find(f"{{{_UPLOAD}}}get")
    target, link = (one.get("url", "") if one is not None else "" for one in (put, get))
    if put is None or not all(_has_scheme(one, tls=tls) for one in (target, link)):
        raise SendRefused(f"{service} gave no safe place for a file.", kind="transient")
    http = RestClient("The upload service", target, key="SOJOURN_XMPP_PASSWORD")
    try:
        headers = {"Content-Type": file.media_type, **_read_headers(put)}
        await http.request("PUT", target, content=file.data, headers=headers)
    finally:
        await http.close()
    return link


def _read_headers(put: Element) -> dict[str, str]:
    found = {one.get("name", ""): (one.text or "") for one in put.findall(f"{{{_UPLOAD}}}header")}
    return {name: text.replace("\n", "") for name, text in found.items() if name.lower() in _HEADERS}


def _has_scheme(link: str, *, tls: bool) -> bool:
    return urlsplit(link).scheme in (("https",) if tls else ("http", "https"))


def can_download(link: str, settings: XmppSettings, server: str) -> bool:
    """Whether a link leads to the account's own server, its subdomains or a host of the setting: a link in a message
    could lead anywhere."""
    try:
        host = urlsplit(link).hostname or ""
    except ValueError:
        return False
    is_known = host == server or host.endswith(f".{server}") or host in settings.file_hosts
    return is_known and _has_scheme(link, tls=settings.tls)


async def download(link: str) -> File:
    """Downloads from the server of the link alone, also if it leads elsewhere. SendRefused, PlatformDown."""
    downloads = VendorDownloads("The upload service", (), origin=link)
    return await fetch_once(downloads, link, unquote(urlsplit(link).path.rpartition("/")[2]))
