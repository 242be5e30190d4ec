"""The plan of a run: what the model drafts, what was made of it, how the shared state shows it."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

StepStatus = Literal["pending", "running", "done", "failed", "skipped"]
PlanSource = Literal["", "model", "repaired", "rules"]
_LONGEST_TASK = 1000


def _step(value: object) -> object:
    """Models write a step as its sentence alone, too."""
    return {"task": value} if isinstance(value, str) else value


class DraftedStep(BaseModel):
    """A step as the model writes it."""

    model_config = ConfigDict(str_strip_whitespace=True)

    task: str = Field(min_length=1, max_length=_LONGEST_TASK)


class DraftedPlan(BaseModel):
    """A plan as the model writes it."""

    steps: list[Annotated[DraftedStep, BeforeValidator(_step)]] = Field(min_length=1)


class DraftedRest(BaseModel):
    """The steps that remain after a change of plan; none when enough is known."""

    steps: list[Annotated[DraftedStep, BeforeValidator(_step)]]


class StepOutcome(BaseModel):
    """What the model says at the end of a step."""

    model_config = ConfigDict(str_strip_whitespace=True)

    outcome: Literal["done", "failed", "replan"]
    result: str = Field(min_length=1)


@dataclass(slots=True)
class PlanStep:
    """One step.

    Attributes:
        result: What came of it, with the numbers of its passages.
        query: Searched for first, where the task alone found nothing.
    """

    task: str
    status: StepStatus = "pending"
    result: str = ""
    query: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """The step as the shared state shows it."""
        return {"task": self.task, "status": self.status, "result": self.result}


@dataclass(slots=True)
class Plan:
    """The plan and how far it got.

    Attributes:
        source: Who made it; ``rules`` when the model gave none that can be read.
        revision: 1 for the first plan, one more with each change.
    """

    source: PlanSource = ""
    revision: int = 0
    steps: list[PlanStep] = field(default_factory=list[PlanStep])

    @property
    def next_index(self) -> int | None:
        """The first step that waits."""
        waiting = (place for place, one in enumerate(self.steps) if one.status == "pending")
        return next(waiting, None)

    def replace_rest(self, steps: list[PlanStep]) -> None:
        """Drop what waits and put other steps in its place."""
        self.steps = [one for one in self.steps if one.status != "pending"] + steps
        self.revision += 1

    def to_json(self) -> dict[str, JsonValue]:
        """The plan as the shared state shows it."""
        return {
            "source": self.source,
            "revision": self.revision,
            "steps": [one.to_json() for one in self.steps],
        }
