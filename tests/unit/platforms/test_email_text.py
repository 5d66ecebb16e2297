"""What of a letter its writer wrote."""

import pytest

from sojourn.platforms.email.mail import strip_quotes, strip_reply_prefix
from sojourn.platforms.html_text import html_to_text


@pytest.mark.parametrize(
    ("letter", "words"),
    [
        ("Yes.\n\nOn Mon, 16 Nov 2026 Ann wrote:\n> Shall we?\n> Now?\n", "Yes."),
        ("Yes.\n\nOn Mon, 16 Nov 2026 at 9:00, Ann <ann@example.org>\nwrote:\n\n> Shall we?\n", "Yes."),
        ("Ja.\r\n\r\nAm 16.11.2026 schrieb Ann:\r\n> Gehen wir?\r\n", "Ja."),
        ("Yes.\n\n-----Original Message-----\nFrom: Ann\n\nShall we?", "Yes."),
        ("Yes.\n-- \nBen\nHead of Gardens", "Yes."),
        ("> Shall we?\nYes.\n> Now?\nNo.", "> Shall we?\nYes.\n> Now?\nNo."),
        ("The list:\n- one\n- two", "The list:\n- one\n- two"),
        ("> only a quote", "> only a quote"),
        ("", ""),
    ],
)
def test_quotes_and_signatures_are_left_out(letter: str, words: str):
    assert strip_quotes(letter) == words


def test_html_becomes_markdown():
    page = """<html><head><title>t</title><style>p {}</style></head><body><p>Hello   <b>Ann</b>,</p>
    <ul><li>one</li><li>two &amp; three</li></ul>See <a href="https://example.org/x">this</a>.<br>Bye
    <blockquote>quoted <p>deep</p></blockquote><div class="gmail_quote">On Monday<div>more</div></div></body></html>"""
    shown = html_to_text(page)
    assert shown.split("\n")[0] == "Hello **Ann**,"
    assert "- one\n- two & three" in shown
    assert "See [this](https://example.org/x)." in shown
    assert shown.endswith("Bye")


def test_broken_html_does_not_lose_what_follows():
    assert "after" in html_to_text("<p>before<blockquote>quoted</blockquote><div>after")


def test_words_in_html_keep_the_space_between_them():
    assert html_to_text("<b>one</b> two<br>three") == "**one** two\nthree"


@pytest.mark.parametrize("subject", ["Re: Garden", "AW: Re: Garden", "Garden", "  Fwd: Garden "])
def test_a_subject_without_its_marks(subject: str):
    assert strip_reply_prefix(subject) == "Garden"
