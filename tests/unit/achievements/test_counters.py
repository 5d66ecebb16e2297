"""The scanner counts exactly what plain `re` would count, only sooner."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.achievements.reference import analyse
from tests.unit.achievements.worlds import ENGINES, fields

engines = pytest.mark.parametrize("engine", ENGINES)

# Text → the fields it must give, taken from the original's own answers.
VECTORS = [
    ("Error: 3 errors, one TypeError, error_code 5", {"error_count": 1}),
    ('{"output": "hi", "exit_code": 0, "error": null}', {"error_count": 1, "test_events": 0}),
    ("uv pip install x: command not found ok", {"install_error_events": 1, "install_success_events": 1}),
    ("pip3 install x failed", {"install_error_events": 0, "install_success_events": 0}),
    ("npm ci\ninstall failed done", {"install_error_events": 0, "install_success_events": 0}),
    ("listening on 8080, already bound", {"port_conflict_events": 1}),
    ("3000\nalready in use", {"port_conflict_events": 0, "error_count": 1}),
    ("EADDRINUSE", {"port_conflict_events": 1, "error_count": 1}),
    ("skill skills Skillful reskill _skill", {"skill_events": 3}),
    ("no error in this skill", {"restart_after_error_events": 1}),
    ("error while starting, started fine", {"restart_after_error_events": 0}),
    ("missing foo env bar api key env auth", {"env_var_error_events": 2}),
    ("the author has no api key\nmissing an env value", {"env_var_error_events": 3}),
    # Here Hyperscan overlooks what follows in the line.
    ("Warning: missing preprocessor file for QwenVL", {"env_var_error_events": 1}),
    ("missing " + "x" * 12 + "tokenv", {"env_var_error_events": 1}),
    ("MISSING é " + "x" * 40 + "TOKENV and env\nenv", {"env_var_error_events": 1}),
    ("docker " + "y" * 30 + "tokename " + "x" * 30 + "already; docker already", {"docker_conflict_events": 1}),
    ("docker already a name", {"docker_conflict_events": 0}),
    ("éuv x addé, 8000é taken", {"install_success_events": 0, "port_conflict_events": 0}),
    ("uvé pip é add. ok", {"install_success_events": 1}),
    ("semicolon in a.yaml and b.yml: parse error", {"yaml_error_events": 4}),
    ("semicolon in a.yaml and b.yml", {"yaml_error_events": 0}),
    ("docker: name x already; docker container y already\nContainer name conflict", {"docker_conflict_events": 2}),
    ("EACCES: permission denied", {"permission_denied_events": 2}),
    ("style.css className Tailwind visuals", {"css_activity_events": 5, "frontend_activity_events": 2}),
    ("git commit; git\npush; git -C x merge; agit status; GIT   DIFF", {"git_events": 3, "git_history_events": 1}),
    ("git rebase --continue; rebase --continue; git merge conflict (x); conflict(", {"git_history_events": 5}),
    ("tests passed, 1 test passed, OK, ok, token, pnpm test, npm test", {"test_events": 6}),
    (
        "ollama llama.cpp remodel models anthropic/claude-x",
        {"model_events": 6, "local_model_events": 2, "claude_events": 2},
    ),
    ("dashboard-plugins __HERMES_PLUGIN_SDK__ plugins manifest.json", {"plugin_events": 4, "config_events": 1}),
    ("enabled_toolsets toolset file tools Terminal Tool", {"toolset_events": 4}),
    (
        "vite.config.ts config.json tsconfig.json my.config.yml .env.local .environment .env_x process.env",
        {"config_events": 4},
    ),
    ("gateway.logs /api/logs logs blogs logs_ log", {"log_read_events": 3, "gateway_events": 1}),
    ("background = TRUE background: true", {"process_calls": 1}),
    (
        "./a.json ./a.js ./b.tsx ./b.ts ~/d.py ~e.md ../f.ts /home/u/g.py /tmp/i.py src/k.py ./k.pyc ./x.PY",
        {"files_touched_count": 7},
    ),
    ("pushed tag, push tag, git tag, releases, publisher", {"release_events": 4}),
    ("cache hit, prompt caching, cache_read_tokens, cached", {"cache_events": 3, "context_events": 4}),
    (
        "plug\u0131n to\u212aen \u017flack \u00e9error",
        {"plugin_events": 1, "context_events": 1, "gateway_events": 1, "error_count": 0},
    ),
    ("s\u212aill \u017fkill", {"skill_events": 1}),
]


@engines
@pytest.mark.parametrize(("text", "expected"), VECTORS)
def test_known_texts_give_known_numbers(text, expected, engine):
    got = fields([{"role": "user", "content": text}], engine)
    assert {key: got[key] for key in expected} == expected


STRUCTURED = [
    (
        [
            {
                "role": "assistant",
                "tool_calls": [
                    {"function": {"name": "terminal", "arguments": '{"command": "git commit ./a.py"}'}},
                    {"name": "browser_vision", "function": {"name": "ignored"}},
                ],
            },
            {"role": "tool", "tool_name": "terminal", "content": '{"output": "", "exit_code": 0, "error": null}'},
            {"role": "tool", "tool_name": "Patch", "content": "done"},
            {"role": "assistant", "tool_name": "my_Memory_tool", "content": "git"},
            {"role": "user", "content": "status"},
        ],
        {
            "message_count": 5,
            "tool_call_count": 3,
            "tool_names": ["Patch", "browser_vision", "my_Memory_tool", "terminal"],
            "distinct_tool_count": 4,
            "error_count": 1,
            "terminal_calls": 1,
            "browser_calls": 1,
            "web_browser_calls": 1,
            "files_touched_count": 1,
            "image_vision_calls": 1,
            "memory_events": 1,
            "memory_write_events": 1,
            "git_events": 1,
        },
    ),
    (
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "skill\nskill é ok"},
                    {"type": "image_url", "image_url": {"url": "./p.svg"}},
                ],
            }
        ],
        {
            "message_count": 1,
            "files_touched_count": 1,
            "skill_events": 1,
            "frontend_activity_events": 1,
            "test_events": 1,
        },
    ),
    (
        [
            {"role": "assistant", "content": "error", "tool_calls": "oops"},
            {"role": "user", "content": "failed"},
            {"role": "user", "content": "blocked typo"},
            {"role": "tool", "content": "timed out"},
            {"role": "system", "content": "not found"},
        ],
        {"message_count": 5, "error_count": 5, "tiny_patch_after_errors_events": 1},
    ),
]


@engines
@pytest.mark.parametrize(("messages", "expected"), STRUCTURED)
def test_known_messages_give_these_numbers_and_no_others(messages, expected, engine):
    got = fields(messages, engine)
    assert {key: value for key, value in got.items() if value} == expected


# -- against the oracle --------------------------------------------------------

WORDS = re.findall(
    r"\S+",
    """
    error failed failure traceback exception permission denied not found eaddrinuse already in use timed out
    blocked 3000 5173 8080 taken npm pnpm yarn pip uv install add success passed built exit_code : = 0
    verified ok background true skill restart reload kill start missing env api key environment variable not
    configured unauthorized auth yaml yml colon parse docker name container conflict conflict. the .css .svg
    .tsx .jsx frontend tailwind react style classname visual git commit push merge rebase status diff fetch
    pull tag checkout --continue ( one character single typo compress context window token cache gateway
    discord telegram slack api_server plugin dashboard-plugins __hermes_plugin manifest.json rollback
    checkpoint docs documentation docusaurus readme model provider openrouter codex gemini claude anthropic
    openai mistral qwen deepseek llama ollama vllm gguf google ai llama.cpp local open-weight open weights
    toolset enabled_toolsets browser terminal file web tool config config.yaml config.yml xconfig.js
    my-config.json tsconfig.ts .env .env. settings.json pyproject.toml package.json pytest unittest vitest
    playwright test tests node --check py_compile screenshot vision_analyze browser_vision .png image data
    release version bump changelog publish pushed pushe hit prompt caching cache_read gateway.log errors.log
    agent.log /api/logs logs /home/ /mnt/ ./ ~ ~/ a.py b.json c.tsx .md .sh eacces operation permitted
    """,
)
ODD = [
    *("\u0130", "\u0131", "\u017f", "\u212a", "é", "ß", "失败", "日志", "\u0301", "_", "-", ".", "/", '"', "'", "\\"),
    *("\u00a0", "\u3000", "\u2003", "\x1c", "\x1f", "\x85", "\u2028", "\u200b", "\r", "\t", "\n", "\0", "🚀", "²"),
]
GLUE = ["", "", " ", " ", " ", "\n", "  ", "\t", ",", "_", "-", ".", "é"]
texts = st.lists(
    st.tuples(
        st.sampled_from(WORDS) | st.sampled_from(WORDS).map(str.upper) | st.sampled_from(ODD), st.sampled_from(GLUE)
    ),
    max_size=24,
).map(lambda parts: "".join(word + glue for word, glue in parts))
names = st.sampled_from(["terminal", "Patch", "web_search", "browser_vision", "skill_manage", "x_memory", "tts", ""])
calls: st.SearchStrategy = st.lists(
    st.fixed_dictionaries({"name": names}, optional={"arguments": texts})
    | st.fixed_dictionaries({"function": st.none() | st.fixed_dictionaries({"name": names, "arguments": texts})})
    | st.sampled_from([None, 7, "terminal", []]),
    max_size=3,
)
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool", "system"]),
        "content": texts | st.none() | st.lists(st.fixed_dictionaries({"text": texts}), max_size=2),
    },
    optional={"tool_calls": calls, "tool_name": names},
)


@settings(max_examples=80, deadline=None)
@given(st.lists(messages, max_size=6))
def test_both_engines_agree_with_plain_re_on_anything(session):
    expected = analyse(session)
    assert fields(session, "hyperscan") == expected
    assert fields(session, "plain") == expected


def test_without_the_wheel_the_plain_engine_counts():
    code = (
        "import sys; sys.modules['hyperscan'] = None\n"
        "from sojourn.achievements.scan import build_scanner\n"
        "from sojourn.achievements.rules import RuleBook\n"
        "print(type(build_scanner(RuleBook())._engine).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "PlainEngine"


# -- hostile lines ---------------------------------------------------------------

HOSTILE = {
    "npm": "npm " * 100_000,
    "ports": "3000 " * 100_000,
    "docker": "docker name " * 50_000,
    "docker and already": "docker name already " * 30_000,
    "missing": "missing " * 80_000,
    "missing and env": "missing env " * 50_000,
    "starts of paths": "./" * 200_000,
    "one path, then starts": "./a.py" + "./" * 200_000,
    "extensions": "./" + ".py" * 150_000,
    "tildes": "~" * 100_000,
    "identifiers": "a-" * 150_000 + "config.js",
    "configs": "config" * 60_000 + ".js",
    "spaces after git": "git" + " " * 300_000,
    "gits": "git \n" * 80_000,
    "conflicts": "conflict " * 60_000 + "(",
    "exit codes": 'exit_code" ' * 50_000,
    "errors": "error " * 80_000,
    "errors beside letters": "éerroré " * 40_000,
    "paths of letters": "./é" * 60_000 + ".py",
    "installs beside letters": "npmé install " * 40_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_lines_take_linear_time(name):
    text = HOSTILE[name]
    half = min(_seconds(text[: len(text) // 2]) for _ in range(2))
    whole = _seconds(text)
    assert whole < max(4 * half, 0.5)


def _seconds(text: str) -> float:
    begin = time.process_time()
    fields([{"content": text}])
    return time.process_time() - begin


def test_a_swallowed_line_counts_as_one_hit_of_plain_re():
    text = "missing env auth missing env auth\nauth missing"
    assert fields([{"content": text}])["env_var_error_events"] == len(re.findall("missing .*env|auth", text))
