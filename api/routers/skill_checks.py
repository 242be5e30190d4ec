"""What is found in skills: validation, fixes, reviews (seed 002, section 8.6)."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Response
from pydantic import AfterValidator, Field

from api.dependencies import CurrentPrincipal, CurrentSettings, Writing, requires
from api.envelope import Body, Envelope, Text
from api.errors import error_responses
from api.routers.skills import CHANGING
from api.skill_answers import ReportAnswer, SavedSkill, SkillDetail, detail, etag, limits_of, saved
from api.skill_bases import BaseGiven
from core.accounts.permissions import Permission
from core.errors import ErrorCode
from kb_service.text.storable import refuse_half_characters
from skills import fixing, publishing
from skills.fixing import Place
from skills.library import Desk
from skills.parsing import parse
from skills.publishing import Decision
from skills.writing import LONGEST_NOTE, Change

router = APIRouter(prefix="/api/v1/skills", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
Write = Depends(requires(Permission.SKILL_WRITE))

AnyText = Annotated[str, AfterValidator(refuse_half_characters)]
"""Text that is judged and not stored: even NUL has its diagnostic."""


class ValidateBody(Body):
    """A content to be judged; nothing of it is kept."""

    content: AnyText = Field(examples=["# SKILL: 测试\\n\\n## 描述\\n..."])


class FixPlace(Body):
    """A diagnostic whose fix is wanted: by its code, and where there are several by its place."""

    code: Text = Field(max_length=20)
    line: int | None = None
    column: int | None = None


class FixBody(Body):
    """Which fixes are applied; none named: all that there are."""

    fixes: list[FixPlace] | None = Field(default=None, max_length=1000)
    change_note: Text = Field(default="", max_length=LONGEST_NOTE)
    base_version: int | None = None


class ReviewBody(Body):
    """What a review came to, and why."""

    decision: Literal["approve", "reject"]
    note: Text = Field(default="", max_length=LONGEST_NOTE)


@router.post("/validate", dependencies=[View], responses=error_responses(ErrorCode.INVALID_REQUEST))
async def validate_skill(
    body: ValidateBody, _principal: CurrentPrincipal
) -> Envelope[ReportAnswer]:
    """What a content says and what is wrong with it, each with line, column and, where there is one, a fix.

    `valid`: it loads here. `portable`: it passes the open standard's own rules, which never make a
    skill invalid.
    """
    # Large ones take longer than an event loop may stand still.
    report = await asyncio.to_thread(parse, body.content.encode())
    return Envelope(data=ReportAnswer.of(report))


@router.post("/{skill_id}/apply-fix", dependencies=[Write], responses=error_responses(*CHANGING))
async def apply_fixes(  # noqa: PLR0913 - what the framework hands over
    skill_id: Text,
    body: FixBody,
    response: Response,
    base: BaseGiven,
    principal: CurrentPrincipal,
    settings: CurrentSettings,
    work: Writing,
) -> Envelope[SavedSkill]:
    """Apply fixes to the newest version, as a new one. Only the spans that they name change."""
    places = None
    if body.fixes is not None:
        places = [Place(one.code, one.line, one.column) for one in body.fixes]
    change = Change(body.change_note, base.with_version(body.base_version))
    desk = Desk(work, principal, limits_of(settings))
    seen, is_new = await fixing.apply(desk, skill_id, places, change)
    response.headers["ETag"] = etag(seen)
    return Envelope(data=await saved(work.session, seen, is_new=is_new))


@router.post(
    "/{skill_id}/review",
    dependencies=[Write],
    responses=error_responses(
        ErrorCode.READ_ONLY,
        ErrorCode.OWNER_ONLY,
        ErrorCode.SKILL_NOT_FOUND,
        ErrorCode.SKILL_NOT_PENDING,
    ),
)
async def review_skill(
    skill_id: Text, body: ReviewBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[SkillDetail]:
    """Decide about an imported skill of one's own, or as an administrator about a public one's version.

    An imported skill is not offered to agents and not shared until its owner approves it. A version
    of a public skill that widens its tools or adds findings of security is not served to others
    until an administrator approves it.
    """
    decision = Decision(body.decision)
    seen = await publishing.review(work, principal, skill_id, decision, body.note)
    return Envelope(data=await detail(work.session, seen))
