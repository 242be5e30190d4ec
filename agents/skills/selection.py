"""Selection of skills for a new run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.run_request import MOST_SKILLS, PinnedSkill, RunRequest, SkillChoice, read_skill_choices
from agents.skills.factory import assign_keys
from agents.skills.run_skills import MOST_TOKENS
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.errors.auth import SkillNotFound, SkillVersionNotFound
from core.errors.requests import InvalidRunInput
from skills.store import catalog
from skills.store.catalog import OpenedSkill

_NO_SUCH = "no such id"
_SLASH = re.compile(r"^/(?P<name>[A-Za-z0-9][\w.-]*(?:/[a-z0-9][a-z0-9-]*)?)(?=\s|$)")


@dataclass(frozen=True)
class SkillSelection:
    """All usable skills, and the pinned versions of those that a person chose."""

    cards: Sequence[catalog.CatalogCard] = ()
    chosen: tuple[PinnedSkill, ...] = ()


def slash_skill(question: str) -> str | None:
    """The skill named by ``/slug`` at the start of a message, if any."""
    match = _SLASH.match(question.strip())
    return match["name"] if match and match["name"] != "tool" else None


async def select_skills(
    session: AsyncSession, principal: Principal, request: RunRequest, configured: JsonValue
) -> SkillSelection:
    """The usable skills, and those chosen by the request, else by its session's ``skill_ids``, and ``/slug``.

    A slash that names no skill is just text. Unusable ids, too many or too long skills raise ``InvalidRunInput``.
    """
    field, choices = "forwardedProps.skill_ids", request.options.skill_ids
    if choices:
        principal.require(Permission.SKILL_VIEW)
    elif Permission.SKILL_VIEW not in principal.permissions:
        return SkillSelection()
    else:
        field, choices = "session.config.skill_ids", read_skill_choices(configured or [])
    cards = await catalog.list_readable(session, principal)
    together: dict[str, OpenedSkill] = {}
    for choice in choices or ():
        opened = await _opened(session, principal, choice, field)
        together.setdefault(opened.card.id, opened)
    by_slash = assign_keys(cards, principal.user_id).get(slash_skill(request.question) or "")
    if by_slash is not None and by_slash.ref.id not in together:
        choice = SkillChoice(by_slash.ref.id, by_slash.ref.version)
        together[by_slash.ref.id] = await _opened(session, principal, choice, field)
    _check_size(list(together.values()), field)
    pinned = (
        PinnedSkill(opened.card.id, opened.card.slug, opened.card.owner, opened.card.version, opened.card.sha)
        for opened in together.values()
    )
    return SkillSelection(cards, tuple(pinned))


def _check_size(skills: Sequence[OpenedSkill], field: str) -> None:
    if len(skills) > MOST_SKILLS:
        error = f"{len(skills)} skills with the one of the message, at most {MOST_SKILLS}"
        raise InvalidRunInput(field=field, error=error)
    tokens = sum(choice.parsed.token_estimate for choice in skills)
    if tokens > MOST_TOKENS:
        error = f"about {tokens} tokens together, more than {MOST_TOKENS}: choose fewer"
        raise InvalidRunInput(field=field, error=error)


async def find_config_fault(session: AsyncSession, principal: Principal, configured: JsonValue) -> str | None:
    """What is wrong with a session's ``skill_ids``, if anything."""
    choices = read_skill_choices(configured or [])
    if choices is None:
        return "must be a list of ids or of {id, version}"
    if choices:
        principal.require(Permission.SKILL_VIEW)
    for choice in choices:
        try:
            await catalog.open_skill(session, principal, choice.id, choice.version)
        except (SkillNotFound, SkillVersionNotFound):
            return _NO_SUCH
    return None


async def _opened(session: AsyncSession, principal: Principal, choice: SkillChoice, field: str) -> OpenedSkill:
    try:
        return await catalog.open_skill(session, principal, choice.id, choice.version)
    except (SkillNotFound, SkillVersionNotFound):
        raise InvalidRunInput(field=field, error=_NO_SUCH, value=choice.id) from None
