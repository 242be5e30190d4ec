"""Choice of skills for a request without a model: shared words and semantic closeness."""

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from core.errors.server import EngineUnavailable
from kb_service.embeddings.protocol import Encoder, Vectors
from kb_service.retrieval.fusion import dense_weight
from kb_service.text.tokenizer import is_cjk_dominant, tokenize
from skills.store.summary import SkillCard

CHOSEN_FROM = 0.5
"""From this score on a skill counts as chosen."""

CLOSE_TO_BEST = 0.8
"""The share of the best score that a second skill needs to be chosen beside it."""

# More are ranked in a thread: others must not wait.
_RANKED_AT_ONCE = 50
# A query's words beyond these are pasted material, not the request.
_MOST_TOKENS = 400
# Of a phrase and of the request, how much their shared words count.
_PHRASE_SHARE = 0.75
# A single short word says less than a sentence does.
_NAME_WEIGHT = 0.9
_NOT_FOR_WEIGHT = 0.8
# Half of the pairs of characters in a Chinese sentence join the end of a word with the next word.
_CHANCE_PAIR = 0.35
# Of what lies between the everyday level and 1: where unrelated texts end, and where paraphrases of a request begin.
# Measured with multilingual-e5-small: all requests of the starters find their skills, 1 of 60 others finds one.
_UNRELATED, _CLOSE = 0.2, 0.65
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
class RankedSkill:
    """How well a skill fits: scores from 0 to 1, ``closeness`` only with an encoder.

    ``is_chosen``: it would be used.
    """

    card: SkillCard
    score: float
    lexical: float
    closeness: float | None = None
    is_chosen: bool = False


@dataclass(frozen=True)
class _Phrase:
    words: frozenset[str]
    weight: float


@dataclass(frozen=True)
class _CardPhrases:
    everything: frozenset[str]
    name: _Phrase
    triggers: tuple[_Phrase, ...]
    not_for: tuple[_Phrase, ...]


@dataclass(frozen=True)
class _CardWords:
    everything: frozenset[str]
    name: frozenset[str]
    triggers: tuple[frozenset[str], ...]
    not_for: tuple[frozenset[str], ...]


@dataclass(frozen=True)
class _Closeness:
    """A request's closeness, from 0 to 1, to a skill's uses and to its exclusions."""

    for_use: float
    excluded: float


@dataclass(frozen=True)
class EncodedCards:
    """The cards' texts as vectors, in order; ``excluded`` counts each card's exclusions, which come last."""

    encoder: Encoder
    vectors: Sequence[Vectors]
    excluded: Sequence[int]
    everyday: Vectors


