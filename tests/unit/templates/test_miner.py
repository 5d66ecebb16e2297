"""What comes back in a history: found, merged, suggested, and read only once."""

import pytest

from sojourn.core.errors import StoreCorrupt
from sojourn.core.messages import user
from sojourn.ports.history import SessionFacts
from sojourn.templates.miner import mine
from sojourn.templates.mining_cache import clear_cache, load_cache, locate_cache, save_cache
from sojourn.templates.sanitize import Cleaner
from sojourn.templates.sequence_mining import find_recurring
from sojourn.templates.session_shape import Digest, digest_session, to_skeleton, to_step
from sojourn.templates.tool_calls import build_conversation
from sojourn.templates.verify import find_suggestions
from sojourn.text.template_examples import mark_as_example
from tests.unit.templates.worlds import BAD, did, ran, rows

CHORE = ["terminal git pull", "terminal pytest", "terminal git push"]


class Past:
    """A history in a dictionary that counts what is read of it."""

    def __init__(self, sessions, **facts):
        self.raw = {id: rows(*messages) for id, messages in sessions.items()}
        self.facts, self.read, self.broken = facts, [], set()

    def fingerprint(self):
        return None

    def sessions(self):
        return [
            SessionFacts(
                id=id,
                source=None,
                title=None,
                model=None,
                started_at=0.0,
                archived=False,
                last_active=0.0,
                rows=len(found),
                active_rows=len(found),
                last_row=len(found),
                rewinds=0,
                **self.facts.get(id, {}),
            )
            for id, found in self.raw.items()
        ]

    def exchanges(self, sessions):
        for id in sessions:
            if id in self.broken:
                raise StoreCorrupt(f"{id} is damaged.", hint="")
            self.read.append(id)
            yield id, self.raw[id]

    def messages(self, sessions):
        raise NotImplementedError

    def previews(self, sessions):
        return {}

    def close(self):
        pass


def chore(branch):
    return [
        user(f"update {branch} and push it"),
        *ran(f"git pull origin {branch}", id="1"),
        *ran("pytest -q", "12 passed", id="2"),
        *ran(f"git push origin {branch}", id="3"),
    ]


def noise(number):
    """Steps that never come in the same order twice."""
    return [one for n in range(4) for one in ran(f"prog{number}x{n} go", id=f"n{n}")]


def past(count=4, **more):
    found = {f"s{n}": [*chore(f"b{n}"), *noise(n)] for n in range(count)}
    return Past(found | {f"z{n}": noise(100 + n) for n in range(6)} | more)


def shapes_of(history):
    return {id: one for id, (_, one) in mine(history, {}).known.items()}


def test_a_step_is_the_kind_of_a_call_without_what_varies():
    calls = [
        *ran("cd /x && git status --short"),
        *did("Bash", {"command": "git status"}),
        *did("web_search", {"q": "x"}),
        *did("Read", {"file_path": "/a/B.PY"}),
        *did("patch", {"path": "x"}),
        *ran(""),
        *did("terminal", "{broken"),
        *did("shell", {"command": ["bash", "-lc", "cd x && ls -l"]}),
    ]
    found = [to_step(one) for one in build_conversation(rows(*calls)).exchanges]
    assert found == [
        "terminal git status",
        "terminal git status",
        "web_search",
        "read_file .py",
        "patch",
        "terminal",
        "terminal",
        "terminal ls",
    ]


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("sudo -u ada psql list", "psql list"),
        ("timeout 30s make test", "make test"),
        ("xargs -I {} rm {}", "rm"),
        (r"C:\Users\ada\bin\tool.exe go", "tool.exe go"),
    ],
)
def test_what_stands_before_a_program_and_where_it_lies_is_no_part_of_a_step(command, kind):
    assert to_skeleton(command) == kind


def test_calls_known_by_their_title_alone_are_no_steps_and_never_suggested():
    calls = [one for name in ("edit", "fetch", "move") for one in did(name, {"title": f"{name} it"}, "fine", id=name)]
    history = past(0, **{f"t{n}": [user("go"), *calls] for n in range(6)})
    assert all(not shape.steps for id, shape in shapes_of(history).items() if id.startswith("t"))


