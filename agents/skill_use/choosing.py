"""Which skills a run is given: those that a person chose, and those that its model may load."""

import re
from collections.abc import Sequence
from contextlib import suppress

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.requests import PinnedSkill, RunRequest, SkillChoice, read_skill_choices
from agents.skill_use.library import OwnersSkills, SkillVersionRef
from agents.skill_use.shelf import MOST_TOKENS, Means, OfferedSkill, SkillShelf
from core.accounts.access import Principal
from core.accounts.permissions import Permission
from core.database.engine import Database
from core.errors import EngineUnavailable, InvalidRunInput, SkillNotFound, SkillVersionNotFound
from kb_service.embeddings.protocol import Encoder
from kb_service.readers import Person
from kb_service.text.lexical import is_cjk_dominant
from skills import catalogue
from skills.cards import SkillCard
from skills.catalogue import OpenedSkill
from skills.index_block import MOST_CHARACTERS, IndexBlock, write_index
from skills.selection import SkillSelector, prepare_selector

MOST_LISTED = 30
"""Skills in an index; of more, those that fit the question are listed, the others searched."""
_NO_SUCH = "no such id"
_SLASH = re.compile(r"^/(?P<name>[A-Za-z0-9][\w.-]*(?:/[a-z0-9][a-z0-9-]*)?)(?=\s|$)")
_KEPT_SELECTORS = 64


def named_by_slash(question: str) -> str | None:
    """The skill that a message calls by its slug, ``/slug ...``; None where it calls none."""
    match = _SLASH.match(question.strip())
    return match["name"] if match and match["name"] != "tool" else None


async def choose(
    session: AsyncSession, principal: Principal, request: RunRequest, configured: JsonValue
) -> tuple[PinnedSkill, ...]:
    """The skills that a person chose for a run: the request's, else its session's, and ``/slug``.

    A message that begins with a slash and names no skill of the caller's is just a message.

    Args:
        session: to read from.
        principal: who asks.
        request: what is asked.
        configured: the session's ``skill_ids``.

    Raises:
        InvalidRunInput: one of the ids names nothing that the caller's agents may use, or they are
            too long together.
        PermissionDenied: the request names some, and the caller may use none.
    """
    field, choices = "forwardedProps.skill_ids", request.options.skill_ids
    if choices:
        principal.require(Permission.SKILL_VIEW)
    elif Permission.SKILL_VIEW not in principal.permissions:
        return ()
    else:
        field, choices = "session.config.skill_ids", read_skill_choices(configured or [])
    found = [await _opened(session, principal, one, field) for one in choices or ()]
    if (slug := named_by_slash(request.question)) is not None:
        with suppress(SkillNotFound):
            found.append(await catalogue.open(session, principal, slug))
    together: dict[str, OpenedSkill] = {}
    for one in found:
        together.setdefault(one.card.id, one)
    tokens = sum(one.parsed.token_estimate for one in together.values())
    if tokens > MOST_TOKENS:
        error = f"about {tokens} tokens together, more than {MOST_TOKENS}: choose fewer"
        raise InvalidRunInput(field=field, error=error)
    return tuple(map(_pinned, together.values()))


async def require_usable(
    session: AsyncSession, principal: Principal, configured: JsonValue
) -> str | None:
    """What is wrong with a session's ``skill_ids``, if anything is.

    Raises:
        PermissionDenied: the caller may use no skills.
    """
    choices = read_skill_choices(configured or [])
    if choices is None:
        return "must be a list of ids or of {id, version}"
    if choices:
        principal.require(Permission.SKILL_VIEW)
    for one in choices:
        try:
            await catalogue.open(session, principal, one.id, one.version)
        except (SkillNotFound, SkillVersionNotFound):
            return _NO_SUCH
    return None


async def _opened(
    session: AsyncSession, principal: Principal, one: SkillChoice, field: str
) -> OpenedSkill:
    try:
        return await catalogue.open(session, principal, one.id, one.version)
    except (SkillNotFound, SkillVersionNotFound):
        raise InvalidRunInput(field=field, error=_NO_SUCH) from None


def _pinned(skill: OpenedSkill) -> PinnedSkill:
    card = skill.card
    return PinnedSkill(card.id, card.slug, card.owner, card.version, card.sha)


