"""What the rules make of what people say."""

import re
import string
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.runtimes.offline.replies import texts
from sojourn.runtimes.offline.sources import days, hits, queries, topic
from sojourn.runtimes.offline.sums import calculate
from sojourn.runtimes.offline.wishes import is_chinese, rules, wish

SAID = [
    ("hi", "greet", ""),
    ("Hello there!", "greet", ""),
    ("你好", "greet", ""),
    ("is anybody there?", "greet", ""),
    ("help", "help", ""),
    ("what can you do?", "help", ""),
    ("hi, what can you do?", "help", ""),
    ("你好，你能做什么？", "help", ""),
    ("hello, run ls", "run", "ls"),
    ("???", "help", ""),
    ("你能做什么？", "help", ""),
    ("who are you", "who", ""),
    ("are you ChatGPT?", "who", ""),
    ("你是谁", "who", ""),
    ("How do I use a better model?", "setup", ""),
    ("use ollama", "setup", ""),
    ("怎么接入模型", "setup", ""),
    ("run ls -la", "run", "ls -la"),
    ("please run `echo hi`", "run", "echo hi"),
    ("!git status", "run", "git status"),
    ("运行 ls", "run", "ls"),
    ("run pytest -q 2>&1 | tail -3", "run", "pytest -q 2>&1 | tail -3"),
    ("run the tests", "which", "tests"),
    ("read README.md", "read", "README.md"),
    ("can you read src/app.py please?", "read", "src/app.py"),
    ("what's in notes.txt?", "read", "notes.txt"),
    ("读取 README.md", "read", "README.md"),
    ("find *.py", "find", "*.py"),
    ("查找 config.toml", "find", "config.toml"),
    ("search for TODO", "search", "TODO"),
    ('grep "hello world"', "search", "hello world"),
    ("搜索 TODO", "search", "TODO"),
    ("list files", "list", ""),
    ("ls", "list", ""),
    ("列出文件", "list", ""),
    ("fetch https://example.org/x", "fetch", "https://example.org/x"),
    ("remember that I prefer tabs", "remember", "I prefer tabs"),
    ("记住我喜欢喝茶", "remember", "我喜欢喝茶"),
    ("what do you remember about me?", "facts", ""),
    ("forget that I like tabs", "forget", "I like tabs"),
    ("what did we do about the nginx timeout?", "recall", "do about the nginx timeout"),
    ("why did we choose SQLite?", "recall", "choose SQLite"),
    ("search my sessions for docker", "recall", "docker"),
    ("have we ever talked about postgres?", "recall", "about postgres"),
    ("我们之前关于数据库做了什么？", "recall", "数据库"),
    ("之前讨论过缓存吗", "recall", "缓存"),
    ("what did we do yesterday?", "recent", ""),
    ("where did we leave off?", "recent", ""),
    ("昨天做了什么", "recent", ""),
    ("again", "again", ""),
    ("再来一次", "again", ""),
    ("more", "more", ""),
    ("继续", "more", ""),
    ("17*23", "sum", "17*23"),
    ("what is (1+2)*3?", "sum", "(1+2)*3"),
    ("what time is it?", "time", ""),
    ("今天几号", "time", ""),
    ("my name is Ann", "told", "my name is Ann"),
    ("yes", "yes", ""),
    ("ok do it", "yes", ""),
    ("thanks!", "thanks", ""),
    ("summarize this repo", "agent", ""),
    ("fix the bug in main.py", "agent", ""),
    ("can you access the internet?", "net", ""),
    ("", "nothing", ""),
    ("Explain recursion in one paragraph", "free", "Explain recursion in one paragraph"),
    ("写一首诗", "free", "写一首诗"),
    ("how do I undo a git commit?", "free", "how do I undo a git commit?"),
]


@pytest.mark.parametrize(("said", "kind", "text"), SAID)
def test_what_was_said_is_understood(said, kind, text):
    found = wish(said)
    assert (found.kind, found.text) == (kind, text)


@pytest.mark.parametrize(
    ("said", "number"),
    [("the second one", 2), ("open the last file", -1), ("3", 3), ("第二个", 2), ("#4", 4), ("10th", 10)],
)
def test_one_of_several_is_picked_by_its_number(said, number):
    assert (wish(said).kind, wish(said).number) == ("nth", number)


def test_a_folder_or_a_file_is_taken_along():
    assert wish("search TODO in src").where == "src"
    assert wish("list files in docs").where == "docs"
    assert (wish("write hello world to hi.txt").text, wish("write hello world to hi.txt").where) == (
        "hello world",
        "hi.txt",
    )
    assert wish("what did we do yesterday?").where == "yesterday"


def test_every_kind_of_rule_can_be_reached_and_every_text_is_there_twice():
    assert {kind for kind, _ in rules()} >= {kind for _, kind, _ in SAID} - {"free", "nothing"}
    for name, both in texts().items():
        fields = [sorted(set(re.findall(r"\{(\w+)\}", both[language]))) for language in ("en", "zh")]
        assert fields[0] == fields[1], name


@given(st.text(max_size=300))
def test_whatever_is_said_there_is_an_answer(said):
    assert wish(said).kind


@pytest.mark.parametrize(
    "said", ["find " + "all the " * 60, "what did we " + "a " * 240, "(" * 400, "search " + " in" * 150]
)
def test_long_requests_are_read_quickly(said):
    began = time.process_time()
    wish(said)
    assert time.process_time() - began < 3


def test_what_is_long_is_free_text_unless_it_begins_like_a_request():
    assert wish("what did we do about " + "x " * 400).kind == "free"
    assert wish("remember " + "x " * 400).kind == "remember"


def test_chinese_is_recognised():
    assert is_chinese("你好 world")
    assert not is_chinese("hello – “world” é")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("17*23", "391"),
        ("2^10", "1024"),
        ("1/4", "0.25"),
        ("1,000 + 1", "1001"),
        ("9**9**9", None),
        ("2+", None),
        ("3×4", "12"),
    ],
)
def test_sums(text, result):
    assert calculate(text) == result


@given(st.text(string.digits + "+-*/^%().,", max_size=40))
def test_a_sum_never_breaks_or_takes_long(text):
    try:
        found = calculate(text)
    except ZeroDivisionError:
        return
    assert found is None or len(found) < 30


def test_the_topic_is_what_is_left_of_a_question():
    assert topic("do about the nginx timeout") == ["nginx", "timeout"]
    assert topic("什么是递归") == ["递归"]
    assert list(queries(["nginx", "timeout", "fix"])) == ["nginx timeout fix", "nginx timeout", "timeout"]


def test_places_are_read_back_from_the_tools_answer():
    text = (
        '- "My “garden”, plan", 2026-11-02 06:13, user: How often?\n  [s_1 number 3]\n'
        '- "untitled", unknown day, tool (terminal): done: ok\n  [s_2 number 9]\n\nTo read on: …'
    )
    first, second = hits(text)
    assert (first.title, first.when, first.session, first.number) == ("My “garden”, plan", "2026-11-02 06:13", "s_1", 3)
    assert (second.who, second.text, second.is_work) == ("tool (terminal)", "done: ok", True)


def test_days_are_what_people_mean_by_them():
    monday = datetime(2026, 11, 16, 8, tzinfo=UTC)
    assert days("yesterday", monday) == ("2026-11-15", "2026-11-15")
    assert days("last week", monday) == ("2026-11-09", "2026-11-15")
    assert days("上个月", monday) == ("2026-10-01", "2026-10-31")
    assert days("recently", monday) == ("", "")
