"""Every setting there is, as values: name, variable, default, meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["text", "path", "number", "decimal", "yes/no", "secret"]


class Secret(str):
    """A text that prints as dots; `reveal` gives it away on purpose."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "•••" if self else "''"

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        return format(repr(self), how)

    def reveal(self) -> str:
        return str.__str__(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting. `name` is its key in config.toml (`server.port` is `port` under `[server]`)."""

    name: str
    variable: str
    kind: Kind
    default: Any
    meaning: str
    least: float | None = None
    most: float | None = None


SETTINGS = (
    Setting(
        name="home",
        variable="SOJOURN_HOME",
        kind="path",
        default="~/.sojourn",
        meaning="The folder that holds everything Sojourn keeps.",
    ),
    Setting(
        name="database_url",
        variable="SOJOURN_DATABASE_URL",
        kind="secret",
        default="",
        meaning="A PostgreSQL address, for more than one machine. Empty: state.db in the home.",
    ),
    Setting(
        name="redact",
        variable="SOJOURN_REDACT",
        kind="yes/no",
        default=True,
        meaning="Black out keys, tokens and passwords before anything is kept.",
    ),
    Setting(
        name="server.host",
        variable="SOJOURN_HOST",
        kind="text",
        default="127.0.0.1",
        meaning="The address `sojourn serve` listens on.",
    ),
    Setting(
        name="server.port",
        variable="SOJOURN_PORT",
        kind="number",
        default=8790,
        least=0,
        most=65535,
        meaning="The port `sojourn serve` listens on; 0 takes a free one.",
    ),
    Setting(
        name="server.token",
        variable="SOJOURN_TOKEN",
        kind="secret",
        default="",
        meaning="The token clients must show. Empty: a new one at each start.",
    ),
    Setting(
        name="server.heartbeat_seconds",
        variable="SOJOURN_HEARTBEAT",
        kind="decimal",
        default=15.0,
        least=0.05,
        most=15,
        meaning="After how much silence a live stream says that it is alive.",
    ),
    Setting(
        name="server.idle_seconds",
        variable="SOJOURN_IDLE",
        kind="decimal",
        default=600.0,
        least=1,
        most=604800,
        meaning="How long a server that `sojourn chat` started by itself stays when nobody needs it.",
    ),
    Setting(
        name="agent.runtime",
        variable="SOJOURN_RUNTIME",
        kind="text",
        default="",
        meaning="Who answers when nobody is named. Empty: `native` if a model is ready, else `offline`.",
    ),
    Setting(
        name="agent.workspace",
        variable="SOJOURN_WORKSPACE",
        kind="text",
        default="",
        meaning="The folder tools work in when a session has none. Empty: `workspace` in the home.",
    ),
    Setting(
        name="agent.approval_seconds",
        variable="SOJOURN_APPROVAL_SECONDS",
        kind="number",
        default=300,
        least=1,
        most=86_400,
        meaning="How long a turn waits for the answer to its question; then it is no.",
    ),
    Setting(
        name="agent.titles",
        variable="SOJOURN_TITLES",
        kind="yes/no",
        default=True,
        meaning="Let a model that can do so find a better title after the first answer.",
    ),
    Setting(
        name="agent.spend_session_usd",
        variable="SOJOURN_SPEND_SESSION",
        kind="decimal",
        default=0.0,
        least=0,
        most=1_000_000,
        meaning="The most one session may cost, in US dollars; 0 sets no limit.",
    ),
    Setting(
        name="agent.spend_day_usd",
        variable="SOJOURN_SPEND_DAY",
        kind="decimal",
        default=0.0,
        least=0,
        most=1_000_000,
        meaning="The most a day (UTC) may cost, in US dollars; 0 sets no limit.",
    ),
    Setting(
        name="model.provider",
        variable="SOJOURN_MODEL_PROVIDER",
        kind="text",
        default="",
        meaning="Whose model `native` uses: openai, anthropic, google, ollama … Empty: model.base_url says.",
    ),
    Setting(
        name="model.name",
        variable="SOJOURN_MODEL",
        kind="text",
        default="",
        meaning="Which model. Empty: the one a local server has loaded, or its first.",
    ),
    Setting(
        name="model.base_url",
        variable="SOJOURN_MODEL_BASE_URL",
        kind="text",
        default="",
        meaning="The address of an OpenAI-compatible server, up to and including /v1.",
    ),
    Setting(
        name="model.api_key",
        variable="SOJOURN_MODEL_API_KEY",
        kind="secret",
        default="",
        meaning="The key for it. Keys of other programs are never looked for.",
    ),
    Setting(
        name="model.context_window",
        variable="SOJOURN_MODEL_CONTEXT_WINDOW",
        kind="number",
        default=0,
        least=0,
        most=100_000_000,
        meaning="How many tokens the model can take; 0 finds out.",
    ),
    Setting(
        name="model.max_tokens",
        variable="SOJOURN_MODEL_MAX_TOKENS",
        kind="number",
        default=0,
        least=0,
        most=10_000_000,
        meaning="The longest answer, in tokens; 0 leaves that to the provider.",
    ),
    Setting(
        name="model.timeout_seconds",
        variable="SOJOURN_MODEL_TIMEOUT",
        kind="decimal",
        default=180.0,
        least=0.05,
        most=86_400,
        meaning="How long a model may be silent before it counts as hanging.",
    ),
    Setting(
        name="model.retries",
        variable="SOJOURN_MODEL_RETRIES",
        kind="number",
        default=4,
        least=0,
        most=20,
        meaning="How often a request that was refused for the moment is tried again.",
    ),
    Setting(
        name="model.steps",
        variable="SOJOURN_MODEL_STEPS",
        kind="number",
        default=60,
        least=1,
        most=10_000,
        meaning="How many requests to the model one turn may take; the last one has no tools.",
    ),
    Setting(
        name="model.detect",
        variable="SOJOURN_MODEL_DETECT",
        kind="yes/no",
        default=True,
        meaning="Look for model servers on this machine's usual ports when none is configured.",
    ),
    Setting(
        name="model.local_file",
        variable="SOJOURN_MODEL_LOCAL_FILE",
        kind="text",
        default="",
        meaning="A GGUF file for the built-in engine of `offline`. Empty: the one `scripts/model` fetches.",
    ),
    Setting(
        name="achievements.ttl_seconds",
        variable="SOJOURN_ACHIEVEMENTS_TTL",
        kind="number",
        default=120,
        least=60,
        most=180,
        meaning="How old a badge snapshot may be before it is refreshed.",
    ),
    Setting(
        name="dashboard.plugin_seconds",
        variable="SOJOURN_DASHBOARD_PLUGIN_SECONDS",
        kind="decimal",
        default=30.0,
        least=0.1,
        most=600,
        meaning="How long the program of a dashboard plugin may take for one answer.",
    ),
    Setting(
        name="dashboard.plugin_memory_mb",
        variable="SOJOURN_DASHBOARD_PLUGIN_MEMORY_MB",
        kind="number",
        default=1024,
        least=128,
        most=1_048_576,
        meaning="How much memory such a program may take, in MB.",
    ),
    Setting(
        name="memory.recall",
        variable="SOJOURN_MEMORY_RECALL",
        kind="yes/no",
        default=True,
        meaning="Look into past sessions for what a request is about.",
    ),
    Setting(
        name="memory.notes",
        variable="SOJOURN_MEMORY_NOTES",
        kind="text",
        default="",
        meaning="A folder of Markdown notes to know about. Empty: `notes` in the home.",
    ),
    Setting(
        name="memory.summary_tokens",
        variable="SOJOURN_MEMORY_SUMMARY_TOKENS",
        kind="number",
        default=6000,
        least=500,
        most=1_000_000,
        meaning="How long a conversation gets before its summary is put before it.",
    ),
    Setting(
        name="memory.model_summaries",
        variable="SOJOURN_MEMORY_MODEL_SUMMARIES",
        kind="yes/no",
        default=True,
        meaning="Let a model that can do so write the summary; otherwise the main sentences are taken.",
    ),
    Setting(
        name="skills.shortlist",
        variable="SOJOURN_SKILLS_SHORTLIST",
        kind="number",
        default=5,
        least=0,
        most=50,
        meaning="How many skills at most are put before a runtime; 0 leaves all of them to be looked up.",
    ),
    Setting(
        name="templates.automatic",
        variable="SOJOURN_TEMPLATES_AUTOMATIC",
        kind="yes/no",
        default=True,
        meaning="Give a new session an approved template that fits its first request.",
    ),
    Setting(
        name="templates.most",
        variable="SOJOURN_TEMPLATES_MOST",
        kind="number",
        default=1,
        least=1,
        most=3,
        meaning="How many templates one session may get.",
    ),
    Setting(
        name="templates.result_chars",
        variable="SOJOURN_TEMPLATES_RESULT_CHARS",
        kind="number",
        default=2000,
        least=100,
        most=100_000,
        meaning="How much of a long result or argument a template keeps.",
    ),
    Setting(
        name="skills.folders",
        variable="SOJOURN_SKILLS_FOLDERS",
        kind="text",
        default="",
        meaning="More folders with skills, separated by commas, besides `skills` in the home.",
    ),
    Setting(
        name="tools.approval",
        variable="SOJOURN_TOOLS_APPROVAL",
        kind="text",
        default="ask",
        meaning="ask, always or deny before a tool writes or runs; for one tool alone: ask, terminal=deny.",
    ),
    Setting(
        name="tools.guest_tools",
        variable="SOJOURN_TOOLS_GUEST_TOOLS",
        kind="text",
        default="",
        meaning="Tools that guests may use besides the harmless ones, separated by commas.",
    ),
    Setting(
        name="tools.seconds",
        variable="SOJOURN_TOOLS_SECONDS",
        kind="number",
        default=120,
        least=1,
        most=3600,
        meaning="How long one call of a tool may take.",
    ),
    Setting(
        name="tools.most",
        variable="SOJOURN_TOOLS_MOST",
        kind="number",
        default=30_000,
        least=500,
        most=1_000_000,
        meaning="How many characters of a tool's result the model is given.",
    ),
    Setting(
        name="tools.environment",
        variable="SOJOURN_TOOLS_ENVIRONMENT",
        kind="text",
        default="",
        meaning="Variables that commands see besides PATH, HOME and the like, separated by commas.",
    ),
    Setting(
        name="tools.private_hosts",
        variable="SOJOURN_TOOLS_PRIVATE_HOSTS",
        kind="text",
        default="",
        meaning="Hosts of the private network that web_fetch may read, separated by commas.",
    ),
    Setting(
        name="tools.delegates",
        variable="SOJOURN_TOOLS_DELEGATES",
        kind="number",
        default=4,
        least=0,
        most=100,
        meaning="How many tasks one turn may give to a sub-agent.",
    ),
    Setting(
        name="tools.delegate_seconds",
        variable="SOJOURN_TOOLS_DELEGATE_SECONDS",
        kind="number",
        default=900,
        least=1,
        most=86_400,
        meaning="How long a sub-agent may work on one task.",
    ),
    Setting(
        name="gateway.embedded",
        variable="SOJOURN_GATEWAY_EMBEDDED",
        kind="yes/no",
        default=True,
        meaning="Let `sojourn serve` talk to chat networks too (`--no-gateway` leaves that out).",
    ),
    Setting(
        name="gateway.platforms",
        variable="SOJOURN_GATEWAY_PLATFORMS",
        kind="text",
        default="",
        meaning="The networks to serve, separated by commas. Empty: `local` and every one that is configured.",
    ),
    Setting(
        name="gateway.home",
        variable="SOJOURN_GATEWAY_HOME",
        kind="text",
        default="local:home",
        meaning="Where hand-offs land, as platform:chat, separated by commas; /sethome in a chat beats it.",
    ),
    Setting(
        name="gateway.owners",
        variable="SOJOURN_GATEWAY_OWNERS",
        kind="text",
        default="",
        meaning="Who is you, as platform:person, separated by commas. Others are paired.",
    ),
    Setting(
        name="gateway.guests",
        variable="SOJOURN_GATEWAY_GUESTS",
        kind="text",
        default="",
        meaning="Who may talk as a guest without pairing, as platform:person, separated by commas.",
    ),
    Setting(
        name="gateway.pairing",
        variable="SOJOURN_GATEWAY_PAIRING",
        kind="yes/no",
        default=True,
        meaning="Give a stranger who writes privately a code that you can allow with `sojourn gateway pair`.",
    ),
    Setting(
        name="gateway.when_busy",
        variable="SOJOURN_GATEWAY_WHEN_BUSY",
        kind="text",
        default="queue",
        meaning="What becomes of words that come while a turn runs: queue, interrupt or steer.",
    ),
    Setting(
        name="gateway.streaming",
        variable="SOJOURN_GATEWAY_STREAMING",
        kind="yes/no",
        default=True,
        meaning="Show a long answer while it is written, where a network can change a message.",
    ),
    Setting(
        name="gateway.streaming_seconds",
        variable="SOJOURN_GATEWAY_STREAMING_SECONDS",
        kind="decimal",
        default=1.0,
        least=0.1,
        most=60,
        meaning="How long between two changes of a message that grows.",
    ),
    Setting(
        name="gateway.reaction",
        variable="SOJOURN_GATEWAY_REACTION",
        kind="text",
        default="",
        meaning="An emoji to put to each message that is being answered, where a network can; 👀, for example.",
    ),
    Setting(
        name="gateway.group_sessions_per_user",
        variable="SOJOURN_GATEWAY_GROUP_SESSIONS_PER_USER",
        kind="yes/no",
        default=True,
        meaning="In a group, give each person a session of their own.",
    ),
    Setting(
        name="gateway.thread_sessions_per_user",
        variable="SOJOURN_GATEWAY_THREAD_SESSIONS_PER_USER",
        kind="yes/no",
        default=False,
        meaning="In a thread, give each person a session of their own.",
    ),
    Setting(
        name="gateway.at_once",
        variable="SOJOURN_GATEWAY_AT_ONCE",
        kind="number",
        default=32,
        least=1,
        most=10_000,
        meaning="How many chats one gateway answers at the same time.",
    ),
    Setting(
        name="gateway.lease_seconds",
        variable="SOJOURN_GATEWAY_LEASE_SECONDS",
        kind="decimal",
        default=20.0,
        least=1,
        most=600,
        meaning="After how long another gateway takes over from one that died.",
    ),
    Setting(
        name="handoff.wait_seconds",
        variable="SOJOURN_HANDOFF_WAIT_SECONDS",
        kind="decimal",
        default=60.0,
        least=0.1,
        most=86_400,
        meaning="How long a hand-off waits for a gateway to pick it up.",
    ),
)
SETTINGS_BY_NAME = {setting.name: setting for setting in SETTINGS}

# Where other programs keep their histories, unless these variables say otherwise.
HOME_VARIABLES = ("HERMES_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME")

# What a command that a tool starts may see of our environment. Everything else may be a secret.
CHILD_VARIABLES = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "JAVA_HOME",
    "GOPATH",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings as they are in force, and where each came from."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]  # default, file, environment, flag
    user_home: Path
    places: Mapping[str, str]  # the variables of PLACES that are set
    plugins: Mapping[str, Mapping[str, Any]]  # the tables [plugins.<name>]
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)  # SOJOURN_…, for settings of plugins
    for_children: Mapping[str, str] = field(default_factory=dict, repr=False)  # the environment of commands tools start

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def home(self) -> Path:
        return Path(self.values["home"])
