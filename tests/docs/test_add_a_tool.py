"""The page that explains how to add a tool: its example is offered, asks first, and runs."""

from sojourn.core.provenance import Provenance
from sojourn.ports.service import Caller
from sojourn.ports.tool import Question, Reply
from tests.docs.examples import example_app

PAGE = "add-a-tool.md"


class Folder:
    """A workspace in a temporary folder, whose person allows everything."""

    turn, principal = "t", "owner"
    seconds, most = 10.0, 1000
    provenance = Provenance()

    def __init__(self, root, session):
        self.root, self.session, self.asked = root, session, []

    async def ask(self, question: Question) -> Reply:
        self.asked.append(question.tool)
        return Reply(choice="once", by="ann")

    def tell(self, line: str) -> None:
        """No screen here."""


async def test_the_example_asks_and_writes(tmp_path):
    async with example_app(PAGE, tmp_path) as app:
        [tool] = [one for one in app.tools() if one.name == "append_note"]
        assert tool.parameters["required"] == ["line"]
        opened = await app.service.open(Caller(surface="cli"))  # a session has a permission mode
        at = Folder(tmp_path, opened.id)
        result = await tool.run(at, {"line": "the roses bloom"})
        assert result.ok
        assert at.asked == ["append_note"]
        assert (tmp_path / "notes.md").read_text() == "the roses bloom\n"
