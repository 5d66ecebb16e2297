"""From sessions to one row of numbers: the 63 totals that badges look at."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

from sojourn.core.badges import Total
from sojourn.ports.history import Moment

_RECORDS = (
    ("max_tool_calls_in_session", "tool_call_count", "tool calls in a single session"),
    ("max_distinct_tools_in_session", "distinct_tool_count", "different tools in a single session"),
    ("max_messages_in_session", "message_count", "messages in a single session"),
    ("max_terminal_calls_in_session", "terminal_calls", "shell calls in a single session"),
    ("max_file_tool_calls_in_session", "file_tool_calls", "file-tool calls in a single session"),
    ("max_web_calls_in_session", "web_calls", "web calls in a single session"),
    ("max_web_browser_calls_in_session", "web_browser_calls", "web plus browser calls in a single session"),
    ("max_files_touched_in_session", "files_touched_count", "file paths mentioned in a single session"),
)
_RENAMED = (
    ("total_errors", "error_count", "messages containing an error word"),
    ("total_tool_calls", "tool_call_count", "tool calls overall"),
    ("total_terminal_calls", "terminal_calls", "shell calls overall"),
    ("total_web_calls", "web_calls", "web search and extract calls overall"),
    ("total_web_extract_calls", "web_extract_calls", "page extractions overall"),
    ("total_patch_calls", "patch_calls", "patch calls overall"),
    ("total_file_reads_searches", "file_reads_searches", "file reads and searches overall"),
    ("total_delegate_calls", "delegate_calls", "delegated tasks overall"),
    ("total_process_calls", "process_calls", "process-tool calls overall"),
    ("total_cron_calls", "cron_calls", "scheduler calls overall"),
)
_SAME_NAME = (
    ("browser_calls", "browser actions overall"),
    ("image_vision_calls", "image and vision calls overall"),
    ("tts_calls", "speech calls overall"),
    ("traceback_events", "tracebacks and exceptions mentioned"),
    ("log_read_events", "mentions of log files"),
    ("port_conflict_events", "sessions with a taken port"),
    ("permission_denied_events", "refused permissions"),
    ("install_error_events", "sessions with an install and an error"),
    ("install_success_events", "sessions with an install and good news"),
    ("restart_after_error_events", "sessions with an error and a restart"),
    ("env_var_error_events", "mentions of missing keys and settings"),
    ("yaml_error_events", "YAML mentions in sessions with errors"),
    ("docker_conflict_events", "container name conflicts"),
    ("frontend_activity_events", "front-end mentions"),
    ("css_activity_events", "styling mentions"),
    ("git_events", "git commands mentioned"),
    ("tiny_patch_after_errors_events", "sessions with many errors and a tiny fix"),
    ("skill_events", "skill calls and mentions"),
    ("skill_manage_events", "skill edits"),
    ("memory_events", "memory calls"),
    ("memory_write_events", "memory operations"),
    ("context_events", "mentions of context, tokens and caches"),
    ("gateway_events", "mentions of the gateway and chat platforms"),
    ("plugin_events", "mentions of plugins"),
    ("rollback_events", "mentions of rollbacks and checkpoints"),
    ("docs_activity_events", "mentions of documentation"),
    ("model_events", "mentions of models and providers"),
    ("openrouter_events", "mentions of OpenRouter"),
    ("codex_events", "mentions of Codex"),
    ("claude_events", "mentions of Claude and Anthropic"),
    ("gemini_events", "mentions of Gemini"),
    ("local_model_events", "mentions of local models"),
    ("toolset_events", "mentions of toolsets"),
    ("config_events", "mentions of configuration files"),
    ("git_history_events", "git history commands mentioned"),
    ("test_events", "mentions of tests and checks"),
    ("screenshot_events", "mentions of screenshots and images"),
    ("release_events", "mentions of releases"),
    ("cache_events", "mentions of cache hits"),
)

TOTALS = (
    *(Total(key=key, of=of, how="max", label=label) for key, of, label in _RECORDS),
    *(Total(key=key, of=of, label=label) for key, of, label in _RENAMED),
    *(Total(key=key, of=key, label=label) for key, label in _SAME_NAME),
)

# Totals that no rule makes: they come from the list of sessions itself.
LISTED_TOTALS: Mapping[str, str] = {
    "session_count": "recorded sessions",
    "distinct_model_count": "different model names",
    "distinct_provider_count": "different providers (inferred)",
    "local_model_chat_sessions": "sessions run on a local model",
    "weekend_sessions": "sessions begun on a weekend",
    "night_sessions": "sessions begun between 23:00 and 06:00",
}

_VENDORS = (
    *("openai", "anthropic", "google", "gemini", "mistral", "meta", "qwen", "deepseek", "xai", "nous", "ollama"),
    *("groq", "openrouter", "codex"),
)
_LOCAL = ("ollama", "llama.cpp", "localhost", "127.0.0.1", "local/", "local:", "gguf", "vllm-local")


class Listed:
    """The totals that only need the list of sessions, by the clock of this process's time zone."""

    def __init__(self) -> None:
        self.count = 0
        self._models: Counter[str] = Counter()
        self._days: Counter[tuple[bool, bool]] = Counter()  # (weekend, night)

    def add(self, started_at: Moment, model: str | None) -> None:
        self.count += 1
        if model:
            self._models[model] += 1
        self._days[weekend_and_night(started_at)] += 1

    def take_away(self, started_at: Moment, model: str | None) -> None:
        """As if it had never been added."""
        self.count -= 1
        if model:
            self._models[model] -= 1
        self._days[weekend_and_night(started_at)] -= 1

    def copy(self) -> Listed:
        made = Listed()
        made.count, made._models, made._days = self.count, self._models.copy(), self._days.copy()
        return made

    def totals(self) -> dict[str, int]:
        models, days = +self._models, self._days
        named = set(models) - {"None"}
        return {
            "session_count": self.count,
            "distinct_model_count": len(named),
            "distinct_provider_count": len({provider_of(model) for model in named} - {""}),
            "local_model_chat_sessions": sum(count for model, count in models.items() if is_local(model)),
            "weekend_sessions": days[True, False] + days[True, True],
            "night_sessions": days[False, True] + days[True, True],
        }


def weekend_and_night(started_at: Moment) -> tuple[bool, bool]:
    """Whether a session began on a Saturday or Sunday, and whether between 23:00 and 06:00, local time."""
    if not started_at:
        return False, False
    try:
        local = time.localtime(float(started_at))  # a text may be a number after all
    except (OverflowError, ValueError, OSError):
        return False, False
    return local.tm_wday >= 5, local.tm_hour >= 23 or local.tm_hour < 6


def provider_of(model: str) -> str:
    """The vendor a model name suggests; empty when it suggests none."""
    name = model.strip().lower()
    if not name or name == "none":
        return ""
    if "/" in name:
        return name.split("/", 1)[0]
    for vendor in _VENDORS:
        if vendor in name:
            return "google" if vendor == "gemini" else vendor
    return name.split(":", 1)[0].split("-", 1)[0]


def is_local(model: str) -> bool:
    """Whether a model name says that it runs on the person's own hardware."""
    name = model.strip().lower()
    return name != "none" and any(mark in name for mark in _LOCAL)
