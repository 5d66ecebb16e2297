"""Settings of the runtime: mistakes are named before anything is sent, and the key is shown nowhere."""

from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret
from sojourn.runtimes.hermes import HermesSettings
from sojourn.runtimes.hermes.runtime import HermesRuntimeAdapter


@pytest.mark.parametrize("url", ["localhost:8642", "", "ftp://x", "http://", "http://127.0.0.1:x", "/v1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadConfig, match="url"):
        HermesRuntimeAdapter(HermesSettings(url=url))


@pytest.mark.parametrize("key", ["schlüssel", "a\nb"])
def test_what_can_be_no_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(BadConfig) as refused:
        HermesRuntimeAdapter(HermesSettings(api_key=Secret(key)))
    assert key not in str(refused.value) + refused.value.hint


async def test_the_file_and_the_variable_set_it(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text('[plugins.hermes-runtime]\nurl = "http://127.0.0.1:1"\nguests = true\n')
    app = App(config.load({"home": str(home)}, {"SOJOURN_HERMES_RUNTIME_API_KEY": "a-key", "HOME": str(home)}))
    settings = app.configured("hermes-runtime")
    assert (settings.url, settings.guests, settings.api_key.reveal()) == ("http://127.0.0.1:1", True, "a-key")
    assert "a-key" not in repr(settings)
    ready = await app.runtime("hermes").ready()
    assert (ready.ok, "hermes gateway run" in ready.hint) == (False, True)
    assert not (await app.runtime("acp").ready()).ok
    await app.close()
