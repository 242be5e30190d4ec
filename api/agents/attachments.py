"""Images for messages (docs/reference/run-input.md, section "Attachments")."""

from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.responses import FileResponse
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from agents.attachments.image_sanitizer import MIME_TYPES
from agents.attachments.service import AttachmentLimits
from agents.attachments.signed_links import LinkClaim
from api.dependencies import Agents, CurrentContext, CurrentPrincipal, requires
from api.http.errors import error_responses
from api.http.files import RangeFileResponse, file_responses
from api.http.multipart import single_file_form
from api.http.responses import ResponseModel, Text
from api.http.routing import Router
from core.auth.permissions import Permission
from core.errors.auth import InvalidLink, LinkExpired
from core.errors.requests import (
    ArchiveLimits,
    CorruptImage,
    EmptyFile,
    FileNotFetched,
    FileTooLarge,
    FileTypeMismatch,
    ImageTooLarge,
    InvalidRequest,
    QuotaExceeded,
    TextRecognitionMissing,
    UnreadableFile,
    UnsupportedFileType,
    UrlNotAllowed,
)
from core.errors.server import ObjectStoreUnavailable, StorageFull
from kb_service.models import Attachment

router = Router(prefix="/api/v1/agent/attachments", tags=["agent"])
Run = Depends(requires(Permission.AGENT_RUN))
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "additionalProperties": False,
                }
            }
        },
    }
}


class AttachmentAnswer(ResponseModel):
    """An image that was taken in; ``url`` is relative to this server."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    attachment_id: str
    mime_type: str
    url: str
    expires_at: datetime
    size: int
    width: int
    height: int


class ImageResponse(RangeFileResponse):
    """An image as a file, which no browser takes for anything else; ``exit_stack`` is closed after the answer."""

    def __init__(self, path: Path, row: Attachment, exit_stack: AsyncExitStack) -> None:
        super().__init__(
            path,
            media_type=row.mime_type,
            filename=f"{row.id}.{row.mime_type.removeprefix('image/')}",
            content_disposition_type="attachment",
            headers={
                "Content-Security-Policy": "sandbox; default-src 'none'",
                "X-Content-Type-Options": "nosniff",
                "Cross-Origin-Resource-Policy": "same-origin",
            },
        )
        self.exit_stack = exit_stack


ATTACHMENT_ERRORS = (
    EmptyFile,
    UnsupportedFileType,
    CorruptImage,
    FileTooLarge,
    ImageTooLarge,
    QuotaExceeded,
    StorageFull,
    ObjectStoreUnavailable,
)
"""What may be wrong with an image, whether it is uploaded or stands in a message."""
DOCUMENT_ERRORS = (FileTypeMismatch, TextRecognitionMissing, UnreadableFile, ArchiveLimits)
"""What may be wrong with a document in a message."""
LINK_ERRORS = (UrlNotAllowed, FileNotFetched, InvalidLink, LinkExpired)
"""What may be wrong with the address of an image or a document in a message."""


async def _own_hosts(request: Request) -> frozenset[str]:
    return frozenset({request.headers.get("host", "")})


OwnHosts = Annotated[frozenset[str], Depends(_own_hosts)]
"""The names by which the caller knows this server."""


@router.post("", dependencies=[Run], openapi_extra=_FORM, responses=error_responses(InvalidRequest, *ATTACHMENT_ERRORS))
async def create_attachment(request: Request, principal: CurrentPrincipal, context: CurrentContext) -> AttachmentAnswer:
    """Send a PNG, JPEG, WebP or GIF image; its link goes into a message's ``binary`` content."""
    settings = await context.live.now()
    limits = AttachmentLimits(settings.max_attachment_bytes, settings.user_quota_bytes)
    async with single_file_form(request, max_bytes=limits.max_bytes) as form:
        content = await form.file.read(limits.max_bytes + 1)
    row = await context.agents.attachments.add(principal, content, limits)
    link = context.agents.attachments.link(row)
    return AttachmentAnswer(
        attachment_id=row.id,
        mime_type=row.mime_type,
        url=link.url,
        expires_at=link.expires_at,
        size=row.size,
        width=row.width,
        height=row.height,
    )


@router.get(
    "/{attachment_id}/content",
    response_class=FileResponse,
    responses={**file_responses("The image", *MIME_TYPES), **error_responses(InvalidLink, LinkExpired)},
)
async def read_attachment(
    attachment_id: Text,
    agents: Agents,
    expires: Annotated[int, Query(ge=0, le=10**12)],
    signature: Annotated[Text, Query(max_length=64)],
) -> FileResponse:
    """The image of a signed link; needs no other credential."""
    row = await agents.attachments.resolve_claim(LinkClaim(attachment_id, expires, signature))
    async with AsyncExitStack() as stack:
        try:
            path = await stack.enter_async_context(agents.attachments.open(row))
        except FileNotFoundError as error:
            raise InvalidLink(reason="forged") from error
        return ImageResponse(path, row, stack.pop_all())
