"""Files that something runs or obeys by itself: writing one is asked about every time, though everything is allowed."""

from __future__ import annotations

import pytest

from tests.integration.tools.tool_workspace import call, open_kit, room_in

NAMES = [
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    "sub/folder/CLAUDE.md",
    "claude.MD",
    "Agents.md",
    ".claude/settings.json",
    ".cursorrules",
    ".cursor/rules/a.mdc",
    ".github/copilot-instructions.md",
    "skills/x/SKILL.md",
    ".mcp.json",
    ".MCP.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".husky/pre-commit",
    ".husky/_/husky.sh",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "lefthook.yml",
    ".lintstagedrc.json",
    ".git/hooks/pre-commit",
    ".git/config",
    ".GIT/hooks/post-checkout",
    ".git/modules/x/hooks/post-checkout",
    ".git",
    ".gitmodules",
    ".githooks/x",
    ".github/workflows/ci.yml",
    ".GitHub/Workflows/ci.yaml",
    ".github/actions/a/action.yml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".gitea/workflows/x.yaml",
    "bitbucket-pipelines.yml",
    "package.json",
    "web/package.json",
    ".pnpmfile.cjs",
    ".yarnrc.yml",
    "setup.py",
    ".cargo/config.toml",
    ".envrc",
    ".bashrc",
    ".profile",
    ".zshenv",
    "mise.toml",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".devcontainer/devcontainer.json",
    ".idea/workspace.xml",
    "all.code-workspace",
    ".exrc",
    ".dir-locals.el",
    ".gdbinit",
    ".config/systemd/user/a.service",
    ".config/fish/config.fish",
    "sitecustomize.py",
    "lib/x.pth",
    "node_modules/.bin/tsc",
    ".venv/bin/python",
    ".local/bin/ls",
]
DISGUISED = [".g\u200cit/hooks/pre-commit", "CLAUDE\u200d.md", "\uff23\uff2c\uff21\uff35\uff24\uff25.md"]
ORDINARY = [
    "README.md",
    "notes.txt",
    "src/main.py",
    "docs/agents-and-tools.md",
    "src/package.py",
    "package.json.txt",
    "tests/test_git.py",
    "docs/claude.txt",
    "Makefile",
    ".gitignore",
    "github/workflows.md",
    "src/mcp.py",
    "data/config",
    ".github/CODEOWNERS",
    "digit/hooks.py",
]


@pytest.fixture
async def kit():
    async with open_kit(**{"tools.approval": "always"}) as made:
        yield made


@pytest.mark.parametrize("tool", ["write_file", "patch"])
async def test_writing_what_runs_later_asks_with_the_reason(tool, kit, tmp_path):
    room = await room_in(kit, tmp_path)
    room.answers = ["deny"]
    faults = []
    for name in [*NAMES, *DISGUISED]:
        before = len(room.asked)
        given = {"diff": f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"}
        told = await call(kit, room, tool, **(given if tool == "patch" else {"path": name, "content": "x"}))
        asked = room.asked[before:]
        if told.ok or [one.dangerous for one in asked] != [True] or "? " not in asked[0].text:
            faults.append((name, told.text, asked))
    assert not faults


async def test_ordinary_files_are_written_without_a_question(kit, tmp_path):
    room = await room_in(kit, tmp_path)
    told = {name: await call(kit, room, "write_file", path=name, content="x") for name in ORDINARY}
    assert not room.asked, [one.text for one in room.asked]
    assert all(one.ok for one in told.values())


async def test_a_link_does_not_hide_what_is_written(kit, tmp_path):
    room = await room_in(kit, tmp_path)
    room.answers = ["deny"]
    (room.root / ".husky").mkdir()
    (room.root / "docs").symlink_to(".husky")
    assert not (await call(kit, room, "write_file", path="docs/pre-commit", content="x")).ok
    assert "runs at every commit" in room.asked[-1].text


async def test_our_own_home_is_recognised_in_another_case(tmp_path):
    """On a file system that ignores case the name leads to our store and settings."""
    root = tmp_path / "work"
    async with open_kit(**{"tools.approval": "always", "home": str(root / ".sojourn")}) as kit:
        room = await room_in(kit, tmp_path)
        room.answers = ["deny"]
        for name in (".sojourn/config.toml", ".SOJOURN/config.toml"):
            assert not (await call(kit, room, "write_file", path=name, content="x")).ok
            assert "kept there" in room.asked[-1].text
