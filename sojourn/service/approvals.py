"""What a person has allowed for longer than once, so that the same is not asked again."""

from __future__ import annotations

from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.records import Record, RecordStore
from sojourn.ports.tool import Question, Reply

_KIND = "approval"


class Approvals:
    """Of one session. What is dangerous is asked every time, whatever was allowed; "always" is per person, so that
    what the owner is spared is still asked when a guest's turn wants it."""

    def __init__(self, store: RecordStore, session: SessionId, principal: Principal = OWNER) -> None:
        self._store, self._session, self._principal = store, session, principal

    async def known(self, question: Question) -> Reply | None:
        """The answer given before, if it holds for this question too."""
        if not question.tool or question.dangerous:
            return None
        for key in self._keys(question):
            if record := await self._store.get_record(_KIND, key):
                return Reply(choice=record.value["choice"], by=record.value["by"], why="allowed before")
        return None

    async def keep(self, question: Question, reply: Reply) -> None:
        if not question.tool or question.dangerous or reply.choice not in ("session", "always"):
            return
        of_session, always = self._keys(question)
        value = {"choice": reply.choice, "by": reply.by}
        if reply.choice == "always":
            await self._store.put_record(Record(kind=_KIND, key=always, value=value, principal=self._principal))
        else:
            await self._store.put_record(Record(kind=_KIND, key=of_session, value=value, session=self._session))

    def _keys(self, question: Question) -> tuple[str, str]:
        return f"session/{self._session}/{question.tool}", f"always/{self._principal}/{question.tool}"
