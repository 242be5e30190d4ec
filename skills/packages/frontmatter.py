"""Frontmatter of exported skills: new for native ones, repaired for the others."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from types import NoneType

from pydantic import JsonValue

from core.text.graphemes import shorten
from kb_service.text.tokenizer import is_cjk_dominant
from skills.lint.rules.portability import (
    FIELDS,
    LONGEST_COMPATIBILITY,
    LONGEST_DESCRIPTION,
    field_text,
    is_rewritable,
    metadata_pairs,
    without_angles,
)
from skills.packages.reader import SOURCE_FORMAT
from skills.parser import yaml_reader, yaml_writer
from skills.parser.draft import SkillDraft
from skills.parser.frontmatter import Frontmatter
from skills.parser.yaml_reader import YamlField, YamlValue
from skills.schema import ParsedSkill

_FENCE = "---"
_LONGEST_LICENSE = 100
_TEXTS = frozenset({"name", "description"})
_JSON_SCALARS = (str, bool, int, float, NoneType)
_UNRESTRICTED = frozenset({"Bash", "Bash(*)", "Bash(:*)", "*"})


@dataclass(frozen=True)
class CatalogFields:
    """Catalogue fields of an exported skill; an empty title means the content's. E-mail addresses are not exported.

    ``tool_names`` are names of our tools elsewhere (``mcp__<server>__<tool>``); others only go to ``compatibility``.
    """

    title: str = ""
    version: int | None = None
    category: str = ""
    tags: tuple[str, ...] = ()
    owner: str = ""
    tool_names: Mapping[str, str] = field(default_factory=dict[str, str])


Fields = dict[str, str | dict[str, str]]


def native_fields(parsed: ParsedSkill, slug: str, catalog: CatalogFields) -> Fields:
    """The non-empty fields of a native skill in the standard's order; never ids, e-mail addresses or change notes."""
    license_name = parsed.metadata.get("license", "")
    fields: Fields = {
        "name": slug,
        "description": portable_description(parsed),
        "license": license_name if len(license_name) <= _LONGEST_LICENSE else "",
        "compatibility": shorten_to_fit(_compatibility(parsed), LONGEST_COMPATIBILITY),
        "metadata": _metadata(parsed, catalog),
        "allowed-tools": " ".join(_allowed_tools(parsed, catalog.tool_names)),
    }
    return {key: value for key, value in fields.items() if value}


def write_fields(fields: Fields, newline: str = "\n") -> str:
    """Frontmatter in block style, both fences included."""
    lines = "".join(yaml_writer.field(key, value) for key, value in fields.items())
    return f"{_FENCE}\n{lines}{_FENCE}\n".replace("\n", newline)


def repair_frontmatter(draft: SkillDraft, frontmatter: Frontmatter, folder: str) -> str:
    """A file's own frontmatter for a folder of this name, with only the failing fields rewritten."""
    if not is_rewritable(frontmatter):
        return write_fields(standard_fields(draft, frontmatter, folder), draft.source.newline)
    fields = standard_fields(draft, frontmatter, folder)
    lines = [_FENCE, *(_text(key, fields) for key in _added(fields, frontmatter))]
    place = frontmatter.start_line
    for entry in frontmatter.entries:
        raw = draft.source.lines[place : entry.end_line]
        before = draft.source.lines[place : entry.line - 1]
        place = max(place, entry.end_line)
        if entry.key not in fields:
            continue
        if _fails(entry, fields) or _is_cut(raw):
            lines += [] if _is_cut(before) else before
            lines.append(_text(entry.key, fields))
        else:
            lines += raw
    if "metadata" in fields and frontmatter.entry("metadata") is None:
        lines.append(_text("metadata", fields))
    return "".join(f"{line}\n" for line in [*lines, _FENCE]).replace("\n", draft.source.newline)


def standard_fields(draft: SkillDraft, frontmatter: Frontmatter, folder: str) -> Fields:
    """All fields of a frontmatter in the standard's form."""
    fields: Fields = {"name": folder, "description": _description(draft, frontmatter)}
    for key in ("license", "compatibility", "allowed-tools"):
        if entry := frontmatter.entry(key):
            text = field_text(entry)
            fields[key] = shorten_to_fit(text, LONGEST_COMPATIBILITY) if key == "compatibility" else text
    pairs = metadata_pairs(frontmatter)
    own = frontmatter.text("name")
    if not own.isascii():
        # A folder has an ASCII name; the skill's own is kept where readers look for a title.
        pairs.setdefault("title", own)
    if pairs:
        fields["metadata"] = pairs
    return fields


def frontmatter_json(content: bytes) -> dict[str, JsonValue]:
    """The frontmatter of an exported SKILL.md as JSON; dates, name and description are texts.

    In an export the first fence is the first line, and no value contains one.
    """
    _, head, _ = content.split(_FENCE.encode(), 2)
    text = head.decode().replace("\r\n", "\n").replace("\r", "\n")
    document = yaml_reader.read(text, first_line=1, findings=[])
    fields = {entry.key: entry.value for entry in document.entries} if document else {}
    return {
        key: value.text if key in _TEXTS and value.kind == "scalar" else _plain(value) for key, value in fields.items()
    }


