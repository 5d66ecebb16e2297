"""Named secrets: values recognised by the name before them, in files, programs and sentences."""

from __future__ import annotations

from sojourn.text.secret_names import NAME, NAME_HINTS, SHORT_HINTS, SHORT_NAME, SUFFIX, WORD, WORD_HINTS
from sojourn.text.secret_syntax import (
    ALONE,
    CLOSED,
    IS,
    IS_GIVEN,
    IS_PAIR,
    LINE,
    OPEN,
    QUOTE,
    TEXT,
    VALUE,
    SecretPattern,
    make_pattern,
)

_NO_NUMBER = r"(?![0-9.,%:]+(?![A-Za-z0-9!@#$^&*?_~+/-]))"
_GIVEN = rf"(?P<secret>{_NO_NUMBER}{VALUE}{{5,400}})"


def _build_named(
    hints: str, name: str, *, least: int = 5, digits: bool = False, random: bool = False, strong: bool = False
) -> tuple[SecretPattern, ...]:
    """A name and its value, with a sign between them, or both in quotes; and a quoted value with spaces."""
    return (
        make_pattern(
            "password",
            hints,
            rf"{name}(?:{IS_PAIR}|{IS_GIVEN})(?P<secret>{_NO_NUMBER}{VALUE}{{{least},400}})",
            folded=True,
            named=True,
            digits=digits,
            random=random,
            strong=strong,
        ),
        make_pattern(
            "password",
            hints,
            rf"{name}(?:{IS_PAIR}|{IS_GIVEN})(?<=[\"'`])(?P<secret>{TEXT}{{{max(6, least)},200}}){CLOSED}",
            folded=True,
            strong=True,
        ),
    )


_GIVEN_VALUES = (
    *_build_named(NAME_HINTS, NAME + SUFFIX, random=True),
    *_build_named(SHORT_HINTS, SHORT_NAME + SUFFIX, random=True),
    *_build_named(WORD_HINTS, WORD, digits=True),
    *_build_named(
        "key auth", r"(?:keys?|auth(?:orization|entication)?)(?![a-z])(?:_(?:[.-]?\w){0,24}+)?+", least=16, strong=True
    ),
    make_pattern(
        "private-key",  # as numbers
        f"{NAME_HINTS} key",
        rf"(?:{NAME}|key)(?:[.-]?\w){{0,24}}+(?:\[[0-9]{{0,3}}\])?\s{{0,3}}[:=]?\s{{0,3}}"
        rf"(?:new )?[\w\[\]]{{0,12}}[({{\[]{{1,2}}\s{{0,9}}"
        r"(?P<secret>(?:0x[0-9a-f]{2}|[0-9]{1,3})(?:,\s{0,9}(?:0x[0-9a-f]{2}|[0-9]{1,3})){11,4000})",
        folded=True,
    ),
    make_pattern(
        "password",
        "passphrase psk seed mnemonic recovery",  # of several words
        rf"(?:passphrase|psk|(?:seed|mnemonic|recovery)[ _-]?(?:phrase|words?|code)?)"
        rf"(?:{IS_PAIR}|{IS_GIVEN}|(?: [\w'-]{{1,20}}){{0,6}}? (?:is|was):?\s{{1,2}}{OPEN})"
        rf"(?P<secret>(?-i:[a-z0-9])[^\s\"'`\\]{{0,30}}(?: [^\s\"'`\\]{{1,30}}){{2,24}}){CLOSED}",
        folded=True,
    ),
    make_pattern(
        "password",
        "seed mnemonic recovery␣phrase",
        rf"(?:seed|mnemonic|recovery)[ _-]?(?:phrase|words?)?(?: is|:|=|{IS_PAIR})\s{{0,3}}(?:{OPEN})?"
        rf"(?P<secret>(?-i:[a-z]){{3,8}}(?: (?-i:[a-z]){{3,8}}){{11,23}})(?![a-z])",
        folded=True,
    ),
    make_pattern(
        "password",
        "password passwd passwort kennwort",
        rf"(?:passw(?:or)?[dt]|kennwort)(?:{IS_PAIR}|{IS_GIVEN})(?<=[\"'])"
        rf"(?P<secret>(?-i:[a-z0-9])[^\s\"'\\]{{0,30}}(?: [^\s\"'\\]{{1,30}}){{1,12}}){CLOSED}",
        folded=True,
        digits=True,
    ),
)

