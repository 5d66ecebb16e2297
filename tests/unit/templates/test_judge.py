"""Did a call work? Scored on four sets of 200 labelled results, half of each held out; right on many variations."""

import json
import re
import time
from pathlib import Path

import pytest

from sojourn.templates.judge.verdict import judge

DATA = Path(__file__).parents[2] / "data"
LABELLED = DATA / "tool_results" / "labelled.jsonl"
SECOND = DATA / "tool_results_second.jsonl"
THIRD = DATA / "tool_results_third.jsonl"
FOURTH = DATA / "tool_results_fourth.jsonl"
VARIATIONS = DATA / "tool_results_variations.jsonl"
KEYWORDS = re.compile(
    r"error|fail|exception|traceback|denied|not found|timed out|错误|失败|异常|无法|拒绝", re.IGNORECASE
)
EMPTY_FIELDS = re.compile(r'"errors?"\s*:\s*(?:null|\[\])')  # or the baseline would fail on every Hermes result


def rows(half, file=LABELLED):
    found = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [one for one in found if one["half"] == half]


def said(row):
    return row["content"] if "content" in row else row["result"]


def judged(row):
    return judge(row["tool"], row["arguments"], said(row), extra=row.get("extra"), effect=row.get("effect")).success


def by_keywords(row):
    return not KEYWORDS.search(EMPTY_FIELDS.sub("", said(row)))


def share(decide, half, file=LABELLED):
    found = rows(half, file)
    return sum(decide(one) == one["success"] for one in found) / len(found)


def test_the_set_has_two_hundred_results_in_two_balanced_halves():
    halves = {half: rows(half) for half in ("tuning", "held_out")}
    assert {half: len(found) for half, found in halves.items()} == {"tuning": 100, "held_out": 100}
    for found in halves.values():
        assert {one["kind"] for one in found} == {"shell", "python", "http", "file", "web"}
        assert {one["language"] for one in found} == {"en", "zh"}
        assert 40 <= sum(one["success"] for one in found) <= 60


@pytest.mark.parametrize(
    ("file", "seen", "better"),
    [
        (LABELLED, "tuning", 0.2),
        (SECOND, "seen", 0.3),  # written apart from the judge, harder on purpose
        (THIRD, "seen", 0.2),  # recorded from real tools, apart from the judge
        (FOURTH, "seen", 0.2),  # recorded from real tools by somebody who had not seen the judge, hard on purpose
    ],
)
def test_the_judge_is_right_on_nine_of_ten_results_it_was_not_tuned_on(file, seen, better):
    halves = {half: rows(half, file) for half in (seen, "held_out")}
    assert {half: len(found) for half, found in halves.items()} == {seen: 100, "held_out": 100}
    for half, least in ((seen, 0.92), ("held_out", 0.90)):
        score, plain = share(judged, half, file), share(by_keywords, half, file)
        print(f"{file.stem}, {half}: judge {score:.0%}, keywords {plain:.0%}")
        assert score >= least
        assert score > plain + better


def test_the_judge_is_right_on_nine_of_ten_variations():
    found = [json.loads(line) for line in VARIATIONS.read_text("utf-8").splitlines()]
    right = sum(judged(one) == one["success"] for one in found)
    assert len(found) > 200
    assert right / len(found) >= 0.90


@pytest.mark.parametrize(
    ("result", "extra", "effect", "because"),
    [
        (None, None, None, "it was never answered"),
        ("fine", {"is_error": True}, None, "the transcript marks it as an error"),
        ("fine", {"ok": False}, None, "the transcript marks it as an error"),
        ("fine", None, "unknown", "it was interrupted"),
        ('{"output": "", "exit_code": 3}', None, None, "exit code 3"),
        ('{"success": false, "error": "no room"}', None, None, "it says so: no room"),
    ],
)
def test_a_verdict_says_what_it_rests_on(result, extra, effect, because):
    verdict = judge("terminal", {"command": "make"}, result, extra=extra, effect=effect)
    assert (verdict.success, verdict.because) == (False, because)


def test_a_result_of_any_size_and_depth_is_judged():
    deep = "[" * 100_000
    assert judge("terminal", {"command": "make"}, '{"output": ' + deep).success
    assert not judge("terminal", {"command": "make"}, "x\n" * 500_000 + "make: *** [all] Error 2").success


@pytest.mark.parametrize(
    "unit", [" ", "a: ", "error ", "失败", "<script ", "1/2 ", "denied by ", "{", '"', "could not be "]
)
def test_a_hostile_line_of_a_megabyte_takes_no_time(unit):
    line = unit * (1_000_000 // len(unit))
    began = time.process_time()
    for tool, arguments in (
        ("Bash", {"command": "make"}),
        ("web_fetch", {"url": "https://x"}),
        ("Edit", {}),
        ("Read", {}),
    ):
        judge(tool, arguments, line)
        judge(tool, {**arguments, "command": line, "code": line}, json.dumps({"output": line, "exit_code": 1}))
    assert time.process_time() - began < 5


def test_the_same_words_are_a_failure_of_who_runs_and_none_of_who_reads():
    words = json.dumps({"output": "Traceback (most recent call last):\nValueError: x", "exit_code": 0})
    assert not judge("terminal", {"command": "python job.py | tail"}, words).success
    assert judge("terminal", {"command": "tail app.log"}, words).success
