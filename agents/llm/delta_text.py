"""Text of streamed deltas: halves of characters joined or replaced, blank beginnings left out."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace

from pydantic import JsonValue

from agents.llm.base import ModelEvent, ModelReasoningBlock, ModelText, ModelThought, ModelToolCall
from core.json_access import parse

_HALF = re.compile("[\ud800-\udfff]")
_HALF_ESCAPE = re.compile(r"\\u[dD][89abAB]|[\ud800-\udfff]|\\u[dD][c-fC-F]")
# Whole pairs and other escapes first, so that only a half on its own is left to the groups.
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)

_Delta = ModelText | ModelThought | ModelToolCall


def parse_chunk(payload: str) -> JsonValue:
    """The JSON value of one chunk, whose strings may have halves of characters; raises ``ValueError``."""
    try:
        return parse(payload)
    except ValueError:
        if not _HALF_ESCAPE.search(payload):
            raise
    try:
        return json.loads(payload)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def whole_characters(text: str) -> str:
    """The text with the halves of a character joined, and replaced where the other half is missing."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_escapes(text: str) -> str:
    """A JSON text in which escaped halves of characters are replaced."""
    text = whole_characters(text)
    if "\\" not in text:
        return text
    return _ESCAPES.sub(lambda match: r"\ufffd" if match[1] else match[0], text)


class DeltaCleaner:
    """Holds back half a character for its other half, and a blank beginning for what follows: alone it is nothing."""

    def __init__(self) -> None:
        self._pending: _Delta | None = None
        self._blanks: dict[type[ModelEvent], str] = {ModelText: "", ModelThought: ""}

    def feed(self, events: Iterable[ModelEvent]) -> list[ModelEvent]:
        cleaned: list[ModelEvent] = []
        for event in events:
            match event:
                case ModelText() | ModelThought() | ModelToolCall():
                    cleaned += self._clean(event)
                case ModelReasoningBlock(block):
                    cleaned.append(ModelReasoningBlock(_whole_block(block)))
                case _:
                    cleaned.append(event)
        return cleaned

    def close(self) -> list[ModelEvent]:
        pending, self._pending = self._pending, None
        return self._pass_on(pending) if pending else []

    def _clean(self, event: _Delta) -> list[ModelEvent]:
        before: list[ModelEvent] = []
        if self._pending is not None:
            if _stream(self._pending) == _stream(event):
                event = _with_text(self._pending, _text(self._pending) + _text(event))
                self._pending = None
            else:
                before = self.close()
        text = _text(event)
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._pending = event
            return before
        return before + self._pass_on(event)

    def _pass_on(self, event: _Delta) -> list[ModelEvent]:
        text = whole_characters(_text(event))
        blank = self._blanks.get(type(event))
        if blank is not None:
            text = blank + text
            if not text.strip():
                self._blanks[type(event)] = text
                return []
            del self._blanks[type(event)]
        return [event if text == _text(event) else _with_text(event, text)]


def _stream(event: _Delta) -> tuple[type[ModelEvent], str]:
    return type(event), event.call_id if isinstance(event, ModelToolCall) else ""


def _text(event: _Delta) -> str:
    return event.arguments_delta if isinstance(event, ModelToolCall) else event.delta


def _with_text(event: _Delta, text: str) -> _Delta:
    if isinstance(event, ModelToolCall):
        return replace(event, arguments_delta=text)
    return replace(event, delta=text)


def _whole_block(block: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: whole_characters(value) if isinstance(value, str) else value for name, value in block.items()}
