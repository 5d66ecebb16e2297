"""Reads a command line as a shell would, as far as it takes to know which programs it starts and with what.

Quotes, escapes, `$IFS`, braces, variables set on the same line, `$(…)`, backticks, `<(…)`, here-documents,
pipes and redirections. What only the running shell can know becomes UNKNOWN. Nothing is run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sojourn.tools.braces import CLOSE, COMMA, OPEN, expanded

UNKNOWN = "\ufffc"  # a part of a word that is not known before it runs
_SPLIT = "\ue000"  # where an unquoted $IFS parts a word
_OPERATOR = re.compile(r"&&|\|\||;;&?|\|&|[;|&\n()]")
_REDIRECT = re.compile(r"(\d*|&)(<<<|<<-?|<>|>>|>\||>&|<&|>|<)|(&>>|&>)")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([!#]?)([A-Za-z_]\w*|[@*#?$!0-9-])([^{}]*)\}|([@*#?$!0-9_-]))")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_ANSI = re.compile(r"\\(?:x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_KNOWN = {"HOME": "~", "PWD": ".", "IFS": _SPLIT}
DEEPEST, LONGEST = 12, 10_000  # commands inside commands; characters of a variable


@dataclass(slots=True)
class Command:
    """One program that would be started. `piped`: it reads what another one writes; `fed`: it reads this text."""

    words: list[str] = field(default_factory=list)
    sets: dict[str, str] = field(default_factory=dict)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    piped: bool = False
    fed: str = ""
    in_background: bool = False


@dataclass(slots=True)
class Script:
    """All commands of a line, also those inside others. `broken`: it cannot be read to its end."""

    commands: list[Command] = field(default_factory=list)
    broken: bool = False


def read_script(text: str) -> Script:
    """What a command line would start."""
    script = Script()
    _Reader(text, script, dict(_KNOWN), 0).read()
    return script


class _Reader:
    def __init__(self, text: str, script: Script, known: dict[str, str], depth: int) -> None:
        self.text, self.script, self.known, self.depth = text.replace("\\\n", ""), script, known, depth
        self.at = 0
        self.command = Command()
        self.ends: list[tuple[Command, str]] = []  # here-documents that begin on the next line

    def read(self) -> list[Command]:
        mine: list[Command] = []
        if self.depth > DEEPEST:
            self.script.broken = True
            return mine
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r":
                self.at += 1
            elif char == "#":
                stop = self.text.find("\n", self.at)
                self.at = len(self.text) if stop < 0 else stop
            elif self.text.startswith(("<(", ">("), self.at):
                self._add(self._word())
            elif hit := _REDIRECT.match(self.text, self.at):
                self.at = hit.end()
                self._redirect(hit[2] or hit[3])
            elif hit := _OPERATOR.match(self.text, self.at):
                self.at = hit.end()
                self._finish(mine, hit[0])
            else:
                self._add(self._word())
        self._finish(mine, "")
        return mine

    def _finish(self, mine: list[Command], operator: str) -> None:
        done, piped = self.command, operator in ("|", "|&")
        done.in_background = operator == "&"
        if done.words or done.redirects or done.sets:
            if not done.words:
                self.known |= {name: value if len(value) < LONGEST else UNKNOWN for name, value in done.sets.items()}
            self.script.commands.append(done)
            mine.append(done)
            self.command = Command(piped=piped)
        elif piped or operator == "(":
            self.command.piped = self.command.piped or piped
        if operator == "\n":
            self._documents()

    def _documents(self) -> None:
        for command, end in self.ends:
            lines = self.text[self.at :].split("\n")
            stop = next((n for n, line in enumerate(lines) if line.lstrip("\t") == end), len(lines))
            command.fed = "\n".join(lines[:stop])
            self.at = min(len(self.text), self.at + sum(len(line) + 1 for line in lines[: stop + 1]))
        self.ends = []

    def _redirect(self, operator: str) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        target = "".join(self._word())
        if operator.startswith("<<") and operator != "<<<":
            self.ends.append((self.command, target))
        elif operator == "<<<":
            self.command.fed = target
        else:
            self.command.redirects.append((operator, target))

    def _add(self, words: list[str]) -> None:
        for word in words:
            hit = _ASSIGNMENT.fullmatch(word)
            if hit and not self.command.words:
                self.command.sets[hit[1]] = hit[2]
            else:
                self.command.words.append(word)

    def _word(self) -> list[str]:
        """The next word; several when it holds braces or a field separator."""
        made = ""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r\n;|&<>()" and not self.text.startswith(("<(", ">("), self.at):
                if char == "(" and made.endswith("="):
                    made += self._inside("(", ")")  # an array
                    continue
                break
            made += self._piece(char)
        braced = expanded(made)
        self.script.broken = self.script.broken or not braced
        return [part for word in braced for part in word.split(_SPLIT) if part or len(braced) == 1 == word.count("")]

    def _piece(self, char: str) -> str:
        self.at += 1
        if char == "\\":
            self.at += 1
            return self.text[self.at - 1 : self.at] or char
        if char == "'":
            return self._until("'")
        if char == '"':
            return self._double()
        if char == "`":
            return self._nested(self._until("`"))
        if char in "<>" and self.text.startswith("(", self.at):
            self._nested(self._inside("(", ")"), piped=char == ">")
            return UNKNOWN
        if char == "$":
            return self._dollar(quoted=False)
        return {"{": OPEN, "}": CLOSE, ",": COMMA}.get(char, char)

    def _until(self, end: str) -> str:
        found, closed, _ = self.text[self.at :].partition(end)
        self.script.broken = self.script.broken or not closed
        self.at += len(found) + 1
        return found

    def _double(self) -> str:
        made = ""
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return made
            if char == "\\" and self.text[self.at : self.at + 1] in ('"', "\\", "$", "`"):
                made += self.text[self.at]
                self.at += 1
            elif char == "`":
                made += self._nested(self._until("`"))
            else:
                made += self._dollar(quoted=True) if char == "$" else char
        self.script.broken = True
        return made

    def _dollar(self, *, quoted: bool) -> str:
        following = self.text[self.at : self.at + 2]
        if following == "((":
            self._nested(self._inside("(", ")"))
            return UNKNOWN
        if following[:1] == "(":
            return self._nested(self._inside("(", ")"))
        if following[:1] in ("'", '"') and not quoted:
            self.at += 1
            return self._ansi() if following[0] == "'" else self._double()
        hit = _VARIABLE.match(self.text, self.at - 1)
        if hit is None:
            return "$"
        self.at = hit.end()
        value = self._value(hit)
        return value.replace(_SPLIT, " ") if quoted else re.sub(r"\s+", _SPLIT, value)

    def _value(self, hit: re.Match[str]) -> str:
        name, how = hit[1] or hit[3] or "", hit[4] or ""
        if hit[2] or hit[5] or not name.isidentifier():
            return UNKNOWN if hit[2] else ""  # $1, $@ and the like are empty in a line of its own
        if name == "IFS":
            return _SPLIT
        if how[:2] in (":-", ":=", ":+") and name not in self.known:
            return _Reader(how[2:], Script(), self.known, self.depth + 1)._double()
        if how:
            return UNKNOWN
        return self.known.get(name, UNKNOWN)

    def _ansi(self) -> str:
        made = ""
        while self.at < len(self.text) and self.text[self.at] != "'":
            hit = _ANSI.match(self.text, self.at)
            raw = hit[0] if hit else self.text[self.at]
            made += raw.encode("latin-1", "replace").decode("unicode_escape", "replace") if hit else raw
            self.at += len(raw)
        self.at += 1
        return made

    def _inside(self, opening: str, closing: str) -> str:
        """What is between two brackets, the first of which is next."""
        depth, start = 0, self.at + 1
        quote = ""
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "\\" and quote != "'":
                self.at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char in (opening, closing):
                depth += 1 if char == opening else -1
                if not depth:
                    return self.text[start : self.at - 1]
        self.script.broken = True
        return self.text[start:]

    def _nested(self, text: str, *, piped: bool = False) -> str:
        """Reads a command inside a word; what it would say is known when it only says something."""
        reader = _Reader(text, self.script, dict(self.known), self.depth + 1)
        reader.command.piped = piped
        inner = reader.read()
        if len(inner) == 1 and inner[0].words[:1] in (["echo"], ["printf"]):
            said = [word for word in inner[0].words[1:] if not re.fullmatch(r"-[neE]+|%s(\\n)?", word)]
            return UNKNOWN if any("\\" in word or "%" in word for word in said) else _SPLIT.join(said)
        return UNKNOWN
