"""Archives of documents: one zip file in, one document per readable member out."""

from fastapi import Depends, Request

from api.dependencies import CurrentContext, CurrentPrincipal, requires
from api.http.errors import error_responses
from api.http.multipart import single_file_form
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from api.knowledge_bases.schemas import UploadAnswer
from api.knowledge_bases.upload import FORM_FIELDS, UploadQuery, files_body, upload_answer, upload_service
from core.auth.permissions import Permission
from core.errors.auth import KnowledgeBaseNotFound, ReadOnly
from core.errors.base import AgentexError
from core.errors.requests import (
    ArchiveLimits,
    CorruptArchive,
    EmptyFile,
    FileTooLarge,
    FileTypeMismatch,
    InvalidFileName,
    InvalidRequest,
    ParserNotEnabled,
    UnsupportedFileType,
)
from core.errors.server import StorageFull
from ingestion.parsers.limits import ParseLimits
from ingestion.upload import UploadOptions, UploadService, UploadTarget
from ingestion.zip_upload import ZipMember, ZipUpload, open_zip_upload
from kb_service import document_names
from kb_service.documents.storage import FileType

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}/documents", tags=["documents"])
Write = Depends(requires(Permission.KB_WRITE))

# Refusals that are about one member; after any other the next would fare no better.
_ABOUT_THE_MEMBER = frozenset({400, 409, 413})


class MemberRefusal(ResponseModel):
    """Why a member of an archive did not become a document."""

    code: int
    message: str
    message_zh: str
    details: dict[str, object]


class MemberAnswer(ResponseModel):
    """What became of one member: a document, or a refusal."""

    path: str
    name: str
    document: UploadAnswer | None = None
    error: MemberRefusal | None = None


class ArchiveAnswer(ResponseModel):
    """What became of each member, in the order of the archive."""

    items: list[MemberAnswer]
    taken_in: int
    refused: int


@router.post(
    "/archive",
    dependencies=[Write],
    openapi_extra=files_body(many=False),
    responses=error_responses(
        InvalidRequest,
        ParserNotEnabled,
        EmptyFile,
        UnsupportedFileType,
        FileTypeMismatch,
        InvalidFileName,
        ArchiveLimits,
        CorruptArchive,
        ReadOnly,
        KnowledgeBaseNotFound,
        FileTooLarge,
        StorageFull,
    ),
)
async def upload_archive(
    kb_id: Text,
    request: Request,
    principal: CurrentPrincipal,
    context: CurrentContext,
    defaults: UploadQuery,
) -> Envelope[ArchiveAnswer]:
    """Upload a zip file; each member that can be read becomes a document of its own.

    Good members go in and bad ones are named, each with its reason. Uploading the same archive
    again changes nothing, so that a broken upload can be repeated. Office files and e-books, which
    are zip files inside, are refused: they are documents themselves.
    """
    service = upload_service(context)
    target = await service.open(principal, kb_id)
    async with single_file_form(request, max_bytes=target.max_bytes, fields=FORM_FIELDS) as form:
        fields = form.fields
        options = service.options(metadata=fields.get("metadata"), **defaults.options(fields))
        name = document_names.clean_name(form.file.filename or "")
        archive = await open_zip_upload(form.file.file, name, ParseLimits())
        try:
            items = [await _upload_member(service, target, archive, member, options) for member in archive.members]
        finally:
            archive.close()
    created = sum(item.document is not None for item in items)
    answer = ArchiveAnswer(items=items, taken_in=created, refused=len(items) - created)
    return Envelope(data=answer)


async def _upload_member(
    service: UploadService, target: UploadTarget, archive: ZipUpload, member: ZipMember, options: UploadOptions
) -> MemberAnswer:
    """Upload one member; raises only errors that concern the whole archive."""
    answer = MemberAnswer(path=member.path, name=member.name)
    try:
        detected = await archive.detect(member, service.support)
        file_type = FileType(detected.name, detected.file_type)
        content = archive.read(member)
        result = await service.upload_stream(target, member.name, file_type, content, options)
        answer.document = upload_answer(result)
        answer.name = answer.document.name
    except AgentexError as error:
        if error.status not in _ABOUT_THE_MEMBER:
            raise
        answer.error = MemberRefusal(
            code=error.code,
            message=error.message,
            message_zh=error.message_zh,
            # Without the list of all extensions, which would be repeated for each member.
            details={k: v for k, v in error.details.items() if k != "supported"},
        )
    return answer
