"""Parser of reasoning in an answer: ``<think>...</think>`` at its start."""

from typing import Literal

from agents.llm.base import ModelText, ModelThought

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkTagParser:
    """Incremental parser of reasoning and answer; holds back only a possible tag."""

    def __init__(self) -> None:
        self._state: Literal["start", "thinking", "after", "answer"] = "start"
        self._held = ""

    def feed(self, text: str) -> list[ModelText | ModelThought]:
        if self._state == "answer":
            return [ModelText(text)]
        self._held += text
        events: list[ModelText | ModelThought] = []
        if self._state == "start":
            self._start()
        if self._state == "thinking":
            events += self._think()
        if self._state == "after":
            self._held = self._held.lstrip()
            self._state = "answer" if self._held else "after"
        if self._state == "answer" and self._held:
            events.append(ModelText(self._held))
            self._held = ""
        return events

    def close(self) -> list[ModelText | ModelThought]:
        rest, self._held = self._held, ""
        if not rest:
            return []
        return [ModelThought(rest) if self._state == "thinking" else ModelText(rest)]

    def _start(self) -> None:
        begun = self._held.lstrip()
        if begun.startswith(_OPEN):
            self._held = begun.removeprefix(_OPEN)
            self._state = "thinking"
        elif not _OPEN.startswith(begun):
            self._state = "answer"

    def _think(self) -> list[ModelText | ModelThought]:
        thought, closed, rest = self._held.partition(_CLOSE)
        if closed:
            self._held, self._state = rest, "after"
        else:
            withheld = partial_mark_length(thought, _CLOSE)
            thought, self._held = (thought[: len(thought) - withheld], thought[len(thought) - withheld :])
        return [ModelThought(thought)] if thought else []


def partial_mark_length(text: str, mark: str) -> int:
    """Length of the longest end of a text that may be the start of a mark."""
    longest = min(len(text), len(mark) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(mark[:n])), 0)
