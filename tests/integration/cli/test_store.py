import sqlite3
import tarfile

from tests.integration.cli.conftest import fill
from tests.integration.cli.test_sessions import BIKE, GARDEN


def test_figures(sojourn, home):
    fill(home, GARDEN, BIKE)
    stats = sojourn("store", "stats", "--json").json
    assert (stats["sessions"], stats["messages"], stats["kind"]) == (2, 8, "sqlite")
    out = sojourn("store", "stats").out
    assert "2 sessions, 8 messages" in out
    assert "space used by" in out


def test_a_narrow_screen_costs_the_bars_and_no_figure(sojourn, home, monkeypatch):
    fill(home, GARDEN, BIKE)
    monkeypatch.setenv("COLUMNS", "44")
    out = sojourn("store", "stats").out
    assert max(map(len, out.splitlines()[1:])) <= 44
    assert "…" not in out
    assert "  write-ahead log" in out


def test_a_whole_store_verifies(sojourn, home):
    fill(home, BIKE)
    assert "The store is whole" in sojourn("store", "verify").out
    assert sojourn("store", "verify", "--json").json["clean"] is True


def test_a_store_that_is_not_whole_exits_with_5(sojourn, home):
    fill(home, BIKE)
    with sqlite3.connect(home / "state.db") as db:
        db.execute("UPDATE sessions SET message_count = 99")
    db.close()
    ran = sojourn("store", "verify")
    assert ran.code == 5
    assert "message count is wrong" in ran.out


def test_a_copy_brings_back_what_was_deleted(sojourn, home):
    fill(home, BIKE)
    copy = sojourn("store", "backup", "--json").json["path"]
    sojourn("sessions", "delete", "Bike", "--yes")
    assert sojourn("store", "restore", copy).code == 2
    assert sojourn("store", "restore", copy, "--yes").code == 0
    assert len(sojourn("sessions", "list", "--json").json) == 1


def test_copies_made_in_the_same_second_have_names_of_their_own(sojourn, home):
    fill(home, BIKE)
    copies = {sojourn("store", "backup", "--json").json["path"] for _ in range(3)}
    assert len(copies) == 3
    for _ in range(2):
        assert sojourn("store", "restore", min(copies), "--yes").code == 0
    assert len([one for one in home.glob("state.db.before-restore-*") if one.suffix.count("-") == 4]) == 2


def test_a_restoring_that_is_refused_leaves_no_copy_behind(sojourn, home):
    fill(home, BIKE)
    copy = sojourn("store", "backup", "--json").json["path"]
    before = sorted(home.rglob("*"))
    other = sqlite3.connect(home / "state.db")
    other.execute("BEGIN")
    other.execute("SELECT * FROM sessions").fetchall()
    ran = sojourn("store", "restore", copy, "--yes")
    other.close()
    assert (ran.code, "in use" in ran.err) == (5, True)
    assert sorted(home.rglob("*")) == before


def test_a_move_proves_that_both_sides_agree(sojourn, home, tmp_path):
    fill(home, GARDEN, BIKE)
    ran = sojourn("store", "migrate", "--to", str(tmp_path / "new"), "--json")
    assert ran.code == 0
    tables = {row["table"]: row["rows"] for row in ran.json["tables"]}
    assert (tables["sessions"], tables["messages"]) == (2, 8)
    assert len(sojourn("--home", str(tmp_path / "new"), "sessions", "list", "--json").json) == 2
    again = sojourn("store", "migrate", "--to", str(tmp_path / "new"))
    assert (again.code, "not empty" in again.err) == (4, True)
    assert "Both stores hold the same" in sojourn("store", "migrate", "--to", str(tmp_path / "other")).out


def test_a_backup_makes_its_folder_and_holds_what_is_the_persons(sojourn, home):
    fill(home, BIKE)
    for name in ("notes/a.md", "skills/mow/SKILL.md", "session-templates/deploy.json", "workspace/big.bin"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    (home / "skills" / "link").symlink_to("/etc/hostname")
    secret = "s3cr" + "et-value"
    (home / "config.toml").write_text(
        f'[model]\nname = "big"  # kept\napi_key = "{secret}"\n[memory]\nsummary_tokens = 6000\n'
        f'[plugins.telegram]\ntoken = "{secret}"\n'
        f'[plugins.mcp.servers.m]\ncommand = "m"\nenv = {{ HOME_TOKEN = "{secret}", PLAIN = "{secret}" }}\n'
    )
    target = home.parent / "new" / "backups"
    made = sojourn("store", "backup", str(target), "--json").json
    assert (made["files"], made["left_out"]) == (4, ["workspace"])
    assert sorted(made["secrets_left_out"]) == [
        "model.api_key",
        "plugins.mcp.servers.m.env.HOME_TOKEN",
        "plugins.mcp.servers.m.env.PLAIN",
        "plugins.telegram.token",
    ]
    with tarfile.open(made["files_path"]) as packed:
        config = packed.extractfile("config.toml").read().decode()
        assert "skills/link" not in packed.getnames()
    assert (secret in config, "# kept" in config, "summary_tokens = 6000" in config) == (False, True, True)
    said = sojourn("store", "backup", str(target)).out
    assert "Not in it, because they are secret: model.api_key" in said
    assert len(list(target.glob("*.db"))) == 2

    (home / "notes" / "a.md").unlink()
    (home / "skills" / "mow" / "SKILL.md").write_text("changed since")
    assert sojourn("store", "restore", made["path"], "--yes", "--json").json["files"] == 1
    assert (home / "notes" / "a.md").read_text() == "notes/a.md"
    assert (home / "skills" / "mow" / "SKILL.md").read_text() == "changed since"


def test_only_the_newest_copies_are_kept_if_asked(sojourn, home):
    fill(home, BIKE)
    (home / "notes").mkdir()
    (home / "notes" / "a.md").write_text("a")
    for _ in range(3):
        sojourn("store", "backup")
    ran = sojourn("store", "backup", "--keep", "2", "--json").json
    assert len(ran["removed"]) == 2
    left = sorted(one.name for one in (home / "backups").iterdir())
    assert len(left) == 4
    assert ran["path"].rpartition("/")[2] in left
