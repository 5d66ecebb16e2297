"""Secret patterns: keys recognised by their prefix, and values by the name before them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sojourn.text.command_secrets import COMMAND_PATTERNS
from sojourn.text.secret_syntax import ALONE, END, IS, IS_QUOTED, QUOTE, VALUE, SecretPattern, make_pattern


def _keys(kind: str, *forms: str) -> Iterator[SecretPattern]:
    """Keys with a prefix: each form is the prefix, a space, and a pattern for the rest."""
    for form in forms:
        start, rest = form.split(" ")
        yield make_pattern(kind, start, f"{ALONE}{re.escape(start)}{rest}{END}", digits=True)


_PEM = r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_BREAK = r"(?:\s|\\{1,7}[nr])"
_LINES = rf"{_BREAK}{{0,4}}[A-Za-z0-9+/=]{{20,16000}}+(?:{_BREAK}{{1,4}}[A-Za-z0-9+/=]{{20,100}}+){{0,200}}+"
_LETTER = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"

_BLOCKS = (
    make_pattern(
        "private-key",
        "-----BEGIN",  # whole, or cut off in the middle of its lines
        rf"-----BEGIN {_PEM}(?:(?:[^\"'\\-]|\\{{1,7}}[nrt]|-(?!----)){{1,4000}}+-----END {_PEM}|{_LINES})",
    ),
    make_pattern("private-key", "Private-Lines", rf"Private-Lines:\s{{0,3}}[0-9]{{1,4}}(?P<secret>{_LINES})"),
)

# Each of these is one long word without spaces.
KEY_PATTERNS = (
    *_keys("private-key", f"AGE-SECRET-KEY-1 {_LETTER}{{50,70}}"),
    make_pattern("api-key", "sk- pk- rk-", ALONE + r"[spr]k-[A-Za-z0-9_-]{16,250}", digits=True),
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
    make_pattern("api-key", ".atlasv1.", rf"(?<={_LETTER}{{14}})\.atlasv1\.(?P<secret>{_WORD}{{50,80}})"),
    make_pattern("api-key", "dapi", rf"{ALONE}dapi{_HEX}{{32}}(?:-[0-9])?{END}"),
    make_pattern(
        "stripe-key",
        "sk_live_ sk_test_ pk_live_ pk_test_ rk_live_ rk_test_",
        ALONE + r"[spr]k_(?:live|test)_[A-Za-z0-9]{10,250}",
    ),
    *_keys("stripe-key", "whsec_ [A-Za-z0-9+/=]{24,250}"),
    make_pattern("twilio-key", "SK", rf"{ALONE}SK{_HEX}{{32}}{END}"),
    make_pattern("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", ALONE + r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    make_pattern("github-token", "github_pat_", ALONE + r"github_pat_[A-Za-z0-9_]{30,255}"),
    make_pattern("gitlab-token", "glpat-", ALONE + r"glpat-[A-Za-z0-9_-]{16,255}"),
    *_keys("gitlab-token", *(f"{start}- [A-Za-z0-9_.-]{{16,255}}" for start in ("gldt", "glrt", "glcbt", "glptt"))),
    make_pattern("slack-token", "xox xapp-", ALONE + r"(?:xox[abeprs]|xapp-[0-9])-[A-Za-z0-9-]{10,250}"),
    make_pattern("webhook", "hooks.slack.com/", r"hooks\.slack\.com/[a-z]{3,20}/(?P<secret>[A-Za-z0-9/]{20,200})"),
    make_pattern("webhook", "/api/webhooks/", r"/api/webhooks/[0-9]{15,25}/(?P<secret>[A-Za-z0-9_-]{30,200})"),
    make_pattern(
        "discord-token",
        "MD MT Mj Mz ND NT Nj Nz OD OT",  # a number in base64
        rf"{ALONE}[MNO][DTjz]{_LETTER}{{16,30}}\.{_WORD}{{6}}\.{_WORD}{{27,45}}",
    ),
    make_pattern("aws-key", "AKIA ASIA", ALONE + r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    make_pattern("google-key", "AIza", ALONE + r"AIza[A-Za-z0-9_-]{35}"),
    *_keys("google-key", f"GOCSPX- {_WORD}{{20,60}}"),
    make_pattern("google-token", "ya29.", ALONE + r"ya29\.[A-Za-z0-9_-]{20,4000}"),
    make_pattern("telegram-token", ":AA", rf"(?<=[0-9]{{8}}):(?P<secret>AA{_WORD}{{33}})(?!{_WORD})"),
    make_pattern("groq-key", "gsk_", ALONE + r"gsk_[A-Za-z0-9]{40,255}"),
    make_pattern("hf-token", "hf_", ALONE + r"hf_[A-Za-z0-9]{30,255}"),
    make_pattern("npm-token", "npm_", ALONE + r"npm_[A-Za-z0-9]{36}"),
    make_pattern("pypi-token", "pypi-AgE", ALONE + r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    make_pattern("sendgrid-key", "SG.", ALONE + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    make_pattern(
        "jwt", "eyJ", ALONE + r"(?<![_-])eyJ[A-Za-z0-9_-]{8,4000}+\.eyJ[A-Za-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{8,2000}"
    ),
)

_IN_ADDRESSES = (
    # A password may hold @ and /; what begins like a port is none.
    make_pattern(
        "url-password", "://", r"://[^\s:/@\"'\\<>]{0,100}:(?![0-9]{1,5}[/?#])(?P<secret>[^\s\"'\\<>]{1,200})@(?=\S)"
    ),
    make_pattern("url-password", "://", rf"://(?P<secret>{_WORD}{{20,255}})@(?=[A-Za-z0-9])", digits=True),
    make_pattern(
        "url-key",
        "?key= &key= ?sig= &sig= &signature= &x-amz-signature= ?auth= &auth=",
        r"[?&](?:key|sig|signature|auth|x-amz-signature)=(?P<secret>[A-Za-z0-9._~+/%=-]{20,2000})",
        folded=True,
        digits=True,
    ),
)

_BY_NAME = (
    make_pattern(
        "bearer",
        "authorization",
        rf"authorization{IS}(?:bearer|basic|token)\s{{1,3}}(?P<secret>[A-Za-z0-9._~+/=-]{{8,4000}})",
        folded=True,
    ),
    make_pattern(
        "bearer",
        "bearer",
        rf"{ALONE}bearer\s{{1,3}}(?P<secret>[A-Za-z0-9._~+/=-]{{20,4000}})",
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
    make_pattern(
        "password",
        "password passwd passphrase secret apikey api_key api-key access_key accesskey private_key privatekey "
        "accountkey account_key signing_key encryption_key master_key",
        r"(?:passw(?:or)?d|passphrase|secret(?:[_-]?access)?(?:[_-]?key)?|api[_-]?key|access[_-]?key|private[_-]?key"
        rf"|account_?key|(?:signing|encryption|master)_key){IS}(?P<secret>{VALUE}{{8,400}})",
        folded=True,
        named=True,
    ),
    make_pattern(
        "password",
        "password passwd",
        rf"passw(?:or)?d{IS}(?P<secret>{VALUE}{{5,7}})(?!{VALUE})",
        folded=True,
        digits=True,
        named=True,
    ),
    make_pattern(
        "password",
        "password passphrase --password --passphrase",
        rf"(?:pass(?:word|phrase)\s{{1,3}}(?:is|was)|--pass(?:word|phrase))\s{{1,3}}(?:{QUOTE}|`)?"
        rf"(?P<secret>{VALUE}{{6,100}})(?!{VALUE})",
        folded=True,
        digits=True,
        named=True,
    ),
    make_pattern("password", "login", r"login\s[^\s\"'\\]{1,100}\s{1,9}password\s{1,3}(?P<secret>[^\s\"'\\]{4,200})"),
    make_pattern(
        "password",
        "curl",
        rf"curl\s(?:[^\n]{{0,300}}?\s)??(?:-u|-U|--user|--proxy-user)[\s=]{{1,3}}(?:{QUOTE})?[^\s:\"'\\]{{1,100}}:(?P<secret>[^\s\"'\\]{{3,200}})",
    ),
    make_pattern(
        "password",
        "mysql sshpass 7z␣ 7za␣ rar␣",
        r"(?:mysql(?:dump|admin)?|sshpass|7za?|rar)\s(?:[^\n]{0,200}?\s)??-p(?P<secret>[^\s\"'\\-][^\s\"'\\]{3,200})",
        needs="-",
    ),
    make_pattern(
        "token", "token", rf"token{IS}(?P<secret>[A-Za-z0-9._~+/=-]{{16,400}})", folded=True, digits=True, named=True
    ),
)

_SHORT_VALUE = rf"(?P<secret>(?![0-9.,%]+(?![A-Za-z0-9]))(?![/~.]){VALUE}{{6,200}})"
_WORDS = (
    "passwort kennwort contraseña senha пароль Пароль パスワード 密码 密碼 口令 暗号 hasło wachtwoord lösenord parola"
)
_SAYS = r"(?:\s{1,2}(?:lautet|ist|est|es|is|was|for\s[^\s:]{1,60})|[是为為は])"

_IN_WORDS = (
    make_pattern(
        "password",
        f"{_WORDS} passe",
        rf"(?:{'|'.join(_WORDS.split())}|passe)(?:{_SAYS}?\s{{0,3}}[:=：]|[是为為])\s{{0,3}}(?:{QUOTE})?{_SHORT_VALUE}",
        folded=True,
        needs=":=é",
        digits=True,
        named=True,
    ),
    make_pattern(
        "password",
        "password passphrase",
        rf"pass(?:word|phrase){_SAYS}{{1,2}}\s{{0,3}}[:：]\s{{0,3}}(?:{QUOTE}|`)?{_SHORT_VALUE}",
        folded=True,
        digits=True,
        named=True,
    ),
    make_pattern(
        "password",
        "pass= pass: pass␣= pass\" pass' pass\\ pwd pw",
        rf"(?<![A-Za-z])(?:pass|pwd|pw){IS}{_SHORT_VALUE}",
        folded=True,
        needs=":=é",
        digits=True,
        named=True,
    ),
    make_pattern(
        "password",
        "psk wpa",
        rf"(?:psk|wpa_passphrase|wpa_key){IS}(?P<secret>[^\s\"'\\]{{8,64}})",
        digits=True,
        needs="=",
    ),
    make_pattern(
        "password",
        "passphrase",  # of several words, in quotes
        rf"passphrase(?:{IS_QUOTED}|(?: [\w'-]{{1,20}}){{0,6}}? (?:is|was):?\s{{1,2}}{QUOTE})"
        rf"(?P<secret>(?-i:[a-z0-9])[^\s\"'\\]{{0,30}}(?: [^\s\"'\\]{{1,30}}){{2,12}})(?=\\{{0,7}}[\"'])",
        folded=True,
    ),
    make_pattern(
        "password",
        "password passwd passwort kennwort",
        rf"(?:passw(?:or)?[dt]|kennwort){IS_QUOTED}"
        rf"(?P<secret>(?-i:[a-z0-9])[^\s\"'\\]{{0,30}}(?: [^\s\"'\\]{{1,30}}){{1,12}})(?=\\{{0,7}}[\"'])",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "token",
        "token",
        rf"token{IS}(?P<secret>(?![0-9.,]+(?![A-Za-z]))[A-Za-z0-9._~+/=:-]{{8,15}})(?![A-Za-z0-9._~+/=-])",
        folded=True,
        digits=True,
        named=True,
    ),
    make_pattern(
        "password",
        f"{_WORDS} passe␣ clave␣",  # with words between the name and the value
        rf"(?:{'|'.join(_WORDS.split())}|passe|clave)(?: [^\s:=\"'\\]{{1,30}}){{1,6}}?"
        rf"\s(?:lautet|ist|est|es|is)\s{{1,2}}(?:{QUOTE}|`|[«„“]\s?)?(?P<secret>[^\s\"'\\«»„“”(){{}}<>$]{{6,100}})",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        "パスワード 密码 密碼 口令",
        r"(?:パスワード|密码|密碼|口令)[は是为為：]\s?[「『“\"']?(?P<secret>[A-Za-z0-9._~+/=@!#$%^&*?-]{6,100})",
        digits=True,
        needs="é",
    ),
    make_pattern(
        "recovery-code",
        "recovery␣code backup␣code",
        r"(?:recovery|backup) codes?[^\n]{0,80}?\s{1,4}"
        r"(?P<secret>[0-9a-z]{4,6}-[0-9a-z]{4,6}(?:[\s,]{1,4}[0-9a-z]{4,6}-[0-9a-z]{4,6}){0,19})(?![0-9a-z-])",
        folded=True,
        digits=True,
    ),
    make_pattern(
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
    make_pattern(
        "password",
        _KEY_NAMES,
        rf"{_KEY_NAME}{QUOTE}(?:\s{{0,3}},\s{{0,40}}|\s{{1,40}})(?:{QUOTE})?[a-z_]{{0,12}}value{IS}"
        r"(?P<secret>[^\s\"'\\<>$]{4,200})(?=\\{0,7}[\"'])",
        folded=True,
        named=True,
    ),
    make_pattern(
        "password",
        _KEY_NAMES,
        rf"{_KEY_NAME}(?:{QUOTE})?\s{{1,20}}value:\s{{1,3}}(?:{QUOTE})?(?P<secret>{VALUE}{{6,200}})",
        folded=True,
        digits=True,
        named=True,
    ),
    make_pattern("password", _KEY_NAMES, rf"{_KEY_NAME}{QUOTE}>(?P<secret>[^<>\s\"'\\$]{{4,200}})(?=</)", folded=True),
    make_pattern(
        "password",
        " ".join(f"<{one}>" for one in _ELEMENTS.split()),
        rf"<(?:{'|'.join(_ELEMENTS.split())})>(?P<secret>[^<>\s\"'\\${{]{{4,400}})(?=</)",
        folded=True,
    ),
    make_pattern(
        "registry-auth",
        "auth\" auth' auth\\",
        rf"auth{QUOTE}\s{{0,3}}:\s{{0,3}}{QUOTE}(?P<secret>[A-Za-z0-9+/]{{8,800}}={{0,2}})(?=\\{{0,7}}[\"'])",
        digits=True,
        needs=":",
    ),
    make_pattern(
        "registry-auth", "_auth= _authToken=", r"_auth(?:Token)?=\s{0,2}(?P<secret>[A-Za-z0-9._~+/=-]{8,800})"
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

OTHER_PATTERNS = (*_BLOCKS, *_IN_ADDRESSES, *_BY_NAME, *COMMAND_PATTERNS, *_IN_WORDS, *_IN_FILES)
