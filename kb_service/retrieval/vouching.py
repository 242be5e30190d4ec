"""SQL has the last word on what is found: which hits of the index may be shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement
from sqlmodel import and_, case, col, literal, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.retrieval.reasons import Reason

_VERDICTS = (
    Reason.NOT_ACTIVE,
    Reason.CHUNK_DISABLED,
    Reason.FILTER,
    Reason.SHOWN,
)
_FOREIGN, _MOVED = -1, -2


@dataclass(frozen=True)
class Scope:
    """Where a search looks.

    Args:
        generations: the knowledge bases by id, each with the generation whose points are asked.
        condition: what a document must meet; None: every document counts.
        is_shadow: look at the revisions that wait for the next generation.
        flips: documents and their new revisions that the tries of this search have met.
    """

    generations: dict[str, int]
    condition: ColumnElement[bool] | None = None
    is_shadow: bool = False
    flips: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])


@dataclass(frozen=True)
class Vouched:
    """What SQL says of chunks, by id; one that is deleted or foreign is in neither.

    Args:
        alive: may be shown, with the version of its text.
        refused: may not, and why.
        is_moved: a knowledge base was cut over to another generation since the index was asked.
    """

    alive: dict[str, int]
    refused: dict[str, Reason]
    is_moved: bool = False

    def joined(self, other: "Vouched") -> "Vouched":
        """Both together."""
        return Vouched(
            self.alive | other.alive,
            self.refused | other.refused,
            self.is_moved or other.is_moved,
        )


async def vouch(session: AsyncSession, chunk_ids: Iterable[str], scope: Scope) -> Vouched:
    """Ask SQL about hits of the index, in one statement: it sees one moment.

    Args:
        session: to read from.
        chunk_ids: of the hits.
        scope: where was searched.
    """
    ids = list(chunk_ids)
    if not ids or not scope.generations:
        return Vouched({}, {})
    # As a column, not a condition: SQLite would go through all documents of the knowledge base.
    query = (
        select(Chunk.id, Chunk.version, _verdict(scope))
        .join(Document, col(Document.id) == col(Chunk.document_id))
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
        .where(col(Chunk.id).in_(ids))
    )
    alive: dict[str, int] = {}
    refused: dict[str, Reason] = {}
    is_moved = False
    for id_, version, number in (await session.exec(query)).all():
        if number in {_FOREIGN, _MOVED}:
            is_moved = is_moved or number == _MOVED
        elif _VERDICTS[number] is Reason.SHOWN:
            alive[id_] = version
        else:
            refused[id_] = _VERDICTS[number]
    return Vouched(alive, refused, is_moved)


async def has_flipped(session: AsyncSession, revisions: Mapping[str, int], scope: Scope) -> bool:
    """Whether a document got a newer revision between the index's answer and SQL's.

    The newer one's points were written before, so a second question to the index finds them. A
    flip counts once in a search: points of an old revision may stay until they are swept.

    Args:
        session: to read from.
        revisions: of hits that SQL does not know, by document.
        scope: where was searched; it remembers the flips.
    """
    if not revisions or scope.is_shadow:
        return False
    query = select(Document.id, Document.active_revision).where(
        col(Document.id).in_(list(revisions)), col(Document.deleted_at).is_(None)
    )
    rows = (await session.exec(query)).all()
    newer = {(id_, now) for id_, now in rows if now is not None and now > revisions[id_]}
    is_new = not newer <= scope.flips
    scope.flips.update(newer)
    return is_new


async def is_moved(session: AsyncSession, generations: dict[str, int]) -> bool:
    """Whether a knowledge base is not in this generation any more."""
    query = select(KnowledgeBase.id, KnowledgeBase.generation).where(
        col(KnowledgeBase.id).in_(list(generations))
    )
    return any(generations[id_] != now for id_, now in (await session.exec(query)).all())


def _verdict(scope: Scope) -> ColumnElement[int]:
    revision = col(Document.shadow_revision if scope.is_shadow else Document.active_revision)
    numbers = {reason: literal(number) for number, reason in enumerate(_VERDICTS)}
    tests = [
        (col(Document.knowledge_base_id).not_in(list(scope.generations)), literal(_FOREIGN)),
        (col(Document.deleted_at).is_not(None), literal(_FOREIGN)),
        (revision.is_(None), numbers[Reason.NOT_ACTIVE]),
        (revision != col(Chunk.revision), numbers[Reason.NOT_ACTIVE]),
        (col(Chunk.enabled).is_(False), numbers[Reason.CHUNK_DISABLED]),
    ]
    if not scope.is_shadow:
        tests.insert(2, (_other_generation(scope.generations), literal(_MOVED)))
    if scope.condition is None:
        return case(*tests, else_=numbers[Reason.SHOWN])
    return case(*tests, (scope.condition, numbers[Reason.SHOWN]), else_=numbers[Reason.FILTER])


def _other_generation(generations: dict[str, int]) -> ColumnElement[bool]:
    by_number: dict[int, list[str]] = {}
    for id_, number in generations.items():
        by_number.setdefault(number, []).append(id_)
    same = [
        and_(col(KnowledgeBase.generation) == number, col(KnowledgeBase.id).in_(ids))
        for number, ids in by_number.items()
    ]
    return ~or_(*same)


async def matching_documents(session: AsyncSession, scope: Scope) -> list[str]:
    """Ids of the searchable documents of a scope that meet its condition."""
    revision = col(Document.shadow_revision if scope.is_shadow else Document.active_revision)
    query = select(Document.id).where(
        col(Document.knowledge_base_id).in_(list(scope.generations)),
        col(Document.deleted_at).is_(None),
        revision.is_not(None),
    )
    if scope.condition is not None:
        query = query.where(scope.condition)
    return list((await session.exec(query)).all())
