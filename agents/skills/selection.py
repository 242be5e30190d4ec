"""Selection of skills for a run, new or recovered."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.run_request import MOST_SKILLS, NO_CHOICES, PinnedSkill, RunRequest, SkillChoice, read_skill_choices
from agents.skills.active import OfferedSkill, RunTask, SkillVersionRef
from agents.skills.loader import ImpressionCounter, OwnerSkillLoader
from agents.skills.run_skills import MOST_TOKENS, RunSkills, SkillResources
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.database import Database
from core.errors.auth import SkillNotFound, SkillVersionNotFound
from core.errors.requests import InvalidRunInput
from core.errors.server import EngineUnavailable
from kb_service.embeddings.protocol import Encoder
from kb_service.text.tokenizer import is_cjk_dominant
from kb_service.visibility import UserViewer
from skills.selection.prompt_index import IndexBlock, index_budget, write_index
from skills.selection.selector import SkillSelector, prepare_selector
from skills.store import catalog
from skills.store.catalog import OpenedSkill
from skills.store.summary import SkillCard

MOST_LISTED = 30
"""Skills in an index; of more, those that fit the question are listed, the others searched."""
_KEPT_SELECTORS = 64

_NOTHING = IndexBlock("", (), 0)


class RunSkillsFactory:
    """Builds the skills of runs; ``impressions`` must run in the background."""

    def __init__(self, database: Database, encoder: Encoder | None = None) -> None:
        self.impressions = ImpressionCounter(database)
        self._database = database
        self._encoder = encoder
        self._selectors: dict[tuple[tuple[str, str], ...], SkillSelector] = {}

    async def build(
        self,
        task: RunTask,
        request: RunRequest,
        cards: Sequence[catalog.CatalogCard] | None = None,
        *,
        had_skills: bool = False,
        context_window: int,
    ) -> RunSkills | None:
        """The skills of a run; None if it may use none.

        ``cards`` are usable skills, None for a resumed run. ``had_skills``: the journal has skills, whose tool
        restrictions still apply. ``context_window`` is in tokens.
        """
        owner_id = task.owner_id
        # What a run that goes on has in its index was counted when it began.
        impressions = None if cards is None else self.impressions
        if cards is None:
            cards = await self._readable(owner_id, request)
        # What the run began with or did has to be gone through again, whoever may use it now.
        if not cards and not request.skills and not had_skills:
            return None
        library = OwnerSkillLoader(self._database, task, impressions)
        offered = list(assign_keys(cards, owner_id).values())
        budget = index_budget(context_window)
        return RunSkills(
            await self._resources(offered, request.question, library, budget),
            offered,
            _chosen(request.skills, offered),
            request.options.skill_inputs,
            is_chinese=is_cjk_dominant(request.question),
        )

    async def build_trial(
        self, owner_id: str, cards: Sequence[catalog.CatalogCard], question: str, *, context_window: int
    ) -> RunSkills:
        library = OwnerSkillLoader(self._database, RunTask("", owner_id))
        offered = list(assign_keys(cards, owner_id).values())
        resources = await self._resources(offered, question, library, index_budget(context_window))
        return RunSkills(resources, offered)

    async def _readable(self, owner_id: str, request: RunRequest) -> Sequence[catalog.CatalogCard]:
        if Permission.SKILL_VIEW in request.lacking:
            return ()
        async with self._database.reading() as session:
            return await catalog.list_readable(session, UserViewer(owner_id))

    async def _resources(
        self, offered: Sequence[OfferedSkill], question: str, library: OwnerSkillLoader, budget: int
    ) -> SkillResources:
        try:
            selector = await self._selector(offered)
        except EngineUnavailable:
            # Which skills are listed must not keep a run from beginning.
            selector = await prepare_selector([skill.card for skill in offered])
        ranked = await selector.rank_anyway(question) if len(offered) > MOST_LISTED else ()
        cards = [skill.card for skill in ranked or offered]
        listed = write_index(cards, budget, most=MOST_LISTED) if cards else _NOTHING
        return SkillResources(library, selector, listed)

    async def _selector(self, offered: Sequence[OfferedSkill]) -> SkillSelector:
        key = tuple((skill.key, skill.ref.sha) for skill in offered)
        selector = self._selectors.pop(key, None)
        if selector is None:
            # Few are all listed, and encoding them would only take time.
            encoder = self._encoder if len(offered) > MOST_LISTED else None
            selector = await prepare_selector([skill.card for skill in offered], encoder)
        self._selectors[key] = selector
        while len(self._selectors) > _KEPT_SELECTORS:
            del self._selectors[next(iter(self._selectors))]
        return selector


def assign_keys(cards: Sequence[catalog.CatalogCard], owner_id: str) -> dict[str, OfferedSkill]:
    """The skills by the keys that name them in runs.

    A key is the slug. If several skills share a slug, the reader's own, else that of the first
    owner by name, gets it; the others get ``owner/slug``.
    """
    offered: dict[str, OfferedSkill] = {}
    for card in sorted(cards, key=lambda card: (card.owner_id != owner_id, card.slug, card.owner)):
        key = f"{card.owner}/{card.slug}" if card.slug in offered else card.slug
        # Triggers that were taken from the description stand in it.
        triggers = tuple(text for text in card.triggers if text not in card.description)
        summary = SkillCard(key, card.name, card.description, triggers, card.not_for)
        offered[key] = OfferedSkill(key, SkillVersionRef(card.id, card.version, card.sha), summary)
    return offered


def _chosen(pinned: Sequence[PinnedSkill], offered: Sequence[OfferedSkill]) -> list[OfferedSkill]:
    by_id, by_key = {skill.ref.id: skill for skill in offered}, {skill.key for skill in offered}
    chosen: list[OfferedSkill] = []
    for pin in pinned:
        same_skill = by_id.get(pin.id)
        other = f"{pin.owner}/{pin.slug}" if pin.slug in by_key else pin.slug
        key, card = (same_skill.key, same_skill.card) if same_skill else (other, SkillCard(other, pin.slug, ""))
        by_key.add(key)
        chosen.append(OfferedSkill(key, SkillVersionRef(pin.id, pin.version, pin.sha), card))
    return chosen


_NO_SUCH = "no such id", "没有这个 ID"
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
        count = len(skills)
        error = f"{count} skills with the one of the message, at most {MOST_SKILLS}"
        raise InvalidRunInput(field, error, f"连同消息中的技能共 {count} 个，最多 {MOST_SKILLS} 个")
    tokens = sum(choice.parsed.token_estimate for choice in skills)
    if tokens > MOST_TOKENS:
        error = f"about {tokens} tokens together, more than {MOST_TOKENS}: choose fewer"
        raise InvalidRunInput(field, error, f"合计约 {tokens} 个 token，超过 {MOST_TOKENS}：请少选一些")


async def find_config_fault(
    session: AsyncSession, principal: Principal, configured: JsonValue
) -> tuple[str, str] | None:
    """What is wrong with a session's ``skill_ids``, if anything, in English and Chinese."""
    choices = read_skill_choices(configured or [])
    if choices is None:
        return NO_CHOICES
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
        raise InvalidRunInput(field, *_NO_SUCH, value=choice.id) from None
