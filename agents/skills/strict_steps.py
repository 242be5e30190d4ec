"""The steps of a strict skill: told one at a time, each with the tools that it leaves."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from skills.schema import ParsedSkill, Step
from skills.store.summary import plain_line
from skills.strict_mode import is_strict

_LONGEST_TITLE = 200
# Nothing in a skill's text may end what it stands in, or begin another one.
_OWN_TAGS = re.compile(r"<(?=/?\s*(?:skill_\w+|available_skills)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StrictStep:
    """A step of a strict skill.

    Attributes:
        text: What to do, markdown as written.
        tools: Those of the skill's that it names; None where it names none.
    """

    title: str
    text: str
    tools: tuple[str, ...] | None


def strict_steps(parsed: ParsedSkill) -> tuple[StrictStep, ...]:
    """The steps of a strict skill; none of any other."""
    if not is_strict(parsed):
        return ()
    return tuple(
        StrictStep(step_title(step), step.instruction, _tools_of(step, parsed))
        for step in parsed.steps
    )


def _tools_of(step: Step, parsed: ParsedSkill) -> tuple[str, ...] | None:
    if not step.tools:
        return None
    return tuple(one for one in step.tools if parsed.tools is None or names_tool(parsed.tools, one))


def step_title(step: Step) -> str:
    """A step in one line."""
    first = step.instruction.strip().split("\n", 1)[0]
    return plain_line(step.title or first)[:_LONGEST_TITLE]


def is_enforceable(tool: str) -> bool:
    """Whether an entry of allowed tools names tools; one of their arguments, ``Tool(x:*)``, does not."""
    return "(" not in tool and "*" not in tool.removesuffix("*")


def names_tool(entries: Iterable[str], tool: str) -> bool:
    """Whether one of some allowed tools, each of which may end with ``*``, names a tool."""
    return any(
        tool == entry or (entry.endswith("*") and tool.startswith(entry[:-1]))
        for entry in entries
        if is_enforceable(entry)
    )


def escape_tags(text: str) -> str:
    """A skill's text without the tags between which such texts stand."""
    return _OWN_TAGS.sub("&lt;", text)


def render_step(stages: tuple[StrictStep, ...], index: int) -> str:
    """A step for the model.

    Args:
        index: which, from 1.
    """
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
