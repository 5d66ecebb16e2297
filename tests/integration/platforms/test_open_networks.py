"""Networks without a company: cheap to know about, clear when something is missing."""

import subprocess
import sys

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.core.errors import BadConfig, MissingPackage
from sojourn.core.places import build_session_key
from sojourn.plugins import Registry
from sojourn.ports.platform import PlatformAdapter

LIBRARIES = {"matrix": "nio", "email": "imap_tools", "xmpp": "slixmpp"}
NEEDED = {
    "matrix": {"homeserver": "http://127.0.0.1:1", "user": "@sojourn:example.org", "access_token": "syt_x"},
    "email": {
        "address": "a@example.org",
        "password": "p",
        "imap_host": "127.0.0.1",
        "smtp_host": "127.0.0.1",
        "verified_by": "mx",
    },
    "irc": {"server": "127.0.0.1"},
    "ntfy": {"topic": "garden"},
    "mattermost": {"url": "http://127.0.0.1:1", "token": "x"},
    "homeassistant": {"token": "x"},
    "xmpp": {"jid": "sojourn@example.org", "password": "p"},
    "signal": {"account": "+4915100000001"},
    "dingtalk": {"client_id": "ding1", "client_secret": "x"},
    "feishu": {"app_id": "cli_1", "app_secret": "x"},
    "wecom": {"bot_id": "b", "secret": "x"},
    "qqbot": {"app_id": "1", "client_secret": "x"},
    "weixin": {"token": "x"},
    "yuanbao": {"app_key": "1", "app_secret": "x"},
    "teams": {"app_id": "c", "app_secret": "x", "tenant": "t"},
    "msgraph_webhook": {
        "tenant": "t",
        "client_id": "c",
        "client_secret": "x",
        "client_state": "a-state-of-some-length",
        "public_url": "https://bot.example.org/msgraph_webhook",
        "resource": "me/events",
    },
}
HOMES = {
    "matrix": "!garden:example.org",
    "email": "ann@example.org",
    "irc": "#garden",
    "ntfy": "garden",
    "mattermost": "c" * 26,
    "homeassistant": "mobile_app_phone",
    "xmpp": "ann@example.org",
    "signal": "+4915100000002",
    "dingtalk": "cidGarden==",
    "feishu": "oc_garden",
    "wecom": "group:wrGarden",
    "qqbot": "group:GARDEN",
    "weixin": "ann@im.wechat",
    "yuanbao": "group:G1",
    "msgraph_webhook": "main",
    "teams": "19:garden@thread.tacv2",
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_without_its_library_one_line_names_the_extra(name, monkeypatch):
    for module in list(sys.modules):
        if module.startswith((f"sojourn.platforms.{name}.", f"{LIBRARIES[name]}.")):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, LIBRARIES[name], None)
    registry = Registry(BUILT_INS, list)
    [dotted] = registry.plugin(name).platforms.values()
    with pytest.raises(MissingPackage) as missing:
        registry.load(dotted)
    assert f"`sojourn plugins install {name}`" in missing.value.hint


def test_to_know_what_there_is_loads_no_library():
    look = "import sys; from sojourn.plugins import Registry; Registry(third_party=list).offering('platforms');"
    look += "print([one for one in ('nio', 'imap_tools', 'aiosmtplib', 'slixmpp', 'uvicorn') if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize("name", NEEDED)
async def test_each_is_made_from_variables_alone(name, monkeypatch):
    for key, value in NEEDED[name].items():
        monkeypatch.setenv(f"SOJOURN_{name}_{key}".upper(), value)
    kit = App(config.load())
    [dotted] = next(one for one in kit.plugins() if one.name == name).platforms.values()
    adapter: PlatformAdapter = kit.load(dotted)(kit)
    assert adapter.info.name == name
    assert build_session_key(adapter.home(HOMES[name])).startswith(f"{name}:")
    await adapter.close()
    await kit.close()


@pytest.mark.parametrize("name", NEEDED)
def test_what_is_not_set_is_named(name, monkeypatch):
    missing = next(iter(NEEDED[name]))
    kit = App(config.load())
    with pytest.raises(BadConfig) as refused:
        kit.configured(name)
    assert f"SOJOURN_{name}_{missing}".upper() in refused.value.hint


def test_routes_of_webhooks_come_from_the_file(home):
    home.mkdir(parents=True)
    (home / "config.toml").write_text('[plugins.webhook.routes.deploys]\nsecret = "a-secret-of-some-length"\n')
    [route] = App(config.load()).configured("webhook").parse_routes().values()
    assert (route.name, route.secret.reveal()) == ("deploys", "a-secret-of-some-length")
