"""Knowledge notes: a folder of Markdown files, by section."""

import os

import pytest

from sojourn.context.notes import Notes, NoteSource, split_sections
from tests.unit.context.worlds import GUEST, request, told

NOTE = "# Garden\n\nTools are in the shed.\n\n## Tomatoes\n\nPlant tomatoes after the ice saints.\n"


@pytest.fixture
def notes(home):
    folder = home / "notes"
    folder.mkdir(parents=True)
    (folder / "garden.md").write_text(NOTE, "utf-8")
    return folder


async def noted(kit, said, principal=None):
    session = await told(kit, **({"principal": principal} if principal else {}))
    return await NoteSource(kit).contribute(await request(kit, session, said))


async def test_the_section_that_is_about_it_is_given_and_no_other(kit, notes):
    (block,) = (await noted(kit, "when do I plant tomatoes?")).blocks
    assert block.title == "Garden › Tomatoes"
    assert block.text == "Plant tomatoes after the ice saints."
    assert block.origin == "note garden.md"


async def test_a_changed_note_is_read_again_and_a_deleted_one_is_gone(kit, notes):
    await noted(kit, "plant tomatoes")
    (notes / "garden.md").write_text("# Garden\n\nTomatoes never again.\n", "utf-8")
    assert "never again" in (await noted(kit, "plant tomatoes")).blocks[0].text
    (notes / "garden.md").unlink()
    assert (await noted(kit, "plant tomatoes")).blocks == ()


async def test_guests_see_none(kit, notes):
    assert (await noted(kit, "plant tomatoes", GUEST)).blocks == ()


async def test_a_note_that_cannot_be_read_is_named(kit, notes):
    (notes / "odd.md").write_bytes(b"\xff\xfe\x00broken")
    assert (await noted(kit, "plant tomatoes")).left_out == ("note odd.md: not UTF-8 text",)


async def test_another_folder_can_be_chosen(make_kit, home):
    other = home.parent / "brain"
    other.mkdir()
    (other / "a.md").write_text("Tomatoes like sun.", "utf-8")
    (block,) = (await noted(make_kit(memory_notes="~/brain"), "tomatoes sun")).blocks
    assert block.title == "a.md"


async def test_without_a_folder_there_is_nothing_to_say(kit):
    found = await noted(kit, "plant tomatoes")
    assert (found.blocks, found.left_out) == ((), ())


async def test_a_file_that_did_not_change_is_not_read_again(kit, notes):
    shelf = Notes(kit)
    shelf.search("tomatoes")
    before = (notes / "garden.md").stat()
    (notes / "garden.md").write_text(NOTE.replace("ice saints", "ICE SAINTS"), "utf-8")
    os.utime(notes / "garden.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "ice saints" in shelf.search("tomatoes")[0][0][0].text


def test_headings_inside_code_are_text():
    (only,) = split_sections("# Shell\n```sh\n# not a heading\nls\n```\n", "a.md")
    assert only.heading == "Shell"
    assert "# not a heading" in only.text
