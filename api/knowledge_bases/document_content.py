"""Download of a document's original file."""

import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import IO

from fastapi import Depends
from fastapi.responses import FileResponse

from api.dependencies import CurrentDatabase, CurrentPrincipal, Knowledge, requires
from api.http.errors import error_responses
from api.http.files import RangeFileResponse, file_responses
from api.http.responses import Text
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.principal import Action
from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound
from kb_service.documents import queries as document_queries
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Document
from kb_service.object_storage.protocol import ObjectStore

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}/documents", tags=["documents"])
View = Depends(requires(Permission.KB_VIEW))


class StoredFileResponse(RangeFileResponse):
    """A stored file as a download that no browser runs or shows as a page of this site.

    It is open, so that its bytes outlive a deletion; ``exit_stack`` is closed after the answer.
    """

    def __init__(self, file: IO[bytes], document: Document, exit_stack: AsyncExitStack) -> None:
        descriptor = file.fileno()
        super().__init__(
            Path(f"/dev/fd/{descriptor}"),
            stat_result=os.fstat(descriptor),
            media_type=document.media_type,
            filename=document.name,
            content_disposition_type="attachment",
            headers={
                "Content-Security-Policy": "sandbox; default-src 'none'",
                "X-Content-Type-Options": "nosniff",
                "ETag": f'"{document.sha256}"',
            },
        )
        self.exit_stack = exit_stack


@router.get(
    "/{doc_id}/content",
    dependencies=[View],
    response_class=FileResponse,
    responses={
        # The media type is that of the document.
        **file_responses("The file", "*/*"),
        **error_responses(KnowledgeBaseNotFound, DocumentNotFound),
    },
)
async def download_document(
    kb_id: Text, doc_id: Text, principal: CurrentPrincipal, database: CurrentDatabase, knowledge: Knowledge
) -> FileResponse:
    """Download the file as it was uploaded last."""
    async with database.reading() as session:
        row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
        document = await document_queries.get(session, principal, row.id, doc_id)
    return await stored_file(knowledge.store, document)


async def stored_file(store: ObjectStore, document: Document) -> StoredFileResponse:
    """A document's file as an answer; ``DocumentNotFound`` if it was just deleted or replaced."""
    async with AsyncExitStack() as stack:
        try:
            path = await stack.enter_async_context(store.local_copy(document.storage_key))
            file = stack.enter_context(path.open("rb"))
        except FileNotFoundError as error:
            raise DocumentNotFound from error
        return StoredFileResponse(file, document, stack.pop_all())
