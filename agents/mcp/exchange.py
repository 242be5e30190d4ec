"""What passes between a running call and the run that made it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from agents.mcp.elicitation import Elicitation, ElicitationAnswer, read_answer
from core.json_access import as_count, as_object, as_text

MOST_ROUNDS = 8
"""How often a server may answer one call with questions instead of a result."""


@dataclass(frozen=True, slots=True)
class McpProgress:
    """How far a call is, by its server's word; ``total`` is None where the server does not know."""

    progress: float
    total: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class CallHooks:
    """Who hears a call's progress and its server's questions; without ``ask`` every question is declined."""

    on_progress: Callable[[McpProgress], None] | None = None
    ask: Callable[[Elicitation], Awaitable[ElicitationAnswer]] | None = None


NO_HOOKS = CallHooks()


@dataclass(frozen=True, slots=True)
class CallReply:
    """A person's answer for a call that waited, with what the call left behind (JSON), if anything."""

    answer: ElicitationAnswer
    state: JsonValue = None


@dataclass(frozen=True, slots=True)
class CallFeed:
    """A run's side of a call.

    Attributes:
        key: Names the call in all runs of a task.
        reply: Set if the call goes on after a question.
    """

    key: str
    on_progress: Callable[[McpProgress], None] | None = None
    reply: CallReply | None = None


class InputNeeded(Exception):
    """Raised by a call that can't go on without a person.

    ``state`` (JSON) is given back with the answer; it is None while the call itself stays open, which is for
    ``seconds`` at most.
    """

    def __init__(self, question: Elicitation, state: JsonValue = None, seconds: float | None = None) -> None:
        super().__init__("the server asks a person")
        self.question = question
        self.state = state
        self.seconds = seconds


class AnswerTooLate(Exception):
    """The call that asked is not open any more, so the answer reaches nobody."""


@dataclass(frozen=True, slots=True)
class InputRound:
    """The questions with which a server answered a call instead of a result, and the answers so far.

    Attributes:
        questions: By the server's keys.
        request_state: What the server wants back as it is.
        number: From 1; counts the rounds of one call.
    """

    questions: Mapping[str, Elicitation]
    request_state: str | None = None
    number: int = 1
    answers: Mapping[str, ElicitationAnswer] = field(default_factory=dict[str, ElicitationAnswer])

    @property
    def next_question(self) -> Elicitation | None:
        return next((question for key, question in self.questions.items() if key not in self.answers), None)

    def answered(self, answer: ElicitationAnswer) -> "InputRound":
        """The round with an answer to its next question."""
        key = next(key for key in self.questions if key not in self.answers)
        return replace(self, answers={**self.answers, key: answer})

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "questions": {key: question.to_json() for key, question in self.questions.items()},
            "request_state": self.request_state,
            "number": self.number,
            "answers": {key: answer.to_json() for key, answer in self.answers.items()},
        }

    @classmethod
    def from_json(cls, value: JsonValue) -> "InputRound":
        fields = as_object(value)
        state = fields.get("request_state")
        return cls(
            {key: Elicitation.from_json(question) for key, question in as_object(fields.get("questions")).items()},
            as_text(state) if state is not None else None,
            as_count(fields.get("number")),
            {key: read_answer(answer) for key, answer in as_object(fields.get("answers")).items()},
        )
