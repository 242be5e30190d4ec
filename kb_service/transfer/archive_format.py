"""Contents of a portable knowledge base, as its archive spells them (ADR 17)."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from core.text.sanitize import Storable
from core.types.document_parsers import AUTO_STRATEGY, BUILT_IN
from core.types.text_boxes import BOX_SCALE
from kb_service.models import Document
from kb_service.vector_index.protocol import SparseVector

FORMAT = "agentex-knowledge-base"
FORMAT_VERSION = 1

MAX_DOCUMENTS = 100_000
MAX_CHUNKS = 2_000_000
MAX_DOCUMENT_CHUNKS = 200_000
SHARD_DOCUMENTS = 64
SHARD_POINTS = 2000
"""A shard ends with the document that reaches either number."""
MAX_WINDOWS = 1000
"""Windows of one chunk."""
MAX_TIES = 1000
"""Restricted documents tied to one question."""
MAX_BOXES = 100_000
"""Boxes of one chunk."""
MAX_LATER_PAGES = 10_000
"""Pages that begin within one chunk."""
MAX_TERMS = 100_000
"""Terms of one sparse vector."""

_MAX_ATTRIBUTE_BYTES = 64 * 2**10


def _storable_json(value: dict[str, Any]) -> dict[str, Any]:
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise ValueError("must be JSON without half characters") from error
    if len(text) > _MAX_ATTRIBUTE_BYTES or b"\\u0000" in text:
        raise ValueError("must be short, and without the character NUL")
    return value


DocumentState = Literal["indexed", "changed", "waiting", "failed", "cancelled"]
Count = Annotated[int, Field(ge=0, le=2**53)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[Storable, Field(min_length=1, max_length=255)]
ParserName = Annotated[str, Field(pattern=r"^[a-z0-9_:-]{1,50}$")]
_Offset = Annotated[int, Field(ge=0, lt=2**31)]
_PageNumber = Annotated[int, Field(ge=1, lt=2**31)]
_Share = Annotated[int, Field(ge=0, le=BOX_SCALE)]
BoxEntry = tuple[_Offset, _Offset, _PageNumber, _Share, _Share, _Share, _Share]
"""A ``TextBox`` from anywhere."""


class ArchivePart(BaseModel):
    """Base of archive records; unknown fields of later versions are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class KnowledgeBaseSettings(ArchivePart):
    """Portable settings of a knowledge base; an imported one is private."""

    name: Annotated[Storable, Field(min_length=1, max_length=200)]
    description: Annotated[Storable, Field(max_length=10_000)] = ""
    embedding_model: Annotated[Storable, Field(min_length=1, max_length=200)]
    splitter: Annotated[Storable, Field(min_length=1, max_length=50)]
    chunk_size: Annotated[int, Field(ge=1, le=100_000)]
    chunk_overlap: Annotated[int, Field(ge=0, le=100_000)]
    retrieval: dict[str, Any] = Field(default_factory=dict)
    parser: ParserName = BUILT_IN
    strategy: ParserName = AUTO_STRATEGY


class Counts(ArchivePart):
    """Totals, to check an archive and to show progress."""

    documents: Annotated[int, Field(ge=0, le=MAX_DOCUMENTS)]
    chunks: Annotated[int, Field(ge=0, le=MAX_CHUNKS)]
    points: Count
    questions: Count
    original_bytes: Count
    shards: Annotated[int, Field(ge=0, le=MAX_DOCUMENTS)]


class Manifest(ArchivePart):
    """The archive's manifest, read first."""

    format: Literal["agentex-knowledge-base"] = FORMAT
    version: int = FORMAT_VERSION
    product: Annotated[str, Field(max_length=50)]
    knowledge_base: KnowledgeBaseSettings
    dimension: Annotated[int, Field(ge=1, le=65_536)]
    counts: Counts


@dataclass(frozen=True)
class Extent:
    """Number of documents, and the total size of their files."""

    documents: int
    original_bytes: int


