"""Terms below the word: overlapping runs of characters (n-grams), and words without their particles.

They stand beside the words of a text, so that an inflected word, a part of a compound, or a word in a line without
blanks is found: four letters in alphabets, two characters in scripts whose characters are syllables or words. Only two
scripts need more, because what they write together with a word stands in front of it: Arabic and Hebrew.
"""

# Neither snowballstemmer nor regex has complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

import regex
import snowballstemmer

# The beginning of terms that no tokenizer of words gives.
_MARK = "gram:"
# Letters of an n-gram; with five fewer words meet, in all languages measured (decision 82).
_GRAM = 4
# Shorter words differ from their other forms, if at all, behind the first four letters.
_SHORTEST_IN_GRAMS = 7
# Of letters without a blank: base64, say.
_LONGEST_WORD = 40
_SHORTEST_HEBREW = 3
_HEBREW_PREFIXES = "משהוכלב"
# Snowball strips these conjunctions from all words but those with an article.
_ARABIC_CONJUNCTION = re.compile("^[وف](?=ال)")
_ACCENTED = re.compile("[\u00aa-\u052f\u1e00-\u1fff]")
_DIGIT = re.compile(r"\d")
_CLUSTER = regex.compile(r"\X")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
# Of the characters of a Japanese text about half are kana, in a Chinese one some names.
_JAPANESE_SHARE = 0.1

_WITHOUT_BLANKS = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_NO_ALPHABET = rf"\p{{Latin}}\p{{Han}}\p{{Hiragana}}\p{{Katakana}}\p{{Hangul}}{_WITHOUT_BLANKS}"
_RUNS = regex.compile(
    "|".join(
        [
            # With digits, because with these it is no word of a language: GPT4, B2B.
            r"(?<Latin>\p{Latin}[\p{Latin}\p{M}\d]*)",
            r"(?<CJK>[\p{Han}\p{Hiragana}\p{Katakana}ー]+)",
            r"(?<Hangul>\p{Hangul}+)",
            # A blank without width shows where a line may break.
            rf"(?<Unspaced>[[[{_WITHOUT_BLANKS}]&&[\p{{L}}\p{{M}}]]\u200b]+)",
            r"(?<Hebrew>[\p{Hebrew}&&\p{L}][[\p{Hebrew}&&\p{L}]\p{M}]*)",
            # With the line that stretches a word, and the sign that parts letters within one.
            r"(?<Arabic>[\p{Arabic}&&\p{L}][[\p{Arabic}&&\p{L}]\p{M}\u0640\u200c]*)",
            rf"(?<Alphabet>[\p{{L}}--[{_NO_ALPHABET}]][[\p{{L}}\p{{M}}]--[{_NO_ALPHABET}]]*)",
        ]
    ),
    regex.V1,
)
# What is neither Latin nor a Chinese character nor a sign; a quick look that spares most texts the search for runs.
_OTHER_SCRIPT = re.compile(
    "[^\x00-\u036f\u1e00-\u1eff\u2000-\u206f\u20a0-\u2bff\u3000-\u303f\u3400-\u9fff\uff00-\uff65]"
)
_LATIN_WORD = re.compile("[a-z\u00df-\u024f\u0300-\u036f\u1e00-\u1eff]+")


class ScriptRun(NamedTuple):
    """A word, or in scripts without blanks a line of words, of one script: its place, and its letters in lower case."""

    script: str
    start: int
    end: int
    text: str


class Subwords(NamedTuple):
    """Terms of a run, parted by blanks: those that stand for the whole of it, and the others."""

    whole: str
    rest: str


def script_runs(text: str) -> list[ScriptRun]:
    """The runs of letters of a text in NFKC, without those that are no words."""
    words: list[ScriptRun] = []
    # The only letter that would be two in lower case, and shift the places.
    for match in _RUNS.finditer(text.replace("İ", "i").lower()):
        letters, script = match.group(), str(match.lastgroup)
        if script in ("CJK", "Hangul", "Unspaced") or (len(letters) <= _LONGEST_WORD and not _has_digit(letters)):
            start, end = match.span()
            words.append(ScriptRun(script, start, end, letters))
    return words


def latin_words(text: str) -> list[str] | None:
    """The Latin words, in lower case, of a text in Latin or Chinese script, quicker than its runs; None for others."""
    if _OTHER_SCRIPT.search(text) is not None:
        return None
    return _LATIN_WORD.findall(text.lower())


def is_japanese(cjk: Iterable[ScriptRun]) -> bool:
    """Whether runs of Chinese characters and kana are Japanese."""
    text = "".join(run.text for run in cjk)
    return len(_KANA.findall(text)) > _JAPANESE_SHARE * len(text)


def subwords(run: ScriptRun) -> Subwords:
    """The terms of a run, the same in passages and questions."""
    if run.script in ("CJK", "Hangul", "Unspaced"):
        return Subwords(_pairs(run), "")
    if run.script == "Hebrew":
        return Subwords(_without_prefixes(run.text), "")
    if run.script == "Arabic":
        return _grams(_arabic_stem(_ARABIC_CONJUNCTION.sub("", run.text)))
    return _grams(run.text)


def _has_digit(letters: str) -> bool:
    return not letters.isalpha() and _DIGIT.search(letters) is not None


def _pairs(run: ScriptRun) -> str:
    clusters: Sequence[str] = _CLUSTER.findall(run.text.replace("\u200b", "")) if run.script == "Unspaced" else run.text
    pairs = [f"{_MARK}{first}{second}" for first, second in pairwise(clusters)]
    if len(clusters) == 1 or run.script == "Hangul":
        # A Korean noun may be a single character before its particle.
        pairs.append(f"{_MARK}{clusters[0]}")
    return " ".join(pairs)


@lru_cache(maxsize=1 << 15)
def _grams(word: str) -> Subwords:
    """The first letters of a word, which for most questions say which it is, and the other n-grams of a long one."""
    plain = _unaccented(word)
    first = plain[:_GRAM]
    others: set[str] = set()
    if len(plain) >= _SHORTEST_IN_GRAMS:
        others = {plain[place : place + _GRAM] for place in range(1, len(plain) - _GRAM + 1)} - {first}
    elif len(plain) == _GRAM:
        # Its last letter may be an ending.
        others = {plain[:-1]}
    return Subwords(f"{_MARK}{first}", " ".join(f"{_MARK}{gram}" for gram in sorted(others)))


def _without_prefixes(word: str) -> str:
    """A Hebrew word, and what is left of it without letters that may be particles written together with it."""
    forms = [_without_marks(word)]
    while len(forms[-1]) > _SHORTEST_HEBREW and forms[-1][0] in _HEBREW_PREFIXES:
        forms.append(forms[-1][1:])
    return " ".join(f"{_MARK}{form}" for form in forms)


def _unaccented(word: str) -> str:
    """A word as who leaves out its accents writes it; in scripts behind these, marks are vowels."""
    return _without_marks(word.casefold()) if _ACCENTED.search(word) else word


def _without_marks(word: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFD", word) if unicodedata.category(sign) != "Mn")


_arabic = snowballstemmer.stemmer("arabic")
# The stemmer keeps the word it works on in its own state.
_lock = Lock()


@lru_cache(maxsize=1 << 15)
def _arabic_stem(word: str) -> str:
    with _lock:
        return str(_arabic.stemWord(word))
