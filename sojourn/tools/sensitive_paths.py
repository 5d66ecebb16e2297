"""Sensitive paths: files with secrets, and files that something runs later. They are asked about every time."""

from __future__ import annotations

import re

PathRules = tuple[tuple[str, str], ...]  # (what a real path looks like, why)

SECRET: PathRules = (
    (r"/\.(ssh|gnupg|aws|azure|kube|password-store)(/|$)", "keys and credentials are kept there"),
    (r"/\.config/(gcloud|gh|op)(/|$)", "credentials are kept there"),
    (
        r"/\.(netrc|pgpass|git-credentials|npmrc|pypirc|docker/config\.json|bash_history|zsh_history)$",
        "it may hold passwords",
    ),
    (r"/\.env(\.(?!example$|sample$|template$|dist$)[^/]+)?$", "environment files hold secrets"),
    (r"/(id_(rsa|dsa|ecdsa|ed25519)|[^/]+\.(pem|p12|pfx|key|kdbx|keystore))$", "it looks like a private key"),
    (r"^/etc/(shadow|gshadow|sudoers)", "system passwords and rights"),
    (r"^/proc/[^/]+/(environ|mem|cmdline|maps)$", "the memory and environment of processes"),
)
RUNS_LATER: PathRules = (
    (r"/\.git/(hooks/|config$)", "git runs what is written there"),
    (
        r"/\.(bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin|envrc|inputrc)$",
        "a shell runs it",
    ),
    (r"/\.config/(autostart|systemd|fish)/", "it is started by itself"),
    (r"/(\.vscode/(tasks|settings|launch)|\.idea/workspace)\b", "an editor runs what it says"),
    (r"/\.(claude|codex|gemini|cursor)/", "another agent obeys what it says"),
    (r"/(sitecustomize|usercustomize)\.py$|/[^/]+\.pth$", "Python runs it at every start"),
)


def find_reason(table: PathRules, path: str) -> str:
    """Returns the first reason of a table that fits a path; empty when none does."""
    return next((reason for pattern, reason in table if re.search(pattern, path, re.IGNORECASE)), "")
