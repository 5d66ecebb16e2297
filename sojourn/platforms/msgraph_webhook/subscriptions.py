"""Subscriptions of Microsoft Graph: made, renewed before they end, and made again when they are gone."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sojourn.core.errors import PlatformDown, SendRefused
from sojourn.log_limits import RepeatFilter
from sojourn.platforms.json_values import read_objects, read_text, to_json
from sojourn.platforms.microsoft_identity import MicrosoftClient
from sojourn.platforms.msgraph_webhook import NAME, MsgraphSettings, WatchedResource
from sojourn.platforms.msgraph_webhook.rich_content import ContentKey
from sojourn.ports.store import Record, RecordStore
from sojourn.text.redaction import Identifier

KIND = "msgraph_subscription"
LIFECYCLE_PATH = "lifecycle"
_PATH = "/v1.0/subscriptions"
# The longest life of a subscription in minutes, by what it watches; with the thing itself, Outlook allows less.
_LIFE_MINUTES = (
    (r"presence", 60),
    (r"callrecords|(^|/)(chats|teams|channels)(/|$)|getallmessages", 4230),
    (r"(^|/)(messages|events|contacts|mailfolders\b.*)(/|$)", 10_080),
    (r"(^|/)(drives?|drive/root|root|lists)(/|$)", 42_300),
    (r"^(users|groups)(/|$)", 41_760),
)
_OTHER_MINUTES, _RICH_OUTLOOK_MINUTES, _OUTLOOK_MINUTES = 4230, 1440, 10_080
_RENEWED_SHARE = 2 / 3  # of its life, after which a subscription is renewed
_RETRY_SECONDS, _MAX_PAUSE_SECONDS = 60.0, 3600.0
_CONFLICT = " 409 "

_log = logging.getLogger(__name__)
_log.addFilter(RepeatFilter())


def choose_minutes(resource: WatchedResource) -> int:
    """How long a subscription lives: as the setting says, else as long as Graph allows."""
    if resource.minutes:
        return resource.minutes
    found = (minutes for pattern, minutes in _LIFE_MINUTES if re.search(pattern, resource.resource, re.IGNORECASE))
    longest = next(found, _OTHER_MINUTES)
    return _RICH_OUTLOOK_MINUTES if resource.is_rich and longest == _OUTLOOK_MINUTES else longest


class Subscriptions:
    """Those of one account. `is_checked` says that Graph may be about to check our address."""

    def __init__(
        self,
        settings: MsgraphSettings,
        resources: Mapping[str, WatchedResource],
        store: RecordStore,
        client: MicrosoftClient,
        key: ContentKey | None,
    ) -> None:
        self._settings, self._resources, self._store = settings, resources, store
        self._client, self._key = client, key
        self._wanted: set[str] = set()  # to be renewed at once
        self._woken = asyncio.Event()
        self.is_checked = False

    async def keep(self) -> None:
        """Keeps all of them alive. Raises at first what cannot be made, and later when one has run out."""
        await self._remove_others()
        for name in self._resources:
            await self._renew(name)
        while True:
            pause = await self._find_pause()
            try:
                async with asyncio.timeout(pause):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._woken.clear()
            for name in self._resources:
                await self._renew_if_due(name)

    def wake(self, name: str) -> None:
        """Renews one at once: Graph has said that it is needed."""
        self._wanted.add(name)
        self._woken.set()

    async def forget(self, name: str) -> None:
        """Graph has removed it: a new one is made at once."""
        await self._store.delete_record(KIND, self._record_key(name))
        self.wake(name)

    async def _find_pause(self) -> float:
        """The seconds until the next one is due."""
        due = [await self._find_due(name) for name in self._resources]
        return min(max(min(due) - time.time(), _RETRY_SECONDS if self._wanted else 0.0), _MAX_PAUSE_SECONDS)

    async def _find_due(self, name: str) -> float:
        saved = await self._load(name)
        began, ends = float(saved.get("began", 0)), float(saved.get("ends", 0))
        return began + (ends - began) * _RENEWED_SHARE

    async def _renew_if_due(self, name: str) -> None:
        if name not in self._wanted and time.time() < await self._find_due(name):
            return
        self._wanted.discard(name)
        try:
            await self._renew(name)
        except (SendRefused, PlatformDown) as error:
            self._wanted.add(name)
            saved = await self._load(name)
            if time.time() >= float(saved.get("ends", 0)):
                raise PlatformDown(f'The subscription of "{name}" has run out: {error}') from error
            _log.warning("%s: the subscription of %s could not be renewed: %s", NAME, name, error)

    async def _renew(self, name: str) -> None:
        """Renews one, or makes it if there is none like it. SendRefused, KeyRefused, PlatformDown."""
        resource, saved, began = self._resources[name], await self._load(name), time.time()
        ends = began + choose_minutes(resource) * 60
        fingerprint = self._compute_fingerprint(resource)
        id = str(saved.get("id", "")) if saved.get("fingerprint") == fingerprint else ""
        if id:
            try:
                await self._client.call("PATCH", f"{_PATH}/{id}", {"expirationDateTime": _to_time(ends)})
            except SendRefused as error:
                if error.kind not in ("not_found", "bad_format"):
                    raise
                id = ""
        if not id:
            id = await self._create(resource, ends)
        value = {"id": Identifier(id), "began": began, "ends": ends, "fingerprint": fingerprint}
        await self._store.put_record(Record(kind=KIND, key=self._record_key(name), value=value))

    async def _create(self, resource: WatchedResource, ends: float) -> str:
        url = self._settings.public_url.rstrip("/")
        body: dict[str, Any] = {
            "changeType": resource.changes,
            "notificationUrl": url,
            "lifecycleNotificationUrl": f"{url}/{LIFECYCLE_PATH}",
            "resource": resource.resource,
            "expirationDateTime": _to_time(ends),
            "clientState": self._settings.build_state(resource.name),
        }
        if resource.is_rich and self._key is not None:
            body |= {"includeResourceData": True, "encryptionCertificate": self._key.certificate}
            body |= {"encryptionCertificateId": self._key.id}
        self.is_checked = True
        try:
            try:
                page = await self._client.call("POST", _PATH, body)
            except SendRefused as error:
                if _CONFLICT not in str(error):
                    raise
                await self._remove_equal(resource)
                page = await self._client.call("POST", _PATH, body)
        finally:
            self.is_checked = False
        if not (id := read_text(page, "id")) or not re.fullmatch(r"[-\w]{1,100}", id):
            raise SendRefused("Microsoft Graph makes no subscription.", kind="unknown")
        return id

    async def _remove_equal(self, resource: WatchedResource) -> None:
        """Removes the subscription that stands in the way: it is ours, but its secret is not known any more."""
        url = self._settings.public_url.rstrip("/")
        for one in read_objects(await self._client.call("GET", _PATH), "value"):
            is_equal = read_text(one, "resource").strip("/") == resource.resource
            if is_equal and read_text(one, "notificationUrl") == url and (id := read_text(one, "id")):
                await self._client.call("DELETE", f"{_PATH}/{id}")

    async def _remove_others(self) -> None:
        """Removes what is not in the settings any more."""
        prefix = self._record_key("")
        for record in await self._store.list_records(KIND, prefix=prefix):
            if record.key.removeprefix(prefix) in self._resources:
                continue
            try:
                await self._client.call("DELETE", f"{_PATH}/{record.value.get('id', '')}")
            except SendRefused as error:
                _log.warning("%s: a subscription could not be removed: %s", NAME, error)
            await self._store.delete_record(KIND, record.key)

    def _compute_fingerprint(self, resource: WatchedResource) -> str:
        """Says whether a saved subscription is the one that the settings ask for."""
        certificate = self._key.id if resource.is_rich and self._key is not None else ""
        state = self._settings.build_state(resource.name)
        about = [resource.resource, resource.changes, self._settings.public_url, certificate, state]
        return hashlib.sha256(to_json(about).encode()).hexdigest()

    async def _load(self, name: str) -> dict[str, Any]:
        record = await self._store.get_record(KIND, self._record_key(name))
        return dict(record.value) if record is not None and isinstance(record.value, dict) else {}

    def _record_key(self, name: str) -> str:
        return f"{self._settings.client_id}:{name}"


def _to_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
