"""Checks of skills: validation, fixes, reviews (docs/reference/agentex-api.md, section 8.6)."""

from typing import Annotated

from fastapi import Depends
from pydantic import AfterValidator, Field

from api.dependencies import CurrentDatabase, CurrentPrincipal, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, Text
from api.http.routing import Router
from api.skills.changes import CurrentChanges
from api.skills.etag import SkillIfMatch
from api.skills.lint import CurrentLinter
from api.skills.schemas import FixedSkill, ReportAnswer, SkillDetail
from api.skills.skills import CHANGING
from core.auth.permissions import Permission
from core.db.unit_of_work import unit_of_work
from core.errors.auth import OwnerOnly, ReadOnly, SkillNotFound
from core.errors.conflicts import SkillChanged, SkillNotPending
from core.text.sanitize import refuse_half_characters
from skills.store import publishing
from skills.store.autofix import FixTarget, SkillFixes
from skills.store.linting import read_linted
from skills.store.publishing import Decision, ReviewVerdict
from skills.store.service import SkillUpdate
from skills.store.versions import LONGEST_NOTE, VersionChange

router = Router(prefix="/api/v1/skills", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
Write = Depends(requires(Permission.SKILL_WRITE))

AnyText = Annotated[str, AfterValidator(refuse_half_characters)]
"""Text that is judged and not stored: even NUL has its diagnostic."""


class ValidateBody(RequestModel):
    """A content to be judged; nothing of it is kept."""

    content: AnyText = Field(examples=["# SKILL: 测试\\n\\n## 描述\\n..."])
    skill_id: Text | None = Field(
        default=None, max_length=200, description="Whose content it is: it is not compared with that skill"
    )


class FixPlace(RequestModel):
    """A diagnostic whose fix is wanted: by its code, and where there are several by its place."""

    code: Text = Field(max_length=20)
    line: int | None = None
    column: int | None = None


class FixBody(RequestModel):
    """Which fixes are applied; none named: all that there are."""

    fixes: list[FixPlace] | None = Field(default=None, max_length=1000)
    change_note: Text = Field(default="", max_length=LONGEST_NOTE)
    base_version: int | None = None


class ReviewBody(RequestModel):
    """What a review came to, and why.

    ``version`` is the one that was read, refused if another one waits by now; an approval names it.
    """

    decision: Decision
    version: int | None = Field(default=None, ge=1, le=2**31 - 1)
    note: Text = Field(default="", max_length=LONGEST_NOTE)


@router.post("/validate", dependencies=[View])
async def validate_skill(
    body: ValidateBody, linter: CurrentLinter, database: CurrentDatabase
) -> Envelope[ReportAnswer]:
    """What a content says and what is wrong with it, each with line, column and, where there is one, a fix.

    `valid`: it loads here. `portable`: it passes the open standard's own rules, which never make a
    skill invalid. Tools and other skills that it is judged by are those of the caller's agents.
    """
    async with database.reading() as session:
        context = await linter.read_context(session, skill_id=body.skill_id)
    report = await linter.lint(body.content.encode(), context)
    return Envelope(data=ReportAnswer.of(report))


@router.post("/{skill_id}/apply-fix", dependencies=[Write], responses=error_responses(*CHANGING))
async def apply_fixes(
    skill_id: Text, body: FixBody, base: SkillIfMatch, linter: CurrentLinter, changes: CurrentChanges
) -> Envelope[FixedSkill]:
    """Apply fixes to the newest version, as a new one. Only the spans that they name change.

    What a fix brings to light is fixed as well, until nothing changes: of the codes that are named
    without a place, or of all.
    """
    places = None
    if body.fixes is not None:
        places = [FixTarget(fix.code, fix.line, fix.column) for fix in body.fixes]
    change = VersionChange(body.change_note, base.with_version(body.base_version))
    fixing = SkillFixes(places, linter.for_version)
    saved = await changes.update(skill_id, SkillUpdate(fixing, change=change))
    return Envelope(data=FixedSkill.with_fixes(saved, fixing.codes))


@router.post(
    "/{skill_id}/review",
    dependencies=[Write],
    responses=error_responses(ReadOnly, OwnerOnly, SkillNotFound, SkillNotPending, SkillChanged),
)
async def review_skill(
    skill_id: Text, body: ReviewBody, principal: CurrentPrincipal, linter: CurrentLinter, database: CurrentDatabase
) -> Envelope[SkillDetail]:
    """Decide about what one has imported, or as an administrator about a public skill's version.

    An imported version is given to no agent and served to nobody until the skill's owner approves
    it. A version of a public skill that widens its tools or adds findings of security is not served
    to others until an administrator approves it.
    """
    ruling = ReviewVerdict(body.decision, body.version, body.note)
    async with unit_of_work(database) as work:
        view = await publishing.review(work, principal, skill_id, ruling)
    return Envelope(data=SkillDetail.of(await read_linted(database, view, linter)))
