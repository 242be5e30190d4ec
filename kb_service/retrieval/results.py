"""The result of a retrieval."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, cast

from sqlmodel import col, select
from sqlmodel.sql.expression import Select

from core.errors.base import AgentexError
from core.text.sanitize import strip_hidden
from kb_service.failures import Outage, describe_model_outage
from kb_service.models import Chunk
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.rerankers.lexical import RankedHit

_MOST_NAMED = 10


@dataclass(frozen=True)
class UnsearchedWarning:
    """A warning that these knowledge bases were not searched; ``error`` is one of ``MODEL_ERRORS``."""

    names: Sequence[str]
    model: str
    error: AgentexError

    @property
    def code(self) -> str:
        return self._why.reason

    @property
    def message(self) -> str:
        names = ", ".join(f'"{name}"' for name in self._first_names())
        others = f" and {self._unnamed} more" if self._unnamed else ""
        return f"Not searched: {names}{others}. {self._why.message}"

    @property
    def message_zh(self) -> str:
        names = "、".join(f"“{name}”" for name in self._first_names())
        others = f"等 {len(self.names)} 个知识库" if self._unnamed else ""
        return f"未搜索：{names}{others}。{self._why.message_zh}"

    @property
    def _why(self) -> Outage:
        return describe_model_outage(self.error, self.model)

    @property
    def _unnamed(self) -> int:
        return max(0, len(self.names) - _MOST_NAMED)

    def _first_names(self) -> list[str]:
        return [strip_hidden(name) for name in self.names[:_MOST_NAMED]]


class FoundChunk(NamedTuple):
    """The fields of a ``Chunk`` that a search shows or needs to find its context.

    Not an ORM object: creating those takes three times as long as reading them.
    """

    id: str
    document_id: str
    knowledge_base_id: str
    revision: int
    position: int
    content: str
    heading_path: list[str]
    page: int | None
    later_pages: list[list[int]] | None
    char_start: int
    char_end: int
    token_count: int
    enabled: bool


def select_chunks() -> Select[*tuple[Any, ...]]:
    """A query of all chunks whose rows are the fields of a ``FoundChunk``."""
    columns: tuple[Any, ...] = tuple(col(getattr(Chunk, name)) for name in FoundChunk._fields)
    return cast("Select[*tuple[Any, ...]]", select(*columns))


class DropReason(Enum):
    """The first thing that excluded a passage, described in English and Chinese."""

    code: str
    message: str
    message_zh: str

    def __init__(self, code: str, message: str, message_zh: str) -> None:
        self.code = code
        self.message = message
        self.message_zh = message_zh

    SHOWN = "shown", "The passage is in the answer", "该段落在结果中"
    KNOWLEDGE_BASE_DISABLED = ("knowledge_base_disabled", "The knowledge base is switched off", "该知识库已停用")
    KNOWLEDGE_BASE_UNSEARCHED = (
        "knowledge_base_unsearched",
        "The knowledge base could not be searched: its embedding model can't be used",
        "无法搜索该知识库：其嵌入模型不可用",
    )
    NOT_SEARCHABLE = ("not_searchable", "The document has no searchable revision yet", "该文档还没有可搜索的版本")
    NOT_ACTIVE = (
        "not_active_revision",
        "The passage belongs to another revision than the one that searches see",
        "该段落不属于当前搜索使用的文档版本",
    )
    CHUNK_DISABLED = "chunk_disabled", "The passage is switched off", "该段落已停用"
    FILTER = "filter", "The document does not meet the filters", "该文档不符合筛选条件"
    TEXT_NOT_FOUND = ("text_not_found", "No passage of the document holds these words", "该文档没有包含这些文字的段落")
    NOT_INDEXED = ("not_indexed", "The index has no point of this passage", "索引中没有该段落")
    NO_MATCH = (
        "no_match",
        "None of the query's words is in it, and this query is searched by words only",
        "段落中没有查询的任何词语，而该查询仅按词语搜索",
    )
    BEYOND_DEPTH = (
        "beyond_depth",
        "It is among the best hundred neither by meaning nor by words",
        "按语义和按词语都不在前一百名之内",
    )
    THRESHOLD = ("threshold", "Its score is below the score threshold", "得分低于分数阈值")
    DUPLICATE = ("duplicate", "A better placed passage has the same text", "排名更高的段落具有相同的文本")
    TOP_K = "top_k", "Enough passages are placed better (top_k)", "排名在 top_k 之后"
    GONE = (
        "gone",
        "The passage or its document was deleted, or you may not see it any more",
        "该段落或其文档已删除，或您已无权查看",
    )


class SearchWarning(Enum):
    """A caveat of a successful answer."""

    code: str
    message: str
    message_zh: str

    def __init__(self, code: str, message: str, message_zh: str) -> None:
        self.code = code
        self.message = message
        self.message_zh = message_zh

    RERANKER_FAILED = (
        "reranker_failed",
        "The reranker did not answer: this is the order of the lexical rerank",
        "重排序服务未响应：当前为词法重排序的结果",
    )
    RERANKER_MISSING = (
        "reranker_not_configured",
        "This reranker is not configured here: this is the order of the lexical rerank",
        "未配置该重排序器：当前为词法重排序的结果",
    )
    KNOWLEDGE_BASE_MISSING = (
        "knowledge_base_missing",
        "A knowledge base of the recorded retrieval is gone, or you may not see it any more",
        "记录中的某个知识库已不存在或您已无权查看",
    )


@dataclass(frozen=True)
class ContextPart:
    """A chunk next to a found one; ``content`` leaves out what its neighbour already shows.

    ``char_start`` and ``char_end`` are the span of ``content`` in the document's text.
    """

    chunk_id: str
    content: str
    char_start: int
    char_end: int


@dataclass(frozen=True)
class FoundPassage:
    """A chunk that answers a query, with its place in the document and in each leg.

    ``char_start`` and ``char_end`` of the chunk count characters of the document's extracted text; ``before`` is in
    reading order.
    """

    chunk: FoundChunk
    document_name: str
    hit: RankedHit
    before: tuple[ContextPart, ...] = ()
    after: tuple[ContextPart, ...] = ()


@dataclass(frozen=True)
class DroppedHit:
    """A candidate that is not in the answer; ``hit`` is None if it was dropped before it had a score."""

    chunk_id: str
    document_id: str
    reason: DropReason
    hit: RankedHit | None = None


@dataclass(frozen=True)
class Timings:
    """Time spent per part, in milliseconds."""

    encode_ms: float = 0.0
    index_ms: float = 0.0
    database_ms: float = 0.0
    rerank_ms: float = 0.0


@dataclass(frozen=True)
class SearchResult:
    """The best passages, best first.

    Args:
        dense_weight: relative to the sparse leg's 1.
        took_ms: milliseconds of the whole search; ``timings`` are parts of it.
        request: with every option resolved.
        generations: the settings number of each searched knowledge base.
        dropped: candidates that are not in the answer, best first; only with ``explain``.
    """

    passages: Sequence[FoundPassage]
    dense_weight: float
    took_ms: float
    request: RetrievalRequest
    generations: dict[str, int] = field(default_factory=dict[str, int])
    dropped: Sequence[DroppedHit] = ()
    warnings: Sequence[SearchWarning | UnsearchedWarning] = ()
    timings: Timings = Timings()
