"""Skills as files (seed 002, section 8.7)."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Response

from api.dependencies import CurrentPrincipal, Reading, requires
from api.envelope import Text
from api.errors import error_responses
from core.accounts.permissions import Permission
from core.errors import ErrorCode
from skills import reading

router = APIRouter(prefix="/api/v1/skills", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
MARKDOWN = "text/markdown; charset=utf-8"
_TEXT: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_DOWNLOAD: dict[int | str, dict[str, Any]] = {
    200: {"description": "The stored bytes", "content": {"text/markdown": _TEXT}}
}


def attachment(slug: str, name: str, suffix: str) -> str:
    """The header that names a download: for everybody, and as people call it."""
    encoded = quote(name.replace("/", "-"), safe="")
    return f"attachment; filename=\"{slug}{suffix}\"; filename*=UTF-8''{encoded}{suffix}"


@router.get(
    "/{skill_id}/export",
    dependencies=[View],
    response_class=Response,
    responses=error_responses(ErrorCode.SKILL_NOT_FOUND, ErrorCode.SKILL_VERSION_NOT_FOUND)
    | _DOWNLOAD,
)
async def export_skill(
    skill_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Response:
    """The content of a skill, byte for byte as it was stored."""
    seen = await reading.get(session, principal, skill_id)
    row = await reading.version_of(session, seen, version)
    headers = {
        "Content-Disposition": attachment(seen.skill.slug, seen.skill.name, ".md"),
        "ETag": f'"{row.content_sha256}"',
    }
    content = await reading.content_of(session, row)
    return Response(content, media_type=MARKDOWN, headers=headers)
