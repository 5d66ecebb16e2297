"""Provenance of a turn: whose text it has read, and which hosts the person named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Origin = Literal["foreign", "private"]  # text by others; other sessions of the person


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What is in front of the model besides the person's words. Tools add to it as they run."""

    foreign: bool = False  # a web page, an imported session, an event of a program, a guest's message
    private: bool = False  # other sessions of the person
    hosts: tuple[str, ...] = ()  # of the web, named by the person

    def add_origins(self, origins: Iterable[Origin]) -> Provenance:
        found = set(origins)
        return replace(self, foreign=self.foreign or "foreign" in found, private=self.private or "private" in found)

    def add_hosts(self, hosts: Iterable[str]) -> Provenance:
        return replace(self, hosts=tuple(dict.fromkeys([*self.hosts, *hosts])))

    def has_named(self, host: str) -> bool:
        """Whether the person named this host, with or without a leading `www.`."""
        return host.removeprefix("www.") in {one.removeprefix("www.") for one in self.hosts}
