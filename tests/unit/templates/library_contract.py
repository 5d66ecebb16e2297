"""What every library of templates does, whatever it is made of."""

import asyncio
from dataclasses import replace

import pytest

from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.templates.library import About, StoredTemplate
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample

ABOUT = About(requests=("build it",), sessions=("s1", "s2"), shape="a → b")


def kept(name="a", kind=TaskType.CODE, made=100.0, used=0, about=ABOUT, examples=1):
    found = [ToolCallExample("execute_code", {"code": "1"}, "1")] * examples
    return StoredTemplate(SessionTemplate(name, kind, list(found), created_at=made, usage_count=used), about)


class LibraryContract:
    async def test_what_is_saved_comes_back(self, library):
        await library.save(kept("测试 one"))
        found = await library.get("测试 one")
        assert (found.template.to_dict(), found.about) == (kept("测试 one").template.to_dict(), ABOUT)

    async def test_lists_are_newest_first(self, library):
        for name, made in (("old", 1.0), ("new", 3.0), ("middle", 2.0)):
            await library.save(kept(name, made=made))
        assert [one.template.name for one in (await library.all()).stored] == ["new", "middle", "old"]

    async def test_a_taken_name_is_not_overwritten_unless_asked(self, library):
        await library.save(kept("a", used=7))
        with pytest.raises(Conflict, match='already a template "a"'):
            await library.save(kept("a"))
        assert (await library.get("a")).template.usage_count == 7
        await library.save(kept("a"), replace=True)
        assert (await library.get("a")).template.usage_count == 0

    async def test_deleting_says_whether_it_was_there(self, library):
        await library.save(kept("a"))
        assert [await library.delete("a"), await library.delete("a")] == [True, False]
        with pytest.raises(NotFound, match='no template "a"'):
            await library.get("a")
        assert list((await library.all()).stored) == []

    async def test_uses_at_the_same_moment_are_all_counted(self, library):
        await library.save(kept("a", used=5))
        counts = await asyncio.gather(*(library.count_use("a") for _ in range(20)))
        assert sorted(counts) == list(range(6, 26))
        assert (await library.get("a")).template.usage_count == 25
        assert (await library.get("a")).about == ABOUT

    async def test_a_use_while_somebody_edits_is_not_lost(self, library):
        await library.save(kept("a"))

        def edited(old):
            return replace(old, template=replace(old.template, description="better"))

        await asyncio.gather(
            *(library.count_use("a") for _ in range(10)), *(library.change("a", edited) for _ in "1234")
        )
        found = await library.get("a")
        assert (found.template.usage_count, found.template.description, found.about) == (10, "better", ABOUT)

    async def test_a_change_may_rename_but_takes_no_name_away(self, library):
        await library.save(kept("a", used=3))
        await library.save(kept("b"))

        def named(name):
            return lambda old: replace(old, template=replace(old.template, name=name))

        with pytest.raises(Conflict, match='already a template "b"'):
            await library.change("a", named("b"))
        await library.change("a", named("c"))
        assert sorted(one.template.name for one in (await library.all()).stored) == ["b", "c"]
        assert ((await library.get("c")).template.usage_count, (await library.get("c")).about) == (3, ABOUT)
        with pytest.raises(BadInput):
            await library.change("c", named("../x"))

    async def test_using_what_is_not_there_is_said(self, library):
        with pytest.raises(NotFound):
            await library.count_use("a")

    @pytest.mark.parametrize("name", ["../x", "nul\x00", "a" * 300])
    async def test_a_hostile_name_reaches_nothing(self, library, name):
        for step in (
            library.get(name),
            library.delete(name),
            library.count_use(name),
            library.save(kept(name)),
            library.change(name, lambda old: old),
        ):
            with pytest.raises(BadInput):
                await step

    async def test_notes_are_kept_replaced_and_taken_away(self, library):
        await library.note("suggestion", "a/b → c", {"n": 1})
        await library.note("suggestion", "a/b → c", {"n": 2})
        assert await library.notes("suggestion") == {"a/b → c": {"n": 2}}
        assert await library.notes("outcome") == {}
        await library.note("suggestion", "a/b → c", None)
        assert await library.notes("suggestion") == {}
