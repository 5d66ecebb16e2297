"""A text that arrives in pieces is redacted like the whole text, and no secret is shown in part."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sojourn.text import partial_match
from sojourn.text.partial_match import MAX_HELD_CHARS, NAME_CHARS, PartialPattern
from sojourn.text.redaction import KEYS, OTHERS, redact
from sojourn.text.stream_redaction import HINT_CHARS, StreamRedactor
from tests.unit.text.test_redaction import ALL, HOSTILE

NAMED = [
    "password: hunter2222",
    '{"password": "hunter2222"}',
    "Authorization: Bearer abcdefgh1234",
    "postgres://me:s3cr3t@localhost/db",
    "curl -u admin:hunter2222 https://x.example",
    "my password is hunter2",
    "Cookie: theme=dark_mode1; session=abcd1234abcd",
]
parts = st.one_of(
    st.sampled_from(ALL),
    st.sampled_from(NAMED),
    st.sampled_from([*HOSTILE, " ", "\n", "İ", "ſecret: ", "K", "\\n", '"', "名", "--", "----"]),
    st.sampled_from([one.hint for one in (*KEYS, *OTHERS)]),
    st.text(max_size=8),
    st.text(alphabet="sk-ghp_eyJ.:/=pasword 0123456789\n\"'\\", max_size=30),
)
texts = st.lists(parts, max_size=7).map("".join)


def feed(text, cuts):
    """What each piece released, and the rest."""
    stream, pieces, begin = StreamRedactor(), [], 0
    for end in [*sorted({cut % (len(text) + 1) for cut in cuts}), len(text)]:
        pieces.append(stream.feed(text[begin:end]))
        begin = end
    return [*pieces, stream.end()]


@given(texts, st.lists(st.integers(0, 10_000), max_size=12))
@example("x" * 600 + "sk-" + "a1" * 20, [599, 600, 601, 604])
@example("echo 19S258kLNVIg6HaGvvv5mw | docker login --password-stdin x", [12, 20])
@example("curl " + "x" * 298 + " -u me:" + "s3cret99 x", [300, 305, 312, 315])
def test_what_was_streamed_and_the_rest_are_the_whole_text_redacted(text, cuts):
    assert "".join(feed(text, cuts)) == redact(text)


@given(texts)
@example("sk-proj-" + "a1B2" * 9 + ":00-SK" + "0a1b2c3d" * 4 + "sk-proj-" + "a1B2" * 9)
def test_letter_by_letter_the_streamed_text_is_always_a_prefix(text):
    stream, shown, whole = StreamRedactor(), "", redact(text)
    for letter in text:
        shown += stream.feed(letter)
        assert whole.startswith(shown)
    assert shown + stream.end() == whole


@pytest.mark.parametrize("secret", [*ALL, *NAMED], ids=range(len(ALL) + len(NAMED)))
def test_no_cut_shows_the_end_of_a_secret(secret):
    text = f"it is {secret} and more"
    for cut in range(1, len(text)):
        pieces = feed(text, [cut])
        assert "".join(pieces) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "API_TOKEN=" + "Ab3-" * 150 + " x",
        'secret: "' + "a1" * 300 + "&token=" + "b2" * 250 + '" password="hunter2222"',
        "password=" + "a1" * 220 + "password=" + '"hunter2222"',
    ],
)
def test_the_tail_of_a_long_secret_is_not_shown(text):
    for cut in (5, 11, 150, 209, 211, 399, 409, 411, 412, 450, 455, 500):
        assert "".join(feed(text, [cut, cut + 1, cut + 30])) == redact(text)
    assert "".join(feed(text, range(0, len(text), 40))) == redact(text)


def test_an_unterminated_private_key_is_held_back_to_a_limit():
    stream, held = StreamRedactor(), 0
    stream.feed("-----BEGIN PRIVATE KEY-----\n")
    for _ in range(2 * MAX_HELD_CHARS // 65):
        stream.feed("A1b2" * 16 + "\n")
        held = max(held, len(stream._text))
    assert held <= MAX_HELD_CHARS + NAME_CHARS + 100
    assert len(stream._text) < NAME_CHARS + 100


def test_every_pattern_keeps_to_the_limits():
    for one in (*KEYS, *OTHERS):
        partial = one.secret.pattern.partial
        assert partial.longest <= MAX_HELD_CHARS, one.hint
        assert partial.before <= NAME_CHARS, one.hint
        assert len(one.hint) <= HINT_CHARS, one.hint


PROSE = (
    "The token is passed in a header, and the password: it is never stored. Use `--flag` or https://example.org/a?b=c "
    "and so on. Set api_key in the settings; passwords are hashed - twice. It's a secret, they said, s-expressions "
    "are fun.\n\n- one\n- two\n\n```python\nfor key in keys:\n    print(key, settings.token)\n```\n"
)


def test_ordinary_words_do_not_wait():
    stream, late, fed, shown = StreamRedactor(), [], 0, 0
    for word in (PROSE * 20).split(" "):
        fed += len(word) + 1
        shown += len(stream.feed(f" {word}"))
        late.append(fed - shown)
    assert max(late) <= 40  # three words, behind the name of a secret only
    assert late.count(0) > len(late) * 0.5


def test_this_python_has_the_parser_that_partial_matches_are_built_with():
    assert partial_match._can_parse()


@pytest.mark.parametrize("broken", [None, object()], ids=["none", "another"])
def test_a_python_without_that_parser_holds_back_more_and_shows_no_secret(broken, monkeypatch):
    monkeypatch.setattr(partial_match, "_parser", broken)
    partial_match._can_parse.cache_clear()
    for one in (*KEYS, *OTHERS):
        monkeypatch.setitem(vars(one.secret.pattern), "partial", PartialPattern("x", 0))
    try:
        for text in [f"it is {secret} and more, it is {secret}" for secret in (*ALL, *NAMED)]:
            assert "".join(feed(text, range(0, len(text), 5))) == redact(text)
    finally:
        partial_match._can_parse.cache_clear()
