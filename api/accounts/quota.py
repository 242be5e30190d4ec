"""A user's quota and its use."""

from fastapi import Depends

from api.dependencies import CurrentPrincipal, CurrentSettings, Reading, requires
from api.http.responses import Envelope, ResponseModel
from api.http.routing import Router
from core.auth.permissions import Permission
from kb_service.documents import quota as document_quota

router = Router(prefix="/api/v1/users/me/storage", tags=["users"])
View = Depends(requires(Permission.KB_VIEW))


class StorageAnswer(ResponseModel):
    """The files that the caller keeps; ``limit_bytes`` is null without a quota.

    ``image_bytes`` are those of ``used_bytes`` that are images attached to messages.
    """

    used_bytes: int
    limit_bytes: int | None
    documents: int
    image_bytes: int


@router.get("", dependencies=[View])
async def read_storage(
    principal: CurrentPrincipal, settings: CurrentSettings, session: Reading
) -> Envelope[StorageAnswer]:
    """How many bytes of files the caller keeps, and how many are allowed."""
    storage = await document_quota.storage_usage(session, principal.user_id)
    answer = StorageAnswer(
        used_bytes=storage.used_bytes,
        limit_bytes=settings.user_quota_bytes or None,
        documents=storage.documents,
        image_bytes=storage.image_bytes,
    )
    return Envelope(data=answer)
