"""The page that explains how to add a context source: its example reaches a runtime."""

from datetime import UTC, datetime, timedelta

from sojourn.core.events import Progress
from sojourn.testing.scripted_runtime import ScriptedRuntime
from sojourn.testing.service_steps import opened, talk
from tests.docs.examples import example_app

PAGE = "add-a-context-source.md"


async def test_what_is_due_reaches_the_runtime_with_its_reason(tmp_path, monkeypatch):
    today = datetime.now(UTC).date()
    file = tmp_path / "deadlines.txt"
    file.write_text(f"{today + timedelta(days=2)} order the tree\n{today + timedelta(days=40)} plant it\n")
    monkeypatch.setenv("SOJOURN_DEADLINES_FILE", str(file))
    async with example_app(PAGE, tmp_path, agent__runtime="scripted") as app:
        runtime = ScriptedRuntime()
        monkeypatch.setattr(app, "runtime", lambda name: runtime)
        monkeypatch.setattr(app, "runtime_names", lambda: ("scripted",))
        kept = await talk(app.service, await opened(app.service), "hello")
        [block] = [one for one in runtime.seen[-1].blocks if one.kind == "deadline"]
        assert block.text == f"{today + timedelta(days=2)} order the tree"
        assert (block.origin, block.reason) == (str(file), "due within 7 days")
        assert any(isinstance(one.item, Progress) and one.item.detail.get("title") == "Due soon" for one in kept)


async def test_a_file_that_cannot_be_read_does_not_fail_the_turn(tmp_path, monkeypatch):
    monkeypatch.setenv("SOJOURN_DEADLINES_FILE", str(tmp_path / "nowhere.txt"))
    async with example_app(PAGE, tmp_path, agent__runtime="echo") as app:
        kept = await talk(app.service, await opened(app.service), "hello")
        assert kept[-1].item.status == "completed"
