"""The skills that a run works by: how far each one is, and what it allows."""

from dataclasses import dataclass, field, replace

from pydantic import JsonValue, TypeAdapter

from agents.llm.base import ToolCall
from agents.skills.strict_steps import StrictStep, names_tool, render_step
from skills.store.summary import SkillCard


@dataclass(frozen=True, slots=True)
class SkillVersionRef:
    """A version of a skill.

    Args:
        sha: SHA-256 of its content, hexadecimal.
    """

    id: str
    version: int
    sha: str


@dataclass(frozen=True, slots=True)
class RunTask:
    """A task of runs (``AgentRun.task_id``), and the account whose it is."""

    id: str
    owner_id: str


@dataclass(frozen=True, slots=True)
class OfferedSkill:
    """A skill that the run may load, under the key by which it is named to the model."""

    key: str
    ref: SkillVersionRef
    card: SkillCard


@dataclass(frozen=True, slots=True)
class ActiveSkill:
    """A skill that the run works by.

    Attributes:
        tools: As declared; None where the skill restricts none.
        tokens: An estimate of its text.
        chosen: By a person, not by the model.
        stages: The steps themselves where the skill is strict, else none.
    """

    key: str
    ref: SkillVersionRef
    name: str
    tools: tuple[str, ...] | None
    steps: tuple[str, ...]
    tokens: int
    chosen: bool
    stages: tuple[StrictStep, ...] = ()


_ACTIVE = TypeAdapter(ActiveSkill)


@dataclass(slots=True)
class LoadedSkill:
    """An active skill with the call that loaded it, and what that gave.

    Attributes:
        done: What was said of each step that is done, from 1.
        is_unread: Whether the model has yet to read what its last call of this turn gave.
    """

    skill: ActiveSkill
    call: ToolCall
    content: str
    done: dict[int, str] = field(default_factory=dict[int, str])
    is_unread: bool = True

    @property
    def current(self) -> int | None:
        """The first step that is not done."""
        steps = range(1, len(self.skill.steps) + 1)
        return next((index for index in steps if index not in self.done), None)

    @property
    def in_force(self) -> ActiveSkill:
        """The skill with the tools that it allows at this step.

        Calls beside the report of a step were meant for that step: until the next one is read they
        have to be allowed by both.
        """
        now = _at_stage(self.skill, self.current)
        if not self.skill.stages or not self.done or not self.is_unread:
            return now
        before = _at_stage(self.skill, max(self.done))
        return replace(now, tools=_in_both(before.tools, now.tools))

    @property
    def told(self) -> str:
        """What the call gave; of a strict skill with the step that is current now."""
        stages = self.skill.stages
        if not stages or not self.done:
            return self.content
        now = "All steps are done." if self.current is None else render_step(stages, self.current)
        return self.content.removesuffix(render_step(stages, 1)) + now


def _at_stage(skill: ActiveSkill, index: int | None) -> ActiveSkill:
    """A skill with the tools that it allows at a step, from 1; None once all are done."""
    named = skill.stages[index - 1].tools if skill.stages and index else None
    return skill if named is None else replace(skill, tools=named)


def _in_both(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The allowed tools of two lists; None for no restriction."""
    if one is None or other is None:
        return other if one is None else one
    named = (
        *(tool for tool in one if names_tool(other, tool)),
        *(t for t in other if names_tool(one, t)),
    )
    return tuple(dict.fromkeys(named))


def dump_skill(skill: ActiveSkill) -> dict[str, JsonValue]:
    """A skill as notes keep it."""
    return _ACTIVE.dump_python(skill, mode="json")


def pending_skill(skill: ActiveSkill) -> ActiveSkill:
    """A skill that waits to be loaded: it restricts tools and has no steps to show."""
    return replace(_at_stage(skill, 1), steps=(), stages=())


def load_skill(note: JsonValue) -> ActiveSkill:
    """The skill of a note.

    Raises:
        ValidationError: it is none.
    """
    return _ACTIVE.validate_python(note)


def to_state(one: LoadedSkill) -> JsonValue:
    """A skill with its steps, as shared state tells of it."""
    steps: list[JsonValue] = []
    is_current = False
    for index, title in enumerate(one.skill.steps, start=1):
        status = "done" if index in one.done else "pending"
        if status == "pending" and not is_current:
            status, is_current = "current", True
        step: dict[str, JsonValue] = {"index": index, "title": title, "status": status}
        evidence = one.done.get(index)
        steps.append({**step, "evidence": evidence} if evidence else step)
    ref = one.skill.ref
    about: dict[str, JsonValue] = {"id": ref.id, "version": ref.version, "sha256": ref.sha}
    named: dict[str, JsonValue] = {"slug": one.skill.key, "name": one.skill.name}
    return {**about, **named, "chosen": one.skill.chosen, "steps": steps}
