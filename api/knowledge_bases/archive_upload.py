"""Archives of documents: one zip file in, one document per readable member out."""

from dataclasses import replace

from fastapi import Depends, Request

from api.container import AppContext
from api.dependencies import CurrentContext, CurrentPrincipal, requires
from api.http.errors import error_responses
from api.http.multipart import single_file_form
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from api.knowledge_bases.schemas import UploadAnswer
from api.knowledge_bases.upload import FORM_FIELDS, Intake, chosen, files_body
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
    UnsupportedFileType,
)
from core.errors.server import StorageFull
from ingestion.parsers.limits import ParseLimits
from ingestion.zip_upload import ZipMember, ZipUpload, open_zip_upload
from kb_service import document_names
from kb_service.documents import (
    metadata as document_metadata,
)
from kb_service.documents import (
    storage as document_storage,
)
from kb_service.documents.metadata import Attributes
from kb_service.documents.storage import FileType
from kb_service.documents.upload import OnConflict, Upload

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
    on_conflict: OnConflict = OnConflict.REPLACE,
) -> Envelope[ArchiveAnswer]:
    """Upload a zip file; each member that can be read becomes a document of its own.

    Good members go in and bad ones are named, each with its reason. Uploading the same archive
    again changes nothing, so that a broken upload can be repeated. Office files and e-books, which
    are zip files inside, are refused: they are documents themselves.
    """
    intake = await Intake(context, principal, kb_id, on_conflict).checked()
    async with single_file_form(request, max_bytes=intake.max_bytes, fields=FORM_FIELDS) as form:
        intake = replace(intake, on_conflict=chosen(form.fields, on_conflict))
        sent = form.fields.get("metadata")
        attributes = None if sent is None else document_metadata.parse_attributes(sent)
        name = document_names.clean_name(form.file.filename or "")
        archive = await open_zip_upload(form.file.file, name, ParseLimits())
        try:
            members = _Members(context, intake, archive, attributes)
            items = [await members.take(member) for member in archive.members]
        finally:
            archive.close()
    taken = sum(item.document is not None for item in items)
    return Envelope(data=ArchiveAnswer(items=items, taken_in=taken, refused=len(items) - taken))


class _Members:
    """Takes the members of one archive in, one after the other."""

    def __init__(
        self,
        context: AppContext,
        intake: Intake,
        archive: ZipUpload,
        attributes: Attributes | None,
    ) -> None:
        self._context = context
        self._intake = intake
        self._archive = archive
        self._attributes = attributes

    async def take(self, member: ZipMember) -> MemberAnswer:
        """Make a member a document.

        Raises:
            AgentexError: what is not about this member alone.
        """
        answer = MemberAnswer(path=member.path, name=member.name)
        try:
            found = await self._archive.detect(member)
            name = document_names.clean_name(member.name)
            stored = await document_storage.store_stream(
                self._context.knowledge.store,
                self._archive.read(member),
                max_bytes=self._intake.max_bytes,
            )
            kind = FileType(found.name, found.file_type)
            choice = self._intake.on_conflict
            upload = Upload(name, stored, kind, choice, self._attributes)
            answer.document = await self._intake.write_down(upload)
            answer.name = answer.document.name
        except AgentexError as error:
            if error.status not in _ABOUT_THE_MEMBER:
                raise
            answer.error = MemberRefusal(
                code=error.code,
                message=error.message,
                message_zh=error.message_zh,
                # The list of all endings would be told anew for each member.
                details={k: v for k, v in error.details.items() if k != "supported"},
            )
        return answer
