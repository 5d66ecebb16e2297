"""Schemas of the API. Names are those of the command line's `--json`; dates are ISO 8601 in UTC."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sojourn.core.sessions import Recorded
from sojourn.http.json_safe import IsoDate, JsonSafe, Text
from sojourn.ports.store import SearchHit
from sojourn.text.export import message_to_json


def _missing(value: Any) -> bool:
    return value is None or value is False


OptionalText = Annotated[Text | None, Field(exclude_if=_missing)]
OptionalPlain = Annotated[JsonSafe, Field(exclude_if=_missing)]


class StrictSchema(BaseModel):
    """A request; a field that it does not have is an error."""

    model_config = ConfigDict(extra="forbid")


class AttributeSchema(BaseModel):
    """Read from the values of `core` and `ports` by attribute."""

    model_config = ConfigDict(from_attributes=True)


class SessionSchema(AttributeSchema):
    """One conversation, with one id for life."""

    id: Text
    title: Text | None = None
    source: Text = Field(description="The surface or program it began on.")
    tags: list[Text] = []
    pinned: bool
    archived: bool
    parent_session_id: Text | None = None
    model: Text | None = None
    cwd: Text | None = None
    started_at: IsoDate
    last_active: IsoDate
    ended_at: IsoDate = None
    end_reason: Text | None = None
    message_count: int
    tool_call_count: int
    input_tokens: int
    output_tokens: int
    estimated_cost_usd: float | None = None
    last_seq: int = Field(description="The number of the newest thing in its log.")
    revision: int = Field(description="Grows with every change of title, tags, pin or archive.")
    driver: Text | None = Field(default=None, description="The surface that owns it.")
    handoff_state: Text | None = None
    handoff_platform: Text | None = None
    handoff_error: Text | None = None
    preview: Text = Field(default="", description="The opening words of the first thing said.")
    program: Text = Field(default="sojourn", description="Whose history it was imported from.")
    machine: Text | None = Field(default=None, description="The label of the machine that it was imported on.")
    trashed_at: IsoDate = Field(default=None, description="Since when it is in the trash.")
    branched_from: Text | None = Field(default=None, description="The message it continues: `<session>:<seq>`.")
    copied: int = Field(default=0, description="Its messages up to this number are those of that session.")


class SessionDetail(SessionSchema):
    """A session with everything else that is known about it."""

    details: dict[str, JsonSafe] = Field(default={}, description="The other columns of its row, by name.")


class ListedSession(SessionSchema):
    """A session in a list, with what happens in it now."""

    running: bool = Field(default=False, description="Whether a turn runs.")
    waiting: bool = Field(default=False, description="Whether that turn waits for an answer of the owner.")


class SessionPage(BaseModel):
    """A page of a list."""

    sessions: list[ListedSession]
    next: str | None = Field(default=None, description="Give it back as `before` for the next page; null: no more.")
    total: int | None = Field(default=None, description="How many there are in all; only if `count` was asked for.")


class FacetValue(BaseModel):
    """A value to filter by, and how many sessions have it."""

    value: Text
    count: int


class FacetPage(BaseModel):
    """Values by facet (program, source, project, model, tool, tag, month), most sessions first."""

    total: int = Field(description="How many sessions all filters leave.")
    facets: dict[str, list[FacetValue]]


class ToolCallSchema(BaseModel):
    """One call an assistant asked for."""

    id: Text
    name: Text
    arguments: JsonSafe = Field(description="Parsed; a text if the model wrote no valid JSON.")


class MessageSchema(BaseModel):
    """One row of a transcript. (active, compacted): (true, false) live; (false, true) summarised; else undone.

    What a message does not have is left out, but for what every message has.
    """

    id: Text = Field(description="`<session>:<seq>`, for life.")
    session: Text
    seq: int
    role: Text
    content: Text | None = Field(description="What a person would read.")
    timestamp: IsoDate
    active: bool
    compacted: bool
    parts: list[JsonSafe] | None = Field(
        default=None, exclude_if=_missing, description="Structured content, part by part."
    )
    tool_calls: list[ToolCallSchema] | None = Field(default=None, exclude_if=_missing)
    tool_call_id: OptionalText = None
    tool_name: OptionalText = None
    turn_id: OptionalText = None
    token_count: int | None = Field(default=None, exclude_if=_missing)
    finish_reason: OptionalText = None
    reasoning: OptionalText = None
    reasoning_content: OptionalText = None
    reasoning_details: OptionalPlain = None
    codex_reasoning_items: OptionalPlain = None
    codex_message_items: OptionalPlain = None
    platform_message_id: OptionalText = None
    effect_disposition: OptionalText = None
    api_content: OptionalText = None
    observed: bool = Field(default=False, exclude_if=_missing)
    native_id: OptionalText = Field(default=None, description="Its id in the program it was imported from.")
    extra: OptionalPlain = Field(default=None, description="What else came with it.")

    @classmethod
    def of(cls, recorded: Recorded) -> MessageSchema:
        values = message_to_json(recorded)
        values.setdefault("turn_id", recorded.turn)
        return cls.model_validate(values)


class MessagePage(BaseModel):
    """A page of a transcript."""

    messages: list[MessageSchema]
    next: int | None = Field(default=None, description="Give it back as `after` for the next page; null: no more.")
    previous: int | None = Field(
        default=None, description="Give it back as `before` for the page before this one; null: this is the first."
    )


class SnippetSchema(BaseModel):
    """The part of a text that answers. Marks are (start, end) in characters of it."""

    text: Text
    marks: list[tuple[int, int]]


class HitSchema(BaseModel):
    """One message that answers, or a title (then `message` is null and `role` is `title`)."""

    session: Text
    message: Text | None = Field(description="`<session>:<seq>`.")
    seq: int
    score: float = Field(description="How well it answers; 0 by `order=newest`.")
    role: Text
    timestamp: IsoDate
    title: Text | None
    source: Text
    tool_name: Text | None
    snippet: SnippetSchema

    @classmethod
    def of(cls, hit: SearchHit) -> HitSchema:
        message = f"{hit.session}:{hit.seq}" if hit.seq else None
        return cls.model_validate({**asdict(hit), "message": message})


class HitPage(BaseModel):
    """A page of what was found, in the `order` asked for."""

    hits: list[HitSchema]
    next: int | None = Field(default=None, description="Give it back as `before` for the next page; null: no more.")


class RemovalSchema(AttributeSchema):
    """What was taken away."""

    session: Text
    rows: dict[str, int] = Field(description="Rows per table.")
    files: list[Text] = []
    backups: list[Text] = Field(default=[], description="Copies that may still hold it.")
    left: list[Text] = Field(default=[], validation_alias="remaining", description="What could not be reached.")


class HealthSchema(AttributeSchema):
    """How the store is, with the real error and the next step."""

    state: str = Field(description="healthy, degraded, read-only or recovering.")
    store: Text
    readable: bool
    code: str
    error: Text
    hint: Text
    version: str = Field(default="", description="Sojourn's own.")


class HealthDetail(HealthSchema):
    """Health with what only the owner need know."""

    home: Text
    pid: int
    plugins_failed: list[Text] = []


class StatsSchema(AttributeSchema):
    """The store in figures."""

    kind: str
    place: Text
    schema_number: int = Field(validation_alias="schema", serialization_alias="schema")
    sessions: int
    messages: int
    events: int
    not_indexed: int
    bytes: int
    bytes_by: dict[str, int]
    sessions_by_source: dict[str, int]
    messages_by_role: dict[str, int]
    records: int


class HistorySchema(AttributeSchema):
    """A history of another program on this machine. With a problem it is not empty, it is unreadable."""

    source: str
    home: Annotated[Text, BeforeValidator(str)]
    sessions: int
    bytes: int
    version: Text
    problem: Text


class PluginSchema(BaseModel):
    """What a plugin offers, and why it does not if it failed to load."""

    name: Text
    summary: Text
    commands: list[Text] = []
    routes: list[Text] = []
    sources: int = 0
    store: bool = False
    address: Text | None = Field(default=None, description="Where its routes are.")
    problem: Text = ""


class GuaranteeSchema(BaseModel):
    """Something that a program which an agent starts cannot do here."""

    what: str
    by: str = Field(description="What enforces it; empty when nothing does.")


class SandboxSchema(BaseModel):
    """What this machine can enforce for programs that an agent starts."""

    mechanism: str = Field(description="bubblewrap, landlock, sandbox-exec or none.")
    complete: bool = Field(description="Whether a command may run inside without being asked about.")
    missing: list[str]
    guarantees: list[GuaranteeSchema]
