"""What the next version of a skill is to hold, made from its newest one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sqlmodel.ext.asyncio.session import AsyncSession

from core.errors import SkillChanged
from skills.lint.validate import Judged, digest, judge
from skills.models import SkillVersion
from skills.schema import SkillFile
from skills.store import access as skill_access
from skills.store.access import Seen
from skills.store.catalog import files_of

Revision = Callable[[AsyncSession, Seen, SkillVersion], Awaitable[Judged | None]]
"""Reads and judges what is to be next of a skill and its newest version; None: the same again."""


@dataclass(frozen=True)
class FileEdit:
    """A file's new bytes.

    Args:
        path: where it lies.
        content: its bytes; None removes it.
        before: the hash of the bytes that were read; None does not say.
    """

    path: str
    content: bytes | None
    before: str | None = None


def with_content(content: bytes) -> Revision:
    """Another SKILL.md beside the same files."""

    async def revise(session: AsyncSession, _: Seen, newest: SkillVersion) -> Judged | None:
        if digest(content) == newest.content_sha256:
            return None
        return await judge(content, await skill_access.read_files(session, newest))

    return revise


def with_all_of(judged: Judged) -> Revision:
    """What was judged already, content and files."""

    async def revise(_: AsyncSession, __: Seen, ___: SkillVersion) -> Judged:
        return judged

    return revise


def with_file(edit: FileEdit) -> Revision:
    """One file put or removed; everything else as it is.

    A file that is to be removed and is not there raises ``SkillFileNotFound``, one that is another
    than it was ``SkillChanged``.
    """

    async def revise(session: AsyncSession, _: Seen, newest: SkillVersion) -> Judged:
        if edit.content is None:
            skill_access.file_entry(newest, edit.path)
        present = {entry.path: entry.sha256 for entry in files_of(newest)}
        if edit.before not in {None, present.get(edit.path)}:
            raise SkillChanged(version=newest.version)
        content, files = await skill_access.held(session, newest)
        kept = [file for file in files if file.path != edit.path]
        put = [] if edit.content is None else [SkillFile(edit.path, edit.content)]
        return await judge(content, [*kept, *put])

    return revise


def restored(number: int) -> Revision:
    """An older version again; one that the caller may not read raises ``SkillVersionNotFound``."""

    async def revise(session: AsyncSession, seen: Seen, _: SkillVersion) -> Judged:
        old = await skill_access.version_of(session, seen, number)
        return await judge(*await skill_access.held(session, old))

    return revise