def test_a_digest_holds_what_seems_to_have_worked_and_the_same_step_again_is_one_step():
    messages = [
        *ran("ls", id="1"),
        *ran("ls -la", id="2"),
        *did("terminal", {"command": "make"}, BAD, id="3"),
        *ran("make", id="4"),
    ]
    assert digest_session(rows(*messages)) == Digest(("terminal ls", "terminal make"), (0, 3))


def test_a_shape_is_found_in_three_sessions_and_not_in_two():
    assert [list(one.steps) for one in find_recurring(shapes_of(past(3)))] == [CHORE]
    assert find_recurring(shapes_of(past(2))) == []


def test_near_duplicates_are_merged_and_the_number_is_capped():
    lots = {}
    for kind in range(40):
        for n in range(3):
            lots[f"k{kind}-{n}"] = Digest(tuple(f"p{kind}s{at}" for at in range(6)), tuple(range(6)))
            lots[f"v{kind}-{n}"] = Digest((*(f"p{kind}s{at}" for at in range(5)), f"p{kind}other"), tuple(range(6)))
    found = find_recurring(lots)
    assert len(found) == 8
    assert len({one.steps[0][:3] for one in found}) == 8


def test_what_chance_would_bring_is_not_suggested():
    from random import Random

    dice = Random(1)
    drawn = {f"s{n}": Digest(tuple(dice.choice("abc") for _ in range(40)), tuple(range(40))) for n in range(200)}
    assert find_recurring(drawn) == []


def test_a_suggestion_names_its_evidence_and_what_varies():
    history = past(4)
    found = mine(history, {})
    [made] = find_suggestions(history, shapes_of(history), [one.id for one in found.facts])
    assert made.shape == " → ".join(CHORE)
    assert [session for session, _ in made.evidence] == ["s0", "s1", "s2", "s3"]
    assert made.evidence[0][1] == 2  # the row of the first call
    assert [one.arguments["command"] for one in made.template.examples] == [
        "git pull origin {{command}}",
        "pytest -q",
        "git push origin {{command}}",
    ]
    assert made.template.source_session_id == "s0"
    assert made.requests[0] == "update b0 and push it"
    assert made.sessions == 4


def test_copies_of_a_session_prove_nothing_more():
    def suggested(sessions):
        history = Past(sessions | {f"z{n}": noise(100 + n) for n in range(6)})
        return find_suggestions(history, shapes_of(history), list(sessions))

    assert suggested({f"s{n}": [*chore("b"), *noise(0)] for n in range(4)}) == []
    mixed = {f"s{n}": [*chore(f"b{min(n, 2)}"), *noise(n)] for n in range(5)}
    assert [one.sessions for one in suggested(mixed)] == [3]


def polite(branch):
    """A chore of which one step fails in words of its own, with exit code 0."""
    return [
        user(f"update {branch} and push it"),
        *ran(f"git pull origin {branch}", id="1"),
        *ran("./deploy.sh", "nothing was deployed, giving up", id="2"),
        *ran(f"git push origin {branch}", id="3"),
    ]


def test_a_step_that_fails_in_its_own_words_is_no_part_of_a_shape():
    history = Past({f"s{n}": [*polite(f"b{n}"), *noise(n)] for n in range(5)})
    [made] = find_suggestions(history, shapes_of(history), list(history.raw))
    assert made.shape == "terminal git pull → terminal git push"


def test_only_runs_that_hold_are_evidence():
    def talk(n):
        return [*(polite if n in (0, 3) else chore)(f"b{n}"), *noise(n)]

    history = Past({f"s{n}": talk(n) for n in range(14)} | {f"z{n}": noise(100 + n) for n in range(6)})
    digests = {id: Digest(tuple(CHORE), (0, 1, 2)) if id[0] == "s" else one for id, one in shapes_of(history).items()}
    [made] = find_suggestions(history, digests, list(history.raw))
    assert [session for session, _ in made.evidence] == [f"s{n}" for n in (1, 2, 4, 5, 6, 7, 8, 9, 10, 11)]
    assert made.sessions == 12  # two proved otherwise, two were not looked at


