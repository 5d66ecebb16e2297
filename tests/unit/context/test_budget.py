"""Token counts: an estimate with a stated error, and cutting that never goes over."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.text.token_count import ELLIPSIS, estimate_tokens, truncate_to_tokens

ROOT = Path(__file__).parents[3]
SAMPLES = {
    "prose": (ROOT / "docs" / "architecture.md").read_text("utf-8"),
    "code": (ROOT / "sojourn" / "text" / "query.py").read_text("utf-8"),
    "json": json.dumps([{"id": n, "name": f"item-{n}", "ok": True, "tags": ["a", "b"]} for n in range(40)], indent=2),
    "requests": (ROOT / "tests" / "data" / "skills" / "requests.jsonl").read_text("utf-8"),
    "chinese": "我不小心删掉了一个分支，还没合并，能找回来吗。这条查询太慢了，帮我看看要不要加索引。今天天气很好。" * 5,
    "japanese": "今日はとても良い天気ですね。公園に行って野菜を買いましょう。バックアップを取ってください。" * 5,
    "russian": "Привет, как дела? Сегодня мы пойдём в парк и купим овощи, а потом вернёмся домой и приготовим ужин. "
    * 4,
    "german": "Der schnelle braune Fuchs springt über den faulen Hund, während die Straßenbahn langsam vorüberfährt. "
    * 4,
    "numbers": "2026-11-16 08:11:57 1.25 3,000,000 0xdeadbeef t_0123456789abcdef 20261116_093000_1f2e3d4c\n" * 6,
    "emoji": "great 🎉🎉 work 👍🏽 see you 🚀 soon ✨\n" * 8,
}
TEXTS = st.text(alphabet=st.sampled_from("ab cde\n.,;é字かж🎉12_"), max_size=300)


@pytest.fixture(scope="session")
def llama():
    tokenizers = pytest.importorskip("tokenizers")
    wordllama = pytest.importorskip("wordllama")
    file = next((Path(wordllama.__file__).parent / "tokenizers").glob("*.json"))
    made = tokenizers.Tokenizer.from_file(str(file))
    made.no_truncation()
    made.no_padding()
    return made


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_estimate_is_near_the_count_of_a_real_tokenizer(kind, llama):
    real = len(llama.encode(SAMPLES[kind], add_special_tokens=False).ids)
    assert 0.9 * real <= estimate_tokens(SAMPLES[kind]) <= 1.25 * real


@given(TEXTS, st.integers(0, 120))
def test_what_was_fitted_never_takes_more_than_it_may(text, most):
    cut = truncate_to_tokens(text, most)
    assert estimate_tokens(cut) <= most
    assert cut == text or cut == "" or (cut.endswith(ELLIPSIS) and text.startswith(cut.removesuffix(ELLIPSIS)))


def test_a_text_that_fits_is_left_alone():
    assert truncate_to_tokens("short enough", 10) == "short enough"


def test_a_cut_does_not_tear_a_word_apart():
    cut = truncate_to_tokens("wonderful adventures " * 20, 12).removesuffix(ELLIPSIS)
    assert set(cut.split()) == {"wonderful", "adventures"}
