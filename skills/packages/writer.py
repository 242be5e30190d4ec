"""Package writer: skills as folders of the open standard, in zip archives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from skills.diagnostics import Finding
from skills.lint.context import LintContext
from skills.lint.linter import lint_draft
from skills.lint.rules import portability
from skills.packages import frontmatter
from skills.packages.archives import write_archive
from skills.packages.errors import PackageFault, PackageProblem, package_problem
from skills.packages.file_rules import CODEX_FILE, SKILL_FILE, check_files, codex_policy
from skills.packages.frontmatter import CatalogFields
from skills.parser.draft import SkillDraft
from skills.parser.parse import parse
from skills.parser.yaml_writer import quoted
from skills.schema import SkillFile
from skills.slugs import choose_slug, free_slug, has_reserved_word, is_placeholder, is_slug

MOST_BYTES = 200 * 1024 * 1024
"""Of an archive of many skills, which is made in memory."""

_FENCE = b"---"
_LONGEST_HINT = 200


class ExportProfile(StrEnum):
    """For whom a skill is exported.

    ``portable`` passes the open standard's validator; ``claude-code`` adds fields that only that
    program knows; ``codex`` adds a file with its policy.
    """

    PORTABLE = "portable"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


@dataclass(frozen=True)
class ExportSource:
    """A skill to export; ``is_offered``: models may choose it by themselves, not only people."""

    content: bytes
    slug: str
    files: tuple[SkillFile, ...] = ()
    catalog: CatalogFields = field(default_factory=CatalogFields)
    is_offered: bool = True


@dataclass(frozen=True)
class ExportedFolder:
    """A skill's folder, named as in its SKILL.md, with its files by path, SKILL.md first."""

    name: str
    files: tuple[SkillFile, ...]


@dataclass(frozen=True)
class ExportedPackage:
    """An archive with one skill; the same bytes serve as ``.zip`` and ``.skill``."""

    slug: str
    content: bytes


@dataclass(frozen=True)
class ExportedPackages:
    """An archive with several skills, and for each in order its folder's name, or why it was left out."""

    content: bytes
    outcomes: tuple[str | PackageProblem, ...]


def export_package(
    source: ExportSource, profile: ExportProfile = ExportProfile.PORTABLE
) -> ExportedPackage | PackageProblem:
    """One skill as an archive, or why it can't be exported; deterministic."""
    folder = export_folder(source, profile)
    if isinstance(folder, PackageProblem):
        return folder
    return ExportedPackage(folder.name, write_archive(_with_folder(folder)))


def export_packages(
    sources: Sequence[ExportSource], profile: ExportProfile = ExportProfile.PORTABLE
) -> ExportedPackages:
    """Several skills as one archive, each in its own folder; a repeated name gets a number, also in its SKILL.md."""
    files: list[SkillFile] = []
    outcomes: list[str | PackageProblem] = []
    taken_names: set[str] = set()
    size = 0
    for source in sources:
        folder = _export_beside(source, profile, taken_names)
        if isinstance(folder, ExportedFolder):
            placed = list(_with_folder(folder))
            size += sum(len(file.content) for file in placed)
            if size > MOST_BYTES:
                outcomes.append(package_problem(PackageFault.TOO_LARGE, limit=MOST_BYTES))
                continue
            files += placed
            taken_names.add(folder.name)
        outcomes.append(folder.name if isinstance(folder, ExportedFolder) else folder)
    return ExportedPackages(write_archive(files), tuple(outcomes))


def export_folder(
    source: ExportSource, profile: ExportProfile = ExportProfile.PORTABLE
) -> ExportedFolder | PackageProblem:
    """One skill as a folder of the open standard, named by its own name, else its slug.

    A native skill gets frontmatter before its unchanged bytes. Other content stays as it is if portable; else only its
    failing fields are rewritten.
    """
    draft = _read(source)
    if isinstance(draft, PackageProblem):
        return draft
    return _folder(source, draft, _name(source, draft), profile)


