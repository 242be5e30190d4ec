"""Work on one task with tools, within one step of a strategy."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.evidence import NumberedText, read_passages
from agents.llm.base import ModelMessage
from agents.strategies.shared.model_turn import Voice
from agents.strategies.shared.tool_loop import ToolLoopStrategy


@dataclass(frozen=True, slots=True)
class SubtaskResult:
    """The outcome of a task: the model's final text, or "", and the calls with their results."""

    text: str
    messages: tuple[ModelMessage, ...] = ()
    ran: int = 0
    failed: int = 0

    @property
    def found_nothing(self) -> bool:
        """Whether there was no result, or no call that worked."""
        return not self.text or (self.failed > 0 and self.ran == 0)

    @property
    def passages(self) -> list[NumberedText]:
        """The distinct passages in the results, in the order of their searches."""
        by_number = {
            passage.number: passage
            for message in self.messages
            if message.role == "tool"
            for passage in read_passages(message.content) or ()
        }
        return list(by_number.values())


async def run_subtask(
    strategy: ToolLoopStrategy, messages: Sequence[ModelMessage], *, voice: Voice, lookup: str
) -> SubtaskResult:
    """Think and act until the model answers without a call, or the budget ends it.

    ``lookup`` is the search for an endpoint without tool calling.
    """
    strategy.start_subtask(lookup)
    exchange: list[ModelMessage] = []
    ran = failed = 0
    while True:
        turn = await strategy.ask_model([*messages, *exchange], voice=voice)
        text = turn.text if turn is not None and not turn.calls else ""
        if turn is None or not turn.calls:
            return SubtaskResult(text, tuple(exchange), ran, failed)
        acted = await strategy.run_tool_calls(turn)
        strategy.show_evidence()
        exchange += acted.messages
        ran, failed = ran + acted.ran, failed + acted.failed
        # Going round in circles ends the task alone, any budget the whole run.
        is_stuck = strategy.budget.is_stuck
        if is_stuck:
            strategy.budget.reset_repeats()
        if is_stuck or strategy.budget.is_over():
            return SubtaskResult("", tuple(exchange), ran, failed)
