"""The versions of a skill (docs/reference/agentex-api.md, section 8.8): read, compared, restored, forked."""

import re
from typing import Annotated

from fastapi import Depends, Path, Query
from pydantic import Field

from api.dependencies import CurrentPrincipal, Reading, paging, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from api.skills.changes import CurrentChanges
from api.skills.etag import SkillIfMatch
from api.skills.schemas import SavedSkill, SkillDetail, VersionAnswer, VersionDetail, version_fields
from api.skills.skills import CHANGING, SAVING, SkillFields
from core.auth.permissions import Permission
from core.db.pagination import PageRequest
from core.errors.auth import SkillNotFound, SkillVersionNotFound
from core.errors.conflicts import SkillsFull
from core.errors.requests import InvalidPagination
from skills import schema
from skills.diff.semantic import SkillDifference
from skills.store import access as skill_access
from skills.store import version_diff
from skills.store.service import SkillUpdate
from skills.store.version_diff import FileChange
from skills.store.versions import LONGEST_NOTE, VersionChange, from_version

router = Router(prefix="/api/v1/skills/{skill_id}", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
Write = Depends(requires(Permission.SKILL_WRITE))
_MISSING = (SkillNotFound, SkillVersionNotFound)
_LAST = 2**31 - 1
_NUMBER = re.compile(r"[0-9]{1,9}")
Number = Annotated[Text, Path(max_length=100, description="The number of the version")]


class DiffAnswer(ResponseModel):
    """What changed from one version to another.

    ``text`` is a unified diff of the contents, ``semantic`` what changed in meaning. ``breaking``:
    a caller of the older version may fail with the newer one, or it may use more tools.
    """

    from_version: int
    to_version: int
    breaking: bool
    text: str
    semantic: SkillDifference
    files: list[FileChange]


class RestoreBody(RequestModel):
    """What is told of the new version."""

    change_note: Text = Field(default="", max_length=LONGEST_NOTE)
    base_version: int | None = None


class ForkBody(SkillFields):
    """What is different of the copy; its slug is free where none is named."""

    version: int | None = Field(default=None, ge=1, le=_LAST)


def parse_number(text: str) -> int:
    """A version's number in a path; 0 if it is invalid."""
    return int(text) if _NUMBER.fullmatch(text) else 0


@router.get("/versions", dependencies=[View], responses=error_responses(InvalidPagination, SkillNotFound))
async def list_skill_versions(
    skill_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*skill_access.VERSION_SORT_FIELDS))],
) -> Envelope[Items[VersionAnswer]]:
    """The versions of a skill, the newest first: number, author, note, time, hash.

    Who may only read the skill sees those that were served to others.
    """
    view = await skill_access.get(session, principal, skill_id)
    version_list = await skill_access.list_versions(session, view, page)
    version_rows = await version_fields(session, view, version_list.items)
    items = [VersionAnswer.model_validate(fields) for fields in version_rows]
    return page_of(items, page, total=version_list.total)


@router.get("/versions/{version}", dependencies=[View], responses=error_responses(*_MISSING))
async def read_skill_version(
    skill_id: Text, version: Number, principal: CurrentPrincipal, session: Reading
) -> Envelope[VersionDetail]:
    """One version with its content, as it was parsed when it was written."""
    view = await skill_access.get(session, principal, skill_id)
    row = await skill_access.get_version(session, view, parse_number(version))
    content = await skill_access.read_content(session, row)
    (version_row,) = await version_fields(session, view, [row])
    fields = version_row | {
        "content": content.decode(),
        "parsed": await schema.from_json(row.parsed),
        "parser_version": row.parser_version,
    }
    return Envelope(data=VersionDetail.model_validate(fields))


@router.get("/diff", dependencies=[View], responses=error_responses(*_MISSING))
async def compare_skill_versions(
    skill_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    older: Annotated[int | None, Query(alias="from", ge=1, le=_LAST)] = None,
    newer: Annotated[int | None, Query(alias="to", ge=1, le=_LAST)] = None,
) -> Envelope[DiffAnswer]:
    """What changed between two versions: the text, the meaning, the files.

    Without `to` it is the caller's version, without `from` the one before `to` that they may read.
    """
    view = await skill_access.get(session, principal, skill_id)
    difference = await version_diff.compare_versions(session, view, older, newer)
    return Envelope(
        data=DiffAnswer(
            from_version=difference.older,
            to_version=difference.newer,
            breaking=difference.semantic.breaking,
            text=difference.text,
            semantic=difference.semantic,
            files=list(difference.files),
        )
    )


@router.post(
    "/versions/{version}/restore", dependencies=[Write], responses=error_responses(*CHANGING, SkillVersionNotFound)
)
async def restore_skill_version(
    skill_id: Text, version: Number, body: RestoreBody, base: SkillIfMatch, changes: CurrentChanges
) -> Envelope[SavedSkill]:
    """Make an older version, with its files, the newest again: as a new version."""
    number = parse_number(version)
    expected = base.with_version(body.base_version)
    change = VersionChange(body.change_note, expected, restored_from=number)
    return Envelope(data=await changes.update(skill_id, SkillUpdate(from_version(number), change=change)))


@router.post("/fork", dependencies=[Write], responses=error_responses(*SAVING, *_MISSING, SkillsFull))
async def fork_skill(skill_id: Text, body: ForkBody, changes: CurrentChanges) -> Envelope[SkillDetail]:
    """Make a private skill of one's own from one that the caller may read, with its files."""
    return Envelope(data=await changes.fork(skill_id, body.version, body.entry()))
