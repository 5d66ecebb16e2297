"""What is counted in each session: the rules behind the 60 badges, as data.

The badges and what they count come from hermes-achievements (PCinkusz, MIT); these are the same numbers,
oddities included. Adding a metric is adding a value here, or in a plugin's `metrics`.
"""

from __future__ import annotations

from sojourn.core.badges import Gate, MetricRule, Pattern, tool_named, words

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
    _count("traceback_events", words("traceback", "exception")),
    _count("log_read_events", words("{gateway,errors,agent}.log", "/api/logs", "[b]logs[b]")),
    _count("permission_denied_events", words("permission denied", "eacces", "operation not permitted")),
    _count(
        "env_var_error_events",
        words("missing [..]env", "api key", "environment variable", "not configured", "unauthorized", "auth"),
    ),
    _count("yaml_error_events", words("yaml", "yml", "colon", "parse error"), gates=AFTER_AN_ERROR),
    _count(
        "docker_conflict_events",
        words("docker[..]{name,container}[..]already", "container name conflict", "conflict. the container"),
    ),
)

CODING_METRICS = (
    _count("frontend_activity_events", words(".{css,svg,tsx,jsx}", "frontend", "tailwind", "react")),
    _count("css_activity_events", words(".css", "tailwind", "style", "classname", "visual")),
    _count("git_events", words("[b]git[ws+]{commit,push,merge,rebase,status,diff}")),
    _count(
        "git_history_events",
        words(
            "[b]git[ws+]{rebase,merge,fetch,pull,push,tag,checkout}",
            "merge conflict",
            "conflict[ws*](",
            "rebase --continue",
        ),
    ),
    _count(
        "test_events",
        words(
            *("pytest", "unittest", "vitest", "playwright", "npm test", "pnpm test", "node --check"),
            *("py_compile", "test[s?] passed", "[b]ok[b]"),
        ),
    ),
    _count(
        "screenshot_events", words("screenshot", "playwright", "vision_analyze", "browser_vision", ".png", "image data")
    ),
    _count(
        "release_events", words("[b]git[ws+]tag", "release", "version bump", "changelog", "publish", "pushe[d?] tag")
    ),
    _count("docs_activity_events", words("docs", "documentation", "docusaurus", "readme")),
    _count(
        "config_events",
        words(
            "config.y[a?]ml",
            "[b][id+]config.{js,ts,json,yaml,yml}",
            ".env[b]",
            *("manifest.json", "settings.json", "pyproject.toml", "package.json"),
        ),
    ),
)

AGENT_METRICS = (
    _count("context_events", words("compress", "context window", "token", "cache")),
    _count("cache_events", words("cache hit", "prompt caching", "cache_read")),
    _count("gateway_events", words("gateway", "discord", "telegram", "slack", "api_server")),
    _count("plugin_events", words("plugin", "dashboard-plugins", "__hermes_plugin", "manifest.json")),
    _count("rollback_events", words("rollback", "checkpoint")),
    _count("toolset_events", words("toolset", "enabled_toolsets", "{browser,terminal,file,web} tool")),
    _count(
        "model_events",
        words(
            *("model", "provider", "openrouter", "codex", "gemini", "claude", "anthropic", "openai", "mistral"),
            *("qwen", "deepseek", "llama", "ollama", "vllm", "gguf"),
        ),
    ),
    _count("openrouter_events", words("openrouter")),
    _count("codex_events", words("codex")),
    _count("claude_events", words("claude", "anthropic")),
    _count("gemini_events", words("gemini", "google {ai,model}")),
    _count(
        "local_model_events",
        words("ollama", "llama.cpp", "gguf", "vllm", "local model", "open{-, }weight", "open weights"),
    ),
)

METRICS = TOOL_METRICS + TROUBLE_METRICS + CODING_METRICS + AGENT_METRICS

# Fields of a session that no rule makes: they are counted while its rows are read.
READING_FIELDS = ("message_count", "tool_call_count", "distinct_tool_count", "files_touched_count")
