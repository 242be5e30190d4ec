"""What a run has done so far, so that another process can take the run up where it stood.

A strategy is ordinary code that decides from what the model said and what the tools gave. Both are
*effects*: each is written down once, when it has happened. Taking a run up means running its
strategy again from its beginning with the effects read back instead of made (durable execution by
replay): it comes to the same point without asking a model or a tool again. For that all that a
strategy decides by must come from its inputs, its effects, and the ids and the clock that are here.
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
    """One thing that a run has done, or is about to do.

    Attributes:
        index: Place in the journal, from 0.
        key: What it is: ``turn:3`` is the fourth turn of the model, ``call:<id>`` a tool call.
        status: ``started`` before something that may not happen twice, ``waiting`` for a person
            or a frontend, ``approved`` by one, ``done`` when ``outcome`` holds what came of it.
        seconds: How long the run had been worked on by then.
    """

    index: int
    key: str
    status: EffectStatus
    outcome: dict[str, JsonValue]
    seconds: float = 0.0


class Journal:
    """The effects of one run, read back first and added to then.

    Args:
        name: of the run, the same whoever drives it; ids are made from it.
        past: what was written down, in order.
        own_events: how many events the strategy itself had emitted since the last effect ended.
        now: a clock in seconds that never goes back.
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
        # Only time in which somebody worked on the run counts, not the time it lay waiting.
        worked = max((effect.seconds for effect in self._effects.values()), default=0.0)
        self._begun = now() - worked
        self._settled = 0.0

    @property
    def is_replaying(self) -> bool:
        """Whether the strategy has not come to where it stood yet."""
        return bool(self._unread) or self._own_events_left > 0

    @property
    def own_events(self) -> int:
        """Events of the strategy itself since the last effect ended."""
        return self._own_events

    @property
    def seconds(self) -> float:
        """How long the run had been worked on when its last effect ended: for decisions."""
        return self._settled

    @property
    def live_seconds(self) -> float:
        """How long the run has been worked on now: for deadlines."""
        return self._now() - self._begun

    def new_id(self) -> str:
        """An id that is the same again when the run is taken up."""
        self._ids += 1
        return str(uuid5(_IDS, f"{self._name}:{self._ids}"))

    @property
    def turns(self) -> int:
        """Turns of the model so far, the one that is under way included."""
        return self._turns

    def next_turn(self) -> str:
        """The key of the model's next turn."""
        self._turns += 1
        return f"turn:{self._turns - 1}"

    def count_own_event(self) -> bool:
        """Count an event of the strategy itself.

        Returns:
            Whether it is new; False when it was emitted before the run was taken up.
        """
        self._own_events += 1
        if self._unread:
            return False
        if self._own_events_left > 0:
            self._own_events_left -= 1
            return False
        return True

    def find(self, key: str) -> Effect | None:
        """What was written down under a key, in whatever status."""
        return self._effects.get(key)

    def read(self, key: str) -> Effect | None:
        """The finished effect of a key; None when it is still to be had.

        Raises:
            RunChanged: others are written down, but not this one, where turns have an order.
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
        """From here on everything is new: events that were emitted before are not to be expected."""
        if not self._unread:
            self._own_events_left = 0

    def write(self, key: str, outcome: dict[str, JsonValue], status: EffectStatus = "done") -> Effect:
        """Write an effect down, or its next status."""
        existing = self._effects.get(key)
        index = len(self._effects) if existing is None else existing.index
        effect = Effect(index, key, status, outcome, self.live_seconds)
        self._effects[key] = self._changed[key] = effect
        if status == "done":
            self._settle(effect)
        return effect

    def answer(self, key: str, outcome: dict[str, JsonValue], status: EffectStatus) -> Effect:
        """Write down what a person said, before the run is taken up.

        Raises:
            KeyError: nothing of this key is written down.
        """
        effect = replace(self._effects[key], outcome=outcome, status=status)
        self._effects[key] = self._changed[key] = effect
        if status == "done":
            self._unread.add(key)
            self._answered.add(key)
            # The answer comes after all that was emitted before.
            self._own_events_left = 0
        return effect

    @property
    def own_events_left(self) -> int:
        """Events of the strategy itself that come again before anything is new."""
        return self._own_events_left

    def mark_unreported(self, keys: Iterable[str]) -> None:
        """Say of finished effects that no event has told of them yet."""
        self._answered.update(keys)

    def is_answered(self, key: str) -> bool:
        """Whether its outcome is a person's, which nobody who follows the run has seen yet."""
        return key in self._answered

    def drain_changes(self) -> list[Effect]:
        """What was written since the last time, to be stored."""
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def _settle(self, effect: Effect) -> None:
        self._settled = max(self._settled, effect.seconds)
        self._own_events = 0
