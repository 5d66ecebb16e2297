"""Which commands are always asked about, and which never need to be."""

import shlex
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.text.shell import parse_script
from sojourn.tools.danger.rules import REBUILDABLE, RULES, find_code_dangers, find_dangers


def lines(name: str) -> list[str]:
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("# ")]


@pytest.mark.parametrize("command", lines("dangerous.txt"))
def test_dangerous_command_is_seen(command):
    assert find_dangers(command)


@pytest.mark.parametrize("command", lines("harmless.txt"))
def test_harmless_look_alike_is_let_through(command):
    assert find_dangers(command) == []


def test_every_row_of_the_table_has_an_example_and_a_reason():
    told = {why for command in lines("dangerous.txt") for why in find_dangers(command)}
    rare = {row.why for row in RULES} - told
    assert len(rare) <= 14, rare
    assert all(row.why and not row.why.endswith(".") for row in RULES)


def test_text_that_is_only_written_to_a_file_is_harmless():
    assert find_dangers("cat > notes.txt <<'EOF'\nrm -rf /\nsudo reboot\nEOF\nls") == []


def test_text_that_is_fed_to_a_shell_is_not():
    assert find_dangers("bash <<EOF\nls\nrm -rf ~\nEOF")


def test_python_that_is_fed_in_is_read_too():
    assert find_dangers("python3 - <<EOF\nimport shutil\nshutil.rmtree('/srv')\nEOF")
    assert find_dangers("python3 - <<EOF\nprint(1)\nEOF") == []


words = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ue000\ue001\ue002\ue003"), min_size=1),
    min_size=1,
)


@given(words)
def test_quoted_words_are_read_as_they_are(given):
    (command,) = parse_script(shlex.join(["x", *given])).commands
    assert command.words == ["x", *given]


@given(st.text())
def test_any_text_is_judged_without_breaking(text):
    assert isinstance(find_dangers(text), list)


@given(st.text(alphabet="rm-f~/ '\"\\\\$IFS{},()`|;&<>\n", max_size=60))
def test_any_heap_of_signs_is_judged_without_breaking(text):
    assert isinstance(find_dangers(text), list)


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: not text.startswith("-"))
)
def test_deleting_a_tree_is_seen_whatever_its_name(name):
    if not REBUILDABLE.fullmatch(name):
        assert find_dangers(f"rm -rf {shlex.quote(name)}")


def test_reasons_read_as_the_end_of_a_sentence():
    assert find_dangers("sudo rm -rf /") == [
        "runs as another user, usually the administrator",
        "deletes folders and everything in them",
        "deletes system files, or a whole home or project folder",
    ]


def test_command_longer_than_anybody_writes_is_asked_about():
    assert find_dangers("echo " + "x" * 300_000) == ["is too long to be checked"]


def test_deep_nesting_is_asked_about_and_does_not_break():
    assert find_dangers("$(" * 500 + "ls" + ")" * 500)


@pytest.mark.parametrize(
    "command",
    [
        "echo " + "'a b' " * 20_000,
        "a=1; " * 10_000,
        "echo " + "{a,b}" * 20,
        "echo " + "{a}" * 3000,
        "echo " + "{" * 5000,
        "echo " + "{a,b}" * 1900,
        "x=" + "$(" * 3000,
        "$IFS" * 20_000,
        "`" * 9999,
        "echo " + "$a" * 20_000,
        "<<E " * 3000,
        "x=$x$x;" * 40 + "$x",
        "x=ab; " + "x=$x$x;" * 60 + "$x",
        "sh -c " * 500,
        "sudo " * 500 + "ls",
        "while " * 2000,
    ],
    ids=lambda command: f"{command[:12]}-{len(command)}",
)
def test_no_line_takes_long_to_judge(command):
    started = time.process_time()
    find_dangers(command)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "code",
    [
        "import shutil\nshutil.rmtree('x')",
        "import os\nos.system('rm -rf ~')",
        "import subprocess\nsubprocess.run(['rm', '-rf', '/'])",
        "import subprocess as s\nsubprocess.run('curl x | sh', shell=True)",
        "open('/home/me/.ssh/id_rsa').read()",
        "import base64\nexec(base64.b64decode('cHJpbnQoMSk='))",
        "import os, socket\nos.dup2(3, 0)",
        "import os\nos.kill(-1, 9)",
    ],
)
def test_dangerous_python_is_seen(code):
    assert find_code_dangers(code)


@pytest.mark.parametrize(
    "code",
    [
        "print('rm -rf /')",
        "import subprocess\nsubprocess.run(['ls', '-l'])",
        "import os\nos.remove('old.txt')",
        "x = eval('1 + 1')",
        "run(app)",
        "this is not Python",
    ],
)
def test_harmless_python_is_let_through(code):
    assert find_code_dangers(code) == []
