"""What people write with a slash."""

import pytest

from sojourn.chat_commands import COMMANDS, list_commands, parse_command
from sojourn.ports.service import TurnRequest
from sojourn.ports.store import Listing
from sojourn.testing.fake_platform import BEN
from sojourn.testing.scripted_runtime import PauseGate, SayText
from tests.integration.gateway.worlds import CLI, world


async def told(at, words, *, by=None, chat="42"):
    """The answer to something written in a chat."""
    before = len(at.network.texts(chat))
    at.network.say(chat, words, *([by] if by else []))
    return (await at.texts(chat, before + 1))[before]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/new", ("new", "")),
        ("/Resume my garden ", ("resume", "my garden")),
        ("/stop@sojourn_bot", ("stop", "")),
        ("/start", ("help", "")),
        ("//etc is a folder", None),
        ("/etc/passwd is a file", None),
        ("hello", None),
        ("/", None),
    ],
)
def test_a_command_is_told_from_words(text, meant):
    assert parse_command(text) == meant


def test_another_prefix_where_the_slash_belongs_to_the_network():
    assert parse_command("!new", "!") == ("new", "")
    assert parse_command("/new", "!") is None


def test_the_records_say_where_a_command_works():
    wanted = {
        *[
            "new",
            "resume",
            "sessions",
            "title",
            "status",
            "stop",
            "model",
            "template",
            "handoff",
            "attach",
            "take",
            "sethome",
        ]
    }
    assert wanted | {"whoami", "help"} <= {one.name for one in list_commands("chat")}
    assert COMMANDS["sethome"].surfaces == ("chat",)
    assert COMMANDS["quit"].surfaces == ("terminal",)


async def test_new_begins_another_session_and_resume_brings_the_first_back(home, store):
    async with world(home, store) as at:
        await at.start()
        await told(at, "the garden story")
        assert "new session" in await told(at, "/new")
        await told(at, "the other story")
        listed = await told(at, "/sessions")
        assert "○ the garden story" in listed
        assert "● the other story" in listed
        assert "the garden story" in await told(at, "/resume the garden story")
        await told(at, "go on")
        assert at.runtime.seen[-1].history[0].message.content == "the garden story"


async def test_title_status_whoami_and_help(home, store):
    async with world(home, store) as at:
        await at.start()
        await told(at, "hello")
        assert "“roses”" in await told(at, "/title roses")
        assert await told(at, "/title") == "roses"
        assert "driven from fake; no turn runs" in await told(at, "/status")
        assert "the owner" in await told(at, "/whoami")
        before = len(at.network.texts("42"))
        await told(at, "/help")
        await at.quiet()
        shown = "\n".join(at.network.texts("42")[before:])
        assert "/sethome" in shown
        assert "/quit" not in shown


async def test_what_does_not_work_here_says_so(home, store):
    async with world(home, store) as at:
        await at.start()
        assert "terminal only" in await told(at, "/quit")
        assert "There is no command /fly" in await told(at, "/fly")
        assert "no session here yet" in await told(at, "/title x")
        assert "Which session?" in await told(at, "/resume")
        assert "Nothing is running" in (await told(at, "hello"), await told(at, "/stop"))[1]


async def test_model_and_template_go_with_the_next_words(home, store):
    async with world(home, store) as at:
        await at.start()
        assert "scripted-1" in await told(at, "/model")
        await told(at, "/model scripted-1")
        await told(at, "hello")
        assert at.runtime.seen[-1].model == "scripted-1"


# two people
async def test_two_people_never_see_each_others_sessions_or_titles(home, store):
    async with world(home, store, gateway_guests="fake:43") as at:
        await at.start()
        await told(at, "my secret garden")
        await told(at, "/title the secret")
        await told(at, "hello from Ben", by=BEN, chat="43")
        listed = await told(at, "/sessions", by=BEN, chat="43")
        assert "hello from Ben" in listed
        assert "secret" not in listed
        for words in ("/resume the secret", "/attach the secret"):
            assert "secret garden" not in await told(at, words, by=BEN, chat="43")
        [own] = await at.service.find(Listing(principal="guest:fake-43"))
        assert own.title == "hello from Ben"


async def test_a_guest_is_not_the_owner(home, store):
    async with world(home, store, gateway_guests="fake:43") as at:
        await at.start()
        assert "a guest" in await told(at, "/whoami", by=BEN, chat="43")
        await told(at, "hello", by=BEN, chat="43")
        assert "own home channel" in await told(at, "/handoff fake:42", by=BEN, chat="43")


# watching
async def test_a_chat_watches_a_session_of_the_terminal_and_takes_the_wheel(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree", title="trees")
        assert "driven from cli" in await told(at, "/attach trees")
        await at.service.say(session.id, TurnRequest(text="and a rose"), CLI)
        assert (await at.texts("42", 3))[1:] == ["› and a rose", "and a rose"]
        assert "only watch" in await told(at, "me too")
        assert "You now drive" in await told(at, "/take")
        assert await told(at, "now I drive") == "now I drive"
        assert (await at.service.get(session.id)).driver == "fake"
        await at.quiet()
        assert at.network.texts("42").count("now I drive") == 1


async def test_the_wheel_is_taken_in_the_middle_of_a_turn(home, store):
    async with world(home, store) as at:
        at.runtime.on("slow", SayText("half ", kept=False), PauseGate("go"), SayText("done", kept=False))
        await at.start()
        session = await at.session(title="trees")
        await at.service.say(session.id, TurnRequest(text="slow"), CLI)
        await at.until(lambda: at.runtime.seen)
        assert "“trees”" in await told(at, "/resume trees")
        assert (await at.service.get(session.id)).driver == "fake"
        at.runtime.gate("go").open()
        await at.service.settle()
        assert (await at.service.messages(session.id))[-1].item.content == "half done"


async def test_undo_usage_and_runtime_work_in_a_chat(home, store):
    async with world(home, store) as at:
        await at.start()
        await told(at, "the garden story")
        assert "tokens in" in await told(at, "/usage")
        assert "scripted" in await told(at, "/runtime")
        assert "Undid 2 messages" in await told(at, "/undo")
        assert "nothing to undo" in await told(at, "/undo")


async def test_a_chosen_runtime_answers_the_next_words(home, store):
    async with world(home, store) as at:
        await at.start()
        assert "no runtime" in await told(at, "/runtime fly")
        await told(at, "/runtime scripted")
        assert await told(at, "hello") == "hello"
