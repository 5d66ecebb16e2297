"""Names of secrets: the words before a password, token or key, in programs and in the languages people write in."""

from __future__ import annotations

# Names in programs. A hint is a part that every spelling contains; it is how a name is found quickly.
_KEYS = (
    "api",
    "access",
    "private",
    "account",
    "signing",
    "encryption",
    "master",
    "auth",
    "client",
    "shared",
    "license",
)
NAME_HINTS = (
    "password passwd pasw pssw psw passphrase passcode passwort kennwort secret token credential authtok storagekey "
    + " ".join(f"{one}{sign}key" for one in _KEYS for sign in ("", "_", "-"))
)
NAME = (
    r"(?:pa?ss?w(?:o?r)?[dt]|passphrase|passcode|kennwort|secrete?(?:[_-]?access)?(?:[_-]?key)?|token|credentials?|authtok"
    rf"|(?:{'|'.join(_KEYS)}|storage)[_-]?key)"
)
# What may follow in one name: `token_value`, `secretKeyBase`. Names of something about a secret are left out.
_ABOUT = (
    "file|path|url|uri|type|name|id|len|length|field|policy|count|size|min|max|ref|expir|ttl|label|hint|prompt|reset|form|error|"
    "endpoint|header|index|offset|provider|class|method|algo|version|limit|usage|env|var|dir|store|manager|arn|format|kind|scope"
)
REST = r"(?:(?:_|[.-](?=\w)|(?-i:[A-Z0-9]))(?:[.-]?\w){0,24}+|s(?![a-z]))?+"
SUFFIX = rf"(?![_.-]?(?:{_ABOUT})(?![a-z])){REST}"

# Short names: they are words of their own, or the last part of one. `pass` in `bypass` and `compass` is not.
SHORT_HINTS = "pass pwd pw psk"
SHORT_NAME = (
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=(?-i:P))|(?<=require)|(?<=bind)|(?<=store)|(?<=imap)|(?<=smtp)|(?<=root)|(?<=user))"
    r"(?:pass|pwd|pw|psk)"
)

# The first letter is left out where it may be a capital that is not ASCII.
WORD_HINTS = (
    "schlüssel contraseña contrasena clave senha wachtwoord hasło haslo heslo lösenord passord adgangskode kodeord "
    "salasana jelszó jelszo parola parolă sifre ifre lozinka lozinku sandi katalaluan khẩu slaptažodis parool passe "
    "ароль арола ωδικός סיסמה סיסמא كلمة␣المرور كلمة␣السر رمز␣عبور पासवर्ड পাসওয়ার্ড รหัสผ่าน "
    "パスワード 暗証番号 密码 密碼 口令 密钥 暗号 비밀번호 패스워드 암호"
)
WORD = f"(?:{'|'.join(WORD_HINTS.split())})".replace("␣", " ")
