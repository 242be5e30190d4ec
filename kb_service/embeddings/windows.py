"""Cuts a text that is longer than a model's window into equal pieces, at borders of words."""

import math
from collections.abc import Sequence

from kb_service.text.token_counter import TokenCounter, Word, characters

# Bounds the work one absurd text can cause; splitters stay far below.
MAX_PIECES = 16
# A foreign tokenizer's counts are an estimate.
_MARGIN = 0.75


def room_for_text(window_tokens: int, prefix: str, counter: TokenCounter) -> int:
    """Tokens of text that fit a window beside two special tokens and a prefix, with a margin."""
    return max(8, int((window_tokens - 2) * _MARGIN) - counter.count(prefix))


def equal_pieces(text: str, room: int, counter: TokenCounter) -> list[str]:
    """A text in as few pieces of about equal size as fit ``room`` tokens each; at least one.

    Args:
        text: any text; beyond ``MAX_PIECES`` pieces it is left out.
        room: most tokens of a piece.
        counter: counts them.
    """
    words = [
        part
        for window in counter.windows(text)
        for word in window
        for part in _fine(text, word, room)
    ]
    total = sum(word.tokens for word in words)
    if total <= room:
        return [text]
    words = _first(words, room * MAX_PIECES)
    total = sum(word.tokens for word in words)
    size = math.ceil(total / math.ceil(total / room))
    pieces: list[list[Word]] = [[]]
    filled = 0
    for word in words:
        if pieces[-1] and filled + word.tokens > min(room, max(size, word.tokens)):
            pieces.append([])
            filled = 0
        pieces[-1].append(word)
        filled += word.tokens
    return [text[piece[0].start : piece[-1].end] for piece in pieces]


def first_piece(text: str, room: int, counter: TokenCounter) -> str:
    """The beginning of a text that fits ``room`` tokens."""
    words = [
        part
        for window in counter.windows(text)
        for word in window
        for part in _fine(text, word, room)
    ]
    kept = _first(words, room)
    return text if len(kept) == len(words) else text[: kept[-1].end] if kept else ""


def _fine(text: str, word: Word, room: int) -> Sequence[Word]:
    return [word] if word.tokens <= room else list(characters(text, word))


def _first(words: Sequence[Word], tokens: int) -> list[Word]:
    kept: list[Word] = []
    left = tokens
    for word in words:
        left -= word.tokens
        if left < 0:
            break
        kept.append(word)
    return kept
