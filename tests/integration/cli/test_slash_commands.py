"""Chat commands in the terminal: what they print, and what they change in the conversation."""

import asyncio
import io
from contextlib import asynccontextmanager

import pytest
from rich.console import Console

from sojourn.chat_commands import parse_command
from sojourn.cli.chat.conversation import ChatSession
from sojourn.cli.chat.slash_commands import run_slash_command
from sojourn.core.errors import BadInput, NotFound
from sojourn.core.events import Progress
from sojourn.ports.service import Caller
from sojourn.service.local import LocalService
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import EmitFrom, PauseGate, SayText, ScriptedRuntime
from sojourn.user_commands import UserCommands

PHONE = Caller(surface="telegram")


class Paper:
    """Keeps what a terminal would show."""

    def __init__(self):
        self._file = io.StringIO()
        self._console = Console(file=self._file, width=120, color_system=None)

    def write(self, line):
        self._console.print(line)

    def refresh(self):
        pass

    def copy(self, text):
        self.copied = text

    def notify(self, text):
        self.notified = text

    def __str__(self):
        return self._file.getvalue()


@asynccontextmanager
async def terminal(home, folder):
    home.mkdir(exist_ok=True)
    runtime = ScriptedRuntime()
    kit = FakeApp(
        store=SqliteStore(home / "state.db"),
        settings=make_settings(home, agent_titles=False),
        runtimes=[runtime],
        make_service=LocalService,
    )
    talk = ChatSession(kit.service, Caller(surface="cli"), Paper(), cwd=str(folder))
    talk.runtime_under_test = runtime
    try:
        yield talk
    finally:
        talk.leave()
        await kit.close()


async def run(talk, line):
    await run_slash_command(talk, *parse_command(line))
    return str(talk.output)


