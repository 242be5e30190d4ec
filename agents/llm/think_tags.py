"""Parser of reasoning in an answer: ``<think>...</think>`` at its start, or what stands before a lone ``</think>``."""

import re
from dataclasses import dataclass
from typing import Literal

from agents.llm.base import ModelText, ModelThought

_NAMES = ("think", "thinking", "thought")
_OPENINGS = tuple(f"<{name}>" for name in _NAMES)
_CLOSINGS = tuple(f"</{name}>" for name in _NAMES)
_LONGEST = max(map(len, _CLOSINGS))
_LEADING = re.compile(f"<(/?)({'|'.join(_NAMES)})>")
_CLOSING = re.compile("|".join(_CLOSINGS))
_OPENING = re.compile("|".join(_OPENINGS))
_QUOTES = "`'\"“「"
# A text of this length without a closing tag is let go: it must not fill the memory.
_LONGEST_UNDECIDED = 32_768

Pieces = list[ModelText | ModelThought]


@dataclass(slots=True)
class ThoughtHabit:
    """Whether the answers of a model begin within a thought, whose opening tag its template wrote.

    None until a turn has shown it; the text of such a turn is not passed on before its end.
    """

    begins_in_thought: bool | None = False


class ThinkTagParser:
    """Incremental parser of reasoning and answer; holds back only a possible tag.

    The text of a model whose habit is not known is held back as a whole.
    """

    def __init__(self, habit: ThoughtHabit | None = None) -> None:
        self._habit = habit or ThoughtHabit()
        self._begins_in_thought = self._habit.begins_in_thought
        self._state: Literal["start", "thinking", "undecided", "answer"] = "start"
        self._buffer = ""
        self._searched = 0
        self._closing = ""
        self._was_tagged = False
        self._has_thought = False
        # What was passed on as a thought by habit alone.
        self._presumed: list[str] = []

    def feed(self, text: str) -> Pieces:
        if self._state == "answer":
            return [ModelText(text)]
        self._buffer += text
        pieces: Pieces = []
        before = None
        while self._buffer and (self._state, self._buffer) != before:
            before = (self._state, self._buffer)
            pieces += self._step()
        return pieces

    def end_thought(self) -> Pieces:
        """What is held back, now that a call or reasoning in a field of its own shows that no tag will come."""
        if self._state != "undecided":
            return []
        if self._buffer.strip():
            self._habit.begins_in_thought = False
        return self._release()

    def close(self, *, is_cut: bool, has_calls: bool) -> Pieces:
        """The rest; what was a thought by habit alone is the answer where nothing else came."""
        rest, self._buffer = self._buffer, ""
        if self._state == "undecided":
            self._learn(is_cut=is_cut, text=rest)
        if self._state != "thinking":
            return [ModelText(rest)] if rest else []
        pieces: Pieces = [ModelThought(rest)] if rest else []
        if self._was_tagged or is_cut or has_calls:
            return pieces
        self._habit.begins_in_thought = None
        answer = "".join([*self._presumed, rest])
        return [*pieces, ModelText(answer)] if answer.strip() else pieces

    def _learn(self, *, is_cut: bool, text: str) -> None:
        if text.strip() and not is_cut:
            self._habit.begins_in_thought = False

    def _step(self) -> Pieces:
        if self._state == "start":
            self._start()
            return []
        if self._state == "thinking":
            return self._think()
        if self._state == "undecided":
            return self._decide()
        return self._release()

    def _start(self) -> None:
        begun = self._buffer.lstrip()
        if tag := _LEADING.match(begun):
            self._was_tagged = True
            self._buffer = begun[tag.end() :]
            if not tag[1]:
                self._state, self._closing, self._has_thought = "thinking", f"</{tag[2]}>", False
            elif self._begins_in_thought is None:
                self._habit.begins_in_thought = True
        elif not begun or any(mark.startswith(begun) for mark in (*_OPENINGS, *_CLOSINGS)):
            # Leading white space is no answer where reasoning came before it.
            self._buffer = begun if self._was_tagged else self._buffer
        elif self._was_tagged or self._begins_in_thought is False:
            self._state, self._buffer = "answer", begun if self._was_tagged else self._buffer
        else:
            self._state = "thinking" if self._begins_in_thought else "undecided"

    def _think(self) -> Pieces:
        closing = self._find_closing()
        if closing is not None:
            thought, self._buffer = self._buffer[: closing.start()], self._buffer[closing.end() :]
            self._state, self._was_tagged = "start", True
        else:
            certain = len(self._buffer) - _possible_tag_length(self._buffer)
            # A quotation mark in front of a tag says that it is none.
            certain -= not self._closing and self._buffer[:certain].endswith(tuple(_QUOTES))
            thought, self._buffer = self._buffer[:certain], self._buffer[certain:]
        if not self._has_thought:
            thought = thought.lstrip()
        if not thought:
            return []
        self._has_thought = True
        if not self._was_tagged:
            self._presumed.append(thought)
        return [ModelThought(thought)]

    def _find_closing(self) -> re.Match[str] | None:
        if self._closing:
            return re.search(re.escape(self._closing), self._buffer)
        return next((tag for tag in _CLOSING.finditer(self._buffer) if not _is_quoted(tag)), None)

    def _decide(self) -> Pieces:
        start = max(0, self._searched - _LONGEST)
        self._searched = len(self._buffer)
        for tag in _CLOSING.finditer(self._buffer, start):
            before = self._buffer[: tag.start()]
            if _is_quoted(tag) or _OPENING.search(before) or _is_in_code(before):
                continue
            self._habit.begins_in_thought = True
            self._state, self._was_tagged = "start", True
            self._buffer = self._buffer[tag.end() :]
            return [ModelThought(before.lstrip())] if before.strip() else []
        return self._release() if len(self._buffer) > _LONGEST_UNDECIDED else []

    def _release(self) -> Pieces:
        text, self._buffer, self._state = self._buffer, "", "answer"
        return [ModelText(text)]


def _is_quoted(tag: re.Match[str]) -> bool:
    return tag.string[max(0, tag.start() - 1) : tag.start()] in tuple(_QUOTES)


def _is_in_code(before: str) -> bool:
    """Whether a place stands in a block of code or in code within its line, by what stands before it."""
    is_in_block = before.count("```") % 2 == 1
    return is_in_block or before.rpartition("\n")[2].count("`") % 2 == 1


def _possible_tag_length(text: str) -> int:
    return max(partial_mark_length(text, mark) for mark in _CLOSINGS)


def partial_mark_length(text: str, mark: str) -> int:
    """Length of the longest end of a text that may be the start of a mark."""
    longest = min(len(text), len(mark) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(mark[:n])), 0)
