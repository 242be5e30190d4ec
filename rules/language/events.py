"""An event as rules see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class RuleEvent:
    """Something that happened.

    Attributes:
        type: the exact name, such as ``player_join``.
        source_id: where it comes from: an MCP connection or a webhook source.
        time: when it happened, with its zone.
        data: what the source says about it.
    """

    id: str
    type: str
    source_id: UUID | None
    time: datetime
    data: JsonValue


@dataclass(frozen=True, slots=True)
class EventContext:
    """What a rule's conditions and templates can read.

    Attributes:
        state: what earlier executions of the rule kept.
        previous: the data of the previous event of the same source, type and cooldown key.
        has_previous: whether there was one.
        results: what the actions before gave, in their order; conditions see none.
    """

    event: RuleEvent
    state: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    previous: JsonValue = None
    has_previous: bool = False
    results: Sequence[JsonValue] = ()
