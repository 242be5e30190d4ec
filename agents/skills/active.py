"""Skills that a run has loaded: progress, strict steps and allowed tools."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from xml.sax.saxutils import quoteattr

from pydantic import JsonValue, TypeAdapter

from agents.llm.base import ToolCall
from core.text.sanitize import plain_line
from skills.parser.tools import is_enforceable
from skills.schema import ParsedSkill, Step
from skills.store.summary import SkillCard
from skills.strict_mode import is_strict

_LONGEST_TITLE = 200
# Nothing in a skill's text may end what it stands in, or begin another one.
_OWN_TAGS = re.compile(r"<(?=/?\s*(?:skill_\w+|available_skills)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StrictStep:
    """A step of a strict skill; ``tools`` are those of the skill that it names, None if it names none."""

    title: str
    text: str
    tools: tuple[str, ...] | None


def strict_steps(parsed: ParsedSkill) -> tuple[StrictStep, ...]:
    """The steps of a strict skill; empty for any other."""
    if not is_strict(parsed):
        return ()
    return tuple(StrictStep(step_title(step), step.instruction, _tools_of(step, parsed)) for step in parsed.steps)


def _tools_of(step: Step, parsed: ParsedSkill) -> tuple[str, ...] | None:
    if not step.tools:
        return None
    return tuple(tool for tool in step.tools if parsed.tools is None or names_tool(parsed.tools, tool))


def step_title(step: Step) -> str:
    """A step's title in one line."""
    first = step.instruction.strip().split("\n", 1)[0]
    return plain_line(step.title or first)[:_LONGEST_TITLE]


def names_tool(entries: Iterable[str], tool: str) -> bool:
    """Whether allowed tools, which may end with ``*``, include a tool."""
    return any(
        tool == entry or (entry.endswith("*") and tool.startswith(entry[:-1]))
        for entry in entries
        if is_enforceable(entry)
    )


def escape_tags(text: str) -> str:
    """A skill's text with the tags escaped that frame skills in prompts."""
    return _OWN_TAGS.sub("&lt;", text)


def render_step(stages: tuple[StrictStep, ...], index: int) -> str:
    """A step as text for the model; ``index`` counts from 1."""
    stage = stages[index - 1]
    head = f'<skill_step index="{index}" of="{len(stages)}" title={quoteattr(stage.title)}>'
    tools = ""
    if stage.tools is not None:
        names = escape_tags(", ".join(stage.tools)) or "none"
        tools = f"Allowed tools in this step: {names}; calls of others are refused. "
    return (
        f"{head}\n{escape_tags(stage.text)}\n</skill_step>\n\n{tools}Do this step alone. Then report "
        f"it to complete_step with index {index} and, as evidence, what was done."
    )


@dataclass(frozen=True, slots=True)
class SkillVersionRef:
    """A version of a skill, with the hexadecimal SHA-256 of its content."""

    id: str
    version: int
    sha: str


@dataclass(frozen=True, slots=True)
class RunTask:
    """A task of runs (``AgentRun.task_id``) and its owner."""

    id: str
    owner_id: str


@dataclass(frozen=True, slots=True)
class OfferedSkill:
    """A skill that the run may load, under the key that models use."""

    key: str
    ref: SkillVersionRef
    card: SkillCard


@dataclass(frozen=True, slots=True)
class ActiveSkill:
    """A loaded skill: ``tools`` None is no restriction, ``stages`` are strict steps, ``chosen`` is by a person."""

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
    """An active skill with evidence for each step done, from 1; ``is_unread``: the model has yet to read it."""

    skill: ActiveSkill
    call: ToolCall
    content: str
    done: dict[int, str] = field(default_factory=dict[int, str])
    is_unread: bool = True

    @property
    def current(self) -> int | None:
        steps = range(1, len(self.skill.steps) + 1)
        return next((index for index in steps if index not in self.done), None)

    @property
    def in_force(self) -> ActiveSkill:
        """The skill with the tools that it allows now.

        Calls made together with a step's report were meant for that step: until the model reads the next step, both
        must allow them.
        """
        now = _at_stage(self.skill, self.current)
        if not self.skill.stages or not self.done or not self.is_unread:
            return now
        before = _at_stage(self.skill, max(self.done))
        return replace(now, tools=_in_both(before.tools, now.tools))

    @property
    def result_text(self) -> str:
        """The result of the loading call; for a strict skill, with its current step."""
        stages = self.skill.stages
        if not stages or not self.done:
            return self.content
        now = "All steps are done." if self.current is None else render_step(stages, self.current)
        return self.content.removesuffix(render_step(stages, 1)) + now


def _at_stage(skill: ActiveSkill, index: int | None) -> ActiveSkill:
    tools = skill.stages[index - 1].tools if skill.stages and index else None
    return skill if tools is None else replace(skill, tools=tools)


def _in_both(first: tuple[str, ...] | None, second: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if first is None or second is None:
        return second if first is None else first
    tools = (*(tool for tool in first if names_tool(second, tool)), *(t for t in second if names_tool(first, t)))
    return tuple(dict.fromkeys(tools))


def dump_skill(skill: ActiveSkill) -> dict[str, JsonValue]:
    """A skill as notes store it."""
    return _ACTIVE.dump_python(skill, mode="json")


def pending_skill(skill: ActiveSkill) -> ActiveSkill:
    """A skill before loading: it restricts tools and has no steps to show."""
    return replace(_at_stage(skill, 1), steps=(), stages=())


def load_skill(note: JsonValue) -> ActiveSkill:
    """The skill of a note."""
    return _ACTIVE.validate_python(note)


def to_state(loaded: LoadedSkill) -> JsonValue:
    """A skill with its steps for the shared state."""
    steps: list[JsonValue] = []
    is_current = False
    for index, title in enumerate(loaded.skill.steps, start=1):
        status = "done" if index in loaded.done else "pending"
        if status == "pending" and not is_current:
            status, is_current = "current", True
        step: dict[str, JsonValue] = {"index": index, "title": title, "status": status}
        evidence = loaded.done.get(index)
        steps.append({**step, "evidence": evidence} if evidence else step)
    ref = loaded.skill.ref
    about: dict[str, JsonValue] = {"id": ref.id, "version": ref.version, "sha256": ref.sha}
    names: dict[str, JsonValue] = {"slug": loaded.skill.key, "name": loaded.skill.name}
    return {**about, **names, "chosen": loaded.skill.chosen, "steps": steps}
