"""The page that explains how to add an importer: its example keeps the contract and is found by `import`."""

from tests.docs.examples import example_app, run_contract

PAGE = "add-an-importer.md"


def test_the_example_keeps_the_contract(tmp_path):
    run_contract(PAGE, tmp_path)


async def test_import_finds_the_example(tmp_path, home):
    diary = home.parent / ".diary"
    diary.mkdir()
    (diary / "monday.jsonl").write_text('{"at": 1763400000, "who": "me", "text": "hello"}\n')
    async with example_app(PAGE, tmp_path) as app:
        [found] = app.find_histories(source="diary")
        report = await app.import_history(found)
        assert (report.found, report.imported, report.new_messages) == (1, 1, 1)
