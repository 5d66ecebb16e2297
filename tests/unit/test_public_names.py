"""Names that others were promised: they stay, whatever else is renamed."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from sojourn.settings.table import SETTINGS

ROOT = Path(__file__).parents[2]
PUBLIC = {
    "sojourn.achievements.scan": ["scan_sessions"],
    "sojourn.achievements.snapshot": [
        "build_snapshot",
        "SnapshotStore.get",
        "SnapshotStore.set",
        "SnapshotStore.is_stale",
    ],
    "sojourn.achievements.coordinator": ["ScanCoordinator.run_if_needed", "ScanCoordinator.get_status"],
    "sojourn.templates": ["SessionTemplate", "SessionTemplates", "TaskType", "ToolCallExample"],
    "sojourn.templates.session_templates": [
        "SessionTemplate",
        "SessionTemplates",
        "TaskType",
        "ToolCallExample",
        "DEFAULT_TEMPLATE_DIR",
        "main",
    ],
    "sojourn.service.agent": ["AgentService"],
    "sojourn.runtimes.hermes.runtime": ["HermesRuntimeAdapter"],
    "sojourn.runtimes.native.runtime": ["NativeRuntimeAdapter"],
    "sojourn.ports.handoffs": [
        "HandoffStore.request_handoff",
        "HandoffStore.get_handoff_state",
        "HandoffStore.list_pending_handoffs",
        "HandoffStore.claim_handoff",
        "HandoffStore.complete_handoff",
        "HandoffStore.fail_handoff",
    ],
    "sojourn.ports.platform": ["CanThread.create_handoff_thread"],
    "sojourn.core.places": ["build_session_key"],
}
NAMES = [f"{module}:{name}" for module, names in PUBLIC.items() for name in names]
PLUGIN_CASES = 25  # test functions of test_achievements_plugin.py


def load(dotted: str) -> object:
    module, _, path = dotted.partition(":")
    found: object = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_promised_name_is_there(name):
    assert load(name) is not None


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sojourn.achievements.scan:scan_sessions", {"limit", "progress_callback", "progress_every"}),
        ("sojourn.core.places:build_session_key", {"thread_sessions_per_user"}),
    ],
)
def test_a_promised_function_has_its_parameters(name, parameters):
    function = load(name)
    assert callable(function)
    assert parameters <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", ["templates", "template_dir"])
def test_session_templates_offers_what_its_callers_use(name, tmp_path):
    templates = import_module("sojourn.templates").SessionTemplates(tmp_path)
    assert hasattr(templates, name)


def test_the_setting_for_threads_keeps_its_name():
    assert "gateway.thread_sessions_per_user" in {one.name for one in SETTINGS}


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("conversationApi.ts", r"export const conversationApi = \{(.|\n)*\bchatStream\("),
        ("useChatView.ts", r"export function useChatView\("),
    ],
)
def test_the_pages_keep_their_names(file, pattern):
    [path] = (ROOT / "web" / "src").rglob(file)
    assert re.search(pattern, path.read_text("utf-8"))


def test_the_tests_of_the_achievements_plugin_are_all_there():
    [file] = (ROOT / "tests").rglob("test_achievements_plugin.py")
    cases = re.findall(r"^(?:async )?def test_\w+", file.read_text("utf-8"), re.MULTILINE)
    assert len(cases) >= PLUGIN_CASES
