"""The public knowledge base with Agentex's own documentation."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio

from core.auth.principal import Principal
from core.db.unit_of_work import UnitOfWork
from core.settings import Settings
from ingestion.parsers.file_type import detect_type
from kb_service.documents import storage as document_storage
from kb_service.documents import upload as document_upload
from kb_service.documents.storage import FileType
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.service import KnowledgeBaseDraft
from kb_service.models import KnowledgeBase
from kb_service.object_storage.factory import open_object_store

DOCUMENTATION_NAME = "Agentex documentation"
DOCUMENTATION_ID = "5d8f6c1e-0a47-4e8b-9d0c-a9e27e0d0c50"
"""The id of its knowledge base in every installation, by which the console finds it (docs/api.md)."""
# What the console suggests to ask is answered here: these are searchable first.
_FIRST = ("console.md", "documents.md", "languages.md", "skills.md", "getting-started.md")
_HEAD_BYTES = 8192


def documentation_files() -> list[Path]:
    """The user documentation: beside the packages in a checkout, inside this one when installed."""
    checkout = Path(__file__).parents[2] / "docs" / "guide"
    folder = checkout if checkout.is_dir() else Path(__file__).parents[1] / "documentation"
    return sorted(folder.rglob("*.md"), key=lambda path: (path.name not in _FIRST, path))


async def add(work: UnitOfWork, settings: Settings, admin: Principal) -> None:
    """Queue Agentex's own documentation, so that the first question has an answer."""
    files = documentation_files()
    if not files:
        return
    draft = KnowledgeBaseDraft(
        name=DOCUMENTATION_NAME,
        description="How to use Agentex, in English and Chinese / Agentex 使用文档（中英文）",
        is_public=True,
    )
    model = knowledge_bases.choose_model(None).model
    row = await knowledge_bases.create(work, admin, draft, embedding_model=model, knowledge_base_id=DOCUMENTATION_ID)
    for path in files:
        await _add_document(work, settings, row, path)


async def _add_document(work: UnitOfWork, settings: Settings, knowledge_base: KnowledgeBase, path: Path) -> None:
    content = await anyio.Path(path).read_bytes()

    async def blocks() -> AsyncIterator[bytes]:
        yield content

    store = open_object_store(settings)
    stored = await document_storage.store_stream(store, blocks(), max_bytes=settings.max_upload_bytes)
    detected = detect_type(path.name, content[:_HEAD_BYTES], len(content))
    name = f"{path.parent.name}-{path.name}"
    kind = FileType(detected.name, detected.file_type)
    await document_upload.add_document(work, knowledge_base, name=name, file=stored, file_type=kind)
