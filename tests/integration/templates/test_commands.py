"""`sojourn templates`, from the first template to the last."""

import json

import pytest

from sojourn.core.messages import user
from tests.unit.templates.test_miner import chore, noise
from tests.unit.templates.worlds import BAD, GOOD, did, fill, hermes, ran

ID = "20260102_030405_1a2b3c4d"
WORKED = [user("list the files"), *ran("ls", "a.txt", id="1"), *did("terminal", {"command": "make"}, BAD, id="2")]


@pytest.fixture
def filled(home):
    return fill(home, {ID: WORKED, "20260102_030405_ffffffff": [user("hi"), *did("patch", {}, BAD)]})


def test_bare_it_prints_help(sojourn):
    ran_ = sojourn("templates")
    assert (ran_.code, ran_.err) == (0, "")
    names = "list create show delete suggest approve reject edit stats export import"
    for name in names.split(" "):
        assert f"\n  {name} " in ran_.out


def test_created_listed_shown_and_deleted(sojourn, filled):
    made = sojourn("templates", "create", ID, "--name", "listing")
    assert (made.code, made.out) == (0, '✓ "listing" has 1 examples (terminal).\n')
    listed = sojourn("templates", "list")
    assert listed.out.splitlines()[3].split()[:4] == ["listing", "terminal", "1", "0"]
    assert '{"command": "ls"}' in sojourn("templates", "show", "listing").out
    assert sojourn("templates", "delete", "listing").code == 0
    assert "No templates yet" in sojourn("templates", "list").out


def test_everything_speaks_json(sojourn, filled):
    made = sojourn("templates", "create", ID, "--type", "file", "--max-examples", "3", "--json").json
    assert (made["task_type"], made["source_session_id"], len(made["examples"])) == ("file", ID, 1)
    assert sojourn("templates", "list", "--json").json == {"templates": [made], "unreadable": []}
    assert sojourn("templates", "--json").json == {"templates": [made], "unreadable": []}
    assert sojourn("templates", "list", "--type", "code", "--json").json["templates"] == []
    assert sojourn("templates", "show", made["name"], "--json").json["about"]["requests"] == ["list the files"]
    assert sojourn("templates", "stats", "--json").json[0]["verdict"] == "too early to say"
    assert sojourn("--json", "templates", "delete", made["name"]).json == {"deleted": made["name"]}


@pytest.mark.parametrize(
    ("args", "code", "reason"),
    [
        (["create", "nobody"], 3, "nobody"),
        (["create", "20260102_030405_ffffffff"], 3, "none of its 1 tool calls worked"),
        (["create", ID, "--name", "../x"], 2, "cannot be the name of a template"),
        (["create", ID, "--name", "a" * 300], 2, "has 300 characters"),
        (["create", ID, "--home", "/nowhere/at/all"], 3, "no Hermes history at"),
        (["show", "none"], 3, 'no template "none"'),
        (["delete", "none"], 3, 'no template "none"'),
        (["delete", "nul\x00"], 2, "cannot be the name"),
        (["export", "none"], 3, 'no template "none"'),
        (["edit", "none", "--name", "x"], 3, 'no template "none"'),
        (["approve", "none"], 3, 'no suggestion "none"'),
        (["reject", "none"], 3, 'no suggestion "none"'),
        (["import", "/nowhere.json"], 2, "cannot be read"),
        (["list", "--type", "dance"], 2, "dance"),
    ],
)
def test_a_failure_exits_non_zero_with_the_reason(sojourn, filled, args, code, reason):
    ran_ = sojourn("templates", *args)
    assert (ran_.code, reason in ran_.err, ran_.out) == (code, True, "")


def test_a_list_of_one_type_does_not_deny_the_others(sojourn, filled):
    sojourn("templates", "create", ID, "--name", "listing")
    assert sojourn("templates", "list", "--type", "code").out == "No templates of type code.\n"


def test_a_file_with_an_impossible_date_is_named_beside_the_others(sojourn, filled):
    sojourn("templates", "create", ID, "--name", "good")
    (filled / "session-templates" / "late.json").write_text('{"name": "late", "created_at": 1e30}')
    ran_ = sojourn("templates", "list")
    assert (ran_.code, "good" in ran_.out, "late cannot be read" in ran_.err) == (0, True, True)


