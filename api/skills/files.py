"""The files beside a skill's content: scripts, references, assets."""

import mimetypes
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request, Response

from api.dependencies import CurrentPrincipal, Reading, requires
from api.http.errors import error_responses
from api.http.files import file_disposition
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from api.skills.changes import CurrentChanges
from api.skills.etag import FileIfMatch
from api.skills.schemas import SavedSkill
from api.skills.skills import CHANGING
from core.auth.permissions import Permission
from core.errors.auth import SkillFileNotFound, SkillNotFound, SkillVersionNotFound
from core.errors.requests import SkillFilesRefused
from skills.store import access as skill_access
from skills.store.catalog import FileEntry, list_files, read_blob
from skills.store.service import SkillUpdate
from skills.store.versions import LONGEST_NOTE, FileEdit, VersionChange, with_file

router = Router(prefix="/api/v1/skills/{skill_id}/files", tags=["skills"])
View = Depends(requires(Permission.SKILL_VIEW))
Write = Depends(requires(Permission.SKILL_WRITE))
FilePath = Annotated[Text, Path(max_length=1000, description="As the skill lists it")]
Version = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Of an older version")]
Note = Annotated[Text, Query(max_length=LONGEST_NOTE, description="What was changed")]
BaseVersion = Annotated[int | None, Query(description="The version that was read")]
_MISSING = (SkillNotFound, SkillVersionNotFound)
_BYTES: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_BODY = {"requestBody": {"required": True, "content": {"application/octet-stream": _BYTES}}}
# Of the type that its name says.
_DOWNLOAD: dict[int | str, dict[str, Any]] = {200: {"description": "The file's bytes", "content": {"*/*": _BYTES}}}


class FileList(ResponseModel):
    """What lies beside a version's content, in the order of paths; sizes in bytes."""

    version: int
    items: list[FileEntry]
    total: int


@router.get("", dependencies=[View], responses=error_responses(*_MISSING))
async def list_skill_files(
    skill_id: Text, principal: CurrentPrincipal, session: Reading, version: Version = None
) -> Envelope[FileList]:
    """The files of a skill, with hashes and sizes."""
    view = await skill_access.get(session, principal, skill_id)
    row = await skill_access.get_version(session, view, version)
    items = list_files(row)
    return Envelope(data=FileList(version=row.version, items=items, total=len(items)))


@router.get(
    "/{file_path:path}",
    dependencies=[View],
    response_class=Response,
    responses=error_responses(*_MISSING, SkillFileNotFound) | _DOWNLOAD,
)
async def read_skill_file(
    skill_id: Text, file_path: FilePath, principal: CurrentPrincipal, session: Reading, version: Version = None
) -> Response:
    """The bytes of a file; a browser saves them under the end of the path and shows nothing of them."""
    view = await skill_access.get(session, principal, skill_id)
    row = await skill_access.get_version(session, view, version)
    entry = skill_access.get_file_entry(row, file_path)
    content = await read_blob(session, skill_id, entry.sha256)
    return Response(
        content,
        media_type=mimetypes.guess_type(entry.path)[0] or "application/octet-stream",
        headers={"ETag": f'"{entry.sha256}"', "Content-Disposition": file_disposition(entry.path, fallback="file")},
    )


@router.put(
    "/{file_path:path}",
    dependencies=[Write],
    openapi_extra=_BODY,
    responses=error_responses(*CHANGING, SkillFilesRefused),
)
async def put_skill_file(  # noqa: PLR0913 - what the framework hands over
    skill_id: Text,
    file_path: FilePath,
    request: Request,
    response: Response,
    base: FileIfMatch,
    changes: CurrentChanges,
    change_note: Note = "",
    base_version: BaseVersion = None,
) -> Envelope[SavedSkill]:
    """Put a file beside the content, or other bytes in its place: as a new version.

    The body is the file. Larger ones than a request may have come with an import. With `If-Match`
    it is refused if the file, or the skill, is not as it was read.
    """
    content = await request.body()
    expected = base.with_version(base_version)
    edit = FileEdit(file_path, content, expected.file_sha256)
    update = SkillUpdate(with_file(edit), change=VersionChange(change_note, expected))
    answer = await changes.update(skill_id, update)
    (entry,) = (file for file in answer.files if file.path == file_path)
    response.headers["ETag"] = f'"{entry.sha256}"'
    return Envelope(data=answer)


@router.delete("/{file_path:path}", dependencies=[Write], responses=error_responses(*CHANGING, SkillFileNotFound))
async def delete_skill_file(
    skill_id: Text,
    file_path: FilePath,
    base: FileIfMatch,
    changes: CurrentChanges,
    change_note: Note = "",
    base_version: BaseVersion = None,
) -> Envelope[SavedSkill]:
    """Remove a file: as a new version."""
    expected = base.with_version(base_version)
    edit = FileEdit(file_path, None, expected.file_sha256)
    update = SkillUpdate(with_file(edit), change=VersionChange(change_note, expected))
    return Envelope(data=await changes.update(skill_id, update))
