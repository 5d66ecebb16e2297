from sojourn.plugins import ThirdParty
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
