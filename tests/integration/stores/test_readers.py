"""The reader threads return results and errors, also after `close` and after a caller was cancelled."""

import asyncio
import threading

import pytest

from sojourn.stores.sqlite.readers import ReaderPool


@pytest.fixture
def readers():
    made = ReaderPool(2)
    yield made
    made.close()


async def test_many_questions_are_answered_each_with_its_own_answer(readers):
    assert await asyncio.gather(*(readers.run(lambda n=n: n) for n in range(500))) == list(range(500))


async def test_it_is_not_the_loop_that_reads(readers):
    assert await readers.run(lambda: threading.current_thread().name) == "sojourn-reader"


async def test_an_error_goes_to_who_asked_and_the_thread_lives(readers):
    def wrong():
        raise KeyError("nothing there")

    for _ in range(3):
        with pytest.raises(KeyError, match="nothing there"):
            await readers.run(wrong)
    assert await readers.run(lambda: "still here") == "still here"


async def test_who_goes_away_does_not_keep_others_from_being_answered(readers):
    gate = threading.Event()
    left = [asyncio.create_task(readers.run(lambda: gate.wait(5))) for _ in range(2)]
    waiting = asyncio.create_task(readers.run(lambda: "mine"))
    await asyncio.sleep(0)
    for one in left:
        one.cancel()
    gate.set()
    assert await waiting == "mine"


async def test_what_was_asked_before_closing_is_answered_and_asking_starts_it_again(readers):
    others = set(threading.enumerate())  # another test's store may still be open
    asked = [asyncio.create_task(readers.run(lambda n=n: n)) for n in range(50)]
    await asyncio.sleep(0)
    await asyncio.to_thread(readers.close)
    assert await asyncio.gather(*asked) == list(range(50))
    assert not [one for one in set(threading.enumerate()) - others if one.name == "sojourn-reader"]
    assert await readers.run(lambda: "again") == "again"
