"""In-memory retriever, document reader and memories for tests of strategies and tools."""

from datetime import UTC, datetime
from typing import Any

from agents.evidence import DocumentSpan, Evidence, Passage, RetrievedPassages
from agents.llm.extractive.model import ExtractiveModel
from agents.memory_port import MemoryHit, NotStatedByUser, SaveResult
from agents.run_context import RunContext
from agents.tools.base import ToolScope
from core.errors.auth import DocumentNotFound
from core.errors.base import AgentexError
from kb_service.text.tokenizer import tokenize


def passage(
    content: str,
    *,
    id: str = "c1",
    document: str = "guide.md",
    headings: tuple[str, ...] = (),
    start: int = 0,
    page: int | None = None,
) -> Passage:
    return Passage(
        chunk_id=id,
        document_id=f"document-of-{id}",
        document_name=document,
        knowledge_base_id="kb",
        revision=1,
        content=content,
        heading_path=headings,
        page=page,
        char_start=start,
        char_end=start + len(content),
        score=0.0,
    )


INSTALL = passage(
    "You need Python 3.11 or newer. Start it with `agentex serve`. It listens on port 8000.",
    id="install",
    headings=("Installation", "Linux"),
    start=120,
)
SETTINGS = passage(
    "Every setting is an environment variable. The port is changed with AGENTEX_PORT.",
    id="settings",
    document="settings.pdf",
    headings=("Settings",),
    page=3,
)
CHINESE = passage(
    "安装前需要 Python 3.11。默认端口是 8000，可以通过环境变量修改。数据目录保存所有文件。",
    id="chinese",
    document="手册.md",
    headings=("安装",),
)
LIBRARY = (INSTALL, SETTINGS, CHINESE)


class InMemoryRetriever:
    """Ranks by shared lexical tokens, like a search that always gives something."""

    def __init__(
        self,
        passages: tuple[Passage, ...] = LIBRARY,
        *,
        failure: AgentexError | None = None,
        unsearched: tuple[str, ...] = (),
    ) -> None:
        self._passages = passages
        self._failure = failure
        self._unsearched = unsearched
        self.queries: list[str] = []

    async def retrieve(self, query: str, *, top_k: int) -> RetrievedPassages:
        self.queries.append(query)
        if self._failure is not None:
            raise self._failure
        wanted = set(tokenize(query))
        ranked = sorted(
            self._passages,
            key=lambda p: -len(wanted & set(tokenize(f"{p.content} {' '.join(p.heading_path)}"))),
        )
        id_ = f"retrieval-{len(self.queries)}"
        return RetrievedPassages(tuple(ranked[:top_k]), id_, self._unsearched)


class InMemoryDocuments:
    """Reads the documents that the passages are of."""

    def __init__(self, passages: tuple[Passage, ...] = LIBRARY) -> None:
        self._passages = passages

    async def read(self, document: str, *, start: int, end: int) -> DocumentSpan:
        own = [p for p in self._passages if document in (p.document_id, p.document_name)]
        if not own:
            raise DocumentNotFound
        touching = tuple(p for p in own if p.char_start < end and p.char_end > start)
        return DocumentSpan(own[0].document_name, touching, max(p.char_end for p in own))


class InMemoryMemory:
    """Remembers what it is told, except what it is told to take for another's words."""

    def __init__(self, *texts: str, foreign: str = "") -> None:
        self.texts = list(texts)
        self._foreign = foreign

    async def recall(self, about: str, *, most: int) -> tuple[MemoryHit, ...]:
        wanted = set(tokenize(about))
        found = [text for text in self.texts if wanted & set(tokenize(text))]
        day = datetime(2026, 2, 3, tzinfo=UTC)
        return tuple(MemoryHit(text, "user", day) for text in found[:most])

    async def save(self, text: str) -> SaveResult:
        if text == self._foreign:
            raise NotStatedByUser
        is_new = text not in self.texts
        self.texts += [text] if is_new else []
        return SaveResult(f"memory-{self.texts.index(text)}", is_new)


def scope_of(evidence: Evidence | None = None, *, top_k: int = 8, **context: Any) -> ToolScope:
    """The scope of tools in a run with these fields of its context."""
    run = RunContext("", ExtractiveModel(), **context)
    return ToolScope(run, evidence or Evidence(), top_k)
