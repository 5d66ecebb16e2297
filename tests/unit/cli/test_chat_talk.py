"""What is typed while a turn runs: heard by that turn, or the next request."""

import asyncio

from sojourn.cli.chat.talk import Talk
from sojourn.core.errors import CannotSteer
from sojourn.core.sessions import Session, new_session_id
from sojourn.ports.service import Speaker


class Paper:
    def write(self, line):
        pass

    def changed(self):
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
        self.asked.append((when_busy, said.text, said.model))


def typed(service):
    talk = Talk(service, Speaker(surface="cli"), Paper())
    talk.session, talk.model = Session(id=new_session_id()), "big"
    asyncio.run(talk.steer("greener please"))
    return service.asked


def test_a_turn_that_listens_is_told():
    assert typed(Service(deaf=False)) == [("steer", "greener please")]


def test_one_that_does_not_listen_is_followed_by_these_words():
    assert typed(Service(deaf=True)) == [("wait", "greener please", "big")]
