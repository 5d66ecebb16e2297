"""The table of settings: name, kind, default, limits, environment variable and meaning of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "path", "number", "decimal", "yes/no", "secret"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `name` is its key in config.toml (`server.port` is `port` under `[server]`)."""

    name: str
    kind: Kind
    default: Any
    meaning: str
    limits: tuple[float, float] | None = None  # smallest and largest number allowed
    env: str = ""  # the variable after SOJOURN_, where it is not simply the name
    choices: tuple[str, ...] = ()  # the words a text may be

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"SOJOURN_{self.env or self.name.upper().replace('.', '_')}"


# name | kind | default | smallest..largest, or the words allowed | variable after SOJOURN_, if not the name
_TABLE = """
home | path | ~/.sojourn
    The folder that holds everything Sojourn keeps.
database_url | secret
    A PostgreSQL address, for more than one machine. Empty: state.db in the home.
redact | yes/no | yes
    Black out keys, tokens and passwords before anything is kept.
server.host | text | 127.0.0.1 |  | HOST
    The address `sojourn serve` listens on.
server.port | number | 8790 | 0..65535 | PORT
    The port `sojourn serve` listens on; 0 takes a free one.
server.token | secret |  |  | TOKEN
    The token clients must show. Empty: one that is made once and kept in the home.
server.public_url | text |  |  | PUBLIC_URL
    The secure address (https) under which a proxy or Tailscale shows this server, for phones. Empty: none.
server.heartbeat_seconds | decimal | 15 | 0.05..15 | HEARTBEAT
    After how much silence a live stream says that it is alive.
server.idle_seconds | decimal | 600 | 1..604800 | IDLE
    How long a server that `sojourn chat` started by itself stays when nobody needs it.
telemetry.endpoint | text |  |  | TELEMETRY_ENDPOINT
    An OpenTelemetry collector (OTLP over HTTP) that gets a trace of each turn: http://127.0.0.1:4318. Empty: none.
sessions.trash_days | number | 0 | 0..36500
    After how many days in the trash a session is deleted for good; 0 keeps it until you empty the trash.
import.watch | yes/no | no
    Let a server import what other agents write, seconds later. Their files are only read.
import.machine | text
    The label of this machine on the sessions that it imports. Empty: its host name.
agent.runtime | text |  |  | RUNTIME
    Who answers when nobody is named. Empty: `native` if a model is ready, else `offline`.
agent.workspace | text |  |  | WORKSPACE
    The folder tools work in when a session has none. Empty: `workspace` in the home.
agent.approval_seconds | number | 300 | 1..86400 | APPROVAL_SECONDS
    How long a turn waits for the answer to its question; then it is no.
agent.titles | yes/no | yes |  | TITLES
    Let a model that can do so find a better title after the first answer.
agent.spend_session_usd | decimal | 0 | 0..1000000 | SPEND_SESSION
    The most one session may cost, in US dollars; 0 sets no limit.
agent.spend_day_usd | decimal | 0 | 0..1000000 | SPEND_DAY
    The most a day (UTC) may cost, in US dollars; 0 sets no limit.
agent.spend_month_usd | decimal | 0 | 0..1000000 | SPEND_MONTH
    The most a month (UTC) may cost, in US dollars; 0 sets no limit. `sojourn usage` warns at 80 %.
model.provider | text
    Whose model `native` uses: openai, anthropic, google, ollama … Empty: model.base_url says.
model.name | text |  |  | MODEL
    Which model. Empty: the one a local server has loaded, or its first.
model.base_url | text
    The address of an OpenAI-compatible server, up to and including /v1.
model.api_key | secret
    The key for it. Keys of other programs are never looked for.
model.context_window | number | 0 | 0..100000000
    How many tokens the model can take; 0 finds out.
model.max_tokens | number | 0 | 0..10000000
    The longest answer, in tokens; 0 leaves that to the provider.
model.timeout_seconds | decimal | 180 | 0.05..86400 | MODEL_TIMEOUT
    How long a model may be silent before it counts as hanging.
model.retries | number | 4 | 0..20
    How often a request that was refused for the moment is tried again.
model.steps | number | 60 | 1..10000
    How many requests to the model one turn may take; the last one has no tools.
model.detect | yes/no | yes
    Look for model servers on this machine's usual ports when none is configured.
model.local_file | text
    A GGUF file for the built-in engine of `offline`. Empty: the one `scripts/model` fetches.
achievements.ttl_seconds | number | 120 | 60..180 | ACHIEVEMENTS_TTL
    How old a badge snapshot may be before it is refreshed.
dashboard.plugin_seconds | decimal | 30 | 0.1..600
    How long the program of a dashboard plugin may take for one answer.
dashboard.plugin_memory_mb | number | 1024 | 128..1048576
    How much memory such a program may take, in MB.
memory.recall | yes/no | yes
    Look into past sessions for what a request is about.
memory.embedder | text | packaged | packaged, server, none
    What compares meanings for recall and skills: packaged word vectors, if installed; a server; or nothing.
memory.embedder_url | text
    The address of an OpenAI-compatible server with embeddings, up to and including /v1, for `server`.
memory.embedder_model | text
    The model that it shall use.
memory.embedder_key | secret
    The key for `memory.embedder_url`; it is sent to no other address.
memory.notes | text
    A folder of Markdown notes to know about. Empty: `notes` in the home.
memory.summary_tokens | number | 6000 | 500..1000000
    How long a conversation gets before its summary is put before it.
memory.model_summaries | yes/no | yes
    Let a model that can do so write the summary; otherwise the main sentences are taken.
skills.shortlist | number | 5 | 0..50
    How many skills at most are put before a runtime; 0 leaves all of them to be looked up.
templates.automatic | yes/no | yes
    Give a new session an approved template that fits its first request.
templates.most | number | 1 | 1..3
    How many templates one session may get.
templates.result_chars | number | 2000 | 100..100000
    How much of a long result or argument a template keeps.
skills.folders | text
    More folders with skills, separated by commas, besides `skills` in the home.
tools.approval | text | ask
    ask, always or deny before a tool writes or runs; for one tool alone: ask, terminal=deny.
tools.guest_tools | text
    Tools that guests may use besides the harmless ones, separated by commas.
tools.seconds | number | 120 | 1..3600
    How long one call of a tool may take.
tools.memory_mb | number | 8192 | 64..1048576
    Memory that a command may use with everything it starts; never more than three quarters of this machine's.
tools.processes | number | 1024 | 16..100000
    Processes and threads that a command may have with everything it starts.
tools.file_mb | number | 2048 | 1..1048576
    Size of the largest file that a command may write.
tools.most | number | 30000 | 500..1000000
    How many characters of a tool's result the model is given.
tools.checkpoint_mb | number | 200 | 0..1048576
    How much of what changed files held before is kept for `/undo files`, in MB; 0 keeps none.
tools.environment | text
    Variables that commands see besides PATH, HOME and the like, separated by commas.
tools.private_hosts | text
    Hosts of the private network that web_fetch may read, separated by commas.
tools.search_engine | text | wikipedia | wikipedia, searxng, marginalia, brave, tavily
    Which engine web_search asks. wikipedia and searxng need no key.
tools.search_url | text
    The address of your SearXNG, or another address of the engine; empty: the engine's own.
tools.search_key | secret
    The key for the engine.
tools.parallel_calls | number | 8 | 1..100
    How many tool calls of one answer run at once; the others wait.
tools.delegates | number | 4 | 0..100
    How many tasks one turn may give to a sub-agent.
tools.delegate_seconds | number | 900 | 1..86400
    How long a sub-agent may work on one task.
terminal.notify_seconds | number | 30 | 0..86400
    After how long the end of a turn rings the bell of the terminal and shows a notification; 0 never does.
gateway.embedded | yes/no | yes
    Let `sojourn serve` talk to chat networks too (`--no-gateway` leaves that out).
gateway.platforms | text
    The networks to serve, separated by commas. Empty: `local` and every one that is configured.
gateway.home | text | local:home
    Where hand-offs land, as platform:chat, separated by commas; /sethome in a chat beats it.
gateway.owners | text
    Who is you, as platform:person, separated by commas. Others are paired.
gateway.guests | text
    Who may talk as a guest without pairing, as platform:person, separated by commas.
gateway.pairing | yes/no | yes
    Give a stranger who writes privately a code that you can allow with `sojourn gateway pair`.
gateway.when_busy | text | queue | queue, interrupt, steer
    What becomes of words that come while a turn runs: queue, interrupt or steer.
gateway.streaming | yes/no | yes
    Show a long answer while it is written, where a network can change a message.
gateway.streaming_seconds | decimal | 1 | 0.1..60
    How long between two changes of a message that grows.
gateway.reaction | text
    An emoji to put to each message that is being answered, where a network can; 👀, for example.
gateway.group_sessions_per_user | yes/no | yes
    In a group, give each person a session of their own.
gateway.thread_sessions_per_user | yes/no | no
    In a thread, give each person a session of their own.
gateway.at_once | number | 32 | 1..10000
    How many chats one gateway answers at the same time.
gateway.lease_seconds | decimal | 20 | 1..600
    After how long another gateway takes over from one that died.
handoff.wait_seconds | decimal | 60 | 0.1..86400
    How long a hand-off waits for a gateway to pick it up.
"""
_PARSERS: Mapping[str, Callable[[str], Any]] = {"number": int, "decimal": float, "yes/no": "yes".__eq__}


