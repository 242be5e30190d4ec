"""Words parted at the ends of lines: put together where the whole is a word, with their hyphen where it belongs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MARKS = ("\x02", "\ufffe", "\xad")
"""What PDFium makes of a hyphen at the end of a line, and the soft hyphen."""
_SOFT = "\xad"
_PARTED = re.compile(r"([^\W_]+)[-\u2010\x02\ufffe\xad]$")
# "state-of-the-", "up-to-": what goes on is a compound.
_INNER = re.compile(r"[-\u2010](?:to|the|of|in|and|by|a|on|for)[-\u2010\x02\ufffe]$", re.IGNORECASE)
_END = 80
_FIRST = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[^\W_]+(?:[-\u2010][^\W_]+)*")
# After these the hyphen stands for the end of a later word: "pre- and post-war".
_SUSPENDING = frozenset({"and", "or", "und", "oder", "bis", "sowie"})
_COMPOUND_HEADS = frozenset({"well", "self", "ill", "high", "low", "long", "short", "half", "cross", "double"})
_PREFIXES = frozenset(
    {"anti", "counter", "every", "fore", "hand", "inter", "intra", "micro", "multi", "over", "semi", "some", "super",
     "there", "trans", "ultra", "under", "where", "with"}
)  # fmt: skip
_LEAST_HALF = 4


@dataclass(frozen=True, slots=True)
class DocumentWords:
    """The words of a document, those with hyphens too, without those that are parted."""

    words: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "DocumentWords":
        """The words of lines in reading order; none if no word is parted, as nothing is looked up then."""
        lines = list(texts)
        if not any(_PARTED.search(text[-_END:]) for text in lines):
            return cls(frozenset())
        words: set[str] = set()
        is_parted = False
        for text in lines:
            tokens = _WORD.findall(text.lower())
            begin = 1 if is_parted else 0
            is_parted = _PARTED.search(text[-_END:]) is not None
            words.update(tokens[begin : len(tokens) - 1 if is_parted else None])
        return cls(frozenset(words))

    def joined(self, text: str, following: str) -> str | None:
        """A line's text as its last word goes on in the following line; None if no word is parted."""
        parted = _PARTED.search(text[-_END:])
        if parted is None:
            return text[:-1] if text.endswith(MARKS) else None
        bare, rest = text[:-1], _FIRST.match(following)
        if text.endswith(_SOFT):
            return bare
        if rest is None:
            # The other half is missing: a mark would vanish.
            return f"{bare}-" if text.endswith(MARKS) else None
        if rest[0].lower() in _SUSPENDING:
            return f"{bare}- "
        if "://" in text.rpartition(" ")[2] or _INNER.search(text[-_END:]):
            return f"{bare}-"
        return f"{bare}-" if self._is_compound(parted[1], rest[0]) else bare

    def _is_compound(self, head: str, tail: str) -> bool:
        # "Anglo-Saxon", "COVID-Pandemie"; within words all in capitals they say nothing.
        is_capital = tail[0].isupper() and (head[-1].islower() or tail[1:2].islower())
        if is_capital or tail[0].isdigit() or head[-1].isdigit():
            return True
        head, tail = head.lower(), tail.lower()
        if head + tail in self.words:
            return False
        if f"{head}-{tail}" in self.words:
            return True
        if min(len(head), len(tail)) >= _LEAST_HALF and head not in _PREFIXES and {head, tail} <= self.words:
            return True
        return head in _COMPOUND_HEADS and len(tail) >= _LEAST_HALF
