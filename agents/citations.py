"""Retrieved passages and the numbered citations that answers refer to them by."""

from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import JsonValue

LONGEST_QUERY = 1000
"""Characters of the longest query that agents search with."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved chunk of a document revision.

    Attributes:
        char_start: Offset of ``content`` in the document's extracted text.
        score: Comparable within one result list only.
        before: Text in front of the passage, for reading; it is not cited.
    """

    chunk_id: str
    document_id: str
    document_name: str
    knowledge_base_id: str
    revision: int
    content: str
    heading_path: tuple[str, ...]
    page: int | None
    char_start: int
    char_end: int
    score: float
    before: str = ""
    after: str = ""
    retrieval_id: str = ""


@dataclass(frozen=True, slots=True)
class RetrievedPassages:
    """The result of one search.

    Attributes:
        retrieval_id: Key for inspecting and replaying the search; empty if it was not recorded.
        unsearched: Sentences naming the knowledge bases that could not be searched, and why.
    """

    passages: tuple[Passage, ...]
    retrieval_id: str = ""
    unsearched: tuple[str, ...] = ()


class Retriever(Protocol):
    """Search over the knowledge bases of one run, already bound to what the caller may see."""

    async def retrieve(self, query: str, *, top_k: int) -> RetrievedPassages:
        """The best passages; ``top_k`` applies to knowledge bases without a setting of their own."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentSpan:
    """Part of a document as it is searched now.

    Attributes:
        passages: Passages that overlap the part, in document order.
        length: Characters of the whole extracted text.
        namesakes: Ids of other documents with the requested name.
    """

    document_name: str
    passages: tuple[Passage, ...]
    length: int
    namesakes: tuple[str, ...] = ()


class DocumentReader(Protocol):
    """Reader of the documents that one run's caller may see."""

    async def read(self, document: str, *, start: int, end: int) -> DocumentSpan: ...


@dataclass(frozen=True, slots=True)
class Citation:
    """The meaning of ``[number]`` in an answer.

    Attributes:
        quote: Supporting text, verbatim from the document.
        char_start: Offset of ``quote`` in the document's extracted text.
    """

    number: int
    chunk_id: str
    document_id: str
    document_name: str
    knowledge_base_id: str
    revision: int
    heading_path: tuple[str, ...]
    page: int | None
    char_start: int
    char_end: int
    quote: str
    retrieval_id: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """The citation as JSON data; ``page`` is left out where the format has no pages."""
        data: dict[str, JsonValue] = {
            "number": self.number,
            "chunk_id": self.chunk_id,
            "document_id": self.document_id,
            "document_name": self.document_name,
            "knowledge_base_id": self.knowledge_base_id,
            "revision": self.revision,
            "heading_path": list(self.heading_path),
            "char_start": self.char_start,
            "char_end": self.char_end,
            "quote": self.quote,
        }
        if self.page is not None:
            data["page"] = self.page
        if self.retrieval_id:
            data["retrieval_id"] = self.retrieval_id
        return data


@dataclass(frozen=True, slots=True)
class UnsupportedClaim:
    """A statement of an answer that its sources do not support.

    Attributes:
        reason: ``uncited`` has no source, ``no_source`` cites a number without a passage,
            ``not_in_source`` is not in the cited passages.
    """

    text: str
    reason: Literal["uncited", "no_source", "not_in_source"]

    def to_json(self) -> dict[str, JsonValue]:
        return {"text": self.text, "reason": self.reason}
