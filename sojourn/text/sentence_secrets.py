"""Secrets in sentences: a name in one of many languages, words, and the value behind them."""

from __future__ import annotations

from sojourn.text.secret_names import (
    KEY_WORD,
    KEY_WORD_HINTS,
    NAME,
    NAME_HINTS,
    SHORT_HINTS,
    SHORT_NAME,
    SUFFIX,
    WORD,
    WORD_HINTS,
)
from sojourn.text.secret_syntax import IS, LINE, NO_NUMBER, QUOTE, VALUE, make_pattern

_GIVEN = rf"(?P<secret>{NO_NUMBER}{VALUE}{{5,200}})"
_ENDING = r"[^\W\d_]{0,4}"  # of a word in its other forms
# Words between the name and the value; a verb or a sign may tell that it comes.
_BETWEEN = r"(?:[ _][^\s:=\"'`\\_]{1,30}+){0,6}?"
_SAYS = (
    r"(?:lautet|ist|est|c'est|es|is|was|be|are|to|equals|è|é|är|er|on|je|jest|este|sunt|là|adalah"
    r"|είναι"
    r"|هي|هو|היא|הוא|है|это|—|–|-{1,2}"
    r"|[-=]>|→|»)"
)
_BEFORE_VALUE = r"(?:\\{0,7}[\"']|[`«„“「『*(\[<]){0,3}"
_FENCE = r"(?:```[a-z]{0,10}\s{1,3})?"

