"""Shell parser: lists the programs a command line would start, and the words each one gets. Nothing is run.

tree-sitter's bash grammar reads the line; this module expands quotes, escapes, `$IFS`, braces, and variables that the
same line sets. A part of a word that only the running shell can know becomes `UNKNOWN`. A line that the grammar does
not accept, or that takes too long to read, is `unclear`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from sojourn.text.brace_expansion import CLOSE, COMMA, OPEN, expand_braces

UNKNOWN = "\ufffc"  # a part of a word that is not known before the line runs
_SPLIT = "\ue000"  # marks where an unquoted value ends one word and begins the next
_DOLLAR = "\ue004"  # marks a `$` that the grammar has split from its name
_BRACES = {"{": OPEN, "}": CLOSE, ",": COMMA}
# The scanner may crash on characters beyond Latin-1: it sees letters instead. Words are read from the source by offset.
_ASCII_ONLY = bytes(byte if byte < 128 else ord("x") for byte in range(256))
MAX_SCRIPT_BYTES = 10_000  # hostile nesting takes quadratic time, and 150 kB of it overflow the C stack
MAX_PARSE_MICROSECONDS = 500_000  # on hostile lines the grammar's error recovery takes quadratic time and memory
MAX_DEPTH = 12  # commands inside commands
MAX_VALUE_CHARS = 10_000  # of a variable

_LANGUAGE = Language(tree_sitter_bash.language())
_PROBLEMS = Query(_LANGUAGE, "(ERROR) @problem (MISSING) @problem")
_COMMENTS = Query(_LANGUAGE, "(comment) @comment")
_SEQUENCES = frozenset(
    {"program", "list", "compound_statement", "subshell", "do_group", "if_statement", "elif_clause", "else_clause"}
    | {"while_statement", "case_statement", "case_item", "negated_command", "pipeline", "function_definition"}
    | {"c_style_for_statement", "command_substitution", "process_substitution", "heredoc_redirect"}
)
_ASSIGNMENTS = frozenset({"variable_assignment", "variable_assignments"})
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_STATEMENTS = (
    _SEQUENCES
    | _ASSIGNMENTS
    | {"command", "redirected_statement", "declaration_command", "unset_command", "test_command", "for_statement"}
) - {"command_substitution", "process_substitution", "heredoc_redirect"}
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_EXPANSIONS = _SUBSTITUTIONS | {"simple_expansion", "expansion", "arithmetic_expansion"}
_SPECIAL_VALUES = {"?": "0", "#": "0", "$": UNKNOWN, "!": UNKNOWN, "-": UNKNOWN}  # `$1`, `$@` and `$*` are empty
_SETS_VARIABLES = frozenset({"read", "mapfile", "readarray", "printf", "getopts", "let", "unset", "declare", "local"})
_GAP = re.compile(rb"(?:\\\r?\n)*((?s:.*?))(?:\\\r?\n)*((?:\\[ \t\v\f])*)")
_ESCAPED = re.compile(r"\\\n|\\(.)|([{},])|(\s+)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\\n|\\(["\\$`])|(\$[({]|`)|\$([A-Za-z_]\w*|[@*#?!0-9-])')
_SPLIT_EXPANSION = re.compile(_DOLLAR + r"([A-Za-z_]\w*|[@*#?$!0-9-])?")
_MISREAD = re.compile(r"(?<!\\)(?:\\\\)*(?:\n|`|\$[({])")  # the grammar reads some such texts as one plain word
_DELIMITER = re.compile(r"""(["']?)\\?[\w.~!+-]+\1""")
_PARAMETER = re.compile(r"\$\{([A-Za-z_]\w*)(:?[-=+])?")
_ANSI_ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[0-7]{1,3}|.)", re.DOTALL)


@dataclass(slots=True)
class Command:
    """One program that the line would start.

    words: its name and arguments, expanded
    assignments: the variables set for it; a Command without words sets them for the rest of the line
    redirects: (operator, target)
    piped: it reads the output of another command
    stdin_text: the text it reads (a here-document or here-string)
    operator: what joins it to the command before: "", ";", "&", "&&", "||" or "|"
    """

    words: list[str] = field(default_factory=list)
    assignments: dict[str, str] = field(default_factory=dict)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    piped: bool = False
    stdin_text: str = ""
    operator: str = ""


@dataclass(slots=True)
class Script:
    """All commands of a line in reading order, also those inside others. `unclear`: it may start more than these."""

    commands: list[Command] = field(default_factory=list)
    unclear: bool = False


