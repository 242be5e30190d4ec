"""How a turn of the model is heard: as the answer, as a thought, or not at all."""

from collections.abc import Callable
from typing import Literal
from uuid import uuid4

from agents.events import (
    RunEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from agents.strategies.event_channel import OpenEntities

Voice = Literal["answer", "thought", "silent", "unheard"]
"""``answer`` shows the text as the assistant's message, ``thought`` as reasoning, ``silent`` drops
it, for turns whose text is data. Reasoning and tool calls are shown in each of these; of an
``unheard`` turn nothing is shown."""


class TurnVoice:
    """Passes on the events of one turn; what was left open can be closed.

    Attributes:
        message_id: Of the text that was begun, as the reader knows it.
    """

    def __init__(self, emit: Callable[[RunEvent], None], voice: Voice) -> None:
        self.message_id = ""
        self._pieces: list[str] = []
        self._emit = emit
        self._voice: Voice = voice
        self._open = OpenEntities()

    @property
    def text(self) -> str:
        """All text so far."""
        return "".join(self._pieces)

    def __call__(self, event: RunEvent) -> None:
        """Pass on an event as the voice wants it."""
        match event:
            case TextStarted(message_id):
                # A thought must not have the id of the message that its tool calls belong to.
                self.message_id = message_id if self._voice == "answer" else str(uuid4())
            case TextDelta():
                self._pieces.append(event.delta)
            case _:
                pass
        heard = self._heard(event)
        if heard is not None:
            self._open.observe(heard)
            self._emit(heard)

    def _heard(self, event: RunEvent) -> RunEvent | None:
        if self._voice == "unheard":
            return None
        if self._voice == "answer" or not isinstance(event, TextStarted | TextDelta | TextEnded):
            return event
        if self._voice == "silent":
            return None
        match event:
            case TextStarted():
                return ThoughtStarted(self.message_id)
            case TextDelta():
                return ThoughtDelta(self.message_id, event.delta)
            case TextEnded():
                return ThoughtEnded(self.message_id)

    def end(self, *, has_calls: bool) -> None:
        """After a whole turn: end the thought that its text was; an answer stays open."""
        if self._voice == "thought" and self.text and not has_calls:
            self(TextEnded(self.message_id))

    def cut(self) -> bool:
        """After a turn that was cut off: close what is open, but an answer that was begun.

        Returns:
            Whether such an answer is open.
        """
        closing = self._open.closing("budget")
        is_answer = self._voice == "answer" and [type(event) for event in closing] == [TextEnded]
        if is_answer:
            return True
        for event in closing:
            self._emit(event)
        return False
