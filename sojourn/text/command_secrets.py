"""Secrets in command lines and source code: options, arguments and calls that take a password."""

from __future__ import annotations

from sojourn.text.secret_syntax import QUOTE, VALUE, SecretPattern, make_pattern

# What the arguments of a command hold. Between the command and its option there may be others.
_OPTIONS = r"(?:[^\n]{0,200}?\s)??"


def _option(hints: str, command: str, option: str, value: str = r"[^\s\"'\\$<-][^\s\"'\\]{2,200}") -> SecretPattern:
    """An option of a command whose argument is a secret."""
    return make_pattern(
        "password", hints, rf"{command}\s{_OPTIONS}(?:{option})(?:{QUOTE})?(?P<secret>{value})", folded=True, needs="-"
    )


_OPTIONS_OF_COMMANDS = (
    _option("sshpass", "sshpass", r"-p\s{0,3}"),
    make_pattern("password", "sshpass", r"sshpass\s{1,3}-p\s{0,3}['\"](?P<secret>[^'\"\\\n]{3,100})(?=['\"])"),
    _option("redis-cli", "redis-cli(?:>|(?=\\s))", r"(?:-a|--pass|auth)\s{1,3}"),
    _option("mongo", "mongo(?:sh|dump|restore|export|import)?", r"(?:-p|--password)[\s=]{1,3}"),
    _option(
        "docker␣login podman␣login az␣login acr␣login registry␣login oc␣login skopeo␣login",
        "(?:docker|podman|az|acr|registry|oc|skopeo) login",
        r"(?:-p|--password)[\s=]{1,3}",
    ),
    _option("ldap", "ldap(?:search|modify|add|delete|whoami|passwd)", r"-w\s{1,3}"),
    _option(
        "smbclient mount.cifs rpcclient", "(?:smbclient|rpcclient|mount\\.cifs)", r"-U\s{0,3}['\"]?[^\s%\"']{1,60}%"
    ),
    _option("zip␣", "zip", r"(?-i:-P)\s{1,3}"),
    _option("openssl", "openssl", r"-pass(?:in|out)?\s{1,3}(?:[\"'])?pass:"),
    _option("keytool jarsigner apksigner", "(?:keytool|jarsigner|apksigner)", r"-{1,2}(?:store|key|ks-)pass\s{1,3}"),
    _option("http␣ https␣", "https?", r"(?:-a|--auth)[\s=]{1,3}[^\s:\"'\\]{1,60}:"),
    make_pattern(
        "password", "net␣use", r"net use\s[^\n]{0,120}?\s(?P<secret>[^\s\"'\\/*]{4,100})(?=\s/user:)", folded=True
    ),
    make_pattern(
        "token",
        "--token --auth-token --access-token --api-token --api-key --apikey --secret --client-secret --access-key",
        rf"--(?:(?:auth-|access-|api-)?token|api-?key|(?:client-)?secret|access-key)[\s=]{{1,3}}(?:{QUOTE})?"
        rf"(?P<secret>[A-Za-z0-9._~+/=-]{{8,400}})",
        folded=True,
        digits=True,
        named=True,
    ),
)

_WORD_ARGUMENT = r"[^\s\"'\\-][^\s\"'\\]{0,120}"
_STRING = r"[^\"'\\\n]"  # inside quotes

