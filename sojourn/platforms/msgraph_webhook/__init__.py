"""The Microsoft Graph plugin: changes in Microsoft 365 (mail, calendar, files, Teams) wake the agent."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import Annotated, Any

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "msgraph_webhook"
SECRET_VARIABLE = "SOJOURN_MSGRAPH_WEBHOOK_CLIENT_SECRET"
_CHANGES = frozenset({"created", "updated", "deleted"})
_KEYS = frozenset({"resource", "changes", "rich", "minutes", "deliver", "secret"})
_MIN_SECRET_CHARS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedResource:
    """Something in Microsoft 365 whose changes are told; the sender of its messages."""

    name: str
    resource: str
    changes: str
    is_rich: bool  # notifications bring the changed thing itself, encrypted
    minutes: int  # of a subscription; 0: as long as Graph allows
    deliver: str  # where answers are posted; nowhere if empty
    secret: Secret  # that signs these answers


@dataclass(frozen=True, slots=True, kw_only=True)
class MsgraphSettings:
    """From [plugins.msgraph_webhook] and SOJOURN_MSGRAPH_WEBHOOK_…; each resource is a table
    [plugins.msgraph_webhook.resources.<name>]."""

    tenant: Annotated[str, Prompt("Tenant ID", "entra.microsoft.com, App registrations, your app: Directory ID.")]
    client_id: Annotated[str, Prompt("Client ID", "It stands beside it: Application ID.")]
    client_secret: Annotated[
        Secret, Prompt("Client secret", "The same app: Certificates & secrets, New client secret, its Value.")
    ]
    client_state: Annotated[
        Secret, Prompt("Client state", "Any long word of yours: it proves that a notification is Microsoft's.")
    ]
    public_url: Annotated[
        str, Prompt("Public address", "Where Microsoft reaches Sojourn, like https://bot.example.org/msgraph_webhook.")
    ]
    resource: Annotated[
        str, Prompt("What to watch", "A path of Microsoft Graph, like users/ann@example.org/messages.")
    ]  # called "main"; more are in `resources`
    resources: Any = field(default_factory=dict)
    key_file: str = ""  # PEM of a private key and its certificate; made in the home if it is needed
    host: str = "127.0.0.1"
    port: int = 8791
    graph_url: str = "https://graph.microsoft.com"
    login_url: str = "https://login.microsoftonline.com"

    def parse_resources(self) -> dict[str, WatchedResource]:
        """Parses the resources. BadConfig."""
        if len(self.client_state.reveal()) < _MIN_SECRET_CHARS:
            raise BadConfig(
                f"{NAME} needs a longer `client_state`.", hint=f"Give it {_MIN_SECRET_CHARS} characters or more."
            )
        main = {"main": {"resource": self.resource}} if self.resource else {}
        tables = {**main, **self.resources} if isinstance(self.resources, dict) else {}
        if not tables:
            raise BadConfig(f"{NAME} watches nothing.", hint='Set `resource`, like "users/ann@example.org/messages".')
        return {name: _parse_resource(name, table) for name, table in tables.items()}

    def build_state(self, name: str) -> str:
        """The secret that notifications of a resource carry; another one for each."""
        mark = hmac.new(self.client_state.reveal().encode(), name.encode(), hashlib.sha256).hexdigest()
        return f"{name}.{mark}"


def _parse_resource(name: str, table: Any) -> WatchedResource:
    where = f"[plugins.{NAME}.resources.{name}]"
    if not re.fullmatch(r"[-_A-Za-z0-9]{1,40}", name):
        raise BadConfig(f"{where} is not a name for a resource.", hint="Use letters, digits, - and _.")
    if not isinstance(table, dict) or set(table) - _KEYS or not table.get("resource"):
        hint = "It takes `resource`, `changes`, `rich`, `minutes` and, for answers, `deliver` and `secret`."
        raise BadConfig(f"{where} is invalid.", hint=hint)
    changes, minutes = str(table.get("changes", "created")), table.get("minutes", 0)
    if not {one.strip() for one in changes.split(",")} <= _CHANGES:
        raise BadConfig(f"{where} has no changes {changes!r}.", hint='Use "created,updated,deleted", or some of them.')
    if not isinstance(minutes, int) or minutes < 0:
        raise BadConfig(f"{where} has no good `minutes`.", hint="Give a number of minutes, or leave it out.")
    deliver, secret = str(table.get("deliver", "")), str(table.get("secret", ""))
    if deliver and len(secret) < _MIN_SECRET_CHARS:
        hint = f"Give `secret` at least {_MIN_SECRET_CHARS} characters: it signs what is delivered."
        raise BadConfig(f"{where} needs a longer secret.", hint=hint)
    return WatchedResource(
        name=name,
        resource=str(table["resource"]).strip("/"),
        changes=",".join(sorted(one.strip() for one in changes.split(","))),
        is_rich=table.get("rich") is True,
        minutes=minutes,
        deliver=deliver,
        secret=Secret(secret),
    )


plugin = Plugin(
    name=NAME,
    summary="Let changes in Microsoft 365 wake the agent.",
    platforms={NAME: "sojourn.platforms.msgraph_webhook.adapter:MsgraphWebhook"},
    settings=MsgraphSettings,
)
