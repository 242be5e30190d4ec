"""Cards of skills: the summaries by which models choose."""

from dataclasses import dataclass

from skills.schema import ParsedSkill


@dataclass(frozen=True)
class SkillCard:
    """The summary of a skill; ``load_skill`` is called with its slug."""

    slug: str
    name: str
    description: str
    triggers: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()


def make_card(parsed: ParsedSkill, slug: str | None = None) -> SkillCard:
    """The card of a parsed skill under the catalogue's slug, without triggers derived from the description."""
    triggers = () if parsed.triggers_derived else parsed.trigger_conditions
    return SkillCard(slug or parsed.slug, parsed.name, parsed.description, triggers, parsed.not_for)
