"""Skill forms: rendering a model to markdown, and editing single fields; nothing is stored."""

import asyncio

from fastapi import Depends
from pydantic import Field

from api.dependencies import CurrentDatabase, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, Text
from api.http.routing import Router
from api.skills.checks import AnyText
from api.skills.form_schemas import ParsedForm, SkillForm
from api.skills.lint import CurrentLinter
from api.skills.schemas import WrittenSkill
from core.auth.permissions import Permission
from core.errors.requests import InvalidRequest, SkillNotEditable, UnreadableSkill
from skills.editor.fields import edit_fields
from skills.editor.render import render
from skills.lint.linter import Linter
from skills.schema import ParsedSkill

router = Router(prefix="/api/v1/skills", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
_REFUSALS = error_responses(InvalidRequest, UnreadableSkill, SkillNotEditable)


class RenderBody(RequestModel):
    """A model to be written, such as validation gave and a form changed."""

    parsed: ParsedForm
    skill_id: Text | None = Field(
        default=None, max_length=200, description="Whose content it is to be, as for validation"
    )


class EditBody(RequestModel):
    """A content, and new values of some fields of it; a field that is not named stays as it is."""

    content: AnyText = Field(examples=["# SKILL: 测试\n\n## 描述\n..."])
    changes: SkillForm
    skill_id: Text | None = Field(default=None, max_length=200, description="Whose content it is, as for validation")


@router.post("/render", dependencies=[View], responses=_REFUSALS)
async def render_skill(body: RenderBody, linter: CurrentLinter, database: CurrentDatabase) -> Envelope[WrittenSkill]:
    """The native file that says what a model says, judged as validation judges it; nothing is stored.

    The file is read back before it is given: a part that would be read as something else is refused
    and named (40072). What follows from the rest (`format`, `slug`, `sections`, ...) is not looked at.
    """
    async with database.reading() as session:
        lint = await linter.for_new(session, body.skill_id)
    return Envelope(data=await asyncio.to_thread(_rendered, body.parsed.model(), lint))


def _rendered(model: ParsedSkill, lint: Linter) -> WrittenSkill:
    # It can take seconds, in which no connection to the database is held: there are few.
    text = render(model)
    return WrittenSkill.of_content(lint(text.encode()), text)


@router.post("/edit", dependencies=[View], responses=_REFUSALS)
async def edit_skill(body: EditBody, linter: CurrentLinter, database: CurrentDatabase) -> Envelope[WrittenSkill]:
    """A content with some fields changed and every other byte as it was; nothing is stored.

    It is changed wholly or not at all: where the content would not say the new value, or something
    else than before beside it, the field is refused and named (40072). To keep the result, send it
    as `content` of a `PUT` with `If-Match`.
    """
    async with database.reading() as session:
        lint = await linter.for_new(session, body.skill_id)
    return Envelope(data=await asyncio.to_thread(_edited, body, lint))


def _edited(body: EditBody, lint: Linter) -> WrittenSkill:
    content = edit_fields(body.content.encode(), body.changes.provided())
    return WrittenSkill.of_content(lint(content), content.decode())