def test_what_was_undone_later_is_no_evidence():
    taken_back = [*did("write_file", {"path": "a.py"}, id="1"), *ran("pytest -q", id="2"), user("undo that please")]
    history = Past({f"s{n}": [user(f"try {n}"), *taken_back] for n in range(4)} | {f"z{n}": noise(n) for n in range(9)})
    assert [one.words for one in find_recurring(shapes_of(history))] == ["write_file .py → terminal pytest"]
    assert find_suggestions(history, shapes_of(history), list(history.raw)) == []


def test_suggested_examples_are_cleaned_like_saved_ones():
    secret = {
        f"s{n}": [*ran("git pull /home/ada/x", "ok", id="1"), *ran("deploy --token", f"sk-{n}{'a1' * 12}", id="2")]
        for n in range(3)
    }
    history = Past(secret | {f"z{n}": noise(n) for n in range(9)})
    made = find_suggestions(history, shapes_of(history), list(secret), cleaner=Cleaner())
    text = str([one.to_dict() for one in made])
    assert made
    assert "ada" not in text
    assert "a1a1" not in text


def test_only_what_changed_is_read_again():
    history = past(4)
    first = mine(history, {})
    assert (first.read, len(history.read)) == (10, 10)
    history.raw["s1"] += rows(*ran("ls", id="9"))
    history.raw["new"] = rows(*chore("new"))
    del history.raw["z0"]
    history.read.clear()
    second = mine(history, first.known)
    assert sorted(history.read) == ["new", "s1"]
    assert (second.read, set(second.known)) == (2, set(history.raw))


def test_archived_sessions_and_those_of_guests_are_not_mined():
    history = past(3)
    history.facts = {"s0": {"principal": "guest"}}
    assert "s0" not in mine(history, {}).known


def test_a_damaged_session_is_named_and_the_others_are_mined():
    history = past(4)
    history.broken = {"s1", "z3"}
    found = mine(history, {})
    assert found.damaged == ("s1", "z3")
    assert len(found.known) == 8
    assert [list(one.steps) for one in find_recurring({id: one for id, (_, one) in found.known.items()})] == [CHORE]


@pytest.mark.parametrize("large", [0, 1_000_000_000])
def test_several_processes_find_what_one_finds(tmp_path, monkeypatch, large):
    from sojourn.stores.sqlite.history import SqliteHistory
    from tests.unit.templates.worlds import fill

    fill(tmp_path, {f"s{n}": chore(f"b{n}") for n in range(30)})
    history = SqliteHistory(tmp_path / "state.db")
    monkeypatch.setattr(
        "sojourn.templates.miner.PARALLEL_FROM_BYTES", large
    )  # whether they start before the sessions are listed
    told = []
    alone = mine(history, {}, workers=1)
    many = mine(history, {}, workers=2, in_process_rows=0, progress=lambda done, of: told.append((done, of)))
    history.close()
    assert many.known == alone.known
    assert told[-1] == (30, 30)


def test_injected_examples_are_never_mined():
    def pretended(n):
        by_id = [one for at, word in enumerate(("a", "b", "c")) for one in ran(f"{word} go", id=f"template_{at}")]
        by_mark = [mark_as_example(one, "t") for word in ("d", "e", "f") for one in ran(f"{word} go", id=f"{word}{n}")]
        return [user("go"), *by_id, *by_mark, *noise(n)]

    history = Past({f"s{n}": pretended(n) for n in range(5)} | {f"z{n}": noise(50 + n) for n in range(5)})
    assert find_recurring(shapes_of(history)) == []


def test_what_was_found_is_remembered_and_a_torn_file_is_read_as_nothing(tmp_path):
    known = mine(past(3), {}).known
    file = locate_cache(tmp_path, "home:/x")
    assert load_cache(file) == {}
    save_cache(file, known)
    assert load_cache(file) == known
    file.write_text(file.read_text()[:50])
    assert load_cache(file) == {}
    assert clear_cache(tmp_path) == [file]
    assert not file.exists()
