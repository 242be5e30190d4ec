"""AS001 to AS013: refusals by the open standard's reference validator and other readers."""

import unicodedata
from collections.abc import Iterable, Iterator

from skills.diagnostics import Finding
from skills.lint.context import LintContext
from skills.parser.draft import SkillDraft
from skills.parser.frontmatter import Frontmatter, flow_values
from skills.parser.metadata import value_text
from skills.parser.tools import split
from skills.parser.yaml_reader import YamlField, YamlValue
from skills.parser.yaml_writer import field, quoted
from skills.schema import TextEdit
from skills.slugs import LONGEST_SLUG, RESERVED_WORDS, is_placeholder, is_slug, slugify

FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The fields of the standard, in the order in which they are written."""

LONGEST_DESCRIPTION = 1024
LONGEST_COMPATIBILITY = 500
_FENCE = "---"
_SKILL_FILES = ("SKILL.md", "skill.md")
_ANGLES = "<>"


def check(draft: SkillDraft, context: LintContext) -> Iterable[Finding]:
    """Everything that keeps the stored file from being a skill elsewhere."""
    yield from _folder_files(context.files or ())
    frontmatter = draft.frontmatter
    if frontmatter is None:
        yield Finding("AS002", 1)
        if not draft.model.slug or is_placeholder(draft.model.slug):
            yield from _no_name(draft, draft.model.slug)
        return
    yield from _fences(draft, frontmatter)
    if not frontmatter.entries or _has_unreadable(draft, frontmatter):
        yield Finding("AS003", frontmatter.start_line, end_line=frontmatter.end_line)
    if not frontmatter.readable:
        return
    yield from _unknown_fields(draft, frontmatter)
    yield from _name(draft, frontmatter, context.folder)
    yield from _description(draft, frontmatter)
    yield from _compatibility(frontmatter)
    yield from _metadata(draft, frontmatter)
    yield from _flow(draft, frontmatter)


def _folder_files(files: Iterable[str]) -> Iterator[Finding]:
    skill_files = [path for path in files if path.rsplit("/", 1)[-1].casefold() == "skill.md"]
    if len(skill_files) > 1 or any("/" in path for path in skill_files):
        count = len(skill_files) + (not any(path in _SKILL_FILES for path in skill_files))
        yield Finding("AS009", 1, facts={"count": count}, variant="several")
    elif skill_files and skill_files[0] not in _SKILL_FILES:
        yield Finding("AS009", 1)


def _no_name(draft: SkillDraft, slug: str) -> Iterator[Finding]:
    if slug:
        yield Finding("AS001", 1, facts={"name": slug}, variant="placeholder")
    else:
        title = next(iter(draft.of("title")), None)
        yield Finding("AS001", title.section.start_line if title else 1)


def _fences(draft: SkillDraft, frontmatter: Frontmatter) -> Iterator[Finding]:
    source = draft.source
    start, end = frontmatter.start_line, frontmatter.end_line
    if start > 1 or source.has_mark:
        before = TextEdit(0, source.offset(start), "")
        yield Finding("AS002", 1, end_line=start, variant="first", edits=(before,))
    closing = source.line(end)
    if not frontmatter.closed:
        edit = source.edit_lines(end + 1, end, f"{_FENCE}\n")
        yield Finding("AS002", start, variant="closed", edits=(edit,))
    elif not closing.startswith(_FENCE):
        edit = source.edit(end, 1, len(closing), _FENCE)
        yield Finding("AS002", end, variant="closed", edits=(edit,))
    last = end - 1 if frontmatter.closed else end
    for number in range(start + 1, last + 1):
        if (at := source.line(number).find(_FENCE)) >= 0:
            yield Finding("AS002", number, at + 1, variant="cut", edits=_uncut(draft, number))


def _uncut(draft: SkillDraft, line: int) -> tuple[TextEdit, ...]:
    """The fix for a value that the validator would cut: the same text, quoted and escaped."""
    frontmatter = draft.frontmatter
    entries = frontmatter.entries if frontmatter and is_rewritable(frontmatter) else ()
    for entry in entries:
        if entry.line <= line <= entry.end_line and entry.value.kind == "scalar":
            return (rewritten(draft, entry),)
    return ()


def _has_unreadable(draft: SkillDraft, frontmatter: Frontmatter) -> bool:
    """Whether readers disagree about the mapping: a repeated or non-text key, an unquoted text, a tab between tokens."""
    if any(finding.code == "SK016" for finding in draft.findings):
        return True
    if not frontmatter.readable or any(entry.value.unquoted for entry in frontmatter.entries):
        return True
    nested = (entry for parent in frontmatter.entries for entry in parent.value.entries)
    lines = draft.source.lines[frontmatter.start_line : frontmatter.end_line]
    has_tab = any("\t" in line for line in lines)
    return has_tab or any(not entry.key for entry in (*frontmatter.entries, *nested))


def _unknown_fields(draft: SkillDraft, frontmatter: Frontmatter) -> Iterator[Finding]:
    unknown = [entry for entry in frontmatter.entries if entry.key not in FIELDS]
    # One mend moves all: two that each begin a mapping could not both be made.
    edits = _moved(draft, frontmatter, unknown) if unknown else ()
    for entry in unknown:
        facts = {"field": entry.key}
        yield Finding("AS004", entry.line, entry.column, entry.end_line, facts, edits=edits)


def _moved(draft: SkillDraft, frontmatter: Frontmatter, unknown: list[YamlField]) -> tuple[TextEdit, ...]:
    if not is_rewritable(frontmatter):
        return ()
    old = frontmatter.entry("metadata")
    pairs = metadata_pairs(frontmatter)
    edits = [draft.source.edit_lines(entry.line, entry.end_line, "") for entry in unknown]
    if old is not None:
        new = draft.source.edit_lines(old.line, old.end_line, field("metadata", pairs))
        return tuple(sorted([*edits, new], key=lambda edit: edit.start))
    last = unknown[-1]
    edits[-1] = draft.source.edit_lines(last.line, last.end_line, field("metadata", pairs))
    return tuple(edits)


def metadata_pairs(frontmatter: Frontmatter) -> dict[str, str]:
    """The metadata as texts, and unknown fields, which get a numbered key if theirs has another value there."""
    old = frontmatter.entry("metadata")
    pairs = {entry.key: value_text(entry.value) for entry in old.value.entries} if old else {}
    if old is not None and old.value.kind != "map" and value_text(old.value):
        pairs["value"] = value_text(old.value)
    for entry in frontmatter.entries:
        text = value_text(entry.value)
        if entry.key in FIELDS or pairs.get(entry.key) == text:
            continue
        key, number = entry.key, 2
        while key in pairs:
            key, number = f"{entry.key}-{number}", number + 1
        pairs[key] = text
    return pairs


def _name(draft: SkillDraft, frontmatter: Frontmatter, folder: str | None) -> Iterator[Finding]:
    entry = frontmatter.entry("name")
    name = unicodedata.normalize("NFKC", frontmatter.text("name"))
    if entry is None or not name:
        yield from _no_name(draft, "")
        return
    place = (entry.value.line, entry.value.column)
    if not _is_standard_name(name):
        slug = slugify(name)
        facts = {"name": name, "slug": slug}
        edits = _renamed(draft, entry, slug)
        yield Finding("AS005", *place, facts=facts, variant="" if slug else "unknown", edits=edits)
    if is_placeholder(name):
        yield Finding("AS001", *place, facts={"name": name}, variant="placeholder")
    if folder is not None and unicodedata.normalize("NFKC", folder) != name:
        edits = _renamed(draft, entry, folder) if is_slug(folder) else ()
        yield Finding("AS006", *place, facts={"name": name, "folder": folder}, edits=edits)
    for word in RESERVED_WORDS:
        if word in name.lower():
            yield Finding("AS011", *place, facts={"name": name, "word": word})


def _is_standard_name(name: str) -> bool:
    """Whether the standard takes a name: lower-case letters and digits of any script, single hyphens inside."""
    signs = all(sign.isalnum() or sign == "-" for sign in name)
    hyphens = name.startswith("-") or name.endswith("-") or "--" in name
    return len(name) <= LONGEST_SLUG and signs and not hyphens and name == name.lower()


def _renamed(draft: SkillDraft, entry: YamlField, name: str) -> tuple[TextEdit, ...]:
    if not name or draft.frontmatter is None or not is_rewritable(draft.frontmatter):
        return ()
    return (rewritten(draft, entry, name),)


def _description(draft: SkillDraft, frontmatter: Frontmatter) -> Iterator[Finding]:
    entry = frontmatter.entry("description")
    if entry is None or entry.value.kind != "scalar" or not entry.value.text.strip():
        place = entry.line if entry else frontmatter.start_line
        yield Finding("AS007", place)
        return
    place, text = (entry.value.line, entry.value.column), entry.value.text
    if len(text) > LONGEST_DESCRIPTION:
        facts = {"length": len(text), "limit": LONGEST_DESCRIPTION}
        yield Finding("AS007", *place, facts=facts, variant="long")
    if sign := next((sign for sign in text if sign in _ANGLES), ""):
        edits = (rewritten(draft, entry, without_angles(text)),)
        edits = edits if is_rewritable(frontmatter) else ()
        yield Finding("AS010", *place, facts={"sign": sign}, edits=edits)


def _compatibility(frontmatter: Frontmatter) -> Iterator[Finding]:
    entry = frontmatter.entry("compatibility")
    if entry is None:
        return
    if entry.value.kind != "scalar" or len(entry.value.text) > LONGEST_COMPATIBILITY:
        facts = {"limit": LONGEST_COMPATIBILITY}
        yield Finding("AS008", entry.line, end_line=entry.end_line, facts=facts)


def _metadata(draft: SkillDraft, frontmatter: Frontmatter) -> Iterator[Finding]:
    entry = frontmatter.entry("metadata")
    if entry is None:
        return
    value = entry.value
    rewritable = is_rewritable(frontmatter)
    if value.kind != "map":
        if value.text.strip() or value.items:
            pairs = {"value": value_text(value)}
            edit = draft.source.edit_lines(entry.line, entry.end_line, field("metadata", pairs))
            facts, edits = {"key": "*"}, (edit,) if rewritable else ()
            yield Finding("AS012", entry.line, end_line=entry.end_line, facts=facts, edits=edits)
        return
    for entry in value.entries:
        if not entry.value.is_text:
            edits = (_as_text(draft, entry),) if rewritable and not value.flow else ()
            place = (entry.line, entry.column, entry.end_line)
            yield Finding("AS012", *place, facts={"key": entry.key}, edits=edits)


def _as_text(draft: SkillDraft, entry: YamlField) -> TextEdit:
    written = " " * (entry.column - 1) + field(entry.key, value_text(entry.value))
    return draft.source.edit_lines(entry.line, entry.end_line, written)


def _flow(draft: SkillDraft, frontmatter: Frontmatter) -> Iterator[Finding]:
    if not is_rewritable(frontmatter) and frontmatter.entries:
        first = frontmatter.entries[0]
        yield Finding("AS013", first.line, first.column, facts={"key": first.key})
        return
    reported: set[str] = set()
    for key, value in flow_values(frontmatter.entries):
        entry = frontmatter.entry(key)
        if entry is not None and key not in reported:
            reported.add(key)
            edits = (_in_block_style(draft, entry),) if key in FIELDS else ()
            yield Finding("AS013", value.line, value.column, facts={"key": key}, edits=edits)


def _in_block_style(draft: SkillDraft, entry: YamlField) -> TextEdit:
    if entry.key == "metadata" and entry.value.kind == "map":
        pairs = {pair.key: value_text(pair.value) for pair in entry.value.entries}
        written = field("metadata", pairs) if pairs else ""
        return draft.source.edit_lines(entry.line, entry.end_line, written)
    return rewritten(draft, entry)


def is_rewritable(frontmatter: Frontmatter) -> bool:
    """Whether each field has lines of its own (no ``{…}`` around all), so that it can be replaced."""
    return all(entry.column == 1 for entry in frontmatter.entries)


def field_text(entry: YamlField) -> str:
    """A field of the standard as one text: tools joined by blanks, other lists by commas."""
    if entry.key == "allowed-tools":
        return " ".join(tool_names(entry.value))
    return value_text(entry.value)


def tool_names(value: YamlValue) -> list[str]:
    """The tools that a value names, in any notation."""
    texts = [item.text for item in value.items] if value.kind == "list" else [value.text]
    return [name for text in texts for name in split(text)]


def rewritten(draft: SkillDraft, entry: YamlField, text: str | None = None) -> TextEdit:
    """The replacement of a field by one quoted line."""
    written = f"{entry.key}: {quoted(field_text(entry) if text is None else text)}\n"
    return draft.source.edit_lines(entry.line, entry.end_line, written)


def without_angles(text: str) -> str:
    """A text without ``<`` and ``>``, blanks collapsed."""
    return " ".join("".join(sign for sign in text if sign not in _ANGLES).split())
