"""Sensitive paths: files with secrets, and files that something runs later. They are asked about every time."""

from __future__ import annotations

import re
import unicodedata

PathRules = tuple[tuple[str, str], ...]  # (what a real path looks like, why)

SECRET: PathRules = (
    (
        r"/\.(ssh|gnupg|aws|azure|kube|password-store|terraform\.d|snowflake|kaggle|electrum|bitcoin|ethereum)(/|$)",
        "keys and credentials are kept there",
    ),
    (
        r"/\.config/(gcloud|gh|op|hub|glab-cli|doctl|heroku|rclone|sops|stripe|github-copilot|bitwarden|1password)(/|$)",
        "credentials are kept there",
    ),
    (
        r"/(\.mozilla|\.thunderbird|\.config/(google-chrome|chromium|bravesoftware|microsoft-edge|vivaldi)|library/keychains"
        r"|\.local/share/keyrings|\.var/app)(/|$)",
        "passwords and sessions of your programs are kept there",
    ),
    (
        r"/\.(netrc|pgpass|git-credentials|npmrc|pypirc|docker/config\.json|[a-z_]+_history|zhistory|claude\.json|vault-token"
        r"|s3cfg|boto|my\.cnf|mylogin\.cnf|databrickscfg|cargo/credentials(\.toml)?|gem/credentials|composer/auth\.json"
        r"|local/share/fish/fish_history|config/(containers|composer)/auth\.json|cache/huggingface/token|m2/settings\.xml)$",
        "it may hold passwords",
    ),
    (
        r"/\.(claude/\.credentials|codex/auth|(gemini|qwen)/oauth_creds|local/share/opencode/auth|pi/agent/auth)\.json$",
        "another agent keeps its sign-in there",
    ),
    (r"/\.env(\.(?!example$|sample$|template$|dist$)[^/]+)?$", "environment files hold secrets"),
    (r"/(id_(rsa|dsa|ecdsa|ed25519)|[^/]+\.(pem|p12|pfx|key|kdbx|keystore))$", "it looks like a private key"),
    (r"^/etc/(shadow|gshadow|sudoers)", "system passwords and rights"),
    (r"^/proc/[^/]+/(environ|mem|cmdline|maps)$", "the memory and environment of processes"),
)
# What something else runs or obeys by itself: at a commit, at an installation, when a folder is entered or opened, on a
# build server, in another agent. The project's own sources are not listed: they run when a person runs the project.
RUNS_LATER: PathRules = (
    (
        r"/\.git(/(.+/)?(hooks/.+|config(\.worktree)?|commondir|gitdir|info/attributes))?$",
        "git runs what is written there",
    ),
    (r"/(\.gitconfig|\.gitmodules|\.githooks/.+|\.config/git/.+)$", "git runs what is written there"),
    (
        r"/(\.husky|\.lefthook(-local)?)/|/\.?lefthook(-local)?\.(ya?ml|toml|json)$|/\.pre-commit-(config|hooks)\.ya?ml$"
        r"|/(\.lintstagedrc|lint-staged\.config)[^/]*$|/\.overcommit\.yml$",
        "it runs at every commit",
    ),
    (
        r"/\.(github|gitea|forgejo)/(workflows|actions)/|/\.(circleci|buildkite|woodpecker|teamcity)/"
        r"|/\.(gitlab-ci|travis|drone|woodpecker|cirrus)\.ya?ml$|/action\.ya?ml$"
        r"|/(azure-pipelines|bitbucket-pipelines|appveyor|cloudbuild|buildspec)[^/]*\.ya?ml$|/jenkinsfile[^/]*$",
        "a build server runs it",
    ),
    (
        r"/(package\.json|\.pnpmfile\.c?js|\.yarnrc(\.ya?ml)?|\.yarn/(plugins|releases)/.+|\.cargo/config(\.toml)?|setup\.py)$",
        "a package manager runs what it says",
    ),
    (
        r"/(claude(\.local)?|agents(\.override)?|gemini|hermes|soul|skill)\.md$|/\.(cursorrules|windsurfrules|clinerules|goosehints)\b"
        r"|/\.github/(copilot-instructions\.md$|instructions/|prompts/|agents/|chatmodes/)|/\.aider\.conf\.ya?ml$"
        r"|/\.(claude|codex|gemini|cursor|windsurf|roo|kiro|opencode|hermes|agents)/|/\.sojourn/commands/|/opencode\.jsonc?$",
        "another agent obeys what it says",
    ),
    (r"/\.?mcp\.json$", "other agents start the programs it names"),
    (
        r"/\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc"
        r"|tcshrc|login|xinitrc|xprofile|xsessionrc|inputrc)$",
        "a shell runs it",
    ),
    (
        r"/(\.envrc|\.direnvrc|\.?mise(\.\w+)*\.toml|\.config/mise/.+|\.autoenv(\.zsh)?)$",
        "it runs when the folder is entered",
    ),
    (r"/\.config/(autostart|systemd|fish|environment\.d)/|/library/launch(agents|daemons)/", "it is started by itself"),
    (
        r"/\.(vscode|idea|fleet|zed|devcontainer)/|/\.devcontainer\.json$|\.code-workspace$"
        r"|/(\.exrc|\.n?vimrc|\.nvim\.lua|_vimrc|\.dir-locals(-2)?\.el|\.emacs)$|/\.(vim|emacs\.d|config/n?vim)/",
        "an editor runs what it says",
    ),
    (
        r"/(\.gdbinit|\.lldbinit|\.tmux\.conf|\.rprofile|\.irbrc|\.pryrc|\.psqlrc|\.sqliterc)$",
        "a program runs it at its start",
    ),
    (r"/(sitecustomize|usercustomize)\.py$|/[^/]+\.pth$", "Python runs it at every start"),
    (r"/(\.local/bin|node_modules/\.bin|\.?venv/bin)/", "it takes the place of a command"),
)
_INVISIBLE = "Cf"  # the category of characters that some file systems leave out of a name


def find_reason(table: PathRules, path: str) -> str:
    """Returns the first reason of a table that fits a path; empty when none does.

    The path is compared as a file system may that ignores case, forms of letters and invisible characters.
    """
    plain = path
    if not path.isascii():
        seen = "".join(one for one in path if unicodedata.category(one) != _INVISIBLE)
        plain = unicodedata.normalize("NFKC", seen).casefold()
    return next((reason for pattern, reason in table if re.search(pattern, plain, re.IGNORECASE)), "")
