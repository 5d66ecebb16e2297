"""Links between our pages lead somewhere, and every decision record has its parts."""

import re
from itertools import count
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
RECORDS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    broken = []
    for path, anchor in LINK.findall(page.read_text("utf-8")):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(f"{path}#{anchor}" if anchor else path)
    assert broken == []


def test_records_are_numbered_without_gaps():
    assert [int(record.name[:4]) for record in RECORDS] == [
        number for number, _ in zip(count(1), RECORDS, strict=False)
    ]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_has_its_number_and_says_what_was_given_up(record):
    text = record.read_text("utf-8")
    assert text.startswith(f"# {record.name[:4]} ")
    if "| package | why |" not in text:  # the table of dependencies gives a reason in each line
        assert "**Context.**" in text
        assert "**Choice.**" in text
        assert re.search(r"\*\*(What we gave up|What stays)\.\*\*", text)
