"""MCP resources of skills and their files."""

import mimetypes

from mcp_types import Resource

from api.mcp_server.uris import skill_uri
from core.errors.auth import SkillFileNotFound
from skills.packages.file_rules import SKILL_FILE
from skills.store.catalog import FileEntry
from skills.transfer.folders import SkillFolder

MARKDOWN = "text/markdown"
_TEXT = "text/plain"
_BYTES = "application/octet-stream"
_DIRECTORY = "inode/directory"
# Our own table: what the machine knows would differ between processes.
_MIME_TYPES = mimetypes.MimeTypes()
_MIME_TYPES.add_type(MARKDOWN, ".md")


def mime_type(path: str, *, is_text: bool) -> str:
    """A file's type by its name, else by whether it is text."""
    return _MIME_TYPES.guess_type(path)[0] or (_TEXT if is_text else _BYTES)


def skill_resource(folder: SkillFolder) -> Resource:
    """The SKILL.md of a folder, described by its frontmatter."""
    return Resource(
        uri=skill_uri(folder.place, SKILL_FILE),
        name=folder.name,
        title=folder.card.name or None,
        description=str(folder.frontmatter["description"]),
        mime_type=MARKDOWN,
        size=folder.files[0].size,
    )


def list_directory(folder: SkillFolder, path: str) -> list[Resource]:
    """The entries of a directory of a folder, by name; an empty path is the folder itself."""
    before = f"{path}/" if path else ""
    children: dict[str, Resource] = {}
    for file in folder.files:
        name, is_deeper, _ = file.path.removeprefix(before).partition("/")
        if file.path.startswith(before):
            place = before + name
            children[name] = _directory(folder, place, name) if is_deeper else _file(folder, file, name)
    if not children:
        raise SkillFileNotFound(field="path")
    return [children[name] for name in sorted(children)]


def _directory(folder: SkillFolder, path: str, name: str) -> Resource:
    return Resource(uri=skill_uri(folder.place, path), name=name, mime_type=_DIRECTORY)


def _file(folder: SkillFolder, file: FileEntry, name: str) -> Resource:
    if file.path == SKILL_FILE:
        return skill_resource(folder)
    # What is in it is not looked at for a list.
    kind = _MIME_TYPES.guess_type(file.path)[0]
    return Resource(uri=skill_uri(folder.place, file.path), name=name, mime_type=kind, size=file.size)
