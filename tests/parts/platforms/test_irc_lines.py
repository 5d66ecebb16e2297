"""The lines of IRC, read."""

import pytest

from sojourn.platforms.irc.connection import Said, parse


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("PING :a b", Said({}, "", "PING", ("a b",))),
        (":ann!~a@host PRIVMSG #x :hello :there", Said({}, "ann!~a@host", "PRIVMSG", ("#x", "hello :there"))),
        (":s 001 us :Welcome", Said({}, "s", "001", ("us", "Welcome"))),
        (
            r"@msgid=a\:b\s;account=ann :a!b@c PRIVMSG us :x",
            Said({"msgid": "a;b ", "account": "ann"}, "a!b@c", "PRIVMSG", ("us", "x")),
        ),
        ("", Said({}, "", "", ())),
    ],
)
def test_a_line_is_taken_apart(line: str, said: Said):
    assert parse(line) == said


def test_a_person_is_called_by_their_nick():
    assert parse(":ann!~a@host QUIT").nick == "ann"
