"""Sandbox policy: what a confined program may read, write and reach, and its limits."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# Places of the system that hold no personal data. /etc is listed entry by entry, without those of _ETC_SECRETS.
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/snap", "/proc", "/sys"),
    *("/var/lib/dpkg", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf"),
    *("/System", "/Library", "/private/etc", "/dev/urandom", "/dev/random"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_TERMINALS = ("/dev/ptmx", "/dev/pts")
_ETC_SECRETS = (
    *(
        "shadow",
        "shadow-",
        "gshadow",
        "gshadow-",
        "sudoers",
        "sudoers.d",
        "ssh",
        "ipsec.d",
        "ipsec.secrets",
        "wireguard",
    ),
    *("openvpn", "kubernetes", "docker", "NetworkManager", "krb5.keytab", "crypttab", "letsencrypt", "ppp"),
)
SYSTEM_SECRETS = tuple(map(Path, ("/etc/ssl/private", "/etc/pki/tls/private", "/etc/mysql/debian.cnf")))
# Tools and caches below a person's home, without the files beside them that hold tokens.
_TOOL_FOLDERS = (
    *(".pyenv", ".nvm", ".asdf", ".sdkman", ".rustup", ".bun/bin", ".deno/bin", ".volta", "go/bin", "go/pkg"),
    *(".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/config.toml", ".cargo/env", ".npm/_cacache"),
    *(".local/bin", ".local/lib", ".local/share/uv", ".local/share/mise", ".local/pipx", ".m2/repository"),
    *(".gradle/caches", ".gradle/wrapper", ".cache/pip", ".cache/uv", ".cache/go-build", ".cache/yarn"),
    *("miniconda3", "anaconda3", "miniforge3", ".conda/pkgs"),
)
# Below a person's home; hidden even where the workspace contains them.
_SECRET_PLACES = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".netrc", ".pgpass", ".npmrc"),
    *(".pypirc", ".git-credentials", ".config/gcloud", ".config/gh", ".config/op", ".config/git/credentials"),
    *(".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".mozilla", ".thunderbird"),
    *(".config/google-chrome", ".config/chromium", ".local/share/keyrings", ".bash_history", ".zsh_history"),
    *(".python_history", ".psql_history", ".hermes", ".claude", ".codex", ".gemini", ".local/share/opencode"),
    *(
        ".claude.json",
        ".config/Claude",
        ".config/anthropic",
        ".qwen",
        ".kimi",
        ".grok",
        ".vibe",
        ".openclaw",
        ".copilot",
    ),
    *(
        ".config/github-copilot",
        ".config/goose",
        ".config/io.datasette.llm",
        ".cache/huggingface/token",
        ".huggingface",
    ),
    *(
        ".config/hub",
        ".config/glab-cli",
        ".config/doctl",
        ".config/heroku",
        ".config/rclone",
        ".config/sops",
        ".kaggle",
    ),
    *(".config/stripe", ".config/containers/auth.json", ".config/composer/auth.json", ".composer/auth.json", ".fly"),
    *(".vault-token", ".terraform.d", ".s3cfg", ".boto", ".my.cnf", ".mylogin.cnf", ".databrickscfg", ".snowflake"),
    *(".gem/credentials", ".bundle/config", ".nuget/NuGet/NuGet.Config", ".cargo/credentials", ".Xauthority"),
    *(
        ".config/BraveSoftware",
        ".config/microsoft-edge",
        ".config/vivaldi",
        ".var/app",
        "snap/firefox",
        "snap/chromium",
    ),
    *(
        ".config/Bitwarden",
        ".config/1Password",
        ".config/keepassxc",
        ".electrum",
        ".bitcoin",
        ".ethereum",
        ".config/Slack",
    ),
    *(
        ".config/discord",
        ".config/Signal",
        ".local/share/TelegramDesktop",
        ".local/share/fish/fish_history",
        ".zhistory",
    ),
    *(".mysql_history", ".sqlite_history", ".node_repl_history", ".rediscli_history"),
    *("Library/Keychains", "Library/Application Support/Google/Chrome"),
)
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Limits of a program and everything it starts; 0 sets none. File size, open files and CPU are per process."""

    processes: int = 1024  # and threads
    memory_mib: int = 8192
    seconds: float = 0
    file_mib: int = 2048  # of the largest file it may write
    open_files: int = 4096
    cpu_seconds: int = 0
    memory_setting: str = "tools.memory_mb"  # what a person is told to change


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPolicy:
    """What a program may do. `hidden` are places that stay out of reach though they lie below a readable one."""

    read: tuple[Path, ...]
    write: tuple[Path, ...]
    hidden: tuple[Path, ...] = ()
    temporary: Path | None = None  # its own folder; `write` has it too
    network: bool = False
    limits: SandboxLimits = SandboxLimits()


