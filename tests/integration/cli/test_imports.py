import platform

import pytest

from tests.integration.cli.diary import write_diary
from tests.unit.importers.test_hermes import hermes_db


@pytest.fixture
def diary(home):
    write_diary(home, "monday", "Rain again", "Take an umbrella")
    write_diary(home, "tuesday", "Sun", "At last", title="Tuesday")


def sessions(sojourn):
    return {one["id"] for one in sojourn("sessions", "list", "--json").json}


def test_no_history_is_not_an_error(sojourn):
    ran = sojourn("import")
    assert ran.code == 0
    assert "No history" in ran.out
    assert sojourn("import", "--json").json == []


@pytest.mark.usefixtures("diary")
class TestImport:
    @pytest.mark.parametrize("args", [[], ["--dry-run"], ["diary"], ["--dry-run", "--yes"]])
    def test_without_a_yes_it_only_says_what_it_would_do(self, args, sojourn):
        ran = sojourn("import", *args)
        assert ran.code == 0
        assert "dry run" in ran.out
        assert "found 2, would import 2, unchanged 0, skipped 0" in ran.out
        assert sessions(sojourn) == set()

    def test_scripts_get_the_dry_run_too(self, sojourn):
        (report,) = sojourn("import", "--json").json
        assert report["dry_run"] is True
        assert report["found"] == 2

    def test_with_a_yes_everything_comes_in_and_again_only_what_is_new(self, sojourn, home):
        assert "found 2, imported 2, unchanged 0, skipped 0 (4 new messages" in sojourn("import", "--yes").out
        assert len(sessions(sojourn)) == 2
        write_diary(home, "wednesday", "Wind")
        assert "found 3, imported 1, unchanged 2, skipped 0" in sojourn("import", "--yes").out
        assert "There is nothing new to import." in sojourn("import", "--yes").out

    def test_each_session_says_on_which_machine_it_was_imported(self, sojourn, home, monkeypatch):
        sojourn("import", "--yes")
        assert {one["machine"] for one in sojourn("sessions", "list", "--json").json} == {platform.node()}
        monkeypatch.setenv("SOJOURN_IMPORT_MACHINE", "attic")  # another one that feeds the same store
        write_diary(home, "wednesday", "Wind")
        write_diary(home, "monday", "Rain again", "Take an umbrella", "And boots")
        sojourn("import", "--yes")
        assert [one["id"] for one in sojourn("sessions", "list", "--machine", "attic", "--json").json] == ["wednesday"]
        assert sojourn("sessions", "list", "--machine", "cellar", "--json").json == []
        assert sojourn("sessions", "show", "monday", "--json").json["machine"] == platform.node()
        assert "imported on attic" in sojourn("sessions", "show", "wednesday").out

    def test_a_person_is_asked_after_the_dry_run(self, sojourn):
        ran = sojourn("import", typed="n\n")
        assert "Import 2 sessions now?" in ran.out
        assert "Nothing was imported." in ran.out
        assert sessions(sojourn) == set()
        assert "✓ • diary found 2, imported 2" in sojourn("import", typed="\n").out
        assert len(sessions(sojourn)) == 2

    def test_one_that_is_torn_is_skipped_with_the_reason(self, sojourn, home):
        (home.parent / ".diary" / "friday.json").write_text("torn")
        out = sojourn("import", "--yes").out
        assert "found 3, imported 2, unchanged 0, skipped 1 because it is torn" in out
        (report,) = sojourn("import", "--yes", "--json").json
        assert report["skipped"] == [{"id": "friday", "because": "it is torn"}]

    def test_unreadable_is_shouted_and_an_error(self, sojourn, home):
        (home.parent / ".diary" / "locked").touch()
        ran = sojourn("import", "--yes")
        assert ran.code == 6
        assert "FOUND BUT NOT READABLE" in ran.out
        assert "(source_unreadable)" in ran.err

    def test_through_a_symlink_it_is_the_same_history(self, sojourn, home, tmp_path):
        sojourn("import", "--yes")
        (tmp_path / "link").symlink_to(home.parent / ".diary")
        assert "There is nothing new to import." in sojourn("import", str(tmp_path / "link"), "--yes").out
        assert len(sessions(sojourn)) == 2

    def test_what_was_forgotten_is_not_promised_again(self, sojourn):
        sojourn("import", "--yes")
        sojourn("sessions", "forget", "Tuesday", "--yes")
        out = " ".join(sojourn("import", "--yes").out.split())
        assert "would import 0, unchanged 1, skipped 1 because it was forgotten here" in out
        assert "There is nothing new to import." in out

    def test_scripts_are_told_about_every_history(self, sojourn, home):
        hermes_db(home.parent / ".hermes" / "state.db", "one")
        sojourn("import", "diary", "--yes")
        first, second = sojourn("import", "--yes", "--json").json
        assert sorted(
            (one["source"], one["imported"], one["unchanged"], one["dry_run"]) for one in (first, second)
        ) == [("diary", 0, 2, False), ("hermes", 1, 0, False)]
        assert {one["dry_run"] for one in sojourn("import", "--yes", "--json").json} == {False}
        assert {one["dry_run"] for one in sojourn("import", "--dry-run", "--json").json} == {True}

    def test_the_path_of_a_home_brings_its_profiles_too(self, sojourn, tmp_path):
        old = tmp_path / "old" / ".hermes"
        hermes_db(old / "state.db", "one")
        hermes_db(old / "profiles" / "work" / "state.db", "two")
        assert [one["imported"] for one in sojourn("import", str(old), "--yes", "--json").json] == [1, 1]
        assert sessions(sojourn) == {"one", "two"}

    def test_from_a_path(self, sojourn, home, tmp_path):
        elsewhere = tmp_path / "old diary"
        (home.parent / ".diary").rename(elsewhere)
        assert "imported 2" in sojourn("import", str(elsewhere), "--yes").out

    @pytest.mark.parametrize(("what", "code"), [("nonsense", 3), ("{empty}/nowhere", 3), ("{empty}", 6)])
    def test_what_is_no_history_is_refused(self, what, code, sojourn, tmp_path_factory):
        empty = tmp_path_factory.mktemp("empty")
        assert sojourn("import", what.format(empty=empty)).code == code

    def test_secrets_are_blacked_out_unless_told_otherwise(self, sojourn, home):
        secret = "ghp_" + "a" * 36
        write_diary(home, "secret", f"my token is {secret}")
        sojourn("import", "--yes")
        assert secret not in sojourn("sessions", "export", "--all").out
        write_diary(home, "open", f"another {secret}")
        sojourn("import", "--yes", "--no-redact")
        assert secret in sojourn("sessions", "export", "--all").out