class SkillSelector:
    """Skills ready to be ranked, made by ``prepare_selector``; without ``encoded`` words alone decide."""

    def __init__(self, cards: Sequence[SkillCard], encoded: EncodedCards | None = None) -> None:
        self._cards = tuple(cards)
        split = [_split(card) for card in self._cards]
        self._counts = Counter(word for words in split for word in words.everything)
        self._weights = {word: self._weight_of(word) for word in self._counts}
        self._words = [self._weighed(words) for words in split]
        self._encoded = encoded

    async def rank(self, query: str) -> tuple[RankedSkill, ...]:
        """All skills, the best first; ties by slug, so that the result is deterministic."""
        weight, nearness = 0.0, [None] * len(self._cards)
        if self._encoded is not None and query.strip():
            weight = dense_weight(query, self._encoded.encoder.languages)
        if self._encoded is not None and weight:
            nearness = await _closeness_of_cards(query, self._encoded)
        return await self._ranked_beside(query, nearness, weight)

    async def rank_anyway(self, query: str) -> tuple[RankedSkill, ...]:
        try:
            return await self.rank(query)
        except EngineUnavailable:
            return await self._ranked_beside(query, [None] * len(self._cards), 0.0)

    async def _ranked_beside(
        self, query: str, nearness: Sequence[_Closeness | None], weight: float
    ) -> tuple[RankedSkill, ...]:
        if len(self._cards) <= _RANKED_AT_ONCE:
            return self._ranked(query, nearness, weight)
        return await asyncio.to_thread(self._ranked, query, nearness, weight)

    def _ranked(self, query: str, nearness: Sequence[_Closeness | None], weight: float) -> tuple[RankedSkill, ...]:
        query_phrase = self._phrase_of(frozenset(tokenize(query)[:_MOST_TOKENS]))
        choices = [self._choice(place, query_phrase, near, weight) for place, near in enumerate(nearness)]
        choices.sort(key=lambda choice: (-choice.score, choice.card.slug))
        least = max(CHOSEN_FROM, CLOSE_TO_BEST * choices[0].score) if choices else 1.0
        return tuple(replace(choice, is_chosen=choice.score >= least) for choice in choices)

    def _choice(self, place: int, query_phrase: _Phrase, near: _Closeness | None, weight: float) -> RankedSkill:
        words = self._words[place]
        lexical = self._lexical(words, query_phrase)
        against = max((self._phrase(phrase, query_phrase) for phrase in words.not_for), default=0.0)
        # Closer to what the skill is not for than to what it is for: the closeness speaks against it.
        if near is not None and near.excluded > near.for_use:
            against = max(against, near.excluded)
        # Either kind of evidence suffices, and both together say more than one.
        missing = (1 - lexical) * (1 - min(1.0, weight) * (near.for_use if near else 0.0))
        score = (1 - missing) * (1 - _NOT_FOR_WEIGHT * against**2)
        closeness = near.for_use if near else None
        return RankedSkill(self._cards[place], round(score, 6), round(lexical, 6), closeness)

    def _lexical(self, words: _CardPhrases, query_phrase: _Phrase) -> float:
        return max(
            self._share(query_phrase, words.everything),
            _NAME_WEIGHT * self._phrase(words.name, query_phrase),
            max((self._phrase(phrase, query_phrase) for phrase in words.triggers), default=0.0),
        )

    def _phrase(self, phrase: _Phrase, query_phrase: _Phrase) -> float:
        of_phrase, of_query = (self._share(phrase, query_phrase.words), self._share(query_phrase, phrase.words))
        return _PHRASE_SHARE * of_phrase + (1 - _PHRASE_SHARE) * of_query

    def _share(self, phrase: _Phrase, found_in: frozenset[str]) -> float:
        return self._weight(phrase.words & found_in) / phrase.weight if phrase.weight else 0.0

    def _weighed(self, split: _CardWords) -> _CardPhrases:
        return _CardPhrases(
            everything=split.everything,
            name=self._phrase_of(split.name),
            triggers=tuple(map(self._phrase_of, split.triggers)),
            not_for=tuple(map(self._phrase_of, split.not_for)),
        )

    def _phrase_of(self, words: frozenset[str]) -> _Phrase:
        return _Phrase(words, self._weight(words))

    def _weight(self, words: Iterable[str]) -> float:
        # Sets come in another order in each process, and sums of floats depend on it.
        return math.fsum(self._weights.get(word) or self._weight_of(word) for word in words)

    def _weight_of(self, word: str) -> float:
        count = self._counts[word]
        rarity = math.log(1 + (len(self._cards) + 1) / (count + 0.5))
        return rarity * _CHANCE_PAIR if not count and is_cjk_dominant(word) else rarity


async def prepare_selector(cards: Sequence[SkillCard], encoder: Encoder | None = None) -> SkillSelector:
    """Prepare skills for ranking: split their words and encode their texts once; no encoder: words alone decide."""
    if encoder is None or not cards:
        return SkillSelector(cards)
    texts = [_texts_of(card) for card in cards]
    flat = [text for group in texts for text in group]
    everyday = await encoder.embed_queries(_EVERYDAY)
    vectors = await encoder.embed_passages(flat)
    borders = np.cumsum([len(group) for group in texts])[:-1]
    excluded = [len(card.not_for) for card in cards]
    encoded = EncodedCards(encoder, np.split(vectors, borders), excluded, everyday)
    return SkillSelector(cards, encoded)


async def _closeness_of_cards(query: str, encoded: EncodedCards) -> list[_Closeness | None]:
    vector: Vector = (await encoded.encoder.embed_queries([query]))[0]
    usual = float(np.mean(encoded.everyday @ vector))
    return [
        _Closeness(
            _scale_cosine(float(np.max(texts[: len(texts) - excluded] @ vector)), usual),
            _scale_cosine(float(np.max(texts[-excluded:] @ vector)), usual) if excluded else 0.0,
        )
        for texts, excluded in zip(encoded.vectors, encoded.excluded, strict=True)
    ]


def _texts_of(card: SkillCard) -> list[str]:
    return [f"{card.name}. {card.description}", *card.triggers, *card.not_for]


def _split(card: SkillCard) -> _CardWords:
    name = tokenize(f"{card.name} {card.slug.replace('-', ' ')}")
    triggers = [tokenize(text) for text in card.triggers]
    return _CardWords(
        everything=frozenset([*name, *tokenize(card.description), *chain.from_iterable(triggers)]),
        name=frozenset(name),
        triggers=tuple(map(frozenset, triggers)),
        not_for=tuple(frozenset(tokenize(text)) for text in card.not_for),
    )


def _scale_cosine(cosine: float, usual: float) -> float:
    above = (cosine - usual) / max(1e-6, 1 - usual)
    return round(min(1.0, max(0.0, (above - _UNRELATED) / (_CLOSE - _UNRELATED))), 6)
