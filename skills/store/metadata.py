"""Catalogue metadata of a skill: set by requests, or following its content."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.requests import InvalidRequest
from core.text.confusables import fold
from skills.models import LABEL_LENGTH, NAME_KEY_LENGTH, NAME_LENGTH, Skill, SkillVersion
from skills.schema import Diagnostic, ParsedSkill, Severity
from skills.store import listing

MOST_TAGS = 20
_BETWEEN_TAGS = re.compile(r"[,，、;；|\n]+")
_BRACKETS = "[](){}\"'“”"

FieldName = Literal["name", "description", "category", "tags"]
FIELDS: tuple[FieldName, ...] = ("name", "description", "category", "tags")


@dataclass(frozen=True)
class CatalogMetadata:
    """Fields that a request sets; None leaves a field, an empty value lets it follow the content."""

    name: str | None = None
    description: str | None = None
    category: str | None = None
    tags: list[str] | None = None
    slug: str | None = None
    is_public: bool | None = None
    enabled: bool | None = None


def read_category(parsed: ParsedSkill) -> str:
    """The category that a content names, else empty."""
    return _collapse_blanks(parsed.metadata.get("category", ""))[:LABEL_LENGTH]


def read_tags(parsed: ParsedSkill) -> list[str]:
    """The tags that a content names."""
    tags = _tags(_BETWEEN_TAGS.split(parsed.metadata.get("tags", "").strip(_BRACKETS)))
    return [tag[:LABEL_LENGTH] for tag in tags][:MOST_TAGS]


def catalog_name(name: str, slug: str) -> str:
    """The catalogue's form of a content's name, else the slug."""
    return _shortened(_collapse_blanks(name)) or slug


async def set_fields(work: UnitOfWork, skill: Skill, basis: SkillVersion, metadata: CatalogMetadata) -> None:
    """Set catalogue fields of a locked or new skill; the others follow ``basis``, the version in the catalogue."""
    own = set(skill.own_fields)
    for field in FIELDS:
        value = getattr(metadata, field)
        if value is None:
            continue
        chosen = _checked(field, value)
        setattr(skill, field, chosen)
        # A value that equals the content's follows the content from now on.
        own = own | {field} if chosen and chosen != getattr(basis, field) else own - {field}
    skill.own_fields = sorted(own)
    await follow_version(work, skill, basis)


async def follow_version(work: UnitOfWork, skill: Skill, basis: SkillVersion) -> None:
    """Set the fields that no request has set from a version, and reindex the skill."""
    own = skill.own_fields
    if "name" not in own:
        skill.name = catalog_name(basis.name, skill.slug)
    if "description" not in own:
        skill.description = basis.description
    if "category" not in own:
        skill.category = basis.category
    if "tags" not in own:
        skill.tags = list(basis.tags)
    skill.name_key, skill.category_key = fold(skill.name), listing.label_key(skill.category)
    skill.updated_at = utc_now()
    skill.revision += 1
    work.session.add(skill)
    await listing.index_skill(work, skill, basis.triggers)


_DIFFERENT = {
    "name": ("name", "名称"),
    "description": ("description", "描述"),
    "category": ("category", "分类"),
    "tags": ("tags", "标签"),
}
DIFFERS = "CAT001"
DIFFERS_MESSAGES = (
    "The catalogue's {field} is not the content's; agents read the content's.",
    "目录中的{field}与内容不同；智能体以内容为准。",
)
"""English and Chinese."""


def metadata_diagnostics(skill: Skill) -> list[Diagnostic]:
    """Notes on fields in which the catalogue differs from the content."""
    return [
        Diagnostic(
            code=DIFFERS,
            severity=Severity.INFO,
            line=1,
            column=1,
            end_line=1,
            message=DIFFERS_MESSAGES[0].format(field=english),
            message_zh=DIFFERS_MESSAGES[1].format(field=chinese),
        )
        for field, (english, chinese) in _DIFFERENT.items()
        if field in skill.own_fields
    ]


def _checked(field: FieldName, value: str | list[str]) -> str | list[str]:
    if isinstance(value, list):
        tags = _tags(value)
        if len(tags) > MOST_TAGS or any(len(tag) > LABEL_LENGTH for tag in tags):
            raise InvalidRequest(
                "tags",
                f"Use {MOST_TAGS} tags at most, of {LABEL_LENGTH} characters at most",
                f"最多 {MOST_TAGS} 个标签，每个最多 {LABEL_LENGTH} 个字符",
            )
        return tags
    if field == "description":
        return value.strip()
    cleaned = _collapse_blanks(value)
    longest = NAME_LENGTH if field == "name" else LABEL_LENGTH
    # Folding can turn one letter into eighteen.
    if len(cleaned) > longest or len(fold(cleaned)) > 3 * longest:
        raise InvalidRequest(field, f"Use {longest} characters at most", f"最多 {longest} 个字符")
    return cleaned


def _tags(texts: Iterable[str]) -> list[str]:
    cleaned = (_collapse_blanks(text.strip(_BRACKETS + " ")) for text in texts)
    return list({listing.label_key(tag): tag for tag in cleaned if tag}.values())


def _collapse_blanks(text: str) -> str:
    return " ".join(text.split())


def _shortened(name: str) -> str:
    shortened = name[:NAME_LENGTH]
    while len(fold(shortened)) > NAME_KEY_LENGTH:
        shortened = shortened[:-1]
    return shortened
