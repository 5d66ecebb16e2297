"""What is counted in each session: the rules behind the 60 badges, as data.

The badges and what they count come from hermes-achievements (PCinkusz, MIT); these are the same numbers,
oddities included. Adding a metric is adding a value here, or in a plugin's `metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sojourn.badge_rules import Gate, MetricRule, Pattern, tool_named, words

TIER_NAMES = ("Copper", "Silver", "Gold", "Diamond", "Olympian")


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Aggregate of a metric over all sessions: its sum or maximum."""

    key: str
    of: str
    how: Literal["sum", "max"] = "sum"
    label: str = ""


ERRORS = words(
    "[b]{error,failed,failure,traceback,exception,permission denied,not found,eaddrinuse}[b]",
    "[b]{already in use,timed out,blocked}[b]",
)
PORT_TAKEN = words("[b]{3000,5173,8000,8080,9119}[b][..][b]{in use,already,taken,eaddrinuse}[b]", "[b]eaddrinuse[b]")
INSTALLING = words("[b]{npm,pnpm,yarn,pip,uv}[b][..][b]{install,add}[b]")
GOOD_NEWS = words("[b]{success,passed,built,compiled,done,verified,ok}[b]", "[b]exit_code[quote?][ws*]{:,=}[ws*]0[b]")

AFTER_AN_ERROR = (Gate("error_count"),)


def _count(key: str, *pattern: Pattern, gates: tuple[Gate, ...] = ()) -> MetricRule:
    return MetricRule(key=key, pattern=pattern, gates=gates)


def _count_words(key: str, *alternatives: str, gates: tuple[Gate, ...] = ()) -> MetricRule:
    return _count(key, words(*alternatives), gates=gates)


def _exists(key: str, pattern: Pattern, *gates: Gate, reported: bool = True) -> MetricRule:
    return MetricRule(key=key, pattern=pattern, mode="exists", gates=gates, reported=reported)


_WEB = tool_named("web_search", "web_extract")
_BROWSER = tool_named("browser")

TOOL_METRICS = (
    _count("terminal_calls", tool_named("terminal")),
    _count("web_calls", _WEB),
    _count("web_extract_calls", tool_named("web_extract")),
    _count("browser_calls", _BROWSER),
    _count("web_browser_calls", _WEB, _BROWSER),
    _count("patch_calls", tool_named("patch")),
    _count("file_reads_searches", tool_named("read_file", "search_files")),
    _count("file_tool_calls", tool_named("read_file", "write_file", "patch", "search_files")),
    _count("delegate_calls", tool_named("delegate_task")),
    _count("process_calls", tool_named("process"), words("background[ws*]=[ws*]true")),
    _count("cron_calls", tool_named("cronjob")),
    _count("image_vision_calls", tool_named("image", "vision")),
    _count("tts_calls", tool_named("tts", "text_to_speech")),
    _count("skill_events", tool_named("skill"), words("[b]skill", lowered=True)),
    _count("skill_manage_events", tool_named("skill_manage")),
    _count("memory_events", tool_named("memory", "mnemosyne")),
    _count("memory_write_events", tool_named("mnemosyne_remember", "memory")),
)

TROUBLE_METRICS = (
    MetricRule(key="error_count", pattern=ERRORS, mode="messages"),
    _exists("good_news", GOOD_NEWS, reported=False),
    _exists("port_conflict_events", PORT_TAKEN),
    _exists("install_error_events", INSTALLING, *AFTER_AN_ERROR),
    _exists("install_success_events", INSTALLING, Gate("good_news")),
    _exists("restart_after_error_events", words("[b]restart", "reload", "kill", "start[b]"), *AFTER_AN_ERROR),
    _exists("tiny_patch_after_errors_events", words("{one,single} character", "typo"), Gate("error_count", 5)),
    _count_words("traceback_events", "traceback", "exception"),
    _count_words("log_read_events", "{gateway,errors,agent}.log", "/api/logs", "[b]logs[b]"),
    _count_words("permission_denied_events", "permission denied", "eacces", "operation not permitted"),
    _count_words(
        "env_var_error_events",
        *("missing [..]env", "api key", "environment variable", "not configured", "unauthorized", "auth"),
    ),
    _count_words("yaml_error_events", "yaml", "yml", "colon", "parse error", gates=AFTER_AN_ERROR),
    _count_words(
        "docker_conflict_events",
        "docker[..]{name,container}[..]already",
        "container name conflict",
        "conflict. the container",
    ),
)

CODING_METRICS = (
    _count_words("frontend_activity_events", ".{css,svg,tsx,jsx}", "frontend", "tailwind", "react"),
    _count_words("css_activity_events", ".css", "tailwind", "style", "classname", "visual"),
    _count_words("git_events", "[b]git[ws+]{commit,push,merge,rebase,status,diff}"),
    _count_words(
        "git_history_events",
        "[b]git[ws+]{rebase,merge,fetch,pull,push,tag,checkout}",
        "merge conflict",
        "conflict[ws*](",
        "rebase --continue",
    ),
    _count_words(
        "test_events",
        *("pytest", "unittest", "vitest", "playwright", "npm test", "pnpm test", "node --check"),
        *("py_compile", "test[s?] passed", "[b]ok[b]"),
    ),
    _count_words(
        "screenshot_events", "screenshot", "playwright", "vision_analyze", "browser_vision", ".png", "image data"
    ),
    _count_words(
        "release_events", "[b]git[ws+]tag", "release", "version bump", "changelog", "publish", "pushe[d?] tag"
    ),
    _count_words("docs_activity_events", "docs", "documentation", "docusaurus", "readme"),
    _count_words(
        "config_events",
        "config.y[a?]ml",
        "[b][id+]config.{js,ts,json,yaml,yml}",
        ".env[b]",
        *("manifest.json", "settings.json", "pyproject.toml", "package.json"),
    ),
)

AGENT_METRICS = (
    _count_words("context_events", "compress", "context window", "token", "cache"),
    _count_words("cache_events", "cache hit", "prompt caching", "cache_read"),
    _count_words("gateway_events", "gateway", "discord", "telegram", "slack", "api_server"),
    _count_words("plugin_events", "plugin", "dashboard-plugins", "__hermes_plugin", "manifest.json"),
    _count_words("rollback_events", "rollback", "checkpoint"),
    _count_words("toolset_events", "toolset", "enabled_toolsets", "{browser,terminal,file,web} tool"),
    _count_words(
        "model_events",
        *("model", "provider", "openrouter", "codex", "gemini", "claude", "anthropic", "openai", "mistral"),
        *("qwen", "deepseek", "llama", "ollama", "vllm", "gguf"),
    ),
    _count_words("openrouter_events", "openrouter"),
    _count_words("codex_events", "codex"),
    _count_words("claude_events", "claude", "anthropic"),
    _count_words("gemini_events", "gemini", "google {ai,model}"),
    _count_words(
        "local_model_events", "ollama", "llama.cpp", "gguf", "vllm", "local model", "open{-, }weight", "open weights"
    ),
)

METRICS = TOOL_METRICS + TROUBLE_METRICS + CODING_METRICS + AGENT_METRICS

# Fields of a session that no rule makes: they are counted while its rows are read.
READING_FIELDS = ("message_count", "tool_call_count", "distinct_tool_count", "files_touched_count")


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
