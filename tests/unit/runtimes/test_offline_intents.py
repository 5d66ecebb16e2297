"""What the rules make of what people say."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.runtimes.offline.intents import is_chinese, load_rules, parse_intent, topic_words
from sojourn.runtimes.offline.turn_output import load_replies

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
    ("who are you", "greet", ""),
    ("are you ChatGPT?", "greet", ""),
    ("你是谁", "greet", ""),
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
    ("show session s_1", "session", "s_1"),
    ("打开会话 s_1", "session", "s_1"),
    ("find *.py", "find", "*.py"),
    ("查找 config.toml", "find", "config.toml"),
    ("search for TODO", "search", "TODO"),
    ('grep "hello world"', "search", "hello world"),
    ("搜索 TODO", "search", "TODO"),
    ("list files", "list", ""),
    ("ls", "list", ""),
    ("列出文件", "list", ""),
    ("remember that I prefer tabs", "remember", "I prefer tabs"),
    ("记住我喜欢喝茶", "remember", "我喜欢喝茶"),
    ("what do you remember about me?", "facts", ""),
    ("what did we do about the nginx timeout?", "recall", "do about the nginx timeout"),
    ("why did we choose SQLite?", "recall", "choose SQLite"),
    ("search my sessions for docker", "recall", "docker"),
    ("have we ever talked about postgres?", "recall", "about postgres"),
    ("我们之前关于数据库做了什么？", "recall", "数据库"),
    ("之前讨论过缓存吗", "recall", "缓存"),
    ("what did we do yesterday?", "recent", ""),
    ("where did we leave off?", "recent", ""),
    ("昨天做了什么", "recent", ""),
    ("summarize this repo", "agent", ""),
    ("fix the bug in main.py", "agent", ""),
    ("", "nothing", ""),
    ("Explain recursion in one paragraph", "free", "Explain recursion in one paragraph"),
    ("写一首诗", "free", "写一首诗"),
    ("how do I undo a git commit?", "free", "how do I undo a git commit?"),
]


@pytest.mark.parametrize(("said", "kind", "text"), SAID)
def test_what_was_said_is_understood(said, kind, text):
    found = parse_intent(said)
    assert (found.kind, found.text) == (kind, text)


def test_a_folder_or_a_file_is_taken_along():
    assert parse_intent("search TODO in src").where == "src"
    assert parse_intent("list files in docs").where == "docs"


@pytest.mark.parametrize("said", ["read a/b.md from 61", "read a/b.md from line 61", "读取 a/b.md 从第 61 行"])
def test_a_file_is_read_from_a_line(said):
    found = parse_intent(said)
    assert (found.kind, found.text, found.line) == ("read", "a/b.md", 61)


def test_every_kind_of_rule_can_be_reached_and_every_text_is_there_twice():
    assert {kind for kind, _ in load_rules()} >= {kind for _, kind, _ in SAID} - {"free", "nothing"}
    for name, both in load_replies().items():
        fields = [sorted(set(re.findall(r"\{(\w+)\}", both[language]))) for language in ("en", "zh")]
        assert fields[0] == fields[1], name


@given(st.text(max_size=300))
def test_whatever_is_said_there_is_an_answer(said):
    assert parse_intent(said).kind


@pytest.mark.parametrize(
    "said", ["find " + "all the " * 60, "what did we " + "a " * 240, "(" * 400, "search " + " in" * 150]
)
def test_long_requests_are_read_quickly(said):
    began = time.process_time()
    parse_intent(said)
    assert time.process_time() - began < 3


def test_what_is_long_is_free_text_unless_it_begins_like_a_request():
    assert parse_intent("what did we do about " + "x " * 400).kind == "free"
    assert parse_intent("remember " + "x " * 400).kind == "remember"


def test_chinese_is_recognised():
    assert is_chinese("你好 world")
    assert not is_chinese("hello – “world” é")


def test_the_topic_is_what_is_left_of_a_question():
    assert topic_words("do about the nginx timeout") == ["nginx", "timeout"]
    assert topic_words("什么是递归") == ["递归"]
