"""A bench result says on which commit, machine and date it was measured, or it is refused."""

import json

import pytest

from bench.report import RESULTS, find_missing_provenance, limit, save_result


def test_every_kept_result_says_where_it_comes_from():
    assert find_missing_provenance() == []


def test_there_are_results():
    assert len(list(RESULTS.glob("*.json"))) > 10


def test_what_the_writer_saves_is_accepted(tmp_path):
    save_result("example", [limit("a wait", 3, "ms", most=5)], folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["example.json", "example.md"]
    assert find_missing_provenance(tmp_path) == []


@pytest.mark.parametrize("field", ["commit", "date", "machine"])
def test_a_result_that_lacks_one_is_refused(tmp_path, field):
    whole = {"commit": "794e14a", "date": "2026-11-17 05:06 UTC", "machine": "2 cores, x86_64, Linux, 3.11.7"}
    (tmp_path / "good.json").write_text(json.dumps(whole))
    (tmp_path / "bad.json").write_text(json.dumps({**whole, field: ""}))
    head = f"# x\n\ncommit {whole['commit']} · {whole['date']} · {whole['machine']}\n\n| |\n"
    (tmp_path / "good.md").write_text(head)
    (tmp_path / "bad.md").write_text(head.replace(whole[field], "unknown"))
    assert find_missing_provenance(tmp_path) == ["bad.json", "bad.md"]
