"""The installed `sojourn` on a real terminal: questions, colours, the pager, Ctrl-C."""

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

SOJOURN = str(Path(sys.executable).with_name("sojourn"))
COLUMNS, LINES = 80, 24


class Person:
    """Somebody at a terminal."""

    def __init__(self, *args: str, **environment: str) -> None:
        env = {**os.environ, "TERM": "xterm-256color", **environment}
        env.pop("COLUMNS", None)
        self.line, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [SOJOURN, *args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=env,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two pieces

    def sees(self, words: str, seconds: float = 60) -> None:
        """Waits until that is on the screen."""
        until = time.monotonic() + seconds
        while not self.has_seen(words):
            went_on = self.has_more(until - time.monotonic()) and self.read()
            assert went_on, f"{words!r} never came; there is {self.seen[-1500:]!r}"

    def has_seen(self, words: str) -> bool:
        return words in self.seen

    def has_more(self, seconds: float) -> bool:
        return bool(select.select([self.line], [], [], max(0.0, seconds))[0])

    def read(self) -> bool:
        try:
            got = os.read(self.line, 4096)
        except OSError:  # Linux says it so when the other side is gone
            return False
        self.seen += self._decoder.decode(got)
        return bool(got)

    def types(self, text: str) -> None:
        os.write(self.line, text.encode())

    def leaves(self) -> int:
        """Waits for the end; returns the exit code."""
        while self.read():
            pass
        os.close(self.line)
        return self.process.wait(timeout=30)


def test_a_newcomer_is_asked_about_samples_and_enter_means_yes():
    newcomer = Person("welcome")
    newcomer.sees("Add a few samples")
    newcomer.types("\n")
    assert newcomer.leaves() == 0
    assert "Sample:" in newcomer.seen


def test_ctrl_c_at_a_question_leaves_at_once_with_130():
    newcomer = Person("welcome")
    newcomer.sees("Add a few samples")
    time.sleep(0.3)  # no person is quicker than the line editor behind the question
    newcomer.types("\x03")
    assert newcomer.leaves() == 130
    assert "Traceback" not in newcomer.seen


def test_a_no_to_a_deletion_keeps_everything():
    assert Person("--json", "welcome").leaves() == 0
    person = Person("sessions", "delete", "sample_01_garden")
    person.sees("Delete 1 session?")
    person.types("n\n")
    assert person.leaves() == 1
    assert "Nothing was changed." in person.seen


def test_a_fact_is_named_by_its_words_and_shown_before_it_is_forgotten():
    assert Person("memory", "add", "I live in Porto").leaves() == 0
    person = Person("memory", "delete", "porto")
    person.sees("Forget “I live in Porto”?")
    person.types("y\n")
    assert person.leaves() == 0
    assert "Forgotten: I live in Porto" in person.seen


@pytest.mark.parametrize(
    ("flags", "no_color", "colours"), [((), "", True), ((), "0", False), (("--no-color",), "", False)]
)
def test_colours_are_there_unless_somebody_does_not_want_them(flags, no_color, colours):
    assert Person("--json", "welcome").leaves() == 0
    for args in (("sessions", "list"), ("sessions", "show", "nope")):
        person = Person(*flags, *args, NO_COLOR=no_color)
        person.leaves()
        assert ("\x1b[" in person.seen) is colours, args


def test_a_long_transcript_goes_through_the_pager_and_a_short_one_does_not(tmp_path):
    assert Person("--json", "welcome").leaves() == 0
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED\ncat\n")
    pager.chmod(0o755)
    for session, is_long in {"sample_02_flaky_test": True, "sample_03_chinese": False}.items():
        reader = Person("sessions", "show", session, PAGER=str(pager))
        assert reader.leaves() == 0
        assert ("PAGED" in reader.seen) is is_long


def test_who_loads_a_copy_into_a_database_is_told_that_nothing_is_replaced():
    somebody = Person("store", "restore", "copy.db", SOJOURN_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    somebody.sees("is never replaced")
    somebody.types("n\n")
    assert somebody.leaves() == 1
    assert "Nothing was changed" in somebody.seen
