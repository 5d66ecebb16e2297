"""What commands cannot read, the tools that read files ask about; ordinary files of a project are neither."""

import pytest

from sojourn.sandbox.policy import _SECRET_PLACES
from sojourn.tools.sensitive_paths import SECRET, find_reason

# Folders of programs, where projects have files of the same name: below them only some files are asked about.
MIXED = {
    *(
        ".docker",
        ".hermes",
        ".claude",
        ".codex",
        ".gemini",
        ".local/share/opencode",
        ".config/Claude",
        ".config/anthropic",
    ),
    *(".qwen", ".kimi", ".grok", ".vibe", ".openclaw", ".copilot", ".config/goose", ".config/io.datasette.llm", ".fly"),
    *(".huggingface", ".bundle/config", ".nuget/NuGet/NuGet.Config", ".Xauthority", ".gradle/gradle.properties"),
    *(
        "snap/firefox",
        "snap/chromium",
        ".config/git/credentials",
        ".config/keepassxc",
        ".config/Slack",
        ".config/discord",
    ),
    *(".config/Signal", ".local/share/TelegramDesktop", "Library/Application Support/Google/Chrome"),
}


@pytest.mark.parametrize("place", sorted(set(_SECRET_PLACES) - MIXED))
def test_a_place_that_commands_cannot_read_is_asked_about(place):
    assert find_reason(SECRET, f"/home/ann/{place}")


@pytest.mark.parametrize(
    "file",
    [
        ".claude/.credentials.json",
        ".codex/auth.json",
        ".gemini/oauth_creds.json",
        ".docker/config.json",
        ".mozilla/firefox/x.default/logins.json",
        ".config/google-chrome/Default/Cookies",
        ".CLAUDE.json",
    ],
)
def test_sign_ins_of_other_programs_are_asked_about(file):
    assert find_reason(SECRET, f"/home/ann/{file}")


@pytest.mark.parametrize(
    "file",
    [
        ".claude/settings.json",
        ".codex/config.toml",
        ".github/workflows/ci.yml",
        "src/bash_history.py",
        "docs/history.md",
        "tests/auth.json",
        "composer.json",
        "chromium/README.md",
        ".config/app.toml",
        ".env.example",
    ],
)
def test_ordinary_files_of_a_project_are_read(file):
    assert find_reason(SECRET, f"/home/ann/project/{file}") == ""