def build_policy(
    workspace: Path,
    temporary: Path,
    *,
    sojourn_home: Path,
    user_home: Path,
    more_read: tuple[Path, ...] = (),
    more_write: tuple[Path, ...] = (),
    network: bool = False,
    limits: SandboxLimits | None = None,
) -> SandboxPolicy:
    """The policy of a program that works in a workspace.

    It reads the workspace, the system and tool caches; it writes the workspace, `temporary` and `more_write`. Our own
    home and places that hold secrets stay hidden, except for a workspace that lies inside our home.
    """
    named = [sojourn_home, *(user_home / name for name in _SECRET_PLACES), *SYSTEM_SECRETS]
    hidden = dict.fromkeys([*named, *(one.resolve() for one in named)])  # a place may be a link to where the keys are
    granted = [workspace, temporary, *more_read, *more_write]
    return SandboxPolicy(
        read=tuple(dict.fromkeys([*_list_system(), *(user_home / name for name in _TOOL_FOLDERS), *more_read])),
        write=tuple(dict.fromkeys([workspace, temporary, *more_write])),
        hidden=tuple(one for one in hidden if not any(_is_inside(other, one) for other in granted)),
        temporary=temporary,
        network=network,
        limits=limits or SandboxLimits(),
    )


def confined_environment(environment: Mapping[str, str], temporary: Path) -> dict[str, str]:
    """An environment whose temporary folder is the sandbox's, and whose tools do not look for unreadable files."""
    return {
        **environment,
        "TMPDIR": str(temporary),
        "GIT_CONFIG_GLOBAL": str(temporary / "gitconfig"),
        "NPM_CONFIG_USERCONFIG": os.devnull,
        "npm_config_cache": str(temporary / "npm"),
    }


def split_around(folder: Path, hidden: tuple[Path, ...]) -> Iterator[Path]:
    """The entries below a folder that contain none of the hidden places: rules that leave those places out."""
    inside = [one for one in hidden if _is_inside(one, folder)]
    if not inside:
        yield folder
        return
    if folder in inside:
        return
    for child in sorted(folder.iterdir()):
        if not child.is_symlink():  # a rule for a link would grant what it leads to
            yield from split_around(child, hidden)


def find_inside(places: Iterable[Path], folders: Iterable[Path]) -> tuple[Path, ...]:
    """Those places that are one of the folders, or lie below one. Asked for every command, so it looks each up once."""
    known = frozenset(folders)
    return tuple(one for one in places if not known.isdisjoint((one, *one.parents)))


def writable_devices(*, terminals: bool) -> tuple[Path, ...]:
    """terminals: makes terminals of its own; only where it does not see those in which a person types."""
    return tuple(Path(one) for one in (*_DEVICES, *(_TERMINALS if terminals else ())))


def _list_system() -> Iterator[Path]:
    yield from (Path(one) for one in _SYSTEM)
    yield Path(sys.base_prefix)
    yield Path(sys.prefix)
    yield from list_configuration()


def list_configuration() -> Iterator[Path]:
    """The entries of /etc that hold no secrets."""
    try:
        yield from (child for child in Path("/etc").iterdir() if child.name not in _ETC_SECRETS)
    except OSError:
        return


def _is_inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
