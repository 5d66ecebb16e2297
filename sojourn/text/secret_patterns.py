"""Secret patterns: keys recognised by their prefix, and values by the name before them.

Each pattern is linear. None consumes a quote, or a backslash without the character it escapes, so that JSON stays
valid, even as a string inside other JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.text.lazy_pattern import LazyPattern


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """A kind of secret. The pattern is tried only where one of its `hints` occurs, because finding a word is faster.

    The pattern begins with its hint. The group `secret` limits what is replaced; it is no part of another group,
    and what may be skipped before it is skipped lazily: the first secret is the one that is found.
    folded: hints are lower case and match any case. digits: without a digit it is a plain word. named: the name before
    it identifies it, and code may look the same. needs: the text has one of these signs; most have not.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: LazyPattern
    folded: bool = False
    digits: bool = False
    named: bool = False
    needs: str = ""


def _secret(
    kind: str, hints: str, pattern: str, *, folded: bool = False, needs: str = "", **asks: bool
) -> SecretPattern:
    words = tuple(hint.replace("␣", " ") for hint in hints.split())
    return SecretPattern(kind, words, LazyPattern(pattern, re.IGNORECASE if folded else 0), folded, needs=needs, **asks)


def _keys(kind: str, *forms: str) -> Iterator[SecretPattern]:
    """Keys with a prefix: each form is the prefix, a space, and a pattern for the rest."""
    for form in forms:
        start, rest = form.split(" ")
        yield _secret(kind, start, f"{ALONE}{re.escape(start)}{rest}{_END}", digits=True)


# Where a word begins; after the n of an escaped line break too, but never with the n.
ALONE = r"(?:(?<![A-Za-z0-9\\])|(?<=\\[nrt])|(?<=\\u[0-9a-fA-F]{4}))"
_END = r"(?![A-Za-z0-9])"
_QUOTE = r"\\{0,7}[\"']"  # in JSON inside JSON a quote has backslashes before it
# Between a name and its value. A quoted name has a quoted value: a number in JSON stays a number.
_IS = rf"(?:{_QUOTE}\s{{0,3}}[:=]>?\s{{0,3}}{_QUOTE}|\s{{0,3}}[:=：]>?\s{{0,3}}(?:{_QUOTE})?)"
_IS_QUOTED = rf"(?:{_QUOTE})?\s{{0,3}}[:=：]>?\s{{0,3}}{_QUOTE}"
_PEM = r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_BREAK = r"(?:\s|\\{1,7}[nr])"
_LINES = rf"{_BREAK}{{0,4}}[A-Za-z0-9+/=]{{20,16000}}+(?:{_BREAK}{{1,4}}[A-Za-z0-9+/=]{{20,100}}+){{0,200}}+"
_VALUE = r"[A-Za-z0-9._~+/=@!#$%^&*?-]"
_LETTER = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"

_BLOCKS = (
    _secret(
        "private-key",
        "-----BEGIN",  # whole, or cut off in the middle of its lines
        rf"-----BEGIN {_PEM}(?:(?:[^\"'\\-]|\\{{1,7}}[nrt]|-(?!----)){{1,4000}}+-----END {_PEM}|{_LINES})",
    ),
    _secret("private-key", "Private-Lines", rf"Private-Lines:\s{{0,3}}[0-9]{{1,4}}(?P<secret>{_LINES})"),
)