def parse_script(text: str) -> Script:
    """The commands that a shell would start for this text."""
    script = Script(unclear="\0" in text)
    source = text.encode("utf-8", "replace")
    root = _parse(source) if len(source) <= MAX_SCRIPT_BYTES else None
    if root is not None and root.has_error and (end := _unfinished_heredoc(root, source)):
        source += b"\n" + end + b"\n"  # a shell takes the end of the text for the end of a here-document
        root = _parse(source)
    if root is None or _has_problem(root):
        script.unclear = True
        return script
    for comment in QueryCursor(_COMMENTS).captures(root).get("comment", ()):
        before = source[max(0, comment.start_byte - 2) : comment.start_byte]
        if before[-1:] not in b" \t\n;&|()" or before[:1] == b"\\":
            script.unclear = True  # `a#b` is a word, which the grammar takes for the beginning of a comment
    try:
        _Reader(source, script, {"HOME": "~", "PWD": ".", "IFS": _SPLIT}).visit(root)
    except RecursionError:
        script.unclear = True
    return script


def _parse(source: bytes) -> Node | None:
    """The syntax tree; None when the time is up."""
    # Deprecated for a progress callback, which crashes the interpreter in 0.25 and 0.26.
    parser = Parser(_LANGUAGE, timeout_micros=MAX_PARSE_MICROSECONDS)
    try:
        return parser.parse(source.translate(_ASCII_ONLY)).root_node
    except ValueError:
        return None


def _has_problem(root: Node) -> bool:
    """Whether the grammar does not accept the text. A `$` without a name is fine: a shell takes it literally."""
    if not root.has_error:
        return False
    found = QueryCursor(_PROBLEMS).captures(root).get("problem", ())
    return not found or any(node.is_error or node.type != "special_variable_name" for node in found)


def _unfinished_heredoc(root: Node, source: bytes) -> bytes:
    """The delimiter of a here-document that lacks its end; empty when there is none."""
    found = [node for error in root.children if error.is_error for node in error.children]
    starts = [node for node in found if node.type == "heredoc_start"]
    return source[starts[-1].start_byte : starts[-1].end_byte].strip(b"'\"\\") if starts else b""


