"""The parser: from the bytes of a skill to its model and outline."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from skills.diagnostics import Finding
from skills.parser import examples, frontmatter, metadata, outline, sections, steps
from skills.parser import params as inputs
from skills.parser import source as sources
from skills.parser import tools as allowed_tools
from skills.parser import triggers as when
from skills.parser.draft import SkillDraft
from skills.parser.frontmatter import Frontmatter
from skills.parser.outline import BodyOutline, DraftSection
from skills.parser.sections import DividedBody, name_behind_prefix
from skills.parser.source import SkillSource
from skills.parser.text_blocks import read_texts, section_text, tokens_in
from skills.schema import ParsedSkill, SkillFormat
from skills.slugs import is_placeholder, slugify

PARSER_VERSION = 4
"""Goes up when the same bytes are read otherwise than before."""


@dataclass(frozen=True)
class _Parts:
    source: SkillSource
    frontmatter: Frontmatter | None
    body: BodyOutline
    divided: DividedBody
    sections: tuple[DraftSection, ...]
    spelling: SkillFormat
    default_name: str

    def of(self, key: str) -> list[DraftSection]:
        return [section for section in self.sections if section.key == key]

    def texts(self, key: str) -> tuple[str, ...]:
        return read_texts(self.of(key), self.source, self.body)


def parse(content: bytes, default_name: str = "") -> SkillDraft | Finding:
    """Parse a SKILL file in linear time, never raising (docs/skills.md); else the reason is SK015 or SK052.

    ``default_name`` is that of a skill that gives itself none, such as its folder's.
    """
    source = sources.read(content)
    return source if isinstance(source, Finding) else assemble(source, default_name)


def assemble(source: SkillSource, default_name: str = "") -> SkillDraft:
    """Parse a file's text; the draft carries the grammar's findings."""
    findings: list[Finding] = []
    head = frontmatter.read(source, findings)
    body = outline.read(source, head.end_line + 1 if head else 1)
    divided = sections.divide(body, source)
    titled = divided.title and name_behind_prefix(divided.title.section.title) is not None
    spelling = (SkillFormat.HYBRID if titled else SkillFormat.AGENT_SKILLS) if head else SkillFormat.NATIVE
    keyed = sections.assign(divided, source, findings)
    if spelling is SkillFormat.AGENT_SKILLS:
        findings = [*_of_free_headings(findings)]
    parts = _Parts(source, head, body, divided, keyed, spelling, default_name)
    numbered, prose = steps.read(parts.of("steps"), source, body)
    description, line = _description(parts)
    return SkillDraft(
        source=source,
        frontmatter=head,
        outline=body,
        sections=keyed,
        model=_model(parts, description, numbered, findings),
        steps=numbered,
        prose=prose,
        description_line=line,
        findings=findings,
    )


def _of_free_headings(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings without advice on headings, left to the author by the open standard; typos have no fix."""
    for finding in findings:
        if finding.code == "SK020" and finding.variant:
            yield replace(finding, edits=())
        elif finding.code not in {"SK020", "SK023"}:
            yield finding


def _model(
    parts: _Parts, description: str, numbered: Sequence[steps.NumberedStep], findings: list[Finding]
) -> ParsedSkill:
    source, body = parts.source, parts.body
    params = inputs.read_params(parts.of("input_params"), source, body, findings)
    pairs = metadata.read(parts.frontmatter, parts.of("metadata"), source, body)
    name = _name(parts, pairs)
    conditions = parts.texts("trigger_conditions")
    derived = () if conditions else when.derive_triggers(description)
    text = "\n".join(source.lines[body.first_line - 1 :])
    return ParsedSkill(
        name=name,
        description=description,
        format=parts.spelling,
        slug=_slug(parts.frontmatter, pairs, name),
        body=text,
        content_sha256=hashlib.sha256(source.content).hexdigest(),
        token_estimate=tokens_in(text),
        trigger_conditions=conditions or derived,
        trigger_kinds={condition: when.classify(condition) for condition in conditions or derived},
        triggers_derived=bool(derived),
        input_params=params,
        steps=tuple(step.step for step in numbered),
        outputs=parts.texts("outputs"),
        examples=examples.read(parts.of("examples"), source),
        constraints=parts.texts("constraints"),
        not_for=parts.texts("not_for"),
        tools=allowed_tools.read(parts.frontmatter, parts.of("tools"), source, body),
        metadata=pairs,
        sections=tuple(section.section for section in parts.sections),
        input_schema=inputs.input_schema(params),
    )


def _name(parts: _Parts, pairs: dict[str, str]) -> str:
    """The name that the frontmatter gives, else a native title, the folder, any heading.

    A name that an export made up says less than all of them.
    """
    title = parts.divided.title
    heading = title.section.title if title else ""
    native = name_behind_prefix(heading)
    own = parts.frontmatter.text("name") if parts.frontmatter else ""
    display_name = next((pairs[key] for key in _DISPLAY_NAMES if pairs.get(key)), "")
    free = heading if native is None else ""
    if not own:
        outer = parts.default_name if parts.frontmatter else ""
        return native or outer or free or display_name
    return (native or display_name or free or own) if is_placeholder(own) else own


_DISPLAY_NAMES = ("title", "display-name", "display_name", "displayName")


def _slug(head: Frontmatter | None, pairs: dict[str, str], name: str) -> str:
    own = head.text("name") if head else ""
    return slugify(pairs.get("slug", "")) or slugify(own) or slugify(name)


def _description(parts: _Parts) -> tuple[str, int]:
    """The description and its line; a free document's frontmatter wins over the section, which has the triggers too."""
    description_sections = parts.of("description")
    text = "\n\n".join(filter(None, (section_text(section, parts.source) for section in description_sections)))
    section = (text, description_sections[0].section.start_line if description_sections else 0)
    entry = parts.frontmatter.entry("description") if parts.frontmatter else None
    written = parts.frontmatter.text("description") if parts.frontmatter else ""
    field = (written, entry.line if entry else 0)
    free = parts.spelling is SkillFormat.AGENT_SKILLS
    order = (field, section) if free else (section, field)
    return next((text_and_line for text_and_line in order if text_and_line[0]), ("", 0))