SENTENCE_PATTERNS = (
    make_pattern(
        "password",
        f"{WORD_HINTS} {NAME_HINTS} {SHORT_HINTS}",
        rf"(?:{WORD}{_ENDING}|{NAME}s?|{SHORT_NAME})(?![a-z])(?=[ \t_]){_BETWEEN}"
        rf"(?:[ \t]{{1,2}}{_SAYS}\s{{1,3}}|[ \t]{{0,3}}{_SAYS}?[ \t]{{0,3}}[:=：]\s{{0,3}})"
        rf"{_FENCE}{_BEFORE_VALUE}{_GIVEN}",
        folded=True,
        digits=True,
        random=True,
        named=True,
    ),
    make_pattern(
        "password",
        f"{NAME_HINTS} {SHORT_HINTS} {WORD_HINTS} key login identify auth␣",
        rf"(?:{WORD}{_ENDING}|{NAME}{SUFFIX}|{SHORT_NAME}|(?<![a-z])(?:key|login|identify|auth))(?![a-z])"
        rf"(?:[ \t][^\s:=\"'`\\]{{1,30}}+){{0,3}}?(?:(?:[ \t]|\\{{1,7}}t){{1,9}}[(\[.|<]?\s?|[,;|]\s?)(?:{QUOTE}|`)?"
        rf"(?P<secret>{VALUE}{{7,200}})(?!{VALUE})",
        folded=True,
        strong=True,
    ),
    make_pattern(
        "password",
        "password passwort passwd kennwort passcode passphrase pwd pw pass mdp contraseña senha "
        "wachtwoord",  # right behind it
        rf"(?:passw(?:or)?[dt]|kennwort|passcode|passphrase|(?<![a-z])"
        rf"(?:pwd|pw|pass|mdp)|contraseña|senha|wachtwoord)(?![a-z])[ \t]{{1,3}}"
        rf"(?:{QUOTE}|`|<)?(?P<secret>(?=[^\s]{{0,40}}[0-9][^\s]{{0,40}}[0-9!@#$%^&*?])"
        rf"(?=[^\s]{{0,40}}[a-z]){VALUE}{{6,100}})(?![\w(\[=])",
        folded=True,
        named=True,
        random=True,
    ),
    make_pattern(
        "password",
        " ".join(one for one in WORD_HINTS.split() if not one.isascii()),
        rf"{WORD}\s{{0,2}}[^\x00-\x7f]{{0,6}}\s{{0,2}}[:：=]?\s{{0,3}}[「『“\"']?"
        rf"(?P<secret>[A-Za-z0-9._~+/=@!#$%^&*?-]{{6,100}})",
        digits=True,
    ),
    make_pattern(
        "api-key",
        KEY_WORD_HINTS,
        rf"{KEY_WORD}{_ENDING}(?:[ \t-]{{1,2}}[^\s:=：]{{1,20}}){{0,4}}?\s{{0,3}}"
        rf"(?:[:=：]|[^\x00-\x7f]{{1,8}}|\s)\s{{0,3}}{_BEFORE_VALUE}"
        rf"(?P<secret>{VALUE}{{16,200}})",
        folded=True,
        strong=True,
    ),
    make_pattern(
        "password",
        f"{WORD_HINTS} pass pwd kennwort",  # of digits only
        rf"(?:{WORD}|passwd|password|passwort|kennwort|(?<![a-z])(?:pass|pwd|passcode))(?: {_SAYS})?{IS}"
        rf"(?P<secret>[0-9]{{6,64}})(?![\w.,:/%-])",
        folded=True,
    ),
    make_pattern(
        "password",
        "pin passcode door␣code unlock␣code verification␣code security␣code one-time access␣code otp␣ otp: tan:",
        r"(?:(?<![A-Za-z0-9_-])(?:pin(?:[ -]code)?|passcode|otp|tan)|"
        r"(?:door|unlock|verification|security|one-time|access)[ -](?:code|pass(?:word|code)))"
        r"(?: [a-z]{1,12}){0,3}?(?:\s(?:is|lautet|ist|est|es|was)\s|[\"']?\s{0,2}[:=]\s{0,2}[\"']?|\s)"
        r"(?P<secret>[0-9]{4,8})(?![0-9:/-]|\.[0-9])",
        folded=True,
    ),
    make_pattern(
        "password",
        "app␣password app-password application␣password app-specific",  # sixteen letters, as Google writes them
        r"app(?:lication)?(?:[ -]specific)?[ -]password(?: is)?[:= ]{1,3}[\"'`]?"
        r"(?P<secret>(?-i:[a-z]{4})(?: (?-i:[a-z]{4})){3})(?![a-z ])",
        folded=True,
    ),
    make_pattern(
        "recovery-code",
        "recovery␣code backup␣code recovery_code backup_code",
        r"(?:recovery|backup)[ _]codes?[^\n]{0,80}?\s{1,4}"
        r"(?P<secret>[0-9a-z]{4,6}-[0-9a-z]{4,6}(?:[\s,]{1,4}[0-9a-z]{4,6}-[0-9a-z]{4,6}){0,19})(?![0-9a-z-])",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "recovery-code",
        "recovery␣code backup␣code recovery_code backup_code",
        r"(?:recovery|backup)[ _]codes?[^\n]{0,60}?[\s:]{1,4}"
        r"(?P<secret>[0-9a-z]{8,12}(?:[\s,]{1,4}[0-9a-z]{8,12}){1,19})(?![0-9a-z-])",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        "password passwort passwd token secret api␣key api_key apikey passphrase",  # on the next line, or behind dots
        rf"(?:passw(?:or)?[dt]|token|secret(?:[ _]key)?|api[ _]?key|passphrase)(?:[*_]{{1,2}}|[\"'])?"
        rf"(?::?[*_]{{0,2}}[ \t]?{LINE}{{1,2}}|[.]{{3,60}}|[ ][.]{{3,60}}[ ]?){_FENCE}{_BEFORE_VALUE}"
        rf"(?P<secret>{NO_NUMBER}{VALUE}{{6,200}})(?=[`\"'*»”]{{0,3}}[.,]?[ \t]{{0,3}}(?:\n|\\{{1,7}}n|\Z))",
        folded=True,
        digits=True,
        random=True,
        named=True,
    ),
    make_pattern(
        "password",
        "passphrase seed␣phrase recovery␣words recovery␣phrase mnemonic",  # plain words until the end of the line
        r"(?:passphrase|seed phrase|recovery (?:words|phrase)|mnemonic)(?: (?:is|are|was)|[ ]?[:=])[ ]"
        r"(?![^\n]{0,200}\b(?:the|a|to|for|is|your|you|this|of|in|and|or|not|must|be|with|it|no)\b)"
        r"(?P<secret>(?-i:[a-z]{3,12})(?:[ ](?-i:[a-z]{3,12})){2,23})(?=[ ]{0,3}[.!]?(?:\n|\\{1,7}n|\Z|\"))",
        folded=True,
    ),
    make_pattern(
        "license-key",
        "license licence product␣key product_key activation serial recovery␣key",
        r"(?:licen[cs]e|product|activation|serial|recovery)(?:[ _-](?:key|code|number|no\.?))?"
        r"(?: [a-z]{1,12}){0,3}?\s{0,2}[:=]?\s{0,3}[\"'`]?"
        r"(?P<secret>(?-i:[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,8}))(?![\w-])",
        folded=True,
        digits=True,
    ),
)
