"""Tables of knowledge bases, documents and chunks."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, Index, LargeBinary, Text, false, text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now
from core.types.document_parsers import AUTO_STRATEGY, BUILT_IN

NAME_LENGTH = 200
NAME_KEY_LENGTH = 600


class DocumentStatus(StrEnum):
    """Where a document is on its way (seed 002, section 9.6: ``pending``, ``completed``)."""

    PENDING = "pending"
    PROCESSING = "processing"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"


class DocumentStage(StrEnum):
    """The current processing step of a document."""

    QUEUED = "queued"
    PARSING = "parsing"
    SPLITTING = "splitting"
    EMBEDDING = "embedding"
    DONE = "done"


class SplitterName(StrEnum):
    """Splitter names; ``ingestion.splitters`` implements them."""

    HEADING_RECURSIVE = "heading_recursive"
    SENTENCE = "sentence"
    FIXED = "fixed"
    MARKDOWN_SECTIONS = "markdown_sections"
    PARENT_CHILD = "parent_child"
    LLAMA_INDEX_SENTENCES = "llama_index:SentenceSplitter"
    LLAMA_INDEX_TOKENS = "llama_index:TokenTextSplitter"
    LLAMA_INDEX_SENTENCE_WINDOWS = "llama_index:SentenceWindowNodeParser"
    LLAMA_INDEX_MARKDOWN = "llama_index:MarkdownNodeParser"
    LLAMA_INDEX_SEMANTIC = "llama_index:SemanticSplitterNodeParser"


class NullableJson(JSON):
    """JSON that stores None as the database's NULL, so that queries can test for it."""

    cache_ok = True

    def __init__(self) -> None:
        super().__init__(none_as_null=True)


class KnowledgeBase(Table, table=True):
    """A collection of documents that is searched as one; chunk sizes are in tokens.

    ``generation`` numbers the settings (model, splitter, sizes) that searches see; no number above ``last_generation``
    was used yet. ``target`` holds the settings that a re-index builds, ``previous`` those before the last cut-over,
    kept for a rollback; never both. ``retired`` names generations whose points are still to be deleted. ``parser`` and
    ``strategy`` (``core.types.document_parsers``) are for documents that choose none, from their next processing on.
    ``narrowed`` says that a document was once restricted: only then readers are checked per document
    (``kb_service.visibility``).
    """

    SHARE_KIND: ClassVar[str] = "knowledge_base"

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", max_length=ID_LENGTH, index=True)
    name: str = Field(max_length=NAME_LENGTH)
    name_key: str = Field(max_length=NAME_KEY_LENGTH)
    description: str = Field(default="", sa_type=Text)
    embedding_model: str = Field(max_length=200)
    splitter: str = Field(default=SplitterName.HEADING_RECURSIVE.value, max_length=50)
    chunk_size: int
    chunk_overlap: int
    generation: int = 1
    last_generation: int = 1
    target: dict[str, Any] | None = Field(default=None, sa_type=NullableJson)
    previous: dict[str, Any] | None = Field(default=None, sa_type=NullableJson)
    retired: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    retrieval: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    parser: str = Field(default=BUILT_IN, max_length=50, sa_column_kwargs={"server_default": BUILT_IN})
    strategy: str = Field(default=AUTO_STRATEGY, max_length=50, sa_column_kwargs={"server_default": AUTO_STRATEGY})
    is_public: bool = False
    enabled: bool = True
    paused: bool = False
    narrowed: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime, index=True)

    __table_args__ = (
        Index(
            "uq_knowledge_base_owner_name",
            "owner_id",
            "name_key",
            unique=True,
            sqlite_where=text("deleted_at IS NULL"),
            postgresql_where=text("deleted_at IS NULL"),
        ),
    )


