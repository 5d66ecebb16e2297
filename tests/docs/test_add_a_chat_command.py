"""The page that explains how to add a chat command: its example is in the table, and answers."""

from types import SimpleNamespace

import pytest

from sojourn import chat_commands
from sojourn.core.errors import BadInput
from sojourn.core.messages import assistant, user
from sojourn.ports.service import Caller
from tests.docs.examples import HOW_TO, code_blocks

PAGE = "add-a-chat-command.md"


class Service:
    """As much of a service as the example asks."""

    def __init__(self, *messages):
        self._messages = messages

    async def get(self, session, *, principal):
        return SimpleNamespace(id=session)

    async def messages(self, session, *, principal):
        return [SimpleNamespace(item=message) for message in self._messages]


@pytest.fixture(autouse=True)
def table():
    """The table of commands with the example in it."""
    exec(code_blocks(PAGE, "python")[0], dict(vars(chat_commands)))
    yield
    del chat_commands.COMMANDS["length"]


async def run(service, arguments=""):
    call = chat_commands.CommandCall(
        service=service, by=Caller(surface="cli"), surface="terminal", arguments=arguments, session="s"
    )
    return await chat_commands.run_command(chat_commands.find_command("length"), call)


def test_every_surface_lists_the_example():
    for surface in ("terminal", "chat", "browser"):
        assert "length" in {one.name for one in chat_commands.list_commands(surface)}


async def test_the_example_answers():
    service = Service(user("hello"), assistant("Good morning, dear reader."))
    assert (await run(service)).lines == ("The last answer has 4 words.",)
    assert (await run(service, "characters")).lines == ("The last answer has 26 characters.",)


async def test_the_example_says_what_is_wrong():
    with pytest.raises(BadInput, match="does not count"):
        await run(Service(), "pages")
    with pytest.raises(BadInput, match="no answer"):
        await run(Service())


@pytest.mark.parametrize("option", ["surfaces", "owner_only", "private_only", "is_quick", "opens_session"])
def test_every_option_has_its_line(option):
    assert option in chat_commands.ChatCommand.__dataclass_fields__
    assert f"| `{option}=" in (HOW_TO / PAGE).read_text("utf-8")
