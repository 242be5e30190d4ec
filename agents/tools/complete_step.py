"""The tool by which the model reports a finished step of a skill."""

import json
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from agents.skills import run_skills as shelves
from agents.skills.active import ActiveSkill, render_step
from agents.skills.run_skills import RunSkills
from agents.tools.base import Tool, ToolScope, arguments_schema, current_call_id, with_validation
from agents.tools.load_skill import tool_error
from core.auth.permissions import Permission
from core.settings.tool_policies import ToolPolicy
from core.text.sanitize import plain_line

NAME = shelves.COMPLETE
POLICIES: Mapping[str, ToolPolicy] = {NAME: "auto"}
PERMISSIONS: Mapping[str, Permission] = {NAME: Permission.SKILL_VIEW}


class CompleteArguments(BaseModel):
    """Arguments of a report."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    index: int = Field(ge=1, description="The step's number in the skill's list of steps.")
    evidence: str = Field(
        default="",
        max_length=2000,
        description="What was done, in one sentence; a skill that shows one step at a time needs it.",
    )
    name: str = Field(default="", max_length=200, description="The skill's name, where several are loaded.")


def tools(scope: ToolScope) -> list[Tool]:
    """The tool, if the run has skills."""
    skills = scope.run.skills
    if skills is None:
        return []

    async def complete(arguments: CompleteArguments) -> str:
        return await _complete(skills, arguments)

    return [
        Tool(
            name=NAME,
            description="Report that a step of a loaded skill is done, so that the user sees how "
            "far the work is. Gives the next step.",
            parameters=arguments_schema(CompleteArguments),
            invoke=with_validation(CompleteArguments, complete),
            idempotent=True,
            in_order=True,
        )
    ]


async def _complete(skills: RunSkills, arguments: CompleteArguments) -> str:
    skill = _loaded_skill(skills, arguments.name)
    if skill is None:
        keys = [loaded.key for loaded in skills.active]
        raise tool_error("Name one of the loaded skills.", alike=keys)
    if arguments.index > len(skill.steps):
        raise tool_error(f"The skill {skill.key} has {len(skill.steps)} steps.")
    if skill.stages and (fault := _fault(skills, skill, arguments)):
        raise tool_error(fault)
    before = skills.done_steps(skill.ref.id)
    done = before | {arguments.index}
    if len(done) == len(skill.steps) > len(before):
        await skills.loader.record_completion(skill.ref)
    evidence = plain_line(arguments.evidence)
    skills.note_step(current_call_id(), skill.ref.id, arguments.index, evidence)
    left = [index for index in range(1, len(skill.steps) + 1) if index not in done]
    if not left:
        return json.dumps({"done": sorted(done), "all_done": True})
    if skill.stages:
        report = f"Step {arguments.index} of {len(skill.steps)} is done."
        return f"{report}\n\n{render_step(skill.stages, left[0])}"
    following = {"index": left[0], "title": skill.steps[left[0] - 1]}
    return json.dumps({"done": sorted(done), "next": following}, ensure_ascii=False)


def _fault(skills: RunSkills, skill: ActiveSkill, arguments: CompleteArguments) -> str | None:
    """Why a strict skill rejects a report, for the model; None if it does not."""
    index, current = arguments.index, skills.current_step(skill.ref.id)
    if current is None:
        return f"All steps of {skill.key} are done."
    if index != current:
        return f"Step {current} of {skill.key} is the current one: carry it out and report it."
    if not arguments.evidence:
        return f"Say in evidence what was done in step {index}."
    if skills.is_unread(skill.ref.id):
        return f"Step {index} was shown only now: carry it out, and report it in a later turn."
    return None


def _loaded_skill(skills: RunSkills, name: str) -> ActiveSkill | None:
    """The loaded skill of a name; without a name, the last loaded skill with steps."""
    if name:
        offered = skills.find(name)
        skill_id = offered.ref.id if offered else ""
        return next((skill for skill in skills.active if skill.ref.id == skill_id), None)
    return next((skill for skill in reversed(skills.active) if skill.steps), None)
