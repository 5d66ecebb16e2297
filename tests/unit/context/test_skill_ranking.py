"""The shortlist against the set it is measured on: 200 skills, 100 requests, half of them held out."""

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from sojourn.context.bm25 import Bm25Index
from sojourn.context.budget import to_contribution
from sojourn.context.embeddings import Embedders
from sojourn.context.query_expansion import _load_synonyms
from sojourn.context.skills import MAX_TOKENS, Shortlist, build_blocks, name_to_words
from sojourn.ports.libraries import Skill
from sojourn.skill_files import read_skills
from sojourn.text.tokenizer import stem_words

DATA = Path(__file__).parents[2] / "data" / "skills"
# The set was written before the ranker. Who changes it to suit the ranker has to change these too.
REQUESTS = "d7b753b29b3c43d64bb03951256427484192de4ab4f06ccf8976f59ef1e399e6"
LIBRARY = "585bc7b2b526c7be058d4a0fd44f25b8a37c525d9473a66c259b5bc7c546b1b6"


def requests(half):
    rows = map(json.loads, (DATA / "requests.jsonl").read_text("utf-8").splitlines())
    return [row for row in rows if row["half"] == half]


@pytest.fixture(scope="module")
def shelf():
    return Shortlist([one for one in read_skills([DATA / "library"]) if isinstance(one, Skill)])


def found(shelf, half="held-out", **senses):
    """The share of requests whose skill is among the five that are put before the runtime, within the budget."""
    hits = 0
    for row in requests(half):
        blocks = build_blocks(shelf.rank(row["say"], **senses)[:5], MAX_TOKENS, total=200, tools=("skills_list",))
        given = to_contribution(blocks, MAX_TOKENS)
        assert sum(block.tokens for block in given.blocks) <= 2000
        assert given.left_out == ()
        hits += row["skill"] in [block.title for block in given.blocks][:5]
    return hits / len(requests(half))


def test_the_set_is_the_one_that_was_written_first(shelf):
    assert sha256((DATA / "requests.jsonl").read_bytes()).hexdigest() == REQUESTS
    whole = b"".join(path.read_bytes() for path in sorted((DATA / "library").glob("*/SKILL.md")))
    assert sha256(whole).hexdigest() == LIBRARY
    assert (len(shelf.skills), len(requests("tuning")), len(requests("held-out"))) == (200, 50, 50)


def test_the_list_of_everyday_words_has_nothing_from_the_held_out_half_alone():
    def text(half):
        spoken = (re.findall(r"[\w'-]+", row["say"].lower()) for row in requests(half))
        return "|".join(f" {' '.join(said)} " for said in spoken)

    held, tuning = text("held-out"), text("tuning")
    assert [phrase for phrase in _load_synonyms() if phrase in held and phrase not in tuning] == []


async def test_with_word_vectors_nine_of_ten_held_out_requests_find_their_skill(kit, shelf):
    pytest.importorskip("wordllama")
    assert found(shelf, embedder=kit.shared(Embedders).word_vectors()) >= 0.90


def test_words_alone_do_better_than_plain_bm25(shelf):
    plain = Bm25Index([[(f"{name_to_words(one.name)} {one.description} {one.body}", 1)] for one in shelf.skills])

    def baseline(say):
        scores = plain.score(dict.fromkeys(stem_words(say), 1.0))
        return [shelf.skills[n].name for n in sorted(range(200), key=lambda n: -scores[n])[:5] if scores[n] > 0]

    held = requests("held-out")
    by_baseline = sum(row["skill"] in baseline(row["say"]) for row in held) / len(held)
    assert by_baseline == pytest.approx(0.80)
    assert found(shelf) > by_baseline


def test_each_one_says_why_it_is_there(shelf):
    (first, *_) = shelf.rank("please translate this letter into english")
    assert first.skill.name == "translation-chinese-english"
    assert "“translate”" in first.reason


def test_what_has_nothing_to_do_with_any_skill_brings_up_none(shelf):
    assert shelf.rank("xyzzy plugh") == []