_ARGUMENTS = (
    make_pattern(
        "password",
        "htpasswd",
        rf"htpasswd\s(?:-[a-z]{{1,8}}\s){{0,5}}?-[a-z]{{0,6}}b[a-z]{{0,6}}\s(?:-[a-z]{{1,8}}\s){{0,5}}?"
        rf"{_WORD_ARGUMENT}\s{_WORD_ARGUMENT}\s(?:{QUOTE})?(?P<secret>[^\s\"'\\-][^\s\"'\\]{{3,200}})",
        folded=True,
        needs="-",
    ),
    make_pattern(
        "password",
        "htpasswd",
        rf"htpasswd\s-(?:nb|bn|nbB|nbm|Bbn|bnB)\s{_WORD_ARGUMENT}\s(?:{QUOTE})?(?P<secret>[^\s\"'\\-][^\s\"'\\]{{3,200}})",
        needs="-",
    ),
    make_pattern(
        "password",
        "chpasswd echo␣ printf␣",
        rf"(?:echo|printf)\s{{1,3}}(?:-[a-z]{{1,3}}\s)?(?:{QUOTE})?[\w.-]{{1,60}}:(?P<secret>[^\s\"'\\:|]{{4,200}})(?:{QUOTE})?\s{{0,3}}\|\s{{0,3}}(?:sudo\s)?chpasswd",
        needs="|:",
    ),
    make_pattern(
        "password",
        "convertto-securestring",
        rf"convertto-securestring\s{{1,3}}(?:-string\s{{1,3}})?{QUOTE}(?P<secret>[^\"'\\\n$]{_STRING}{{3,200}})(?=\\{{0,7}}[\"'])",
        folded=True,
    ),
    make_pattern(
        "password",
        ".login(",
        rf"\.login\(\s{{0,3}}{QUOTE}{_STRING}{{1,100}}{QUOTE}\s{{0,3}},\s{{0,3}}{QUOTE}(?P<secret>{_STRING}{{4,100}})(?=\\{{0,7}}[\"'])",
        digits=True,
    ),
    make_pattern(
        "password",
        "mysql\" mysql' mysql\\",
        rf"mysql{QUOTE}\s{{0,3}},\s{{0,3}}(?:{QUOTE}|`)[^\s:\"'\\`]{{1,60}}:(?P<secret>[^\s\"'\\`]{{3,200}})@(?:tcp|unix)\(",
    ),
    make_pattern(
        "password",
        "password",  # in SQL, and in files that have a space between name and value
        rf"password\s{{1,3}}{QUOTE}(?P<secret>{_STRING}{{6,100}})(?=\\{{0,7}}[\"'])",
        folded=True,
        digits=True,
    ),
    make_pattern("password", "password", rf"(?<![^\n])password\s{{1,3}}[\"'](?P<secret>{_STRING}{{6,100}})(?=[\"'])"),
    make_pattern(
        "password",
        "password passwd secret token",
        rf"(?:passw(?:or)?d|secret|token)\s{{0,3}}=\s{{0,3}}(?:\"\"\"|''')(?P<secret>{VALUE}{{6,200}})",
        folded=True,
        needs="=",
    ),
    make_pattern(
        "password",
        "identified␣by",
        rf"identified by(?: password)?\s{{1,3}}{QUOTE}(?P<secret>{_STRING}{{4,100}})(?=\\{{0,7}}[\"'])",
        folded=True,
    ),
    make_pattern(
        "password",
        "_password _pass _pwd _secret _key' _key\" _token",  # define( 'DB_PASSWORD', '…' )
        rf"_(?:password|pass|pwd|secret|key|token){QUOTE}\s{{0,3}},\s{{0,3}}{QUOTE}(?P<secret>{_STRING}{{6,200}})(?=\\{{0,7}}[\"'])",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        "echo␣ printf␣",
        rf"(?:echo|printf)\s{{1,3}}(?:-[a-z]{{1,3}}\s)?{QUOTE}(?P<secret>{_STRING}{{4,100}}){QUOTE}\s{{0,3}}\|\s{{0,3}}"
        r"(?:sudo\s(?:-S\s)?)?(?:kinit|cryptsetup|passwd|gpg|openssl|sudo|su|smbpasswd|ansible-vault)\b",
    ),
    make_pattern(
        "password",
        "xfreerdp rdesktop wlfreerdp",
        r"(?:xfreerdp|wlfreerdp|rdesktop)[0-9]?\s(?:[^\n]{0,200}?\s)??(?:/p:|-p\s{1,3})(?:[\"'])?(?P<secret>[^\s\"'\\]{4,100})",
    ),
    make_pattern(
        "password",
        "mosquitto_pub mosquitto_sub",
        r"mosquitto_[a-z]{3}\s(?:[^\n]{0,200}?\s)??-P\s{1,3}(?:[\"'])?(?P<secret>[^\s\"'\\-][^\s\"'\\]{3,100})",
    ),
    make_pattern(
        "password",
        "sqlplus",
        r"sqlplus\s(?:[^\n]{0,60}?\s)??(?:[\"'])?[\w$#]{1,60}/(?P<secret>[^\s\"'\\@/]{4,100})(?=@)",
        folded=True,
    ),
    make_pattern(
        "password",
        "credential(",
        rf"credential\(\s{{0,3}}{QUOTE}{_STRING}{{1,100}}{QUOTE}\s{{0,3}},\s{{0,3}}{QUOTE}(?P<secret>{_STRING}{{4,100}})(?=\\{{0,7}}[\"'])",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        "assword:",  # of a script for expect
        rf"assword:\s{{0,2}}{QUOTE}\s{{1,9}}send\s(?:--\s)?{QUOTE}(?P<secret>[^\s\"'\\]{{4,100}})",
    ),
    make_pattern(
        "token",
        "_secret␣ _token␣ _key␣ _pass␣ _password␣ _pat␣",  # set -gx NAME value
        r"_(?:secret|token|key|pass|password|pat)\s{1,3}(?P<secret>[A-Za-z0-9_+/=-]{20,400})(?![A-Za-z0-9_(.])",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "token",
        "_pat␣= _pat=",
        rf"_pat\s{{0,3}}=\s{{0,3}}(?:{QUOTE})?(?P<secret>[A-Za-z0-9]{{20,400}})",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "api-key", "_key=base64: _key:␣base64:", r"_key[=:]\s?base64:(?P<secret>[A-Za-z0-9+/=]{20,200})", folded=True
    ),
    make_pattern(
        "api-key", "unseal␣key", r"unseal key(?: [0-9]{1,2})?:\s{1,3}(?P<secret>[A-Za-z0-9+/=]{20,100})", folded=True
    ),
)

COMMAND_PATTERNS = (*_OPTIONS_OF_COMMANDS, *_ARGUMENTS)