# Words between the name and the value; a verb or a sign may tell that it comes.
_BETWEEN = r"(?:[ _][^\s:=\"'`\\_]{1,30}+){0,6}?"
_SAYS = r"(?:lautet|ist|est|es|is|was|to|è|é|är|er|on|jest|это|—|–|->|→)"
_BEFORE_VALUE = r"(?:\\{0,7}[\"']|[`«„“「『*(\[]){0,3}"

_IN_SENTENCES = (
    make_pattern(
        "password",
        f"{WORD_HINTS} {NAME_HINTS}",
        rf"(?:{WORD}|{NAME})(?![a-z])(?=[ \t_]){_BETWEEN}"
        rf"(?:[ \t]{{1,2}}{_SAYS}\s{{1,3}}|[ \t]{{0,3}}{_SAYS}?[ \t]{{0,3}}[:=：]\s{{0,3}}){_BEFORE_VALUE}{_GIVEN}",
        folded=True,
        digits=True,
        random=True,
        named=True,
    ),
    make_pattern(
        "password",
        f"{NAME_HINTS} {SHORT_HINTS} {WORD_HINTS} key login identify auth␣",
        rf"(?:{WORD}|{NAME}{SUFFIX}|{SHORT_NAME}|(?<![a-z])(?:key|login|identify|auth))(?![a-z])"
        rf"(?:[ \t][^\s:=\"'`\\]{{1,30}}+){{0,3}}?(?:(?:[ \t]|\\{{1,7}}t){{1,9}}[(\[.|]?\s?|[,;|]\s?)(?:{QUOTE}|`)?"
        rf"(?P<secret>{VALUE}{{7,400}})(?!{VALUE})",
        folded=True,
        strong=True,
    ),
    make_pattern(
        "password",
        " ".join(one for one in WORD_HINTS.split() if not one.isascii()),
        rf"{WORD}\s{{0,2}}[^\x00-\x7f]{{0,6}}\s{{0,2}}[:：=]?\s{{0,3}}[「『“\"']?"
        rf"(?P<secret>[A-Za-z0-9._~+/=@!#$%^&*?-]{{6,100}})",
        digits=True,
        needs="é",
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
        "pin",
        r"(?<![A-Za-z0-9_-])pin(?: code)?(?:\s(?:is|lautet|ist|est|es|was)\s|\s{0,2}[:=]\s{0,2})"
        r"(?P<secret>[0-9]{4,8})(?![0-9.])",
        folded=True,
    ),
    make_pattern(
        "recovery-code",
        "recovery␣code backup␣code",
        r"(?:recovery|backup) codes?[^\n]{0,80}?\s{1,4}"
        r"(?P<secret>[0-9a-z]{4,6}-[0-9a-z]{4,6}(?:[\s,]{1,4}[0-9a-z]{4,6}-[0-9a-z]{4,6}){0,19})(?![0-9a-z-])",
        folded=True,
        digits=True,
    ),
)

# A name in one place and its value in the next: attributes, elements, lists of pairs, tables.
_KEY_NAME = rf"(?:{NAME}|{SHORT_NAME})(?:[.-]?\w){{0,24}}+"
_KEY_HINTS = f"{NAME_HINTS} {SHORT_HINTS}"
_PLACE = r"(?:value|val|content|default|data|body|string|text)"
_ATTRIBUTES = rf"(?:\s{{1,9}}[\w:-]{{1,16}}={QUOTE}[\w.:# -]{{0,30}}{QUOTE}){{0,4}}?"

