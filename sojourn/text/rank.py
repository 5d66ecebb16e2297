"""Ranking: BM25 of texts for the words of a request, helped by the messages beside them and by their session.

A store selects candidates by terms; this module counts words in their texts, so that every store ranks alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log

from sojourn.text.answer_signs import AnswerSigns
from sojourn.text.languages import detect_language, guess_languages, is_frequent, list_beginnings, stem_in
from sojourn.text.query import Clause, Snippet, parse_clauses, shorten_around
from sojourn.text.stemming import is_stop_word, stem
from sojourn.text.tokenizer import expand_to_run, find_forms, find_forms_in, has_run, iter_run_places, stem_term
from sojourn.text.writing_systems import is_unspaced

Place = tuple[int, int, tuple[int, ...]]  # of a run in a text: start, end, and the words of the request that it has
MAX_WORDS = 24  # of a request that are looked for
_K1, _B = 0.9, 0.35  # saturation of term frequency; weight of the length
_SESSION_K1 = 0.7  # saturation of the number of messages of a session that have a word
_NEIGHBOUR_WEIGHTS = (0.5, 0.25)  # of the messages one and two places away
_QUESTION_WEIGHT = 2.2  # a question says what the next message is about
_SESSION_WEIGHT = 0.45
_TITLE_COUNT = 2  # a word of the title counts as often as this in its session
_RECENCY_WEIGHT = 0.02  # decides between equals
_PHRASE_WEIGHT = 0.4  # of two words of the request that stand side by side
_EXCERPT_CHARS = 20_000  # of a text in which the best excerpt is looked for
_LANGUAGE_CHARS = 2000  # of a text, which show its language
_ROLE_WEIGHTS: Mapping[str, float] = {"user": 1.0, "assistant": 1.0, "tool": 0.6}


@dataclass(frozen=True, slots=True)
class RankedWord:
    """A word of a request: as it was written, its stem, and the stems that it has in other languages."""

    term: str
    root: str
    others: tuple[tuple[str, str], ...] = ()  # language and stem

    @property
    def beginnings(self) -> tuple[str, ...]:
        """What all forms of the word begin with: a stem may end in another letter than they have there."""
        english = self.root[:-1] if self.root[-1] in "eiy" and len(self.root) > 2 else self.root
        return (english, *(one for language, root in self.others for one in list_beginnings(root, language)))

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms of an index that find the word in any of its forms."""
        roots = dict.fromkeys((self.root, *(root for _, root in self.others)))
        return tuple(dict.fromkeys((self.term, *roots, *map(stem_term, roots))))

    def occurs_in(self, forms: Container[str]) -> bool:
        return self.root in forms or self.term in forms or any(root in forms for _, root in self.others)


@dataclass(slots=True)
class Candidate:
    """A message that may be found: where it is, its text, and what is computed from it."""

    id: int
    session: str
    seq: int
    role: str
    text: str
    counts: list[int] = field(default_factory=list)  # of each word
    own: float = 0.0  # BM25 of the message alone
    score: float = 0.0

    @property
    def has_all(self) -> bool:
        return all(self.counts)


