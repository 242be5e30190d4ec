"""The evidence of one run: retrieved passages, their numbers and citations, and their text form for models."""

import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import JsonValue

from core.json_access import as_list, as_object, as_text, parse

LONGEST_QUERY = 1000
"""Characters of the longest query that agents search with."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved chunk of a document revision.

    Attributes:
        char_start: Offset of ``content`` in the document's extracted text.
        later_pages: Offset, counted as ``char_start`` is, and number of each page that begins within the passage.
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
    later_pages: tuple[tuple[int, int], ...] = ()


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


_CUT_MARK = "…"
_FRAME = '{{"passages": [{}]{}}}'
_END = ", {}"
_BETWEEN = ", "


@dataclass(frozen=True, slots=True)
class NumberedText:
    """A passage as read back from its text form."""

    number: int
    document_name: str
    heading_path: tuple[str, ...]
    text: str


@dataclass(slots=True)
class _NumberedPassage:
    passage: Passage
    query: str
    is_relevant: bool = True


@dataclass(frozen=True, slots=True)
class EvidenceFinding:
    """Passages of one call to ``Evidence.add``."""

    query: str
    passages: tuple[Passage, ...]


_findings: ContextVar[list[EvidenceFinding] | None] = ContextVar("findings", default=None)


@contextmanager
def record_findings() -> Generator[list[EvidenceFinding]]:
    """Collect everything that this task adds to any evidence within the block."""
    noted: list[EvidenceFinding] = []
    token = _findings.set(noted)
    try:
        yield noted
    finally:
        _findings.reset(token)


class Evidence:
    """Passages of a run; a chunk keeps its number for good."""

    def __init__(self) -> None:
        self._entries: dict[int, _NumberedPassage] = {}
        self._numbers: dict[str, int] = {}

    def add(self, passages: Iterable[Passage], *, query: str) -> list[int]:
        """Number the passages of one search; chunks that have a number keep it."""
        batch = tuple(passages)
        if (noted := _findings.get()) is not None:
            noted.append(EvidenceFinding(query, batch))
        numbers: list[int] = []
        for passage in batch:
            number = self._numbers.setdefault(passage.chunk_id, len(self._numbers) + 1)
            self._entries.setdefault(number, _NumberedPassage(passage, query))
            numbers.append(number)
        return numbers

    def grade(self, relevant: Iterable[int]) -> None:
        """Mark exactly these numbers as relevant."""
        relevant_numbers = set(relevant)
        for number, entry in self._entries.items():
            entry.is_relevant = number in relevant_numbers

    def get(self, number: int) -> Passage | None:
        entry = self._entries.get(number)
        return entry.passage if entry else None

    def numbers(self, *, relevant_only: bool = False, query: str = "") -> list[int]:
        """Numbers in ascending order; optionally only relevant ones, or those first found by a query."""
        return [
            number
            for number, entry in self._entries.items()
            if (entry.is_relevant or not relevant_only) and (not query or entry.query == query)
        ]

    def to_json(self) -> list[JsonValue]:
        """Locations and grades for the shared state, without text."""
        return [_entry_json(number, entry) for number, entry in self._entries.items()]

    def text(
        self, numbers: Iterable[int], *, limit: int, retrieval_id: str = "", about: dict[str, JsonValue] | None = None
    ) -> str:
        """The passages as JSON text of at most ``limit`` characters, with ``about`` as further fields.

        JSON, because it delimits untrusted text: nothing in a passage can end its own string. To fit,
        first the surrounding text and then whole passages are dropped; the first passage is cut.
        """
        items: list[str] = []
        extra = {**(about or {}), **({"retrieval_id": retrieval_id} if retrieval_id else {})}
        end = _END.format(_dump(extra)[1:-1]) if extra else ""
        room = limit - len(_FRAME) - len(end)
        for number in numbers:
            passage = self._entries[number].passage
            item = _dump(_passage_json(number, passage, passage.content, with_context=True))
            if len(item) > room:
                item = _dump(_passage_json(number, passage, passage.content))
            if len(item) > room:
                if items:
                    break
                item = _cut_to(room, number, passage)
            room -= len(item) + len(_BETWEEN)
            items.append(item)
        return _FRAME.format(_BETWEEN.join(items), end)


def _dump(data: dict[str, JsonValue]) -> str:
    return json.dumps(data, ensure_ascii=False)


def _cut_to(room: int, number: int, passage: Passage) -> str:
    content = passage.content
    while True:
        # Escapes make the JSON longer than the text, by how much depends on the text.
        content = content[: len(content) * 3 // 4]
        item = _dump(_passage_json(number, passage, content + _CUT_MARK))
        if len(item) <= room or not content:
            return item


def _passage_json(number: int, passage: Passage, content: str, *, with_context: bool = False) -> dict[str, JsonValue]:
    data: dict[str, JsonValue] = {"number": number, "document": passage.document_name}
    if passage.heading_path:
        data["headings"] = list(passage.heading_path)
    if passage.page is not None:
        data["page"] = passage.page
    if with_context and passage.before:
        data["before"] = passage.before
    data["text"] = content
    if with_context and passage.after:
        data["after"] = passage.after
    return data


def _entry_json(number: int, entry: _NumberedPassage) -> dict[str, JsonValue]:
    passage = entry.passage
    data: dict[str, JsonValue] = {
        "number": number,
        "query": entry.query,
        "relevant": entry.is_relevant,
        "score": passage.score,
        "chunk_id": passage.chunk_id,
        "document_id": passage.document_id,
        "document_name": passage.document_name,
        "knowledge_base_id": passage.knowledge_base_id,
        "revision": passage.revision,
        "heading_path": list(passage.heading_path),
        "char_start": passage.char_start,
        "char_end": passage.char_end,
    }
    if passage.page is not None:
        data["page"] = passage.page
    if passage.retrieval_id:
        data["retrieval_id"] = passage.retrieval_id
    return data


def read_passages(text: str) -> list[NumberedText] | None:
    """Parse the text form; None for any other text."""
    try:
        data = as_object(parse(text))
    except ValueError:
        return None
    if "passages" not in data:
        return None
    return [_numbered_text(as_object(item)) for item in as_list(data["passages"])]


def _numbered_text(item: dict[str, JsonValue]) -> NumberedText:
    number = item.get("number")
    return NumberedText(
        number if isinstance(number, int) else 0,
        as_text(item.get("document")),
        tuple(as_text(heading) for heading in as_list(item.get("headings"))),
        as_text(item.get("text")),
    )
