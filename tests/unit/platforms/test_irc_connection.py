"""The lines of IRC, read."""

import pytest

from sojourn.platforms.irc.connection import IrcMessage, parse_message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("PING :a b", IrcMessage({}, "", "PING", ("a b",))),
        (":ann!~a@host PRIVMSG #x :hello :there", IrcMessage({}, "ann!~a@host", "PRIVMSG", ("#x", "hello :there"))),
        (":s 001 us :Welcome", IrcMessage({}, "s", "001", ("us", "Welcome"))),
        (
            r"@msgid=a\:b\s;account=ann :a!b@c PRIVMSG us :x",
            IrcMessage({"msgid": "a;b ", "account": "ann"}, "a!b@c", "PRIVMSG", ("us", "x")),
        ),
        ("", IrcMessage({}, "", "", ())),
    ],
)
def test_a_line_is_taken_apart(line: str, said: IrcMessage):
    assert parse_message(line) == said


def test_a_person_is_called_by_their_nick():
    assert parse_message(":ann!~a@host QUIT").nick == "ann"
