"""Networks whose library is an extra: cheap to know about, clear when it is missing."""

import subprocess
import sys

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.core.errors import BadConfig, MissingPackage
from sojourn.plugins import Registry

NETWORKS = {"telegram": "telegram", "discord": "discord", "slack": "slack_sdk"}


@pytest.mark.parametrize("name", NETWORKS)
def test_without_its_library_one_line_names_the_extra(name, monkeypatch):
    for module in list(sys.modules):
        if module.startswith((f"sojourn.platforms.{name}.", f"{NETWORKS[name]}.")):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, NETWORKS[name], None)
    registry = Registry(BUILT_INS, list)
    [dotted] = registry.plugin(name).platforms.values()
    with pytest.raises(MissingPackage) as missing:
        registry.load(dotted)
    assert missing.value.hint == f"`sojourn plugins install {name}`"


def test_to_know_what_there_is_loads_no_library():
    look = "import sys; from sojourn.plugins import Registry; Registry(third_party=list).offering('platforms');"
    look += f"print([one for one in {list(NETWORKS.values())!r} if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("telegram", "SOJOURN_TELEGRAM_TOKEN"), ("discord", "SOJOURN_DISCORD_TOKEN"), ("slack", "SOJOURN_SLACK_TOKEN")],
)
async def test_without_a_token_the_variable_is_named(name, variable):
    kit = App(config.load())
    with pytest.raises(BadConfig) as missing:
        kit.configured(name)
    assert variable in missing.value.hint
    await kit.close()
