"""Makes a template of a session, and chooses one for a type of task."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sojourn.core.errors import BadInput, NotFound
from sojourn.ports.history import History
from sojourn.templates.extract import MAX_EXAMPLES, judge_conversation, read_conversation, select_examples, task_type_of
from sojourn.templates.library import About, StoredTemplate
from sojourn.templates.model import SessionTemplate, TaskType, check_name, default_name, find_free_name, task_type
from sojourn.templates.sanitize import Cleaner
from sojourn.templates.tool_calls import ToolConversation

REQUEST_CHARS = 500


def make_template(
    history: History,
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
        raise BadInput(f"A template cannot have {most} examples.", hint="Ask for at least one.")
    conversation = read_conversation(history, session)
    found = select_examples(conversation, most)
    if not found:
        raise NotFound(
            f'Session "{session}" makes no template: {_why_nothing(conversation)}', hint="Choose another session."
        )
    clean = cleaner or Cleaner()
    meant = task_type(kind) if kind is not None else task_type_of(conversation)
    template = SessionTemplate(
        name=check_name(name) if name is not None else find_free_name(default_name(meant, session), taken),
        task_type=meant,
        examples=[clean.example(one) for one in found],
        created_at=time.time(),
        source_session_id=session,
    )
    request = clean.text(conversation.request[:REQUEST_CHARS])
    return StoredTemplate(template, About(requests=(request,) if request else (), sessions=(session,)))


def _why_nothing(conversation: ToolConversation) -> str:
    verdicts = judge_conversation(conversation)
    if not verdicts:
        return "it has no tool calls."
    return f"none of its {len(verdicts)} tool calls worked (the first: {verdicts[0].because})."


def resolve_session(history: History, words: str) -> str:
    """The session of that id, or of that unique beginning of one."""
    ids = [facts.id for facts in history.sessions()]
    if words in set(ids):
        return words
    found = [one for one in ids if words and one.startswith(words)]
    if len(found) == 1:
        return found[0]
    problem = f"{len(found)} sessions begin with" if found else "There is no session"
    raise NotFound(f'{problem} "{words}".', hint="Give the whole id.")
