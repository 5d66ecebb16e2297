"""Languages: which of some European languages a text is in, by the words that are most frequent in it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import Stemmer

ENGLISH = "english"
_MIN_HITS = 2  # frequent words that a text of another language has
_FREQUENT = {
    ENGLISH: "the and of to is are was that this it with for you we have be not what how when which did do does "
    "i a on can will my our your there they from by at as or if but",
    "german": "der die das und ist nicht ein eine einen mit auf den dem für wir haben ich sie es zu von auch wird "
    "werden was wie wann warum wer welche sind hat war im bei oder wenn aber noch nach aus dass kann "
    "unser unsere",
    "french": "le la les des et est une un du dans pour que qui nous vous avec sur pas avons ont été ce cette il "
    "elle sont aux au plus mais ou où quand pourquoi comment quel quelle quoi notre nos je se ne par",
    "spanish": "el la los las y es una un del en para que con por no hemos qué cuándo cómo dónde cuál quién fue "
    "son está se lo como más pero al su nuestro nuestra nos han ha porque",
    "italian": "il la lo gli le e è una un di del della che con per non abbiamo cosa quando come dove quale chi "
    "sono stato nel nella si più ma ci nostro nostra perché anche hanno ha al",
    "portuguese": "o a os as e é uma um do da dos das que com para por não temos quando como onde qual quem foi são "
    "está no na nos se mais mas nosso nossa porque também foram ao",
    "dutch": "de het een en is niet van wij we hebben dat die met voor op zijn te wat wanneer hoe waarom welke "
    "waar ook naar bij of maar onze ons dit er aan heeft wordt werd",
    "swedish": "och är inte en ett det den som för med på av vi har till när hur varför vad vilken vilka var också "
    "från eller men vår våra om att ska kan hade",
}
LANGUAGES = tuple(name for name in _FREQUENT if name != ENGLISH)
_WORDS_OF = {name: frozenset(words.split()) for name, words in _FREQUENT.items()}
_LANGUAGES_OF: dict[str | bytes, tuple[str, ...]] = {
    form: tuple(name for name, words in _WORDS_OF.items() if word in words)
    for word in frozenset[str]().union(*_WORDS_OF.values())
    for form in (word, word.encode())  # ASCII is split as bytes
}
_FREQUENT_FORMS = frozenset(_LANGUAGES_OF)
_STEMMERS = {name: Stemmer.Stemmer(name, 0) for name in LANGUAGES}
_CHANGED_LETTERS = {("french", "l"), ("dutch", "s"), ("dutch", "f")}
_UMLAUTS = {"a": "ä", "o": "ö", "u": "ü"}
_MIN_STEM_CHARS = 3


def detect_language(words: Iterable[str | bytes]) -> str:
    """Returns the language that the different words of a text are in; "" if it is English or another one."""
    counts = _count_frequent(words)
    name = max(counts, key=counts.__getitem__)
    return name if counts[name] >= _MIN_HITS and counts[name] > counts[ENGLISH] else ""


def guess_languages(words: Iterable[str]) -> tuple[str, ...]:
    """Returns the languages besides English that a request may be in: all of them if no word tells."""
    counts = _count_frequent(words)
    most = max(counts.values())
    return LANGUAGES if not most else tuple(name for name in LANGUAGES if counts[name] == most > counts[ENGLISH])


def _count_frequent(words: Iterable[str | bytes]) -> dict[str, int]:
    counts = dict.fromkeys(_WORDS_OF, 0)
    for word in _FREQUENT_FORMS.intersection(words):
        for name in _LANGUAGES_OF[word]:
            counts[name] += 1
    return counts


def is_frequent(word: str, languages: Iterable[str]) -> bool:
    """Whether a word says nothing in one of the languages."""
    return any(word in _WORDS_OF[name] for name in languages)


@lru_cache(maxsize=65536)
def stem_in(word: str, language: str) -> str:
    """Returns a lower-case word of a language without its ending."""
    root: str = _STEMMERS[language].stemWord(word) if len(word) > _MIN_STEM_CHARS and word.isalpha() else word
    return root


def list_beginnings(root: str, language: str) -> tuple[str, ...]:
    """Returns what the forms of a root begin with: its last letter (cheval, chevaux) or its vowel (Haus, Häuser) may be
    another one there."""
    if (language, root[-1]) in _CHANGED_LETTERS:
        return (root[:-1],)
    at = max(map(root.rfind, "aou")) if language == "german" else -1
    at -= at > 0 and root[at - 1 : at + 1] == "au"
    return (root, f"{root[:at]}{_UMLAUTS[root[at]]}{root[at + 1 :]}") if at >= 0 else (root,)
