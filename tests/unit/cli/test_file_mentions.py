"""`@path` in a message: which files it names, and what completes it."""

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from sojourn.cli.chat.completer import ChatCompleter
from sojourn.cli.chat.file_mentions import find_mentioned_files, find_open_mention


def test_only_files_that_are_there_are_mentioned(tmp_path):
    for name in ("a.md", "b c.txt", "sub/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = find_mentioned_files('@a.md, me@a.md @sub/d.py. @"b c.txt" @sub @nobody @a.md', str(tmp_path))
    assert [path.name for path in found] == ["a.md", "d.py", "b c.txt"]


def test_the_word_at_the_cursor_is_completed_if_it_begins_with_the_sign(tmp_path):
    for name in ("garden.md", "gate.txt", ".hidden", "other"):
        (tmp_path / name).touch()
    (tmp_path / "gallery").mkdir()

    def complete(text):
        found = ChatCompleter(str(tmp_path)).get_completions(Document(text), CompleteEvent())
        return [one.text for one in found]

    assert complete("look at @ga") == ["gallery/", "garden.md", "gate.txt"]
    assert complete("@.h") == [".hidden"]
    assert complete("mail me@ga") == []
    assert complete("@nowhere/x") == []
    assert (find_open_mention("a @b"), find_open_mention("a @b c")) == ("b", None)
    assert "new" in complete("/n")
