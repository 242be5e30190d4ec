"""Trigger tests: which requests would choose a skill among those that stand beside it."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlmodel.ext.asyncio.session import AsyncSession

from kb_service.embeddings.protocol import Encoder
from kb_service.readers import Reader
from skills import catalogue
from skills.cards import SkillCard
from skills.reading import Seen
from skills.selection import SkillSelector, prepare_selector
from skills.tables import SkillVersion

# Encoding takes long: only what shares words with the requests can be mistaken for the skill.
_MOST_NEIGHBOURS = 40
_LIKELIEST = 5
_VALIDATION_SHARE = 0.4


@dataclass(frozen=True)
class Query:
    """A request, and whether it should choose the skill."""

    query: str
    should_trigger: bool


@dataclass(frozen=True)
class Answer:
    """What one request chose.

    Args:
        query: the request.
        should_trigger: whether it should choose the skill.
        triggered: whether it does.
        score: how well the skill fits, from 0 to 1; from 0.5 on a skill counts as chosen.
        chosen: slug of what it chooses, as ``owner/slug`` for others' skills; None for nothing.
        split: ``train``, to write the description by, or ``validation``, to judge it by.
    """

    query: str
    should_trigger: bool
    triggered: bool
    score: float
    chosen: str | None
    split: str


@dataclass(frozen=True)
class Rates:
    """How often the choice was right; None where there is nothing to judge by.

    Args:
        queries: how many there were.
        recall: of those that should choose the skill, how many do.
        precision: of those that do, how many should.
    """

    queries: int
    recall: float | None
    precision: float | None


@dataclass(frozen=True)
class TriggerReport:
    """The outcome for one version of a skill.

    Args:
        version: of the skill.
        neighbours: how many other skills it was tested among.
        all: over all requests.
        train: over three fifths of them.
        validation: over the others.
        confusion: how many requests that should choose the skill chose another one, by that one.
        answers: request by request.
    """

    version: int
    neighbours: int
    all: Rates
    train: Rates
    validation: Rates
    confusion: dict[str, int]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Field:
    """The skill under test and what stands beside it, as it is chosen by, with names for people."""

    tested: SkillCard
    beside: tuple[tuple[SkillCard, str], ...]


async def read_field(
    session: AsyncSession, reader: Reader, seen: Seen, version: SkillVersion
) -> Field:
    """The skills that a reader's agents choose among, the tested one in the given version."""
    tested = SkillCard(
        seen.skill.slug,
        version.name,
        version.description,
        tuple(version.triggers),
        tuple(version.not_for),
    )
    beside: list[tuple[SkillCard, str]] = []
    for card in await catalogue.readable(session, reader):
        if card.id != seen.skill.id:
            is_own = card.owner_id == reader.user_id
            name = card.slug if is_own else f"{card.owner}/{card.slug}"
            chosen_by = SkillCard(
                card.slug, card.name, card.description, card.triggers, card.not_for
            )
            beside.append((chosen_by, name))
    return Field(tested, tuple(beside))


async def run(
    field: Field, version: int, queries: Sequence[Query], encoder: Encoder | None
) -> TriggerReport:
    """Ask the selector that agents' requests go through.

    Without a model it always chooses the same, so that each request is asked once.

    Args:
        field: the skills.
        version: of the tested one.
        queries: requests.
        encoder: the platform's; None lets words alone decide.

    Raises:
        EngineUnavailable: the encoder gave no answer.
    """
    field = await _narrowed(field, queries)
    names = {id(card): name for card, name in field.beside}
    names[id(field.tested)] = field.tested.slug
    selector = await prepare_selector([field.tested, *(card for card, _ in field.beside)], encoder)
    splits = _splits(queries)
    answers = [
        await _answer(selector, field.tested, query, names, split)
        for query, split in zip(queries, splits, strict=True)
    ]
    missed = (one for one in answers if one.should_trigger and not one.triggered)
    confusion = Counter(one.chosen for one in missed if one.chosen is not None)
    return TriggerReport(
        version=version,
        neighbours=len(field.beside),
        all=rates(answers),
        train=rates([one for one in answers if one.split == "train"]),
        validation=rates([one for one in answers if one.split == "validation"]),
        confusion=dict(confusion.most_common()),
        answers=tuple(answers),
    )


async def _narrowed(field: Field, queries: Sequence[Query]) -> Field:
    """The neighbours that share most words with a request."""
    if len(field.beside) <= _MOST_NEIGHBOURS:
        return field
    selector = await prepare_selector([card for card, _ in field.beside])
    found: Counter[int] = Counter()
    for query in queries:
        for choice in (await selector.rank(query.query))[:_LIKELIEST]:
            found[id(choice.card)] = max(found[id(choice.card)], round(choice.score * 1000) + 1)
    likely = {key for key, _ in found.most_common(_MOST_NEIGHBOURS)}
    return replace(field, beside=tuple(one for one in field.beside if id(one[0]) in likely))


async def _answer(
    selector: SkillSelector, tested: SkillCard, query: Query, names: dict[int, str], split: str
) -> Answer:
    ranked = await selector.rank(query.query)
    best = ranked[0]
    mine = next(choice for choice in ranked if choice.card is tested)
    return Answer(
        query=query.query,
        should_trigger=query.should_trigger,
        triggered=best.is_chosen and best.card is tested,
        score=mine.score,
        chosen=names[id(best.card)] if best.is_chosen else None,
        split=split,
    )


def _splits(queries: Sequence[Query]) -> list[str]:
    """Train or validation, both kinds of requests in both, the same ones each time."""
    splits = ["train"] * len(queries)
    for kind in (True, False):
        places = [at for at, query in enumerate(queries) if query.should_trigger is kind]
        places.sort(key=lambda at: hashlib.sha256(queries[at].query.encode()).digest())
        for at in places[: round(len(places) * _VALIDATION_SHARE)]:
            splits[at] = "validation"
    return splits


def rates(answers: Sequence[Answer]) -> Rates:
    """How often the choice was right."""
    right = sum(one.triggered and one.should_trigger for one in answers)
    wanted = sum(one.should_trigger for one in answers)
    chosen = sum(one.triggered for one in answers)
    return Rates(
        len(answers),
        right / wanted if wanted else None,
        right / chosen if chosen else None,
    )
