"""Forms of secrets: templates in tests/data, filled with values that a seeded generator makes, so none is committed."""

import random
import re
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"
_PLACEHOLDER = re.compile(r"\{\{(?P<secret>\w+):(?P<size>\d+)\}\}|\[\[(?P<other>\w+):(?P<length>\d+)\]\]")
_WORDS = (
    "apple",
    "anchor",
    "basket",
    "bridge",
    "candle",
    "castle",
    "copper",
    "desert",
    "dragon",
    "ember",
    "falcon",
    "forest",
    "garden",
    "guitar",
    "harbor",
    "hammer",
    "island",
    "jacket",
    "jungle",
    "kettle",
    "ladder",
    "lantern",
    "marble",
    "meadow",
    "needle",
    "orange",
    "oyster",
    "pepper",
    "pillow",
    "planet",
    "quartz",
    "rabbit",
    "ribbon",
    "saddle",
    "silver",
    "spider",
    "temple",
    "ticket",
    "tunnel",
    "velvet",
    "violin",
    "walnut",
    "window",
    "winter",
    "yellow",
    "zipper",
)
_URL_SAFE = string.ascii_letters + string.digits + "-_"


@dataclass(frozen=True)
class SecretForm:
    """One way of writing a secret down, filled in: the text, and the parts of it that must not be stored."""

    name: str
    text: str
    secrets: tuple[str, ...]

    def leaks(self, redacted: str, least: int = 6) -> bool:
        """Whether `redacted` still shows a secret, or so many characters of it in a row."""
        around = self._text_around()
        return any(
            secret[start : start + least] in redacted
            for secret in self.secrets
            for start in range(max(1, len(secret) - least + 1))
            if secret[start : start + least] not in around
        )

    def _text_around(self) -> str:
        text = self.text
        for secret in self.secrets:
            text = text.replace(secret, "\0")
        return text


def _draw(alphabet: str) -> Callable[[random.Random, int], str]:
    return lambda chance, size: "".join(chance.choices(alphabet, k=size))


def _draw_strong(chance: random.Random, size: int) -> str:
    body = "".join(chance.choices(string.ascii_letters + string.digits + "!#%*+-.?@^_~", k=size - 3))
    return (
        chance.choice(string.ascii_letters)
        + body
        + chance.choice(string.digits)
        + chance.choice(string.ascii_uppercase)
    )


def _draw_base64(chance: random.Random, size: int) -> str:
    return "".join(chance.choices(string.ascii_letters + string.digits + "+/", k=size - 1)) + "="


def _draw_human(chance: random.Random, _size: int) -> str:
    """What people make up: a word and a number, some with a capital, a sign, or letters changed to digits."""
    word = chance.choice(_WORDS)
    number = chance.randrange(10, 9999)
    return chance.choice(
        [
            f"{word.capitalize()}{number}",
            f"{word.capitalize()}{number}!",
            f"{word}{number}",
            f"{word.capitalize()}-{chance.choice(_WORDS)}-{number}",
            f"{word.replace('e', '3').replace('a', '4')}#{chance.choice(_WORDS)}{number}",
        ]
    )


_VALUES: dict[str, Callable[[random.Random, int], str]] = {
    "alnum": _draw(string.ascii_letters + string.digits),
    "base32": _draw(string.ascii_uppercase + "234567"),
    "base64": _draw_base64,
    "base64url": _draw(_URL_SAFE),
    "digits": _draw(string.digits),
    "hex": _draw("0123456789abcdef"),
    "human": _draw_human,
    "phrase": lambda chance, size: " ".join(chance.choices(_WORDS, k=size)),
    "strong": _draw_strong,
    "upper": _draw(string.ascii_uppercase + string.digits),
    "uuid": lambda chance, _size: str(uuid.UUID(int=chance.getrandbits(128), version=4)),
}


def fill_form(name: str, template: str, seed: int) -> SecretForm:
    chance = random.Random(f"{name}:{seed}")
    secrets: list[str] = []

    def fill(found: re.Match[str]) -> str:
        if found["other"]:
            return _VALUES[found["other"]](chance, int(found["length"]))
        secrets.append(_VALUES[found["secret"]](chance, int(found["size"])))
        return secrets[-1]

    return SecretForm(name, _PLACEHOLDER.sub(fill, template), tuple(secrets))


_MARKER = re.compile(r"⟦(?P<kind>\w+):(?P<size>\d+)⟧")
_KINDS = {
    **{name: _VALUES[name] for name in ("alnum", "base64url", "digits", "hex", "uuid")},
    "ALNUM": _VALUES["upper"],
    "HEX": _draw("0123456789ABCDEF"),
    "base64": _draw_base64,
    "password": _draw_strong,
    "passphrase": _VALUES["phrase"],
}


def list_lines(which: str, seed: int = 0) -> Iterator[SecretForm]:
    """The lines of `tests/data/<which>.txt`, each with its markers ⟦kind:length⟧ filled in."""
    for number, line in enumerate((DATA / f"{which}.txt").read_text("utf-8").splitlines(), 1):
        chance, secrets = random.Random(f"{which}:{number}:{seed}"), []
        parts = _MARKER.split(line)
        for at in range(1, len(parts), 3):
            secrets.append(_KINDS[parts[at]](chance, int(parts[at + 1])))
        text = "".join(one for pair in zip(parts[::3], [*secrets, ""], strict=True) for one in pair)
        yield SecretForm(f"{which}:{number}", text, tuple(secrets))


def list_forms(which: str, seed: int = 0) -> Iterator[SecretForm]:
    """The forms of `tests/data/secret_forms_<which>.txt`."""
    blocks = re.split(r"^=== ", (DATA / f"secret_forms_{which}.txt").read_text("utf-8"), flags=re.MULTILINE)
    for block in blocks[1:]:
        name, _, body = block.partition("\n")
        yield fill_form(name, body.rstrip("\n"), seed)
