"""Making a template out of a session, and choosing one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from sojourn.core.errors import BadInput, NotFound
from sojourn.ports.history import History
from sojourn.templates.extract import MAX_EXAMPLES, judge_conversation, select_examples, task_type_of
from sojourn.templates.library import About, StoredTemplate
from sojourn.templates.model import SessionTemplate, TaskType, check_name, default_name, find_free_name, task_type
from sojourn.templates.sanitize import Cleaner
from sojourn.templates.tool_calls import ToolConversation

REQUEST_CHARS = 500


def make_template(
    talk: ToolConversation,
    session: str,
    *,
    name: str | None = None,
    kind: TaskType | str | None = None,
    most: int = MAX_EXAMPLES,
    taken: Iterable[str] = (),
    cleaner: Cleaner | None = None,
) -> StoredTemplate:
    """A template of what worked in a session. NotFound when nothing did, and why."""
    if most < 1:
        raise BadInput(f"A template of {most} examples is none.", hint="Ask for at least one.")
    found = select_examples(talk, most)
    if not found:
        raise NotFound(f'Session "{session}" makes no template: {_why_nothing(talk)}', hint="Choose another session.")
    clean = cleaner or Cleaner()
    meant = task_type(kind) if kind is not None else task_type_of(talk)
    template = SessionTemplate(
        name=check_name(name) if name is not None else find_free_name(default_name(meant, session), taken),
        task_type=meant,
        examples=[clean.example(one) for one in found],
        created_at=time.time(),
        source_session_id=session,
    )
    asked = clean.text(talk.request[:REQUEST_CHARS])
    return StoredTemplate(template, About(requests=(asked,) if asked else (), sessions=(session,)))


def _why_nothing(talk: ToolConversation) -> str:
    verdicts = judge_conversation(talk)
    if not verdicts:
        return "it has no tool calls."
    return f"none of its {len(verdicts)} tool calls worked (the first: {verdicts[0].because})."


def choose_template(kept: Sequence[StoredTemplate], kind: TaskType | str) -> StoredTemplate | None:
    """The template for a type of task: the less used, among equals the better proven, then the newer."""
    meant = task_type(kind)
    fitting = [one for one in kept if one.template.task_type is meant and one.template.examples]
    return min(fitting, key=_rank, default=None)


def _rank(kept: StoredTemplate) -> tuple[int, int, float, str]:
    template = kept.template
    return template.usage_count, -kept.about.proven, -template.created_at, template.name


def resolve_session(history: History, words: str) -> str:
    """The session of that id, or of that unique beginning of one."""
    ids = [facts.id for facts in history.sessions()]
    if words in set(ids):
        return words
    found = [one for one in ids if words and one.startswith(words)]
    if len(found) == 1:
        return found[0]
    told = f"{len(found)} sessions begin with" if found else "There is no session"
    raise NotFound(f'{told} "{words}".', hint="Give the whole id.")
