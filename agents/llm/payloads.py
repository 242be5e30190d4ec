"""What readers of every protocol share: one payload after the other, up to the end or a bad one."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace

from pydantic import JsonValue

from agents.llm.base import (
    FinishReason,
    ModelEvent,
    ModelText,
    ModelThought,
    ModelToolCall,
    TokenUsage,
)
from agents.llm.errors import ModelFault, classify_error, model_failed
from core.errors.server import ModelFailed
from core.json_access import as_object, parse

_VAGUE = (ModelFault.SERVER_ERROR, ModelFault.REFUSED, ModelFault.UNKNOWN_PATH)


class PayloadReader(ABC):
    """Reads the stream of one turn; a protocol adds what one JSON object means.

    Attributes:
        finish_reason: Set once the endpoint said how the turn ended.
        usage: As the endpoint counted it, if it did.
        has_calls: Whether there was a tool call.
        failure: Why reading stopped before the end.
    """

    def __init__(self) -> None:
        self.finish_reason: FinishReason | None = None
        self.is_done = False
        self.usage: TokenUsage | None = None
        self.has_calls = False
        self.failure: ModelFailed | None = None

    def read_all(self, payloads: Iterable[str]) -> list[ModelEvent]:
        """The events of some ``data`` payloads, up to the end or a bad one (``failure``)."""
        events: list[ModelEvent] = []
        for payload in payloads:
            try:
                events += self._read(payload)
            except ModelFailed as failure:
                self.failure = failure
            if self.is_done or self.failure is not None:
                break
        return merge_deltas(events)

    def close(self) -> list[ModelEvent]:
        """What was held back until it was certain that no more comes."""
        return []

    def _read(self, payload: str) -> Iterable[ModelEvent]:
        try:
            chunk = as_object(parse(payload))
        except ValueError as error:
            raise model_failed(ModelFault.NOT_JSON) from error
        return self._read_object(chunk)

    @abstractmethod
    def _read_object(self, chunk: dict[str, JsonValue]) -> Iterable[ModelEvent]:
        """The events of one object."""


def stream_error(status: int, text: str) -> ModelFailed:
    """The failure that an error object in the stream stands for."""
    fault = classify_error(status, text)
    return model_failed(ModelFault.ERROR_IN_STREAM if fault in _VAGUE else fault, status)


def merge_deltas(events: Iterable[ModelEvent]) -> list[ModelEvent]:
    """Join neighbours of one kind, so that one network read gives few events."""
    joined: list[ModelEvent] = []
    # What is to be added to the last of them.
    more: list[str] = []
    for event in events:
        piece = _continues(joined[-1], event) if joined else None
        if piece is None:
            _extend(joined, more)
            joined.append(event)
        else:
            more.append(piece)
    _extend(joined, more)
    return joined


def _continues(last: ModelEvent, event: ModelEvent) -> str | None:
    """The text by which an event goes on with the one before it, if it does."""
    match last, event:
        case (ModelText(), ModelText(delta)) | (ModelThought(), ModelThought(delta)):
            return delta
        case ModelToolCall(), ModelToolCall(opens=False) if last.call_id == event.call_id:
            return event.arguments_delta
        case _:
            return None


def _extend(joined: list[ModelEvent], more: list[str]) -> None:
    if not more:
        return
    match joined[-1]:
        case ModelText(delta) | ModelThought(delta):
            joined[-1] = replace(joined[-1], delta="".join((delta, *more)))
        case ModelToolCall(arguments_delta=delta):
            joined[-1] = replace(joined[-1], arguments_delta="".join((delta, *more)))
        case _:
            pass
    more.clear()
