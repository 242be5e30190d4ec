"""Choice of skills for a request without a model: shared words, and closeness of meaning."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kb_service.embeddings.protocol import Encoder, Vectors
from kb_service.retrieval.fusion import dense_weight
from kb_service.text.lexical import tokenize
from skills.cards import SkillCard

CHOSEN_FROM = 0.5
"""From this score on a skill counts as chosen."""

# A query's words beyond these are pasted material, not the request.
_MOST_TOKENS = 400
# Of a phrase and of the request, how much their shared words count.
_PHRASE_SHARE = 0.75
# A single short word says less than a sentence does.
_NAME_WEIGHT = 0.9
_NOT_FOR_WEIGHT = 0.8
# What remains between unrelated texts and the same words said otherwise; measured with the built-in
# encoder, where paraphrases of a request reach about two thirds.
_CLOSE = 0.65
# What everybody asks about, so that closeness is measured against the encoder's own everyday level:
# encoders differ in what they call similar.
_EVERYDAY = (
    "What will the weather be like tomorrow?",
    "How do I bake bread at home?",
    "Who won the football match yesterday?",
    "Tell me a story about a brave cat.",
    "明天天气怎么样？",
    "怎么做西红柿炒鸡蛋？",
    "昨天的比赛谁赢了？",
    "给我讲一个小猫的故事。",
)

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Choice:
    """How well a skill fits a request.

    Args:
        card: the skill.
        score: from 0 to 1; ``CHOSEN_FROM`` and more counts as chosen.
        lexical: what shared words say, from 0 to 1.
        closeness: what the encoder says, from 0 to 1; ``None`` where it was not asked.
    """

    card: SkillCard
    score: float
    lexical: float
    closeness: float | None = None

    @property
    def is_chosen(self) -> bool:
        """Whether the skill would be used."""
        return self.score >= CHOSEN_FROM


@dataclass(frozen=True)
class _Words:
    """A card's words: all of them, and those of each phrase."""

    everything: frozenset[str]
    name: frozenset[str]
    triggers: tuple[frozenset[str], ...]
    not_for: tuple[frozenset[str], ...]


@dataclass(frozen=True)
class EncodedCards:
    """The cards' texts as vectors.

    Args:
        encoder: asked again for each request.
        vectors: of each card's texts, in the order of the cards.
        everyday: of what everybody asks about.
    """

    encoder: Encoder
    vectors: Sequence[Vectors]
    everyday: Vectors


class SkillSelector:
    """Some skills, ready to be ranked for requests; made by ``prepare_selector``.

    Args:
        cards: the skills.
        encoded: their vectors; ``None``: words alone decide.
    """

    def __init__(self, cards: Sequence[SkillCard], encoded: EncodedCards | None = None) -> None:
        self._cards = tuple(cards)
        self._words = [_words_of(card) for card in self._cards]
        self._counts = Counter(word for words in self._words for word in words.everything)
        self._encoded = encoded

    async def rank(self, query: str) -> tuple[Choice, ...]:
        """All skills, the best first; equal ones by slug, so that the answer is always the same.

        Args:
            query: the user's request, in any language.

        Raises:
            EngineUnavailable: the encoder gave no answer.
        """
        weight, closeness = 0.0, [None] * len(self._cards)
        if self._encoded is not None and query.strip():
            weight = dense_weight(query, self._encoded.encoder.languages)
        if self._encoded is not None and weight:
            closeness = await _closeness(query, self._encoded)
        asked = frozenset(tokenize(query)[:_MOST_TOKENS])
        choices = [
            self._choice(place, asked, close, weight) for place, close in enumerate(closeness)
        ]
        return tuple(sorted(choices, key=lambda choice: (-choice.score, choice.card.slug)))

    def _choice(
        self, place: int, asked: frozenset[str], closeness: float | None, weight: float
    ) -> Choice:
        lexical = self._lexical(self._words[place], asked)
        # Either kind of evidence suffices, and both together say more than one.
        missing = (1 - lexical) * (1 - min(1.0, weight) * (closeness or 0.0))
        return Choice(self._cards[place], round(1 - missing, 6), round(lexical, 6), closeness)

    def _lexical(self, words: _Words, asked: frozenset[str]) -> float:
        fits = max(
            self._share(asked, words.everything),
            _NAME_WEIGHT * self._phrase(words.name, asked),
            max((self._phrase(phrase, asked) for phrase in words.triggers), default=0.0),
        )
        speaks_against = max((self._phrase(phrase, asked) for phrase in words.not_for), default=0.0)
        return fits * (1 - _NOT_FOR_WEIGHT * speaks_against**2)

    def _phrase(self, phrase: frozenset[str], asked: frozenset[str]) -> float:
        of_phrase, of_query = self._share(phrase, asked), self._share(asked, phrase)
        return _PHRASE_SHARE * of_phrase + (1 - _PHRASE_SHARE) * of_query

    def _share(self, words: frozenset[str], found_in: frozenset[str]) -> float:
        """How much of what some words say is also said by others."""
        total = self._weight(words)
        return self._weight(words & found_in) / total if total else 0.0

    def _weight(self, words: Iterable[str]) -> float:
        # Sets come in another order in each process, and sums of floats depend on it.
        return math.fsum(
            math.log(1 + (len(self._cards) + 1) / (self._counts[word] + 0.5)) for word in words
        )


async def prepare_selector(
    cards: Sequence[SkillCard], encoder: Encoder | None = None
) -> SkillSelector:
    """Make skills ready to be ranked: their words are split and their texts encoded once.

    Args:
        cards: the skills among which is chosen.
        encoder: gives closeness of meaning; ``None``: words alone decide.

    Raises:
        EngineUnavailable: the encoder gave no answer.
    """
    if encoder is None or not cards:
        return SkillSelector(cards)
    texts = [_texts_of(card) for card in cards]
    flat = [text for group in texts for text in group]
    everyday = await encoder.embed_queries(_EVERYDAY)
    vectors = await encoder.embed_passages(flat)
    borders = np.cumsum([len(group) for group in texts])[:-1]
    return SkillSelector(cards, EncodedCards(encoder, np.split(vectors, borders), everyday))


async def _closeness(query: str, encoded: EncodedCards) -> list[float | None]:
    vector: Vector = (await encoded.encoder.embed_queries([query]))[0]
    usual = float(np.mean(encoded.everyday @ vector))
    return [_close(float(np.max(texts @ vector)), usual) for texts in encoded.vectors]


def _texts_of(card: SkillCard) -> list[str]:
    return [f"{card.name}. {card.description}", *card.triggers]


def _words_of(card: SkillCard) -> _Words:
    name = tokenize(f"{card.name} {card.slug.replace('-', ' ')}")
    triggers = [tokenize(text) for text in card.triggers]
    return _Words(
        everything=frozenset([*name, *tokenize(card.description), *chain.from_iterable(triggers)]),
        name=frozenset(name),
        triggers=tuple(map(frozenset, triggers)),
        not_for=tuple(frozenset(tokenize(text)) for text in card.not_for),
    )


def _close(cosine: float, usual: float) -> float:
    above = (cosine - usual) / max(1e-6, 1 - usual)
    return round(min(1.0, max(0.0, above / _CLOSE)), 6)
