"""Lists of visible skills, filtered by category, tag and words, and their word index."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import ColumnElement, and_, delete, func, or_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.models import User
from core.auth.permissions import Permission
from core.auth.principal import Access, Principal
from core.auth.sharing import access_by_id, shared_resource_ids
from core.db.pagination import PageRequest, paginate
from core.db.unit_of_work import UnitOfWork
from core.text.confusables import fold
from kb_service.text.tokenizer import runs, tokenize
from skills.models import LABEL_KEY_LENGTH, TERM_LENGTH, ReviewState, Skill, SkillTag, SkillTerm, SkillVersion
from skills.store import visibility as skill_visibility
from skills.store.access import SkillView, is_reviewer

SORT_FIELDS = ("updated_at", "created_at", "name")
_MOST_TERMS = 400
_MOST_QUERY_WORDS = 16
# Prefixes of a name's words are indexed, so that a search matches while somebody types.
_PREFIX_LENGTHS = range(2, 17)


@dataclass(frozen=True)
class SkillFilter:
    """A filter of skills by whole category and tag (ignoring case and width) and by words; None does not filter.

    ``pending``: only skills with a version to review: the caller's own and, for reviewers, public ones.
    """

    include_public: bool = False
    category: str | None = None
    tag: str | None = None
    text: str | None = None
    pending: bool = False


@dataclass(frozen=True)
class ListedSkill:
    """A skill of a list, and its owner's user name."""

    view: SkillView
    owner: str


@dataclass(frozen=True)
class SkillListing:
    """One page of skills, and how many there are in all."""

    items: Sequence[ListedSkill]
    total: int


async def list_visible(
    session: AsyncSession, principal: Principal, page: PageRequest, skill_filter: SkillFilter
) -> SkillListing:
    """One page of the skills that the caller sees, without contents."""
    conditions = [_visible(principal, skill_filter), *_filter_conditions(skill_filter)]
    query = paginate(
        select(Skill, User.username).join(User, col(User.id) == col(Skill.owner_id)).where(*conditions),
        page,
        columns={"created_at": col(Skill.created_at), "updated_at": col(Skill.updated_at), "name": col(Skill.name_key)},
        tie=col(Skill.id),
    )
    rows = (await session.exec(query)).all()
    counted = select(func.count()).select_from(Skill).where(*conditions)
    total = (await session.exec(counted)).one()
    access = await access_by_id(session, principal, [skill for skill, _ in rows])
    items = [
        ListedSkill(SkillView(skill, access[skill.id] or Access.READ, is_reviewer(principal, skill)), owner)
        for skill, owner in rows
    ]
    return SkillListing(items, total)


def _visible(principal: Principal, skill_filter: SkillFilter) -> ColumnElement[bool]:
    mine = col(Skill.owner_id) == principal.user_id
    if skill_filter.pending:
        return _awaiting_review(principal, mine)
    shared = col(Skill.id).in_(shared_resource_ids(principal.user_id, Skill.SHARE_KIND))
    open_to_all = (col(Skill.is_public).is_(True),) if skill_filter.include_public else ()
    return or_(mine, and_(col(Skill.served_version).is_not(None), or_(shared, *open_to_all)))


def _awaiting_review(principal: Principal, mine: ColumnElement[bool]) -> ColumnElement[bool]:
    version = select(SkillVersion.skill_id)
    own = version.where(
        SkillVersion.skill_id == Skill.id,
        SkillVersion.review != ReviewState.REJECTED.value,
        skill_visibility.reviewable(),
    )
    conditions = [and_(mine, own.correlate(Skill).exists())]
    if Permission.SYSTEM_MANAGE in principal.permissions:
        riskier = version.where(SkillVersion.review == ReviewState.PENDING.value)
        conditions.append(and_(col(Skill.is_public).is_(True), col(Skill.id).in_(riskier)))
    return or_(*conditions)


def _filter_conditions(skill_filter: SkillFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if skill_filter.category is not None:
        conditions.append(col(Skill.category_key) == label_key(skill_filter.category))
    if skill_filter.tag is not None:
        tagged = select(SkillTag.skill_id).where(SkillTag.tag_key == label_key(skill_filter.tag))
        conditions.append(col(Skill.id).in_(tagged))
    if skill_filter.text is not None:
        conditions += _matching_text(skill_filter.text)
    return conditions


def _matching_text(text: str) -> list[ColumnElement[bool]]:
    """Every word must occur, itself or its stem; Chinese words as pairs of characters."""
    alternatives: list[set[str]] = []
    for word, is_cjk in runs(text):
        forms = tokenize(word)
        alternatives += [{form} for form in forms] if is_cjk else [{word, *forms}]
    conditions: list[ColumnElement[bool]] = [
        col(Skill.id).in_(select(SkillTerm.skill_id).where(col(SkillTerm.term).in_(sorted(forms))))
        for forms in alternatives[:_MOST_QUERY_WORDS]
    ]
    # A text without words matches nothing.
    return conditions or [col(Skill.id).is_(None)]


def label_key(label: str) -> str:
    """A category or tag in the form used for comparison."""
    return fold(" ".join(label.split()))[:LABEL_KEY_LENGTH]


async def index_skill(work: UnitOfWork, skill: Skill, triggers: Sequence[str]) -> None:
    """Index a locked skill by its catalogue fields and the served triggers."""
    session = work.session
    await session.flush()
    await session.exec(delete(SkillTag).where(col(SkillTag.skill_id) == skill.id))
    await session.exec(delete(SkillTerm).where(col(SkillTerm.skill_id) == skill.id))
    tags = dict.fromkeys(key for tag in skill.tags if (key := label_key(tag)))
    session.add_all(SkillTag(skill_id=skill.id, tag_key=key) for key in tags)
    terms = dict.fromkeys(_terms(skill, triggers))
    kept_terms = [term for term in terms if len(term) <= TERM_LENGTH][:_MOST_TERMS]
    session.add_all(SkillTerm(skill_id=skill.id, term=term) for term in kept_terms)
    await session.flush()


def _terms(skill: Skill, triggers: Sequence[str]) -> Iterator[str]:
    names = (skill.name, skill.slug, skill.category, *skill.tags)
    for word, is_cjk in chain.from_iterable(map(runs, names)):
        # A search may be for any single character of a Chinese word.
        yield from word if is_cjk else ()
        yield from () if is_cjk else (word[:length] for length in _PREFIX_LENGTHS)
    for text in (*names, skill.description, *triggers):
        yield from tokenize(text)
