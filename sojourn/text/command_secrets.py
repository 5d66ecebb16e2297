"""Secrets in command lines: options and arguments that take a password or a key."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.text.secret_names import NAME, NAME_HINTS
from sojourn.text.secret_syntax import CLOSED, QUOTE, TEXT, VALUE, SecretPattern, make_pattern

# Between a command and its option there may be others.
_OPTIONS = r"(?:[^\n]{0,200}?\s)??"
_ARGUMENT = r"[^\s\"'\\$<*/-][^\s\"'\\]{2,200}"
_WORD = r"[^\s\"'\\-][^\s\"'\\]{0,80}"

# Options of one letter, and arguments without a name, mean a secret for some commands only: hints, the command, and
# what comes before the secret.
_COMMANDS = (
    ("sshpass", r"sshpass", r"-p\s{0,3}"),
    ("gpg␣ gpg2␣", r"gpg2?", r"--passphrase[\s=]{1,3}"),
    ("mysql mariadb", r"(?:mysql|mariadb)[a-z-]{0,10}", r"(?-i:-p)"),
    ("7z␣ 7za␣ 7zz␣ rar␣", r"(?:7z[az]?|rar)", r"-p"),
    ("redis-cli", r"redis-cli>?", r"(?:-a|--pass|auth(?:\s{1,3}\w{1,40}(?=\s\S))?)\s{1,3}"),
    ("mongo", r"mongo[a-z]{0,10}", r"-p\s{1,3}"),
    ("␣login", r"[ ]login", r"-p[\s=]{1,3}"),
    ("ldap", r"ldap[a-z]{2,10}", r"-w\s{0,3}"),
    (
        "smbclient rpcclient mount.cifs smbget",
        r"(?:smb[a-z]{2,10}|rpcclient|mount\.cifs)",
        r"-U\s{0,3}['\"]?[^\s%\"']{1,60}%",
    ),
    ("zip␣", r"zip", r"(?-i:-P)\s{0,3}"),
    ("sqlcmd bcp␣ isql tsql", r"(?:sqlcmd|bcp|isql|tsql)", r"(?-i:-P)\s{0,3}"),
    ("mosquitto_", r"mosquitto_[a-z]{3}", r"(?-i:-P)\s{1,3}"),
    ("twine␣ skopeo␣ ipmitool", r"(?:twine|skopeo|ipmitool)", r"-p\s{1,3}|(?-i:-P)\s{1,3}"),
    ("xfreerdp rdesktop wlfreerdp", r"(?:xfreerdp|wlfreerdp|rdesktop)[0-9]?", r"/p:|-p\s{1,3}"),
    ("openssl", r"openssl", r"-pass(?:in|out)?\s{1,3}[\"']?pass:|(?-i:-K)\s{1,3}|-k\s{1,3}"),
    (
        "keytool jarsigner apksigner",
        r"(?:keytool|jarsigner|apksigner)",
        r"-{1,2}(?:store|key|ks-)pass\s{1,3}(?:pass:)?",
    ),
    ("http␣ https␣", r"https?", r"(?:-a|--auth)[\s=]{1,3}[^\s:\"'\\]{1,60}:"),
    ("sqlplus", r"sqlplus", r"[\w$#]{1,60}/(?=[^\s/]{3,100}(?:@|\s|\Z))"),
    ("rabbitmqctl", r"rabbitmqctl", rf"(?:add_user|change_password)\s{_WORD}\s"),
    ("net␣user", r"net user", rf"(?<=user ){_WORD}\s{{1,3}}"),
    ("curl␣", r"curl", rf"(?:-u|--user)[\s=]{{1,3}}(?:{QUOTE})?[^\s:\"'\\]{{1,60}}:"),
    ("curl wget", r"(?:curl|wget)", r"(?:-b|--cookie)[\s=]{1,3}[\"']?[\w.-]{1,40}="),
    ("vault␣login", r"vault login", r"(?<=login )"),
    ("snmp", r"snmp[a-z-]{0,10}", r"(?:-c|community|(?-i:-[AX]))\s{1,3}"),
    ("vault␣operator", r"vault operator unseal", r""),
    ("cargo␣login wandb␣login snyk␣auth add-authtoken", r"(?:cargo login|wandb login|snyk auth|add-authtoken)", r""),
    ("wpa_passphrase", r"wpa_passphrase", rf"(?:{QUOTE})?{_WORD}(?:{QUOTE})?\s"),
    ("openssl␣passwd mkpasswd", r"(?:openssl passwd|mkpasswd)", r"(?:-[a-z0-9-]{1,12}\s(?:sha-\d{3}\s)?){0,3}?"),
    ("http-basic.", r"http-basic\.[\w.-]{1,40}", rf"{_WORD}\s"),
    ("nuget␣push", r"nuget push", r"-k\s{1,3}"),
    (
        "user-secrets␣set config␣set",
        r"(?:user-secrets|config) set",
        r"(?:--secret\s)?" + rf"(?:{QUOTE})?[\w:.-]{{0,60}}(?:passw(?:or)?d|secret|token|key)\w{{0,20}}"
        rf"(?:{QUOTE})?\s",
    ),
    ("config:set secrets␣set secret␣set", r"(?:config:set|secrets? set)", r"[a-z_][\w.-]{0,60}="),
    ("security␣", r"security (?:add-|unlock-|import|set-|create-)[\w-]{0,24}", r"-[wp]\s{1,3}|(?-i:-P)\s{1,3}"),
    ("signtool certutil", r"(?:signtool|certutil)", r"[/-]p\s{1,3}"),
    ("schtasks", r"schtasks", r"/rp\s{1,3}"),
    ("cmdkey", r"cmdkey", r"/pass:"),
    ("lftp", r"lftp", r"-u\s{1,3}[^\s,\"']{1,60},"),
    ("pdftk", r"pdftk", r"(?:input|user|owner)_pw\s{1,3}"),
    ("unrar", r"unrar", r"-p"),
    ("useradd usermod", r"user(?:add|mod)", r"-p\s{1,3}"),
    ("radtest", r"radtest", rf"{_WORD}\s"),
    ("steamcmd", r"steamcmd", rf"\+login\s{_WORD}\s"),
    ("--passwd vncpasswd x11vnc", r"(?:x11vnc|vncpasswd)", r"-passwd\s{1,3}|<<<\s?"),
    ("alias␣set", r"alias set", rf"{_WORD}\s{_WORD}\s{_WORD}\s"),
    ("set-agent-token", r"set-agent-token", rf"{_WORD}\s"),
    ("isakmp␣key tacacs-server␣key radius-server", r"(?:isakmp|tacacs-server|radius-server)", r"key\s(?:[0-9]\s)?"),
    (
        "auth_pass masterauth requirepass bindpw rootpw wpa-psk",
        r"(?:auth_pass|masterauth|requirepass|bindpw|rootpw|wpa-psk)",
        r"",
    ),
    ("acl␣setuser", r"acl setuser", r">"),
)


def _list_commands() -> Iterator[SecretPattern]:
    for hints, command, before in _COMMANDS:
        pattern = rf"{command}\s{_OPTIONS}(?:{before})(?:{QUOTE})?(?P<secret>{_ARGUMENT})"
        yield make_pattern("password", hints, pattern, folded=True)


_ANY_COMMAND = (
    make_pattern(
        "password",
        "htpasswd",  # the last of its arguments
        rf"htpasswd\s{_OPTIONS}-[a-z]{{0,6}}b[a-z]{{0,6}}\s(?:-[a-z]{{1,8}}\s){{0,5}}?(?:{_WORD}\s){{1,2}}?(?:{QUOTE})?"
        rf"(?P<secret>{_ARGUMENT})(?=(?:{QUOTE})?\s{{0,3}}(?:\n|\Z|[|;&>]))",
        folded=True,
    ),
    make_pattern(
        "token",
        "-pass -pw -secret -token -api -auth -access -private -client -credential -key -accesskey "
        "-storepass -otp -pin -jwt -bearer -psk -cookie",
        rf"-(?:{NAME}|pass|pw|pwd|key|auth|authkey|storepass|keypass|otp|pin|jwt|bearer|psk|cookie)[\w-]{{0,16}}(?:\s{{1,3}}|=)(?:{QUOTE})?"
        rf"(?P<secret>{VALUE}{{6,200}}(?::{{1,2}}{VALUE}{{4,100}}){{0,3}})",
        folded=True,
        digits=True,
        named=True,
        needs="-",
    ),
    make_pattern(
        "password",
        "-password -passphrase",
        rf"-pass(?:word|phrase)[\w-]{{0,12}}(?:\s{{1,3}}|=){QUOTE}(?:(?:echo|printf) )?"
        rf"(?P<secret>[a-z0-9]{TEXT}{{6,200}}){CLOSED}",
        folded=True,
    ),
    make_pattern(
        "password",
        NAME_HINTS,  # the name as one argument, the value as another
        rf"{NAME}[\w./-]{{0,40}}\s(?:[^\n]{{0,120}}?\s)??--?"
        rf"(?:value|body|data|secret-string|plaintext|string-value)[\s=]{{1,3}}(?:{QUOTE})?(?P<secret>{_ARGUMENT})",
        folded=True,
        needs="-",
    ),
    make_pattern(
        "password",
        "from-literal",
        rf"from-literal[= ](?:{QUOTE})?[\w.-]{{1,80}}=(?:{QUOTE})?(?P<secret>[^\s\"'\\$][^\s\"'\\]{{3,400}})",
    ),
    make_pattern(
        "password", "thin: oci:", r"(?:thin|oci):[\w$#]{1,60}/(?P<secret>[^\s\"'\\@/]{4,100})(?=@)", folded=True
    ),
    make_pattern("password", "sshpass", rf"sshpass\s{{1,3}}-p\s{{0,3}}['\"](?P<secret>{TEXT}{{3,100}}){CLOSED}"),
    make_pattern(
        "password",
        "net␣use",
        r"net use\s[^\n]{0,120}?\s(?P<secret>[^\s\"'\\/*][^\s\"'\\/]{3,100})(?=\s/user:)",
        folded=True,
    ),
    make_pattern(
        "password",
        "net␣use",
        r"net use\s[^\n]{0,120}?/user:[^\s]{1,80}\s(?P<secret>[^\s\"'\\/*][^\s\"'\\]{3,100})",
        folded=True,
    ),
    make_pattern(
        "password",
        "-u␣ -u= --user␣ --user= --username␣ --username= --login␣ /user:",  # a person, then the password
        rf"(?:-u|--user|--username|--login|/user)[\s=:]{{1,3}}(?:{QUOTE})?[^\s\"'\\-][^\s\"'\\]{{0,60}}"
        rf"(?:{QUOTE})?\s{{1,3}}"
        rf"(?:[^\n|;&]{{0,40}}?\s)??(?:-{{1,2}}(?:p[sw]?|pass|w)[\s=]{{1,3}}|/p(?:ass(?:word)?)?:)(?:{QUOTE})?"
        rf"(?P<secret>(?![0-9]{{1,5}}(?![\w!@#$%^&*-])){_ARGUMENT})",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        "kinit cryptsetup vncpasswd terraform␣login secret␣put secret␣create passphrase-fd auth␣login luks",
        rf"(?:kinit|cryptsetup|vncpasswd|terraform login|secret "
        rf"(?:put|create)|passphrase-fd|auth login|luks)[^\n|;&]{{0,100}}?<<<\s?(?:{QUOTE})?"
        rf"(?P<secret>[^\s\"'\\$][^\"'\\\n]{{3,200}})",
        folded=True,
    ),
    make_pattern(
        "password",
        "echo␣ printf␣ <<<",  # piped into a program that asks for one
        rf"(?:(?:echo|printf)\s{{1,3}}(?:-[a-z]{{1,3}}\s|[\"']?%s(?:\\{{1,7}}n)?[\"']?\s)?|<<<\s?)"
        rf"(?:{QUOTE})?(?:[\w.-]{{1,60}}:)?"
        rf"(?P<secret>{TEXT}{{4,100}}?)(?:\\{{1,7}}n)?(?:{QUOTE})?\s{{0,3}}\|\s{{0,3}}"
        r"(?:sudo\s(?:-S\s)?)?"
        r"(?:kinit|cryptsetup|passwd|chpasswd|gpg|openssl|sudo|su|smbpasswd|ansible-vault|[^\n|]{1,120}--?"
        r"(?:passw(?:or)?d-stdin|with-token|stdin)"
        r"|(?:docker|podman|gh|kubectl|wrangler|fly|vercel|npm|aws|az|gcloud) [^\n|]{0,60}(?:login|secret))\b",
        needs="|",
    ),
    make_pattern(
        "password",
        "convertto-securestring",
        rf"convertto-securestring\s{{1,3}}(?:-string\s{{1,3}})?(?:{QUOTE})?"
        rf"(?P<secret>[^\s\"'`\\\n$(-][^\s\"'`\\]{{3,200}})",
        folded=True,
    ),
    make_pattern(
        "password",
        "identified␣by",
        rf"identified by(?: password)?\s{{1,3}}{QUOTE}(?P<secret>[^\s\"'`\\]{{4,100}})",
        folded=True,
    ),
    make_pattern(
        "password",
        "identified␣by",
        r"identified by(?: values?| password)?\s{1,3}(?P<secret>[^\s\"'`\\,]{5,100})",
        folded=True,
        digits=True,
    ),
    make_pattern(
        "password",
        NAME_HINTS,  # the last column of a row that is inserted
        rf"{NAME}[\w`\]]{{0,12}}(?:{QUOTE})?\s?\)\s{{0,9}}values\s{{0,9}}\(\s?(?:[^,()\\]{{1,60}},\s?){{0,6}}?{QUOTE}"
        rf"(?P<secret>{TEXT}{{4,200}})(?=\\{{0,7}}[\"']\s?\))",
        folded=True,
    ),
    make_pattern("password", '"␣*␣"', r"\" \* \"(?P<secret>[^\s\"\\*]{4,100})(?=\")"),  # chap-secrets
    make_pattern(
        "password",
        "mysql\" mysql' mysql\\",
        rf"mysql{QUOTE}\s{{0,3}},\s{{0,3}}(?:{QUOTE}|`)[^\s:\"'\\`]{{1,60}}:(?P<secret>[^\s\"'\\`]{{3,200}})@"
        rf"(?:tcp|unix)\(",
    ),
    make_pattern(
        "password",
        "password secret key␣",  # kept as a number says it: password 0 …
        r"(?:password|secret|key) [0-9]{1,2} (?P<secret>[^\s\"'\\]{4,200})",
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

COMMAND_PATTERNS = (*_list_commands(), *_ANY_COMMAND)
