"""One contract, two libraries: files in a folder, records in a store."""

import json
import os
import stat

import pytest

from sojourn.core.errors import BadInput
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.templates.file_library import FolderLibrary
from sojourn.templates.library import About
from sojourn.templates.model import TaskType
from sojourn.templates.record_library import RecordLibrary
from sojourn.templates.relevance import choose_template
from sojourn.text.redaction import redact
from tests.unit.templates.library_contract import LibraryContract, kept


class TestFolder(LibraryContract):
    @pytest.fixture
    def library(self, tmp_path):
        return FolderLibrary(tmp_path / "session-templates")


class TestRecordsInSqlite(LibraryContract):
    @pytest.fixture
    async def library(self, tmp_path):
        store = SqliteStore(tmp_path / "state.db", redactor=redact)
        yield RecordLibrary(store)
        await store.close()


async def test_a_file_that_cannot_be_read_is_named_and_hides_nothing(tmp_path):
    library = FolderLibrary(tmp_path)
    await library.save(kept("good"))
    (tmp_path / "torn.json").write_text('{"name": "torn", "exa')
    (tmp_path / "other.json").write_text("[]")
    (tmp_path / "far.json").write_text('{"name": "far", "created_at": %s}' % ("9" * 400))
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    shelf = await library.all()
    assert [one.template.name for one in shelf.stored] == ["good"]
    assert [one.name for one in shelf.unreadable] == ["binary", "far", "other", "torn"]
    assert "torn.json is not valid JSON" in shelf.unreadable[3].problem
    with pytest.raises(BadInput, match=r"torn\.json"):
        await library.get("torn")


async def test_a_file_that_another_program_named_is_used_and_deleted_like_any(tmp_path):
    library, name = FolderLibrary(tmp_path), "Ada's template! (1)"
    (tmp_path / f"{name}.json").write_text(json.dumps(kept(name).template.to_dict()))
    [listed] = (await library.all()).stored
    assert (await library.get(listed.template.name)).template.usage_count == 0
    assert await library.count_use(name) == 1
    assert await library.delete(name)
    with pytest.raises(BadInput):
        await library.save(kept(name))  # we make no such names


async def test_a_template_is_one_plain_file_with_indent_two_that_only_its_owner_reads(tmp_path):
    folder = tmp_path / "session-templates"
    await FolderLibrary(folder).save(kept("a"))
    file = folder / "a.json"
    assert file.read_text() == json.dumps(kept("a").template.to_dict(), indent=2)
    assert [one.name for one in folder.glob("*.json")] == ["a.json"]
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_save_that_fails_leaves_the_old_file_whole(tmp_path, monkeypatch):
    library = FolderLibrary(tmp_path)
    await library.save(kept("a", used=3))
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(Exception, match="No space left"):
        await library.save(kept("a", used=4), replace=True)
    assert (await library.get("a")).template.usage_count == 3
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".new-")]


async def test_the_file_name_is_the_name_whatever_the_text_says(tmp_path):
    (tmp_path / "real.json").write_text(json.dumps(kept("../elsewhere").template.to_dict()))
    [found] = (await FolderLibrary(tmp_path).all()).stored
    assert found.template.name == "real"


def test_the_less_used_is_chosen_and_among_equals_the_better_proven():
    proven = About(sessions=("1", "2", "3"))
    much, few, best = kept("much", used=2), kept("few", used=1), kept("best", used=1, about=proven)
    empty, other = kept("empty", used=0, examples=0), kept("other", TaskType.FILE)
    assert choose_template([much, few, best, empty, other], "code").template.name == "best"
    assert choose_template([much, empty], TaskType.CODE).template.name == "much"
    assert choose_template([much], TaskType.RESEARCH) is None
