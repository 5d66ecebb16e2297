"""XMPP connection: login, rooms, requests, and a check that the server accepted our messages."""

from __future__ import annotations

import asyncio
import logging
import ssl
import uuid
from collections.abc import Awaitable
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal, Self, TypeVar

from slixmpp import JID, ClientXMPP, Iq
from slixmpp.exceptions import IqError, IqTimeout, PresenceError
from slixmpp.xmlstream import StanzaBase
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused, SojournError
from sojourn.platforms.xmpp import XmppSettings, stanzas
from sojourn.platforms.xmpp.stanzas import CLIENT, MAM, Element, build, to_send_refused

_REPLY_TIMEOUT_SECONDS = 20.0
_PING_AFTER_SECONDS = 60.0
_NO_AUTH_HINT = "Sojourn sends no password without encryption, unless `tls` is off."
_NICK_ATTEMPTS = 3  # names
_MAX_QUEUED = 10_000  # stanzas
_OWN_STATUS = 110  # of a presence: it is our own
_OPEN_STATUS = 100  # the room shows everybody's address

T = TypeVar("T")

logger = logging.getLogger(__name__)
logging.getLogger("slixmpp.xmlstream.xmlstream").setLevel(logging.INFO)  # its debug log contains the login


class XmppConnection:
    """One connection. `stanzas` gets the messages of people, and None at its end."""

    def __init__(self, settings: XmppSettings, jid: str, *, resource: str = "sojourn") -> None:
        self._settings, self.jid, self._server = settings, jid, jid.rpartition("@")[2]
        self.stanzas: asyncio.Queue[Element | None] = asyncio.Queue()
        self.problem: SojournError = PlatformDown(f"The connection to {self._server} was lost.")
        self.nicks: dict[str, str] = {}  # room → our nick
        self.open_rooms: set[str] = set()  # those that show everybody's address
        self._ready = asyncio.Event()
        self._closed = asyncio.Event()
        self._echoes: dict[str, asyncio.Future[str]] = {}  # our message → its archive id
        self._pages: dict[str, tuple[str, list[Element]]] = {}  # query → whose archive, and what came
        self._client = self._build_client(f"{jid}/{resource}".rstrip("/"))

    def _build_client(self, jid: str) -> ClientXMPP:
        context = ssl.create_default_context()
        client = ClientXMPP(jid, self._settings.password.reveal(), ssl_context=context)
        for plugin in ("xep_0045", "xep_0199", "xep_0313"):  # rooms, answers to pings, archives
            client.register_plugin(plugin)
        client.auto_subscribe = False  # people may see us; we need not see them
        client.enable_direct_tls = client.enable_starttls = self._settings.tls
        client.enable_plaintext = not self._settings.tls
        client.plugin["feature_mechanisms"].unencrypted_scram = not self._settings.tls
        client.register_handler(Callback("sojourn", MatchXPath(f"{CLIENT}message"), self._on_message))
        for event, act in {
            "session_start": lambda _: self._ready.set(),
            "failed_auth": self._on_failed_auth,
            "no_auth": lambda _: self._fail("offers no safe way to log in", hint=_NO_AUTH_HINT),
            "ssl_invalid_chain": lambda error: self._fail(f"has no certificate that this machine trusts: {error}"),
            "connection_failed": lambda error: self._fail(f"does not answer: {error}"),
            "disconnected": lambda _: self._end(),
            "groupchat_presence": self._on_presence,
            # the library hears only refusals that repeat what was asked
            "presence_error": lambda one: client.event(f"muc::{one['from'].bare}::presence-error", one),
        }.items():
            client.add_event_handler(event, act)
        return client

    async def open(self, *, is_seen: bool = True) -> Self:
        """Logs in. What people write goes only to one who is seen. PlatformDown, KeyRefused."""
        host = self._settings.host or None
        self._client.connect(host, self._settings.port if host else None)
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
                await self._wait_for(self._ready.wait())
        except (TimeoutError, SojournError) as error:
            await self.close()
            late = PlatformDown(f"{self._server} did not complete the login.")
            raise (late if isinstance(error, TimeoutError) else error) from None
        if is_seen:
            self._client.send_presence()
        self._ping_task = asyncio.create_task(self._keep_alive())
        return self

    @property
    def is_open(self) -> bool:
        return not self._closed.is_set()

    async def close(self) -> None:
        if self.is_open:
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._client.disconnect(wait=0.5)
        self._client.abort()
        self._client.cancel_connection_attempt()
        self._end()
        tasks = [self._client._run_out_filters, getattr(self, "_ping_task", None)]  # the library leaves its own running
        for task in filter(None, tasks):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _end(self) -> None:
        if self._closed.is_set():
            return
        self._closed.set()
        self._client.cancel_connection_attempt()  # the gateway reconnects, not the library
        self.stanzas.put_nowait(None)

    def _on_failed_auth(self, stanza: Any) -> None:
        condition = str(stanza["condition"])
        if condition in ("temporary-auth-failure", "aborted"):
            self.problem = PlatformDown(f"{self._server} cannot check the password now: {condition}.")
        else:
            hint = "Correct SOJOURN_XMPP_JID and SOJOURN_XMPP_PASSWORD."
            self.problem = KeyRefused(f"{self._server} refuses the password of {self.jid}.", hint=hint)

    def _fail(self, why: str, hint: str = "") -> None:
        if not isinstance(self.problem, KeyRefused):
            self.problem = PlatformDown(f"{self._server} {why}.", hint=hint)
        self._client.abort()
        self._end()

    async def _keep_alive(self) -> None:
        while self.is_open:
            await asyncio.sleep(_PING_AFTER_SECONDS)
            try:
                await self.ping()
            except SojournError:
                self._fail("does not answer any more")

    async def ping(self) -> None:
        """Waits until the server has processed all that we sent: its refusals came before this answer."""
        with suppress(SendRefused):  # a server without pings answers, too
            await self.request("get", build("{urn:xmpp:ping}ping"), to=self._server)

    async def request(self, kind: Literal["get", "set"], query: Element, *, to: str = "") -> Element:
        """Sends a request (iq) and returns the element of its answer. SendRefused, PlatformDown."""
        iq: Iq = self._client.make_iq(itype=kind, ito=to or None)
        iq.append(query)
        return await self._exchange(iq)

    async def _exchange(self, iq: Iq) -> Element:
        try:
            answer: Iq = await self._wait_for(iq.send(timeout=_REPLY_TIMEOUT_SECONDS))  # type: ignore[no-untyped-call]
        except IqError as error:
            raise to_send_refused(error.iq) from error
        except IqTimeout as error:
            silent, is_ours = f"{iq['to'] or self._server} is silent.", iq["to"].domain in ("", self._server)
            raise (PlatformDown(silent) if is_ours else SendRefused(silent, kind="transient")) from error
        xml: Element = answer.xml
        return xml[0] if len(xml) else xml

    async def _wait_for(self, awaitable: Awaitable[T]) -> T:
        """An answer of the server; what is wrong with the connection, if that ends first."""
        answer, closed = asyncio.ensure_future(awaitable), asyncio.ensure_future(self._closed.wait())
        try:
            await asyncio.wait([answer, closed], return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise self.problem
            return answer.result()
        finally:
            answer.cancel()
            closed.cancel()

    async def query_archive(
        self, archive: str, *, size: int, after: str = "", since: datetime | None = None, is_newest: bool = False
    ) -> tuple[list[Element], Element]:
        """One page of an archive: the results, and the final element."""
        iq, found = self._client.make_iq_set(ito=None if archive == self.jid else archive), list[Element]()
        query, page = iq["mam"], iq["mam"]["rsm"]
        query["queryid"], page["max"] = iq["id"], str(size)
        query["start"] = since
        page["before" if is_newest else "after"] = is_newest or after
        self._pages[iq["id"]] = (archive, found)
        try:
            return found, await self._exchange(iq)
        finally:
            del self._pages[iq["id"]]

    async def join(self, room: str) -> None:
        """Enters a room, under another name if ours is taken. SendRefused, PlatformDown."""
        nick, rooms = self._settings.nick, self._client.plugin["xep_0045"]
        for _ in range(_NICK_ATTEMPTS):
            entry = rooms.join_muc_wait(JID(room), nick, maxstanzas=0, timeout=_REPLY_TIMEOUT_SECONDS)
            try:
                presence, *_ = await self._wait_for(entry)
            except (TimeoutError, ValueError) as error:  # the latter: for no reason that the library knows
                raise SendRefused(f"{room} does not let us in.", kind="transient") from error
            except PresenceError as error:
                if error.condition != "conflict":
                    raise to_send_refused(error.presence) from error
                nick += "_"
                continue
            self.nicks[room] = presence["from"].resource
            (self.open_rooms.add if _OPEN_STATUS in presence["muc"]["status_codes"] else self.open_rooms.discard)(room)
            return
        raise SendRefused(f"All our names are taken in {room}.", kind="forbidden", hint="Set another `nick`.")

    def find_author(self, room: str, nick: str) -> str:
        """The bare address of somebody in a room, if it shows it."""
        occupant = self._client.plugin["xep_0045"].rooms[None].get(JID(room), {}).get(nick)
        return str(JID(occupant["jid"]).bare) if occupant else ""

    async def send(
        self, to: str, content: list[Element], *, is_group: bool, is_confirmed: bool = True
    ) -> tuple[str, str]:
        """Sends a message; returns its archive id, where a room says it, and our id. SendRefused, PlatformDown."""
        if not self.is_open:
            raise self.problem
        id = uuid.uuid4().hex
        message = self._client.make_message(mto=to, mtype="groupchat" if is_group else "chat")
        message["id"] = id
        for one in (*content, build(stanzas.ORIGIN_ID, id=id)):
            message.append(one)
        future = self._echoes[id] = asyncio.get_running_loop().create_future()
        try:
            message.send()
            if not is_confirmed:
                return "", id
            if is_group:
                async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
                    return await self._wait_for(future), id
            await self.ping()
            if future.done():
                future.result()
            return "", id
        except TimeoutError as error:
            raise PlatformDown(f"{to} did not confirm a message.") from error
        finally:
            del self._echoes[id]

    def _on_message(self, stanza: StanzaBase) -> None:
        xml: Element = stanza.xml
        sender, kind, id = xml.get("from", ""), xml.get("type", ""), xml.get("id", "")
        room, _, nick = sender.partition("/")
        result = xml.find(f"{{{MAM}}}result")
        if result is not None:
            archive, found = self._pages.get(result.get("queryid", ""), (None, []))
            if archive is not None and (sender or self.jid).lower() in (archive, f"{archive}/sojourn"):
                found.append(result)
        elif kind == "error":
            self._refuse(id, to_send_refused(stanza))
        elif kind == "groupchat" and self.nicks.get(room) == nick:
            stanza_id, origin = xml.find(stanzas.STANZA_ID), xml.find(stanzas.ORIGIN_ID)
            future = self._echoes.get(id) or self._echoes.get(origin.get("id", "") if origin is not None else "")
            if future is not None and not future.done():
                future.set_result(stanza_id.get("id", "") if stanza_id is not None else "")
        elif self.stanzas.qsize() < _MAX_QUEUED:
            self.stanzas.put_nowait(xml)
        else:  # the next connection reads them from the archive
            self._fail("sends messages faster than they are stored")

    def _refuse(self, id: str, error: SendRefused) -> None:
        future = self._echoes.get(id)
        if future is not None and not future.done():
            future.set_exception(error)
            future.exception()
        else:
            logger.info("a message was refused later: %s", error)

    def _on_presence(self, presence: StanzaBase) -> None:
        """Notices that we were removed from a room, or that it is gone."""
        room, nick = str(presence["from"].bare), presence["from"].resource
        is_own = _OWN_STATUS in presence["muc"]["status_codes"] and self.nicks.get(room) == nick
        if is_own and presence["type"] == "unavailable":
            logger.warning("we are no longer in %s", room)
            del self.nicks[room]
            self.open_rooms.discard(room)
