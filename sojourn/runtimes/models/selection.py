"""Model selection: providers, and the model that the settings or a request name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret, Settings
from sojourn.runtimes.models import PLUGIN

Protocol = Literal["openai", "anthropic", "google"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models: its address, its protocol, and whether it needs an API key."""

    name: str
    label: str
    base_url: str
    protocol: Protocol = "openai"
    keyless: bool = False


PROVIDERS = {
    one.name: one
    for one in (
        Provider(name="openai", label="OpenAI", base_url="https://api.openai.com/v1"),
        Provider(name="anthropic", label="Anthropic", base_url="https://api.anthropic.com", protocol="anthropic"),
        Provider(
            name="google", label="Google", base_url="https://generativelanguage.googleapis.com", protocol="google"
        ),
        Provider(name="openrouter", label="OpenRouter", base_url="https://openrouter.ai/api/v1"),
        Provider(name="groq", label="Groq", base_url="https://api.groq.com/openai/v1"),
        Provider(name="deepseek", label="DeepSeek", base_url="https://api.deepseek.com/v1"),
        Provider(name="mistral", label="Mistral", base_url="https://api.mistral.ai/v1"),
        Provider(name="x-ai", label="xAI", base_url="https://api.x.ai/v1"),
        Provider(name="together", label="Together", base_url="https://api.together.xyz/v1"),
        Provider(name="ollama", label="Ollama", base_url="http://127.0.0.1:11434/v1", keyless=True),
        Provider(name="lmstudio", label="LM Studio", base_url="http://127.0.0.1:1234/v1", keyless=True),
        Provider(name="llamacpp", label="llama.cpp", base_url="http://127.0.0.1:8080/v1", keyless=True),
        Provider(name="vllm", label="vLLM", base_url="http://127.0.0.1:8000/v1", keyless=True),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model at an address. `name` is empty until one of the provider's models is chosen."""

    provider: Provider
    base_url: str
    name: str = ""
    key: Secret = field(default_factory=Secret)

    @property
    def origin(self) -> str:
        """The address without its path; local servers have routes of their own there."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def is_local(self) -> bool:
        return urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")

    @property
    def server(self) -> str:
        """The address, with the name of the provider if it has one."""
        return f"{self.origin} ({self.provider.label})" if self._has_label else self.origin

    @property
    def _has_label(self) -> bool:
        """Whether the provider is known by more than its address."""
        return self.provider.label != urlsplit(self.base_url).hostname

    def __str__(self) -> str:
        name, label = self.name or "a model", self.provider.label
        if not self._has_label:
            return f"{name} at {self.origin}"
        return f"{name} ({label}{f' at {self.origin}' if self.is_local else ''})"


def find_saved(settings: Settings, provider: str) -> tuple[Secret, str]:
    """The key and the address that were saved for a provider; both may be empty."""
    providers = settings.plugins.get(PLUGIN, {}).get("providers", {})
    table = providers.get(provider, {}) if isinstance(providers, Mapping) else {}
    table = table if isinstance(table, Mapping) else {}
    return Secret(str(table.get("api_key", ""))), str(table.get("base_url", "")).strip()


def has_saved(settings: Settings, provider: str) -> bool:
    """Whether a key or an address was saved for a provider."""
    key, base_url = find_saved(settings, provider)
    return bool(key.reveal() or base_url)


def choice_of_provider(settings: Settings, provider: str, name: str = "") -> ModelChoice:
    """A model of a provider with the key and the address that were saved for it. BadConfig."""
    key, base_url = find_saved(settings, provider)
    return _make_choice(provider, base_url, name, key, f"Save its key under [plugins.{PLUGIN}.providers.{provider}].")


def choice_from_settings(settings: Settings) -> ModelChoice | None:
    """Returns the configured model; None when neither a provider nor an address is set. BadConfig."""
    provider_name, base_url = str(settings["model.provider"]).strip().lower(), str(settings["model.base_url"]).strip()
    name, key = str(settings["model.name"]).strip(), settings["model.api_key"]
    if provider_name and not base_url and not key.reveal():  # a saved key goes only to the address saved with it
        key, base_url = find_saved(settings, provider_name)
    if not provider_name and not base_url:
        if key.reveal():
            raise BadConfig(
                "model.api_key is set, but no provider is named.",
                hint=f"Set model.provider ({', '.join(PROVIDERS)}) or model.base_url.",
            )
        return None
    return _make_choice(
        provider_name, base_url, name, key, "Set SOJOURN_MODEL_API_KEY, or `sojourn config set model.api_key …`."
    )


def _make_choice(provider_name: str, base_url: str, name: str, key: Secret, hint: str) -> ModelChoice:
    provider = find_provider(provider_name, base_url)
    check_address(base_url or provider.base_url)
    if not key.reveal() and not provider.keyless and not base_url:
        raise BadConfig(f"{provider.label} needs a key, and none is set.", hint=hint)
    return ModelChoice(provider=provider, base_url=(base_url or provider.base_url).rstrip("/"), name=name, key=key)


def find_provider(named: str, base_url: str) -> Provider:
    """A known provider, or any other one by its address. BadConfig."""
    if named in PROVIDERS:
        return PROVIDERS[named]
    if base_url:
        label = named or (urlsplit(base_url).hostname or "an OpenAI-compatible server")
        return Provider(name=named or "compatible", label=label, base_url=base_url, keyless=True)
    raise BadConfig(
        f'"{named}" is not a known provider.',
        hint=f"Known are: {', '.join(PROVIDERS)}. Any other provider needs model.base_url.",
    )


def check_address(url: str) -> None:
    """BadConfig unless it is the address of a web server, without a password in it."""
    try:
        parts = urlsplit(url)
        is_address = bool(parts.hostname) and (parts.port is None or parts.port > 0) and not parts.username
    except ValueError:
        is_address = False
    if not is_address or parts.scheme not in ("http", "https"):
        raise BadConfig(f'model.base_url is "{url}", which is not an address.', hint="http://127.0.0.1:8080/v1, say.")


def choice_for_request(
    choice: ModelChoice | None, requested: str, settings: Settings | None = None
) -> ModelChoice | None:
    """Applies what a request names to the configured choice.

    requested: a model's name, or `provider:name` for a provider that needs no key or has one saved; "" changes nothing.
    """
    before, colon, rest = requested.partition(":")
    if colon and rest and before.lower() in PROVIDERS and (choice is None or choice.provider.name != before.lower()):
        provider = PROVIDERS[before.lower()]
        if settings is not None and has_saved(settings, provider.name):
            return choice_of_provider(settings, provider.name, rest)
        if not provider.keyless:
            raise BadConfig(
                f"{requested} needs a key of {provider.label}; the one that is set belongs to "
                f"{choice.provider.label if choice else 'nobody'}.",
                hint=f"Set model.provider to {provider.name} and its model.api_key.",
            )
        return ModelChoice(provider=provider, base_url=provider.base_url, name=rest)
    if choice is None or not requested:
        return choice
    return replace(choice, name=rest if colon and before.lower() == choice.provider.name else requested)
