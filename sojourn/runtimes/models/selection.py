"""Model selection: providers, and the model that the settings or a request name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret, Settings

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

    def __str__(self) -> str:
        where = f" on {self.origin}" if self.is_local or self.provider.name == "compatible" else ""
        return f"{self.name or 'a model'} ({self.provider.label}{where})"


def choice_from_settings(settings: Settings) -> ModelChoice | None:
    """Returns the configured model; None when neither a provider nor an address is set. BadConfig."""
    provider_name, base_url = str(settings["model.provider"]).strip().lower(), str(settings["model.base_url"]).strip()
    name, key = str(settings["model.name"]).strip(), settings["model.api_key"]
    if not provider_name and not base_url:
        if key.reveal():
            raise BadConfig(
                "model.api_key is set, but no provider is named.",
                hint=f"Set model.provider ({', '.join(PROVIDERS)}) or model.base_url.",
            )
        return None
    provider = _find_provider(provider_name, base_url)
    _check_address(base_url or provider.base_url)
    if not key.reveal() and not provider.keyless and not base_url:
        raise BadConfig(
            f"{provider.label} needs a key, and model.api_key is empty.",
            hint="Set SOJOURN_MODEL_API_KEY, or `sojourn config set model.api_key …`.",
        )
    return ModelChoice(provider=provider, base_url=(base_url or provider.base_url).rstrip("/"), name=name, key=key)


def _find_provider(named: str, base_url: str) -> Provider:
    if named in PROVIDERS:
        return PROVIDERS[named]
    if base_url:
        label = named or (urlsplit(base_url).hostname or "an OpenAI-compatible server")
        return Provider(name=named or "compatible", label=label, base_url=base_url, keyless=True)
    raise BadConfig(
        f'"{named}" is not a known provider.',
        hint=f"Known are: {', '.join(PROVIDERS)}. Any other provider needs model.base_url.",
    )


def _check_address(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadConfig(f'model.base_url is "{url}", which is not an address.', hint="http://127.0.0.1:8080/v1, say.")


def choice_for_request(choice: ModelChoice | None, requested: str) -> ModelChoice | None:
    """Applies what a request names to the configured choice.

    requested: a model's name, or `provider:name` for a provider that needs no API key; "" changes nothing.
    """
    before, colon, rest = requested.partition(":")
    if colon and rest and before.lower() in PROVIDERS and (choice is None or choice.provider.name != before.lower()):
        provider = PROVIDERS[before.lower()]
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