class Document(Table, table=True):
    """An uploaded file and the state of its processing.

    ``revision`` is being worked on, ``active_revision`` is what searches see, ``shadow_revision`` is ready for the next
    generation or kept from the previous one. ``generation`` is that of the settings ``revision`` is made with.
    ``attempt`` counts the tries of this revision and fences a worker that lost its lease. ``superseded_keys`` are files
    of older revisions, ``superseded_bytes`` long, kept until the newest one is searchable. ``encoding`` is what the
    text was read as, ``chosen_encoding`` what a user set. ``parser`` read the searchable revision; ``chosen_parser``
    and ``chosen_strategy`` are a user's choice, None for the knowledge base's. A ``restricted`` document is only for its
    knowledge base's owner and the readers it is shared with; others may use its name. ``source_levels``: its source
    restricts it to people who are in each of so many lists (``SourceReader``); ``only_by_source``: nobody has restricted
    it here besides.

    Where else a field must be listed: ``PARSED_FIELDS`` are written with each revision and named as in
    ``ingestion.parsers.model.ParsedDocument``; ``FILE_FIELDS`` return to their defaults with another file; fields of
    ``transfer.archive_format.DocumentEntry`` are exported; those of ``api.knowledge_bases.schemas.DocumentAnswer`` are
    shown.
    """

    SHARE_KIND: ClassVar[str] = "document"
    PARSED_FIELDS: ClassVar[tuple[str, ...]] = ("encoding", "pages", "warnings", "parser")
    FILE_FIELDS: ClassVar[tuple[str, ...]] = ("chosen_encoding",)

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    knowledge_base_id: str = Field(foreign_key="knowledge_base.id", max_length=ID_LENGTH, index=True)
    name: str = Field(max_length=255)
    file_type: str = Field(max_length=50)
    media_type: str = Field(max_length=150)
    file_size: int = Field(sa_type=BigInteger)
    sha256: str = Field(max_length=64)
    storage_key: str = Field(max_length=200)
    restricted: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    source_levels: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    only_by_source: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    status: str = Field(default=DocumentStatus.PENDING.value, max_length=20)
    stage: str = Field(default=DocumentStage.QUEUED.value, max_length=20)
    progress: int = 0
    revision: int = 1
    active_revision: int | None = None
    shadow_revision: int | None = None
    generation: int = 1
    superseded_keys: list[str] = Field(default_factory=list, sa_type=JSON)
    superseded_bytes: int = Field(default=0, sa_type=BigInteger)
    attributes: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    chunk_count: int = 0
    encoding: str | None = Field(default=None, max_length=50)
    chosen_encoding: str | None = Field(default=None, max_length=50)
    parser: str | None = Field(default=None, max_length=50)
    chosen_parser: str | None = Field(default=None, max_length=50)
    chosen_strategy: str | None = Field(default=None, max_length=50)
    pages: int | None = None
    warnings: list[str] = Field(default_factory=list, sa_type=JSON)
    failure: dict[str, str] | None = Field(default=None, sa_type=JSON)
    attempt: int = 0
    lease_owner: str | None = Field(default=None, max_length=100)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    retry_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    stage_since: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    completed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime, index=True)

    __table_args__ = (
        Index("ix_document_status", "status", "lease_until"),
        Index("ix_document_waiting", "status", "knowledge_base_id", "created_at", "id"),
        Index(
            "uq_document_name",
            "knowledge_base_id",
            "name",
            unique=True,
            sqlite_where=text("deleted_at IS NULL AND restricted IS 0"),
            postgresql_where=text("deleted_at IS NULL AND restricted IS false"),
        ),
        Index(
            "ix_document_restricted",
            "knowledge_base_id",
            "name",
            sqlite_where=text("restricted IS 1"),
            postgresql_where=text("restricted IS true"),
        ),
    )


class Chunk(Table, table=True):
    """A passage of one revision of a document; its id is the point's id in the vector index.

    ``version`` rises with every edit of the text. ``terms`` are the tokens for the rerank. A chunk that is not
    ``enabled`` is kept and shown, but no search finds it. ``later_pages`` are the pages that begin within it, each with
    its offset, counted as ``char_start`` is; None where there are none. ``boxes`` say where on the document's pages its
    text stands, as ``core.types.text_boxes.TextBox`` with characters counted as ``char_start`` is; None where that is
    not known.
    """

    id: str = Field(primary_key=True, max_length=ID_LENGTH)
    document_id: str = Field(foreign_key="document.id", ondelete="CASCADE", max_length=ID_LENGTH)
    knowledge_base_id: str = Field(max_length=ID_LENGTH, index=True)
    revision: int
    position: int
    content: str = Field(sa_type=Text)
    heading_path: list[str] = Field(default_factory=list, sa_type=JSON)
    page: int | None = None
    later_pages: list[list[int]] | None = Field(default=None, sa_type=NullableJson)
    char_start: int = 0
    char_end: int = 0
    token_count: int = 0
    enabled: bool = True
    version: int = 1
    terms: bytes | None = Field(default=None, sa_type=LargeBinary)
    boxes: list[list[int]] | None = Field(default=None, sa_type=NullableJson)

    __table_args__ = (
        Index("ix_chunk_document", "document_id", "revision", "position", unique=True),
        # Covers a search's check of its hits, without reading the pages of their texts.
        Index("ix_chunk_vouched", "id", "document_id", "revision", "enabled", "version", "position"),
    )