class _Reader:
    """Visits the statements of a syntax tree and collects their commands."""

    def __init__(self, source: bytes, script: Script, known: dict[str, str], depth: int = 0) -> None:
        self._source, self._script, self._known, self._depth = source, script, known, depth
        self._operator = ""

    def visit(self, node: Node, *, piped: bool = False) -> list[Command]:
        """Collects the commands of a statement and returns them."""
        if node.type == "command":
            return self._visit_command(node, piped=piped)
        if node.type == "redirected_statement":
            return self._visit_redirected(node, piped=piped)
        if node.type in _ASSIGNMENTS:
            return self._visit_assignments(node)
        if node.type in ("declaration_command", "unset_command", "test_command", "for_statement"):
            return self._visit_builtin(node)
        if node.type not in _SEQUENCES:
            self._script.unclear = True
        made: list[Command] = []
        for child in node.children:
            if child.type in ("|", "|&"):
                piped, self._operator = True, "|"
            elif child.type in ("&&", "||", ";", "&", "\n"):
                self._operator = child.type
            elif child.type in _STATEMENTS:
                made += self.visit(child, piped=piped)
            elif child.is_named:
                self._visit_substitutions(child)
        return made

    def _check(self, is_clear: bool) -> None:
        self._script.unclear = self._script.unclear or not is_clear

    def _add(self, command: Command) -> list[Command]:
        command.operator, self._operator = self._operator, ";"
        self._script.commands.append(command)
        return [command]

    def _visit_command(self, node: Node, *, piped: bool) -> list[Command]:
        command = Command(piped=piped)
        arguments = []
        for child in node.children:
            if child.type == "variable_assignment":
                self._assign(child, command.assignments)
            elif child.type in _REDIRECTS:
                self._redirect(child, [command])
            else:
                arguments += child.children if child.type == "command_name" else [child]
        command.words = self._words(arguments)
        if command.words and command.words[0] in _SETS_VARIABLES:
            for word in command.words[1:]:
                self._known.pop(word.partition("=")[0], None)
        return self._add(command)

    def _visit_redirected(self, node: Node, *, piped: bool) -> list[Command]:
        made: list[Command] = []
        for child in node.children:
            if child.type in _REDIRECTS:
                made = made or self._add(Command(piped=piped))
                self._redirect(child, made)
            else:
                made += self.visit(child, piped=piped)
        return made

    def _visit_assignments(self, node: Node) -> list[Command]:
        command = Command()
        for child in [node] if node.type == "variable_assignment" else node.children:
            self._assign(child, command.assignments)
        for name, value in command.assignments.items():
            self._known[name] = value if len(value) < MAX_VALUE_CHARS else UNKNOWN
        return self._add(command)

    def _visit_builtin(self, node: Node) -> list[Command]:
        """`export`, `[[ … ]]` and `for` read as commands: their operands are words like any other."""
        leaves = list(self._operands(node))
        made = self._add(Command(words=self._words(leaves)))
        for variable in node.children_by_field_name("variable"):
            self._known.pop(self._slice(variable), None)
        for body in node.children_by_field_name("body"):
            made += self.visit(body)
        return made

    def _operands(self, node: Node) -> Iterator[Node]:
        for child in node.children:
            if child.type.endswith("_expression") and child.type != "brace_expression":
                yield from self._operands(child)
            elif child.type not in (_STATEMENTS | {";", "\n"}) or child.type == "variable_assignment":
                yield child

    def _assign(self, node: Node, assignments: dict[str, str]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        self._check(name is None or name.type != "variable_name" or self._slice(name).isidentifier())
        is_plain = name is not None and name.type == "variable_name" and (value is None or value.type != "array")
        if is_plain and name is not None:
            words = self._words([value]) if value is not None else []
            assignments[self._slice(name)] = words[0] if len(words) == 1 else " ".join(words)
        else:
            self._visit_substitutions(node)

    def _redirect(self, node: Node, commands: list[Command]) -> None:
        operator = next(child for child in node.children if not child.is_named)
        self._check(self._slice(operator) == operator.type)
        if node.type == "heredoc_redirect":
            self._redirect_heredoc(node, commands)
            return
        words = self._words([child for child in node.children if child.is_named and child.type != "file_descriptor"])
        if node.type == "herestring_redirect":
            for command in commands:
                command.stdin_text = " ".join(words)
        else:
            # The grammar takes words after the target for more targets; a shell takes them for arguments.
            commands[-1].redirects.append((self._slice(operator), words[0] if words else ""))
            commands[-1].words += words[1:]

    def _redirect_heredoc(self, node: Node, commands: list[Command]) -> None:
        following: list[Node] = []
        for child in node.children:
            if child.type == "heredoc_start":
                self._check(_DELIMITER.fullmatch(self._slice(child)) is not None)
            elif child.type == "heredoc_body":
                text = self._slice(child)
                for command in commands:
                    command.stdin_text = text
                self._visit_substitutions(child)
            elif child.type in _REDIRECTS:
                self._redirect(child, commands)
            elif child.type in _STATEMENTS or not child.is_named:
                following.append(child)
            elif not child.type.startswith("heredoc_") and child.type != "file_descriptor":
                commands[-1].words += self._words([child])
        piped = False
        for child in following:
            piped = piped or child.type in ("|", "|&")
            if child.is_named:
                self._operator = "|" if piped else "&&"
                self.visit(child, piped=piped)

    def _visit_substitutions(self, node: Node) -> None:
        """Visits the commands inside a node that is no word of a command."""
        if node.type in _SUBSTITUTIONS:
            self._substitute(node)
            return
        for child in node.children:
            if child.type in _STATEMENTS and child.type != "variable_assignment":
                self.visit(child)
            else:
                self._visit_substitutions(child)

    def _words(self, nodes: Sequence[Node]) -> list[str]:
        """The words of nodes. The grammar sometimes splits one word into two nodes, so adjacent ones are joined."""
        words: list[str] = []
        text, start, end = "", -1, -1
        for node in nodes:
            # The grammar takes an escaped space between two words for a separator; it belongs to the second one.
            gap = _GAP.fullmatch(self._source, end, node.start_byte) if end >= 0 else None
            self._check(gap is None or b"\n" not in gap[1])
            if gap is None or gap[1]:
                words += self._split(text, start, end) if end >= 0 else []
                text, start = "", node.start_byte
            text += gap[2].replace(b"\\", b"").decode() if gap else ""
            if node.type == "string":
                text = text.removesuffix(_DOLLAR)  # `$"…"`, a text to be translated
            text, end = text + self._expand(node), node.end_byte
        return words + self._split(text, start, end) if end >= 0 else words

    def _split(self, text: str, start: int, end: int) -> list[str]:
        """The words that an expanded text stands for, by its braces and field separators."""
        if _DOLLAR in text:
            self._check(not re.search(_DOLLAR + "[({" + OPEN + "]", text))
            text = _SPLIT_EXPANSION.sub(lambda hit: self._value_of(hit[1], quoted=False) if hit[1] else "$", text)
        braced = list(expand_braces(text))
        self._check(bool(braced))
        source = self._source[start:end]
        is_quoted_empty = not text and (b"'" in source or b'"' in source)
        return [part for word in braced for part in word.split(_SPLIT) if part or is_quoted_empty]

    def _slice(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _expand(self, node: Node, *, quoted: bool = False) -> str:
        text = self._slice(node)
        match node.type:
            case "string":
                return self._expand_between(node, node.start_byte + 1, node.end_byte - 1)
            case "translated_string":
                return self._expand(node.children[-1])
            case "raw_string":
                return text[1:-1]
            case "ansi_c_string":
                return _ANSI_ESCAPE.sub(_decode_ansi, text[2:-1])
            case "concatenation" | "command_name":
                return "".join(self._expand(child) for child in node.children)
            case "variable_assignment":
                value = node.child_by_field_name("value")
                start = value.start_byte if value is not None else node.end_byte
                head = self._source[node.start_byte : start].decode("utf-8", "replace")
                return head + (self._expand(value).replace(_SPLIT, " ") if value is not None else "")
            case "simple_expansion":
                return self._value_of(text[1:].replace("\\\n", ""), quoted=quoted) if text != "$" else text
            case "expansion":
                return self._expand_parameter(node, text, quoted=quoted)
            case "command_substitution" | "process_substitution":
                output = self._substitute(node)
                return output.replace(_SPLIT, " ") if quoted else output
            case "arithmetic_expansion":
                self._visit_substitutions(node)
                return UNKNOWN
        if text == "$":
            return _DOLLAR
        self._check(not _MISREAD.search(text))
        self._visit_substitutions(node)
        return _ESCAPED.sub(lambda hit: _SPLIT if hit[3] else hit[1] or _BRACES.get(hit[2], ""), text)

    def _expand_between(self, node: Node, start: int, end: int) -> str:
        """Text in double quotes: the grammar drops spaces there, so literal parts are read from the source."""
        made = ""
        for child in node.children:
            if child.start_byte >= start and child.type in _EXPANSIONS:
                made += self._unquote(start, child.start_byte) + self._expand(child, quoted=True)
                start = child.end_byte
        return made + self._unquote(start, end)

    def _unquote(self, start: int, end: int) -> str:
        """A literal part of a text in double quotes. An expansion that the grammar missed is read here."""
        text = self._source[start:end].decode("utf-8", "replace")

        def replace(hit: re.Match[str]) -> str:
            self._check(hit[2] is None)
            return self._value_of(hit[3], quoted=True) if hit[3] else hit[1] or hit[2] or ""

        return _ESCAPED_IN_QUOTES.sub(replace, text)

    def _value_of(self, name: str, *, quoted: bool) -> str:
        if not name.isidentifier():  # the grammar takes `$1a` for one name
            return _SPECIAL_VALUES.get(name[:1], "") + name[1:]
        value = _SPLIT if name == "IFS" else self._known.get(name, UNKNOWN)
        return value.replace(_SPLIT, " ") if quoted else re.sub(r"\s+", _SPLIT, value)

    def _expand_parameter(self, node: Node, text: str, *, quoted: bool) -> str:
        hit = _PARAMETER.match(text)
        if hit and text == f"${{{hit[1]}}}":
            return self._value_of(hit[1], quoted=quoted)
        if hit and hit[2] and hit[1] not in self._known:
            start = node.start_byte + len(text[: hit.end()].encode())
            value = self._expand_between(node, start, node.end_byte - 1)
            return value if quoted else re.sub(r"\s+", _SPLIT, value)
        self._visit_substitutions(node)
        return "" if text[2:-1].isdigit() or text in ("${@}", "${*}") else UNKNOWN

    def _substitute(self, node: Node) -> str:
        """Visits the commands inside; their output is known when they only echo words."""
        if self._depth > MAX_DEPTH:
            self._script.unclear = True
            return UNKNOWN
        reader = _Reader(self._source, self._script, dict(self._known), self._depth + 1)
        made = reader.visit(node, piped=node.children[0].type == ">(")
        if node.type == "command_substitution" and len(made) == 1 and made[0].words[:1] in (["echo"], ["printf"]):
            echoed = [word for word in made[0].words[1:] if not re.fullmatch(r"-[neE]+|%s(\\n)?", word)]
            if not any("\\" in word or "%" in word for word in echoed):
                return _SPLIT.join(echoed)
        return UNKNOWN


def _decode_ansi(hit: re.Match[str]) -> str:
    return hit[0].encode("latin-1", "replace").decode("unicode_escape", "replace")
