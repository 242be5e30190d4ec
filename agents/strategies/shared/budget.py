"""The budget of a run: turns, tokens, time and repeated calls before it must answer."""

from dataclasses import dataclass
from typing import Literal

from agents.journal import Journal
from agents.run_context import RunLimits

EndedBy = Literal["turns", "tokens", "time", "repeats"]
_MOST_REPEATS = 2
# Reserve between the answer and the run's deadline, at most half of the time.
_ENDING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Wording:
    english: str
    chinese: str


_NOTES: dict[EndedBy, _Wording] = {
    "turns": _Wording(
        "This answer is incomplete: the run used up its {limit} model turns.",
        "此回答不完整：本次运行已用完 {limit} 轮模型调用。",
    ),
    "tokens": _Wording(
        "This answer is incomplete: the run used up its {limit} tokens.",
        "此回答不完整：本次运行已用完 {limit} 个 token。",
    ),
    "time": _Wording(
        "This answer is incomplete: the run used up its {limit} seconds.",
        "此回答不完整：本次运行已用完 {limit} 秒的时间。",
    ),
    "repeats": _Wording(
        "This answer is incomplete: the run was ended because the model kept making the same tool calls.",
        "此回答不完整：模型一再重复同样的工具调用，运行因此结束。",
    ),
}


class Budget:
    """Counts what a run spends; ``ended_by`` is the first limit reached, or None."""

    def __init__(self, limits: RunLimits, journal: Journal) -> None:
        self.ended_by: EndedBy | None = None
        self._limits = limits
        self._journal = journal
        self._turns = 0
        self._repeats = 0
        self._tokens = 0

    @property
    def acting_seconds_left(self) -> float:
        """Time left for thinking and calls."""
        return max(0.0, self._limits.acting_seconds - self._journal.live_seconds)

    @property
    def answer_seconds_left(self) -> float:
        """Time left for the answer, which must end before the run's own deadline."""
        limits = self._limits
        spare = max(0.0, limits.timeout_seconds - limits.acting_seconds)
        end = limits.timeout_seconds - min(_ENDING_SECONDS, spare / 2)
        return max(0.0, end - self._journal.live_seconds)

    def spend_turn(self, tokens: int) -> None:
        self._turns += 1
        self._tokens += tokens

    def observe_round(self, *, only_repeats: bool) -> None:
        """Count a round of calls: two in a row with only repeats lead nowhere."""
        self._repeats = self._repeats + 1 if only_repeats else 0

    @property
    def is_stuck(self) -> bool:
        return self._repeats >= _MOST_REPEATS

    def reset_repeats(self) -> None:
        """Forget repeats, for a new subtask."""
        self._repeats = 0

    def end(self, by: EndedBy) -> None:
        """End the budget; the first reason stays."""
        self.ended_by = self.ended_by or by

    def is_over(self) -> bool:
        if self.is_stuck:
            self.end("repeats")
        elif self._turns >= self._limits.max_turns:
            self.end("turns")
        elif self._tokens >= self._limits.max_tokens:
            self.end("tokens")
        # By the journal's clock, so that a replay decides the same.
        elif self._journal.seconds >= self._limits.acting_seconds:
            self.end("time")
        return self.ended_by is not None

    def note(self, *, is_chinese: bool) -> str:
        """A note on the limit for the reader of the answer; empty if none was reached."""
        if self.ended_by is None:
            return ""
        limits = {
            "turns": f"{self._limits.max_turns}",
            "tokens": f"{self._limits.max_tokens}",
            "time": f"{self._limits.acting_seconds:g}",
        }
        wording = _NOTES[self.ended_by]
        text = wording.chinese if is_chinese else wording.english
        return text.format(limit=limits.get(self.ended_by, ""))
