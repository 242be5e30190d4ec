"""Turns of the model as effects: made once, read back when the run is taken up."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pydantic import JsonValue, TypeAdapter

from agents.events import TextEnded, TextStarted, ToolCallEnded, ToolCallStarted
from agents.llm.base import Message, ModelUsage, ToolSpec, ToolsRefused
from agents.runs.journal import Effect
from agents.strategies.base import Strategy
from agents.strategies.budget import Budget, EndedBy
from agents.strategies.model_turn import Turn, TurnTooLong, stream_turn
from agents.strategies.voice import TurnVoice, Voice

_USAGES = TypeAdapter(list[ModelUsage])
_ENDED_BY: TypeAdapter[EndedBy] = TypeAdapter(EndedBy)


@dataclass(frozen=True, slots=True)
class _Outcome:
    turn: Turn | None
    usages: Sequence[ModelUsage]
    ended_by: EndedBy | None = None

    def to_json(self) -> dict[str, JsonValue]:
        spent: list[JsonValue] = [asdict(usage) for usage in self.usages]
        turn = None if self.turn is None else self.turn.to_json()
        return {"turn": turn, "usage": spent, "ended_by": self.ended_by}


class TurnMaker:
    """Asks the model for a run, or reads back what it said.

    Args:
        strategy: whose model, events and tokens.
        budget: is told when a turn used up the time or the tokens.
    """

    def __init__(self, strategy: Strategy, budget: Budget) -> None:
        self._strategy = strategy
        self.budget = budget

    async def make(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        voice: Voice,
        seconds: float | None = None,
    ) -> Turn | None:
        """One turn.

        Args:
            messages: what the model reads.
            tools: what it may call.
            voice: how its text is heard.
            seconds: how long it may take; None leaves that to the run's own deadline.

        Returns:
            None when time or tokens were used up before it said anything that counts.

        Raises:
            ToolsRefused: the endpoint can't do tool calling.
            ModelFailed: the model broke off.
            RunChanged: the run was begun by another version of the strategy.
        """
        journal = self._strategy.inputs.journal
        key = journal.next_turn()
        past = journal.read(key)
        if past is not None:
            return self._read_back(past, voice)
        asking = self._ask(messages, tools, TurnVoice(self._strategy.channel.emit, voice), seconds)
        try:
            outcome = await asking
        except ToolsRefused as refused:
            journal.write(key, {"refused": str(refused.details.get("reason", ""))})
            raise
        journal.write(key, outcome.to_json())
        return outcome.turn

    async def _ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        heard: TurnVoice,
        seconds: float | None,
    ) -> "_Outcome":
        usages: list[ModelUsage] = []

        def spend(usage: ModelUsage) -> None:
            usages.append(usage)
            self._strategy.spend(usage)

        try:
            async with asyncio.timeout(seconds):
                turn = await stream_turn(
                    self._strategy.inputs.model.events(messages, tools),
                    takes_calls=bool(tools),
                    emit=heard,
                    spend=spend,
                    most_tokens=self._strategy.inputs.limits.max_tokens,
                )
        except TimeoutError:
            return self._cut(heard, usages, "time")
        except TurnTooLong as endless:
            spend(ModelUsage(0, endless.tokens, is_estimated=True))
            return self._cut(heard, usages, "tokens")
        heard.end(has_calls=bool(turn.calls))
        return _Outcome(turn, usages)

    def _cut(self, heard: TurnVoice, usages: Sequence[ModelUsage], by: EndedBy) -> "_Outcome":
        self.budget.end(by)
        is_open = heard.cut()
        turn = Turn(heard.message_id, heard.text, "", (), "stop") if is_open else None
        return _Outcome(turn, usages, by)

    def _read_back(self, past: Effect, voice: Voice) -> Turn | None:
        outcome = past.outcome
        if "refused" in outcome:
            raise ToolsRefused(reason=outcome["refused"])
        for usage in _USAGES.validate_python(outcome["usage"]):
            self._strategy.spend(usage)
        if (ended_by := outcome["ended_by"]) is not None:
            self.budget.end(_ENDED_BY.validate_python(ended_by))
        if outcome["turn"] is None:
            return None
        turn = Turn.from_json(outcome["turn"])
        self._note(turn, voice)
        return turn

    def _note(self, turn: Turn, voice: Voice) -> None:
        """Let the channel know what the turn opened, which is in the log already."""
        observe = self._strategy.channel.observe
        if voice == "answer" and turn.text:
            observe(TextStarted(turn.message_id))
            if turn.calls:
                observe(TextEnded(turn.message_id))
        for call in turn.calls:
            observe(ToolCallStarted(call.id, call.name, turn.message_id))
            observe(ToolCallEnded(call.id))