_IN_PLACES = (
    make_pattern(
        "password",
        _KEY_HINTS,
        rf"{_KEY_NAME}(?:{QUOTE}{_ATTRIBUTES}(?:\s{{0,3}},\s{{0,30}}|\s{{1,30}}|\s?/?>\s{{0,20}}<)|\s{{1,30}})"
        rf"(?:{QUOTE})?[a-z_]{{0,12}}{_PLACE}{IS}"
        rf"(?P<secret>[^\s\"'\\<>$]{{4,200}})",
        folded=True,
        named=True,
        random=True,
    ),
    make_pattern(
        "password",
        _KEY_HINTS,  # <key>name</key><string>value</string>, name">value</
        rf"{_KEY_NAME}(?:{QUOTE}(?:\s[\w:]{{1,20}}={QUOTE}[^\"'\\<>\n]{{0,60}}{QUOTE}){{0,2}}|)"
        rf"(?:>|</[\w:]{{1,20}}>\s{{0,9}}(?:{LINE}\s{{0,20}})?<[\w:]{{1,20}}>)"
        rf"\s{{0,20}}(?:<!\[CDATA\[)?(?P<secret>[^<>\s\"'\\$]{{4,400}})(?=\s{{0,20}}</|\]\])",
        folded=True,
        named=True,
    ),
    make_pattern(
        "password",
        f"{_KEY_HINTS} key",
        rf"(?:{_KEY_NAME}|key)(?:\s[\w:]{{1,20}}={QUOTE}[^\"'\\<>\n]{{0,60}}{QUOTE}){{0,3}}>\s{{0,20}}"
        rf"(?:<!\[CDATA\[)?(?P<secret>[^<>\s\"'\\${{]{{4,400}})(?=\s{{0,20}}</|\]\])",
        folded=True,
        random=True,
    ),
    make_pattern(
        "password",
        "value\" value' value\\",  # the value first
        rf"value{QUOTE}\s{{0,3}}[:=]\s{{0,3}}{QUOTE}(?P<secret>{TEXT}{{4,200}})"
        rf"(?={QUOTE}\s{{0,3}},\s{{0,40}}{QUOTE}(?:name|key){QUOTE}\s{{0,3}}[:=]\s{{0,3}}{QUOTE}[\w.-]{{0,30}}?{NAME})",
        folded=True,
    ),
    make_pattern(
        "password",
        _KEY_HINTS,  # what is typed into a field, or the default of a variable
        rf"{_KEY_NAME}:?[ ]?{QUOTE}"
        rf"(?:\)\.\w{{1,20}}\(\s{{0,2}}|\s?\{{[^{{}}]{{0,200}}?default\s{{0,3}}=\s{{0,3}}|\s{{1,9}}\{{?\s{{0,3}}send\s(?:--\s)?){QUOTE}"
        rf"(?P<secret>[^\s\"'\\]{{4,200}})",
        folded=True,
        named=True,
        random=True,
    ),
    make_pattern(
        "password",
        "password passwd pwd token secret",  # the last column of a table
        rf"(?:password|passwd|pwd|token|secret)[ \t]{{0,30}}\|?{LINE}(?:\|[-:| +]{{3,200}}{LINE})?"
        rf"(?P<secret>[^\n\"'\\]{{1,100}}?[,;|\t][^\n\"'\\]{{5,300}}"
        rf"(?:{LINE}[^\n\"'\\]{{1,100}}?[,;|\t][^\n\"'\\]{{5,300}}){{0,40}})",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        "kind:␣secret",  # every value of it
        rf"kind: Secret(?![\w])[^\0]{{0,400}}?{LINE}(?:stringData|data):\s{{0,3}}?{LINE}"
        rf"(?P<secret>[ ]{{1,8}}[\w.-]{{1,80}}:[ ][^\n\"'\\]{{1,8000}}"
        rf"(?:{LINE}[ ]{{1,8}}[\w.-]{{1,80}}:[ ][^\n\"'\\]{{1,1000}}){{0,20}})",
        folded=True,
    ),
    make_pattern(
        "registry-auth",
        "auth\" auth' auth\\",
        rf"auth{QUOTE}\s{{0,3}}:\s{{0,3}}{QUOTE}(?P<secret>[A-Za-z0-9+/]{{8,800}}={{0,2}}){CLOSED}",
        digits=True,
        needs=":",
    ),
    make_pattern(
        "registry-auth", "_auth= _authToken=", r"_auth(?:Token)?=\s{0,2}(?P<secret>[A-Za-z0-9._~+/=-]{8,800})"
    ),
    make_pattern(
        "private-key",  # a JSON web key
        " ".join(f'"{one}{end}' for one in ("d", "k", "p", "q", "dp", "dq", "qi") for end in ('"', "\\")),
        rf"{QUOTE}(?:d|k|p|q|dp|dq|qi){QUOTE}\s{{0,3}}:\s{{0,3}}{QUOTE}(?P<secret>[A-Za-z0-9_-]{{40,1000}}){CLOSED}",
        strong=True,
    ),
    make_pattern("private-key", "client-key-data", rf"client-key-data{IS}(?P<secret>[A-Za-z0-9+/=]{{20,16000}})"),
    make_pattern(
        "password",
        ":5432: :5433: :6432: :*:*:",  # .pgpass
        r"(?<=[A-Za-z0-9*]):(?:[0-9]{4}:[^\s:\"'\\]{1,64}|\*:\*):[^\s:\"'\\]{1,64}:(?P<secret>[^\s:\"'\\]{4,200})",
    ),
    make_pattern(
        "password-hash",
        "$1$ $5$ $6$ $y$ $2a$ $2b$ $2y$ $apr1$ $argon2i $argon2d",
        r"\$(?:1|5|6|y|2[aby]|apr1|argon2id?|argon2d)\$(?P<secret>[A-Za-z0-9./$=,+]{20,250})",
        digits=True,
    ),
)

