"""Edits of single lines of YAML frontmatter."""

from collections.abc import Iterator, Mapping

from skills.parser import yaml_writer
from skills.parser.draft import SkillDraft
from skills.parser.frontmatter import Frontmatter
from skills.parser.metadata import OWN_FIELDS, value_text
from skills.schema import TextEdit


def set_field(draft: SkillDraft, head: Frontmatter, key: str, text: str | None) -> TextEdit:
    """The edit that writes a field as one line; ``None`` removes it."""
    line = "" if text is None else yaml_writer.field(key, text)
    entry = head.entry(key)
    if entry is None:
        return draft.source.edit_lines(head.end_line, head.end_line - 1, line)
    return draft.source.edit_lines(entry.line, entry.end_line, line)


def set_metadata(draft: SkillDraft, head: Frontmatter, pairs: Mapping[str, str]) -> tuple[TextEdit, ...]:
    """Edits that make these pairs the whole metadata; new ones go into ``metadata``."""
    left = dict(pairs)
    own = head.entry("metadata")
    entries = own.value.entries if own else ()
    now = {entry.key: value_text(entry.value) for entry in entries}
    inside = {key: left.pop(key, None) for key in now}
    edits: list[TextEdit] = []
    for entry in head.entries:
        if entry.key in OWN_FIELDS:
            continue
        # One that the metadata has as well is hidden by that, until it is taken away there.
        hidden = inside.get(entry.key) is not None
        text = value_text(entry.value) if hidden else left.pop(entry.key, None)
        if text != value_text(entry.value):
            edits.append(set_field(draft, head, entry.key, text))
    inside_after = {key: text for key, text in inside.items() if text is not None} | left
    if inside_after != now:
        edits += _metadata_edits(draft, head, inside_after)
    return tuple(edits)


def _metadata_edits(draft: SkillDraft, head: Frontmatter, pairs: Mapping[str, str]) -> Iterator[TextEdit]:
    source, own = draft.source, head.entry("metadata")
    whole = yaml_writer.field("metadata", pairs) if pairs else ""
    if own is None:
        yield source.edit_lines(head.end_line, head.end_line - 1, whole)
        return
    entries = own.value.entries
    if not pairs or not entries or own.value.flow:
        yield source.edit_lines(own.line, own.end_line, whole)
        return
    for entry in entries:
        text = pairs.get(entry.key)
        if text != value_text(entry.value):
            line = "" if text is None else _indented(entry.column, {entry.key: text})
            yield source.edit_lines(entry.line, entry.end_line, line)
    present, last = {entry.key for entry in entries}, entries[-1]
    new = {key: text for key, text in pairs.items() if key not in present}
    if new:
        written = _indented(last.column, new)
        yield source.edit_lines(last.end_line + 1, last.end_line, written)


def _indented(column: int, pairs: Mapping[str, str]) -> str:
    return "".join(" " * (column - 1) + yaml_writer.field(key, text) for key, text in pairs.items())
