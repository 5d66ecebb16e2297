"""What stands on the pages of an SQLite database: rows, the overflow of large ones, free pages.

Only as much of the file format as it takes to tell whose row a page belongs to. Content that makes no sense ends in
one of `TROUBLE`, never in a loop without end.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Final

LEAF: Final = 0x0D  # of a table: rows
INTERIOR: Final = 0x05  # of a table: keys only
INDEX_LEAF: Final = 0x0A  # indexes, and tables WITHOUT ROWID
INDEX_INTERIOR: Final = 0x02
HAVE_CELLS_THAT_OVERFLOW: Final = (LEAF, INDEX_LEAF, INDEX_INTERIOR)

TROUBLE: Final = (OSError, EOFError, IndexError, struct.error)  # a file or a page that is not what it should be

Read = Callable[[int], bytes]  # the page of that number; EOFError when there is none

_NUMBER = struct.Struct(">I")
_TWO_NUMBERS = struct.Struct(">II")
_SHORT = struct.Struct(">H")
_MOST_TRUNKS = 5_000  # of the free list, each naming hundreds of pages
_DEEPEST = 20  # no tree of tables or indexes is


def start(number: int) -> int:
    """Where the page's own header is: the first page begins with that of the database."""
    return 100 if number == 1 else 0


def kind(number: int, page: bytes) -> int:
    """One of the four kinds above; 0 for a page of overflow, if the database has less than 2**24 pages."""
    return page[start(number)]


def cells(number: int, page: bytes) -> tuple[int, ...]:
    """Where the cells of a tree's page are, in the order of their keys."""
    begin = start(number)
    (count,) = _SHORT.unpack_from(page, begin + 3)
    return struct.unpack_from(f">{count}H", page, begin + (12 if page[begin] in (INTERIOR, INDEX_INTERIOR) else 8))


def rows(number: int, page: bytes) -> Iterator[int]:
    """The row numbers on a leaf of a table."""
    return (_row(page, at) for at in cells(number, page))


def usable_size(header: bytes) -> int:
    """How many bytes of each page are in use. Page 1 says how many at the end are not."""
    return len(header) - header[20]


def moves_pages(header: bytes) -> bool:
    """Whether page 1 tells of auto-vacuum: then some pages are lists of owners, and these look like anything."""
    return any(header[52:56])


def overflow(page: bytes, of_kind: int, at: int, usable: int) -> tuple[int, int]:
    """The first of the pages that hold what did not fit into a cell, and how many they are; zeros if all of it did."""
    size, at = _varint(page, at + 4 if of_kind == INDEX_INTERIOR else at)
    if of_kind == LEAF:
        _, at = _varint(page, at)
    most = usable - 35 if of_kind == LEAF else (usable - 12) * 64 // 255 - 23
    if size <= most:
        return 0, 0
    least = (usable - 12) * 32 // 255 - 23
    here = least + (size - least) % (usable - 4)
    here = here if here <= most else least
    (first,) = _NUMBER.unpack_from(page, at + here)
    return first, -(-(size - here) // (usable - 4))


def chain(first: int, length: int, read: Read) -> Iterator[int]:
    """The pages of one overflow in their order. A page is read when the next one is asked for."""
    passed = set[int]()
    while first and first not in passed:
        passed.add(first)
        yield first
        if len(passed) >= length:
            return
        (first,) = _NUMBER.unpack_from(read(first))


def overflow_of_row(root: int, row: int, usable: int, read: Read) -> Iterator[int]:
    """All overflow pages of a row in the table whose tree begins at `root`; none when there is no such row."""
    number = root
    for _ in range(_DEEPEST):
        page = read(number)
        on_page, of_kind = cells(number, page), kind(number, page)
        if of_kind == LEAF:
            at = bisect_left(on_page, row, key=lambda cell: _row(page, cell))
            if at < len(on_page) and _row(page, on_page[at]) == row:
                yield from chain(*overflow(page, LEAF, on_page[at], usable), read)
            return
        if of_kind != INTERIOR:
            return
        at = bisect_left(on_page, row, key=lambda cell: _signed(_varint(page, cell + 4)[0]))
        (number,) = _NUMBER.unpack_from(page, on_page[at] if at < len(on_page) else start(number) + 8)


def free(among: Set[int], read: Read) -> set[int]:
    """Which of these pages are on the free list. EOFError when the list is not whole, or endless."""
    trunk, left = _TWO_NUMBERS.unpack_from(read(1), 32)
    found = set[int]()
    for _ in range(_MOST_TRUNKS):
        if not trunk:
            break
        page = read(trunk)
        following, count = _TWO_NUMBERS.unpack_from(page)
        found |= among & {trunk, *struct.unpack_from(f">{count}I", page, 8)}
        trunk, left = following, left - 1 - count
    if trunk or left:
        raise EOFError("the free list does not end where it should")
    return found


def _row(page: bytes, at: int) -> int:
    _, at = _varint(page, at)
    return _signed(_varint(page, at)[0])


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for here in range(at, at + 8):
        value = value << 7 | page[here] & 0x7F
        if page[here] < 0x80:
            return value, here + 1
    return value << 8 | page[at + 8], at + 9


class Kept:
    """Files that are read and stay open for as long as they exist.

    To close *any* descriptor of a file gives up all the locks this process has on it, also those SQLite has for its
    connections: their log could then be emptied, or its index cut off, while they read.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], int] = {}

    def read(self, path: Path, size: int, offset: int) -> bytes:
        found = path.stat()
        descriptor = self._open.get((found.st_dev, found.st_ino))
        return os.pread(self._opened(path) if descriptor is None else descriptor, size, offset)

    def _opened(self, path: Path) -> int:
        for identity, one in list(self._open.items()):
            # Should another thread be reading it at this moment: it will find that its log is gone.
            if not os.fstat(one).st_nlink and self._open.pop(identity, None) is not None:
                os.close(one)
        descriptor = os.open(path, os.O_RDONLY)
        found = os.fstat(descriptor)
        self._open[found.st_dev, found.st_ino] = descriptor
        return descriptor


kept = Kept()  # one in a process, because that is who has the locks
