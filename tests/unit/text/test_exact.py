"""Exact text: its hash, and a form that hides nothing."""

import hashlib
import unicodedata

import pytest

from sojourn.text.exact import hash_text, reveal


def test_the_hash_is_that_of_the_bytes():
    assert hash_text("ls ❯") == hashlib.sha256("ls ❯".encode()).hexdigest()
    assert hash_text("\udc80") != hash_text("\udc81")


@pytest.mark.parametrize("text", ["make test", "a\n\tb", "größer 漢字 ❯ 🌱", ""])
def test_what_can_be_seen_stays(text):
    assert reveal(text) == text


def test_whatever_a_screen_obeys_or_hides_is_written_as_its_code():
    hidden = [
        chr(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp", "Cs") and chr(code) not in "\n\t"
    ]
    numbers = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}  # signs that are drawn
    assert [hex(ord(one)) for one in hidden if reveal(one) == one and ord(one) not in numbers] == []
    assert reveal("a\u202eb\x1b[8m") == r"a\u{202e}b\u{1b}[8m"
