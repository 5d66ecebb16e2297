"""The shell parser: which commands a line starts, and when it cannot tell."""

import pytest

from sojourn.text.shell import MAX_SCRIPT_BYTES, UNKNOWN, parse_script


def words(line):
    script = parse_script(line)
    assert not script.unclear
    return [command.words for command in script.commands]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a && b || c; d & e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("if a; then b; else c; fi", [["a"], ["b"], ["c"]]),
        ("while a; do b; done", [["a"], ["b"]]),
        ("case x in y) a;; *) b;; esac", [["a"], ["b"]]),
        ("f() { a; }; f", [["a"], ["f"]]),
        ("( a; b ) | { c; }", [["a"], ["b"], ["c"]]),
        ("! a", [["a"]]),
        ("echo $(a; b)", [["a"], ["b"], ["echo", UNKNOWN]]),
        ("echo `a`", [["a"], ["echo", UNKNOWN]]),
        ('x="$(a)"', [["a"], []]),
        ("a <(b) >(c)", [["b"], ["c"], ["a", UNKNOWN, UNKNOWN]]),
        ("cat <<E\n$(a)\nE", [["cat"], ["a"]]),
        ("for x in b c; do a $x; done", [["for", "x", "in", "b", "c"], ["a", UNKNOWN]]),
        ("x=ls; read x; $x", [[], ["read", "x"], [UNKNOWN]]),
        ("export A=1", [["export", "A=1"]]),
        ("rm$IFS-rf$IFS/", [["rm", "-rf", "/"]]),
        ("$@ a", [["a"]]),
        ("a >x -l", [["a", "-l"]]),
    ],
)
def test_commands_of_a_line(line, expected):
    assert words(line) == expected


def test_redirects_pipes_and_operators_are_told():
    first, second, third = parse_script("a 2>err <in | b >> out && c <<< text").commands
    assert (first.redirects, first.piped, first.operator) == ([(">", "err"), ("<", "in")], False, "")
    assert (second.redirects, second.piped, second.operator) == ([(">>", "out")], True, "|")
    assert (third.stdin_text, third.piped, third.operator) == ("text", False, "&&")


def test_here_document_feeds_its_command_only():
    first, second = parse_script("cat <<'E' | sh\nrm x\nE").commands
    assert (first.stdin_text, second.stdin_text, second.piped) == ("rm x\n", "", True)


@pytest.mark.parametrize(
    "line",
    [
        "ls\n\\rm -rf ~",  # the grammar takes `\rm` for an argument of ls
        "x\\\n#; rm -rf ~",  # and this `#` for a comment
        "ls <<EOF|sh\nEOF",
        "rm -r<<EOF",
        "a `b``c`",
        "?x=list",
        "'open",
        "{rm,-rf,/}",
        "a\0b",
        "$(" * 40 + "ls" + ")" * 40,
        "echo " + "{a,b}" * 40,
    ],
)
def test_what_the_grammar_misreads_is_unclear(line):
    assert parse_script(line).unclear


@pytest.mark.parametrize("piece", ["a=(", "${", "<<A <<B ", "a|", ")", "for((;;", "(", "if a; then ", "[[ a =~ "])
@pytest.mark.parametrize("size", [MAX_SCRIPT_BYTES, 150_000])
def test_hostile_line_is_given_up_in_time(piece, size):
    assert parse_script(piece * (size // len(piece))).unclear


@pytest.mark.parametrize(
    "line",
    ["\U000efaa3\n$(\u6df6${\U000d07ab\U0010b220{<<'E'", "\u3f31-\ue45e/<<'E';for\u1659{\U000fd56cdone)", "echo é ü"],
)
def test_characters_beyond_ascii_do_not_crash_the_scanner(line):
    for _ in range(200):
        parse_script(line)
    assert words("echo é 日本") == [["echo", "é", "日本"]]
