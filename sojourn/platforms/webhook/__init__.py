"""webhook: programs knock with a signed request, answers are posted back."""

from sojourn.platforms.webhook.settings import WebhookSettings
from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="webhook",
    summary="Let programs write to Sojourn with signed requests.",
    platforms={"webhook": "sojourn.platforms.webhook.adapter:Webhook"},
    settings=WebhookSettings,
)