def _read(source: ExportSource) -> SkillDraft | PackageProblem:
    draft = parse(source.content, source.slug)
    if isinstance(draft, Finding) or not lint_draft(draft).valid:
        return package_problem(PackageFault.NOT_VALID)
    if refused := check_files(source.files):
        return refused[0]
    return draft


def _name(source: ExportSource, draft: SkillDraft) -> str:
    return _usable_name(draft) or choose_slug(source.slug, draft.model.content_sha256)


def _folder(
    source: ExportSource, draft: SkillDraft, name: str, profile: ExportProfile
) -> ExportedFolder | PackageProblem:
    content = _content(source, draft, name, profile)
    if content is None:
        return package_problem(PackageFault.NOT_PORTABLE)
    files = [SkillFile(SKILL_FILE, content), *sorted(source.files, key=lambda file: file.path)]
    if profile is ExportProfile.CODEX and all(file.path != CODEX_FILE for file in files):
        files.append(SkillFile(CODEX_FILE, codex_policy(is_offered=source.is_offered)))
    return ExportedFolder(name, tuple(files))


def _export_beside(
    source: ExportSource, profile: ExportProfile, taken_names: set[str]
) -> ExportedFolder | PackageProblem:
    draft = _read(source)
    if isinstance(draft, PackageProblem):
        return draft
    return _folder(source, draft, free_slug(_name(source, draft), taken_names), profile)


def _with_folder(folder: ExportedFolder) -> Iterator[SkillFile]:
    return (replace(file, path=f"{folder.name}/{file.path}") for file in folder.files)


def _usable_name(draft: SkillDraft) -> str:
    name = draft.frontmatter.text("name") if draft.frontmatter else ""
    usable = is_slug(name) and not has_reserved_word(name) and not is_placeholder(name)
    return name if usable else ""


def _content(source: ExportSource, draft: SkillDraft, name: str, profile: ExportProfile) -> bytes | None:
    head = draft.frontmatter
    if head is None:
        fields = frontmatter.native_fields(draft.model, name, source.catalog)
        heads, body = [frontmatter.write_fields(fields).encode()], source.content
    else:
        place = draft.source.offset(head.end_line + 1)
        body = source.content[place:]
        renewed = frontmatter.standard_fields(draft, head, name)
        heads = [
            source.content[:place],
            frontmatter.repair_frontmatter(draft, head, name).encode(),
            frontmatter.write_fields(renewed, draft.source.newline).encode(),
        ]
    # Only the head is linted: with it, a skill of the greatest size would be too large to parse.
    chosen = next((head for head in heads if _passes(head, name)), None)
    if chosen is None:
        return None
    if profile is ExportProfile.CLAUDE_CODE:
        chosen = _for_claude(source, draft, chosen)
    return chosen + body


def _passes(content: bytes, name: str) -> bool:
    """Whether the open standard accepts it; weak names are left to the owner."""
    draft = parse(content)
    if isinstance(draft, Finding) or draft.frontmatter is None:
        return False
    codes = {finding.code for finding in portability.check(draft, LintContext(folder=name))} - {"AS001"}
    return not codes and draft.frontmatter.text("name") == name


def _for_claude(source: ExportSource, draft: SkillDraft, head: bytes) -> bytes:
    """The fields with what Claude Code shows behind a command, and whether it may choose the skill itself."""
    own = draft.frontmatter
    params = draft.model.input_params
    hint = " ".join(param.name if param.required else f"[{param.name}]" for param in params)
    hint = (own.text("argument-hint") if own else "") or hint[:_LONGEST_HINT]
    lines = f"argument-hint: {quoted(hint)}\n" if hint else ""
    disabled = own.text("disable-model-invocation") if own else ""
    if not source.is_offered or disabled == "true":
        lines += "disable-model-invocation: true\n"
    newline = draft.source.newline if own else "\n"
    place = head.rstrip().rfind(_FENCE)
    return head[:place] + lines.replace("\n", newline).encode() + head[place:]