class RankedQuery:
    """A request parsed for ranking. Words are wished for; quoted phrases and beginnings are demanded.

    A question demands nothing: what it quotes need not be there word for word.
    is_question: asked by recall, which weighs the signs of an answer itself, after comparing meanings
    """

    def __init__(self, text: str, *, is_question: bool = False) -> None:
        asks = text.rstrip().endswith(("?", "？"))
        self._signs = AnswerSigns(text) if asks and not is_question else None
        if asks or is_question:
            text = text.replace('"', " ").replace("*", " ")
        required: list[Clause] = []
        terms: dict[str, None] = {}
        for clause, is_required in parse_clauses(text):
            required += [clause] if is_required else []
            if not clause.prefix:
                terms.update(dict.fromkeys((*clause.phrase, *([clause.joined] if clause.joined else ()))))
        self._languages = guess_languages(terms)
        said = self._languages if len(self._languages) == 1 else ()
        telling = [term for term in terms if not is_stop_word(term) and not is_frequent(term, said)] or list(terms)
        by_root: dict[str, RankedWord] = {}
        for term in telling[:MAX_WORDS]:
            by_root.setdefault(stem(term), RankedWord(term, stem(term), _list_roots(term, self._languages)))
        self.required, self.words = tuple(required), tuple(by_root.values())
        self.rarities = [1.0] * len(self.words)
        beginnings = {one for word in self.words for one in word.beginnings}
        self._beginnings = tuple(
            one for one in sorted(beginnings) if not any(one.startswith(other) for other in beginnings - {one})
        )
        self._words_of: dict[str, dict[str, tuple[int, ...]]] = {}  # by language, of the runs that were looked at
        self._mean_length = 0.0  # of the candidates that were scored first

    def set_frequencies(self, having: Sequence[float], total: float) -> None:
        """Computes the rarity of each word: the inverse of the share of messages that have it."""
        self.rarities = [log(1 + (max(total, n) - n + 0.5) / (n + 0.5)) for n in having]

    def count(self, text: str) -> tuple[list[int], int, float]:
        """Returns how often a text has each word, how many words it has, and the weight of words side by side."""
        counts, places = [0] * len(self.words), self._find_places(text)
        for _, _, words in places:
            for number in words:
                counts[number] += 1
        return counts, text.count(" ") + 1, self._weigh_phrases(text, places) if len(places) > 1 else 0.0

    def _weigh_phrases(self, text: str, places: Sequence[Place]) -> float:
        pairs = set[int]()
        for (_, end, before), (start, _, after) in pairwise(places):
            if not has_run(text, end, start):
                pairs.update(number for number in after if number - 1 in before)
        return sum(min(self.rarities[number - 1], self.rarities[number]) for number in pairs)

    def may_occur_in(self, text: str) -> bool:
        """Whether a text has the beginning of a word; without one it has none of the words."""
        folded = text.lower()
        for beginning in self._beginnings:  # noqa: SIM110  a generator takes twice as long
            if beginning in folded:
                return True
        return False

    def _find_words(self, run: str, language: str) -> tuple[int, ...]:
        forms = find_forms(run) | find_forms_in(run, language) if language else find_forms(run)
        return tuple(n for n, word in enumerate(self.words) if word.occurs_in(forms))

    def score_alone(self, candidates: Iterable[Candidate]) -> None:
        """Computes BM25 for each candidate by itself."""
        found = [(one, *self.count(one.text)) for one in candidates]
        if not self._mean_length:
            self._mean_length = max(1.0, sum(length for _, _, length, _ in found) / max(1, len(found)))
        for one, counts, length, phrases in found:
            norm = _K1 * (1 - _B + _B * length / self._mean_length)
            value = sum(
                rarity * count * (_K1 + 1) / (count + norm)
                for rarity, count in zip(self.rarities, counts, strict=True)
                if count
            )
            one.counts = counts
            one.own = one.score = (value + _PHRASE_WEIGHT * phrases) * _ROLE_WEIGHTS.get(one.role, 0.8)

    def score_together(self, candidates: Sequence[Candidate], titles: Mapping[str, str]) -> None:
        """Adds to each score a share of its neighbours' scores and of its session's score.

        candidates: those to rank and their neighbours, all scored alone
        titles: of their sessions
        """
        sessions: defaultdict[str, list[Candidate]] = defaultdict(list)
        for one in sorted(candidates, key=lambda one: one.seq):
            sessions[one.session].append(one)
        whole = {session: self._score_session(found, titles.get(session, "")) for session, found in sessions.items()}
        for found in sessions.values():
            for distance, weight in enumerate(_NEIGHBOUR_WEIGHTS, 1):
                for before, after in zip(found, found[distance:], strict=False):
                    asks = distance == 1 and "?" in before.text
                    before.score += weight * after.own
                    after.score += weight * before.own * (_QUESTION_WEIGHT if asks else 1.0)
        most = sum(self.rarities) or 1.0
        for one in candidates:
            one.score = one.score / (most * (_K1 + 1)) + _SESSION_WEIGHT * whole[one.session] / (
                most * (_SESSION_K1 + 1)
            )
            if self._signs:
                one.score *= self._signs.weigh(one.text)

    def _score_session(self, found: Sequence[Candidate], title: str) -> float:
        """BM25 of a session as far as its candidates show it."""
        sums = [_TITLE_COUNT * count for count in self.count(title)[0]] if title else [0] * len(self.words)
        for one in found:
            if one.own:
                sums = [total + (count > 0) for total, count in zip(sums, one.counts, strict=True)]
        return sum(
            rarity * count * (_SESSION_K1 + 1) / (count + _SESSION_K1)
            for rarity, count in zip(self.rarities, sums, strict=True)
            if count
        )

    def build_snippet(self, text: str, *, width: int = 160) -> Snippet:
        """About `width` characters where the most telling words stand together, with the words marked."""
        places = self._find_places(text[:_EXCERPT_CHARS])
        best, at = -1.0, (0, 0)
        for number, (start, end, _) in enumerate(places):
            near: set[int] = set()
            for _, last, words in places[number:]:
                if last - start > width * 2 // 3:
                    break
                near.update(words)
            if (value := sum(self.rarities[word] for word in near)) > best:
                best, at = value, (start, end)
        return shorten_around(
            text, at, lambda shown: [(start, end) for start, end, _ in self._find_places(shown)], width=width
        )

    def _choose_language(self, text: str) -> str:
        """Returns the language in which words are compared: of the request or, if nothing shows it, of the text."""
        if len(self._languages) < 2:
            return self._languages[0] if self._languages else ""
        return detect_language(text[:_LANGUAGE_CHARS].split())

    def _find_places(self, text: str) -> list[Place]:
        """The runs of a text that have words, in order. Looks only where the beginning of a word is."""
        language = self._choose_language(text)
        found, folded, words_of = dict[int, Place](), text.lower(), self._words_of.setdefault(language, {})
        if len(folded) != len(text):  # a letter changed its length: look everywhere
            return [
                (one.start(), one.end(), words)
                for one in iter_run_places(text)
                if (words := self._find_words(one[0], language))
            ]
        for beginning in self._beginnings:
            at = folded.find(beginning)
            while at >= 0:
                start, end = expand_to_run(text, at)
                run = text[start:end]
                if run not in words_of:
                    words_of[run] = self._find_words(run, language)
                if words := words_of[run]:
                    found[start] = (start, end, words)
                at = folded.find(beginning, end)
        return [found[start] for start in sorted(found)]


def _list_roots(term: str, languages: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Returns the different stems of a word in some languages, with the language of each."""
    if not term.isalpha() or is_unspaced(term[0]):
        return ()
    found = ((language, stem_in(term, language)) for language in languages)
    return tuple({(root, list_beginnings(root, language)): (language, root) for language, root in found}.values())
