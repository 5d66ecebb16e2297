"""What a person is asked for when a network is set up."""

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.errors import BadConfig, BadInput, NotFound
from sojourn.gateway.network_setup import (
    check_network,
    find_network,
    find_receiver_problem,
    list_networks,
    remove_network,
)


@pytest.fixture
def app(home):
    return App(config.follow({"home": str(home)}))


def test_everything_that_is_needed_is_asked_for_with_a_sentence_on_where_to_find_it(app):
    needed = [(one.name, field) for one in list_networks(app) for field in one.fields if field.is_required]
    assert len(needed) > 20
    assert [(name, field.name) for name, field in needed if not field.where.endswith(".")] == []


def test_secrets_are_known_and_never_have_a_default(app):
    secrets = {
        f"{one.name}.{field.name}": field for one in list_networks(app) for field in one.fields if field.is_secret
    }
    assert {"telegram.token", "email.password", "xmpp.password", "ntfy.token"} <= set(secrets)
    assert {field.default for field in secrets.values()} == {None}


async def test_an_unknown_network_or_setting_says_which_there_are(app):
    with pytest.raises(NotFound) as missing:
        find_network(app, "telegrm")
    assert "telegram" in missing.value.hint
    with pytest.raises(BadInput) as wrong:
        await check_network(app, find_network(app, "telegram"), {"tokn": "x"})
    assert "token" in wrong.value.hint


def test_networks_that_send_requests_say_where_to(app, home):
    assert find_network(app, "whatsapp").receives_at == "http://127.0.0.1:8791/whatsapp"
    assert find_network(app, "telegram").receives_at == ""
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text('[plugins.whatsapp]\nport = 9\nhost = "127.0.0.2"\n')
    network = find_network(App(config.follow({"home": str(home)})), "whatsapp")
    assert network.receives_at == "http://127.0.0.2:9/whatsapp"
    assert "Nothing answers" in find_receiver_problem(network)


def test_what_is_not_set_up_cannot_be_removed(app):
    with pytest.raises(BadInput, match="not at all"):
        remove_network(app, find_network(app, "telegram"))


async def test_a_kept_secret_is_not_sent_to_an_address_that_is_given(app, home, monkeypatch):
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text('[plugins.telegram]\ntoken = "700:kept"\n')
    monkeypatch.setenv("SOJOURN_TELEGRAM_TOKEN", "700:variable")
    for settings in (app.settings, config.follow({"home": str(home)})):
        app.settings = settings
        with pytest.raises(BadConfig, match="needs `token`"):
            await check_network(app, find_network(app, "telegram"), {"base_url": "http://127.0.0.1:9"})
