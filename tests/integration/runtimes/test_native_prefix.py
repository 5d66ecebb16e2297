"""Each request of a conversation begins with the one before it, facts and recall included, as providers cache them."""

import json
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.messages import assistant, user
from sojourn.core.sessions import OWNER
from sojourn.ports.importer import Transcript
from sojourn.runtimes.native.runtime import NativeRuntimeAdapter
from sojourn.testing.model_script import Call, Say
from sojourn.testing.model_server import ModelServer
from sojourn.testing.service_steps import ended, opened, talk

FACTS = [
    f"My {thing} is kept in the {place} cupboard."
    for thing in ("drill", "lamp", "tent", "rope", "kite")
    for place in ("upper", "lower")
]
PAST = {
    "cache": ("Why did we drop redis for the cache?", "We dropped redis: the cache ate memory, so sqlite holds it."),
    "deploy": ("How do we deploy the billing service?", "The billing service is deployed by a tag on the main branch."),
    "backup": ("Where do the nightly backups go?", "The nightly backups go to the cellar machine over ssh."),
}
REQUESTS = (
    "Why did we drop redis for the cache?",
    "List the files, please.",
    "How do we deploy the billing service?",
    "Thanks.",
    "Where do the nightly backups go?",
    "And which file is the newest?",
    "What about redis and the memory of the cache?",
    "How was the billing service deployed with a tag?",
)


def to_messages(*texts):
    said = (user(texts[0]), assistant(texts[1]))
    return tuple(replace(one, native_id=str(number)) for number, one in enumerate(said))


@asynccontextmanager
async def start(home):
    """An application with facts, past sessions and a scripted model that looks into the folder in each second turn."""
    with ModelServer() as model:
        given = {"model.base_url": model.url, "model.name": "scripted-1", "model.context_window": 128_000}
        quiet = {
            "memory.embedder": "none",
            "agent.titles": False,
            "model.detect": False,
            "memory.model_summaries": False,
        }
        app = App(config.load({"home": str(home), **given, **quiet}))
        rows = [
            ("1", Transcript(native_id=name, fields={"title": name}, messages=to_messages(asked, answer)))
            for name, (asked, answer) in PAST.items()
        ]
        await app.store.ingest("work", "work", rows, principal=OWNER)
        await app.store.index()
        for fact in FACTS:
            await app.facts.add_fact(fact)
        try:
            yield app, model
        finally:
            await app.close()


async def ask(app, model, session, text, *scripts, **fields):
    """The requests of one turn, as their messages."""
    model.asked.clear()
    model.play(*(scripts or ([Say("Fine, that is so. " * 5)],)))
    assert ended(await talk(app.service, session, text, runtime="native", **fields))[0] == "completed"
    return [asked.messages for asked in model.asked]


def share(before, after):
    """How much of a request the next one begins with."""
    first, second = (json.dumps(one, ensure_ascii=False)[:-1] for one in (before, after))
    same = next((at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), len(first))
    return min(same, len(second)) / len(first)


async def test_eight_turns_with_facts_and_recall_share_their_beginnings(tmp_path):
    async with start(tmp_path) as (app, model):
        session, requests = await opened(app.service, cwd=str(tmp_path)), []
        for number, text in enumerate(REQUESTS):
            scripts = ([Call("list_files", {"path": "."})], [Say("These are all.")]) if number % 2 else ()
            requests += await ask(app, model, session, text, *scripts)
        assert len(requests) == 12
        shares = [round(share(*pair), 3) for pair in pairwise(requests)]
        assert min(shares) >= 0.95, shares
        whole = json.dumps(requests[-1])
        assert whole.count(FACTS[0]) == 1, "what stands in the conversation is not said again"
        assert "sqlite holds it" in whole
        assert "deployed by a tag" in whole


async def test_a_forgotten_fact_is_not_sent_again(tmp_path):
    async with start(tmp_path) as (app, model):
        session = await opened(app.service)
        [first] = await ask(app, model, session, "Hello.")
        assert FACTS[0] in json.dumps(first)
        await app.facts.delete_fact(FACTS[0])
        [second] = await ask(app, model, session, "And now?")
        assert FACTS[0] not in json.dumps(second)
        assert json.dumps(second).count(FACTS[1]) == 1
        await app.facts.add_fact(FACTS[0])
        [third] = await ask(app, model, session, "And then?")
        assert json.dumps(third).count(FACTS[0]) == 1


@pytest.mark.parametrize("how", ["forget", "trash", "drop", "setting"])
async def test_a_memory_that_is_gone_is_not_sent_again(how, tmp_path):
    async with start(tmp_path) as (app, model):
        session, drop = await opened(app.service), ()
        [first] = await ask(app, model, session, REQUESTS[0])
        assert "sqlite holds it" in json.dumps(first)
        past = await app.store.resolve("cache")
        if how == "forget":
            await app.store.forget(past.id)
        elif how == "trash":
            await app.store.change(past, replace(past, trashed_at=time.time()))
        elif how == "drop":
            drop = ("recall",)
        else:
            app.settings.values["memory.recall"] = False
        [second] = await ask(app, model, session, "Thanks.", drop=drop)
        assert "sqlite holds it" not in json.dumps(second)


async def test_what_others_wrote_stays_foreign_while_it_is_sent(tmp_path, monkeypatch):
    seen, run = [], NativeRuntimeAdapter.run

    def watch(self, turn):
        seen.append((sum(len(past.blocks) for past in turn.history), turn.workspace.provenance))
        return run(self, turn)

    monkeypatch.setattr(NativeRuntimeAdapter, "run", watch)
    async with start(tmp_path) as (app, model):
        session = await opened(app.service, cwd=str(tmp_path))
        await ask(app, model, session, REQUESTS[0])
        await ask(app, model, session, "Thanks.")
    assert [count for count, _ in seen] == [0, 2]
    assert all(provenance.foreign and provenance.private for _, provenance in seen)