# Each of these is one long word without spaces.
KEY_PATTERNS = (
    *_keys("private-key", f"AGE-SECRET-KEY-1 {_LETTER}{{50,70}}"),
    _secret("api-key", "sk- pk- rk-", ALONE + r"[spr]k-[A-Za-z0-9_-]{16,250}", digits=True),
    *_keys(
        "api-key",
        f"xai- {_LETTER}{{40,250}}",
        f"pplx- {_LETTER}{{30,250}}",
        f"csk- {_LETTER}{{30,250}}",
        f"nvapi- {_WORD}{{40,250}}",
        f"tvly- {_WORD}{{20,250}}",
        f"fc- {_HEX}{{32}}",
        f"key- {_HEX}{{32}}",
        f"PMAK- {_HEX}{{24}}-{_HEX}{{34}}",
        f"NRAK- {_LETTER}{{27}}",
        f"xkeysib- {_HEX}{{64}}-{_LETTER}{{16}}",
        f"pul- {_HEX}{{40}}",
        f"tgp_v1_ {_WORD}{{30,250}}",
        f"r8_ {_LETTER}{{30,250}}",
        f"fw_ {_LETTER}{{20,250}}",
        f"sk_ {_HEX}{{40,250}}",
        f"lsv2_ [a-z]{{2}}_{_HEX}{{32}}_{_HEX}{{6,20}}",
        f"dop_v1_ {_HEX}{{64}}",
        f"doo_v1_ {_HEX}{{64}}",
        "shpat_ [0-9a-fA-F]{32}",
        "shpss_ [0-9a-fA-F]{32}",
        f"lin_api_ {_LETTER}{{32,250}}",
        f"ntn_ {_LETTER}{{40,250}}",
        f"secret_ {_LETTER}{{43}}",
        f"sbp_ {_HEX}{{40}}",
        f"sb_secret_ {_WORD}{{20,250}}",
        f"nfp_ {_LETTER}{{36}}",
        f"dckr_pat_ {_WORD}{{20,250}}",
        "fm2_ [A-Za-z0-9+/=]{40,4000}",
        "sntrys_ [A-Za-z0-9+/=_]{40,4000}",
        f"sgp_ {_WORD}{{40,250}}",
        f"glsa_ {_LETTER}{{32}}_[0-9a-fA-F]{{8}}",
        f"figd_ {_WORD}{{30,250}}",
        f"ops_eyJ {_WORD}{{50,4000}}",
        f"hvs. {_WORD}{{20,250}}",
        f"hvb. {_WORD}{{20,250}}",
        f"dp.pt. {_LETTER}{{40,250}}",
        "dp.st. [A-Za-z0-9._-]{40,250}",
        rf"sk.eyJ {_WORD}{{20,250}}\.{_WORD}{{20,50}}",
        "ATATT3 [A-Za-z0-9_=-]{60,250}",
    ),
    _secret("api-key", ".atlasv1.", rf"(?<={_LETTER}{{14}})\.atlasv1\.(?P<secret>{_WORD}{{50,80}})"),
    _secret("api-key", "dapi", rf"{ALONE}dapi{_HEX}{{32}}(?:-[0-9])?{_END}"),
    _secret(
        "stripe-key",
        "sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_",
        ALONE + r"[spr]k_(?:live|test)_[A-Za-z0-9]{10,250}",
    ),
    *_keys("stripe-key", "whsec_ [A-Za-z0-9+/=]{24,250}"),
    _secret("twilio-key", "SK", rf"{ALONE}SK{_HEX}{{32}}{_END}"),
    _secret("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", ALONE + r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _secret("github-token", "github_pat_", ALONE + r"github_pat_[A-Za-z0-9_]{30,255}"),
    _secret("gitlab-token", "glpat-", ALONE + r"glpat-[A-Za-z0-9_-]{16,255}"),
    *_keys("gitlab-token", *(f"{start}- [A-Za-z0-9_.-]{{16,255}}" for start in ("gldt", "glrt", "glcbt", "glptt"))),
    _secret("slack-token", "xox xapp-", ALONE + r"(?:xox[abeprs]|xapp-[0-9])-[A-Za-z0-9-]{10,250}"),
    _secret("webhook", "hooks.slack.com/", r"hooks\.slack\.com/[a-z]{3,20}/(?P<secret>[A-Za-z0-9/]{20,200})"),
    _secret("webhook", "/api/webhooks/", r"/api/webhooks/[0-9]{15,25}/(?P<secret>[A-Za-z0-9_-]{30,200})"),
    _secret(
        "discord-token",
        "MD MT Mj Mz ND NT Nj Nz OD OT",  # a number in base64
        rf"{ALONE}[MNO][DTjz]{_LETTER}{{16,30}}\.{_WORD}{{6}}\.{_WORD}{{27,45}}",
    ),
    _secret("aws-key", "AKIA ASIA", ALONE + r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _secret("google-key", "AIza", ALONE + r"AIza[A-Za-z0-9_-]{35}"),
    *_keys("google-key", f"GOCSPX- {_WORD}{{20,60}}"),
    _secret("google-token", "ya29.", ALONE + r"ya29\.[A-Za-z0-9_-]{20,4000}"),
    _secret("telegram-token", ":AA", rf"(?<=[0-9]{{8}}):(?P<secret>AA{_WORD}{{33}})(?!{_WORD})"),
    _secret("groq-key", "gsk_", ALONE + r"gsk_[A-Za-z0-9]{40,255}"),
    _secret("hf-token", "hf_", ALONE + r"hf_[A-Za-z0-9]{30,255}"),
    _secret("npm-token", "npm_", ALONE + r"npm_[A-Za-z0-9]{36}"),
    _secret("pypi-token", "pypi-AgE", ALONE + r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    _secret("sendgrid-key", "SG.", ALONE + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _secret(
        "jwt", "eyJ", ALONE + r"(?<![_-])eyJ[A-Za-z0-9_-]{8,4000}+\.eyJ[A-Za-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{8,2000}"
    ),
)

_IN_ADDRESSES = (
    # A password may hold @ and /; what begins like a port is none.
    _secret(
        "url-password", "://", r"://[^\s:/@\"'\\<>]{0,100}:(?![0-9]{1,5}[/?#])(?P<secret>[^\s\"'\\<>]{1,200})@(?=\S)"
    ),
    _secret("url-password", "://", rf"://(?P<secret>{_WORD}{{20,255}})@(?=[A-Za-z0-9])", digits=True),
    _secret(
        "url-key",
        "?key= &key= ?sig= &sig= &signature= &x-amz-signature= ?auth= &auth=",
        r"[?&](?:key|sig|signature|auth|x-amz-signature)=(?P<secret>[A-Za-z0-9._~+/%=-]{20,2000})",
        folded=True,
        digits=True,
    ),
)

_BY_NAME = (
    _secret(
        "bearer",
        "authorization",
        rf"authorization{_IS}(?:bearer|basic|token)\s{{1,3}}(?P<secret>[A-Za-z0-9._~+/=-]{{8,4000}})",
        folded=True,
    ),
    _secret(
        "bearer",
        "bearer",
        rf"{ALONE}bearer\s{{1,3}}(?P<secret>[A-Za-z0-9._~+/=-]{{20,4000}})",
        folded=True,
        digits=True,
    ),
    _secret(
        "cookie",
        "cookie",
        rf"cookie{_IS}(?P<secret>[\w.-]{{1,60}}=[^\s;,\"'\\]{{8,2000}}+"
        r"(?:;[ ]?[\w.-]{1,60}=?[^\s;,\"'\\]{0,500}+){0,40}+)",
        folded=True,
        digits=True,
    ),
    _secret(
        "password",
        "password passwd passphrase secret apikey api_key api-key access_key accesskey private_key privatekey "
        "accountkey account_key signing_key encryption_key master_key",
        r"(?:passw(?:or)?d|passphrase|secret(?:[_-]?access)?(?:[_-]?key)?|api[_-]?key|access[_-]?key|private[_-]?key"
        rf"|account_?key|(?:signing|encryption|master)_key){_IS}(?P<secret>{_VALUE}{{8,400}})",
        folded=True,
        named=True,
    ),
    _secret(
        "password",
        "password passwd",
        rf"passw(?:or)?d{_IS}(?P<secret>{_VALUE}{{5,7}})(?!{_VALUE})",
        folded=True,
        digits=True,
        named=True,
    ),
    _secret(
        "password",
        "password passphrase --password --passphrase",
        rf"(?:pass(?:word|phrase)\s{{1,3}}(?:is|was)|--pass(?:word|phrase))\s{{1,3}}(?:{_QUOTE}|`)?"
        rf"(?P<secret>{_VALUE}{{6,100}})(?!{_VALUE})",
        folded=True,
        digits=True,
        named=True,
    ),
    _secret("password", "login", r"login\s[^\s\"'\\]{1,100}\s{1,9}password\s{1,3}(?P<secret>[^\s\"'\\]{4,200})"),
    _secret(
        "password",
        "curl",
        rf"curl\s(?:[^\n]{{0,300}}?\s)??(?:-u|-U|--user|--proxy-user)[\s=]{{1,3}}(?:{_QUOTE})?[^\s:\"'\\]{{1,100}}:(?P<secret>[^\s\"'\\]{{3,200}})",
    ),
    _secret(
        "password",
        "mysql sshpass 7z␣ 7za␣ rar␣",
        r"(?:mysql(?:dump|admin)?|sshpass|7za?|rar)\s(?:[^\n]{0,200}?\s)??-p(?P<secret>[^\s\"'\\-][^\s\"'\\]{3,200})",
        needs="-",
    ),
    _secret(
        "token", "token", rf"token{_IS}(?P<secret>[A-Za-z0-9._~+/=-]{{16,400}})", folded=True, digits=True, named=True
    ),
)

# What the arguments of a command hold. Between the command and its option there may be others.
_OPTIONS = r"(?:[^\n]{0,200}?\s)??"


def _option(hints: str, command: str, option: str, value: str = r"[^\s\"'\\$<-][^\s\"'\\]{2,200}") -> SecretPattern:
    """An option of a command whose argument is a secret."""
    return _secret(
        "password", hints, rf"{command}\s{_OPTIONS}(?:{option})(?:{_QUOTE})?(?P<secret>{value})", folded=True, needs="-"
    )


_OF_COMMANDS = (
    _option("sshpass", "sshpass", r"-p\s{0,3}"),
    _secret("password", "sshpass", r"sshpass\s{1,3}-p\s{0,3}['\"](?P<secret>[^'\"\\\n]{3,100})(?=['\"])"),
    _option("redis-cli", "redis-cli(?:>|(?=\\s))", r"(?:-a|--pass|auth)\s{1,3}"),
    _option("mongo", "mongo(?:sh|dump|restore|export|import)?", r"(?:-p|--password)[\s=]{1,3}"),
    _option(
        "docker␣login podman␣login az␣login acr␣login registry␣login oc␣login skopeo␣login",
        "(?:docker|podman|az|acr|registry|oc|skopeo) login",
        r"(?:-p|--password)[\s=]{1,3}",
    ),
    _option("ldap", "ldap(?:search|modify|add|delete|whoami|passwd)", r"-w\s{1,3}"),
    _option("smbclient mount.cifs rpcclient", "(?:smbclient|rpcclient|mount\\.cifs)", r"-U\s{0,3}[^\s%\"'\\]{1,60}%"),
    _option("zip␣", "zip", r"(?-i:-P)\s{1,3}"),
    _option("openssl", "openssl", r"-pass(?:in|out)?\s{1,3}pass:"),
    _option("keytool jarsigner apksigner", "(?:keytool|jarsigner|apksigner)", r"-{1,2}(?:store|key|ks-)pass\s{1,3}"),
    _option("http␣ https␣", "https?", r"(?:-a|--auth)[\s=]{1,3}[^\s:\"'\\]{1,60}:"),
    _secret("password", "net␣use", r"net use\s[^\n]{0,120}?\s(?P<secret>[^\s\"'\\/*]{4,100})(?=\s/user:)", folded=True),
    _secret(
        "token",
        "--token --auth-token --access-token --api-token --api-key --apikey --secret --client-secret --access-key",
        rf"--(?:(?:auth-|access-|api-)?token|api-?key|(?:client-)?secret|access-key)[\s=]{{1,3}}(?:{_QUOTE})?"
        rf"(?P<secret>[A-Za-z0-9._~+/=-]{{8,400}})",
        folded=True,
        digits=True,
        named=True,
    ),
)

_SHORT_VALUE = rf"(?P<secret>(?![0-9.,%]+(?![A-Za-z0-9]))(?![/~.]){_VALUE}{{6,200}})"
_WORDS = (
    "passwort kennwort contraseña senha пароль Пароль パスワード 密码 密碼 口令 暗号 hasło wachtwoord lösenord parola"
)
_SAYS = r"(?:\s{1,2}(?:lautet|ist|est|es|is|was|for\s[^\s:]{1,60})|[是为為は])"

_IN_WORDS = (
    _secret(
        "password",
        f"{_WORDS} passe",
        rf"(?:{'|'.join(_WORDS.split())}|passe)(?:{_SAYS}?\s{{0,3}}[:=：]|[是为為])\s{{0,3}}(?:{_QUOTE})?{_SHORT_VALUE}",
        folded=True,
        needs=":=é",
        digits=True,
        named=True,
    ),
    _secret(
        "password",
        "password passphrase",
        rf"pass(?:word|phrase){_SAYS}{{1,2}}\s{{0,3}}[:：]\s{{0,3}}(?:{_QUOTE}|`)?{_SHORT_VALUE}",
        folded=True,
        digits=True,
        named=True,
    ),
    _secret(
        "password",
        "pass= pass: pass\" pass' pass\\ pwd pw",
        rf"(?<![A-Za-z])(?:pass|pwd|pw){_IS}{_SHORT_VALUE}",
        folded=True,
        needs=":=é",
        digits=True,
        named=True,
    ),
    _secret(
        "password",
        "psk wpa",
        rf"(?:psk|wpa_passphrase|wpa_key){_IS}(?P<secret>[^\s\"'\\]{{8,64}})",
        digits=True,
        needs="=",
    ),
    _secret(
        "password",
        "passphrase",  # of several words, in quotes
        rf"passphrase(?:{_IS_QUOTED}|\s(?:is|was)\s{_QUOTE})"
        rf"(?P<secret>(?-i:[a-z0-9])[^\s\"'\\]{{0,30}}(?: [^\s\"'\\]{{1,30}}){{2,12}})(?=\\{{0,7}}[\"'])",
        folded=True,
    ),
    _secret(
        "password",
        "password passwd passwort kennwort",
        rf"(?:passw(?:or)?[dt]|kennwort){_IS_QUOTED}"
        rf"(?P<secret>(?-i:[a-z0-9])[^\s\"'\\]{{0,30}}(?: [^\s\"'\\]{{1,30}}){{1,12}})(?=\\{{0,7}}[\"'])",
        folded=True,
        digits=True,
    ),
    _secret(
        "token",
        "token",
        rf"token{_IS}(?P<secret>(?![0-9.,]+(?![A-Za-z]))[A-Za-z0-9._~+/=:-]{{8,15}})(?![A-Za-z0-9._~+/=-])",
        folded=True,
        digits=True,
        named=True,
    ),
    _secret(
        "password",
        "creds credentials",
        r"cred(?:ential)?s\s{0,2}[:=]\s{0,2}[\w.@-]{1,40}:(?P<secret>[^\s\"'\\/:]{6,100})",
        folded=True,
        needs=":",
        digits=True,
    ),
)

# A name in one place and its value in the next: attributes, elements, lists of pairs.
_KEY_NAME = r"(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)[\w.-]{0,20}"
_KEY_NAMES = (
    "password passwd passphrase secret token apikey api_key api-key access_key accesskey private_key privatekey"
)
_ELEMENTS = "password passwd pwd passphrase secret token apikey api_key clientsecret accesstoken privatekey"

_IN_FILES = (
    _secret(
        "password",
        _KEY_NAMES,
        rf"{_KEY_NAME}{_QUOTE}(?:\s{{0,3}},\s{{0,40}}|\s{{1,40}})(?:{_QUOTE})?[a-z_]{{0,12}}value{_IS}"
        r"(?P<secret>[^\s\"'\\<>$]{4,200})(?=\\{0,7}[\"'])",
        folded=True,
        named=True,
    ),
    _secret(
        "password",
        _KEY_NAMES,
        rf"{_KEY_NAME}(?:{_QUOTE})?\s{{1,20}}value:\s{{1,3}}(?:{_QUOTE})?(?P<secret>{_VALUE}{{6,200}})",
        folded=True,
        digits=True,
        named=True,
    ),
    _secret("password", _KEY_NAMES, rf"{_KEY_NAME}{_QUOTE}>(?P<secret>[^<>\s\"'\\$]{{4,200}})(?=</)", folded=True),
    _secret(
        "password",
        " ".join(f"<{one}>" for one in _ELEMENTS.split()),
        rf"<(?:{'|'.join(_ELEMENTS.split())})>(?P<secret>[^<>\s\"'\\${{]{{4,400}})(?=</)",
        folded=True,
    ),
    _secret(
        "registry-auth",
        "auth\" auth' auth\\",
        rf"auth{_QUOTE}\s{{0,3}}:\s{{0,3}}{_QUOTE}(?P<secret>[A-Za-z0-9+/]{{8,800}}={{0,2}})(?=\\{{0,7}}[\"'])",
        digits=True,
        needs=":",
    ),
    _secret("registry-auth", "_auth= _authToken=", r"_auth(?:Token)?=\s{0,2}(?P<secret>[A-Za-z0-9._~+/=-]{8,800})"),
    _secret("private-key", "client-key-data", rf"client-key-data{_IS}(?P<secret>[A-Za-z0-9+/=]{{20,16000}})"),
    _secret(
        "password",
        ":5432: :5433: :6432: :*:*:",  # .pgpass
        r"(?<=[A-Za-z0-9*]):(?:[0-9]{4}:[^\s:\"'\\]{1,64}|\*:\*):[^\s:\"'\\]{1,64}:(?P<secret>[^\s:\"'\\]{4,200})",
    ),
    _secret(
        "password-hash",
        "$1$ $5$ $6$ $y$ $2a$ $2b$ $2y$ $apr1$ $argon2i $argon2d",
        r"\$(?:1|5|6|y|2[aby]|apr1|argon2id?|argon2d)\$(?P<secret>[A-Za-z0-9./$=,+]{20,250})",
        digits=True,
    ),
)

OTHER_PATTERNS = (*_BLOCKS, *_IN_ADDRESSES, *_BY_NAME, *_OF_COMMANDS, *_IN_WORDS, *_IN_FILES)
