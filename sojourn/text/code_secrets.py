"""Secrets in programs: arguments of calls, lists, and values that only their shape and a name nearby tell."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.text.secret_names import NAME, NAME_HINTS, SHORT_HINTS, SHORT_NAME
from sojourn.text.secret_syntax import CLOSED, QUOTE, TEXT, SecretPattern, make_pattern

_ARGUMENT = r"[^,()\n]{1,100}"
# Calls that take a secret without its name: hints, the call, and how many arguments come before the secret.
_CALLS = (
    ("jwt.", r"jwt\.(?:sign|encode|verify|decode)", 1),
    ("createhmac createcipher createdecipher", r"create(?:hmac|(?:de)?cipher(?:iv)?)", 1),
    ("hmac.new hmac.digest", r"hmac\.(?:new|digest)", 0),
    ("hmac.new( hmac::new", r"hmac(?:\.|::)new", 1),
    (
        "fernet( aes.new( aesgcm( des3.new( chacha20 cipher( secretkeyspec( symmetrickey(",
        r"(?:fernet|aesgcm|(?:aes|des3?|arc4|blowfish)\.new|chacha20\w{0,12}|cipher|secretkeyspec|symmetrickey)",
        0,
    ),
    ("wifi.begin(", r"wifi\.begin", 1),
    (
        "connect( pdo( mysqli( keyring.set_password( create_user( basicawscredentials(",
        r"(?:\w{0,20}connect|pdo|mysqli|create_user|basicawscredentials)",
        2,
    ),
    (
        "pdo( basicawscredentials( setbasicauth( db.auth( basicauth( basic_auth( usernamepasswordcredentials(",
        r"(?:pdo|basicawscredentials|set_?basic_?auth|db\.auth|basic_?auth|usernamepasswordcredentials)",
        1,
    ),
    (
        "credentials( set_password( create_user( register( sign_up(",
        r"(?:credentials|set_password|create_user|register|sign_up)",
        2,
    ),
    ("credentials(", r"credentials", 3),
    (
        "set_password( setpassword( check_password( bearer_auth( bearerauth( from_key( "
        "privatekeytoaccount( new␣wallet( wallet(",
        r"(?:(?:set|check)_?password|bearer_?auth|from_?key|privatekeytoaccount|wallet)",
        0,
    ),
    ("crypt( password(", r"(?:crypt|password)", 0),
)
_QUOTED = rf"(?:[@bfruN]{{0,2}}{QUOTE}|`)"


def _list_calls() -> Iterator[SecretPattern]:
    for hints, call, before in _CALLS:
        opened = rf"{call}\(\s{{0,9}}(?:{_ARGUMENT},\s{{0,9}}){{{before}}}(?:\w{{1,20}}(?:\.\w{{1,20}}){{0,2}}\()?"
        pattern = rf"{opened}{_QUOTED}(?P<secret>{TEXT}{{5,200}}){CLOSED}"
        yield make_pattern("password", hints, pattern, folded=True, digits=True, random=True)


_ENTRY = rf"(?:{_QUOTED}?{TEXT.replace('n]', 'n,]')}{{1,80}}(?:{QUOTE}|`)?\s{{0,3}},\s{{0,20}})"
_NAMES = rf"(?:{NAME}|{SHORT_NAME}(?:word)?)(?:[.-]?\w){{0,24}}+"


def _list_entries() -> Iterator[SecretPattern]:
    """The elements of a list behind a name, and the values of a mapping."""
    for before in range(3):
        yield make_pattern(
            "password",
            f"{NAME_HINTS} {SHORT_HINTS}",
            rf"{_NAMES}(?:{QUOTE})?\s{{0,3}}[:=]{{1,2}}>?\s{{0,3}}"
            rf"(?:\w{{1,12}})?[\[({{]\s{{0,20}}{_ENTRY}{{{before}}}"
            rf"(?:(?:{QUOTE})?[\w.-]{{1,40}}(?:{QUOTE})?\s{{0,3}}(?:=>|[:=])\s{{0,3}})?{_QUOTED}"
            rf"(?P<secret>{TEXT}{{5,200}}){CLOSED}",
            folded=True,
            digits=True,
            random=True,
        )


_PUBLIC = r"sha[0-9]{1,3}[-:=]|AAAA[BCE]3Nza|h1:"  # a checksum, or a key that everybody may see

_SHAPED = (
    *_list_entries(),
    make_pattern(
        "password",
        f"{NAME_HINTS}",  # lines of a list in YAML
        rf"{NAME}(?:[.-]?\w){{0,24}}+:\s{{0,3}}(?:\n|\\{{1,7}}n)(?P<secret>"
        rf"(?:\s{{0,12}}-[ ][^\s\"'\\]{{6,200}}(?:\n|\\{{1,7}}n|\Z)){{1,40}})",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        f"{NAME_HINTS}",  # what a function of that name returns
        rf"{NAME}\w{{0,20}}\(\s?\)[^\n\"'\\]{{0,30}}[{{:>]\s{{0,9}}(?:return\s)?\s{{0,3}}{_QUOTED}"
        rf"(?P<secret>{TEXT}{{5,200}}){CLOSED}",
        folded=True,
        digits=True,
        random=True,
    ),
    make_pattern(
        "api-key",
        NAME_HINTS,  # anywhere behind a name, if it is nothing but random
        rf"{NAME}[^\n]{{0,60}}?[\"'`(=:>\[{{][ ]?(?!{_PUBLIC})"
        r"(?P<secret>(?=[a-z0-9_+/-]{20})(?=[a-z_+/-]{0,60}[0-9])(?-i:(?=[a-z0-9_+/-]{0,60}[A-Z])(?=[A-Z0-9_+/-]{0,60}[a-z]))[a-z0-9_+/-]{20,200}={0,2})(?![\w+/=-])",
        folded=True,
        mixed=True,
    ),
    make_pattern(
        "api-key",
        "=",  # a variable of the environment
        r"(?<=[A-Z0-9_]{4})(?<!_ID)(?<!HASH)(?<!SHA)(?<!SUM)(?<!DIGEST)(?<!COMMIT)(?<!ETAG)(?<!256)(?<!512)"
        r"(?<!PUBLIC_KEY)=[\"']?"
        rf"(?!{_PUBLIC})(?P<secret>[A-Za-z0-9_+/.-]{{24,200}}={{0,2}})(?![A-Za-z0-9_+/.=:-])",
        mixed=True,
    ),
    make_pattern(
        "password",
        ":",  # a person and a password before the host of a proxy
        r"(?<=[A-Za-z0-9]{2}):(?P<secret>[^\s:@/?=&\"'\\]{7,60})@[\w-]{1,60}(?:\.[\w-]{1,40}){1,4}",
        strong=True,
        needs="@",
    ),
    make_pattern(
        "password",
        "root: admin: administrator: postgres: elastic: root/ admin/ administrator/",
        r"(?<![\w/.@-])(?:root|admin|administrator|postgres|elastic)[:/]"
        r"(?P<secret>[^\s:/\"'\\,;()<>]{6,60})(?![\w/:(])",
        folded=True,
        digits=True,
        random=True,
    ),
    make_pattern("password", "WIFI:", r"WIFI:[^\n]{0,80}?;P:(?P<secret>[^\s\"'\\;]{4,64});"),
)

CODE_PATTERNS = (*_list_calls(), *_SHAPED)