def _plain(value: YamlValue) -> JsonValue:
    if value.kind == "list":
        return [_plain(item) for item in value.items]
    if value.kind == "map":
        return {entry.key: _plain(entry.value) for entry in value.entries}
    scalar = value.scalar
    is_finite = not isinstance(scalar, float) or isfinite(scalar)
    return scalar if is_finite and isinstance(scalar, _JSON_SCALARS) else value.text


def _compatibility(parsed: ParsedSkill) -> str:
    parts = [without_angles(parsed.metadata.get("compatibility", ""))]
    tool_names = dict.fromkeys([*(parsed.tools or ()), *(tool for s in parsed.steps for tool in s.tools)])
    if tool_names:
        parts.append(f"Written for an agent with these tools: {', '.join(tool_names)}.")
    return " ".join(filter(None, parts))


def _metadata(parsed: ParsedSkill, catalog: CatalogFields) -> dict[str, str]:
    own = parsed.metadata
    pairs = {
        "title": catalog.title or parsed.name,
        "version": str(catalog.version) if catalog.version is not None else own.get("version", ""),
        "category": catalog.category or own.get("category", ""),
        "tags": ", ".join(catalog.tags) or own.get("tags", ""),
        "owner": "" if "@" in catalog.owner else catalog.owner,
        "source-format": SOURCE_FORMAT,
        "source-sha256": parsed.content_sha256,
    }
    return {key: value for key, value in pairs.items() if value}


def _allowed_tools(parsed: ParsedSkill, names: Mapping[str, str]) -> Iterator[str]:
    """Tools that have a name elsewhere, without those that would allow every command."""
    for tool in parsed.tools or ():
        name = names.get(tool, "")
        if name and name not in _UNRESTRICTED and not set(name) & set(" ,\n"):
            yield name


def _description(draft: SkillDraft, frontmatter: Frontmatter) -> str:
    entry = frontmatter.entry("description")
    text = field_text(entry) if entry else ""
    if not text.strip():
        return portable_description(draft.model)
    if set(text) & set("<>"):
        text = without_angles(text)
    return shorten_to_fit(text, LONGEST_DESCRIPTION)


def _added(fields: Fields, frontmatter: Frontmatter) -> list[str]:
    return [key for key in ("name", "description") if frontmatter.entry(key) is None and key in fields]


def _fails(entry: YamlField, fields: Fields) -> bool:
    if entry.value.unquoted:
        return True
    if entry.key == "metadata":
        old = {pair.key: pair.value.text.strip() for pair in entry.value.entries}
        is_plain = all(pair.value.is_text for pair in entry.value.entries)
        return entry.value.kind != "map" or not is_plain or old != fields["metadata"] or _has_flow(entry.value)
    is_list = entry.value.kind == "list" and entry.key == "allowed-tools" and not entry.value.flow
    if entry.key in FIELDS and entry.value.kind != "scalar" and not is_list:
        return True
    return not is_list and entry.value.text.strip() != str(fields[entry.key]).strip()


def _has_flow(value: YamlValue) -> bool:
    return value.flow or any(_has_flow(entry.value) for entry in value.entries)


def _is_cut(lines: list[str]) -> bool:
    """Whether lines contain a fence or a tab, which strict readers refuse."""
    return any(_FENCE in line or "\t" in line for line in lines)


def _text(key: str, fields: Fields) -> str:
    return yaml_writer.field(key, fields[key]).removesuffix("\n")


_LABELS = {False: (" Use when: ", " Not for: ", "; ", "."), True: (" 适用：", " 不适用：", "；", "。")}
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]|[;；]")
_ENDED = (".", "!", "?", "。", "！", "？", ":", "：")
# A cut at the end of a sentence may not cost more than that of the text.
_LEAST_KEPT = 0.5


def portable_description(parsed: ParsedSkill) -> str:
    """The description with triggers and exclusions, in the open standard's form.

    One line without angle brackets, at most ``LONGEST_DESCRIPTION`` characters. Triggers derived from the description
    are not repeated.
    """
    when, not_for, between, full_stop = _LABELS[is_cjk_dominant(parsed.description)]
    text = without_angles(parsed.description)
    triggers = () if parsed.triggers_derived else parsed.trigger_conditions
    for label, phrases in ((when, triggers), (not_for, parsed.not_for)):
        joined = between.join(filter(None, map(without_angles, phrases)))
        if joined:
            ended = text if text.endswith(_ENDED) else text + full_stop
            text = f"{ended}{label}{joined}"
    return shorten_to_fit(text, LONGEST_DESCRIPTION)


def shorten_to_fit(text: str, most: int) -> str:
    """A text cut to a length, to whole sentences if that keeps most of it."""
    if len(text) <= most:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text[: most + 1]) if match.end() <= most]
    if ends and ends[-1] >= _LEAST_KEPT * most:
        return text[: ends[-1]].rstrip(";； ")
    blank = text.rfind(" ", 0, most - 1)
    return shorten(text, blank + 1 if blank >= _LEAST_KEPT * most else most)
