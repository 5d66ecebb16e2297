"""The promises the repository makes about itself."""

import os
import re
import socket
import subprocess
import tomllib
from importlib.metadata import Distribution, distribution, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import sojourn
from sojourn.optional_packages import list_requirements

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements/boot.lock", "requirements/run.lock", "requirements/dev.lock")
PIN = re.compile(r"^([a-z0-9._-]+)==(\S+)", re.MULTILINE)

# Joined here, so that this file does not name what it looks for.
REGISTRIES = tuple(
    ".".join(name)
    for name in [("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("deb", "debian", "org")]
)
MACHINE = tuple("/" + "/".join(path) for path in [("work", "main"), ("opt", "pypi"), ("root", ".pyenv")])


def committed_files() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / lock).read_text()))


@pytest.mark.parametrize("needles", [REGISTRIES, MACHINE], ids=["registry", "machine"])
def test_no_committed_file_names_where_it_was_made(needles):
    found = [
        f"{path.relative_to(ROOT)}: {needle}"
        for path in committed_files()
        for needle in needles
        if needle.encode() in path.read_bytes()
    ]
    assert not found


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_pins_every_package_by_hash_and_records_no_address(lock):
    text = (ROOT / lock).read_text()
    packages = re.split(r"\n(?=\S)", re.sub(r"(?m)^ *#.*\n", "", text).strip())
    assert packages
    assert [p for p in packages if not re.match(r"[a-z0-9._-]+==\S+ .*\\\n +--hash=sha256:", p)] == []
    assert "://" not in text


def test_what_is_tested_is_what_runs():
    assert pins("requirements/run.lock").items() <= pins("requirements/dev.lock").items()


def test_locks_satisfy_the_project_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {
        "requirements/run.lock": [
            *project["dependencies"],
            *(need for name in ("scan", "anthropic", "google", "mcp", "postgres") for need in extras[name]),
        ],
        "requirements/dev.lock": [need for need in extras["dev"] if not need.startswith("sojourn")],
    }
    for lock, needs in wanted.items():
        have = pins(lock)
        for need in map(Requirement, needs):
            assert need.specifier.contains(have[canonicalize_name(need.name)]), f"{lock} lags behind {need}: make lock"


CORE_PACKAGES, CORE_BYTES = 65, 200_000_000


def find_core() -> dict[str, Distribution]:
    """What `pip install sojourn` without an extra brings, by name; from the metadata of what is installed here."""
    found: dict[str, Distribution] = {}
    waiting: list[tuple[str, frozenset[str]]] = [("sojourn", frozenset())]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        found[name] = distribution(name)
        for need in map(Requirement, found[name].requires or []):
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in (extras or {""})):
                one = (canonicalize_name(need.name), frozenset(need.extras))
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)
    return found


def test_the_core_stays_small():
    core = find_core()
    sizes = {name: sum(file.size or 0 for file in one.files or []) for name, one in core.items() if name != "sojourn"}
    ours = sum(path.stat().st_size for path in (ROOT / "sojourn").rglob("*") if path.is_file())
    assert {"openai", "fastapi", "pydantic-ai-slim"} <= set(core)
    assert not {"anthropic", "google-genai", "mcp", "hyperscan", "wordllama", "opentelemetry-sdk"} & set(core)
    assert len(core) <= CORE_PACKAGES
    assert sum(sizes.values()) + ours <= CORE_BYTES


def test_a_former_name_of_an_extra_still_counts():
    declared = requires("sojourn") or []
    assert list_requirements("speed", declared) == list_requirements("scan", declared) != []


def test_the_container_is_for_one_machine_and_never_writes_into_a_history():
    service = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["sojourn"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    mounts = [one for one in service["volumes"] if not isinstance(one, str)]
    assert mounts
    assert all(one["read_only"] and one["bind"] == {"create_host_path": False} for one in mounts)
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    assert "USER $UID" in lines


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_version_is_the_newest_in_the_changelog():
    headings = re.findall(r"^## (.+)", changelog(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(sojourn.__version__)}\] - \d{{4}}-\d\d-\d\d", headings[1])


def test_every_version_of_the_changelog_has_its_date_and_known_sections():
    for version in re.split(r"^## ", changelog(), flags=re.MULTILINE)[1:]:
        assert re.match(r"\[Unreleased\]\n|\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d\n", version)
        sections = re.findall(r"^### (.+)", version, re.MULTILINE)
        assert sections == [one for one in ("Added", "Changed", "Removed", "Fixed") if one in sections]


def test_ci_runs_recipes_that_exist():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    called = set(re.findall(r"run: make ([a-z0-9]+)", workflow))
    recipes = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert called
    assert called <= recipes
    assert {"3.11", "3.12", "3.13", "3.14"} <= set(re.findall(r'"(3\.\d+)"', workflow))
    assert {"ubuntu-latest", "macos-latest", "windows-latest"} <= set(re.findall(r"\w+-latest", workflow))


def test_plain_make_lists_every_recipe():
    makefile = (ROOT / "Makefile").read_text()
    recipes = set(re.findall(r"^([a-z0-9]+):", makefile, re.MULTILINE))
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[0] for line in listed.splitlines() if len(line.split()) > 1} == recipes
    assert recipes >= {
        "run",
        "test",
        "unit",
        "check",
        "contracts",
        "e2e",
        "browser",
        "bench",
        "soak",
        "shape",
        "coverage",
    }


@pytest.mark.parametrize("script", [".ci/run", "scripts/bootstrap", "scripts/lock", "scripts/need"])
def test_scripts_can_be_started(script):
    assert os.access(ROOT / script, os.X_OK)


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.invalid"])
def test_a_test_cannot_leave_this_machine(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as out, pytest.raises(RuntimeError, match=re.escape(host)):
        out.connect((host, 80))


def test_a_test_can_talk_to_itself():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_a_test_has_an_empty_home_of_its_own(home):
    assert os.environ["SOJOURN_HOME"] == str(home)
    assert Path.home() == home.parent
    assert list(home.parent.iterdir()) == []
