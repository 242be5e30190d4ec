"""Records of the server's responses, limited to the fields that the client reads."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from cli.ui.i18n.common import Language

JsonObject = dict[str, JsonValue]


class Record(BaseModel):
    """Part of a response; unknown fields pass through to ``--json``."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def to_json(self) -> JsonObject:
        return self.model_dump(mode="json", exclude_unset=True)


class TokensRecord(Record):
    """Tokens of a login or a refresh."""

    access_token: str
    refresh_token: str


class SignOnRecord(Record):
    """Whether the server has an identity provider."""

    enabled: bool


class AccountRecord(Record):
    """The owner of a credential."""

    id: str
    username: str


class AdviceRecord(Record):
    """What is the case and what to do about it, in both languages."""

    message: str = ""
    next_action: str = ""
    message_zh: str = ""
    next_action_zh: str = ""

    def explain(self, language: Language) -> str:
        """Both in a language; in English where there is no Chinese."""
        pair, stop = (self.message, self.next_action), ". "
        if language is Language.ZH and self.message_zh:
            pair, stop = (self.message_zh, self.next_action_zh), "。"
        sentences = [part.rstrip(" .。") for part in pair if part]
        return "".join(f"{sentence}{stop}" for sentence in sentences).strip()


class NoticeRecord(AdviceRecord):
    """A remark of the server about a knowledge base or a completed action."""

    code: str


class KnowledgeBaseRecord(Record):
    """A knowledge base; chunk sizes are in tokens."""

    id: str
    name: str
    description: str | None = None
    embedding_model: str = ""
    splitter: str = ""
    chunk_size: int = 0
    chunk_overlap: int = 0
    parser: str = "built_in"
    strategy: str = "auto"
    document_count: int = 0
    is_public: bool = False
    access: str = "owner"
    can_write: bool = True
    created_at: datetime | None = None
    notices: list[NoticeRecord] = []


class FailureRecord(AdviceRecord):
    """Why a document could not be ingested and what helps."""

    reason: str = ""

    def explain(self, language: Language) -> str:
        return super().explain(language) or self.reason


QUEUED = "queued"
"""Why a document waits whose turn has not come."""
# Why a document waits whose knowledge base a person has paused.
_BASE_PAUSED = "knowledge_base_paused"


class DocumentRecord(Record):
    """A document and its processing state; ``progress`` is a percentage."""

    id: str
    name: str
    status: Literal["pending", "processing", "paused", "completed", "cancelled", "failed"]
    stage: str = "queued"
    progress: int = 0
    sha256: str = ""
    chunk_count: int = 0
    chosen_parser: str | None = None
    chosen_strategy: str | None = None
    failure: FailureRecord | None = None
    waiting: FailureRecord | None = None
    updated_at: datetime | None = None
    outcome: str = ""

    @property
    def settled(self) -> bool:
        """Whether its state will not change by itself."""
        at_rest = self.waiting is not None and self.waiting.reason == _BASE_PAUSED
        return at_rest or self.status in ("completed", "cancelled", "failed", "paused")


class BatchRefusal(Record):
    """Why one file of a batch was refused, in the form of a single upload's error."""

    code: int
    message: str = ""
    details: dict[str, JsonValue] | None = None


class BatchFileRecord(Record):
    """Outcome of one file of a batch."""

    document: DocumentRecord | None = None
    error: BatchRefusal | None = None


class BatchRecord(Record):
    """Outcomes of a batch's files, in their order."""

    items: list[BatchFileRecord] = []


class RefusalRecord(Record):
    """Why a member of an archive was refused, in both languages."""

    message: str = ""
    message_zh: str = ""
    details: dict[str, JsonValue] = {}


class ArchiveMemberRecord(Record):
    """Outcome of one member of an archive."""

    path: str
    document: DocumentRecord | None = None
    error: RefusalRecord | None = None


class ArchiveRecord(Record):
    """Outcomes of an archive's members."""

    items: list[ArchiveMemberRecord]


class PieceRecord(Record):
    """A passage of a split preview."""

    index: int
    text: str
    token_count: int
    heading_path: list[str] = []
    page: int | None = None


class SplitPreviewRecord(Record):
    """The first passages of a previewed document, and figures over all."""

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
    """One passage found by a search."""

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
    """A fact about a search result, in both languages."""

    code: str = ""
    message: str = ""
    message_zh: str = ""


class DroppedHitRecord(Record):
    """A candidate that is not in the result."""

    chunk_id: str
    reason: ReasonRecord
    score: float | None = None


class ExplainedRecord(Record):
    """Explanation of a search result, as far as the terminal shows it."""

    dropped: list[DroppedHitRecord] = []


class SearchRecord(Record):
    """The passages of a search, best first."""

    results: list[HitRecord]
    took_ms: float | None = None
    warnings: list[ReasonRecord] = []
    explain: ExplainedRecord | None = None


class LegPositionRecord(Record):
    """A passage's place in one leg; no rank if it is too deep to be counted."""

    rank: int | None = None
    score: float


class AbsenceRecord(Record):
    """The fate of one passage in a search."""

    reason: ReasonRecord
    document_name: str = ""
    dense: LegPositionRecord | None = None
    sparse: LegPositionRecord | None = None
    dense_used: bool = True
    place: int | None = None
    score: float | None = None
    lowest_score_shown: float | None = None


class CitationRecord(Record):
    """The source behind ``[number]`` in an answer."""

    number: int
    document_name: str = ""
    heading_path: list[str] = []
    page: int | None = None
    quote: str = ""


class ComponentRecord(Record):
    """One part of the server in ``/readyz``."""

    status: str
    detail: JsonValue = None


class ReadinessRecord(Record):
    """The response of ``/readyz``."""

    status: str
    components: dict[str, ComponentRecord] = Field(default_factory=dict[str, ComponentRecord])


class InterruptRecord(Record):
    """A question on which a run waits."""

    id: str
    reason: str
    message: str = ""


class RunOutcomeRecord(Record):
    """The outcome of a run that was not a plain success."""

    type: str
    interrupts: list[InterruptRecord] = []


class RunResultRecord(Record):
    """The result of a finished run."""

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
