"""Named secrets: values recognised by the name before them, in files and programs."""

from __future__ import annotations

from sojourn.text.secret_names import NAME, NAME_HINTS, SHORT_HINTS, SHORT_NAME, SUFFIX, WORD, WORD_HINTS
from sojourn.text.secret_syntax import (
    ALONE,
    CLOSED,
    IS,
    IS_GIVEN,
    IS_PAIR,
    LINE,
    NO_NUMBER,
    OPEN,
    QUOTE,
    TEXT,
    VALUE,
    SecretPattern,
    make_pattern,
)

# A value goes on behind a comma or a colon, unless another name and its value begin there.
_GOES_ON = rf"(?:[,;:|]{{1,2}}(?![\w.-]{{1,40}}[=:]){VALUE}{{2,100}}){{0,2}}"


def _build_named(
    hints: str, name: str, *, least: int = 5, digits: bool = False, random: bool = False, strong: bool = False
) -> tuple[SecretPattern, ...]:
    """A name and its value, with a sign between them, or both in quotes; and a quoted value with spaces."""
    return (
        make_pattern(
            "password",
            hints,
            rf"{name}(?:{IS_PAIR}|{IS_GIVEN})(?P<secret>{NO_NUMBER}{VALUE}{{{least},200}}{_GOES_ON})",
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
        "key auth refresh access jwt bearer otp seed salt webhook login private signing encryption vapid mfa cookie",
        r"(?<!public)(?<!public[ _-])(?:keys?|auth"
        r"(?:orization|entication)?|refresh|access|jwt|bearer|t?otp|seed|salt|webhook"
        r"|login|private|signing|encryption|vapid|mfa|cookie)(?![a-z])(?:_(?:[.-]?\w){0,24}+)?+",
        least=16,
        strong=True,
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
        rf"(?P<secret>[^\s\"'\\<>$][^\s\"'\\<>]{{3,200}})",
        folded=True,
        named=True,
        random=True,
    ),
    make_pattern(
        "password",
        _KEY_HINTS,  # <key>name</key><string>value</string>, name">value</
        rf"{_KEY_NAME}(?:{QUOTE}(?:\s[\w:]{{1,20}}={QUOTE}[^\"'\\<>\n]{{0,60}}{QUOTE}){{0,2}}|)"
        rf"(?:>|</[\w:]{{1,20}}>\s{{0,9}}(?:{LINE}\s{{0,20}})?<[\w:]{{1,20}}>)"
        rf"\s{{0,20}}(?:<!\[CDATA\[)?(?P<secret>[^<>\s\"'\\$][^<>\s\"'\\]{{3,400}})(?=\s{{0,20}}</|\]\])",
        folded=True,
        named=True,
    ),
    make_pattern(
        "password",
        f"{_KEY_HINTS} key",
        rf"(?:{_KEY_NAME}|key)(?:\s[\w:]{{1,20}}={QUOTE}[^\"'\\<>\n]{{0,60}}{QUOTE}){{0,3}}>\s{{0,20}}"
        rf"(?:<!\[CDATA\[)?(?P<secret>[^<>\s\"'\\${{][^<>\s\"'\\{{]{{3,400}})(?=\s{{0,20}}</|\]\])",
        folded=True,
        random=True,
    ),
    make_pattern(
        "password",
        "value\" value' value\\",  # the value first
        rf"value{QUOTE}\s{{0,3}}[:=]\s{{0,3}}{QUOTE}(?P<secret>{TEXT}{{4,200}})"
        rf"(?={QUOTE}\s{{0,3}},\s{{0,40}}{QUOTE}"
        rf"(?:name|key){QUOTE}\s{{0,3}}[:=]\s{{0,3}}{QUOTE}[\w.-]{{0,30}}?{NAME})",
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
        "password passwd pwd token secret key pass",  # a column of a table
        rf"(?:password|passwd|pwd|token|secret|api[_ ]?key|(?<![a-z])pass)[ \t]{{0,30}}(?:\|?{LINE}"
        rf"(?:\|[-:| +]{{3,200}}{LINE})?"
        rf"|\|[^\n\"'\\]{{1,120}}{LINE}\|[-:| +]{{3,200}}{LINE}|(?:[,;\t][\w -]{{1,30}}){{1,6}}{LINE})"
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
    make_pattern(
        "password-hash",
        "{ssha {sha {plain} {crypt} {smd5} {md5} {cleartext}",
        r"\{(?:s?sha(?:-?[0-9]{3})?|s?md5|plain|crypt|cleartext)\}(?P<secret>[^\s\"'\\]{6,200})",
        folded=True,
    ),
    make_pattern(
        "password",
        "psk␣ eap␣ xauth␣",  # ipsec.secrets
        rf"(?:psk|eap|xauth) {QUOTE}(?P<secret>{TEXT}{{6,200}}){CLOSED}",
        folded=True,
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
    make_pattern("password-hash", "aad3b435b51404ee:", r"aad3b435b51404ee:(?P<secret>[0-9a-f]{32})", folded=True),
)

_IN_HEADERS = (
    make_pattern("cookie", "=s%3A", r"=s%3A(?P<secret>[A-Za-z0-9_-]{16,200}(?:\.[A-Za-z0-9%+/=_-]{16,200})?)"),
    make_pattern(
        "bearer",
        "authorization",
        rf"authorization(?:{IS_PAIR}|{IS})"
        rf"(?:bearer|basic|token|apikey|negotiate|bot|ssws|key|genie-?key|splunk|digest)\s{{1,3}}"
        rf"(?P<secret>[A-Za-z0-9._~+/=-]{{8,4000}})",
        folded=True,
    ),
    make_pattern(
        "bearer",
        "authorization",
        rf"authorization(?:{IS_PAIR}|{IS})(?:[\w-]{{2,24}}\s{{1,3}}){{0,2}}?(?:[\w-]{{1,24}}=)?(?:{QUOTE})?"
        rf"(?P<secret>[A-Za-z0-9._~+/=:-]{{16,4000}})",
        folded=True,
        strong=True,
    ),
    make_pattern(
        "bearer",
        'signature= signature=" oauth_token= credential=',
        rf"(?:signature|oauth_token|oauth_consumer_secret)=(?:{QUOTE})?(?P<secret>[A-Za-z0-9+/=%]{{20,400}})",
        folded=True,
        digits=True,
        strong=True,
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
        "-u␣ -a␣ --user␣ --user= --auth␣ -auth␣ --proxy-user␣ login: login= creds credentials chpasswd "
        "basic_auth= zugangsdaten "
        "wifi: wlan: account: identifiants accesso: acceso:",
        rf"(?:-u|-a|--user|-{{1,2}}auth|--proxy-user|login|cred"
        rf"(?:ential)?s|chpasswd|basic_auth|zugangsdaten|wifi|wlan|account|identifiants|acc?esso)\s{{0,3}}"
        rf"(?:[:=]|<<<|\s)\s{{0,3}}(?:{QUOTE})?{_PERSON}(?::| / )(?P<secret>{NO_NUMBER}[^\s\"'\\/:]{{5,200}})",
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

NAMED_PATTERNS = (*_GIVEN_VALUES, *_IN_HEADERS, *_PAIRS, *_IN_PLACES)
