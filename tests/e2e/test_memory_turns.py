"""Memory, skills and tasks in a real turn on a real server: what was given, and why, can be looked up."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.http_server import PROGRAM, Serving, frames

SKILL = "---\nname: bread\ndescription: Bake bread with sourdough.\n---\nFeed the starter.\n"
MEMORY = "/api/plugins/memory"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    (home / "skills" / "bread").mkdir(parents=True)
    (home / "skills" / "bread" / "SKILL.md").write_text(SKILL, "utf-8")
    (home / "notes").mkdir()
    (home / "notes" / "kitchen.md").write_text("# Oven\n\nThe oven runs twenty degrees too hot.\n", "utf-8")
    with Serving(home) as running:
        yield running


def say(server: Serving, text: str, **more: Any) -> str:
    """One turn with the runtime that only repeats; the session it was in."""
    answer = server.client.post("/api/chat/stream", json={"message": text, "runtime": "echo", **more})
    told = [json.loads(one["data"]) for one in frames(iter(answer.text.splitlines())) if "data" in one]
    assert told[-1]["status"] == "completed"
    return str(told[0]["session_id"])


def pieces(server: Serving, session: str) -> list[dict[str, Any]]:
    (turn,) = server.get(f"{MEMORY}/used/{session}?turn=last").json()
    return list(turn["pieces"])


def test_a_fact_a_note_and_a_skill_reach_the_turn_and_say_why(server: Serving) -> None:
    fact = server.client.post(f"{MEMORY}/facts", json={"text": "I am allergic to nuts"}).json()
    say(server, "warm up: hello there")
    given = {one["kind"]: one for one in pieces(server, say(server, "how hot should the oven be to bake bread?"))}
    assert given["fact"]["origin"] == f"fact {fact['id']}"
    assert given["note"]["origin"] == "note kitchen.md"
    assert given["skill"]["title"] == "bread"
    assert all(one["reason"] and one["tokens"] for one in given.values())


def test_an_earlier_session_is_recalled_in_a_later_one(server: Serving) -> None:
    first = say(server, "the zeppelin hangar key hangs behind the clock")
    second = say(server, "where does the zeppelin hangar key hang?")
    (recalled,) = [one for one in pieces(server, second) if one["kind"] == "recall"]
    assert first in recalled["origin"]
    assert "zeppelin" in recalled["reason"]


def test_a_source_that_is_not_wanted_brings_nothing(server: Serving) -> None:
    server.client.post(f"{MEMORY}/facts", json={"text": "I am allergic to nuts"})
    assert "fact" in {one["kind"] for one in pieces(server, say(server, "hello once more"))}
    assert pieces(server, say(server, "hello once more", drop=["facts", "recall"])) == []


def test_the_steps_of_a_request_are_shown_and_over_once_it_was_answered(server: Serving) -> None:
    session = say(server, "read the log, then write a summary, then send it to Bob")
    (tasks,) = [one for one in pieces(server, session) if one["kind"] == "tasks"]
    assert tasks["reason"] == "the request has several steps"
    assert "tasks" not in {one["kind"] for one in pieces(server, say(server, "continue", session_id=session))}


def test_facts_are_listed_searched_changed_and_deleted_over_http(server: Serving) -> None:
    made = server.client.post(f"{MEMORY}/facts", json={"text": "My bicycle is blue", "why": "asked"})
    assert made.status_code == 201
    id, revision = made.json()["id"], made.json()["revision"]
    assert [one["id"] for one in server.get(f"{MEMORY}/facts?text=bicycles").json()] == [id]
    changed = server.client.patch(f"{MEMORY}/facts/{id}", json={"text": "My bicycle is red", "revision": revision})
    assert changed.json()["text"] == "My bicycle is red"
    stale = server.client.patch(f"{MEMORY}/facts/{id}", json={"text": "green", "revision": revision})
    assert (stale.status_code, stale.json()["code"]) == (409, "conflict")
    assert server.client.delete(f"{MEMORY}/facts/{id}").json()["text"] == "My bicycle is red"
    assert server.client.delete(f"{MEMORY}/facts/{id}").status_code == 404
    assert server.client.post(f"{MEMORY}/facts", json={"text": "   "}).status_code == 400


def test_skills_are_listed_opened_and_explained_over_http(server: Serving) -> None:
    at = "/api/plugins/skills"
    assert [one["name"] for one in server.get(f"{at}/skills").json()] == ["bread"]
    assert server.get(f"{at}/skills/bread").json()["body"] == "Feed the starter."
    assert server.get(f"{at}/skills/nobody").status_code == 404
    assert [one["name"] for one in server.get(f"{at}/why?request=bake+some+bread").json()] == ["bread"]


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_hostile_requests_get_the_answers_the_document_says(server: Serving, tmp_path: Path) -> None:
    command = [
        str(PROGRAM.with_name("schemathesis")),
        "run",
        f"{server.address}/openapi.json",
        "--header",
        f"Authorization: Bearer {server.token}",
        "--include-path-regex",
        "/api/plugins/(memory|skills)/",
        "--checks",
        "not_a_server_error,status_code_conformance,response_schema_conformance",
        "--max-examples",
        "15",
        "--seed",
        "1",
        "--no-color",
        "--generation-database",
        "none",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "HOME": str(tmp_path)}
    )
    assert done.returncode == 0, done.stdout[-6000:] + server.log()[-2000:]
    assert "generated" in done.stdout