class Question(Table, table=True):
    """A saved question of a knowledge base and the passages that would answer it.

    ``expected`` holds at least one of ``{"document": name, "text": words of the passage}``; without ``text`` any
    passage of the document is right. ``restricted_to`` are restricted documents that it is about: the question is
    hidden from everyone who cannot read all of them.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    knowledge_base_id: str = Field(
        foreign_key="knowledge_base.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True
    )
    text: str = Field(sa_type=Text)
    expected: list[dict[str, str]] = Field(default_factory=list, sa_type=JSON)
    restricted_to: list[str] = Field(default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"})
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class Evaluation(Table, table=True):
    """One measurement of a knowledge base's saved questions under the settings of that time.

    ``metrics`` are means over the questions, ``results`` has one entry per question.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    knowledge_base_id: str = Field(
        foreign_key="knowledge_base.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True
    )
    created_by: str = Field(foreign_key="user.id", max_length=ID_LENGTH)
    generation: int
    settings: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    metrics: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    results: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class RetrievalRecord(Table, table=True):
    """The request and the outcome of a run's retrieval, so that it can be replayed."""

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    user_id: str = Field(foreign_key="user.id", max_length=ID_LENGTH, index=True)
    run_id: str | None = Field(default=None, max_length=ID_LENGTH, index=True)
    request: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    results: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class Transfer(Table, table=True):
    """An import or a copy of a whole knowledge base that a worker carries out.

    ``kind`` is ``import`` or ``copy``, ``source`` the storage key of the file or the id of the source knowledge base.
    ``facts`` are for display: the new name, the number of documents, and whether they are re-embedded.
    ``original_bytes`` are reserved in the owner's quota. The row outlives its knowledge base, so that the owner can
    read why it failed.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", max_length=ID_LENGTH, index=True)
    knowledge_base_id: str = Field(max_length=ID_LENGTH, index=True)
    kind: str = Field(max_length=20)
    source: str = Field(max_length=200)
    original_bytes: int = Field(default=0, sa_type=BigInteger)
    status: str = Field(default=DocumentStatus.PENDING.value, max_length=20)
    progress: int = 0
    facts: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    failure: dict[str, str] | None = Field(default=None, sa_type=JSON)
    attempt: int = 0
    lease_owner: str | None = Field(default=None, max_length=100)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class KnowledgeSource(Table, table=True):
    """A place that a knowledge base is kept in step with, such as a folder or a web site.

    ``settings`` are those of its ``connector`` (``ingestion.connectors``). It is synchronized every
    ``sync_every_minutes``, next at ``due_at``; without them only when somebody asks. ``sealed_credentials`` need the
    installation's secret key (``kb_service.knowledge_sources.credentials``).
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    knowledge_base_id: str = Field(foreign_key="knowledge_base.id", ondelete="CASCADE", max_length=ID_LENGTH)
    name: str = Field(max_length=NAME_LENGTH)
    connector: str = Field(max_length=50)
    settings: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    sealed_credentials: dict[str, Any] | None = Field(default=None, sa_type=NullableJson)
    sync_every_minutes: int | None = None
    due_at: datetime | None = Field(default=None, sa_type=UtcDateTime, index=True)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (Index("uq_knowledge_source_name", "knowledge_base_id", "name", unique=True),)


