"""What is typed while a turn runs: heard by that turn, or the next request. And a request run once more."""

import asyncio

import pytest

from sojourn.cli.chat.conversation import ChatSession
from sojourn.cli.chat.event_lines import EventRenderer
from sojourn.cli.chat.prompt import _greet
from sojourn.core.errors import BadInput, CannotSteer
from sojourn.core.events import Done
from sojourn.core.sessions import Recorded, Session, new_session_id
from sojourn.ports.service import Caller, RuntimeInfo


class Paper:
    def write(self, line):
        pass

    def refresh(self):
        pass


class Service:
    """Notes what it is asked; a deaf one does not listen to a running turn."""

    def __init__(self, *, deaf):
        self.deaf, self.asked = deaf, []

    async def steer(self, session, text, by):
        if self.deaf:
            raise CannotSteer("hermes does not listen while it works.", hint="Say it next.")
        self.asked.append(("steer", text))

    async def say(self, session, said, by, *, when_busy="refuse"):
        self.asked.append((when_busy, said.text, said.model, said.template))

    async def stop(self, session, by):
        self.asked.append(("stop",))

    async def running(self, session):
        return None

    async def undo(self, session, by):
        self.asked.append(("undo",))


def typed(service):
    talk = ChatSession(service, Caller(surface="cli"), Paper())
    talk.session, talk.model = Session(id=new_session_id()), "big"
    asyncio.run(talk.steer("greener please"))
    return service.asked


def test_a_turn_that_listens_is_told():
    assert typed(Service(deaf=False)) == [("steer", "greener please")]


def test_one_that_does_not_listen_is_followed_by_these_words():
    assert typed(Service(deaf=True)) == [("wait", "greener please", "big", "")]


def test_one_step_runs_the_last_request_again_without_its_template():
    service = Service(deaf=False)
    talk = ChatSession(service, Caller(surface="cli"), Paper())
    talk.session = Session(id=new_session_id())

    async def work():
        with pytest.raises(BadInput, match="nothing to run again"):
            await talk.rerun_without_template()
        await talk.say("plant it")
        await talk.rerun_without_template()

    asyncio.run(work())
    assert service.asked == [("refuse", "plant it", "", ""), ("stop",), ("undo",), ("refuse", "plant it", "", "none")]


def test_the_greeting_is_of_the_runtime_that_was_asked_for():
    lines = []

    class Two(Service):
        async def runtimes(self):
            return [
                RuntimeInfo(name="native", label="Sojourn's own agent", ok=True, detail="big", default=True),
                RuntimeInfo(name="hermes", label="Hermes", ok=True, detail="Hermes 1.0 on http://box"),
            ]

    for runtime, start in (("hermes", "◦ Hermes: Hermes 1.0"), ("", "◦ Sojourn's own agent: big")):
        talk = ChatSession(Two(deaf=False), Caller(surface="cli"), Paper())
        talk.runtime, talk.output.write = runtime, lambda line: lines.append(str(line))
        asyncio.run(_greet(talk, None, latest=False))
        assert lines.pop().startswith(start)


def test_the_greeting_says_why_no_model_answers():
    lines = []

    class Down(Service):
        async def runtimes(self):
            return [
                RuntimeInfo(name="native", label="Own", ok=False, detail="Nothing answers there.", hint="Start it."),
                RuntimeInfo(name="offline", label="Helper", ok=True, detail="rules", hint="Ask.", default=True),
            ]

    talk = ChatSession(Down(deaf=False), Caller(surface="cli"), Paper())
    talk.output.write = lambda line: lines.append(str(line))
    asyncio.run(_greet(talk, None, latest=False))
    assert lines == ["◦ Helper: rules. /help lists the commands.", "◦ Nothing answers there. Start it."]


def test_what_a_session_has_used_is_shown_when_it_is_resumed():
    renderer = EventRenderer()
    renderer.start_from(Session(id=new_session_id(), input_tokens=1000, output_tokens=20, estimated_cost_usd=0.5))
    done = Done(usage={"input_tokens": 10, "output_tokens": 1, "cost_usd": 0.25})
    assert list(renderer.render(Recorded(session=new_session_id(), seq=1, at=0.0, item=done))) == []
    assert renderer.usage == {"input_tokens": 1010, "output_tokens": 21, "cost_usd": 0.75}
    renderer.start_from(Session(id=new_session_id()))
    assert renderer.usage == {}
