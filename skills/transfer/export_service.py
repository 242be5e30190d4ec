"""Export of skills as folders of the open standard (agentskills.io)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.models import User
from core.errors.conflicts import SkillNotExportable
from skills.models import Skill, SkillVersion
from skills.packages.errors import PackageFault, PackageProblem, package_problem
from skills.packages.frontmatter import CatalogFields
from skills.packages.writer import (
    MOST_BYTES,
    ExportedPackage,
    ExportProfile,
    ExportSource,
    export_package,
    export_packages,
)
from skills.store import access as skill_access
from skills.store.access import SkillView
from skills.store.catalog import list_files


async def read_source(session: AsyncSession, view: SkillView, version: SkillVersion) -> ExportSource:
    """The bytes of a version and its catalogue fields, for an export."""
    skill = view.skill
    owner = await session.get(User, skill.owner_id)
    fields = catalog_fields(skill, version.version, owner.username if owner else "")
    content = await skill_access.read_content(session, version)
    files = tuple(await skill_access.read_files(session, version))
    return ExportSource(content, skill.slug, files, fields, is_offered=skill.enabled)


def catalog_fields(skill: Skill, version: int, owner: str) -> CatalogFields:
    """The catalogue fields of a version; ``owner`` is a user name."""
    return CatalogFields(
        title=skill.name, version=version, category=skill.category, tags=tuple(skill.tags), owner=owner
    )


async def export_one(source: ExportSource, profile: ExportProfile) -> ExportedPackage:
    """One skill as an archive; deterministic."""
    # Packing takes longer than an event loop may stand still.
    package = await asyncio.to_thread(export_package, source, profile)
    if isinstance(package, PackageProblem):
        raise SkillNotExportable(problems=[_problem_details(package)])
    return package


def check_size(versions: Mapping[str, SkillVersion]) -> None:
    """Check that one archive has room for versions, by skill id, before their bytes are read.

    ``SkillNotExportable`` names the skills that exceed it.
    """
    problems: list[dict[str, object]] = []
    size = 0
    for skill_id, version in versions.items():
        size += version.size + sum(file.size for file in list_files(version))
        if size > MOST_BYTES:
            fault = package_problem(PackageFault.TOO_LARGE, limit=MOST_BYTES)
            problems.append(_problem_details(fault) | {"skill_id": skill_id})
    if problems:
        raise SkillNotExportable(problems=problems)


async def export_many(ids: Sequence[str], sources: Sequence[ExportSource], profile: ExportProfile) -> bytes:
    """All of several skills as one archive, each in its own folder; ``ids`` name them in errors."""
    package = await asyncio.to_thread(export_packages, sources, profile)
    problems = [
        _problem_details(outcome) | {"skill_id": skill_id}
        for skill_id, outcome in zip(ids, package.outcomes, strict=True)
        if isinstance(outcome, PackageProblem)
    ]
    if problems:
        raise SkillNotExportable(problems=problems)
    return package.content


def _problem_details(problem: PackageProblem) -> dict[str, object]:
    return {**asdict(problem), "code": problem.code.value}
