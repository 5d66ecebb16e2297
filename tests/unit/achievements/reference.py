"""The slow, obviously correct scanner: the counting rules written down once more, in plain `re`.

It shares nothing with the product. It is the oracle of the property tests; lines as long as a page of a
log are beyond it (some of these patterns need quadratic time), so feed it small texts.
"""

from __future__ import annotations

import json
import re
from typing import Any

I = re.IGNORECASE  # noqa: E741 - as short as in the patterns' own language
ERR = re.compile(
    r"\b(?:error|failed|failure|traceback|exception|permission denied|not found|eaddrinuse"
    r"|already in use|timed out|blocked)\b",
    I,
)
PORT = re.compile(r"\b(?:3000|5173|8000|8080|9119)\b.*\b(?:in use|already|taken|eaddrinuse)\b|\beaddrinuse\b", I)
INST = re.compile(r"\b(?:npm|pnpm|yarn|pip|uv)\b.*\b(?:install|add)\b", I)
GOOD = re.compile(r"\b(?:success|passed|built|compiled|done|exit_code[\"']?\s*[:=]\s*0|verified|ok)\b", I)
FILE = re.compile(r"(?:/home/|~/?|\./|/mnt/)[\w./-]+\.(?:py|js|ts|tsx|jsx|css|html|md|json|yaml|yml|svg|sql|sh)")
RESTART = re.compile(r"\brestart|reload|kill|start\b", I)
TINY = re.compile(r"one character|single character|typo", I)
SKILL = re.compile(r"\bskill")

COUNTS = {
    "traceback_events": r"traceback|exception",
    "log_read_events": r"gateway\.log|errors\.log|agent\.log|/api/logs|\blogs\b",
    "permission_denied_events": r"permission denied|eacces|operation not permitted",
    "env_var_error_events": r"missing .*env|api key|environment variable|not configured|unauthorized|auth",
    "yaml_error_events": r"yaml|yml|colon|parse error",
    "docker_conflict_events": (r"docker.*(?:name|container).*already|container name conflict|conflict\. the container"),
    "frontend_activity_events": r"\.(?:css|svg|tsx|jsx)|frontend|tailwind|react",
    "css_activity_events": r"\.css|tailwind|style|classname|visual",
    "git_events": r"\bgit\s+(?:commit|push|merge|rebase|status|diff)",
    "context_events": r"compress|context window|token|cache",
    "gateway_events": r"gateway|discord|telegram|slack|api_server",
    "plugin_events": r"plugin|dashboard-plugins|__hermes_plugin|manifest\.json",
    "rollback_events": r"rollback|checkpoint",
    "docs_activity_events": r"docs|documentation|docusaurus|readme",
    "model_events": (
        r"model|provider|openrouter|codex|gemini|claude|anthropic|openai|mistral|qwen|deepseek"
        r"|llama|ollama|vllm|gguf"
    ),
    "openrouter_events": r"openrouter",
    "codex_events": r"codex",
    "claude_events": r"claude|anthropic",
    "gemini_events": r"gemini|google ai|google model",
    "local_model_events": r"ollama|llama\.cpp|gguf|vllm|local model|open[- ]weight|open weights",
    "toolset_events": r"toolset|enabled_toolsets|browser tool|terminal tool|file tool|web tool",
    "config_events": (
        r"config\.ya?ml|\b[A-Za-z0-9_-]+config\.(?:js|ts|json|ya?ml)|\.env(?:\b|\.)"
        r"|manifest\.json|settings\.json|pyproject\.toml|package\.json"
    ),
    "git_history_events": (
        r"\bgit\s+(?:rebase|merge|fetch|pull|push|tag|checkout)|merge conflict|conflict\s*\("
        r"|rebase --continue"
    ),
    "test_events": (
        r"pytest|unittest|vitest|playwright|npm test|pnpm test|node --check|py_compile"
        r"|tests? passed|\bok\b"
    ),
    "screenshot_events": r"screenshot|playwright|vision_analyze|browser_vision|\.png|image data",
    "release_events": r"\bgit\s+tag|release|version bump|changelog|publish|pushed? tag",
    "cache_events": r"cache hit|prompt caching|cache_read",
}
BACKGROUND = re.compile(r"background\s*=\s*true", I)
CALLS = {
    "terminal_calls": ("terminal",),
    "web_calls": ("web_search", "web_extract"),
    "web_extract_calls": ("web_extract",),
    "browser_calls": ("browser",),
    "patch_calls": ("patch",),
    "file_reads_searches": ("read_file", "search_files"),
    "file_tool_calls": ("read_file", "write_file", "patch", "search_files"),
    "delegate_calls": ("delegate_task",),
    "process_calls": ("process",),
    "cron_calls": ("cronjob",),
    "image_vision_calls": ("image", "vision"),
    "tts_calls": ("tts", "text_to_speech"),
    "skill_events": ("skill",),
    "skill_manage_events": ("skill_manage",),
    "memory_events": ("memory", "mnemosyne"),
    "memory_write_events": ("mnemosyne_remember", "memory"),
}


def text_of(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return json.dumps(content)


def analyse(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """All per-session fields of decoded messages."""
    sequence: list[str] = []
    names: set[str] = set()
    files: set[str] = set()
    errors = 0
    for message in messages:
        text = text_of(message.get("content"))
        tool = message.get("tool_name")
        if tool:
            names.add(tool)
            if message.get("role") != "tool":
                sequence.append(tool)
        calls = message.get("tool_calls")
        for call in calls or []:
            if isinstance(call, dict):
                name = call.get("name") or (call.get("function") or {}).get("name")
                if name:
                    names.add(name)
                    sequence.append(name)
        errors += ERR.search(text) is not None
        files.update(FILE.findall(text + " " + json.dumps(calls) if calls else text))
    joined = "\n".join(text_of(message.get("content")) for message in messages)
    found = {key: sum(any(n in name.lower() for n in needles) for name in sequence) for key, needles in CALLS.items()}
    found["web_browser_calls"] = found["web_calls"] + found["browser_calls"]
    found["process_calls"] += len(BACKGROUND.findall(joined))
    found["skill_events"] += len(SKILL.findall(joined.lower()))
    found.update({key: len(re.findall(pattern, joined, I)) for key, pattern in COUNTS.items()})
    has_error, installs = bool(ERR.search(joined)), bool(INST.search(joined))
    if not has_error:
        found["yaml_error_events"] = 0
    return found | {
        "message_count": len(messages),
        "tool_call_count": len(sequence),
        "distinct_tool_count": len(names),
        "tool_names": sorted(names),
        "error_count": errors,
        "files_touched_count": len(files),
        "port_conflict": bool(PORT.search(joined)),
        "port_conflict_events": int(bool(PORT.search(joined))),
        "install_error_events": int(installs and has_error),
        "install_success_events": int(installs and bool(GOOD.search(joined))),
        "restart_after_error_events": int(errors >= 1 and bool(RESTART.search(joined))),
        "tiny_patch_after_errors_events": int(errors >= 5 and bool(TINY.search(joined))),
    }
