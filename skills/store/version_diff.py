"""The difference between two stored versions of a skill."""

import asyncio
from dataclasses import dataclass

from sqlmodel.ext.asyncio.session import AsyncSession

from core.errors.auth import SkillVersionNotFound
from skills import schema
from skills.diff.semantic import SkillDifference, compare_skills, compare_text
from skills.models import SkillVersion
from skills.store import access as skill_access
from skills.store.access import SkillView
from skills.store.catalog import list_files


@dataclass(frozen=True)
class FileChange:
    """A file that one of two versions has and the other has not, or in other bytes.

    Args:
        path: where it lies.
        before: SHA-256 in the older version; None where it was not there.
        after: the same in the newer one.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class VersionDiff:
    """The changes from version ``older`` to ``newer``; ``text`` is a unified diff."""

    older: int
    newer: int
    text: str
    semantic: SkillDifference
    files: tuple[FileChange, ...]


async def compare_versions(session: AsyncSession, view: SkillView, older: int | None, newer: int | None) -> VersionDiff:
    """Compare two versions that the caller may read: by default the one they get with the one before it."""
    after = await skill_access.get_version(session, view, newer)
    before = await skill_access.get_version(session, view, older or await _previous_number(session, view, after))
    contents = [await skill_access.read_content(session, version) for version in (before, after)]
    names = (f"version {before.version}", f"version {after.version}")
    # Long ones take longer than an event loop may stand still.
    text = await asyncio.to_thread(compare_text, contents[0], contents[1], names)
    models = [await schema.from_json(version.parsed) for version in (before, after)]
    semantic = await asyncio.to_thread(compare_skills, *models)
    return VersionDiff(before.version, after.version, text, semantic, _files(before, after))


async def _previous_number(session: AsyncSession, view: SkillView, after: SkillVersion) -> int:
    numbers = await skill_access.list_version_numbers(session, view)
    earlier = [number for number in numbers if number < after.version]
    if not earlier:
        raise SkillVersionNotFound(field="from")
    return max(earlier)


def _files(before: SkillVersion, after: SkillVersion) -> tuple[FileChange, ...]:
    old, new = ({file.path: file.sha256 for file in list_files(version)} for version in (before, after))
    paths = sorted(old.keys() | new.keys())
    changes = (FileChange(path, old.get(path), new.get(path)) for path in paths)
    return tuple(change for change in changes if change.before != change.after)
