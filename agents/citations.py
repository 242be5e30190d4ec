"""Passages that a search gives, and the numbered citations an answer points at them with."""

from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import JsonValue

LONGEST_QUERY = 1000
"""Characters of the longest query that agents search with."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved chunk of a document revision.

    Attributes:
        char_start: First character of ``content`` in the document's extracted text.
        score: The retriever's score; comparable within one result list only.
        before: Text in front of the passage, for reading it; it is not cited.
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
    """What one search gave.

    Attributes:
        retrieval_id: By which the search can be looked at and replayed; empty if it was not
            recorded.
        unsearched: Sentences that say which knowledge bases could not be searched, and why.
    """

    passages: tuple[Passage, ...]
    retrieval_id: str = ""
    unsearched: tuple[str, ...] = ()


class Retriever(Protocol):
    """Search over the knowledge bases of one run, already bound to what the caller may see."""

    async def retrieve(self, query: str, *, top_k: int) -> RetrievedPassages:
        """The best passages for the query.

        Args:
            top_k: how many passages at most, where the knowledge bases do not say.
        """
        ...


@dataclass(frozen=True, slots=True)
class DocumentSpan:
    """Part of a document as it is searched now.

    Attributes:
        passages: Those that touch the part, in the document's order.
        length: Characters of the whole document's extracted text.
        namesakes: Ids of other documents of the name it was asked by.
    """

    document_name: str
    passages: tuple[Passage, ...]
    length: int
    namesakes: tuple[str, ...] = ()


class DocumentReader(Protocol):
    """Reads in the documents of one run's knowledge bases, those that the caller may see."""

    async def read(self, document: str, *, start: int, end: int) -> DocumentSpan:
        """A part of a document.

        Raises:
            core.errors.DocumentNotFound: no such document that the caller may search.
        """
        ...


@dataclass(frozen=True, slots=True)
class Citation:
    """What ``[number]`` in an answer stands for.

    Attributes:
        quote: The passage text the answer rests on, verbatim from the document.
        char_start: First character of ``quote`` in the document's extracted text.
        retrieval_id: The search that gave the passage.
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
    """A statement of an answer that its sources do not bear out.

    Attributes:
        reason: ``uncited`` names no source, ``no_source`` names a number that no passage has,
            ``not_in_source`` says what the cited passages do not.
    """

    text: str
    reason: Literal["uncited", "no_source", "not_in_source"]

    def to_json(self) -> dict[str, JsonValue]:
        """The statement as JSON data."""
        return {"text": self.text, "reason": self.reason}