async def test_help_lists_what_works_in_a_terminal(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        shown = await run(talk, "/help")
        assert "/export [file]" in shown
        assert "Alt-Enter" in shown
        assert "/sethome" not in shown


async def test_choices_go_with_the_next_words(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        for line in ("/model big", "/runtime scripted", "/template none"):
            await run(talk, line)
        assert (talk.model, talk.runtime, talk.template) == ("big", "scripted", "none")
        await run(talk, "/model default")
        assert talk.model == ""


async def test_a_session_is_resumed_watched_taken_and_left(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        other = await talk.service.open(PHONE, title="garden")
        await talk.service.take_over(other.id, PHONE)
        await run(talk, "/attach garden")
        assert talk.is_watching
        assert (await talk.service.get(other.id)).driver == "telegram"
        await run(talk, "/take")
        assert (talk.session.id, talk.session.driver, talk.is_watching) == (other.id, "cli", False)
        await run(talk, "/new")
        assert talk.session is None
        await talk.service.take_over(other.id, PHONE)
        assert "taken this session over from telegram" in await run(talk, "/resume garden")
        assert talk.session.id == other.id


async def test_a_file_is_attached_and_a_session_is_exported(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        (tmp_path / "plan.txt").write_text("roses")
        assert "plan.txt will be sent with your next message" in await run(talk, "/attach plan.txt")
        assert [one.name for one in talk.attachments] == ["plan.txt"]
        await run(talk, "/title roses")
        await run(talk, "/export out.md")
        assert (tmp_path / "out.md").read_text().startswith("# roses\n")
        assert (tmp_path / "out.md").stat().st_mode & 0o777 == 0o600
        with pytest.raises(BadInput, match="already exists"):
            await run(talk, "/export out.md")


async def test_quit_leaves(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        await run(talk, "/quit")
        assert talk.wants_to_leave


async def test_a_name_that_is_not_there_is_refused_with_what_was_meant(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        with pytest.raises(NotFound, match="no template"):
            await run(talk, "/template nope")
        with pytest.raises(BadInput, match="There is no file /nope"):
            await run(talk, "/attach /nope")
        await run(talk, "/template auto")


async def test_whoever_comes_back_to_a_running_turn_sees_it_from_its_beginning(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        runtime = talk.runtime_under_test
        runtime.on("count", SayText("one two three"), PauseGate("go"), SayText(" four"))
        turn = await talk.say("count")
        session = talk.session
        while "one two three" not in str(talk.output):
            await asyncio.sleep(0.01)
        talk.leave()
        again = ChatSession(talk.service, Caller(surface="cli"), Paper(), cwd=str(tmp_path))
        await again.resume(session.id)
        while "one two three" not in str(again.output):
            await asyncio.sleep(0.01)
        assert (again.is_busy, str(again.output).count("one two three")) == (True, 1)
        runtime.gate("go").open()
        while again.is_busy:
            await asyncio.sleep(0.01)
        assert "four" in str(again.output)
        assert turn.session == session.id
        again.leave()


async def test_a_mentioned_file_goes_along_and_a_command_of_ones_own_too(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        (tmp_path / "plan b.txt").write_text("roses")
        (tmp_path / "a.md").write_text("lilies")
        await talk.run_shell("echo from the shell; exit 3")
        assert "from the shell" in str(talk.output)
        assert "Exit code 3." in str(talk.output)
        await talk.say('look at @a.md, @"plan b.txt" and @nobody')
        while talk.is_busy or not talk.runtime_under_test.seen:
            await asyncio.sleep(0.01)
        seen = talk.runtime_under_test.seen[0]
        assert [one.name for one in seen.attachments] == ["a.md", "plan b.txt"]
        assert seen.said.startswith(
            "I ran `echo from the shell; exit 3` (exit code 3):\n```\nfrom the shell\n```\n\nlook at"
        )


async def test_a_message_is_said_again_and_an_answer_is_copied(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        with pytest.raises(BadInput, match="nothing to ask again"):
            await run(talk, "/retry")
        await talk.say("hello")
        while len(talk.runtime_under_test.seen) < 1 or await talk.service.running(talk.session.id):
            await asyncio.sleep(0.01)
        await run(talk, "/retry")
        while len(talk.runtime_under_test.seen) < 2 or await talk.service.running(talk.session.id):
            await asyncio.sleep(0.01)
        assert talk.runtime_under_test.seen[1].history == ()
        assert "Copied 5 characters" in await run(talk, "/copy")
        assert talk.output.copied == "hello"
        await run(talk, "/clear")
        assert talk.session is None
        assert "Nothing is allowed" in await run(talk, "/permissions list")


async def answered(talk, times):
    """Waits until the runtime has answered so often."""
    while len(talk.runtime_under_test.seen) < times or await talk.service.running(talk.session.id):
        await asyncio.sleep(0.01)


async def test_an_undo_gives_the_words_back_and_only_those_of_this_session(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        (tmp_path / "plan.txt").write_text("roses")
        await talk.say("first")
        await answered(talk, 1)
        await talk.say("second, see @plan.txt")
        await answered(talk, 2)
        first = talk.session.id
        await run(talk, "/undo")
        assert (talk.words_back, talk.last_request.text) == ("second, see @plan.txt", "first")
        talk.words_back = ""
        await run(talk, "/new")
        assert (talk.words_back, talk.last_request) == ("", None)
        await talk.say("elsewhere")
        await answered(talk, 3)
        await run(talk, f"/resume {first}")
        assert talk.last_request.text == "first", "not the words of another session"
        await run(talk, "/retry")
        await answered(talk, 4)
        assert talk.runtime_under_test.seen[3].said == "first"
        await run(talk, "/undo")
        await run(talk, "/undo")
        assert "There is nothing to undo." in str(talk.output)


async def test_who_comes_back_can_ask_again_what_was_said_with_a_file(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        (tmp_path / "plan.txt").write_text("roses")
        await talk.say("see @plan.txt")
        await answered(talk, 1)
        await run(talk, "/title Roses: a plan/2")
        session = talk.session.id
        assert "written to Roses-a-plan-2.md" in await run(talk, "/export")
        assert "[attachment: plan.txt]" in (tmp_path / "Roses-a-plan-2.md").read_text("utf-8")
        again = ChatSession(talk.service, talk.by, Paper(), cwd=str(tmp_path))
        await run(again, f"/resume {session}")
        await run(again, "/retry")
        await answered(talk, 2)
        again.leave()
        said = talk.runtime_under_test.seen[1]
        assert (said.said, [one.name for one in said.attachments]) == ("see @plan.txt", ["plan.txt"])


async def test_a_long_turn_is_announced_when_it_ends(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        talk.notify_seconds = 1e-9  # any turn is long
        await talk.say("hello")
        while not hasattr(talk.output, "notified"):
            await asyncio.sleep(0.01)
        assert ": completed after " in talk.output.notified
        talk.notify_seconds = 3600.0
        del talk.output.notified
        await talk.say("again")
        while len(talk.runtime_under_test.seen) < 2 or talk.is_busy or await talk.service.running(talk.session.id):
            await asyncio.sleep(0.01)
        assert not hasattr(talk.output, "notified")


async def test_thinking_is_shown_on_request_alone(home, tmp_path):
    async with terminal(home, tmp_path) as talk:
        thoughts = (
            EmitFrom(lambda _, text=text: Progress("thinking", {"text": text}))
            for text in ("A thou", "ght.\nAn", "d more")
        )
        talk.runtime_under_test.on("think", *thoughts, SayText("answer"))
        for line, count in ((None, 1), ("/thinking on", 2), ("/thinking off", 3)):
            if line:
                await run(talk, line)
            await talk.say("think")
            while str(talk.output).count("answer") < count or await talk.service.running(talk.session.id):
                await asyncio.sleep(0.01)
        shown = str(talk.output)
        assert (shown.count("  A thought.\n"), shown.count("  And more\n")) == (1, 1)
        with pytest.raises(BadInput, match="does not know"):
            await run(talk, "/thinking maybe")


async def test_a_command_of_a_folder_is_said_after_a_yes_and_attaches_nothing(home, tmp_path):
    folder = tmp_path / ".sojourn" / "commands"
    folder.mkdir(parents=True)
    (folder / "deploy.md").write_text("Deploy $1 with @secret.txt")
    (tmp_path / "secret.txt").write_text("a secret")
    async with terminal(home, tmp_path) as talk:
        talk.user_commands = UserCommands(home, tmp_path)
        with pytest.raises(BadInput, match="not allowed"):
            await run(talk, "/deploy now")
        assert "/deploy" not in await run(talk, "/help")
        assert "of this folder, not allowed" in await run(talk, "/commands")
        assert "Deploy $1 with" in await run(talk, "/commands show deploy")
        await run(talk, "/commands allow")
        assert "/deploy" in await run(talk, "/help")
        await run(talk, "/deploy now")
        while len(talk.runtime_under_test.seen) < 1 or await talk.service.running(talk.session.id):
            await asyncio.sleep(0.01)
        (seen,) = talk.runtime_under_test.seen
        assert (seen.said, seen.attachments) == ("Deploy now with @secret.txt", ())
