"""The retrieval request, shared by the test page, the terminal, agents and replays."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from core.types.strict import StrictJsonModel
from kb_service.models import KnowledgeBase
from kb_service.retrieval.filters import Filters
from kb_service.retrieval.rerankers import LEXICAL
from kb_service.retrieval.rerankers import NAMES as RERANKERS

MAX_TOP_K = 100
MAX_NEIGHBOURS = 5
EXPANSION_TOKENS = 1500
"""Default number of tokens of a section shown around a passage, including the passage."""

Expansion = Literal["none", "section"]


def _check_reranker(reranker: str | None) -> str | None:
    if reranker is not None and reranker not in RERANKERS:
        raise ValueError(f"Use one of {', '.join(RERANKERS)}")
    return reranker


class RetrievalOptions(StrictJsonModel):
    """How to retrieve; None leaves a choice to the knowledge base, and then to the product.

    Attributes:
        top_k: passages at most.
        score_threshold: passages whose final score (0 to 1) is lower are dropped.
        neighbours: chunks before and behind each passage that are shown with it.
        expand: ``section`` shows the rest of the heading section around each passage.
        expand_tokens: most tokens of a section, the passage included.
        rerank: False leaves the order of the fusion.
        reranker: name in the registry of rerankers.
        deduplicate: drop a passage whose text equals that of a better one.
        dense_weight: weight of the dense leg against the sparse one's 1; None lets the encoder's
            languages and the query's script decide.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    top_k: Annotated[int | None, Field(ge=1, le=MAX_TOP_K)] = None
    score_threshold: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)] = None
    neighbours: Annotated[int | None, Field(ge=0, le=MAX_NEIGHBOURS)] = None
    expand: Expansion | None = None
    expand_tokens: Annotated[int | None, Field(ge=50, le=8000)] = None
    rerank: bool | None = None
    reranker: Annotated[str | None, AfterValidator(_check_reranker)] = None
    deduplicate: bool | None = None
    dense_weight: Annotated[float | None, Field(ge=0, le=2, allow_inf_nan=False)] = None

    def choices(self) -> dict[str, Any]:
        names = RetrievalOptions.model_fields.keys()
        return self.model_dump(mode="json", include=set(names), exclude_none=True)

    def changes(self) -> dict[str, Any]:
        """The options that the caller named, JSON-ready: None resets one, absent ones stay."""
        return self.model_dump(mode="json", exclude_unset=True)


class RetrievalRequest(BaseModel):
    """A retrieval with every choice made: run again on the same data, it gives the same answer.

    The fields mean what they mean in ``RetrievalOptions``.

    Attributes:
        query: a question or keywords, in Chinese, English or both.
        knowledge_base_ids: where to search.
        filters: which documents count.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    query: str
    knowledge_base_ids: tuple[str, ...]
    filters: Filters = Filters()
    top_k: int = 5
    score_threshold: float = 0.0
    neighbours: int = 0
    expand: Expansion = "none"
    expand_tokens: int = EXPANSION_TOKENS
    rerank: bool = True
    reranker: str = LEXICAL
    deduplicate: bool = True
    dense_weight: float | None = None

    @classmethod
    def resolve(
        cls,
        query: str,
        knowledge_bases: Sequence[KnowledgeBase],
        options: RetrievalOptions | None = None,
        *,
        filters: Filters | None = None,
        fallback: RetrievalOptions | None = None,
    ) -> Self:
        """Resolve every option: the request's, else the knowledge bases', else the fallback's.

        Args:
            knowledge_bases: their defaults count if all of them agree.
            fallback: the caller's own defaults.
        """
        chosen = {
            **(fallback.choices() if fallback else {}),
            **_common_defaults(knowledge_bases),
            **(options.choices() if options else {}),
        }
        ids = tuple(knowledge_base.id for knowledge_base in knowledge_bases)
        return cls(query=query, knowledge_base_ids=ids, filters=filters or Filters(), **chosen)

    def to_json(self) -> dict[str, Any]:
        """The request for a record; ``model_validate`` reads it back."""
        return self.model_dump(mode="json")


def _common_defaults(knowledge_bases: Sequence[KnowledgeBase]) -> dict[str, Any]:
    """The defaults that all knowledge bases agree on; contradictory ones are ignored."""
    sets = [_defaults(knowledge_base.retrieval) for knowledge_base in knowledge_bases]
    if not sets:
        return {}
    first, *others = sets
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _defaults(stored: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return RetrievalOptions.model_validate(dict(stored)).choices()
    except ValidationError:
        # Written by another version: an invalid default must not fail a search.
        return {}
