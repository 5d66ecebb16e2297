"""What is typed while a turn runs: heard by that turn, or the next request. And a request run once more."""

import asyncio

import pytest

from sojourn.cli.chat.conversation import ChatSession
from sojourn.core.errors import BadInput, CannotSteer
from sojourn.core.sessions import Session, new_session_id
from sojourn.ports.service import Caller


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
