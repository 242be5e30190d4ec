"""The journal of a run, with which another process can resume it (durable execution by replay).

A strategy is ordinary code that depends on model and tool output. Both are *effects*, each recorded
once when it happened. Resuming means running the strategy from the beginning with recorded effects
instead of new ones, so it reaches the same point without calling a model or tool again. Therefore
a strategy may depend only on its inputs, its effects, and the ids and the clock of the journal.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID, uuid4, uuid5

from pydantic import JsonValue

from core.errors.base import AgentexError
from core.errors.server import RunLost

EffectStatus = Literal["started", "waiting", "approved", "done"]
_IDS = UUID("0f0e1c7e-6a52-4f0e-9d0b-5b6f0a3f9f4e")


class RunChanged(AgentexError, same_as=RunLost):
    """The strategy does not ask for what was written down: it is not the one that wrote it."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a run has done or is about to do.

    Attributes:
        index: Position in the journal, from 0.
        key: ``turn:3`` is the fourth model turn, ``call:<id>`` a tool call.
        status: ``started`` before something that must not happen twice, ``waiting`` for a person
            or a frontend, ``approved`` by a person, ``done`` when ``outcome`` has the result.
        seconds: Working time of the run until then.
    """

    index: int
    key: str
    status: EffectStatus
    outcome: dict[str, JsonValue]
    seconds: float = 0.0


class Journal:
    """The effects of one run: recorded ones are read first, then new ones are added.

    Args:
        name: The run's seed for ids, the same in every process that drives it.
        own_events: Events that the strategy itself emitted since the last effect ended.
        now: A monotonic clock in seconds.
    """

    def __init__(
        self,
        name: str = "",
        past: Iterable[Effect] = (),
        *,
        own_events: int = 0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name or str(uuid4())
        self._effects = {effect.key: effect for effect in past}
        self._unread = {key for key, effect in self._effects.items() if effect.status == "done"}
        self._changed: dict[str, Effect] = {}
        self._answered: set[str] = set()
        self._own_events_left = own_events
        self._own_events = 0
        self._turns = self._ids = 0
        self._now = now
        # Only working time counts, not waiting time.
        worked = max((effect.seconds for effect in self._effects.values()), default=0.0)
        self._begun = now() - worked
        self._settled = 0.0

    @property
    def name(self) -> str:
        """The task's name, the same in all its runs."""
        return self._name

    @property
    def is_replaying(self) -> bool:
        """Whether the strategy has not reached the recorded end yet."""
        return bool(self._unread) or self._own_events_left > 0

    @property
    def own_events(self) -> int:
        """Events of the strategy itself since the last effect ended."""
        return self._own_events

    @property
    def seconds(self) -> float:
        """Working time until the last effect ended; use it for decisions."""
        return self._settled

    @property
    def live_seconds(self) -> float:
        """Working time until now; use it for deadlines."""
        return self._now() - self._begun

    def new_id(self) -> str:
        """An id that is the same in a replay."""
        self._ids += 1
        return str(uuid5(_IDS, f"{self._name}:{self._ids}"))

    @property
    def turns(self) -> int:
        """Model turns so far, including the current one."""
        return self._turns

    def next_turn(self) -> str:
        self._turns += 1
        return f"turn:{self._turns - 1}"

    def count_own_event(self) -> bool:
        """Count an event of the strategy itself; False if it was already emitted before the replay."""
        self._own_events += 1
        if self._unread:
            return False
        if self._own_events_left > 0:
            self._own_events_left -= 1
            return False
        return True

    def find(self, key: str) -> Effect | None:
        """The effect of a key, in any status."""
        return self._effects.get(key)

    def read(self, key: str) -> Effect | None:
        """The finished effect of a key; None if it must still be produced.

        Raises ``RunChanged`` if a turn is missing although later ones are recorded.
        """
        effect = self._effects.get(key)
        if effect is None or effect.status != "done":
            if key.startswith("turn:") and self._unread:
                raise RunChanged
            self.go_live()
            return None
        if key in self._unread:
            self._unread.discard(key)
            self._settle(effect)
        return effect

    def go_live(self) -> None:
        """Stop expecting repeated events: everything from here on is new."""
        if not self._unread:
            self._own_events_left = 0

    def write(self, key: str, outcome: dict[str, JsonValue], status: EffectStatus = "done") -> Effect:
        """Record an effect or its next status."""
        existing = self._effects.get(key)
        index = len(self._effects) if existing is None else existing.index
        effect = Effect(index, key, status, outcome, self.live_seconds)
        self._effects[key] = self._changed[key] = effect
        if status == "done":
            self._settle(effect)
        return effect

    def answer(self, key: str, outcome: dict[str, JsonValue], status: EffectStatus) -> Effect:
        """Record a person's answer before the run resumes; raises ``KeyError`` for an unknown key."""
        effect = replace(self._effects[key], outcome=outcome, status=status)
        self._effects[key] = self._changed[key] = effect
        if status == "done":
            self._unread.add(key)
            self._answered.add(key)
            # The answer comes after all earlier events.
            self._own_events_left = 0
        return effect

    @property
    def own_events_left(self) -> int:
        """Repeated events of the strategy that come before new ones."""
        return self._own_events_left

    def mark_unreported(self, keys: Iterable[str]) -> None:
        """Mark finished effects that no event has reported yet."""
        self._answered.update(keys)

    def is_answered(self, key: str) -> bool:
        """Whether the outcome is a person's answer that no event has reported yet."""
        return key in self._answered

    def drain_changes(self) -> list[Effect]:
        """Take the effects written since the last call, to store them."""
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def _settle(self, effect: Effect) -> None:
        self._settled = max(self._settled, effect.seconds)
        self._own_events = 0
