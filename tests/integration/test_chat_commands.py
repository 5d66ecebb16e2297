"""The table of chat commands: who may use them, where, and what the handlers answer."""

import pytest

from sojourn.chat_commands import COMMANDS, CommandCall, find_command, list_commands, run_command
from sojourn.core.errors import BadInput, NotAllowed, NotFound
from sojourn.core.sessions import OWNER, Principal
from sojourn.ports.libraries import Fact, TemplateInfo
from sojourn.ports.service import Caller, RuntimeInfo
from sojourn.ports.store import SearchHit
from sojourn.text.query import Snippet

ME, GUEST = Caller(surface="cli"), Caller(surface="telegram", principal=Principal("guest"))


class Service:
    """As much of a service as these commands ask."""

    def __init__(self):
        self.facts = {}

    async def list_facts(self, *, text="", principal):
        return [fact for whose, fact in self.facts.values() if whose == principal and text in fact.text]

    async def add_fact(self, text, *, why="", principal):
        fact = Fact(id=f"{len(self.facts):08x}", text=text, why=why)
        self.facts[fact.id] = (principal, fact)
        return fact

    async def delete_fact(self, id, *, principal):
        if id not in self.facts:
            raise NotFound(f'There is no fact "{id}".')
        return self.facts.pop(id)[1]

    async def search(self, search):
        text = self.said[search.principal]
        hit = SearchHit(session="s1", seq=4, role="user", timestamp=0.0, snippet=Snippet(text), title="Garden")
        return [hit] if search.text in text else []

    async def list_templates(self):
        return [TemplateInfo(name="reading", kind="file", description="Reads."), TemplateInfo(name="x", problem="torn")]

    async def runtimes(self):
        return [
            RuntimeInfo(name="native", label="Native", ok=True, models=("big",), default=True),
            RuntimeInfo(name="acp", label="ACP", ok=False, detail="no agent", hint="Install one."),
            RuntimeInfo(name="example", label="Example", ok=True, offered=False),
        ]


async def run(service, line, *, by=ME, surface="terminal", **more):
    name, _, arguments = line.partition(" ")
    call = CommandCall(service=service, by=by, surface=surface, arguments=arguments, **more)
    return await run_command(find_command(name), call)


async def test_facts_are_added_listed_and_deleted_for_whoever_asks():
    service = Service()
    await run(service, "memory add 'I grow' roses")
    await run(service, "memory add guests too", by=GUEST, surface="chat")
    assert (await run(service, "memory")).rows == (("00000000", "I grow roses"),)
    assert (await run(service, "memory list", by=GUEST, surface="chat")).rows == (("00000001", "guests too"),)
    assert (await run(service, "memory search roses")).rows == (("00000000", "I grow roses"),)
    assert (await run(service, "memory search tulips")).lines == ("No fact has these words.",)
    assert (await run(service, "memory delete 00000000")).lines == ("Forgotten: I grow roses",)
    assert "Nothing is remembered" in (await run(service, "memory")).lines[0]
    for wrong in ("memory add", "memory edit 1", "memory fly", "memory 'add"):
        with pytest.raises(BadInput):
            await run(service, wrong)


async def test_private_things_are_not_told_to_a_group():
    with pytest.raises(NotAllowed, match="in private only"):
        await run(Service(), "memory", surface="chat", is_private=False)


@pytest.mark.parametrize("name", ["runtime", "skills"])
async def test_a_guest_may_not_use_what_is_the_owners(name):
    with pytest.raises(NotAllowed, match="Only the owner"):
        await run(Service(), name, by=GUEST, surface="chat")
    assert name not in {one.name for one in list_commands("chat", is_owner=False)}


async def test_a_guest_names_a_template_and_sees_no_list():
    assert (await run(Service(), "template reading", by=GUEST, surface="chat")).choices == {"template": "reading"}
    with pytest.raises(BadInput, match="Which template"):
        await run(Service(), "template", by=GUEST, surface="chat")
    assert (await run(Service(), "template")).rows == (("reading", "file", "Reads."), ("x", "", "torn"))


async def test_runtimes_are_shown_with_what_is_missing_and_chosen_by_name():
    shown = await run(Service(), "runtime")
    assert shown.rows == (("✓", "native (default)", ""), ("–", "acp", "no agent Install one."))
    assert (await run(Service(), "runtime acp")).choices == {"runtime": "acp"}
    assert (await run(Service(), "runtime example")).choices == {"runtime": "example"}
    with pytest.raises(NotFound, match="no runtime") as missing:
        await run(Service(), "runtime fly")
    assert missing.value.hint == "There are: native, acp."


async def test_what_was_said_is_searched_for_whoever_asks():
    service = Service()
    service.said = {OWNER: "Red roses need sun.", GUEST.principal: "Blue roses do not exist."}
    assert (await run(service, "search roses")).rows == (("s1:4", "user", "Garden", "Red roses need sun."),)
    assert "Blue" in (await run(service, "search roses", by=GUEST, surface="chat")).rows[0][3]
    assert (await run(service, "search tulips")).lines == ("Nothing that was said has these words.",)
    with pytest.raises(NotAllowed, match="in private only"):
        await run(service, "search roses", surface="chat", is_private=False)


async def test_the_default_model_and_template_are_no_choice():
    assert (await run(Service(), "model default")).choices == {"model": ""}
    assert (await run(Service(), "template auto")).choices == {"template": ""}


@pytest.mark.parametrize("name", ["title", "status", "undo", "usage", "take", "handoff web"])
async def test_without_a_session_a_command_says_so(name):
    with pytest.raises(BadInput, match="no session here yet"):
        await run(Service(), name)


def test_every_command_works_somewhere_and_says_what_it_does():
    assert all(one.surfaces and one.help.endswith(".") for one in COMMANDS.values())
    assert {one.name for one in list_commands("chat")} - {one.name for one in list_commands("terminal")} == {
        "sethome",
        "whoami",
    }
