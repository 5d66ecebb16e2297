"""`sojourn sessions`, on a real store."""

import asyncio
import json

import pytest

from sojourn import app as application
from sojourn import config
from sojourn.core.attachments import OBSERVATION, Attachment, user_message
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.core.sessions import SessionId
from sojourn.ports.store import Record
from tests.integration.cli.conftest import fill

LS = ToolCall(id="c1", name="terminal", arguments='{"command": "ls"}')
GARDEN = (
    "garden-1",
    "Garden",
    [
        user("Which tomatoes do I have?"),
        assistant("Let me look.", [LS]),
        tool_result(LS, "a\nb\nc"),
        Message(role="assistant", content="Old summary of tomatoes", active=False, compacted=True),
        Message(role="user", content="never mind", active=False),
        assistant("Three sorts of tomatoes.", reasoning="count them"),
    ],
)
BIKE = ("bike-1", "Bike", [user("The chain is loose"), assistant("Tighten it.")])


def keep(home, record):
    async def work():
        app = application.App(config.load({"home": str(home)}))
        await app.store.put_record(record)
        await app.close()

    asyncio.run(work())


@pytest.fixture
def two(home):
    fill(home, GARDEN, BIKE)


@pytest.mark.usefixtures("two")
class TestReading:
    def test_a_list_is_a_table_for_people(self, sojourn):
        ran = sojourn("sessions", "list")
        assert ran.code == 0
        assert "Garden" in ran.out
        assert "bike-1" in ran.out

    def test_and_an_array_for_scripts(self, sojourn):
        found = sojourn("sessions", "list", "--json").json
        assert {one["id"] for one in found} == {"garden-1", "bike-1"}
        assert sojourn("--json", "sessions", "list").json == found

    def test_a_limit_says_that_there_is_more(self, sojourn):
        assert "--all" in sojourn("sessions", "list", "--limit", "1").out
        assert "--all" not in sojourn("sessions", "list", "--limit", "2").out
        assert len(sojourn("sessions", "list", "--limit", "1", "--json").json) == 1

    @pytest.mark.parametrize(
        ("filters", "left"),
        [
            (["--source", "cli"], 2),
            (["--source", "telegram"], 0),
            (["--title", "bike"], 1),
            (["--since", "2023-01-01", "--until", "2024-01-01"], 2),
            (["--until", "2020-01-01"], 0),
            (["--pinned"], 0),
            (["--archived"], 0),
            (["--tag", "none"], 0),
        ],
    )
    def test_filters(self, filters, left, sojourn):
        assert len(sojourn("sessions", "list", *filters, "--json").json) == left

    def test_a_transcript_folds_tools_hides_undone_rows_and_keeps_summarised_ones(self, sojourn):
        out = sojourn("sessions", "show", "Garden").out
        assert "▸ terminal ls → 3 lines" in out
        assert "Old summary" in out
        assert "never mind" not in out
        assert "1 undone message not shown" in out
        assert "count them" not in out

    def test_the_notice_of_a_hand_off_is_not_shown_as_the_persons_words(self, sojourn, home):
        notice = Message(role="user", content="[Sojourn: handed over]", extra='{"internal": true}')
        fill(home, ("moved-1", "Moved", [user("hello"), notice]))
        out = sojourn("sessions", "show", "moved-1").out
        assert "[Sojourn: handed over]" in out
        assert out.count("❯ you") == 1
        assert "· notice" in out

    def test_full_unfolds_and_all_shows_what_was_undone(self, sojourn):
        out = sojourn("sessions", "show", "garden", "--full", "--all").out
        assert "    a\n    b\n    c" in out
        assert "never mind" in out
        assert "count them" in out

    def test_attachments_are_files_and_observations_tagged_with_their_runtime(self, sojourn, home):
        assert "no attachments" in sojourn("sessions", "show", "Garden", "--attachments").out
        plan = Attachment(hash="a" * 64, media_type="image/png", name="plan.png", size=1234)
        fill(home, ("plan-1", "Plan", [user_message("Look.", (plan,))]))
        value = {"runtime": "hermes", "turn": "t_1", "kind": "run", "data": {"tools": ["echo"], "ended": "stop"}}
        keep(home, Record(kind=OBSERVATION, key="plan-1/t_1/000001", value=value, session=SessionId("plan-1")))
        out = sojourn("sessions", "show", "Plan", "--attachments").out
        assert "plan.png  image/png, 1,234 bytes" in out
        assert "[hermes] run, turn t_1" in out
        assert 'tools: ["echo"]' in out
        file, observation = sojourn("sessions", "show", "Plan", "--attachments", "--json").json["attachments"]
        assert (file["type"], file["name"]) == ("file", "plan.png")
        assert observation == {"type": "observation", **value}

    def test_raw_is_json_lines_and_json_is_one_object(self, sojourn):
        lines = sojourn("sessions", "show", "Garden", "--raw").out.splitlines()
        assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4, 6]
        whole = sojourn("sessions", "show", "Garden", "--json", "--all").json
        assert whole["title"] == "Garden"
        assert len(whole["messages"]) == 6

    def test_only_the_last_messages(self, sojourn):
        lines = sojourn("sessions", "show", "Garden", "--raw", "--last", "2").out.splitlines()
        assert [json.loads(line)["seq"] for line in lines] == [4, 6]

    def test_a_session_that_is_not_there(self, sojourn):
        ran = sojourn("sessions", "show", "nope")
        assert ran.code == 3
        assert "(not_found)" in ran.err
        assert ran.out == ""

    def test_search_groups_hits_and_marks_words(self, sojourn):
        out = sojourn("sessions", "search", "tomatoes").out
        assert out.count("Garden") == 1
        assert "3 hits in 1 session" in out
        (hit,) = sojourn("sessions", "search", "tomatoes", "--role", "user", "--json").json
        (start, end) = hit["snippet"]["marks"][0]
        assert hit["snippet"]["text"][start:end] == "tomatoes"
        assert hit["message"] == "garden-1:1"

    def test_search_filters(self, sojourn):
        def ids(*args):
            return {one["session"] for one in sojourn("sessions", "search", *args, "--json").json}

        assert ids("chain", "--session", "Bike") == {"bike-1"}
        assert ids("chain", "--session", "Garden") == set()
        assert ids("look", "--tool", "terminal") == {"garden-1"}
        assert ids("chain loose") == {"bike-1"}
        assert ids("chain loose", "--order", "newest") == set()
        assert ids("chain is loose") == {"bike-1"}

    def test_a_misspelt_word_is_corrected_by_what_people_said(self, sojourn):
        assert "Did you mean “tomatoes” for “tomateos”?" in sojourn("sessions", "search", "tomateos").out
        assert "Did you mean “chain” for “chian”?" in sojourn("sessions", "search", "chian", "loose").out
        assert "Did you mean" not in sojourn("sessions", "search", "tomato").out  # another form of a word

    def test_nothing_to_look_for_is_said(self, sojourn):
        for asked in ((), ("word", "--file", "a.py"), ("--file", "a.py", "--error", "x")):
            assert (ran := sojourn("sessions", "search", *asked)).code == 2
            assert "--file, --error or --tool" in ran.err

    def test_nothing_found_is_said(self, sojourn):
        ran = sojourn("sessions", "search", "zeppelin")
        assert (ran.code, ran.out) == (0, "Nothing found.\n")