_IN_HEADERS = (
    make_pattern(
        "bearer",
        "authorization",
        rf"authorization(?:{IS_PAIR}|{IS})(?:bearer|basic|token|apikey|negotiate)\s{{1,3}}"
        rf"(?P<secret>[A-Za-z0-9._~+/=-]{{8,4000}})",
        folded=True,
    ),
    make_pattern(
        "bearer", "digest␣", rf"digest\s[^\n]{{1,400}}?response={QUOTE}(?P<secret>[0-9a-f]{{32,128}})", folded=True
    ),
    make_pattern(
        "bearer",
        "bearer",
        rf"{ALONE}bearer\s{{1,3}}(?:-a\s)?(?P<secret>[A-Za-z0-9._~+/=-]{{20,4000}})",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "cookie",
        "cookie",
        rf"cookie{IS}(?:[\w.-]{{1,40}}=[^\s;,\"'\\]{{0,7}};[ ]?){{0,8}}?"
        r"(?P<secret>[\w.-]{1,60}=[^\s;,\"'\\]{8,2000}+"
        r"(?:;[ ]?[\w.-]{1,60}=?[^\s;,\"'\\]{0,500}+){0,40}+)",
        folded=True,
        digits=True,
    ),
)

# A person and the password behind it.
_PERSON = r"[\w.+-]{1,60}(?:@[\w.-]{1,80})?"
_PAIRS = (
    make_pattern(
        "password",
        "-u␣ -a␣ --user␣ --user= --auth␣ --proxy-user␣ login: login= creds credentials chpasswd",
        rf"(?:-u|-a|--user|--auth|--proxy-user|login|cred(?:ential)?s|chpasswd)\s{{0,3}}"
        rf"(?:[:=]|<<<|\s)\s{{0,3}}(?:{QUOTE})?{_PERSON}(?::| / )(?P<secret>{_NO_NUMBER}[^\s\"'\\/:]{{5,200}})",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        "@",
        r"@[\w-]{1,60}(?:\.[\w-]{1,40}){1,4}:(?P<secret>[^\s\"'\\/:<>(),;]{8,100})(?![^\s\"'`])",
        strong=True,
        needs=":",
    ),
    make_pattern(
        "password",
        "auth= auth␣= auth( login( connect( getconnection( credential( credentials( basic_auth( basicauth(",
        rf"(?:auth|login|connect|getconnection|credentials?|basic_?auth)(?:\s?=\s?)?\(\s{{0,3}}"
        rf"(?:{QUOTE}{TEXT}{{1,200}}{QUOTE}\s{{0,3}},\s{{0,3}}){{1,2}}{QUOTE}"
        rf"(?P<secret>{TEXT}{{5,100}}){CLOSED}",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        "auth=( auth=␣ _com=",
        rf"(?:auth|_com)=\(?(?:-u )?(?:{QUOTE})?{_PERSON}:(?P<secret>{VALUE}{{6,200}})",
        folded=True,
        digits=True,
    ),
)

NAMED_PATTERNS = (*_GIVEN_VALUES, *_IN_HEADERS, *_PAIRS, *_IN_PLACES, *_IN_SENTENCES)
