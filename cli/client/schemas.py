"""Records of the server's answers, as far as the client reads them."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from cli.ui.i18n.common import Language

JsonObject = dict[str, JsonValue]


class Record(BaseModel):
    """Part of an answer; fields that this version does not know pass through to ``--json``."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def to_json(self) -> JsonObject:
        """The record as it came."""
        return self.model_dump(mode="json", exclude_unset=True)


class TokensRecord(Record):
    """What a login or a refresh gives."""

    access_token: str
    refresh_token: str


class SignOnRecord(Record):
    """Whether people can log in at an identity provider."""

    enabled: bool


class AccountRecord(Record):
    """The user a credential belongs to."""

    id: str
    username: str


class NoticeRecord(Record):
    """Something the server wants the person to know about what was done."""

    code: str
    message: str


class KnowledgeBaseRecord(Record):
    """A knowledge base; chunk sizes are in tokens."""

    id: str
    name: str
    description: str | None = None
    embedding_model: str = ""
    splitter: str = ""
    chunk_size: int = 0
    chunk_overlap: int = 0
    document_count: int = 0
    is_public: bool = False
    access: str = "owner"
    can_write: bool = True
    created_at: datetime | None = None
    notices: list[NoticeRecord] = []


class FailureRecord(Record):
    """Why a document could not be ingested and what helps, in both languages."""

    reason: str = ""
    message: str = ""
    next_action: str = ""
    message_zh: str = ""
    next_action_zh: str = ""

    def explain(self, language: Language) -> str:
        """What is wrong and what helps, in a language."""
        pair, stop = (self.message, self.next_action), ". "
        if language is Language.ZH and self.message_zh:
            pair, stop = (self.message_zh, self.next_action_zh), "。"
        sentences = [part.rstrip(" .。") for part in pair if part]
        return "".join(f"{sentence}{stop}" for sentence in sentences).strip() or self.reason


QUEUED = "queued"
"""Why a document waits whose turn has not come."""
# Why a document waits whose knowledge base a person has paused.
_BASE_PAUSED = "knowledge_base_paused"


class DocumentRecord(Record):
    """A document and how far its processing is; ``progress`` is a percentage."""

    id: str
    name: str
    status: Literal["pending", "processing", "paused", "completed", "cancelled", "failed"]
    stage: str = "queued"
    progress: int = 0
    sha256: str = ""
    chunk_count: int = 0
    failure: FailureRecord | None = None
    waiting: FailureRecord | None = None
    updated_at: datetime | None = None
    outcome: str = ""

    @property
    def settled(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        at_rest = self.waiting is not None and self.waiting.reason == _BASE_PAUSED
        return at_rest or self.status in ("completed", "cancelled", "failed", "paused")


class BatchRefusal(Record):
    """Why one file of a batch was not taken in, as an upload of it alone would be answered."""

    code: int
    message: str = ""
    details: dict[str, JsonValue] | None = None


class BatchFileRecord(Record):
    """What became of one file of a batch."""

    document: DocumentRecord | None = None
    error: BatchRefusal | None = None


class BatchRecord(Record):
    """What became of the files of a batch, in their order."""

    items: list[BatchFileRecord] = []


class RefusalRecord(Record):
    """Why a member of an archive was not taken in, in both languages."""

    message: str = ""
    message_zh: str = ""
    details: dict[str, JsonValue] = {}


class ArchiveMemberRecord(Record):
    """What became of a member of an archive."""

    path: str
    document: DocumentRecord | None = None
    error: RefusalRecord | None = None


class ArchiveRecord(Record):
    """What became of the members of an archive."""

    items: list[ArchiveMemberRecord]


class PieceRecord(Record):
    """A passage that a document would be cut into."""

    index: int
    text: str
    token_count: int
    heading_path: list[str] = []
    page: int | None = None


class SplitPreviewRecord(Record):
    """The first passages of a document that was cut to look at, and figures over all."""

    splitter: str
    chunk_size: int
    chunk_overlap: int
    pieces: list[PieceRecord]
    total: int
    mean_tokens: float
    max_tokens: int
    windows: int = 0


class NeighbourRecord(Record):
    """Text beside a found passage."""

    content: str = ""


class HitRecord(Record):
    """One passage that a search found."""

    document_id: str
    document_name: str
    chunk_id: str
    content: str
    score: float
    heading_path: list[str] = []
    page: int | None = None
    before: list[NeighbourRecord] = []
    after: list[NeighbourRecord] = []
    legs: dict[str, JsonValue] | None = None


class ReasonRecord(Record):
    """A fact about an answer in both languages."""

    code: str = ""
    message: str = ""
    message_zh: str = ""


class DroppedHitRecord(Record):
    """A candidate that is not in the answer."""

    chunk_id: str
    reason: ReasonRecord
    score: float | None = None


class ExplainedRecord(Record):
    """How an answer came about, as far as the terminal shows it."""

    dropped: list[DroppedHitRecord] = []


class SearchRecord(Record):
    """The passages of a search, best first."""

    results: list[HitRecord]
    took_ms: float | None = None
    warnings: list[ReasonRecord] = []
    explain: ExplainedRecord | None = None


class LegPositionRecord(Record):
    """A passage's place in one leg; no rank where it lies too deep to be counted."""

    rank: int | None = None
    score: float


class AbsenceRecord(Record):
    """What became of one passage in a search."""

    reason: ReasonRecord
    document_name: str = ""
    dense: LegPositionRecord | None = None
    sparse: LegPositionRecord | None = None
    dense_used: bool = True
    place: int | None = None
    score: float | None = None
    lowest_score_shown: float | None = None


class CitationRecord(Record):
    """What ``[number]`` in an answer stands for."""

    number: int
    document_name: str = ""
    heading_path: list[str] = []
    page: int | None = None
    quote: str = ""


class ComponentRecord(Record):
    """One part of the server as ``/readyz`` tells it."""

    status: str
    detail: JsonValue = None


class ReadinessRecord(Record):
    """The answer of ``/readyz``."""

    status: str
    components: dict[str, ComponentRecord] = Field(default_factory=dict[str, ComponentRecord])


class InterruptRecord(Record):
    """What a run waits for."""

    id: str
    reason: str
    message: str = ""


class RunOutcomeRecord(Record):
    """How a run ended, where it was not plain success."""

    type: str
    interrupts: list[InterruptRecord] = []


class RunResultRecord(Record):
    """What a finished run leaves."""

    citations: list[CitationRecord] = []


class EventRecord(Record):
    """An AG-UI event, as far as the terminal shows it."""

    type: str
    delta: JsonValue = None
    step_name: str = Field(default="", alias="stepName")
    tool_call_name: str = Field(default="", alias="toolCallName")
    message: str = ""
    result: RunResultRecord | None = None
    outcome: RunOutcomeRecord | None = None
