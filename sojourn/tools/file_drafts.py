"""File drafts: the change that a call makes, fixed when it is asked about and written only if it is still the same."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Callable, Sequence

from sojourn.core.errors import BadInput, Conflict
from sojourn.ports.app import HasSettings
from sojourn.tools.judged_call import require_same_place
from sojourn.tools.safe_open import FileDraft, ResolvedPath, binary_kind, open_file, remove_file_at, write_file_at

MAX_FILE_BYTES = 10 * 1024 * 1024  # bytes of a file that is changed as a whole
MAX_COMPARED_CHARS = 200_000  # of both texts; a difference of longer ones takes too long
MARK = "[redacted:"
_HUNK_HEAD = re.compile(r"^@@ .*$", re.MULTILINE)


class FileLocks:
    """One lock per file, so that its changes happen one at a time."""

    def __init__(self, _: HasSettings) -> None:
        self._locks: dict[str, asyncio.Lock] = {}

    def lock(self, place: ResolvedPath) -> asyncio.Lock:
        if len(self._locks) > 1000:
            self._locks = {path: lock for path, lock in self._locks.items() if lock.locked()}
        return self._locks.setdefault(str(place.path), asyncio.Lock())


def read_before(place: ResolvedPath) -> bytes | None:
    """Reads what a file holds before a change; None when it does not exist. BadInput when it is too large."""
    try:
        with open(open_file(place), "rb") as file:  # noqa: PTH123 - by descriptor
            raw = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(raw) > MAX_FILE_BYTES:
        raise BadInput(f"{place.shown} has more than {MAX_FILE_BYTES >> 20} MB.", hint="Change it with a command.")
    return raw


def decode_text(place: ResolvedPath, raw: bytes) -> str:
    """Decodes a file that is changed in part. BadInput when it is binary or not UTF-8."""
    if kind := binary_kind(raw):
        raise BadInput(f"{place.shown} is {kind}, not text.", hint="Use a program made for it.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{place.shown} is not UTF-8 text.", hint="Convert it first, for example with iconv.") from error


def describe_draft(draft: FileDraft) -> str:
    """Renders a change for the person who is asked about it: the whole difference, or all that replaces a binary file
    or one too long to compare. A surface that cannot show it all says so."""
    name, before, after = draft.place.shown, draft.before or b"", (draft.after or b"").decode("utf-8", "replace")
    if kind := binary_kind(before):
        return f"{name}: {kind} ({len(before)} bytes) is replaced.\n{after}"
    text = _difference(draft)
    if text is None:
        return f"{name}: {len(before)} bytes are replaced.\n{after}"
    return text or f"{name}: no change."


def apply_drafts(
    judged: Sequence[FileDraft], now: Sequence[FileDraft], before_writing: Callable[[], None] = lambda: None
) -> None:
    """Writes all files, or none. The caller holds their locks.

    judged: what was asked about; empty when nobody asked
    now: the same change, drafted again just now
    before_writing: called when nothing speaks against the change any more
    """
    for before, after in zip(judged, now, strict=True) if judged else ():
        _require_same_change(before, after)
    for one in now:
        if read_before(one.place) != one.before:
            raise _changed_meanwhile(one.place)
        _refuse_redaction_marks(one)
    before_writing()
    done: list[FileDraft] = []
    try:
        for one in now:
            _replace_file(one.place, one.after)
            done.append(one)
    except BaseException:
        for one in reversed(done):
            _replace_file(one.place, one.before)
        raise


def _require_same_change(judged: FileDraft, now: FileDraft) -> None:
    """NotAllowed when another file is meant by now; Conflict when the change is not the one that was shown."""
    require_same_place(judged.place, now.place)
    if judged.before != now.before or judged.after != now.after:
        shown, new = _difference(judged), _difference(now)
        is_created = (judged.before is None) != (now.before is None)
        if is_created or shown is None or new is None or _HUNK_HEAD.sub("", shown) != _HUNK_HEAD.sub("", new):
            raise _changed_meanwhile(now.place)  # where the same lines have only moved, the change is the same


def _difference(draft: FileDraft) -> str | None:
    """The change as a unified diff; None when it would take too long."""
    old, new = ((one or b"").decode("utf-8", "replace") for one in (draft.before, draft.after))
    if len(old) + len(new) > MAX_COMPARED_CHARS:
        return None
    name = draft.place.shown
    return "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{name}", f"b/{name}", lineterm=""))


def _changed_meanwhile(place: ResolvedPath) -> Conflict:
    return Conflict(f"{place.shown} was changed meanwhile by somebody else.", hint="Read it again, then try again.")


def _refuse_redaction_marks(draft: FileDraft) -> None:
    """Raises BadInput when a redaction mark would replace the secret that it stands for."""
    mark = MARK.encode()
    if (draft.after or b"").count(mark) > (draft.before or b"").count(mark):
        raise BadInput(
            f"The text holds {MARK}…], which stands for a secret you were not shown: it would be lost.",
            hint="Change only the lines around it with patch.",
        )


def _replace_file(place: ResolvedPath, data: bytes | None) -> None:
    if data is None:
        remove_file_at(place)
    else:
        write_file_at(place, data)