READ = ToolCall(id="c2", name="read_file", arguments='{"path": "src/a.py"}')
RUN = ToolCall(id="c3", name="terminal", arguments='{"command": "python src/a.py"}')
BROKEN = "ModuleNotFoundError: No module named 'yaml'"
SOLVED = [
    user("Run src/a.py"),
    assistant("", [RUN]),
    tool_result(RUN, BROKEN),
    assistant("", [READ]),
    tool_result(READ, "import yaml"),
    assistant("pyyaml was missing; it is installed now."),
]
GAVE_UP = [user("Run it"), assistant("", [LS]), tool_result(LS, f"Traceback\n{BROKEN}"), assistant("It fails.")]


class TestUses:
    @pytest.fixture(autouse=True)
    def fill(self, home):
        talk = ("talk-1", "Talk", [user("What is src/a.py?"), assistant("src/a.py is a file.")])
        fill(home, ("solved-1", "Solved", SOLVED), ("open-1", "Open", GAVE_UP), talk)

    def test_which_sessions_touched_a_file(self, sojourn):
        (one,) = sojourn("sessions", "search", "--file", "src/a.py", "--json").json
        assert (one["session"], one["seq"], one["last_seq"], one["times"]) == ("solved-1", 2, 4, 2)
        assert set(one["tools"]) == {"terminal", "read_file"}
        assert sojourn("sessions", "search", "--file", "src/b.py", "--json").json == []

    def test_which_sessions_used_a_tool(self, sojourn):
        (one,) = sojourn("sessions", "search", "--tool", "read_file", "--json").json
        assert (one["session"], one["tools"]) == ("solved-1", ["read_file"])
        found = sojourn("sessions", "search", "--tool", "terminal", "--json").json
        assert {one["session"] for one in found} == {"solved-1", "open-1"}

    def test_which_sessions_met_an_error_and_which_solved_it(self, sojourn):
        found = {one["session"]: one for one in sojourn("sessions", "search", "--error", BROKEN, "--json").json}
        assert {id: (one["solved"], one["answer"]) for id, one in found.items()} == {
            "solved-1": (True, "pyyaml was missing; it is installed now."),
            "open-1": (False, "It fails."),
        }

    def test_people_read_what_came_of_it(self, sojourn):
        out = sojourn("sessions", "search", "--error", BROKEN).out
        assert "it did not come back" in out
        assert "pyyaml was missing" in out
        assert "nothing went on after it" in out
        assert "No session had to do with it." in sojourn("sessions", "search", "--error", "zeppelin").out


