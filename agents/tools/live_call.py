"""What a running call shares with its run beside arguments and result."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """How far a call is; ``total`` is None where nobody knows."""

    progress: float
    total: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class CallQuestion:
    """A question to a person that came up inside of a call; all texts but ours are foreign data.

    Attributes:
        message: What is asked; ``server`` asks it.
        schema: JSON Schema of the answer, which has an ``action``, and ``content`` if a form is accepted.
        url: The page to visit; empty for a form.
        state: Given back with the answer; None if the call stays open meanwhile.
        seconds: Until the question expires; None for as long as any other.
    """

    server: str
    message: str
    schema: dict[str, JsonValue]
    url: str = ""
    state: JsonValue = None
    seconds: float | None = None


class CallSuspended(Exception):
    """Raised through a tool whose call goes on when a person has answered."""

    def __init__(self, question: CallQuestion) -> None:
        super().__init__("the call waits for a person")
        self.question = question


@dataclass(frozen=True, slots=True)
class LiveCall:
    """The run's side of a running call.

    Attributes:
        id: The model's name for it, the same when repeated; empty outside of a call.
        key: Its name in all runs of the task, unique among all tasks.
        show_progress: Takes as many reports as there are.
        reply: The answer (``answer``) to its last question with the question's ``state``; None for none.
    """

    id: str = ""
    key: str = ""
    show_progress: Callable[[ProgressReport], None] = lambda _: None
    reply: dict[str, JsonValue] | None = None


_live: ContextVar[LiveCall | None] = ContextVar("live_call", default=None)


def live_call() -> LiveCall:
    """The call in whose context this runs."""
    return _live.get() or LiveCall()


def enter_call(call: LiveCall) -> None:
    """Make a call the one of this context."""
    _live.set(call)
