"""SQL check of which index hits may be shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Integer, true, type_coerce
from sqlalchemy.orm import Mapped
from sqlmodel import case, col, select
from sqlmodel.sql.expression import Select

from core.db.id_array import id_array
from core.db.prepared import PreparedQuery
from core.db.read_pool import ReadContext
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.retrieval.results import DropReason
from kb_service.vector_index.protocol import index_scope


@dataclass(frozen=True)
class DocumentScope:
    """The documents that a search may look at.

    Args:
        generations: by knowledge base id, the generation whose points are searched.
        condition: on documents; None: every document counts.
        is_shadow: use the revisions that wait for the next generation.
        new_revisions: documents and their new revisions met by the attempts of this search.
        hidden: documents that the viewer may not see: as if they did not exist.
        unnarrowed: knowledge bases assumed to have no hidden documents.
    """

    generations: dict[str, int]
    condition: ColumnElement[bool] | None = None
    is_shadow: bool = False
    new_revisions: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    hidden: frozenset[str] = frozenset()
    unnarrowed: frozenset[str] = frozenset()

    @property
    def index_scopes(self) -> list[str]:
        return [index_scope(id_, generation) for id_, generation in self.generations.items()]


@dataclass(frozen=True)
class VisibilityResult:
    """Visibility of chunks, by id; deleted, foreign and hidden ones are in neither part.

    Args:
        alive: may be shown, with the version of its text.
        places: of those that may be shown, the document's name and the position in it.
        revisions: of the documents of those that may be shown.
        is_moved: since the index was searched, a knowledge base was cut over, its first document was restricted, or a
            document got another revision.
    """

    alive: dict[str, int] = field(default_factory=dict[str, int])
    refused: dict[str, DropReason] = field(default_factory=dict[str, DropReason])
    places: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    revisions: dict[str, int] = field(default_factory=dict[str, int])
    is_moved: bool = False

    def joined(self, later: "VisibilityResult") -> "VisibilityResult":
        """Merge two results; each may have seen another revision of a document."""
        if self == _NOTHING:
            return later
        mine = self.revisions
        is_mixed = any(mine.get(id_, now) != now for id_, now in later.revisions.items())
        return VisibilityResult(
            self.alive | later.alive,
            self.refused | later.refused,
            self.places | later.places,
            mine | later.revisions,
            self.is_moved or later.is_moved or is_mixed,
        )


_NOTHING = VisibilityResult()


def check_visibility(reads: ReadContext, chunk_ids: Iterable[str], scope: DocumentScope) -> VisibilityResult:
    """Check index hits in one SQL statement, which sees one moment."""
    ids = list(chunk_ids)
    if not ids or not scope.generations:
        return VisibilityResult()
    if scope.condition is None:
        return _classify(reads.rows(_prepared_query(is_shadow=scope.is_shadow), ids), scope)
    # A column, not a condition: SQLite would scan all documents of the knowledge base.
    passes = case((scope.condition, True), else_=False)
    query = _visibility_query(passes, is_shadow=scope.is_shadow)
    # Fetched together: fetching a single row takes longer than processing it.
    return _classify(reads.connection.execute(query, {"ids": ids}).all(), scope)


def _classify(rows: Iterable[Sequence[Any]], scope: DocumentScope) -> VisibilityResult:
    result = VisibilityResult()
    is_moved = False
    for (
        id_,
        version,
        revision,
        is_enabled,
        document_id,
        name,
        position,
        visible_revision,
        is_deleted,
        base_id,
        generation,
        is_narrowed,
        passes,
    ) in rows:
        is_moved = is_moved or (is_narrowed and base_id in scope.unnarrowed)
        if is_deleted or base_id not in scope.generations:
            continue
        if not scope.is_shadow and generation != scope.generations[base_id]:
            is_moved = True
        elif document_id in scope.hidden:
            continue
        elif visible_revision is None or visible_revision != revision:
            result.refused[id_] = DropReason.NOT_ACTIVE
        elif not is_enabled:
            result.refused[id_] = DropReason.CHUNK_DISABLED
        elif not passes:
            result.refused[id_] = DropReason.FILTER
        else:
            result.alive[id_] = version
            result.places[id_] = (name, position)
            result.revisions[document_id] = revision
    return replace(result, is_moved=is_moved)


@cache
def _prepared_query(*, is_shadow: bool) -> PreparedQuery:
    # Cached: building it takes as long as executing it, and most searches run it.
    return PreparedQuery(_visibility_query(true(), is_shadow=is_shadow))


def _visibility_query(passes: ColumnElement[bool], *, is_shadow: bool) -> Select[*tuple[Any, ...]]:
    visible_revision = col(Document.shadow_revision if is_shadow else Document.active_revision)
    columns: tuple[Any, ...] = (
        Chunk.id,
        Chunk.version,
        Chunk.revision,
        _number(col(Chunk.enabled)),
        Document.id,
        Document.name,
        Chunk.position,
        visible_revision,
        # A flag, because parsing a timestamp per row is slow.
        _number(col(Document.deleted_at).is_not(None)),
        KnowledgeBase.id,
        KnowledgeBase.generation,
        _number(col(KnowledgeBase.narrowed)),
        _number(passes),
    )
    ids = id_array("ids")
    return (
        cast("Select[*tuple[Any, ...]]", select(*columns))
        # SQLite estimates by the number of columns and may read the rows instead, with the pages of their texts.
        .with_hint(Chunk, "INDEXED BY ix_chunk_vouched", "sqlite")
        .join(ids, ids.c.value == col(Chunk.id))
        .join(Document, col(Document.id) == col(Chunk.document_id))
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
    )


def _number(condition: ColumnElement[bool] | Mapped[bool]) -> ColumnElement[int]:
    """The raw number from the driver: converting two hundred values is wasted time."""
    return type_coerce(condition, Integer)


def has_newer_revision(connection: Connection, revisions: Mapping[str, int], scope: DocumentScope) -> bool:
    """Whether a document got a newer revision between the index's answer and SQL's.

    The newer one's points were written before, so a second search of the index finds them. A switch counts once per
    search: points of an old revision may stay until they are swept.

    Args:
        revisions: by document, of hits that SQL does not know.
        scope: remembers the switches.
    """
    if not revisions or scope.is_shadow:
        return False
    query = select(Document.id, Document.active_revision).where(
        col(Document.id).in_(list(revisions)), col(Document.deleted_at).is_(None)
    )
    rows = connection.execute(query)
    newer = {(id_, now) for id_, now in rows if now is not None and now > revisions[id_]}
    is_new = not newer <= scope.new_revisions
    scope.new_revisions.update(newer)
    return is_new


def has_other_generation(connection: Connection, generations: dict[str, int]) -> bool:
    """Whether a knowledge base is no longer in this generation."""
    query = select(KnowledgeBase.id, KnowledgeBase.generation).where(col(KnowledgeBase.id).in_(list(generations)))
    return any(generations[id_] != now for id_, now in connection.execute(query))


def matching_documents(connection: Connection, scope: DocumentScope) -> list[str]:
    """Ids of the searchable, visible documents of a scope that meet its condition."""
    revision = col(Document.shadow_revision if scope.is_shadow else Document.active_revision)
    query = select(Document.id).where(
        col(Document.knowledge_base_id).in_(list(scope.generations)),
        col(Document.deleted_at).is_(None),
        revision.is_not(None),
    )
    if scope.condition is not None:
        query = query.where(scope.condition)
    return [id_ for id_ in connection.execute(query).scalars() if id_ not in scope.hidden]