@pytest.mark.usefixtures("two")
class TestKeeping:
    def test_a_title_is_given_shown_and_taken_away(self, sojourn):
        assert 'called "Balcony plan"' in sojourn("sessions", "title", "Garden", "Balcony", "plan").out
        assert 'called "Balcony plan"' in sojourn("sessions", "title", "garden-1").out
        assert sojourn("sessions", "title", "garden-1", "--clear", "--json").json["title"] is None

    def test_a_taken_title_is_refused(self, sojourn):
        ran = sojourn("sessions", "title", "Garden", "Bike")
        assert (ran.code, "title_taken" in ran.err) == (4, True)

    def test_tags_come_and_go(self, sojourn):
        assert sojourn("sessions", "tag", "Garden", "Plants", "summer", "--json").json["tags"] == ["plants", "summer"]
        assert len(sojourn("sessions", "list", "--tag", "plants", "--json").json) == 1
        assert sojourn("sessions", "untag", "Garden", "plants", "--json").json["tags"] == ["summer"]

    def test_marks_are_set_on_several_at_once_and_taken_back(self, sojourn):
        assert [one["pinned"] for one in sojourn("sessions", "pin", "Garden", "Bike", "--json").json] == [True, True]
        assert "★" in sojourn("sessions", "list").out
        sojourn("sessions", "unpin", "Garden", "Bike")
        assert "★" not in sojourn("sessions", "list").out
        sojourn("sessions", "archive", "Bike")
        assert "Bike" not in sojourn("sessions", "list").out
        assert "Bike" in sojourn("sessions", "list", "--archived").out
        sojourn("sessions", "unarchive", "Bike")
        assert "Bike" in sojourn("sessions", "list").out

    def test_an_end_keeps_its_first_reason(self, sojourn):
        assert sojourn("sessions", "end", "Bike", "--reason", "sold", "--json").json["end_reason"] == "sold"
        assert sojourn("sessions", "end", "Bike", "--reason", "lost", "--json").json["end_reason"] == "sold"


@pytest.mark.usefixtures("two")
class TestRemoving:
    def test_nobody_to_ask_means_nothing_is_deleted(self, sojourn):
        ran = sojourn("sessions", "delete", "Bike")
        assert (ran.code, "--yes" in ran.err) == (2, True)
        assert len(sojourn("sessions", "list", "--json").json) == 2

    def test_a_no_deletes_nothing(self, sojourn):
        ran = sojourn("sessions", "delete", "Bike", typed="n\n")
        assert ran.code == 1
        assert "Bike — 2 messages" in ran.out
        assert "Nothing was changed." in ran.out
        assert len(sojourn("sessions", "list", "--json").json) == 2

    def test_a_yes_deletes_and_says_what(self, sojourn):
        ran = sojourn("sessions", "delete", "Bike", typed="y\n")
        assert ran.code == 0
        assert '"Bike" deleted' in ran.out
        assert ran.out.split("deleted")[1].strip() == ": 1 session, 2 messages."
        assert len(sojourn("sessions", "list", "--json").json) == 1

    def test_scripts_say_yes(self, sojourn):
        (removed,) = sojourn("sessions", "delete", "Bike", "--yes", "--json").json
        assert removed["session"] == "bike-1"
        assert removed["rows"]["messages"] == 2

    def test_forget_says_that_it_is_for_ever_and_offers_to_purge_copies(self, sojourn, home):
        assert sojourn("store", "backup").code == 0
        ran = sojourn("sessions", "forget", "Bike", typed="y\ny\n")
        assert "for ever" in ran.out
        assert "1 copy made earlier may still hold it" in ran.out
        assert list((home / "backups").iterdir()) == []

    def test_forget_without_terminal_lists_copies_and_leaves_them(self, sojourn, home):
        sojourn("store", "backup")
        ran = sojourn("sessions", "forget", "Bike", "--yes")
        assert str(home / "backups") in ran.out
        assert "--purge-backups" in ran.out
        assert len(list((home / "backups").iterdir())) == 1

    def test_purge_on_the_way(self, sojourn, home):
        sojourn("store", "backup")
        removed = sojourn("sessions", "forget", "Bike", "--yes", "--purge-backups", "--json").json
        assert removed["backups"] == []
        assert list((home / "backups").iterdir()) == []


