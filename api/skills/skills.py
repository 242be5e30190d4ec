"""Skills (docs/reference/agentex-api.md, sections 8.1 to 8.5)."""

from typing import Annotated

from fastapi import Depends, Query, Response
from pydantic import Field

from api.dependencies import CurrentDatabase, CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, RequestModel, Text, page_of
from api.http.routing import Router
from api.skills.changes import CurrentChanges
from api.skills.etag import SkillIfMatch
from api.skills.lint import CurrentLinter
from api.skills.schemas import SavedSkill, SkillAnswer, SkillDetail, etag, skill_answer
from core.auth.permissions import Permission
from core.db.pagination import PageRequest
from core.errors.auth import OwnerOnly, ReadOnly, SkillNotFound
from core.errors.conflicts import SkillChanged, SkillNotPublishable, SkillReviewNeeded, SkillsFull, SkillSlugTaken
from core.errors.requests import InvalidPagination, InvalidRequest, QuotaExceeded, UnreadableSkill
from skills.store import access as skill_access
from skills.store import listing
from skills.store import service as skill_service
from skills.store.linting import read_linted
from skills.store.listing import SkillFilter
from skills.store.metadata import MOST_TAGS, CatalogMetadata
from skills.store.service import NewSkill, SkillUpdate
from skills.store.versions import LONGEST_NOTE, VersionChange, with_content
from skills.validation import validate

router = Router(prefix="/api/v1/skills", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
Write = Depends(requires(Permission.SKILL_WRITE))
SAVING = (InvalidRequest, UnreadableSkill, SkillSlugTaken, SkillNotPublishable, SkillReviewNeeded, QuotaExceeded)
"""What keeps content from being saved."""

CHANGING = (*SAVING, ReadOnly, OwnerOnly, SkillNotFound, SkillChanged)
"""What keeps a skill from being changed."""

_LONGEST_CONTENT = 1_000_000


class SkillFields(RequestModel):
    """What may be set; what is left out stays as it is, an empty text follows the content."""

    name: Text | None = Field(default=None, max_length=200, examples=["日报生成"])
    description: Text | None = Field(default=None, max_length=10_000)
    category: Text | None = Field(default=None, max_length=100)
    tags: list[Text] | None = Field(default=None, max_length=MOST_TAGS)
    slug: Text | None = Field(default=None, max_length=64, description="The key for machines, unique among one's own")
    is_public: bool | None = None
    enabled: bool | None = Field(default=None, description="Whether agents are offered it")

    def entry(self) -> CatalogMetadata:
        return CatalogMetadata(**self.model_dump(include=set(SkillFields.model_fields)))


class NewSkillBody(SkillFields):
    """A new skill; its name comes from the content where the request has none."""

    content: Text = Field(max_length=_LONGEST_CONTENT)
    change_note: Text = Field(default="", max_length=LONGEST_NOTE)


class SkillBody(SkillFields):
    """What is to be another; other content makes a new version."""

    content: Text | None = Field(default=None, max_length=_LONGEST_CONTENT)
    change_note: Text = Field(default="", max_length=LONGEST_NOTE)
    base_version: int | None = Field(
        default=None, description="The version that was read; refused if there is a newer one"
    )


async def _filter(
    include_public: Annotated[bool, Query(description="是否包含公开 SKILL / also those that everybody sees")] = False,
    category: Annotated[Text | None, Query(max_length=100, description="分类筛选")] = None,
    tag: Annotated[Text | None, Query(max_length=100, description="标签筛选")] = None,
    q: Annotated[Text | None, Query(max_length=200, description="Words that must all be found")] = None,
    pending: Annotated[
        bool, Query(description="One's own that wait for a review, for administrators public ones, too")
    ] = False,
) -> SkillFilter:
    return SkillFilter(include_public, category, tag, q, pending)


@router.get("", dependencies=[View], responses=error_responses(InvalidPagination))
async def list_skills(
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*listing.SORT_FIELDS))],
    skill_filter: Annotated[SkillFilter, Depends(_filter)],
) -> Envelope[Items[SkillAnswer]]:
    """One's own skills and those shared with the caller; public ones where they are asked for."""
    skill_list = await listing.list_visible(session, principal, page, skill_filter)
    return page_of([skill_answer(listed) for listed in skill_list.items], page, total=skill_list.total)


@router.post("", dependencies=[Write], responses=error_responses(*SAVING, SkillsFull))
async def create_skill(body: NewSkillBody, changes: CurrentChanges) -> Envelope[SkillDetail]:
    """Save a skill; the bytes are kept as they are, whatever is found in them.

    Only a content that no text can be read from is refused. One with errors is kept for its owner,
    but agents are not offered it and it can't be shared.
    """
    new = NewSkill(await validate(body.content.encode()), body.entry(), VersionChange(body.change_note))
    return Envelope(data=await changes.create(new))


@router.get("/{skill_id}", dependencies=[View], responses=error_responses(SkillNotFound))
async def read_skill(
    skill_id: Text, response: Response, principal: CurrentPrincipal, linter: CurrentLinter, database: CurrentDatabase
) -> Envelope[SkillDetail]:
    """One skill with its content, in the version that the caller gets."""
    async with database.reading() as session:
        view = await skill_access.get(session, principal, skill_id)
    response.headers["ETag"] = etag(view)
    return Envelope(data=SkillDetail.of(await read_linted(database, view, linter)))


@router.put("/{skill_id}", dependencies=[Write], responses=error_responses(*CHANGING))
async def change_skill(
    skill_id: Text, body: SkillBody, base: SkillIfMatch, changes: CurrentChanges
) -> Envelope[SavedSkill]:
    """Change a skill. Other content becomes its next version, the same bytes make none.

    With `If-Match` (the `ETag` of a read) it is refused if somebody changed anything of the skill
    meanwhile, with `base_version` if somebody wrote a version. Who may change a skill writes
    versions; slug, publication and use are its owner's.
    """
    change = VersionChange(body.change_note, base.with_version(body.base_version))
    build_version = None if body.content is None else with_content(body.content.encode())
    update = SkillUpdate(build_version, body.entry(), change)
    return Envelope(data=await changes.update(skill_id, update))


@router.delete("/{skill_id}", dependencies=[Write], responses=error_responses(ReadOnly, OwnerOnly, SkillNotFound))
async def delete_skill(skill_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Delete a skill with all its versions, files, shares and counters."""
    await skill_service.delete(work, principal, skill_id)
    return Empty()