class SkillUse:
    """Gives runs their skills.

    Args:
        database: where they are.
        encoder: gives closeness of meaning between a question and skills; None for words alone.
    """

    def __init__(self, database: Database, encoder: Encoder | None = None) -> None:
        self._database = database
        self._encoder = encoder
        self._selectors: dict[tuple[tuple[str, str], ...], SkillSelector] = {}

    async def shelf(self, owner_id: str, task_id: str, request: RunRequest) -> SkillShelf | None:
        """The skills of a run.

        Args:
            owner_id: whose run it is.
            task_id: of the run.
            request: what is asked, with the skills that were chosen when the run began.

        Returns:
            None where there are none that it may use.
        """
        cards: list[catalogue.SkillCard] = []
        if Permission.SKILL_VIEW not in request.lacking:
            async with self._database.reading() as session:
                cards = await catalogue.readable(session, Person(owner_id))
        # What was chosen when the run began has to be gone through again, whoever may use it now.
        if not cards and not request.skills:
            return None
        offered = _keyed(cards, owner_id)
        means = await self._means(
            offered, request.question, OwnersSkills(self._database, owner_id, task_id)
        )
        return SkillShelf(
            means,
            offered,
            _chosen(request.skills, offered),
            request.options.skill_inputs,
            is_chinese=is_cjk_dominant(request.question),
        )

    async def _means(
        self, offered: Sequence[OfferedSkill], question: str, library: OwnersSkills
    ) -> Means:
        try:
            selector = await self._selector(offered)
            ranked = await selector.rank(question) if len(offered) > MOST_LISTED else ()
        except EngineUnavailable:
            # Which skills are listed must not keep a run from beginning.
            selector = await prepare_selector([one.card for one in offered])
            ranked = await selector.rank(question)
        cards = [one.card for one in ranked or offered]
        listed = write_index(cards, MOST_CHARACTERS, most=MOST_LISTED) if cards else _NOTHING
        return Means(library, selector, listed)

    async def _selector(self, offered: Sequence[OfferedSkill]) -> SkillSelector:
        """The selector of these skills; their texts are encoded once while they stay as they are."""
        key = tuple((one.key, one.ref.sha) for one in offered)
        known = self._selectors.pop(key, None)
        if known is None:
            # Few are all listed, and encoding them would only take time.
            encoder = self._encoder if len(offered) > MOST_LISTED else None
            known = await prepare_selector([one.card for one in offered], encoder)
        self._selectors[key] = known
        while len(self._selectors) > _KEPT_SELECTORS:
            del self._selectors[next(iter(self._selectors))]
        return known


_NOTHING = IndexBlock("", (), 0)


def _keyed(cards: Sequence[catalogue.SkillCard], owner_id: str) -> list[OfferedSkill]:
    """The skills under the keys by which models name them: their slugs, the reader's own first."""
    offered: list[OfferedSkill] = []
    taken: set[str] = set()
    for card in sorted(cards, key=lambda one: (one.owner_id != owner_id, one.slug, one.owner)):
        key = f"{card.owner}/{card.slug}" if card.slug in taken else card.slug
        taken.add(key)
        # Triggers that were taken from the description stand in it.
        triggers = tuple(text for text in card.triggers if text not in card.description)
        shown = SkillCard(key, card.name, card.description, triggers, card.not_for)
        offered.append(OfferedSkill(key, SkillVersionRef(card.id, card.version, card.sha), shown))
    return offered


def _chosen(pinned: Sequence[PinnedSkill], offered: Sequence[OfferedSkill]) -> list[OfferedSkill]:
    """The chosen ones in their own versions, under the keys that the offered ones leave them."""
    by_id, by_key = {one.ref.id: one for one in offered}, {one.key for one in offered}
    chosen: list[OfferedSkill] = []
    for one in pinned:
        known = by_id.get(one.id)
        other = f"{one.owner}/{one.slug}" if one.slug in by_key else one.slug
        key, card = (known.key, known.card) if known else (other, SkillCard(other, one.slug, ""))
        by_key.add(key)
        chosen.append(OfferedSkill(key, SkillVersionRef(one.id, one.version, one.sha), card))
    return chosen
