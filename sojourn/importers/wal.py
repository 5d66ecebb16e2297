"""What another program wrote to its SQLite database since somebody last looked, read from its write-ahead log.

A log (`-wal`) is a row of frames, each a page as a commit left it. The frames after a place name the pages that were
written, and the leaves of tables among these name the rows: more than have changed, never fewer. Where that cannot be
promised the answer is None, and the caller has to look at everything.

How much of a log is committed stands in the shared index beside it (`-shm`), not in the log itself: there a commit
stands a moment before readers see it, and one that failed stays. A look is sound like this, and only like this:

    here = end_of(database)
    db.execute("BEGIN"), and a first SELECT          # a snapshot, of `here` or of something newer
    end_of(database) == here                         # so it is of `here`; otherwise end it and begin again
    written = written_since(database, last, here)    # within it: its lock keeps pages and frames where they are
    last = here                                      # for the next look

Nothing is written, and nothing is locked but by the caller's own snapshot.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType

from sojourn.importers import pages

_VERSION = 3_007_000
_INDEX = struct.Struct("=I8xBxHII8s8s8s")  # the head of the shared index, in the byte order of the machine
_FRAME = struct.Struct(">I4x8s8s")
_LOG_HEAD = 32
_MOST_FRAMES = 20_000  # to look at everything is cheaper than more
_MOST_PAGES = 2**24 - 1  # with more, a page of overflow could begin like a leaf


@dataclass(frozen=True, slots=True)
class LogEnd:
    """How far a log was committed when somebody looked."""

    salts: bytes  # the name of this filling; a log whose frames are all in the database is filled again from its start
    frames: int
    checksum: bytes  # of the last frame, which sums up all before: while it stands, they are what they were
    page_size: int
    pages: int  # of the database


@dataclass(frozen=True, slots=True)
class Written:
    """What was written to a database between two looks. Good for as long as the snapshot it was asked in."""

    rows: frozenset[int]  # on the leaves that were written, of all tables alike
    _database: Path
    _here: LogEnd
    _loose: frozenset[int]  # pages of overflow that were written without the leaf they belong to

    def is_all_in(self, root: int, rows: Iterable[int]) -> bool:
        """Whether nothing was written but `self.rows` and these further rows of the table with this root page.

        It is not when the overflow of some other row was overwritten in place: SQLite leaves out the pages of a row
        that stay as they are, and then the leaf, which alone has the row's number, is not written.
        """
        if not self._loose:
            return True
        try:
            with _Log(self._database, self._here.page_size) as log:
                view, loose = _View(self._database, log, self._here, 0), set(self._loose)
                usable = pages.usable_size(view.page(1))
                for row in rows:
                    loose.difference_update(pages.overflow_of_row(root, row, usable, view.page))
                    if not loose:
                        break
                return not loose and _is_filling(self._database, self._here)
        except pages.TROUBLE:
            return False


def end_of(database: Path) -> LogEnd | None:
    """Where the log of this database (its real path) ends now; None when there is no log or it cannot be read."""
    if os.name != "posix":
        return None  # elsewhere bytes that are mapped and bytes that are read may differ
    try:
        now = _announced(database)
        if now is None:
            return None
        with _Log(database, now.page_size) as log:
            return now if log.still_has(now) else None
    except pages.TROUBLE:
        return None


def written_since(database: Path, last: LogEnd, here: LogEnd) -> Written | None:
    """Everything that was written between two ends of the log; None when it cannot be told."""
    if here.page_size != last.page_size or here.pages > _MOST_PAGES:
        return None
    try:
        with _Log(database, here.page_size) as log:
            found = _pages_since(log, last, here)
            if found is None:
                return None
            first, older = found
            view = _View(database, log, here, first)
            # What lies behind the end of a database that shrank belongs to nobody.
            written = _sorted_out(view, {one for one in older | view.late.keys() if one <= here.pages})
            # A writer announces a new filling before it overwrites a frame, and overwrites them in their order.
            return written if _is_filling(database, here) and log.still_has(last) else None
    except pages.TROUBLE:
        return None


def _pages_since(log: _Log, last: LogEnd, here: LogEnd) -> tuple[int, Set[int]] | None:
    """The first frame of this filling to look at, and the pages that were written before it was begun."""
    if here.salts == last.salts:
        return (last.frames, set()) if 0 <= here.frames - last.frames <= _MOST_FRAMES else None
    if _first(here.salts) != (_first(last.salts) + 1) % 2**32 or here.frames > _MOST_FRAMES:
        return None
    # It was filled anew exactly once. If its frame before `last` is in its place, neither do the new frames reach
    # there nor was the log emptied. But it may have been cut to a size: so the old frames are all there only if one
    # that is still older comes after them. A log that just ends (EOFError) might have gone on.
    if not last.frames or not log.still_has(last):
        return None
    older = set[int]()
    for number in range(last.frames, last.frames + _MOST_FRAMES):
        page, salts, _ = log.frame(number)
        if salts != last.salts:
            # Without salts it might be one of them: after ROLLBACK TO, some versions of SQLite leave frames like that.
            return (0, older) if any(salts) else None
        older.add(page)
    return None


def _sorted_out(view: _View, changed: set[int]) -> Written:
    """The rows on these pages, and which of the pages are overflow that no cell on them accounts for."""
    rows, loose, trees = set[int](), set[int](), set[int]()
    for number in changed:
        page = view.page(number)
        kind = pages.kind(number, page)
        if kind == pages.LEAF:
            rows.update(pages.rows(number, page))
        if kind in pages.HAVE_CELLS_THAT_OVERFLOW:
            trees.add(number)
        elif kind != pages.INTERIOR:
            loose.add(number)
    if loose:
        # Free pages first: the cells on one that was a leaf point to pages that are somebody else's by now.
        free = pages.free(changed, view.page)
        loose -= free
        _account_for(loose, trees - free, view)
    return Written(frozenset(rows), view.database, view.here, frozenset(loose))


def _account_for(loose: set[int], trees: set[int], view: _View) -> None:
    """Takes away the pages that overflow from cells on these pages of trees, as far as all of a chain was written."""
    header = view.page(1)
    if pages.moves_pages(header):
        raise EOFError("some pages of this database look like what they are not")
    usable = pages.usable_size(header)
    for number in trees if loose else ():
        page = view.page(number)
        kind = pages.kind(number, page)
        for cell in pages.cells(number, page):
            for one in pages.chain(*pages.overflow(page, kind, cell, usable), view.page):
                if one not in loose:
                    break
                loose.remove(one)


def _announced(database: Path) -> LogEnd | None:
    """What writers tell readers in the shared index, twice and with a checksum: None while they are telling it."""
    told = pages.kept.read(_beside(database, "-shm"), 2 * _INDEX.size, 0)
    if len(told) < 2 * _INDEX.size or told[: _INDEX.size] != told[_INDEX.size :]:
        return None
    version, is_there, size, frames, of_database, checksum, salts, own = _INDEX.unpack_from(told)
    if version != _VERSION or not is_there or own != _summed(told[: _INDEX.size - len(own)]) or not any(salts):
        return None  # salts of zero are those of a log nobody has written to: many logs have that name
    page_size = (size & 0xFE00) + ((size & 1) << 16)
    return LogEnd(salts, frames, struct.pack(">II", *struct.unpack("=II", checksum)), page_size, of_database)


def _summed(data: bytes) -> bytes:
    one = two = 0
    for left, right in struct.iter_unpack("=II", data):
        one = (one + left + two) & 0xFFFFFFFF
        two = (two + right + one) & 0xFFFFFFFF
    return struct.pack("=II", one, two)


def _is_filling(database: Path, here: LogEnd) -> bool:
    """Whether the log is still in the same filling."""
    now = _announced(database)
    return now is not None and now.salts == here.salts


def _first(salts: bytes) -> int:
    return int.from_bytes(salts[:4], "big")


def _beside(database: Path, ending: str) -> Path:
    return database.with_name(database.name + ending)


class _Log:
    """The frames of a log, also those that are not committed or are left from an earlier filling."""

    def __init__(self, database: Path, page_size: int) -> None:
        self._file = _beside(database, "-wal").open("rb", buffering=0)  # SQLite has no locks on it: it may be closed
        self._page_size = page_size

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def frame(self, number: int) -> tuple[int, bytes, bytes]:
        """The page it is of, its salts and its checksum; EOFError when the log ends before."""
        head = os.pread(self._file.fileno(), _FRAME.size, self._offset(number))
        if len(head) < _FRAME.size:
            raise EOFError("the log ends here")
        page, salts, checksum = _FRAME.unpack(head)
        return page, salts, checksum

    def page(self, number: int) -> bytes:
        return os.pread(self._file.fileno(), self._page_size, self._offset(number) + _FRAME.size)

    def still_has(self, end: LogEnd) -> bool:
        return not end.frames or self.frame(end.frames - 1)[1:] == (end.salts, end.checksum)

    def _offset(self, number: int) -> int:
        return _LOG_HEAD + number * (_FRAME.size + self._page_size)


class _View:
    """A database as of one moment: a page is read from the log if it is there, else from the file."""

    def __init__(self, database: Path, log: _Log, here: LogEnd, first: int) -> None:
        self.database, self.here = database, here
        self._log, self._first = log, first
        self.late = self._newest(first, here.frames)  # the frame each page stands in, from the first frame that matters

    @cached_property
    def _early(self) -> dict[int, int]:
        return self._newest(0, self._first)

    def page(self, number: int) -> bytes:
        if not 1 <= number <= self.here.pages:
            raise EOFError("there is no such page")
        frame = self.late.get(number)
        if frame is None:
            frame = self._early.get(number)
        size = self.here.page_size
        found = pages.kept.read(self.database, size, (number - 1) * size) if frame is None else self._log.page(frame)
        if len(found) < size:
            raise EOFError("the page is not whole")
        return found

    def _newest(self, first: int, end: int) -> dict[int, int]:
        found = {}
        for number in range(first, end):
            page, salts, _ = self._log.frame(number)
            if salts != self.here.salts:
                raise EOFError("the log is being filled anew")
            found[page] = number
        return found
