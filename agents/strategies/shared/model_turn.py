"""One turn of a model, streamed out as events while it is read."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from typing import Literal
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
from agents.journal import Effect
from agents.llm.base import (
    FinishReason,
    ModelEnd,
    ModelEvent,
    ModelMessage,
    ModelReasoningBlock,
    ModelText,
    ModelThought,
    ModelToolCall,
    TokenUsage,
    ToolCall,
    ToolSpec,
    ToolsRefused,
)
from agents.llm.delta_text import whole_escapes
from agents.llm.tool_arguments import canonical_arguments
from agents.strategies.shared.base import Strategy
from agents.strategies.shared.budget import Budget, EndedBy
from agents.strategies.shared.event_channel import OpenEntities


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])
    signature: str = ""
    # None until their first character says whether they are an object.
    streams: bool | None = None

    def add(self, delta: str) -> str:
        """Take more arguments; returns what may be shown at once: those that begin an object."""
        self.arguments.append(delta)
        if self.streams is None and delta.strip():
            self.streams = delta.lstrip().startswith("{")
            return self.text if self.streams else ""
        return delta if self.streams else ""

    @property
    def text(self) -> str:
        return "".join(self.arguments)


@dataclass(frozen=True, slots=True)
class Turn:
    """A finished turn of the model.

    Attributes:
        message_id: Id of the assistant message; its text is still open if there are no calls.
        calls: Complete calls under our own ids: providers repeat theirs in every turn.
        reasoning_blocks: Sent back to the provider with the calls, unchanged.
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
        """The recorded turn; raises ``pydantic.ValidationError`` for another version's."""
        return _TURNS.validate_python(data)

    @property
    def message(self) -> ModelMessage:
        return ModelMessage(
            "assistant", self.text, self.calls, reasoning=self.reasoning, reasoning_blocks=self.reasoning_blocks
        )


_TURNS = TypeAdapter(Turn)
# About right for English; Chinese has fewer to a token, so its bound comes later.
_CHARACTERS_PER_TOKEN = 4
# Name and id of a call, which may have no arguments.
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
    spend: Callable[[TokenUsage], None],
    most_tokens: int,
) -> Turn:
    """Stream one turn to its end; ``events`` is closed then, and calls are ignored unless ``takes_calls``.

    Raises:
        TurnTooLong: More than ``most_tokens`` of thoughts, text and calls: not every model comes to an
            end. What is open stays open.
    """
    stream = _TurnStream(emit, takes_calls=takes_calls)
    characters = 0
    finish_reason: FinishReason = "stop"
    async with aclosing(events):
        async for event in events:
            match event:
                case TokenUsage():
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
        if event.arguments_delta and (delta := call.add(event.arguments_delta)):
            self._emit(ToolCallArgs(call.id, delta))

    def _end_thought(self) -> None:
        if self._thought_id:
            self._emit(ThoughtEnded(self._thought_id))
            self._thought_id = ""

    def end(self, finish_reason: FinishReason) -> Turn:
        """Close what is open, but leave a text without calls for the citation check."""
        self._end_thought()
        if self._calls and self._text:
            self._emit(TextEnded(self._message_id))
        calls = tuple(
            ToolCall(c.id, c.name, canonical_arguments(whole_escapes(c.text)), c.signature)
            for c in self._calls.values()
        )
        for begun, call in zip(self._calls.values(), calls, strict=True):
            if not begun.streams:
                # What was no object at its beginning is shown as it is run.
                self._emit(ToolCallArgs(call.id, call.arguments))
            self._emit(ToolCallEnded(call.id))
        return Turn(
            self._message_id,
            "".join(self._text),
            "".join(self._reasoning),
            calls,
            finish_reason,
            tuple(self._blocks) if calls else (),
        )


Voice = Literal["answer", "thought", "silent", "unheard"]
"""``answer`` shows the text as the assistant's message, ``thought`` as reasoning, ``silent`` drops
it, for turns whose text is data. Reasoning and tool calls are shown in each of these; of an
``unheard`` turn nothing is shown."""


