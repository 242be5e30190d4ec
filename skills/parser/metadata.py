"""Metadata of a file, as texts."""

import re
from collections.abc import Iterator, Mapping, Sequence

import orjson

from skills.parser.frontmatter import Frontmatter
from skills.parser.headings import canonical
from skills.parser.outline import BodyOutline, DraftSection
from skills.parser.source import SkillSource
from skills.parser.text_blocks import read_texts
from skills.parser.yaml_reader import YamlValue

OWN_FIELDS = frozenset({"name", "description", "allowed-tools", "metadata"})
_NAMES: Mapping[str, str] = {
    "分类": "category",
    "类别": "category",
    "标签": "tags",
    "版本": "version",
    "作者": "author",
    "许可": "license",
    "许可证": "license",
    "标题": "title",
    "图标": "icon",
    "严格": "strict",
    "严格模式": "strict",
}
_PLAIN = frozenset({"category", "tags", "version"})
_PAIR = re.compile(r"(?:\*\*|`|__)?([^:：*`\n]{1,60}?)(?:\*\*|`|__)?[ \t]{0,8}[:：]\s*(?:\*\*|__)?\s*(.+)", re.DOTALL)


def read(
    frontmatter: Frontmatter | None, sections: Sequence[DraftSection], source: SkillSource, body: BodyOutline
) -> dict[str, str]:
    """Metadata and other fields of the frontmatter, then of sections; the first of a key wins."""
    pairs: dict[str, str] = {}
    for key, value in (*_from_frontmatter(frontmatter), *_from_sections(sections, source, body)):
        pairs.setdefault(key, value)
    return pairs


def _from_frontmatter(frontmatter: Frontmatter | None) -> Iterator[tuple[str, str]]:
    if frontmatter is None:
        return
    own = frontmatter.entry("metadata")
    if own is not None:
        yield from ((entry.key, value_text(entry.value)) for entry in own.value.entries)
    for entry in frontmatter.entries:
        if entry.key not in OWN_FIELDS:
            yield entry.key, value_text(entry.value)


def value_text(value: YamlValue) -> str:
    """A value as text: scalars as written, lists of scalars with commas, the rest as JSON."""
    if value.kind == "scalar":
        return value.text.strip()
    if value.kind == "list" and all(item.kind == "scalar" for item in value.items):
        return ", ".join(item.text.strip() for item in value.items)
    return orjson.dumps(_plain(value)).decode()


def _plain(value: YamlValue) -> object:
    if value.kind == "map":
        return {entry.key: _plain(entry.value) for entry in value.entries}
    return [_plain(item) for item in value.items] if value.kind == "list" else value.text


def _from_sections(
    sections: Sequence[DraftSection], source: SkillSource, body: BodyOutline
) -> Iterator[tuple[str, str]]:
    for section in sections:
        own = own_key(section)
        texts = read_texts([section], source, body)
        if own is not None:
            if texts:
                yield own, ", ".join(texts)
            continue
        for text in texts:
            if pair := _PAIR.fullmatch(text):
                key = pair[1].strip()
                yield _NAMES.get(key, key), pair[2].strip()


def own_key(section: DraftSection) -> str | None:
    """The key whose value is the section's text; ``None`` if it has pairs of key and value."""
    heading = canonical(section.section.title)
    key = _NAMES.get(heading, heading)
    return key if key in _PLAIN else None
