"""The webhook plugin: programs send signed requests and receive answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin

_MIN_SECRET_CHARS = 16
Signature = Literal["sojourn", "hub"]  # over the time and the body, or over the body alone (X-Hub-Signature-256)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRoute:
    """One address that programs send to. Both directions are signed with the same secret."""

    name: str
    secret: Secret
    deliver: str = ""  # where answers are posted; nowhere if empty
    signature: Signature = "sojourn"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """From [plugins.webhook] and SOJOURN_WEBHOOK_…; each route is a table [plugins.webhook.routes.<name>]."""

    host: str = "127.0.0.1"
    port: int = 8791
    routes: Any = field(default_factory=dict)

    def parse_routes(self) -> dict[str, WebhookRoute]:
        """Parses the routes. BadConfig."""
        if not isinstance(self.routes, dict) or not self.routes:
            hint = 'Add [plugins.webhook.routes.deploys] with secret = "…" to config.toml.'
            raise BadConfig("webhook has no routes.", hint=hint)
        return {name: _parse_route(name, table) for name, table in self.routes.items()}


def _parse_route(name: str, table: Any) -> WebhookRoute:
    where = f"[plugins.webhook.routes.{name}]"
    if not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", name):
        raise BadConfig(f"{where} is not a name for a route.", hint="Use letters, digits, - and _.")
    if not isinstance(table, dict) or set(table) - {"secret", "deliver", "signature"}:
        raise BadConfig(f"{where} is invalid.", hint="It takes `secret`, `signature` and, for answers, `deliver`.")
    signature = table.get("signature", "sojourn")
    if signature not in get_args(Signature):
        raise BadConfig(f"{where} has no signature {signature!r}.", hint='Use "sojourn" or "hub".')
    secret = str(table.get("secret", ""))
    if len(secret) < _MIN_SECRET_CHARS:
        hint = f"Give `secret` at least {_MIN_SECRET_CHARS} characters."
        raise BadConfig(f"{where} needs a longer secret.", hint=hint)
    return WebhookRoute(name=name, secret=Secret(secret), deliver=str(table.get("deliver", "")), signature=signature)


plugin = Plugin(
    name="webhook",
    summary="Let programs write to Sojourn with signed requests.",
    platforms={"webhook": "sojourn.platforms.webhook.adapter:Webhook"},
    settings=WebhookSettings,
)
