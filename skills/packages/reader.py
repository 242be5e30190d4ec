"""Package reader: the skills and their files in uploaded bytes."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from skills.packages.archives import is_archive, other_archive_kind, read_archive
from skills.packages.errors import PackageFault, PackageProblem, package_problem
from skills.packages.file_rules import (
    CODEX_FILE,
    DEFAULT_LIMITS,
    PackageLimits,
    check_files,
    codex_policy,
    is_skill_file,
)
from skills.schema import SkillFile

_POLICIES = frozenset(SkillFile(CODEX_FILE, codex_policy(is_offered=offered)) for offered in (True, False))
SOURCE_FORMAT = "native-skill/1"
_ARCHIVE_SUFFIXES = (".zip", ".skill")
# Our own frontmatter has one value a line; a longer beginning is not of ours.
_LONGEST_FRONTMATTER = 32 * 1024
_FRONTMATTER = re.compile(rb"---\r?\n(.*?\n)---\r?\n", re.DOTALL)
_OUR_FORMAT = re.compile(rb'^ +source-format: "?' + SOURCE_FORMAT.encode() + rb'"?\r?$', re.MULTILINE)
_SOURCE_SHA256 = re.compile(rb'^ +source-sha256: "?([0-9a-f]{64})"?\r?$', re.MULTILINE)


@dataclass(frozen=True)
class PackagedSkill:
    """One skill of a package, and its problems if it is refused.

    Args:
        folder: path in the archive; empty at the top, or for a lone file.
        content: bytes of its SKILL.md, to be stored; without the frontmatter of our own export.
        files: with paths relative to its folder.
    """

    folder: str
    content: bytes
    files: tuple[SkillFile, ...] = ()
    is_own_export: bool = False
    problems: tuple[PackageProblem, ...] = ()

    @property
    def folder_name(self) -> str | None:
        """The folder's name, by the standard equal to the skill's; ``None`` at the top."""
        return self.folder.rsplit("/", 1)[-1] or None


@dataclass(frozen=True)
class PackageReading:
    """The skills of uploaded bytes by folder, files of no skill, or the problems for which all is refused."""

    skills: tuple[PackagedSkill, ...] = ()
    ignored: tuple[str, ...] = ()
    problems: tuple[PackageProblem, ...] = ()


def read_package(content: bytes, filename: str, limits: PackageLimits = DEFAULT_LIMITS) -> PackageReading:
    """Find the skills in the bytes of a ``.md``, ``.zip`` or ``.skill`` file; never raises, and writes nothing.

    The bytes decide: they are a zip archive, else the text of one SKILL.md; the filename only serves error messages. A
    folder with a SKILL.md is a skill, and a file belongs to the nearest such folder above it.
    """
    if kind := other_archive_kind(content):
        return PackageReading(problems=(package_problem(PackageFault.OTHER_ARCHIVE, filename, kind=kind),))
    if not is_archive(content):
        if filename.lower().endswith(_ARCHIVE_SUFFIXES):
            return PackageReading(problems=(package_problem(PackageFault.NOT_AN_ARCHIVE, filename),))
        return PackageReading((_packaged("", content, (), (), limits),))
    archive = read_archive(content, limits)
    if isinstance(archive, PackageProblem):
        return PackageReading(problems=(archive,))
    return _sort_out(archive.files, archive.links, limits)


def unwrap_own_export(content: bytes) -> bytes | None:
    """The native content behind the frontmatter of our own export, which names our format and that content's hash."""
    head = _FRONTMATTER.match(content, 0, _LONGEST_FRONTMATTER)
    if head is None or _OUR_FORMAT.search(head[1]) is None:
        return None
    digest_match = _SOURCE_SHA256.search(head[1])
    body = content[head.end() :]
    if digest_match is None or hashlib.sha256(body).hexdigest().encode() != digest_match[1]:
        return None
    return body


def _sort_out(files: Iterable[SkillFile], links: Iterable[str], limits: PackageLimits) -> PackageReading:
    files = tuple(files)
    roots = {_folder(file.path): file for file in files if is_skill_file(file.path)}
    if not roots:
        return PackageReading(problems=(package_problem(PackageFault.NO_SKILL),))
    beside: dict[str, list[SkillFile]] = {folder: [] for folder in roots}
    linked: dict[str, list[str]] = {folder: [] for folder in roots}
    ignored: list[str] = []
    for file in files:
        root = _root_of(file.path, roots)
        if root is None:
            ignored.append(file.path)
        elif not is_skill_file(file.path):
            beside[root].append(SkillFile(_within(file.path, root), file.content))
    for link in links:
        root = _root_of(link, roots)
        if root is not None:
            linked[root].append(_within(link, root))
    skills = tuple(
        _packaged(folder, roots[folder].content, beside[folder], linked[folder], limits) for folder in sorted(roots)
    )
    return PackageReading(skills, tuple(ignored))


def _packaged(
    folder: str, content: bytes, files: Iterable[SkillFile], links: Iterable[str], limits: PackageLimits
) -> PackagedSkill:
    # Written by an export: an old one would hold what its skill's owner has changed since.
    files = tuple(sorted((file for file in files if file not in _POLICIES), key=lambda file: file.path))
    body = unwrap_own_export(content)
    problems = [package_problem(PackageFault.LINK, link) for link in links]
    problems.extend(check_files(files, limits))
    return PackagedSkill(
        folder, content if body is None else body, files, is_own_export=body is not None, problems=tuple(problems)
    )


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _root_of(path: str, roots: dict[str, SkillFile]) -> str | None:
    folder = _folder(path)
    while folder not in roots:
        if not folder:
            return None
        folder = _folder(folder)
    return folder


def _within(path: str, folder: str) -> str:
    return path[len(folder) + 1 :] if folder else path