class KnowledgeSourceItem(Table, table=True):
    """A file or a page of a source, and the document made of it.

    ``key`` is stable in the source (a path, an address); its hash is the primary key, because a key may be longer than
    an index takes. ``fingerprint`` is of the contents that the document has, ``state`` what the connector keeps for the
    next sync. ``is_owner`` tells that the document goes with the item: not so a document that somebody had uploaded
    before. ``readers`` are the lists that the source's permissions gave the document (``SourceReader``, as
    ``kind:value``), None where it has none or they are not kept. While searches see an earlier text, those of that text
    are among them, and ``next_readers`` are the lists once the new one is there; None where nothing waits. ``seen_in`` is
    the last sync that met the item, ``failure`` why that sync could not read it.
    """

    source_id: str = Field(
        primary_key=True, foreign_key="knowledge_source.id", ondelete="CASCADE", max_length=ID_LENGTH
    )
    key_hash: str = Field(primary_key=True, max_length=64)
    key: str = Field(sa_type=Text)
    name: str = Field(max_length=255)
    fingerprint: str = Field(default="", max_length=200)
    state: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    document_id: str | None = Field(
        default=None, foreign_key="document.id", ondelete="SET NULL", max_length=ID_LENGTH, index=True
    )
    is_owner: bool = True
    readers: list[list[str]] | None = Field(default=None, sa_type=NullableJson)
    next_readers: list[list[str]] | None = Field(default=None, sa_type=NullableJson)
    seen_in: str = Field(max_length=ID_LENGTH)
    failure: dict[str, str] | None = Field(default=None, sa_type=NullableJson)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (Index("ix_knowledge_source_item_seen", "source_id", "seen_in"),)


class ReaderKind(StrEnum):
    """What a list of a document's source names."""

    EMAIL = "email"
    ROLE = "role"


class SourceReader(Table, table=True):
    """An address or a role that one list of a document's source admits; a person must be in each of its ``levels``.

    ``kind`` is ``email``, with the folded address as ``value``, or ``role``, with the id of the role. A list that admits
    nobody has no rows, and so is met by nobody.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    document_id: str = Field(foreign_key="document.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True)
    level: int
    levels: int
    kind: str = Field(max_length=10)
    value: str = Field(max_length=254)

    __table_args__ = (Index("ix_source_reader_value", "kind", "value"),)


class SyncStatus(StrEnum):
    """Where a sync is; in ``CONFIRM`` it waits for a person to allow its deletions."""

    PENDING = "pending"
    RUNNING = "running"
    CONFIRM = "confirm"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class KnowledgeSourceSync(Table, table=True):
    """One pass over a source; a preview changes nothing.

    ``counts`` are items by outcome, ``examples`` the first names of each outcome that is a change or a failure.
    ``is_cut`` says that a limit of the settings ended it, ``deletions_allowed`` that a person has confirmed the deletions.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    source_id: str = Field(foreign_key="knowledge_source.id", ondelete="CASCADE", max_length=ID_LENGTH)
    is_preview: bool = False
    status: str = Field(default=SyncStatus.PENDING.value, max_length=20)
    counts: dict[str, int] = Field(default_factory=dict, sa_type=JSON)
    examples: dict[str, list[str]] = Field(default_factory=dict, sa_type=JSON)
    is_cut: bool = False
    deletions_allowed: bool = False
    failure: dict[str, str] | None = Field(default=None, sa_type=NullableJson)
    attempt: int = 0
    lease_owner: str | None = Field(default=None, max_length=100)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)

    __table_args__ = (
        Index("ix_knowledge_source_sync_source", "source_id", "created_at"),
        Index(
            "uq_knowledge_source_sync_open",
            "source_id",
            unique=True,
            sqlite_where=text("status IN ('pending', 'running', 'confirm')"),
            postgresql_where=text("status IN ('pending', 'running', 'confirm')"),
        ),
    )


class Attachment(Table, table=True):
    """An uploaded image; its bytes are in the object store.

    ``stored_at`` is set once they are, ``session_id`` once a run used it, and ``deleted_at`` when its session was
    deleted: then the sweep removes file and row.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", max_length=ID_LENGTH, index=True)
    session_id: str | None = Field(
        default=None, foreign_key="chat_session.id", ondelete="SET NULL", max_length=ID_LENGTH, index=True
    )
    storage_key: str = Field(max_length=100, unique=True)
    mime_type: str = Field(max_length=50)
    size: int
    width: int
    height: int
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime, index=True)
    stored_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime, index=True)
