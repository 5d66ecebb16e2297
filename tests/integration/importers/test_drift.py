"""`make drift` finds a change of a program's history, on what the real programs wrote."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.witnesses.drift import PROGRAMS, SCHEMAS
from tests.witnesses.history_schema import compare_schemas, read_schema

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "sources"
NATIVE = {"claude": "claude-code/2.1.325", "codex": "codex/0.166.0"}


@pytest.fixture(params=NATIVE)
def files(request, tmp_path):
    """A copy of what a program wrote."""
    shutil.copytree(FIXTURES / NATIVE[request.param], tmp_path, dirs_exist_ok=True)
    return [path for pattern in PROGRAMS[request.param].files for path in sorted(tmp_path.glob(pattern))]


def edit(path, change):
    """Changes each record of a file of JSON lines."""
    records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    path.write_text("".join(json.dumps(change(one)) + "\n" for one in records))


def rename(record, old, new):
    return {new if key == old else key: value for key, value in record.items()}


def test_what_did_not_change_has_no_difference(files):
    assert files
    assert compare_schemas(read_schema(files), read_schema(files)) == []


def test_a_renamed_field_is_found(files):
    before = read_schema(files)
    edit(files[0], lambda record: rename(record, "timestamp", "occurredAt"))
    differences = compare_schemas(before, read_schema(files[:1]))
    assert any(line.startswith("+") and ".occurredAt" in line for line in differences)
    assert any(line.startswith("-") and ".timestamp" in line for line in differences)


def test_a_field_of_another_type_is_found(files):
    before = read_schema(files)
    edit(files[0], lambda record: record | {"timestamp": 1.5})
    differences = compare_schemas(before, read_schema(files))
    assert any(line.startswith("~") and "timestamp" in line and "float" in line for line in differences)


def test_a_new_kind_of_record_is_found(files):
    before = read_schema(files)
    with files[0].open("a") as file:
        file.write('{"type": "hologram", "angle": 1}\n')
    assert any("hologram" in line for line in compare_schemas(before, read_schema(files)))


def test_a_new_column_and_a_new_field_in_a_row_are_found(tmp_path):
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE message (id TEXT, data TEXT)")
        db.execute("INSERT INTO message VALUES ('m', ?)", (json.dumps({"role": "user", "time": 1}),))
    before = read_schema([path])
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE message ADD COLUMN mood TEXT")
        db.execute("UPDATE message SET data = ?", (json.dumps({"role": "user", "time": 1, "place": "x"}),))
    assert compare_schemas(before, read_schema([path])) == ["+ message.data:user.place (str)", "+ message.mood (str)"]


def test_each_program_has_a_recorded_schema_that_holds_names_of_fields_alone():
    for name in PROGRAMS:
        text = (SCHEMAS / f"{name}.json").read_text()
        assert json.loads(text)
        assert not any(word in text for word in ("/tmp", "/dev/", "/root", "/home", "drift-"))
