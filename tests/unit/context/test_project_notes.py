"""AGENTS.md and CLAUDE.md: which are read, and which are not."""

from types import SimpleNamespace

from sojourn.context.project_notes import MAX_FILE_BYTES, ProjectNotesSource, read_project_notes
from sojourn.core.sessions import Principal, Session, SessionId
from sojourn.ports.context import ContextRequest


def read(folder, home):
    return [
        (path.relative_to(home.parent).as_posix(), text) for path, text in read_project_notes(folder, home, home.parent)
    ]


def test_notes_of_the_folder_and_of_those_above_up_to_the_repository(tmp_path):
    home, repo = tmp_path / ".sojourn", tmp_path / "code" / "repo"
    (repo / "sub").mkdir(parents=True)
    (repo / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("of the user, not of the project")
    (repo.parent / "AGENTS.md").write_text("outside of the repository")
    (repo / "AGENTS.md").write_text("use tabs\n")
    (repo / "CLAUDE.md").write_text("passed over: AGENTS.md is there")
    (repo / "sub" / "CLAUDE.md").write_text("use spaces here")
    assert read(repo / "sub", home) == [
        ("code/repo/AGENTS.md", "use tabs"),
        ("code/repo/sub/CLAUDE.md", "use spaces here"),
    ]


def test_links_long_files_and_our_own_home(tmp_path):
    home, folder = tmp_path / ".sojourn", tmp_path / "work"
    (home / "workspace").mkdir(parents=True)
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "AGENTS.md").symlink_to(tmp_path / "secret")
    (folder / "CLAUDE.md").write_text("x" * (MAX_FILE_BYTES + 10))
    (home / "AGENTS.md").write_text("ours")
    ((path, text),) = read(folder, home)
    assert (path, len(text) < MAX_FILE_BYTES + 50, text.endswith("left out]")) == ("work/CLAUDE.md", True, True)
    assert read(home / "workspace", home) == []


async def test_notes_count_as_text_by_others_and_guests_get_none(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("use tabs")
    source = ProjectNotesSource(SimpleNamespace(settings=SimpleNamespace(home=tmp_path / "h", user_home=tmp_path)))
    mine = Session(id=SessionId("s"), cwd=str(tmp_path / "work"))
    guests = Session(id=SessionId("g"), cwd=str(tmp_path / "work"), principal=Principal("guest"))
    (block,) = (await source.contribute(ContextRequest(session=mine, said="x"))).blocks
    assert (block.text, block.origins) == ("use tabs", ("foreign",))
    assert (await source.contribute(ContextRequest(session=guests, said="x"))).blocks == ()
