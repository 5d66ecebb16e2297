"""Secret patterns: keys recognised by their prefix, blocks and addresses; and all patterns together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sojourn.text.code_secrets import CODE_PATTERNS
from sojourn.text.command_secrets import COMMAND_PATTERNS
from sojourn.text.named_secrets import NAMED_PATTERNS
from sojourn.text.secret_syntax import ALONE, END, SecretPattern, make_pattern
from sojourn.text.sentence_secrets import SENTENCE_PATTERNS


def _keys(kind: str, *forms: str) -> Iterator[SecretPattern]:
    """Keys with a prefix: each form is the prefix, a space, and a pattern for the rest."""
    for form in forms:
        start, rest = form.split(" ")
        yield make_pattern(kind, start, f"{ALONE}{re.escape(start)}{rest}{END}", digits=True)


_PEM = r"[A-Za-z0-9 ]{0,30}(?:PRIVATE KEY(?: BLOCK)?|SECRET KEY|Static key V1)-----"
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

_UNKNOWN = (
    # Most vendors put a short word before their keys.
    make_pattern(
        "api-key", "_ -", rf"(?<=[A-Za-z0-9])[_-](?P<secret>{_LETTER}{{32,250}}){END}", mixed=True, vendor=True
    ),
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
        *(f"do{one}_v1_ {_HEX}{{64}}" for one in "por"),
        *(f"shp{one}_ [0-9a-fA-F]{{32}}" for one in ("at", "ss", "ca", "pa")),
        *(f"{one}_ {_HEX}{{40}}" for one in ("squ", "sqp", "sqa", "sbp_v0")),
        f"cosmo_ {_HEX}{{32}}",
        *(f"NR{one}- {_WORD}{{19,40}}" for one in ("BR", "II", "JS")),
        f"SWMTKN-1- {_WORD}{{60,90}}",
        f"SWMKEY-1- {_WORD}{{40,50}}",
        f"dckr_oat_ {_WORD}{{20,250}}",
        "PMAT- [A-Z0-9]{26}",
        "akab- [a-z0-9]{16}-[a-z0-9]{16}",
        f"bedrock-api-key- {_LETTER}{{20,250}}",
        f"sntryu_ {_HEX}{{64}}",
        f"rdme_ {_LETTER}{{60,100}}",
        f"rubygems_ {_HEX}{{48}}",
        f"CLOJARS_ {_LETTER}{{50,80}}",
        f"pnu_ {_LETTER}{{36}}",
        *(f"pscale_{one}_ [A-Za-z0-9_=.-]{{30,80}}" for one in ("tkn", "oauth", "pw")),
        f"api_org_ {_LETTER}{{34}}",
        f"ico- {_LETTER}{{32}}",
        f"HRKU- {_WORD}{{36,80}}",
        "API- [A-Z0-9]{26}",
        f"sq0atp- {_WORD}{{22}}",
        f"sq0csp- {_WORD}{{43}}",
        "glc_ [A-Za-z0-9+/=]{32,400}",
        *(f"sm_{one}_ {_LETTER}{{16}}" for one in ("aat", "pat", "sat")),
        *(f"shippo_{one}_ [0-9a-fA-F]{{40}}" for one in ("live", "test")),
        f"AKCp {_LETTER}{{60,80}}",
        "ABSK [A-Za-z0-9+/]{100,300}={0,2}",
        f"sha256~ {_WORD}{{43}}",
        "A3- [A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
        rf"pat. {_WORD}{{22}}\.{_LETTER}{{24}}\.{_LETTER}{{20}}",
        *(f"FLWSECK_{one}- {_LETTER}{{12,80}}" for one in ("TEST", "LIVE")),
        *(f"EZ{one}K {_LETTER}{{54}}" for one in "TA"),
        f"duffel_test_ {_WORD}{{43}}",
        f"duffel_live_ {_WORD}{{43}}",
        f"fio-u- {_WORD}{{64}}",
        rf"dt0c01. {_LETTER}{{24}}\.{_LETTER}{{64}}",
        f"live_ {_WORD}{{40}}",
        f"p8e- {_LETTER}{{32}}",
        f"LTAI {_LETTER}{{20}}",
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
        "ATATT3 [A-Za-z0-9_=%-]{60,250}",
        f"ATBB {_LETTER}{{32}}",
        "BBDC- [A-Za-z0-9+/=]{40,60}",
        f"aio_ {_LETTER}{{28}}",
        rf"pat {_LETTER}{{14}}\.{_HEX}{{64}}",
        f"EAA {_LETTER}{{90,400}}",
        f"sl. {_WORD}{{100,400}}",
        f"1//0 {_WORD}{{40,200}}",
        f"v1.0- {_HEX}{{24}}-{_HEX}{{146}}",
        f"AQVN {_WORD}{{35,38}}",
        rf"t1. {_WORD}{{20,400}}=?=?\.{_WORD}{{86}}",
        f"y0_ {_WORD}{{50,70}}",
        f"vk1.a. {_WORD}{{60,400}}",
        *(f"access-{one}- [0-9a-f-]{{36}}" for one in ("sandbox", "development", "production")),
        "amzn.mws. [0-9a-f-]{36}",
        "amzn1.oa2-cs. v1\\.[0-9a-f]{40,80}",
        f"vercel_ {_LETTER}{{24}}",
        f"KGAT_ {_HEX}{{32}}",
        *(f"dp.{one}. {_LETTER}{{40,250}}" for one in ("ct", "sa", "scim", "audit")),
        "oy2 [a-z0-9]{43}",
        f"cio {_LETTER}{{32}}",
        f"4b1d {_LETTER}{{38}}",
        f"re_ {_LETTER}{{6,10}}_{_LETTER}{{20,30}}",
        f"ddp_ {_LETTER}{{36}}",
        f"pk.eyJ {_WORD}{{20,250}}\\.{_WORD}{{20,50}}",
        f"tk-us- {_WORD}{{48}}",
        f"dnkey- {_WORD}{{70,90}}",
        f"cmVmd {_LETTER}{{59}}",
        f"access_token$ (?:production|sandbox)\\$[0-9a-z]{{16}}\\${_HEX}{{32}}",
        f"sq0idp- {_WORD}{{22}}",
        f"EAAA {_WORD}{{60}}",
        f"_gitlab_session= {_HEX}{{32}}",
        "ABIA [A-Z2-7]{16}",
        f"00D {_LETTER}{{12,15}}![A-Za-z0-9_.]{{60,200}}",
        "eyJrIjoi [A-Za-z0-9=]{60,400}",
        "LS0tLS1CRUdJTi (?!BDRVJU|BQVUJM)[A-Za-z0-9+/=]{60,16000}",
        "b3BlbnNzaC1rZXkt [A-Za-z0-9+/=]{40,16000}",
        f"figu_ {_WORD}{{30,250}}",
        "sk-lf- [0-9a-f-]{36}",
        f"apify_api_ {_LETTER}{{30,50}}",
        f"jina_ {_LETTER}{{50,80}}",
        f"sntrye_ {_HEX}{{64}}",
        f"contentful- {_WORD}{{40,60}}",
        f"CFPAT- {_WORD}{{40,60}}",
    ),
    make_pattern("api-key", ".atlasv1.", rf"(?<={_LETTER}{{14}})\.atlasv1\.(?P<secret>{_WORD}{{50,80}})"),
    make_pattern("api-key", "Q~", rf"(?<=[A-Za-z0-9_~.]{{3}}[0-9])Q~(?P<secret>[A-Za-z0-9_~.-]{{31,34}}){END}"),
    make_pattern("api-key", "SU SA SC SO", rf"{ALONE}S[AUCO][A-Z2-7]{{56}}{END}"),
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
    *_keys(
        "gitlab-token",
        *(
            f"{start}- [A-Za-z0-9_.-]{{16,255}}"
            for start in (
                "gldt",
                "glrt",
                "glcbt",
                "glptt",
                "glft",
                "glffct",
                "glimt",
                "glagent",
                "gloas",
                "glsoat",
                "glrtr",
                "glwt",
            )
        ),
    ),
    make_pattern("gitlab-token", "GR1348941", rf"{ALONE}GR1348941{_WORD}{{20}}"),
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
    make_pattern("telegram-token", "/bot", rf"/bot[0-9]{{6,12}}:(?P<secret>{_WORD}{{30,45}})"),
    make_pattern("webhook", "/IncomingWebhook/", r"/IncomingWebhook/(?P<secret>[0-9a-f]{32}/[0-9a-f-]{36})"),
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
        "url-password",
        "://",
        r"://[^\s:/@\"'\\<>]{0,100}(?:@[\w.-]{1,80})?:(?![0-9]{1,5}[/?#])(?P<secret>[^\s\"'\\<>]{1,200})@(?=\S)",
    ),
    make_pattern("url-password", "://", rf"://(?P<secret>{_WORD}{{20,255}})@(?=[A-Za-z0-9])", digits=True),
    make_pattern(
        "url-key",
        "?key= &key= ?sig= &sig= ?signature= &signature= -signature= ?auth= &auth= ?code= &code= ?jwt= "
        "&jwt= ?sid= &sid= ?k= &k=",
        r"(?:[?&](?:key|sig|signature|auth|code|jwt|sid|k)|-signature)=(?P<secret>[A-Za-z0-9._~+/%=-]{20,2000})",
        folded=True,
        digits=True,
    ),
)

OTHER_PATTERNS = (
    *_BLOCKS,
    *_UNKNOWN,
    *_IN_ADDRESSES,
    *NAMED_PATTERNS,
    *SENTENCE_PATTERNS,
    *CODE_PATTERNS,
    *COMMAND_PATTERNS,
)
