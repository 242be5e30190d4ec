"""Cards of skills: the little that is shown of each one to choose by."""

import re
import unicodedata
from dataclasses import dataclass

from skills.schema import ParsedSkill

_INVISIBLE = frozenset(("Cc", "Cf", "Co", "Cs"))
_JOINERS = "\u200c\u200d"
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class SkillCard:
    """What a skill is chosen by.

    Args:
        slug: its key; what ``load_skill`` is called with.
        description: what it does and when to use it.
        triggers: when to use it, one condition each.
        not_for: when not to use it.
    """

    slug: str
    name: str
    description: str
    triggers: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()


def make_card(parsed: ParsedSkill, slug: str | None = None) -> SkillCard:
    """The card of a parsed skill.

    Triggers that were taken from the description are left out: they stand in it.

    Args:
        slug: its key in the catalogue, where that is another than the file's.
    """
    triggers = () if parsed.triggers_derived else parsed.trigger_conditions
    return SkillCard(slug or parsed.slug, parsed.name, parsed.description, triggers, parsed.not_for)


def plain_line(text: str) -> str:
    """A text on one line, blanks collapsed, without characters that nobody sees."""
    visible = (
        sign if sign in _JOINERS or unicodedata.category(sign) not in _INVISIBLE else " "
        for sign in text
    )
    return _BLANKS.sub(" ", "".join(visible)).strip()