def _parse(head: str, meaning: str) -> Setting:
    name, kind, default, limits, env = (part.strip() for part in (head + " |" * (4 - head.count("|"))).split("|"))
    low, is_range, high = limits.partition("..")
    return Setting(
        name=name,
        kind=kind,  # type: ignore[arg-type]  # a test reads the table
        default=_PARSERS.get(kind, str)(default),
        meaning=meaning.strip(),
        limits=(float(low), float(high)) if is_range else None,
        env=env,
        choices=() if is_range or not limits else tuple(word.strip() for word in limits.split(",")),
    )


_LINES = _TABLE.strip().split("\n")
SETTINGS = tuple(map(_parse, _LINES[::2], _LINES[1::2]))
SETTINGS_BY_NAME = {setting.name: setting for setting in SETTINGS}
# A running server takes over a change of any other setting at once.
LOOK_SECONDS = 0.005  # between two looks at config.toml; whoever changes it waits that long before saying so
NEED_RESTART = frozenset(
    """
    home database_url redact server.host server.port server.token server.public_url server.heartbeat_seconds
    server.idle_seconds model.local_file achievements.ttl_seconds memory.notes templates.automatic templates.most
    templates.result_chars gateway.embedded gateway.at_once gateway.lease_seconds
    """.split()  # noqa: SIM905  as below
)
# The variables that a tool's command sees. Any other may hold a secret.
CHILD_VARIABLES = tuple(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_ALL LC_CTYPE TZ TMPDIR VIRTUAL_ENV CONDA_PREFIX JAVA_HOME GOPATH
    CARGO_HOME RUSTUP_HOME NVM_DIR PYENV_ROOT
    """.split()  # noqa: SIM905  a list literal would take a line per name
)