class TurnOutput:
    """Passes on the events of one turn; what was left open can be closed."""

    def __init__(
        self, emit: Callable[[RunEvent], None], voice: Voice, label: Callable[[str], str] = lambda name: name
    ) -> None:
        self.message_id = ""
        self._pieces: list[str] = []
        self._emit = emit
        self._label = label
        self._voice: Voice = voice
        self._open = OpenEntities()

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def __call__(self, event: RunEvent) -> None:
        """Pass on an event according to the voice."""
        match event:
            case TextStarted(message_id):
                # A thought must not have the id of the message that its tool calls belong to.
                self.message_id = message_id if self._voice == "answer" else str(uuid4())
            case TextDelta():
                self._pieces.append(event.delta)
            case ToolCallStarted():
                event = replace(event, name=self._label(event.name))
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
        """End a complete turn: close a text shown as thought, leave an answer open."""
        if self._voice == "thought" and self.text and not has_calls:
            self(TextEnded(self.message_id))

    def cut(self) -> bool:
        """End a turn that was cut off; True if an answer was begun, which stays open."""
        closing = self._open.closing("budget")
        is_answer = self._voice == "answer" and [type(event) for event in closing] == [TextEnded]
        if is_answer:
            return True
        for event in closing:
            self._emit(event)
        return False


_USAGES = TypeAdapter(list[TokenUsage])
_ENDED_BY: TypeAdapter[EndedBy] = TypeAdapter(EndedBy)


@dataclass(frozen=True, slots=True)
class _Outcome:
    turn: Turn | None
    usages: Sequence[TokenUsage]
    ended_by: EndedBy | None = None

    def to_json(self) -> dict[str, JsonValue]:
        spent: list[JsonValue] = [asdict(usage) for usage in self.usages]
        turn = None if self.turn is None else self.turn.to_json()
        return {"turn": turn, "usage": spent, "ended_by": self.ended_by}


class ModelCaller:
    """Calls the model for a run, or reads its recorded turn; ``label`` gives the name by which a tool's owner knows it."""

    def __init__(self, strategy: Strategy, budget: Budget) -> None:
        self._strategy = strategy
        self.budget = budget
        self.label: Callable[[str], str] = lambda name: name

    async def call(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec], *, voice: Voice, seconds: float | None = None
    ) -> Turn | None:
        """One turn; None if time or tokens were used up before any usable output.

        Raises:
            ToolsRefused: The endpoint can't do tool calling.
            RunChanged: Another version of the strategy began the run.
        """
        journal = self._strategy.context.journal
        key = journal.next_turn()
        past = journal.read(key)
        if past is not None:
            return self._read_back(past, voice)
        asking = self._ask(messages, tools, TurnOutput(self._strategy.channel.emit, voice, self.label), seconds)
        try:
            outcome = await asking
        except ToolsRefused as refused:
            journal.write(key, {"refused": str(refused.details.get("reason", ""))})
            raise
        journal.write(key, outcome.to_json())
        return outcome.turn

    async def _ask(
        self, messages: Sequence[ModelMessage], tools: Sequence[ToolSpec], heard: TurnOutput, seconds: float | None
    ) -> "_Outcome":
        usages: list[TokenUsage] = []

        def spend(usage: TokenUsage) -> None:
            usages.append(usage)
            self._strategy.add_usage(usage)

        try:
            async with asyncio.timeout(seconds):
                turn = await stream_turn(
                    self._strategy.context.model.events(messages, tools),
                    takes_calls=bool(tools),
                    emit=heard,
                    spend=spend,
                    most_tokens=self._strategy.context.limits.max_tokens,
                )
        except TimeoutError:
            return self._cut(heard, usages, "time")
        except TurnTooLong as endless:
            spend(TokenUsage(0, endless.tokens, is_estimated=True))
            return self._cut(heard, usages, "tokens")
        heard.end(has_calls=bool(turn.calls))
        return _Outcome(turn, usages)

    def _cut(self, heard: TurnOutput, usages: Sequence[TokenUsage], by: EndedBy) -> "_Outcome":
        self.budget.end(by)
        is_open = heard.cut()
        turn = Turn(heard.message_id, heard.text, "", (), "stop") if is_open else None
        return _Outcome(turn, usages, by)

    def _read_back(self, past: Effect, voice: Voice) -> Turn | None:
        outcome = past.outcome
        if "refused" in outcome:
            raise ToolsRefused(reason=outcome["refused"])
        for usage in _USAGES.validate_python(outcome["usage"]):
            self._strategy.add_usage(usage)
        if (ended_by := outcome["ended_by"]) is not None:
            self.budget.end(_ENDED_BY.validate_python(ended_by))
        if outcome["turn"] is None:
            return None
        turn = Turn.from_json(outcome["turn"])
        self._note(turn, voice)
        return turn

    def _note(self, turn: Turn, voice: Voice) -> None:
        """Tell the channel what a recorded turn opened, which is in the log already."""
        observe = self._strategy.channel.observe
        if voice == "answer" and turn.text:
            observe(TextStarted(turn.message_id))
            if turn.calls:
                observe(TextEnded(turn.message_id))
        for call in turn.calls:
            observe(ToolCallStarted(call.id, call.name, turn.message_id))
            observe(ToolCallEnded(call.id))
