"""`sojourn memory` and `sojourn skills` as a person and a script start them."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from sojourn.core.messages import assistant, user
from sojourn.stores.sqlite.store import SqliteStore

SOJOURN = str(Path(sys.executable).with_name("sojourn"))
SKILL = "---\nname: bread\ndescription: Bake bread with sourdough.\n---\nFeed the starter.\n"


def sojourn(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SOJOURN, *args],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        check=False,
    )


def test_a_fact_is_added_found_changed_and_forgotten():
    added = json.loads(sojourn("memory", "add", "--json", "I", "live", "in", "Lisbon").stdout)
    assert added["text"] == "I live in Lisbon"
    assert (
        sojourn("memory", "edit", added["id"], "I live in Porto").stdout == f"{added['id']} is now: I live in Porto\n"
    )
    assert sojourn("memory", "search", "living").stdout == f"{added['id']}  I live in Porto\n"
    refused = sojourn("memory", "delete", added["id"])
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    assert sojourn("memory", "delete", added["id"], "--yes").stdout == "Forgotten: I live in Porto\n"
    assert json.loads(sojourn("--json", "memory").stdout) == []


def test_a_fact_nobody_knows_is_an_error_with_a_next_step():
    ran = sojourn("memory", "edit", "0badf00d", "x")
    assert ran.returncode == 3
    assert "sojourn memory list" in ran.stderr


def test_a_secret_is_blacked_out_before_it_is_remembered():
    sojourn("memory", "add", "my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD")
    assert "abcdefghijklmnop" not in sojourn("memory").stdout


async def keep_talk(home: Path) -> None:
    store = SqliteStore(home / "state.db")
    for title, lines in (("Cache", ("Shall we keep redis?", "No, it ate memory. We drop redis.")), ("Tea", ("Milk?",))):
        session = await store.create(title=title)
        lease = await store.lease(session.id, holder="test", surface="cli")
        await store.append(lease, [user(lines[0]), *map(assistant, lines[1:])])
        await store.renew(lease, 0)
    await store.close()


def test_recall_shows_what_a_runtime_would_be_told_and_why(home):
    asyncio.run(keep_talk(home))
    told = json.loads(sojourn("memory", "recall", "why did we drop redis?", "--budget", "500", "--json").stdout)
    assert [set(one) for one in told] == [{"session", "seq", "score", "text", "reason"}] * 2
    assert told[0]["text"] == "No, it ate memory. We drop redis."
    assert "“redis”" in told[0]["reason"]
    assert [one["score"] for one in told] == sorted((one["score"] for one in told), reverse=True)
    ranked = json.loads(sojourn("memory", "recall", "redis", "--limit", "1", "--json").stdout)
    assert len(ranked) == 1
    assert json.loads(sojourn("memory", "recall", "run ls -la", "--json").stdout) == []
    assert sojourn("memory", "recall", "thanks!").stdout == "Nothing that was said fits well enough.\n"
    assert "Cache, " in sojourn("memory", "recall", "why did we drop redis?").stdout
    found = json.loads(sojourn("sessions", "search", "why did we drop redis?", "--order", "relevance", "--json").stdout)
    assert (found[0]["session"], found[0]["seq"], found[0]["score"] > 0) == (told[0]["session"], told[0]["seq"], True)


def test_skills_are_listed_shown_and_explained(home):
    place = home / "skills" / "bread"
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(SKILL, "utf-8")
    assert sojourn("skills").stdout == "bread  Bake bread with sourdough.\n"
    assert json.loads(sojourn("skills", "view", "bread", "--json").stdout)["body"] == "Feed the starter."
    (first,) = json.loads(sojourn("skills", "why", "--json", "how", "do", "I", "bake", "bread").stdout)
    assert (first["name"], "bread" in first["words"]) == ("bread", True)


def test_without_skills_a_person_is_told_where_they_belong(home):
    said = sojourn("skills", "list").stdout
    assert str(home / "skills") in said
    assert "skills.folders" in said


def test_listing_facts_loads_no_model_and_no_web_framework():
    code = (
        "import sys; sys.argv = ['sojourn', 'memory', 'list']; from sojourn.__main__ import main; main();"
        "print('\\n'.join({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(ran.stderr.split()) & {"numpy", "wordllama", "onnxruntime", "fastapi", "pydantic_ai"}
