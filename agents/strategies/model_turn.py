"""One turn of a model, streamed out as events while it is read."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from uuid import uuid4

from pydantic import JsonValue, TypeAdapter

from agents.events import (
    RunEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
    ToolCallArgs,
    ToolCallEnded,
    ToolCallStarted,
)
from agents.llm.base import (
    FinishReason,
    Message,
    ModelEnd,
    ModelEvent,
    ModelReasoningBlock,
    ModelText,
    ModelThought,
    ModelToolCall,
    ModelUsage,
    ToolCall,
)


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model said.

    Attributes:
        message_id: Id of the assistant message; its text is still open if there are no calls.
        calls: Complete calls under ids of our own: providers repeat theirs in every turn.
        reasoning_blocks: What goes back to the provider with the calls, as it came.
    """

    message_id: str
    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    finish_reason: FinishReason
    reasoning_blocks: tuple[dict[str, JsonValue], ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether the output limit cut it: the last call's arguments can't be trusted."""
        return self.finish_reason == "length"

    def to_json(self) -> dict[str, JsonValue]:
        """The turn as it is written down."""
        calls: list[JsonValue] = [asdict(call) for call in self.calls]
        return {
            "message_id": self.message_id,
            "text": self.text,
            "reasoning": self.reasoning,
            "calls": calls,
            "finish_reason": self.finish_reason,
            "reasoning_blocks": list[JsonValue](self.reasoning_blocks),
        }

    @classmethod
    def from_json(cls, data: JsonValue) -> "Turn":
        """The turn that was written down.

        Raises:
            pydantic.ValidationError: it was written by another version.
        """
        return _TURNS.validate_python(data)

    @property
    def message(self) -> Message:
        """The turn as a message of the conversation."""
        return Message(
            "assistant",
            self.text,
            self.calls,
            reasoning=self.reasoning,
            reasoning_blocks=self.reasoning_blocks,
        )


_TURNS = TypeAdapter(Turn)
# About right for English; Chinese has fewer to a token, so its bound comes later.
_CHARACTERS_PER_TOKEN = 4
# The name and the id of a call, which count though it may have no arguments.
_CALL_CHARACTERS = 60


class TurnTooLong(Exception):
    """The model said more in one turn than it may.

    Attributes:
        tokens: An estimate of what it said, which its endpoint will not count any more.
    """

    def __init__(self, tokens: int) -> None:
        super().__init__("the turn is too long")
        self.tokens = tokens


async def stream_turn(
    events: AsyncGenerator[ModelEvent, None],
    *,
    takes_calls: bool,
    emit: Callable[[RunEvent], None],
    spend: Callable[[ModelUsage], None],
    most_tokens: int,
) -> Turn:
    """Stream one turn to its end.

    Args:
        events: What the model says; closed at the end.
        takes_calls: Whether tools were offered; calls are ignored otherwise.
        emit: Hears it as it speaks.
        spend: Is told its tokens.
        most_tokens: Of its thoughts, text and calls together; not every model comes to an end.

    Raises:
        ModelFailed: The model broke off; what is open stays open for the channel to close.
        TurnTooLong: It went on for longer than it may; what is open stays open too.
    """
    stream = _TurnStream(emit, takes_calls=takes_calls)
    characters = 0
    finish_reason: FinishReason = "stop"
    async with aclosing(events):
        async for event in events:
            match event:
                case ModelUsage():
                    spend(event)
                case ModelEnd(reason):
                    finish_reason = reason
                case _:
                    stream.add(event)
                    characters += _length(event)
                    if characters > most_tokens * _CHARACTERS_PER_TOKEN:
                        raise TurnTooLong(characters // _CHARACTERS_PER_TOKEN)
    return stream.end(finish_reason)


def _length(event: ModelText | ModelThought | ModelReasoningBlock | ModelToolCall) -> int:
    match event:
        case ModelToolCall():
            return len(event.arguments_delta) + (_CALL_CHARACTERS if event.opens else 0)
        case ModelReasoningBlock(block):
            return len(str(block))
        case _:
            return len(event.delta)


class _TurnStream:
    """Opens and closes the thought, the text and the calls of a turn."""

    def __init__(self, emit: Callable[[RunEvent], None], *, takes_calls: bool) -> None:
        self._emit = emit
        self._takes_calls = takes_calls
        self._message_id = str(uuid4())
        self._thought_id = ""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[str, _Call] = {}
        self._blocks: list[dict[str, JsonValue]] = []

    def add(self, event: ModelText | ModelThought | ModelReasoningBlock | ModelToolCall) -> None:
        """Pass on one delta."""
        match event:
            case ModelThought(delta):
                self._add_thought(delta)
            case ModelText(delta):
                self._add_text(delta)
            case ModelReasoningBlock(block):
                self._blocks.append(block)
            case ModelToolCall():
                if self._takes_calls:
                    self._add_call(event)

    def _add_thought(self, delta: str) -> None:
        if not self._thought_id:
            self._thought_id = str(uuid4())
            self._emit(ThoughtStarted(self._thought_id))
        self._reasoning.append(delta)
        self._emit(ThoughtDelta(self._thought_id, delta))

    def _add_text(self, delta: str) -> None:
        self._end_thought()
        if not self._text:
            self._emit(TextStarted(self._message_id))
        self._text.append(delta)
        self._emit(TextDelta(self._message_id, delta))

    def _add_call(self, event: ModelToolCall) -> None:
        self._end_thought()
        call = self._calls.get(event.call_id)
        if call is None:
            call = self._calls[event.call_id] = _Call(f"call_{uuid4().hex}", event.name)
            self._emit(ToolCallStarted(call.id, call.name, self._message_id))
        call.signature = call.signature or event.signature
        if event.arguments_delta:
            call.arguments.append(event.arguments_delta)
            self._emit(ToolCallArgs(call.id, event.arguments_delta))

    def _end_thought(self) -> None:
        if self._thought_id:
            self._emit(ThoughtEnded(self._thought_id))
            self._thought_id = ""

    def end(self, finish_reason: FinishReason) -> Turn:
        """Close what is open, but leave a text without calls for the citation check."""
        self._end_thought()
        if self._calls and self._text:
            self._emit(TextEnded(self._message_id))
        for call in self._calls.values():
            self._emit(ToolCallEnded(call.id))
        calls = tuple(
            ToolCall(c.id, c.name, "".join(c.arguments), c.signature) for c in self._calls.values()
        )
        return Turn(
            self._message_id,
            "".join(self._text),
            "".join(self._reasoning),
            calls,
            finish_reason,
            tuple(self._blocks) if calls else (),
        )