def test_a_hermes_home_is_read_without_importing(sojourn, home, tmp_path):
    calls = json.dumps([{"id": "1", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}])
    rows = [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": "1", "content": GOOD}]
    there = hermes(tmp_path / "hermes", {"20260101_000000_abcdef": rows})
    made = sojourn("templates", "create", "20260101_000000_abcdef", "--home", str(there), "--json").json
    assert made["name"].startswith("terminal_0_abcdef_")
    assert sojourn("sessions", "list", "--json").json == []
    assert sorted(one.name for one in there.iterdir()) == ["state.db"]


def test_what_cannot_be_read_is_named_beside_the_others(sojourn, filled):
    sojourn("templates", "create", ID, "--name", "good")
    (filled / "session-templates" / "torn.json").write_text("{")
    ran_ = sojourn("templates", "list")
    assert "good" in ran_.out
    assert "torn cannot be read" in ran_.err
    assert sojourn("templates", "list", "--json").json["unreadable"][0]["name"] == "torn"
    shown = sojourn("templates", "show", "torn")
    assert (shown.code, "torn.json is not valid JSON" in shown.err) == (2, True)


def test_export_and_import_carry_a_template_over(sojourn, filled, tmp_path):
    sojourn("templates", "create", ID, "--name", "one")
    file = tmp_path / "one.json"
    assert sojourn("templates", "export", "one", str(file)).code == 0
    assert json.loads(sojourn("templates", "export", "one").out) == json.loads(file.read_text())
    assert sojourn("templates", "export", "one", str(file), "--json").json == {"file": str(file)}
    assert sojourn("templates", "import", str(file)).code == 4
    assert sojourn("templates", "import", str(file), "--replace").code == 0
    file.write_text(file.read_text().replace('"one"', '"two"').replace("a.txt", "/home/ada/a.txt"))
    assert sojourn("templates", "import", str(file)).code == 0
    assert "/home/ada" not in (filled / "session-templates" / "two.json").read_text()


def test_a_template_can_be_edited(sojourn, filled):
    sojourn("templates", "create", ID, "--name", "one")
    changed = ["--name", "two", "--type", "code", "--description", "for lists"]
    made = sojourn("templates", "edit", "one", *changed, "--json").json
    assert (made["name"], made["task_type"], made["description"]) == ("two", "code", "for lists")
    assert [one["name"] for one in sojourn("templates", "list", "--json").json["templates"]] == ["two"]
    made = sojourn("templates", "edit", "two", "--description", "for /home/ada/site", "--json").json
    assert made["description"] == "for ~/site"
    assert sojourn("templates", "edit", "two", "--drop", "9").code == 2
    assert "at least one example" in sojourn("templates", "edit", "two", "--drop", "1").err
    assert "no terminal for an editor" in sojourn("templates", "edit", "two").err


def test_suggestions_wait_until_they_are_decided(sojourn, home):
    fill(home, {f"s{n}": [*chore(f"b{n}"), *noise(n)] for n in range(4)} | {f"z{n}": noise(50 + n) for n in range(6)})
    found = sojourn("templates", "suggest", "--json").json
    assert found["mined"] == {"sessions": 10, "read": 10, "damaged": []}
    [idea] = found["suggestions"]
    assert [one["session"] for one in idea["evidence"]] == ["s3", "s2", "s1", "s0"]
    assert idea["id"] in sojourn("templates", "suggest", "--inbox").out
    assert sojourn("templates", "suggest", "--json").json["mined"]["read"] == 0
    sojourn("templates", "edit", idea["id"], "--description", "the usual round", "--drop", "2")
    made = sojourn("templates", "approve", idea["id"], "--name", "round", "--json").json
    assert (made["description"], len(made["examples"])) == ("the usual round", 2)
    assert sojourn("templates", "suggest", "--json").json["suggestions"] == []
    assert "{{command}}" in sojourn("templates", "show", "round").out


def test_a_rejected_suggestion_is_not_asked_about_again(sojourn, home):
    fill(home, {f"s{n}": [*chore(f"b{n}"), *noise(n)] for n in range(4)} | {f"z{n}": noise(50 + n) for n in range(6)})
    [idea] = sojourn("templates", "suggest", "--json").json["suggestions"]
    assert sojourn("templates", "reject", idea["id"], "--never", "--json").json == {"id": idea["id"], "state": "never"}
    assert "Nothing came back" in sojourn("templates", "suggest").out


def test_a_rejected_suggestion_comes_back_when_its_evidence_has_doubled(sojourn, home):
    others = {f"z{n}": noise(50 + n) for n in range(6)}
    fill(home, {f"s{n}": [*chore(f"b{n}"), *noise(n)] for n in range(4)} | others)
    [idea] = sojourn("templates", "suggest", "--json").json["suggestions"]
    sojourn("templates", "reject", idea["id"])
    for more, waiting in ((range(4, 7), []), (range(7, 8), [idea["id"]])):
        fill(home, {f"s{n}": [*chore(f"b{n}"), *noise(n)] for n in more})
        found = sojourn("templates", "suggest", "--json").json["suggestions"]
        assert [one["id"] for one in found] == waiting


def test_an_edit_of_a_suggestion_outlives_the_next_look_at_the_history(sojourn, home):
    fill(home, {f"s{n}": [*chore(f"b{n}"), *noise(n)] for n in range(4)} | {f"z{n}": noise(50 + n) for n in range(6)})
    [idea] = sojourn("templates", "suggest", "--json").json["suggestions"]
    sojourn("templates", "edit", idea["id"], "--description", "the usual round")
    [again] = sojourn("templates", "suggest", "--json").json["suggestions"]
    assert (again["id"], again["template"]["description"]) == (idea["id"], "the usual round")


def test_forgetting_a_session_takes_its_templates(sojourn, filled):
    sojourn("templates", "create", ID, "--name", "gone")
    sojourn("templates", "suggest")
    done = sojourn("sessions", "forget", ID, "--yes", "--json")
    assert done.code == 0
    left = [file for file in filled.rglob("*") if file.is_file() and ID.encode() in file.read_bytes()]
    assert [file.name for file in left] == []
