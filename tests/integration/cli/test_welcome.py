"""The first look, with and without somebody there."""

from sojourn.importers.samples import load_samples
from tests.integration.cli.diary import write_diary


def titles(sojourn):
    return [one["title"] for one in sojourn("sessions", "list", "--json").json]


def test_without_terminal_an_empty_store_gets_samples_and_nothing_is_imported(sojourn, home):
    write_diary(home, "monday", "Rain")
    ran = sojourn("welcome")
    assert ran.code == 0
    assert "healthy" in ran.out
    assert "sample sessions added" in ran.out
    assert "Sample:" in ran.out
    assert "1 session of diary" in ran.out
    assert not any(one["source"] == "diary" for one in sojourn("sessions", "list", "--json").json)


def test_the_second_time_it_only_shows(sojourn):
    sojourn("welcome")
    before = titles(sojourn)
    ran = sojourn("welcome")
    assert ran.code == 0
    assert "added" not in ran.out
    assert "Sample:" in ran.out
    assert "sojourn sessions search" in ran.out
    assert titles(sojourn) == before


def test_a_person_is_offered_what_was_found(sojourn, home):
    write_diary(home, "monday", "Rain", title="Rainy Monday")
    ran = sojourn("welcome", typed="y\n")
    assert "Found 1 session of 1 program" in ran.out
    assert "dry run" in ran.out
    assert "Rainy Monday" in ran.out
    assert titles(sojourn) == ["Rainy Monday"]


def test_who_declines_both_has_an_empty_store(sojourn, home):
    write_diary(home, "monday", "Rain")
    ran = sojourn("welcome", typed="n\nn\n")
    assert ran.code == 0
    assert "samples" in ran.out
    assert titles(sojourn) == []


def test_samples_are_offered_where_nothing_is_found(sojourn):
    assert "Sample:" in sojourn("welcome", typed="\n").out


def test_for_scripts(sojourn):
    first = sojourn("welcome", "--json").json
    assert first["health"]["state"] == "healthy"
    assert first["samples_added"] == len(first["sessions"]) > 0
    assert sojourn("welcome", "--json").json["samples_added"] == 0


def test_a_damaged_store_is_not_shown_as_empty(sojourn, home):
    home.mkdir()
    (home / "state.db").write_text("this is not a database" * 100)
    ran = sojourn("welcome")
    assert ran.code == 5
    assert "damaged" in ran.out
    assert "No sessions" not in ran.out
    assert sojourn("welcome", "--json").json["health"]["code"] == "store_corrupt"


def test_the_title_of_every_sample_says_what_it_is():
    titles = [str(one.fields["title"]) for one in load_samples()]
    assert [title for title in titles if not title.startswith(("Sample: ", "示例:"))] == []