class DocumentEntry(ArchivePart):
    """A document.

    Attributes:
        number: from 1 in the order of names; names the original's file and ties chunks to it.
        state: ``indexed``; ``changed``: indexed, and its original is a newer file that waits; ``waiting``: not indexed
            yet; ``failed``; ``cancelled``.
        chosen_encoding: set by a user; overrides detection.
        chosen_parser: set by a user, as ``chosen_strategy``; overrides the knowledge base's.
        restricted: after import only the owner reads it, until they share it.
    """

    number: Annotated[int, Field(ge=1, le=MAX_DOCUMENTS)]
    name: Name
    file_type: Annotated[Storable, Field(max_length=50)]
    media_type: Annotated[Storable, Field(max_length=150, pattern=r"^[\w.+-]+/[\w.+-]+$")]
    file_size: Annotated[int, Field(ge=1, le=2**53)]
    sha256: Sha256
    state: DocumentState
    chunk_count: Annotated[int, Field(ge=0, le=MAX_DOCUMENT_CHUNKS)] = 0
    attributes: Annotated[dict[str, Any], AfterValidator(_storable_json)] = Field(default_factory=dict)
    restricted: bool = False
    encoding: Annotated[Storable, Field(max_length=50)] | None = None
    chosen_encoding: Annotated[Storable, Field(max_length=50)] | None = None
    parser: ParserName | None = None
    chosen_parser: ParserName | None = None
    chosen_strategy: ParserName | None = None
    pages: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    warnings: Annotated[list[Annotated[Storable, Field(max_length=200)]], Field(max_length=100)] = []
    failure: dict[Storable, Annotated[Storable, Field(max_length=2000)]] | None = None

    @property
    def is_indexed(self) -> bool:
        return self.state in {"indexed", "changed"}


DOCUMENT_FIELDS = set(DocumentEntry.model_fields) & set(Document.model_fields) - {"chunk_count", "failure"}
"""Columns that are exported as they are."""
RESTORED_FIELDS = DOCUMENT_FIELDS - set(Document.PARSED_FIELDS)
"""Those that a restored row starts with; the others are set with its revision."""


class ChunkEntry(ArchivePart):
    """A chunk of a document; positions count from 0 without gaps.

    Attributes:
        later_pages: pages that begin within it, each with its offset, counted as ``char_start`` is.
        boxes: where on the pages its text stands.
    """

    document: int
    position: Annotated[int, Field(ge=0, lt=MAX_DOCUMENT_CHUNKS)]
    content: Annotated[Storable, Field(max_length=1_000_000)]
    heading_path: Annotated[list[Annotated[Storable, Field(max_length=10_000)]], Field(max_length=100)] = []
    page: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    later_pages: Annotated[list[tuple[_Offset, _PageNumber]], Field(max_length=MAX_LATER_PAGES)] | None = None
    char_start: Annotated[int, Field(ge=0, lt=2**31)] = 0
    char_end: Annotated[int, Field(ge=0, lt=2**31)] = 0
    token_count: Annotated[int, Field(ge=0, lt=2**31)] = 0
    enabled: bool = True
    version: Annotated[int, Field(ge=1, lt=2**31)] = 1
    boxes: Annotated[list[BoxEntry], Field(max_length=MAX_BOXES)] | None = None


class QuestionEntry(ArchivePart):
    """One expected passage of a saved question.

    Attributes:
        restricted_to: numbers of restricted documents that it is about; hidden from those who cannot read all of them.
    """

    question: Storable
    document: Storable
    text: Storable = ""
    restricted_to: Annotated[list[Annotated[int, Field(ge=1, le=MAX_DOCUMENTS)]], Field(max_length=MAX_TIES)] = []


@dataclass(frozen=True, eq=False)
class PointEntry:
    """A point of a chunk, or of one of its windows, counted from 0; None is the chunk itself."""

    chunk: int
    window: int | None
    dense: NDArray[np.float32] | None
    sparse: SparseVector


@dataclass(frozen=True)
class DocumentContent:
    """One document with everything that belongs to it.

    Args:
        key: identifies it within its source, the same on each reading.
        original: its file in blocks; readable once, before the next document is requested.
    """

    key: str
    entry: DocumentEntry
    original: AsyncIterator[bytes]
    chunks: Sequence[ChunkEntry] = field(default_factory=tuple)
    points: Sequence[PointEntry] = field(default_factory=tuple)