@pytest.mark.usefixtures("two")
class TestExporting:
    def test_jsonl_holds_one_session_a_line(self, sojourn):
        lines = sojourn("sessions", "export", "--all").out.splitlines()
        assert {json.loads(line)["id"]: len(json.loads(line)["messages"]) for line in lines} == {
            "garden-1": 6,
            "bike-1": 2,
        }

    def test_markdown_reads_well(self, sojourn):
        out = sojourn("sessions", "export", "Bike", "--format", "markdown").out
        assert out.startswith("# Bike\n")
        assert "## You" in out

    def test_to_a_file_for_its_owner_only_and_never_over_another(self, sojourn, tmp_path):
        target = tmp_path / "all.jsonl"
        assert sojourn("sessions", "export", "--all", "-o", str(target)).code == 0
        assert target.stat().st_mode & 0o777 == 0o600
        assert "already exists" in sojourn("sessions", "export", "--all", "-o", str(target)).err
        assert sojourn("sessions", "export", "Bike", "-o", str(target), "--force", "--json").json["sessions"] == 1
        assert len(target.read_text().splitlines()) == 1

    def test_to_a_folder_one_file_each(self, sojourn, tmp_path):
        sojourn("sessions", "export", "--all", "--format", "markdown", "-o", str(tmp_path))
        assert {file.name for file in tmp_path.glob("*.md")} == {"garden-1.md", "bike-1.md"}

    def test_a_failed_export_leaves_nothing_behind(self, sojourn, tmp_path):
        assert sojourn("sessions", "export", "nope", "-o", str(tmp_path / "x")).code == 3
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("args", [[], ["Bike", "--all"]])
    def test_which_sessions_must_be_clear(self, args, sojourn):
        assert sojourn("sessions", "export", *args).code == 2


def test_an_empty_store_says_what_to_do(sojourn):
    assert "sojourn import" in sojourn("sessions", "list").out
    assert sojourn("sessions", "list", "--json").out == "[]\n"


def test_a_thought_alone_has_no_heading_and_a_call_reads_like_a_command(sojourn, home):
    call = ToolCall(id="c9", name="Bash", arguments='{"command": "ls -la", "description": "List files"}')
    odd = ToolCall(id="c8", name="Odd", arguments='{"n": 3, "name": "x"}')
    rows = [user("Look"), assistant("", reasoning="hm"), assistant("", [call, odd]), tool_result(call, "x")]
    fill(home, ("thoughts-1", "Thoughts", rows))
    out = sojourn("sessions", "show", "Thoughts").out
    assert out.count("agent") == 1
    assert "▸ Bash ls -la" in out
    assert "▸ Odd n=3 name=x" in out
    assert "hm" in sojourn("sessions", "show", "Thoughts", "--full").out


def test_an_unknown_source_is_said_to_be_unknown(sojourn, two):
    assert "No session comes from nope. There are:" in sojourn("sessions", "list", "--source", "nope").out


def test_no_line_of_a_pipe_ends_in_blanks(sojourn, home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    long = ("bike-2", "Bike again", [user("The chain is loose " * 9), assistant("Tighten it, `so`. " * 9)])
    fill(home, long)
    for command in (("show", "bike-2"), ("search", "chain"), ("list",)):
        lines = sojourn("sessions", *command).out.splitlines()
        assert lines
        assert [line for line in lines if line.endswith(" ")] == []
