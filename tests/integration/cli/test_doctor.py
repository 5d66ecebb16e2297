from sojourn import config
from sojourn.app import App
from sojourn.cli.commands.agent_checks import check_agents
from sojourn.cli.context import CommandContext
from sojourn.core.errors import MissingPackage
from sojourn.plugins import Registry, ThirdParty
from tests.integration.cli.conftest import HERE, registry
from tests.integration.cli.diary import write_diary


def checks(ran):
    return {(row["check"], row["state"]) for row in ran.json}


def test_a_healthy_place_exits_0_and_makes_nothing(sojourn, home):
    ran = sojourn("doctor")
    assert ran.code == 0
    assert "✗" not in ran.out
    assert "FTS5" in ran.out
    assert not home.exists()


def test_an_existing_store_is_asked(sojourn):
    sojourn("sessions", "list")
    assert "healthy" in sojourn("doctor").out


def test_a_home_others_can_read_is_a_warning(sojourn, home):
    home.mkdir(mode=0o755)
    ran = sojourn("doctor", "--json")
    assert ran.code == 0
    assert ("home", "warning") in checks(ran)
    assert any(f"chmod 700 {home}" in row["hint"] for row in ran.json)


def test_a_damaged_store_is_a_problem(sojourn, home):
    home.mkdir(mode=0o700)
    (home / "state.db").write_text("x" * 5000)
    ran = sojourn("doctor", "--json")
    assert ran.code == 1
    assert ("store", "problem") in checks(ran)


def test_a_broken_config_is_a_problem_and_the_rest_is_still_looked_at(sojourn, home):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("nonsense")
    ran = sojourn("doctor", "--json")
    assert ran.code == 1
    assert ("config", "problem") in checks(ran)
    assert ("plugins", "ok") in checks(ran)


def test_histories_are_named_and_unreadable_ones_not_called_empty(sojourn, home):
    write_diary(home, "monday", "Rain")
    assert "1 session" in sojourn("doctor").out
    (home.parent / ".diary" / "locked").touch()
    out = " ".join(sojourn("doctor").out.split())  # a long path wraps the line
    assert "cannot be read: it is locked" in out
    assert "not empty" in out


def test_a_broken_plugin_is_a_problem_by_name(sojourn):
    ran = sojourn("doctor", plugins=registry(ThirdParty("torn", f"{HERE}.broken_plugin")))
    assert ran.code == 1
    assert "torn:" in ran.out


def test_fix_asks_before_it_mends_and_needs_a_terminal(sojourn, home):
    home.mkdir(mode=0o755)
    assert sojourn("doctor", "--fix").code != 0
    assert "Make" in sojourn("doctor", "--fix", typed="n\n").out
    assert home.stat().st_mode & 0o777 == 0o755
    sojourn("doctor", "--fix", typed="y\n")
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_missing_model_a_broken_mcp_server_and_a_network_without_its_package_are_warnings(monkeypatch, home):
    home.mkdir(mode=0o700)
    config_text = '[plugins.mcp.servers.gone]\ncommand = "/no/such/program"\n[plugins.telegram]\ntoken = "t"\n'
    (home / "config.toml").write_text(config_text)
    plugins = Registry()
    load = plugins.load

    def load_without_telegram(part):
        if "telegram.adapter" in str(part):
            raise MissingPackage("telegram needs a package.", hint="pip install it")
        return load(part)

    monkeypatch.setattr(plugins, "load", load_without_telegram)
    monkeypatch.setenv("SOJOURN_MODEL_DETECT", "no")
    given = CommandContext(
        build=lambda flags: App(config.load(flags), plugins), read_settings=config.load, plugins=plugins
    )
    found = {(one.what, one.state, one.detail.partition(":")[0]) for one in check_agents(given)}
    assert ("mcp", "warning", "gone") in found
    assert ("networks", "warning", "telegram") in found
    assert {state for what, state, _ in found if what == "model"} == {"warning"}
    assert ("service", "ok", "not installed") in found
