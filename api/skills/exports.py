"""Skills as files (docs/reference/agentex-api.md, section 8.7)."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Response
from pydantic import Field

from api.dependencies import CurrentPrincipal, Reading, requires
from api.http.errors import error_responses
from api.http.files import content_disposition
from api.http.responses import RequestModel, Text
from api.http.routing import Router
from core.auth.permissions import Permission
from core.errors.auth import SkillNotFound, SkillVersionNotFound
from core.errors.conflicts import SkillNotExportable
from skills.packages.writer import ExportProfile
from skills.store import access as skill_access
from skills.transfer import export_service
from skills.validation import digest

router = Router(prefix="/api/v1/skills", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
MARKDOWN = "text/markdown; charset=utf-8"
ZIP = "application/zip"
_BYTES: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_ARCHIVE: dict[int | str, dict[str, Any]] = {200: {"description": "An archive", "content": {ZIP: _BYTES}}}
_DOWNLOAD: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The stored bytes, or a folder as an archive",
        "content": {"text/markdown": _BYTES, ZIP: _BYTES},
    }
}


class ExportBody(RequestModel):
    """Which skills, in the order in which names are given where two are the same."""

    ids: list[Text] = Field(min_length=1, max_length=100)
    profile: ExportProfile = ExportProfile.PORTABLE


@router.get(
    "/{skill_id}/export",
    dependencies=[View],
    response_class=Response,
    responses=error_responses(SkillNotFound, SkillVersionNotFound, SkillNotExportable) | _DOWNLOAD,
)
async def export_skill(
    skill_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    format: Annotated[
        Literal["markdown", "agent-skill"], Query(description="The file, or a folder as a zip")
    ] = "markdown",
    profile: Annotated[ExportProfile, Query(description="For whom the folder is")] = ExportProfile.PORTABLE,
) -> Response:
    """The content of a skill, byte for byte as it was stored, or a folder of the open standard.

    The folder has one SKILL.md that the standard's validator accepts, and the files beside it. The
    same skill gives the same bytes.
    """
    view = await skill_access.get(session, principal, skill_id)
    row = await skill_access.get_version(session, view, version)
    if format == "agent-skill":
        package = await export_service.export_one(await export_service.read_source(session, view, row), profile)
        return await _zip(package.content, content_disposition(view.skill.name, fallback=package.slug, extension="zip"))
    headers = {
        "Content-Disposition": content_disposition(view.skill.name, fallback=view.skill.slug, extension="md"),
        "ETag": f'"{row.content_sha256}"',
    }
    content = await skill_access.read_content(session, row)
    return Response(content, media_type=MARKDOWN, headers=headers)


@router.post(
    "/export",
    dependencies=[View],
    response_class=Response,
    responses=error_responses(SkillNotFound, SkillNotExportable) | _ARCHIVE,
)
async def export_skills(body: ExportBody, principal: CurrentPrincipal, session: Reading) -> Response:
    """Several skills as one zip, each in a folder of its own, in the versions that the caller gets."""
    ids = list(dict.fromkeys(body.ids))
    skills = {skill_id: await skill_access.get(session, principal, skill_id) for skill_id in ids}
    rows = {key: await skill_access.get_version(session, view) for key, view in skills.items()}
    export_service.check_size(rows)
    sources = [await export_service.read_source(session, skills[key], row) for key, row in rows.items()]
    content = await export_service.export_many(ids, sources, body.profile)
    return await _zip(content, content_disposition("skills", fallback="skills", extension="zip"))


async def _zip(content: bytes, disposition: str) -> Response:
    # Hashing takes longer than an event loop may stand still.
    etag = await asyncio.to_thread(digest, content)
    headers = {"Content-Disposition": disposition, "ETag": f'"{etag}"'}
    return Response(content, media_type=ZIP, headers=headers)
