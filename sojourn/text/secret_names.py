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
    "app",
    "admin",
    "session",
    "consumer",
    "deploy",
    "security",
    "subscription",
    "webhook",
    "hmac",
    "jwt",
    "cipher",
    "server",
)
NAME_HINTS = (
    "password passwd pasw pssw psw passw passphrase passcode passwort passkey kennwort secret token "
    "credential creds authtok "
    "storagekey " + " ".join(f"{one}{sign}key" for one in _KEYS for sign in ("", "_", "-", "␣"))
)
NAME = (
    r"(?:pa?ss?w(?:o?r)?[dt]|passw(?![a-z])|passphrase|passcode|passkey|kennwort|secrete?(?:[_-]?access)?"
    r"(?:[_-]?key)?|token|credentials?"
    r"|creds|authtok"
    rf"|(?:{'|'.join(_KEYS)}|storage)[_ -]?key)"
)
# What may follow in one name: `token_value`, `secretKeyBase`. Names of something about a secret are left out.
_ABOUT = (
    "file|path|url|uri|type|name|id|len|length|field|policy|count|size|min|max|ref|expir|ttl|label|hint|prompt|reset|form|error|"
    "endpoint|header|index|offset|provider|class|method|algo|version|limit|usage|env|var|dir|store|manager|arn|format|kind|scope"
)
REST = r"(?:(?:_|[.-](?=\w)|(?-i:[A-Z0-9]))(?:[.-]?\w){0,24}+|s(?![a-z]))?+"
SUFFIX = rf"(?![_.-]?(?:{_ABOUT})(?![a-z])){REST}"

# Short names: they are words of their own, or the last part of one. `pass` in `bypass` and `compass` is not.
SHORT_HINTS = "pass pwd pw psk p/w"
SHORT_NAME = (
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=(?-i:P))|(?<=require)|(?<=bind)|(?<=store)|(?<=imap)|(?<=smtp)|"
    r"(?<=root)|(?<=user))"
    r"(?:pass|pwd|pw|psk|p/w)"
)

# The first letter is left out where it may be a capital that is not ASCII.
WORD_HINTS = (
    "schlüssel zugangscode contraseña contrasena contrasenya clave senha wachtwoord hasło haslo hasla "
    "heslo geslo lösenord "
    "passord adgangskode kodeord salasana jelszó jelszo jelszav parola parolă parool pasahitza ifre "
    "lozinka lozinku "
    "sandi katalaluan khẩu slaptažodis passe mdp ароль АРОЛЬ ароля аролем арола гасло ωδικός ωδικό סיסמה סיסמא "
    "كلمة␣المرور كلمة␣السر كلمة␣سر رمز␣عبور رمز␣المرور گذرواژه पासवर्ड পাসওয়ার্ড รหัสผ่าน "
    "パスワード 暗証番号 密码 密碼 口令 密钥 暗号 비밀번호 패스워드 암호 비번"
)
WORD = f"(?:{'|'.join(WORD_HINTS.split())})".replace("␣", " ")
# Words for a key or a token: they mean many other things too, so the value has to look like one.
KEY_WORD_HINTS = (
    "chiave chave llave sleutel klucz klíč nyckel nøgle nøkkel avain anahtar kulcs cheie jeton clé cle␣ "
    "люч окен екрет λειδί מפתח אסימון مفتاح رمز␣الوصول कुंजी टोकन กุญแจ โทเค็น khóa "
    "キー トークン 鍵 令牌 密鑰 秘钥 密匙 토큰 키"
)
KEY_WORD = f"(?:{'|'.join(KEY_WORD_HINTS.split())})".replace("␣", " ")
