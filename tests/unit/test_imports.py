"""Imports are imports: laziness is kept in few typed places, and the inner packages do no I/O."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.lazy import Lazy, load_dotted

ROOT = Path(__file__).parents[2] / "sojourn"
DOTTED = re.compile(r"sojourn(\.\w+)+:\w+")
TABLES = ("__main__.py", "launch.py", "cli/command_table.py", "plugins.py", "built_in_plugins.py")
# Heavy modules that a package loads on use: SDKs, grammars, the HTML converter, pathspec, cron,
# QR codes, an HTTP client, the judge's patterns, routes of other programs' APIs, extras.
EXTRAS = {
    "sojourn.achievements.engine_hyperscan",
    "sojourn.context.embedding_server",
    "sojourn.context.word_vectors",
    "sojourn.dashboard.push_key",
    "sojourn.history_watcher",
    "sojourn.http.anthropic_messages",
    "sojourn.http.approvals",
    "sojourn.http.completions",
    "sojourn.http.metrics",
    "sojourn.http.openapi_models",
    "sojourn.http.responses",
    "sojourn.http.search",
    "sojourn.http.server",
    "sojourn.mcp_server.http_endpoint",
    "sojourn.mcp_server.server",
    "sojourn.runtimes.models.local_servers",
    "sojourn.runtimes.native.model_client",
    "sojourn.runtimes.native.model_test",
    "sojourn.schedules.recurrence",
    "sojourn.schedules.schedule_book",
    "sojourn.schedules.schedule_json",
    "sojourn.tools.mcp.server_setup",
    "sojourn.text.qr_code",
    "sojourn.runtimes.native.native_turn",
    "sojourn.runtimes.native.provider_anthropic",
    "sojourn.runtimes.native.provider_google",
    "sojourn.runtimes.native.provider_openai",
    "sojourn.runtimes.offline.engine",
    "sojourn.templates.extract",
    "sojourn.text.shell",
    "sojourn.tools.danger.rules",
    "sojourn.tools.html_text",
    "sojourn.turn_support.turn_traces",
    "sojourn.tools.mcp.hub",
    "sojourn.tools.search_worker",
}
FILE_IO = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "touch", "iterdir"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def dotted_strings(path: Path) -> Iterator[tuple[str, str]]:
    """Each dotted name in a file, and the call it is an argument of."""
    tree = ast.parse(path.read_text("utf-8"))
    inside: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            called = function.id if isinstance(function, ast.Name) else ""
            for part in (*node.args, *(keyword.value for keyword in node.keywords)):
                for child in ast.walk(part):
                    if called in ("Lazy", "Plugin"):
                        inside[id(child)] = called
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and DOTTED.fullmatch(node.value):
            yield node.value, inside.get(id(node), "")


def imported_for_types(path: Path) -> set[str]:
    """What a file imports under `TYPE_CHECKING`, as dotted names."""
    found: set[str] = set()
    for block in ast.parse(path.read_text("utf-8")).body:
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            for node in ast.walk(block):
                if isinstance(node, ast.ImportFrom):
                    found |= {f"{node.module}:{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=name_of)
def test_a_dotted_name_stands_only_in_a_typed_lazy_place(path: Path) -> None:
    package = "sojourn." + name_of(path).partition("/")[0].removesuffix(".py")
    for dotted, called in dotted_strings(path):
        if called == "Plugin":
            assert dotted.startswith(f"{package}."), f"{dotted} is a part of another package"
        else:
            assert called == "Lazy", f"{dotted}: import it"
            assert name_of(path) in TABLES or dotted.partition(":")[0] in EXTRAS, f"{dotted}: import it"
            assert dotted in imported_for_types(path), f"{dotted} is not imported under TYPE_CHECKING"


@pytest.mark.parametrize("table", TABLES)
def test_what_a_table_names_is_there(table: str) -> None:
    found = [dotted for dotted, _ in dotted_strings(ROOT / table)]
    assert found
    for dotted in found:
        assert Lazy[object](dotted).load() is load_dotted(dotted)


@pytest.mark.parametrize("package", ["core", "ports", "text"])
def test_inner_packages_read_and_write_no_files(package: str) -> None:
    found = {
        name_of(path)
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in FILE_IO
    }
    assert not found
